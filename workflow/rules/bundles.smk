# Finished results as single files, which `rgwot apply` takes to other videos.


rule bundle:
    input:
        study("bundle_model"),
        study("names_there"),
        index=paths.INDEX,
        embeddings=paths.EMBEDDINGS,
        segments=paths.SEGMENTS,
        procedure=paths.PROCEDURE,
        diagnostics=paths.DIAGNOSTICS,
    output:
        paths.BUNDLE,
    log:
        paths.log("bundle/{method}/{decoder}/{dataset}/{task}/seed{seed}"),
    wildcard_constraints:
        method=FEATURED,
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        mem_mb=doubled(4000),
        runtime=doubled(60),
    params:
        options=study("bundle_options"),
    message:
        "bundle: {wildcards.method}/{wildcards.decoder} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    shell:
        "rgwot bundle --index {input.index:q} --embeddings {input.embeddings:q} --segments {input.segments:q}"
        " --method {wildcards.method:q} --decoder {wildcards.decoder:q} --dataset {wildcards.dataset}"
        " --task {wildcards.task:q} --seed {wildcards.seed} {params.options} {output:q} > /dev/null 2> {log:q}"
