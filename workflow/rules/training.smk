# One encoder per task, method and seed, and the embeddings of all videos of the task.


rule train:
    input:
        known,
        noted(MODELS, paths.MODEL),
        index="results/features/{dataset}/{task}/index.csv",
    output:
        model="results/models/{method}/{dataset}/{task}/seed{seed}/model.pt",
        history="results/models/{method}/{dataset}/{task}/seed{seed}/history.csv",
        machine="results/models/{method}/{dataset}/{task}/seed{seed}/machine.json",
    log:
        "results/logs/train/{method}/{dataset}/{task}/seed{seed}.log",
    # Tables of training times read it.
    benchmark:
        "results/benchmarks/train/{method}/{dataset}/{task}/seed{seed}.tsv"
    wildcard_constraints:
        method=ENCODED,
    conda:
        "../../envs/train.yaml"
    # The same on every machine, because they change rounding.
    threads: one_line_errors(lambda w: STUDY.experiments.settings(w.method, None, w.dataset).train.threads)
    resources:
        **doubled(mem_mb=10000, runtime=720),
        gpu=GPUS,
    params:
        settings=settings_of("train"),
    message:
        "train: {wildcards.method} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    script:
        "../scripts/train.py"


rule embed:
    input:
        known,
        index="results/features/{dataset}/{task}/index.csv",
        model="results/models/{method}/{dataset}/{task}/seed{seed}/model.pt",
    output:
        directory("results/embeddings/{method}/{dataset}/{task}/seed{seed}.zarr"),
    log:
        "results/logs/embed/{method}/{dataset}/{task}/seed{seed}.log",
    wildcard_constraints:
        method=ENCODED,
    group:
        "after_training"
    conda:
        "../../envs/train.yaml"
    resources:
        **doubled(mem_mb=4000, runtime=60),
        gpu=GPUS,
    params:
        settings=settings_of("embed"),
    message:
        "embed: {wildcards.method} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    script:
        "../scripts/embed.py"


use rule embed as embed_without_encoder with:
    input:
        known,
        index="results/features/{dataset}/{task}/index.csv",
    wildcard_constraints:
        method=OTHERWISE_EMBEDDED,
    resources:
        **doubled(mem_mb=4000, runtime=120),
