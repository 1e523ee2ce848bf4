# Every protocol, with and without background, by both label rules, into one tidy table per run.


rule evaluate:
    input:
        segments="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/segments.csv",
        procedure="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/procedure.json",
        deviations="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/deviations.csv",
        diagnostics="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/diagnostics.json",
        manifest="results/manifest/{dataset}/{task}.csv",
        graph=asked(jobs.graph_there),
        annotations=asked(jobs.scoring),
    output:
        "results/scores/{method}/{decoder}/{dataset}/{task}/seed{seed}.csv",
    log:
        "results/logs/evaluate/{method}/{decoder}/{dataset}/{task}/seed{seed}.log",
    conda:
        "../../envs/evaluate.yaml"
    resources:
        **doubled(mem_mb=2000, runtime=30),
    params:
        key_steps=asked(datasets.known_K),
        sources=stamped(jobs.graph_there),
        settings=asked(lambda task, method, decoder: jobs.settings_behind(task, method, decoder, scored=True)),
    message:
        "evaluate: {wildcards.method}/{wildcards.decoder} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    script:
        "../scripts/evaluate.py"
