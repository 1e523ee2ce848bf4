# Every protocol, with and without background, by both label rules, into one tidy table per run.


rule evaluate:
    input:
        **result("segments", "procedure", "diagnostics"),
        graph=lambda w: jobs.graph_there(w.dataset, w.task),
        manifest="results/manifest/{dataset}/{task}.csv",
        annotations=one_line_errors(lambda w: datasets.annotations_of(STUDY, w.dataset, w.task)),
    output:
        "results/scores/{method}/{decoder}/{dataset}/{task}/seed{seed}.csv",
    log:
        "results/logs/evaluate/{method}/{decoder}/{dataset}/{task}/seed{seed}.log",
    group:
        "after_training"
    conda:
        "../../envs/evaluate.yaml"
    resources:
        **doubled(mem_mb=2000, runtime=30),
    params:
        settings=settings_of("evaluate"),
        key_steps=one_line_errors(lambda w: datasets.known_K(STUDY, w.dataset, w.task)),
    message:
        "evaluate: {wildcards.method}/{wildcards.decoder} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    script:
        "../scripts/evaluate.py"
