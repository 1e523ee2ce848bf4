# Figures, as vector and as picture.
SEEDED = {**OF_TASK, "seed": "{seed}"}
OF_GROUPS = {**OF_RUN, "column": "{column}"}


rule segment_bars:
    input:
        manifest="results/manifest/{dataset}/{task}.csv",
        annotations="results/annotations/{dataset}/{task}.csv",
        segments=asked(pages.bars),
        names=asked(pages.names_there),
    output:
        vector=listed("results/figures/segments/{dataset}/{task}/seed{seed}.pdf", "segments", SEEDED),
        picture="results/figures/segments/{dataset}/{task}/seed{seed}.png",
    log:
        "results/logs/segment_bars/{dataset}/{task}/seed{seed}.log",
    localrule: True
    conda:
        "../../envs/evaluate.yaml"
    resources:
        **doubled(mem_mb=2000, runtime=30),
    params:
        sources=stamped(pages.names_there),
    message:
        "figure: key steps over time, {wildcards.dataset}/{wildcards.task}"
    script:
        "../scripts/segment_bars.py"


rule compare_groups:
    input:
        segments="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/segments.csv",
        deviations="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/deviations.csv",
        names=asked(pages.names_there),
        videos=asked(datasets.groups_file),
    output:
        vector=listed(
            "results/groups/{column}/{method}/{decoder}/{dataset}/{task}/seed{seed}.pdf",
            "groups",
            {**OF_GROUPS, "form": "vector"},
        ),
        picture="results/groups/{column}/{method}/{decoder}/{dataset}/{task}/seed{seed}.png",
        table=listed(
            "results/groups/{column}/{method}/{decoder}/{dataset}/{task}/seed{seed}.csv",
            "groups",
            {**OF_GROUPS, "form": "table"},
        ),
    log:
        "results/logs/compare_groups/{column}/{method}/{decoder}/{dataset}/{task}/seed{seed}.log",
    localrule: True
    conda:
        "../../envs/evaluate.yaml"
    resources:
        **doubled(mem_mb=2000, runtime=30),
    params:
        sources=stamped(pages.names_there, datasets.groups_file),
    message:
        "groups: {wildcards.column} in {wildcards.method}/{wildcards.decoder} on {wildcards.dataset}/{wildcards.task}"
    script:
        "../scripts/compare_groups.py"


rule figure:
    input:
        asked(lambda study, figure: targets.figure_files(study, figure)),
    output:
        vector=listed(
            "results/figures/{figure}.pdf",
            "figure",
            asked(lambda study, figure: targets.figure_labels(study, figure, "vector")),
        ),
        picture=listed(
            "results/figures/{figure}.png",
            "figure",
            asked(lambda study, figure: targets.figure_labels(study, figure, "picture")),
        ),
    log:
        "results/logs/figure/{figure}.log",
    conda:
        "../../envs/train.yaml"
    resources:
        **doubled(mem_mb=3000, runtime=60),
    params:
        figure=asked(lambda study, figure: targets.figure(study, figure)),
        content=asked(lambda study, figure: targets.figure(study, figure).content),
        caption=asked(lambda study, figure: targets.figure_caption(study, figure)),
    message:
        "figure: {wildcards.figure}"
    script:
        "../scripts/figure.py"


# Both figures of a trained result follow from its embeddings and the settings of its training.
rule embedding_figure:
    input:
        manifest="results/manifest/{dataset}/{task}.csv",
        embeddings=checked(
            "results/embeddings/{method}/{dataset}/{task}/seed{seed}.zarr",
            refusals.check_trained,
            refusals.check_result,
        ),
    output:
        picture="results/figures/embedding/{method}/{dataset}/{task}/seed{seed}.png",
        vector="results/figures/embedding/{method}/{dataset}/{task}/seed{seed}.pdf",
    log:
        "results/logs/embedding_figure/{method}/{dataset}/{task}/seed{seed}.log",
    conda:
        "../../envs/train.yaml"
    resources:
        **doubled(mem_mb=3000, runtime=60),
    params:
        settings=asked(jobs.settings_behind),
    message:
        "figure: embedding by {wildcards.method} of {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    script:
        "../scripts/embedding_figure.py"


rule plan_figure:
    input:
        manifest="results/manifest/{dataset}/{task}.csv",
        annotations="results/annotations/{dataset}/{task}.csv",
        embeddings=checked(
            "results/embeddings/{method}/{dataset}/{task}/seed{seed}.zarr",
            refusals.check_trained,
            refusals.check_result,
        ),
    output:
        picture="results/figures/plan/{method}/{dataset}/{task}/seed{seed}.png",
        vector="results/figures/plan/{method}/{dataset}/{task}/seed{seed}.pdf",
    log:
        "results/logs/plan_figure/{method}/{dataset}/{task}/seed{seed}.log",
    conda:
        "../../envs/train.yaml"
    resources:
        **doubled(mem_mb=3000, runtime=60),
    params:
        settings=asked(jobs.settings_behind),
    message:
        "figure: transport plan by {wildcards.method} of {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    script:
        "../scripts/plan_figure.py"
