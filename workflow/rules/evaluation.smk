# Every protocol, with and without background, by both label rules, into one tidy table per run.


rule evaluate:
    input:
        study("graph_there"),
        manifest=paths.MANIFEST,
        annotations=paths.ANNOTATIONS,
        segments=paths.SEGMENTS,
        procedure=paths.PROCEDURE,
        diagnostics=paths.DIAGNOSTICS,
    output:
        paths.SCORES,
    log:
        paths.log("evaluate/{method}/{decoder}/{dataset}/{task}/seed{seed}"),
    group:
        "after_training"
    conda:
        "../../envs/evaluate.yaml"
    threads: 1
    resources:
        mem_mb=doubled(2000),
        runtime=doubled(30),
    params:
        settings=settings_of("evaluation"),
        key_steps=study("annotated_key_steps"),
        graph=study("graph_option"),
    message:
        "evaluate: {wildcards.method}/{wildcards.decoder} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    shell:
        "rgwot evaluate --manifest {input.manifest:q} --annotations {input.annotations:q} --segments {input.segments:q}"
        " --diagnostics {input.diagnostics:q} --procedure {input.procedure:q} {params.graph} {params.key_steps} --settings {params.settings:q} --dataset {wildcards.dataset}"
        " --task {wildcards.task:q} --method {wildcards.method:q} --decoder {wildcards.decoder:q}"
        " --seed {wildcards.seed} {output:q} 2> {log:q}"


rule yardsticks:
    input:
        index=paths.INDEX,
        manifest=paths.MANIFEST,
        annotations=paths.ANNOTATIONS,
    output:
        paths.YARDSTICKS,
    log:
        paths.log("yardsticks/{dataset}/{task}"),
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        mem_mb=doubled(4000),
        runtime=doubled(60),
    params:
        settings=settings_of("decode.K"),
    message:
        "yardsticks: how hard the clips of {wildcards.dataset}/{wildcards.task} are, before any method runs"
    shell:
        "rgwot yardsticks --index {input.index:q} --manifest {input.manifest:q} --annotations {input.annotations:q}"
        " --settings {params.settings:q} {output:q} 2> {log:q}"
