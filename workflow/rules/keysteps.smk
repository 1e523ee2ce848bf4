# From embeddings to key steps, per-video orders and ranked procedures; and the trivial baselines.


rule decode:
    input:
        known,
        embeddings="results/embeddings/{method}/{dataset}/{task}/seed{seed}.zarr",
    output:
        **result(),
    log:
        "results/logs/decode/{method}/{decoder}/{dataset}/{task}/seed{seed}.log",
    wildcard_constraints:
        method=FEATURED,
    group:
        "after_training"
    conda:
        "../../envs/train.yaml"
    resources:
        **doubled(mem_mb=4000, runtime=120),
    params:
        config=CONFIGURATION,
        settings=settings_of("decode"),
        # Where nothing is scored, nobody looks at the key steps of a video by itself; annotations, once there, ask for them.
        scopes=one_line_errors(lambda w: "" if datasets.annotated(STUDY, w.dataset, w.task) else "--task-only"),
        source=lambda w, input: options(embeddings=input.embeddings),
    message:
        "decode: {wildcards.method}/{wildcards.decoder} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    shell:
        "rgwot decode --config {params.config} --method {wildcards.method:q} --decoder {wildcards.decoder:q}"
        " --dataset {wildcards.dataset} --task {wildcards.task:q} --seed {wildcards.seed}"
        " {params.scopes} {params.source} {output.segments:q} 2> {log:q}"


use rule decode as decode_trivial with:
    input:
        known,
        annotations=lambda w: ("results/annotations/{dataset}/{task}.csv" if jobs.reads_annotations(w.decoder) else []),
        manifest="results/manifest/{dataset}/{task}.csv",
    wildcard_constraints:
        method=FEATURELESS,
    conda:
        "../../envs/evaluate.yaml"
    resources:
        **doubled(mem_mb=1000, runtime=30),
    params:
        scopes="",
        source=lambda w, input: options(manifest=input.manifest, annotations=input.annotations),
