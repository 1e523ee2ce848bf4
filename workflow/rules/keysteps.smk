# From embeddings to key steps, per-video orders and ranked procedures; and the trivial baselines.


# `alone`: videos are also clustered one by one if the task is annotated, because only scores use these key steps.
rule decode:
    input:
        unpack(decoded_from),
    output:
        **result(),
    log:
        "results/logs/decode/{method}/{decoder}/{dataset}/{task}/seed{seed}.log",
    wildcard_constraints:
        method=FEATURED,
    conda:
        "../../envs/train.yaml"
    resources:
        **doubled(mem_mb=4000, runtime=120),
    params:
        settings=settings_behind,
        alone=of_task(datasets.annotated),
        expected=expected_by,
        sources=stamped(expected_by),
    message:
        "decode: {wildcards.method}/{wildcards.decoder} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    script:
        "../scripts/decode.py"


rule decode_trivial:
    input:
        annotations=branch(lambda w: jobs.reads_annotations(w.decoder), then=paths.ANNOTATIONS),
        manifest=lambda w: unedited(w, paths.MANIFEST),
    output:
        **result(),
    log:
        "results/logs/decode/{method}/{decoder}/{dataset}/{task}/seed{seed}.log",
    wildcard_constraints:
        method=FEATURELESS,
    conda:
        "../../envs/evaluate.yaml"
    resources:
        **doubled(mem_mb=1000, runtime=30),
    params:
        settings=settings_behind,
    message:
        "decode: {wildcards.decoder} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    script:
        "../scripts/decode_trivial.py"
