# From embeddings to key steps, per-video orders and ranked procedures; and the trivial answers beside them.


rule decode:
    input:
        paths.EMBEDDINGS,
    output:
        segments=paths.SEGMENTS,
        order=paths.ORDER,
        procedures=paths.PROCEDURES,
        procedure=paths.PROCEDURE,
        deviations=paths.DEVIATIONS,
        diagnostics=paths.DIAGNOSTICS,
    log:
        paths.log("decode/{method}/{decoder}/{dataset}/{task}/seed{seed}"),
    wildcard_constraints:
        method=FEATURED,
    group:
        "after_training"
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        mem_mb=doubled(4000),
        runtime=doubled(120),
    params:
        settings=study("decoder_settings"),
    message:
        "decode: {wildcards.method}/{wildcards.decoder} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    shell:
        "rgwot decode --embeddings {input:q} --decoder {wildcards.decoder:q} --settings {params.settings:q}"
        " --seed {wildcards.seed} {output.segments:q} 2> {log:q}"


rule decode_trivial:
    input:
        study("annotations_read"),
        manifest=paths.MANIFEST,
    output:
        segments=paths.SEGMENTS,
        order=paths.ORDER,
        procedures=paths.PROCEDURES,
        procedure=paths.PROCEDURE,
        deviations=paths.DEVIATIONS,
        diagnostics=paths.DIAGNOSTICS,
    log:
        paths.log("decode/{method}/{decoder}/{dataset}/{task}/seed{seed}"),
    wildcard_constraints:
        method=FEATURELESS,
    group:
        "after_training"
    conda:
        "../../envs/evaluate.yaml"
    threads: 1
    resources:
        mem_mb=doubled(1000),
        runtime=doubled(30),
    params:
        settings=settings_of("decode.K", "evaluation", "procedure"),
        hold_out=study("hold_out"),
        annotations=study("annotations_option"),
    message:
        "decode: trivial answer {wildcards.decoder} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    shell:
        "rgwot decode --manifest {input.manifest:q} --decoder {wildcards.decoder:q} {params.hold_out} {params.annotations}"
        " --settings {params.settings:q}"
        " --seed {wildcards.seed} {output.segments:q} 2> {log:q}"
