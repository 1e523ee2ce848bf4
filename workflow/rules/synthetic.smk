# Synthetic procedures, for every dataset of config.yaml that has a `synth` block.


rule synth:
    output:
        directory("results/synthetic/{dataset}"),
    log:
        "results/logs/synth/{dataset}.log",
    conda:
        "../../envs/train.yaml"
    threads: 4
    resources:
        **doubled(mem_mb=1000, runtime=60),
    params:
        settings=asked(lambda study, dataset: datasets.synth_settings(study, dataset).model_dump(exclude_defaults=True)),
    message:
        "synth: writing the clips of {wildcards.dataset}"
    script:
        "../scripts/synth.py"
