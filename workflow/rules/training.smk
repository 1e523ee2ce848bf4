# One encoder per task, method and seed, and the embeddings of all videos of the task.


rule train:
    input:
        "results/features/{dataset}/{task}/index.csv",
    output:
        model="results/models/{method}/{dataset}/{task}/seed{seed}/model.pt",
        history="results/models/{method}/{dataset}/{task}/seed{seed}/history.csv",
        machine="results/models/{method}/{dataset}/{task}/seed{seed}/machine.json",
    log:
        "results/logs/train/{method}/{dataset}/{task}/seed{seed}.log",
    benchmark:
        "results/benchmarks/train/{method}/{dataset}/{task}/seed{seed}.tsv"
    wildcard_constraints:
        method=ENCODED,
    conda:
        "../../envs/train.yaml"
    threads: train_threads
    resources:
        mem_mb=memory_for("train"),
        runtime=time_for("train"),
        gpu=GPUS,
    params:
        settings=settings_of("ot", "cidm", "loss", "encoder", "train", "data"),
        execution=execution_of("train"),
        hold_out=hold_out,
        device=untracked(CATALOGUE.config.device),
    message:
        "train: {wildcards.method} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    shell:
        "rgwot train --index {input:q} {params.hold_out} --settings {params.settings:q} --execution {params.execution:q} --seed {wildcards.seed}"
        " --device {params.device} {output.model:q} 2> {log:q}"


rule embed:
    input:
        index="results/features/{dataset}/{task}/index.csv",
        model="results/models/{method}/{dataset}/{task}/seed{seed}/model.pt",
    output:
        directory("results/embeddings/{method}/{dataset}/{task}/seed{seed}.zarr"),
    log:
        "results/logs/embed/{method}/{dataset}/{task}/seed{seed}.log",
    benchmark:
        "results/benchmarks/embed/{method}/{dataset}/{task}/seed{seed}.tsv"
    wildcard_constraints:
        method=ENCODED,
    group:
        "after_training"
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        mem_mb=memory_for("embed"),
        runtime=time_for("embed"),
        gpu=GPUS,
    params:
        device=untracked(CATALOGUE.config.device),
    message:
        "embed: {wildcards.method} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    shell:
        "rgwot embed --index {input.index:q} --model {input.model:q} --method {wildcards.method:q} --seed {wildcards.seed}"
        " --threads {threads} --device {params.device} {output:q} 2> {log:q}"


rule embed_without_encoder:
    input:
        index="results/features/{dataset}/{task}/index.csv",
    output:
        directory("results/embeddings/{method}/{dataset}/{task}/seed{seed}.zarr"),
    log:
        "results/logs/embed/{method}/{dataset}/{task}/seed{seed}.log",
    benchmark:
        "results/benchmarks/embed/{method}/{dataset}/{task}/seed{seed}.tsv"
    wildcard_constraints:
        method=OTHERWISE_EMBEDDED,
    group:
        "after_training"
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        mem_mb=memory_for("embed_without_encoder"),
        runtime=time_for("embed_without_encoder"),
    params:
        settings=embedding_options,
        hold_out=hold_out,
    message:
        "embed: {wildcards.method} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    shell:
        "rgwot embed --index {input.index:q} --method {wildcards.method:q} {params.settings} {params.hold_out}"
        " --seed {wildcards.seed} --threads {threads} --device cpu {output:q} 2> {log:q}"
