# Pages to look at what was found: pictures of the videos, views of single results, a page per task, and their list.


rule strips:
    input:
        # Not `ancient`: behind a manifest that is made again, Snakemake would not notice that a video has changed.
        manifest="results/manifest/{dataset}/{task}.csv",
        videos=one_line_errors(lambda w: datasets.footage_of(STUDY, w.dataset, w.task)),
    output:
        directory("results/strips/{dataset}/{task}"),
    log:
        "results/logs/strips/{dataset}/{task}.log",
    conda:
        "../../envs/train.yaml"
    resources:
        **doubled(mem_mb=2000, runtime=120),
    params:
        root=one_line_errors(lambda w: STUDY.config.root_of(w.dataset)),
        sources=one_line_errors(lambda w: datasets.footage_stamp(STUDY, w.dataset, w.task)),
    message:
        "strips: pictures of the videos of {wildcards.dataset}/{wildcards.task}"
    script:
        "../scripts/strips.py"


rule view:
    input:
        embeddings="results/embeddings/{method}/{dataset}/{task}/seed{seed}.zarr",
        segments="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/segments.csv",
        manifest=ancient("results/manifest/{dataset}/{task}.csv"),
        videos=one_line_errors(lambda w: datasets.footage_of(STUDY, w.dataset, w.task)),
    output:
        "results/views/{method}/{decoder}/{dataset}/{task}/seed{seed}.json",
    log:
        "results/logs/view/{method}/{decoder}/{dataset}/{task}/seed{seed}.log",
    wildcard_constraints:
        method=FEATURED,
    # The page waits for it, and for nothing that takes as long.
    priority: 1
    conda:
        "../../envs/train.yaml"
    resources:
        **doubled(mem_mb=4000, runtime=120),
    params:
        root=one_line_errors(lambda w: STUDY.config.root_of(w.dataset)),
        sources=one_line_errors(lambda w: datasets.footage_stamp(STUDY, w.dataset, w.task)),
        settings=settings_of("view"),
    message:
        "view: typical frames, tree and, where an encoder was trained, plane and alignments of {wildcards.method}/{wildcards.decoder} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    script:
        "../scripts/view.py"


rule page:
    input:
        noted(PAGES, paths.PAGE),
        one_line_errors(lambda w: pages.page_files(STUDY, w.dataset, w.task)),
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
    localrule: True
    conda:
        "../../envs/evaluate.yaml"
    resources:
        **doubled(mem_mb=3000, runtime=30),
    params:
        root=one_line_errors(lambda w: STUDY.config.root_of(w.dataset)),
        names=lambda w: pages.names_file(STUDY, w.dataset, w.task),
        runs=one_line_errors(lambda w: [str(run) for run in pages.page_runs(STUDY, w.dataset, w.task)]),
        groups=one_line_errors(lambda w: datasets.page_column(STUDY, w.dataset, w.task)),
    message:
        "page: {wildcards.dataset}/{wildcards.task}"
    script:
        "../scripts/page.py"


rule page_index:
    input:
        one_line_errors(lambda w: pages.index_pages(STUDY)),
    output:
        report(
            "results/report/index.html",
            caption="../report/index.rst",
            category="Pages",
            labels={"dataset": "all", "task": "all", "what": "list of pages"},
        ),
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
