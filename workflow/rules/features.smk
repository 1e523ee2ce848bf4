# From videos on disk to one feature store per video, and one index per task.


rule manifest:
    input:
        one_line_errors(lambda w: datasets.without_broken_links(datasets.files(STUDY, w.dataset, w.task))),
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
        entry=one_line_errors(lambda w: datasets.manifest_entry(STUDY, w.dataset)),
        sources=one_line_errors(lambda w: datasets.task_stamp(STUDY, w.dataset, w.task)),
    message:
        "manifest: probing the videos of {wildcards.dataset}/{wildcards.task}"
    script:
        "../scripts/manifest.py"


# A job makes the features of a batch of videos, and declares only its part of the index: stores that are there, of the
# same source and settings, are kept, and a batch that was killed goes on at its first unfinished video.
rule extract:
    input:
        videos=batch(datasets.footage_of),
        weights=one_line_errors(lambda w: jobs.weights_file(STUDY, w.dataset)),
    output:
        "results/features/{dataset}/{task}/index.{part}.csv",
    log:
        "results/logs/extract/{dataset}/{task}/{part}.log",
    wildcard_constraints:
        dataset=f"(?!(?:{IMPORTED})/)[a-z][a-z0-9_]*",
    conda:
        "../../envs/train.yaml"
    resources:
        **doubled(mem_mb=2500, runtime=120),
        gpu=GPUS,
    params:
        videos=batch(datasets.video_paths),
        sources=batch(datasets.stamp_of),
        settings=settings_of("extract"),
        frames_fps=one_line_errors(lambda w: datasets.frames_fps(STUDY, w.dataset)),
        on_bad_video=STUDY.config.on_bad_video,
    message:
        "extract: {wildcards.dataset}/{wildcards.task}, batch {wildcards.part}"
    script:
        "../scripts/extract.py"


# The same for one video, asked for by the path of its store.
use rule extract as extract_video with:
    input:
        videos=lone(datasets.footage_of),
        weights=one_line_errors(lambda w: jobs.weights_file(STUDY, w.dataset)),
    output:
        directory("results/features/{dataset}/{task}/{video}.zarr"),
    log:
        "results/logs/extract_video/{dataset}/{task}/{video}.log",
    params:
        videos=lone(datasets.video_paths),
        sources=lone(datasets.stamp_of),
    message:
        "extract: {wildcards.dataset}/{wildcards.task}/{wildcards.video}"


rule import_features:
    input:
        features=batch(datasets.features_of),
        videos=batch(datasets.footage_of),
    output:
        "results/features/{dataset}/{task}/index.{part}.csv",
    log:
        "results/logs/import_features/{dataset}/{task}/{part}.log",
    wildcard_constraints:
        # No name at all where no dataset brings its features.
        dataset=IMPORTED or "(?!)",
    conda:
        "../../envs/train.yaml"
    resources:
        **doubled(mem_mb=2500, runtime=60),
    params:
        videos=batch(datasets.import_paths),
        sources=batch(datasets.stamp_of),
        settings=one_line_errors(lambda w: datasets.import_settings(STUDY, w.dataset)),
        frames_fps=one_line_errors(lambda w: datasets.frames_fps(STUDY, w.dataset)),
        on_bad_video=STUDY.config.on_bad_video,
    message:
        "import: features of {wildcards.dataset}/{wildcards.task}, batch {wildcards.part}"
    script:
        "../scripts/import_features.py"


use rule import_features as import_video with:
    input:
        features=lone(datasets.features_of),
        videos=lone(datasets.footage_of),
    output:
        directory("results/features/{dataset}/{task}/{video}.zarr"),
    log:
        "results/logs/import_video/{dataset}/{task}/{video}.log",
    params:
        videos=lone(datasets.import_paths),
        sources=lone(datasets.stamp_of),
    message:
        "import: features of {wildcards.dataset}/{wildcards.task}/{wildcards.video}"


rule index:
    input:
        one_line_errors(lambda w: datasets.index_input(STUDY, w.dataset, w.task)),
    output:
        "results/features/{dataset}/{task}/index.csv",
    log:
        "results/logs/index/{dataset}/{task}.log",
    conda:
        "../../envs/train.yaml"
    resources:
        **doubled(mem_mb=1000, runtime=30),
    params:
        # Those of the batches: a part that is missing because its job failed does not make Snakemake run that again.
        videos=one_line_errors(lambda w: [*datasets.videos(STUDY, w.dataset, w.task)]),
        made=one_line_errors(
            lambda w: (
                datasets.import_settings(STUDY, w.dataset)
                if STUDY.config.dataset(w.dataset).imported
                else settings_of("extract")(w)
            )
        ),
    message:
        "index: features of {wildcards.dataset}/{wildcards.task}"
    script:
        "../scripts/index.py"
