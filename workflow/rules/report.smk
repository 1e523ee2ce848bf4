# Pages to look at what was found: pictures of the videos, views of single results, a page per task, and their list.


rule strips:
    input:
        # Read for lengths and sizes; an annotation that changes leaves the pictures as they are.
        manifest=ancient(paths.MANIFEST),
        videos=study("task_videos"),
    output:
        directory(paths.STRIPS),
    log:
        paths.log("strips/{dataset}/{task}"),
    conda:
        "../../envs/train.yaml"
    # With two it would hold up everything else on a machine that has no more.
    threads: 1
    resources:
        mem_mb=doubled(2000),
        runtime=doubled(120),
    params:
        root=study("dataset_root"),
        sources=study("footage_sources"),
    message:
        "strips: pictures of the videos of {wildcards.dataset}/{wildcards.task}"
    shell:
        "rgwot strips --manifest {input.manifest:q} --root {params.root:q} --threads {threads} {output:q} 2> {log:q}"


rule view:
    input:
        embeddings=paths.EMBEDDINGS,
        segments=paths.SEGMENTS,
        manifest=ancient(paths.MANIFEST),
        videos=study("task_videos"),
    output:
        paths.VIEW,
    log:
        paths.log("view/{method}/{decoder}/{dataset}/{task}/seed{seed}"),
    wildcard_constraints:
        method=FEATURED,
    # The page waits for it, and for nothing that takes as long.
    priority: 1
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        mem_mb=doubled(4000),
        runtime=doubled(120),
    params:
        root=study("dataset_root"),
        sources=study("footage_sources"),
        settings=settings_of("ot"),
    message:
        "view: typical frames, plane and alignments of {wildcards.method}/{wildcards.decoder} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    shell:
        "rgwot view --embeddings {input.embeddings:q} --segments {input.segments:q} --manifest {input.manifest:q}"
        " --root {params.root:q} --settings {params.settings:q} --seed {wildcards.seed} {output:q} 2> {log:q}"


rule page:
    input:
        study("page_files"),
    output:
        page=report(
            paths.PAGE,
            caption="../report/page.rst",
            category="Pages",
            labels={"dataset": "{dataset}", "task": "{task}", "what": "page"},
        ),
        procedures=report(
            paths.beside(paths.PAGE, ".csv"),
            caption="../report/page.rst",
            category="Pages",
            labels={"dataset": "{dataset}", "task": "{task}", "what": "procedures"},
        ),
    log:
        paths.log("page/{dataset}/{task}"),
    localrule: True
    conda:
        "../../envs/evaluate.yaml"
    threads: 1
    resources:
        mem_mb=doubled(3000),
        runtime=doubled(30),
    params:
        options=study("page_options"),
    message:
        "page: {wildcards.dataset}/{wildcards.task}"
    shell:
        "rgwot report --dataset {wildcards.dataset} --task {wildcards.task:q} {params.options} {output.page:q} 2> {log:q}"


rule page_index:
    input:
        study("index_pages"),
    output:
        report(
            paths.PAGES,
            caption="../report/index.rst",
            category="Pages",
            labels={"dataset": "all", "task": "all", "what": "list of pages"},
        ),
    log:
        paths.log("page_index/index"),
    localrule: True
    conda:
        "../../envs/evaluate.yaml"
    threads: 1
    resources:
        mem_mb=doubled(1000),
        runtime=doubled(30),
    message:
        "pages: their list"
    shell:
        "rgwot report-index {output:q} {input:q} 2> {log:q}"
