# From embeddings to key steps, orders per video and ranked procedures; also the trivial baselines.


# `alone` is true for annotated tasks: videos are then also clustered one by one, because scores use these key steps.
rule decode:
    input:
        embeddings=checked(
            "results/embeddings/{method}/{dataset}/{task}/seed{seed}.zarr",
            refusals.check_unedited,
            refusals.check_result,
        ),
        annotations=asked(jobs.teaching),
    output:
        segments="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/segments.csv",
        order="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/order.csv",
        procedures="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/procedures.csv",
        procedure="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/procedure.json",
        deviations="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/deviations.csv",
        diagnostics="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/diagnostics.json",
    log:
        "results/logs/decode/{method}/{decoder}/{dataset}/{task}/seed{seed}.log",
    wildcard_constraints:
        method=FEATURED,
    conda:
        "../../envs/train.yaml"
    resources:
        **doubled(mem_mb=4000, runtime=120),
    params:
        settings=asked(jobs.settings_behind),
        alone=asked(datasets.annotated),
        expected=asked(pages.expected_by),
        sources=stamped(pages.expected_by),
    message:
        "decode: {wildcards.method}/{wildcards.decoder} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    script:
        "../scripts/decode.py"


rule decode_trivial:
    input:
        annotations=branch(lambda w: jobs.reads_annotations(w.decoder), then="results/annotations/{dataset}/{task}.csv"),
        manifest=checked("results/manifest/{dataset}/{task}.csv", refusals.check_unedited, refusals.check_result),
    output:
        segments="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/segments.csv",
        order="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/order.csv",
        procedures="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/procedures.csv",
        procedure="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/procedure.json",
        deviations="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/deviations.csv",
        diagnostics="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/diagnostics.json",
    log:
        "results/logs/decode/{method}/{decoder}/{dataset}/{task}/seed{seed}.log",
    wildcard_constraints:
        method=FEATURELESS,
    conda:
        "../../envs/evaluate.yaml"
    resources:
        **doubled(mem_mb=1000, runtime=30),
    params:
        settings=asked(jobs.settings_behind),
    message:
        "decode: {wildcards.decoder} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    script:
        "../scripts/decode_trivial.py"
