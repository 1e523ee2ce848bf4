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
        config=CONFIGURATION,
        settings=settings_of("bundle"),
        model=lambda w, input: options(model=input.model),
        names=lambda w: pages.names_file(STUDY, w.dataset, w.task),
    message:
        "bundle: {wildcards.method}/{wildcards.decoder} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    shell:
        "rgwot bundle --config {params.config} --method {wildcards.method:q} --decoder {wildcards.decoder:q}"
        " --dataset {wildcards.dataset} --task {wildcards.task:q} --seed {wildcards.seed} {params.model}"
        " --index {input.index:q} --embeddings {input.embeddings:q} --segments {input.segments:q}"
        " --names {params.names:q} {output:q} > /dev/null 2> {log:q}"
