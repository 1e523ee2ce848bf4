# Pages that show results: pictures of the videos, data on single results (views), a page per task, and their list.
LIST = {"dataset": "all", "task": "all", "what": "list of pages"}


rule strips:
    input:
        # Not `ancient`: if the manifest is made again, Snakemake would then miss that a video has changed.
        manifest="results/manifest/{dataset}/{task}.csv",
        videos=asked(datasets.footage_of),
    output:
        directory("results/strips/{dataset}/{task}"),
    log:
        "results/logs/strips/{dataset}/{task}.log",
    conda:
        "../../envs/train.yaml"
    resources:
        **doubled(mem_mb=2000, runtime=120),
    params:
        root=asked(lambda task: task.root),
        sources=stamped(datasets.footage_of),
    message:
        "strips: pictures of the videos of {wildcards.dataset}/{wildcards.task}"
    script:
        "../scripts/strips.py"


rule view:
    input:
        embeddings="results/embeddings/{method}/{dataset}/{task}/seed{seed}.zarr",
        segments="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/segments.csv",
        manifest=ancient("results/manifest/{dataset}/{task}.csv"),
        videos=asked(datasets.footage_of),
    output:
        "results/views/{method}/{decoder}/{dataset}/{task}/seed{seed}.json",
    log:
        "results/logs/view/{method}/{decoder}/{dataset}/{task}/seed{seed}.log",
    conda:
        "../../envs/train.yaml"
    resources:
        **doubled(mem_mb=4000, runtime=120),
    params:
        sources=stamped(datasets.footage_of),
        settings=asked(jobs.settings_behind),
        root=asked(lambda task: task.root),
    message:
        "view: typical frames and tree of {wildcards.method}/{wildcards.decoder} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    script:
        "../scripts/view.py"


rule page:
    input:
        asked(pages.page_files),
    output:
        page=listed("results/report/{dataset}/{task}.html", "page", {**OF_TASK, "what": "page"}),
        procedures=listed("results/report/{dataset}/{task}.csv", "page", {**OF_TASK, "what": "procedures"}),
    log:
        "results/logs/page/{dataset}/{task}.log",
    localrule: True
    conda:
        "../../envs/evaluate.yaml"
    resources:
        **doubled(mem_mb=3000, runtime=30),
    params:
        names=asked(pages.names_file),
        shown=asked(pages.page_shown),
        sources=stamped(pages.told_by_people),
        root=asked(lambda task: task.root),
    message:
        "page: {wildcards.dataset}/{wildcards.task}"
    script:
        "../scripts/page.py"


rule page_index:
    input:
        asked(pages.index_pages),
    output:
        listed("results/report/index.html", "index", LIST),
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
