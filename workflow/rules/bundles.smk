# Finished results as single files, which `rgwot apply` takes to other videos.


rule bundle:
    input:
        unpack(bundled_files),
        **result("segments", "procedure", "diagnostics", "index", "embeddings"),
        annotations=of_result(jobs.teaching),
    output:
        paths.BUNDLE,
    log:
        "results/logs/bundle/{method}/{decoder}/{dataset}/{task}/seed{seed}.log",
    conda:
        "../../envs/train.yaml"
    resources:
        **doubled(mem_mb=4000, runtime=60),
    params:
        settings=settings_behind,
        sources=stamped(of_task(pages.names_there)),
    message:
        "bundle: {wildcards.method}/{wildcards.decoder} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    script:
        "../scripts/bundle.py"
