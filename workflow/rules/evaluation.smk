# Every protocol, with and without background, by both label rules, into one tidy table per run.


rule evaluate:
    input:
        **result("segments", "procedure", "deviations", "diagnostics", "manifest"),
        graph=lambda w: jobs.graph_there(w.dataset, w.task),
        annotations=of_result(jobs.scoring),
    output:
        paths.SCORES,
    log:
        "results/logs/evaluate/{method}/{decoder}/{dataset}/{task}/seed{seed}.log",
    conda:
        "../../envs/evaluate.yaml"
    resources:
        **doubled(mem_mb=2000, runtime=30),
    params:
        key_steps=of_task(datasets.known_K),
        sources=stamped(lambda w: jobs.graph_there(w.dataset, w.task)),
        settings=settings_of_scoring,
    message:
        "evaluate: {wildcards.method}/{wildcards.decoder} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    script:
        "../scripts/evaluate.py"
