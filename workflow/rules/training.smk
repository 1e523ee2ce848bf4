# One encoder per task, method and seed, and the embeddings of all videos of the task.


# Tables of training times read the benchmark. Threads are the same on every machine, because they change rounding.
rule train:
    input:
        index=training_files,
    output:
        multiext("results/models/{method}/{dataset}/{task}/seed{seed}/", "model.pt", "history.csv", "machine.json"),
    log:
        "results/logs/train/{method}/{dataset}/{task}/seed{seed}.log",
    benchmark:
        paths.TRAINING_TIME
    conda:
        "../../envs/train.yaml"
    threads: one_line_errors(lambda w: STUDY.experiments.embedding(w.method, w.dataset).train.threads)
    resources:
        **doubled(mem_mb=10000, runtime=720, gpu=GPUS),
    params:
        settings=settings_behind,
    message:
        "train: {wildcards.method} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    script:
        "../scripts/train.py"


rule embed:
    input:
        index=known(paths.INDEX),
        model=paths.MODEL,
    output:
        directory(paths.EMBEDDINGS),
    log:
        "results/logs/embed/{method}/{dataset}/{task}/seed{seed}.log",
    wildcard_constraints:
        method=ENCODED,
    conda:
        "../../envs/train.yaml"
    resources:
        **doubled(mem_mb=4000, runtime=60, gpu=GPUS),
    params:
        settings=settings_behind,
    message:
        "embed: {wildcards.method} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    script:
        "../scripts/embed.py"


use rule embed as embed_without_encoder with:
    input:
        index=known(paths.INDEX),
    wildcard_constraints:
        method=OTHERWISE_EMBEDDED,
    resources:
        **doubled(mem_mb=4000, runtime=120),
