# From videos on disk to one feature store per video, and one index per task.


rule manifest:
    input:
        asked(lambda task: datasets.without_broken_links(datasets.files(task))),
    output:
        manifest="results/manifest/{dataset}/{task}.csv",
        annotations="results/annotations/{dataset}/{task}.csv",
    log:
        "results/logs/manifest/{dataset}/{task}.log",
    conda:
        "../../envs/train.yaml"
    resources:
        **doubled(mem_mb=1000, runtime=60),
    params:
        entry=asked(datasets.manifest_entry),
        sources=stamped(datasets.files),
    message:
        "manifest: probing the videos of {wildcards.dataset}/{wildcards.task}"
    script:
        "../scripts/manifest.py"


# A job makes the features of a batch of videos, and declares only its part of the index as output: finished stores of
# the same source and settings are kept, and a batch that was killed resumes at its first unfinished video.
rule extract:
    input:
        checked(jobs.extraction_files, jobs.check_features_of_others),
    output:
        "results/features/{dataset}/{task}/index.{part}.csv",
    log:
        "results/logs/extract/{dataset}/{task}/{part}.log",
    wildcard_constraints:
        dataset=f"(?!(?:{IMPORTED})/)[a-z][a-z0-9_]*",
    conda:
        "../../envs/train.yaml"
    resources:
        **doubled(mem_mb=2500, runtime=120, gpu=GPUS),
    params:
        videos=asked(datasets.video_paths),
        sources=stamped(jobs.extraction_files),
        settings=asked(jobs.feature_settings),
    message:
        "extract: {wildcards.dataset}/{wildcards.task}, batch {wildcards.part}"
    script:
        "../scripts/extract.py"


# The same for one video, requested by the path of its store.
use rule extract as extract_video with:
    input:
        asked(jobs.extraction_files),
    output:
        directory("results/features/{dataset}/{task}/{video}.zarr"),
    log:
        "results/logs/extract_video/{dataset}/{task}/{video}.log",
    params:
        videos=asked(datasets.video_paths),
        sources=stamped(jobs.extraction_files),
    message:
        "extract: {wildcards.dataset}/{wildcards.task}/{wildcards.video}"


rule import_features:
    input:
        checked(datasets.import_files, jobs.check_features_of_others),
    output:
        "results/features/{dataset}/{task}/index.{part}.csv",
    log:
        "results/logs/import_features/{dataset}/{task}/{part}.log",
    wildcard_constraints:
        dataset=IMPORTED,
    conda:
        "../../envs/train.yaml"
    resources:
        **doubled(mem_mb=2500, runtime=60),
    params:
        videos=asked(datasets.import_paths),
        sources=stamped(datasets.import_files),
        settings=asked(jobs.feature_settings),
    message:
        "import: features of {wildcards.dataset}/{wildcards.task}, batch {wildcards.part}"
    script:
        "../scripts/import_features.py"


use rule import_features as import_video with:
    input:
        asked(datasets.import_files),
    output:
        directory("results/features/{dataset}/{task}/{video}.zarr"),
    log:
        "results/logs/import_video/{dataset}/{task}/{video}.log",
    params:
        videos=asked(datasets.import_paths),
        sources=stamped(datasets.import_files),
    message:
        "import: features of {wildcards.dataset}/{wildcards.task}/{wildcards.video}"


rule index:
    input:
        asked(datasets.index_input),
    output:
        "results/features/{dataset}/{task}/index.csv",
    log:
        "results/logs/index/{dataset}/{task}.log",
    conda:
        "../../envs/train.yaml"
    resources:
        **doubled(mem_mb=1000, runtime=30),
    params:
        # The same params as those of the batches: Snakemake does not repeat a failed batch only because its part of the
        # index is missing, so a change of these params must make the index outdated.
        videos=asked(lambda task: [*datasets.videos(task)]),
        made=asked(jobs.feature_settings),
    message:
        "index: features of {wildcards.dataset}/{wildcards.task}"
    script:
        "../scripts/index.py"
