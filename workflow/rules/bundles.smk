# Finished results as single files, which `rgwot apply` applies to other videos.


rule bundle:
    input:
        segments="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/segments.csv",
        procedure="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/procedure.json",
        diagnostics="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/diagnostics.json",
        index="results/features/{dataset}/{task}/index.csv",
        embeddings="results/embeddings/{method}/{dataset}/{task}/seed{seed}.zarr",
        model=asked(pages.model_behind),
        names=asked(pages.names_there),
        annotations=asked(jobs.teaching),
    output:
        "results/bundles/{method}/{decoder}/{dataset}/{task}/seed{seed}.rgwot",
    log:
        "results/logs/bundle/{method}/{decoder}/{dataset}/{task}/seed{seed}.log",
    conda:
        "../../envs/train.yaml"
    resources:
        **doubled(mem_mb=4000, runtime=60),
    params:
        settings=asked(jobs.settings_behind),
        sources=stamped(pages.names_there),
    message:
        "bundle: {wildcards.method}/{wildcards.decoder} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    script:
        "../scripts/bundle.py"
