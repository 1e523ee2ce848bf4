# Every protocol, with and without background, by both label rules, into one tidy table per run.


rule evaluate:
    input:
        manifest="results/manifest/{dataset}/{task}.csv",
        annotations="results/annotations/{dataset}/{task}.csv",
        segments="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/segments.csv",
        diagnostics="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/diagnostics.json",
    output:
        "results/scores/{method}/{decoder}/{dataset}/{task}/seed{seed}.csv",
    log:
        "results/logs/evaluate/{method}/{decoder}/{dataset}/{task}/seed{seed}.log",
    benchmark:
        "results/benchmarks/evaluate/{method}/{decoder}/{dataset}/{task}/seed{seed}.tsv"
    group:
        "after_training"
    conda:
        "../../envs/evaluate.yaml"
    threads: 1
    resources:
        mem_mb=memory_for("evaluate"),
        runtime=time_for("evaluate"),
    params:
        settings=settings_of("evaluation"),
        key_steps=annotated_key_steps,
    message:
        "evaluate: {wildcards.method}/{wildcards.decoder} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    shell:
        "rgwot evaluate --manifest {input.manifest:q} --annotations {input.annotations:q} --segments {input.segments:q}"
        " --diagnostics {input.diagnostics:q} {params.key_steps} --settings {params.settings:q} --dataset {wildcards.dataset}"
        " --task {wildcards.task:q} --method {wildcards.method:q} --decoder {wildcards.decoder:q}"
        " --seed {wildcards.seed} {output:q} 2> {log:q}"


rule yardsticks:
    input:
        index="results/features/{dataset}/{task}/index.csv",
        manifest="results/manifest/{dataset}/{task}.csv",
        annotations="results/annotations/{dataset}/{task}.csv",
    output:
        "results/yardsticks/{dataset}/{task}.json",
    log:
        "results/logs/yardsticks/{dataset}/{task}.log",
    benchmark:
        "results/benchmarks/yardsticks/{dataset}/{task}.tsv"
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        mem_mb=memory_for("yardsticks"),
        runtime=time_for("yardsticks"),
    params:
        settings=settings_of("decode.K"),
    message:
        "yardsticks: how hard the clips of {wildcards.dataset}/{wildcards.task} are, before any method runs"
    shell:
        "rgwot yardsticks --index {input.index:q} --manifest {input.manifest:q} --annotations {input.annotations:q}"
        " --settings {params.settings:q} {output:q} 2> {log:q}"
