# One encoder per task, method and seed, and the embeddings of all videos of the task.


rule train:
    input:
        paths.INDEX,
    output:
        model=paths.MODEL,
        history=paths.HISTORY,
        machine=paths.MACHINE,
    log:
        paths.log("train/{method}/{dataset}/{task}/seed{seed}"),
    # Tables of training times read it.
    benchmark:
        paths.TRAINING_TIME
    wildcard_constraints:
        method=ENCODED,
    conda:
        "../../envs/train.yaml"
    threads: train_threads
    resources:
        mem_mb=doubled(10000),
        runtime=doubled(720),
        gpu=GPUS,
    params:
        settings=settings_of(*EMBEDDINGS["encoder"].reads),
        execution=untracked(settings_of("train", execution=True)),
        hold_out=study("hold_out"),
        device=untracked(CATALOGUE.config.device),
    message:
        "train: {wildcards.method} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    shell:
        "rgwot train --index {input:q} {params.hold_out} --settings {params.settings:q} --execution {params.execution:q} --seed {wildcards.seed}"
        " --device {params.device} {output.model:q} 2> {log:q}"


rule embed:
    input:
        index=paths.INDEX,
        model=paths.MODEL,
    output:
        directory(paths.EMBEDDINGS),
    log:
        paths.log("embed/{method}/{dataset}/{task}/seed{seed}"),
    wildcard_constraints:
        method=ENCODED,
    group:
        "after_training"
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        mem_mb=doubled(4000),
        runtime=doubled(60),
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
        index=paths.INDEX,
    output:
        directory(paths.EMBEDDINGS),
    log:
        paths.log("embed/{method}/{dataset}/{task}/seed{seed}"),
    wildcard_constraints:
        method=OTHERWISE_EMBEDDED,
    group:
        "after_training"
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        mem_mb=doubled(4000),
        runtime=doubled(120),
    params:
        settings=study("embedding_options"),
        hold_out=study("hold_out"),
    message:
        "embed: {wildcards.method} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    shell:
        "rgwot embed --index {input.index:q} --method {wildcards.method:q} {params.settings} {params.hold_out}"
        " --seed {wildcards.seed} --threads {threads} --device cpu {output:q} 2> {log:q}"
