# Finished results as single files, which `rgwot apply` takes to other videos.


rule bundle:
    input:
        **result("segments", "procedure", "diagnostics"),
        model=branch(
            one_line_errors(lambda w: family_of(w.method).trained),
            then="results/models/{method}/{dataset}/{task}/seed{seed}/model.pt",
        ),
        names=lambda w: pages.names_there(STUDY, w.dataset, w.task),
        index="results/features/{dataset}/{task}/index.csv",
        embeddings="results/embeddings/{method}/{dataset}/{task}/seed{seed}.zarr",
    output:
        "results/bundles/{method}/{decoder}/{dataset}/{task}/seed{seed}.rgwot",
    log:
        "results/logs/bundle/{method}/{decoder}/{dataset}/{task}/seed{seed}.log",
    wildcard_constraints:
        method=FEATURED,
    conda:
        "../../envs/train.yaml"
    resources:
        **doubled(mem_mb=4000, runtime=60),
    params:
        settings=settings_of("bundle"),
        names=lambda w: pages.names_file(STUDY, w.dataset, w.task),
    message:
        "bundle: {wildcards.method}/{wildcards.decoder} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    script:
        "../scripts/bundle.py"
