# From videos on disk to one feature store per video, and one index per task.


rule manifest:
    input:
        dataset_files,
    output:
        manifest="results/manifest/{dataset}/{task}.csv",
        annotations="results/annotations/{dataset}/{task}.csv",
    log:
        "results/logs/manifest/{dataset}/{task}.log",
    benchmark:
        "results/benchmarks/manifest/{dataset}/{task}.tsv"
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        mem_mb=memory_for("manifest"),
        runtime=time_for("manifest"),
    params:
        options=manifest_options,
    message:
        "manifest: probing the videos of {wildcards.dataset}/{wildcards.task}"
    shell:
        "rgwot manifest --dataset {wildcards.dataset} --task {wildcards.task:q} --options {params.options:q}"
        " --annotations {output.annotations:q} {output.manifest:q} 2> {log:q}"


rule extract:
    input:
        video=video_file,
        weights=weights_file,
    output:
        directory("results/features/{dataset}/{task}/{video}.zarr"),
    log:
        "results/logs/extract/{dataset}/{task}/{video}.log",
    benchmark:
        "results/benchmarks/extract/{dataset}/{task}/{video}.tsv"
    wildcard_constraints:
        dataset=f"(?!(?:{IMPORTED})/)[a-z][a-z0-9_]*",
    group:
        "extract"
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        mem_mb=memory_for("extract"),
        runtime=time_for("extract"),
        gpu=GPUS,
    params:
        source=video_path,
        frames_rate=frames_rate,
        settings=settings_of("features"),
        execution=execution_of("features"),
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
        features=feature_file,
        video=video_file,
    output:
        directory("results/features/{dataset}/{task}/{video}.zarr"),
    log:
        "results/logs/import_features/{dataset}/{task}/{video}.log",
    benchmark:
        "results/benchmarks/import_features/{dataset}/{task}/{video}.tsv"
    wildcard_constraints:
        # No name at all where no dataset brings its features.
        dataset=IMPORTED or "(?!)",
    group:
        "extract"
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        mem_mb=memory_for("import_features"),
        runtime=time_for("import_features"),
    params:
        footage=video_path,
        frames_rate=frames_rate,
        options=import_options,
        on_bad_video=untracked(CATALOGUE.config.on_bad_video),
    message:
        "import: features of {wildcards.dataset}/{wildcards.task}/{wildcards.video}"
    shell:
        "rgwot import-features --source {input.features:q} --footage {params.footage:q} {params.frames_rate}"
        " --on-bad-video {params.on_bad_video} {params.options} {output:q} 2> {log:q}"


rule index:
    input:
        feature_stores,
    output:
        "results/features/{dataset}/{task}/index.csv",
    log:
        "results/logs/index/{dataset}/{task}.log",
    benchmark:
        "results/benchmarks/index/{dataset}/{task}.tsv"
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        mem_mb=memory_for("index"),
        runtime=time_for("index"),
    params:
        on_bad_video=untracked(CATALOGUE.config.on_bad_video),
    message:
        "index: features of {wildcards.dataset}/{wildcards.task}"
    shell:
        "rgwot index --on-bad-video {params.on_bad_video} {output:q} {input:q} 2> {log:q}"
