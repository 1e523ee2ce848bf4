# Pages to look at what was found: pictures of the videos, views of single results, a page per task, and their list.
LIST = labels(dataset="all", task="all", what="list of pages")


rule strips:
    input:
        # Not `ancient`: if the manifest is made again, Snakemake would not notice that a video has changed.
        manifest=paths.MANIFEST,
        videos=of_task(datasets.footage_of),
    output:
        directory(paths.STRIPS),
    log:
        "results/logs/strips/{dataset}/{task}.log",
    conda:
        "../../envs/train.yaml"
    resources:
        **doubled(mem_mb=2000, runtime=120),
    params:
        root=one_line_errors(lambda w: STUDY.config.root_of(w.dataset)),
        sources=stamped(of_task(datasets.footage_of)),
    message:
        "strips: pictures of the videos of {wildcards.dataset}/{wildcards.task}"
    script:
        "../scripts/strips.py"


rule view:
    input:
        **result("embeddings", "segments"),
        manifest=ancient(paths.MANIFEST),
        videos=of_task(datasets.footage_of),
    output:
        paths.VIEW,
    log:
        "results/logs/view/{method}/{decoder}/{dataset}/{task}/seed{seed}.log",
    conda:
        "../../envs/train.yaml"
    resources:
        **doubled(mem_mb=4000, runtime=120),
    params:
        sources=stamped(of_task(datasets.footage_of)),
        settings=settings_behind,
    message:
        "view: typical frames and tree of {wildcards.method}/{wildcards.decoder} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    script:
        "../scripts/view.py"


rule page:
    input:
        page_files,
    output:
        page=listed(paths.PAGE, "page", page_labels("page")),
        procedures=listed(paths.beside(paths.PAGE, ".csv"), "page", page_labels("procedures")),
    log:
        "results/logs/page/{dataset}/{task}.log",
    localrule: True
    conda:
        "../../envs/evaluate.yaml"
    resources:
        **doubled(mem_mb=3000, runtime=30),
    params:
        **each(of_task, names=pages.names_file, shown=pages.page_shown),
        sources=stamped(of_task(pages.told_by_people)),
        root=one_line_errors(lambda w: STUDY.config.root_of(w.dataset)),
    message:
        "page: {wildcards.dataset}/{wildcards.task}"
    script:
        "../scripts/page.py"


rule page_index:
    input:
        one_line_errors(lambda w: pages.index_pages(STUDY)),
    output:
        listed(paths.PAGES, "index", LIST),
    log:
        "results/logs/page_index/index.log",
    localrule: True
    conda:
        "../../envs/evaluate.yaml"
    resources:
        **doubled(mem_mb=1000, runtime=30),
    message:
        "pages: their list"
    script:
        "../scripts/page_index.py"
