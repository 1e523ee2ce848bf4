# Synthetic procedures, for every dataset of config.yaml that has a `synth` block.


rule synth:
    output:
        directory(paths.SYNTHETIC),
    log:
        "results/logs/synth/{dataset}.log",
    conda:
        "../../envs/train.yaml"
    threads: 4
    resources:
        **doubled(mem_mb=1000, runtime=60),
    params:
        settings=one_line_errors(lambda w: datasets.synth_settings(STUDY, w.dataset).model_dump(exclude_defaults=True)),
    message:
        "synth: writing the clips of {wildcards.dataset}"
    script:
        "../scripts/synth.py"
