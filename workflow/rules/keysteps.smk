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
        settings=settings_of("decode"),
        # Where nothing is scored, nobody looks at the key steps of a video by itself; annotations, once there, ask for them.
        alone=one_line_errors(lambda w: datasets.annotated(STUDY, w.dataset, w.task)),
    message:
        "decode: {wildcards.method}/{wildcards.decoder} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    script:
        "../scripts/decode.py"


rule decode_trivial:
    input:
        known,
        annotations=lambda w: ("results/annotations/{dataset}/{task}.csv" if jobs.reads_annotations(w.decoder) else []),
        manifest="results/manifest/{dataset}/{task}.csv",
    output:
        **result(),
    log:
        "results/logs/decode/{method}/{decoder}/{dataset}/{task}/seed{seed}.log",
    wildcard_constraints:
        method=FEATURELESS,
    group:
        "after_training"
    conda:
        "../../envs/evaluate.yaml"
    resources:
        **doubled(mem_mb=1000, runtime=30),
    params:
        settings=settings_of("decode"),
    message:
        "decode: {wildcards.decoder} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    script:
        "../scripts/decode_trivial.py"
