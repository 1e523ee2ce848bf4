# From videos on disk to one feature store per video, and one index per task.


rule manifest:
    input:
        one_line_errors(lambda w: datasets.written_root(STUDY, w.dataset)),
    output:
        manifest="results/manifest/{dataset}/{task}.csv",
        annotations="results/annotations/{dataset}/{task}.csv",
    log:
        "results/logs/manifest/{dataset}/{task}.log",
    conda:
        "../../envs/train.yaml"
    resources:
        mem_mb=doubled(1000),
        runtime=doubled(60),
    params:
        config=CONFIGURATION,
        entry=one_line_errors(lambda w: datasets.manifest_entry(STUDY, w.dataset)),
        sources=one_line_errors(lambda w: datasets.task_stamp(STUDY, w.dataset, w.task)),
    message:
        "manifest: probing the videos of {wildcards.dataset}/{wildcards.task}"
    shell:
        "rgwot manifest --config {params.config} --dataset {wildcards.dataset} --task {wildcards.task:q}"
        " --annotations {output.annotations:q} {output.manifest:q} 2> {log:q}"


rule extract:
    input:
        video=one_line_errors(video_input),
        weights=one_line_errors(lambda w: jobs.weights_file(STUDY, w.dataset)),
    output:
        directory("results/features/{dataset}/{task}/{video}.zarr"),
    log:
        "results/logs/extract/{dataset}/{task}/{video}.log",
    wildcard_constraints:
        dataset=f"(?!(?:{IMPORTED})/)[a-z][a-z0-9_]*",
    group:
        "extract"
    conda:
        "../../envs/train.yaml"
    resources:
        mem_mb=doubled(2500),
        runtime=doubled(60),
        gpu=GPUS,
    params:
        config=CONFIGURATION,
        source=one_line_errors(lambda w: datasets.video_path(STUDY, w.dataset, w.task, w.video)),
        sources=one_line_errors(lambda w: datasets.video_stamp(STUDY, w.dataset, w.task, w.video)),
        frames_fps=one_line_errors(lambda w: STUDY.config.dataset(w.dataset).frames_fps),
        settings=settings_of("extract"),
    message:
        "extract: {wildcards.dataset}/{wildcards.task}/{wildcards.video}"
    shell:
        "rgwot extract --config {params.config} --dataset {wildcards.dataset} --source {params.source:q}"
        " --threads {threads} {output:q} 2> {log:q}"


rule import_features:
    input:
        video=one_line_errors(video_input),
    output:
        directory("results/features/{dataset}/{task}/{video}.zarr"),
    log:
        "results/logs/import_features/{dataset}/{task}/{video}.log",
    wildcard_constraints:
        # No name at all where no dataset brings its features.
        dataset=IMPORTED or "(?!)",
    group:
        "extract"
    conda:
        "../../envs/train.yaml"
    resources:
        mem_mb=doubled(2500),
        runtime=doubled(60),
    params:
        features=one_line_errors(lambda w: datasets.feature_files(STUDY, w.dataset, w.task, w.video)),
        footage=one_line_errors(lambda w: datasets.video_path(STUDY, w.dataset, w.task, w.video)),
        sources=one_line_errors(lambda w: datasets.video_stamp(STUDY, w.dataset, w.task, w.video)),
        on_bad_video=untracked(STUDY.config.on_bad_video),
        options=one_line_errors(lambda w: datasets.import_options(STUDY, w.dataset)),
    message:
        "import: features of {wildcards.dataset}/{wildcards.task}/{wildcards.video}"
    shell:
        "rgwot import-features --source {params.features:q} --footage {params.footage:q}"
        " --on-bad-video {params.on_bad_video} {params.options} {output:q} 2> {log:q}"


# Of a task with so many videos that one command cannot name them all.
rule index_part:
    input:
        one_line_errors(lambda w: datasets.index_part_input(STUDY, w.dataset, w.task, w.part)),
    output:
        "results/features/{dataset}/{task}/index.{part}.csv",
    log:
        "results/logs/index_part/{dataset}/{task}/{part}.log",
    conda:
        "../../envs/train.yaml"
    resources:
        mem_mb=doubled(1000),
        runtime=doubled(30),
    params:
        on_bad_video=untracked(STUDY.config.on_bad_video),
    message:
        "index: part {wildcards.part} of the features of {wildcards.dataset}/{wildcards.task}"
    shell:
        "rgwot index --on-bad-video {params.on_bad_video} {output:q} {input:q} 2> {log:q}"


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
        mem_mb=doubled(1000),
        runtime=doubled(30),
    params:
        on_bad_video=untracked(STUDY.config.on_bad_video),
    message:
        "index: features of {wildcards.dataset}/{wildcards.task}"
    shell:
        "rgwot index --on-bad-video {params.on_bad_video} {output:q} {input:q} 2> {log:q}"
