# Pages to look at what was found: pictures of the videos, views of single results, a page per task, and their list.


rule strips:
    input:
        # Read for lengths and sizes; an annotation that changes leaves the pictures as they are.
        manifest=ancient("results/manifest/{dataset}/{task}.csv"),
        videos=task_videos("results/strips/{dataset}/{task}"),
    output:
        directory("results/strips/{dataset}/{task}"),
    log:
        "results/logs/strips/{dataset}/{task}.log",
    benchmark:
        "results/benchmarks/strips/{dataset}/{task}.tsv"
    conda:
        "../../envs/train.yaml"
    threads: 2
    resources:
        mem_mb=memory_for("strips"),
        runtime=time_for("strips"),
    params:
        root=dataset_root,
    message:
        "strips: pictures of the videos of {wildcards.dataset}/{wildcards.task}"
    shell:
        "rgwot strips --manifest {input.manifest:q} --root {params.root:q} --threads {threads} {output:q} 2> {log:q}"


rule view:
    input:
        embeddings="results/embeddings/{method}/{dataset}/{task}/seed{seed}.zarr",
        segments="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/segments.csv",
        manifest=ancient("results/manifest/{dataset}/{task}.csv"),
        videos=task_videos("results/views/{method}/{decoder}/{dataset}/{task}/seed{seed}.json"),
    output:
        "results/views/{method}/{decoder}/{dataset}/{task}/seed{seed}.json",
    log:
        "results/logs/view/{method}/{decoder}/{dataset}/{task}/seed{seed}.log",
    benchmark:
        "results/benchmarks/view/{method}/{decoder}/{dataset}/{task}/seed{seed}.tsv"
    wildcard_constraints:
        method=f"(?!{FEATURELESS}/)[^/]+",
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        mem_mb=memory_for("view"),
        runtime=time_for("view"),
    params:
        root=dataset_root,
        settings=settings_of("ot"),
    message:
        "view: typical frames, plane and alignments of {wildcards.method}/{wildcards.decoder} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    shell:
        "rgwot view --embeddings {input.embeddings:q} --segments {input.segments:q} --manifest {input.manifest:q}"
        " --root {params.root:q} --settings {params.settings:q} --seed {wildcards.seed} {output:q} 2> {log:q}"


rule page:
    input:
        page_files,
    output:
        page=report(
            "results/report/{dataset}/{task}.html",
            caption="../report/page.rst",
            category="Pages",
            labels={"dataset": "{dataset}", "task": "{task}", "what": "page"},
        ),
        procedures=report(
            "results/report/{dataset}/{task}.csv",
            caption="../report/page.rst",
            category="Pages",
            labels={"dataset": "{dataset}", "task": "{task}", "what": "procedures"},
        ),
    log:
        "results/logs/page/{dataset}/{task}.log",
    benchmark:
        "results/benchmarks/page/{dataset}/{task}.tsv"
    localrule: True
    conda:
        "../../envs/evaluate.yaml"
    threads: 1
    resources:
        mem_mb=memory_for("page"),
        runtime=time_for("page"),
    params:
        options=page_options,
        # A view that somebody asked for since the page was made is worth a new page.
        views=page_views,
    message:
        "page: {wildcards.dataset}/{wildcards.task}"
    shell:
        "rgwot report --dataset {wildcards.dataset} --task {wildcards.task:q} {params.options} {output.page:q} 2> {log:q}"


rule page_index:
    input:
        index_pages,
    output:
        report(
            "results/report/index.html",
            caption="../report/index.rst",
            category="Pages",
            labels={"dataset": "all", "task": "all", "what": "list of pages"},
        ),
    log:
        "results/logs/page_index/index.log",
    benchmark:
        "results/benchmarks/page_index/index.tsv"
    localrule: True
    conda:
        "../../envs/evaluate.yaml"
    threads: 1
    resources:
        mem_mb=memory_for("page_index"),
        runtime=time_for("page_index"),
    params:
        others=other_pages,
    message:
        "pages: their list"
    shell:
        "rgwot report-index {output:q} 2> {log:q}"
