# One encoder per task, method and seed, and the embeddings of all videos of the task.


# Tables of training times read the benchmark. The number of threads is fixed, because it changes rounding.
rule train:
    input:
        index=checked("results/features/{dataset}/{task}/index.csv", refusals.check_result, refusals.check_trained),
    output:
        multiext("results/models/{method}/{dataset}/{task}/seed{seed}/", "model.pt", "history.csv", "machine.json"),
    log:
        "results/logs/train/{method}/{dataset}/{task}/seed{seed}.log",
    benchmark:
        "results/benchmarks/train/{method}/{dataset}/{task}/seed{seed}.tsv"
    conda:
        "../../envs/train.yaml"
    threads: asked(lambda study, method, dataset: study.experiments.embedding(method, dataset).train.threads)
    resources:
        **doubled(mem_mb=10000, runtime=720, gpu=GPUS),
    params:
        settings=asked(jobs.settings_behind),
    message:
        "train: {wildcards.method} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    script:
        "../scripts/train.py"


rule embed:
    input:
        index=checked("results/features/{dataset}/{task}/index.csv", refusals.check_result),
        model="results/models/{method}/{dataset}/{task}/seed{seed}/model.pt",
    output:
        directory("results/embeddings/{method}/{dataset}/{task}/seed{seed}.zarr"),
    log:
        "results/logs/embed/{method}/{dataset}/{task}/seed{seed}.log",
    wildcard_constraints:
        method=ENCODED,
    conda:
        "../../envs/train.yaml"
    resources:
        **doubled(mem_mb=4000, runtime=60, gpu=GPUS),
    params:
        settings=asked(jobs.settings_behind),
    message:
        "embed: {wildcards.method} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    script:
        "../scripts/embed.py"


use rule embed as embed_without_encoder with:
    input:
        index=checked("results/features/{dataset}/{task}/index.csv", refusals.check_result),
    wildcard_constraints:
        method=OTHERWISE_EMBEDDED,
    resources:
        **doubled(mem_mb=4000, runtime=120),
