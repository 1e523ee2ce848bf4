# From videos on disk to one feature store per video, and one index per task.


rule manifest:
    input:
        study("files"),
    output:
        manifest=paths.MANIFEST,
        annotations=paths.ANNOTATIONS,
    log:
        paths.log("manifest/{dataset}/{task}"),
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        mem_mb=doubled(1000),
        runtime=doubled(60),
    params:
        options=study("manifest_options"),
        sources=study("sources"),
    message:
        "manifest: probing the videos of {wildcards.dataset}/{wildcards.task}"
    shell:
        "rgwot manifest --dataset {wildcards.dataset} --task {wildcards.task:q} --options {params.options:q}"
        " --annotations {output.annotations:q} {output.manifest:q} 2> {log:q}"


rule extract:
    input:
        video=study("video_input"),
        weights=study("weights_file"),
    output:
        directory(paths.FEATURES),
    log:
        paths.log("extract/{dataset}/{task}/{video}"),
    wildcard_constraints:
        dataset=f"(?!(?:{IMPORTED})/)[a-z][a-z0-9_]*",
    group:
        "extract"
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        mem_mb=doubled(2500),
        runtime=doubled(60),
        gpu=GPUS,
    params:
        source=study("video_path"),
        sources=study("video_sources"),
        frames_rate=study("frames_rate"),
        settings=settings_of("features"),
        execution=untracked(settings_of("features", execution=True)),
        on_bad_video=untracked(CATALOGUE.config.on_bad_video),
        device=untracked(CATALOGUE.config.device),
    message:
        "extract: {wildcards.dataset}/{wildcards.task}/{wildcards.video}"
    shell:
        "rgwot extract --source {params.source:q} {params.frames_rate} --settings {params.settings:q}"
        " --execution {params.execution:q} --on-bad-video {params.on_bad_video} --threads {threads}"
        " --device {params.device} {output:q} 2> {log:q}"


rule import_features:
    input:
        features=study("feature_file"),
        video=study("video_input"),
    output:
        directory(paths.FEATURES),
    log:
        paths.log("import_features/{dataset}/{task}/{video}"),
    wildcard_constraints:
        # No name at all where no dataset brings its features.
        dataset=IMPORTED or "(?!)",
    group:
        "extract"
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        mem_mb=doubled(2500),
        runtime=doubled(60),
    params:
        footage=study("video_path"),
        sources=study("video_sources"),
        frames_rate=study("frames_rate"),
        options=study("import_options"),
        on_bad_video=untracked(CATALOGUE.config.on_bad_video),
    message:
        "import: features of {wildcards.dataset}/{wildcards.task}/{wildcards.video}"
    shell:
        "rgwot import-features --source {input.features:q} --footage {params.footage:q} {params.frames_rate}"
        " --on-bad-video {params.on_bad_video} {params.options} {output:q} 2> {log:q}"


# Of a task with so many videos that one command cannot name them all.
rule index_part:
    input:
        study("index_part_input"),
    output:
        paths.INDEX_PART,
    log:
        paths.log("index_part/{dataset}/{task}/{part}"),
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        mem_mb=doubled(1000),
        runtime=doubled(30),
    params:
        on_bad_video=untracked(CATALOGUE.config.on_bad_video),
    message:
        "index: part {wildcards.part} of the features of {wildcards.dataset}/{wildcards.task}"
    shell:
        "rgwot index --on-bad-video {params.on_bad_video} {output:q} {input:q} 2> {log:q}"


rule index:
    input:
        study("index_input"),
    output:
        paths.INDEX,
    log:
        paths.log("index/{dataset}/{task}"),
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        mem_mb=doubled(1000),
        runtime=doubled(30),
    params:
        on_bad_video=untracked(CATALOGUE.config.on_bad_video),
    message:
        "index: features of {wildcards.dataset}/{wildcards.task}"
    shell:
        "rgwot index --on-bad-video {params.on_bad_video} {output:q} {input:q} 2> {log:q}"
