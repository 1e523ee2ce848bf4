# Synthetic procedures, for every dataset of config.yaml that has a `synth` block.


rule synth:
    output:
        directory(paths.SYNTHETIC),
    log:
        paths.log("synth/{dataset}"),
    conda:
        "../../envs/train.yaml"
    threads: 4
    resources:
        mem_mb=doubled(1000),
        runtime=doubled(60),
    params:
        settings=study("synth_json"),
    message:
        "synth: writing the clips of {wildcards.dataset}"
    shell:
        "rgwot synth --settings {params.settings:q} --jobs {threads} {output:q} 2> {log:q}"
