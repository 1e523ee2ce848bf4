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


# A job makes the features of a batch of videos, and declares only its part of the index: stores that are there, of the
# same source and settings, are kept, and a batch that was killed goes on at its first unfinished video.
rule extract:
    input:
        videos=batch("footage_of"),
        weights=study("weights_file"),
    output:
        paths.INDEX_PART,
    log:
        paths.log("extract/{dataset}/{task}/{part}"),
    wildcard_constraints:
        dataset=f"(?!(?:{IMPORTED})/)[a-z][a-z0-9_]*",
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        mem_mb=doubled(2500),
        runtime=doubled(120),
        gpu=GPUS,
    params:
        videos=batch("extract_options"),
        sources=batch("sources_of"),
        frames_rate=study("frames_rate"),
        settings=settings_of("features"),
        execution=untracked(settings_of("features", execution=True)),
        on_bad_video=CATALOGUE.config.on_bad_video,
        device=untracked(CATALOGUE.config.device),
    message:
        "extract: {wildcards.dataset}/{wildcards.task}, batch {wildcards.part}"
    shell:
        "rgwot extract {params.videos} {params.frames_rate} --settings {params.settings:q}"
        " --execution {params.execution:q} --on-bad-video {params.on_bad_video} --threads {threads}"
        " --device {params.device} {output:q} 2> {log:q}"


# The same for one video, asked for by the path of its store.
use rule extract as extract_video with:
    input:
        videos=lone("footage_of"),
        weights=study("weights_file"),
    output:
        directory(paths.FEATURES),
    log:
        paths.log("extract_video/{dataset}/{task}/{video}"),
    params:
        videos=lone("extract_options"),
        sources=lone("sources_of"),
        frames_rate=study("frames_rate"),
        settings=settings_of("features"),
        execution=untracked(settings_of("features", execution=True)),
        on_bad_video=CATALOGUE.config.on_bad_video,
        device=untracked(CATALOGUE.config.device),
    message:
        "extract: {wildcards.dataset}/{wildcards.task}/{wildcards.video}"


rule import_features:
    input:
        features=batch("features_of"),
        videos=batch("footage_of"),
    output:
        paths.INDEX_PART,
    log:
        paths.log("import_features/{dataset}/{task}/{part}"),
    wildcard_constraints:
        # No name at all where no dataset brings its features.
        dataset=IMPORTED or "(?!)",
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        mem_mb=doubled(2500),
        runtime=doubled(60),
    params:
        videos=batch("import_sources"),
        sources=batch("sources_of"),
        frames_rate=study("frames_rate"),
        options=study("import_options"),
        on_bad_video=CATALOGUE.config.on_bad_video,
    message:
        "import: features of {wildcards.dataset}/{wildcards.task}, batch {wildcards.part}"
    shell:
        "rgwot import-features {params.videos} {params.frames_rate} --on-bad-video {params.on_bad_video}"
        " {params.options} {output:q} 2> {log:q}"


use rule import_features as import_video with:
    input:
        features=lone("features_of"),
        videos=lone("footage_of"),
    output:
        directory(paths.FEATURES),
    log:
        paths.log("import_video/{dataset}/{task}/{video}"),
    params:
        videos=lone("import_sources"),
        sources=lone("sources_of"),
        frames_rate=study("frames_rate"),
        options=study("import_options"),
        on_bad_video=CATALOGUE.config.on_bad_video,
    message:
        "import: features of {wildcards.dataset}/{wildcards.task}/{wildcards.video}"


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
    message:
        "index: features of {wildcards.dataset}/{wildcards.task}"
    shell:
        "rgwot index {output:q} {input:q} 2> {log:q}"
