# Figures, as vector and as picture.
SEEDED = labels("dataset", "task", "seed")


rule segment_bars:
    input:
        **result("manifest", "annotations"),
        segments=one_line_errors(lambda w: pages.bars(STUDY, w.dataset, w.task, int(w.seed))),
        names=of_task(pages.names_there),
    output:
        **forms(paths.SEGMENT_BARS, "segments", SEEDED),
    log:
        "results/logs/segment_bars/{dataset}/{task}/seed{seed}.log",
    localrule: True
    conda:
        "../../envs/evaluate.yaml"
    resources:
        **doubled(mem_mb=2000, runtime=30),
    params:
        sources=stamped(of_task(pages.names_there)),
    message:
        "figure: key steps over time, {wildcards.dataset}/{wildcards.task}"
    script:
        "../scripts/segment_bars.py"


rule compare_groups:
    input:
        unpack(compared_files),
    output:
        **forms(paths.beside(paths.GROUPS, ".pdf"), "groups", group_labels("vector")),
        table=listed(paths.GROUPS, "groups", group_labels("table")),
    log:
        "results/logs/compare_groups/{column}/{method}/{decoder}/{dataset}/{task}/seed{seed}.log",
    localrule: True
    conda:
        "../../envs/evaluate.yaml"
    resources:
        **doubled(mem_mb=2000, runtime=30),
    params:
        sources=stamped(compared_files),
    message:
        "groups: {wildcards.column} in {wildcards.method}/{wildcards.decoder} on {wildcards.dataset}/{wildcards.task}"
    script:
        "../scripts/compare_groups.py"


# A change of its content makes a figure outdated; a change of its caption does not.
rule figure:
    input:
        one_line_errors(lambda w: targets.figure_files(STUDY, w.figure)),
    output:
        vector=listed(paths.FIGURE, "figure", figure_labels("vector")),
        picture=listed(paths.beside(paths.FIGURE, ".png"), "figure", figure_labels("picture")),
    log:
        "results/logs/figure/{figure}.log",
    conda:
        "../../envs/train.yaml"
    resources:
        **doubled(mem_mb=3000, runtime=60),
    params:
        content=one_line_errors(lambda w: targets.figure_content(STUDY, w.figure)),
        caption=untracked(one_line_errors(lambda w: targets.figure_caption(STUDY, w.figure))),
    message:
        "figure: {wildcards.figure}"
    script:
        "../scripts/figure.py"


# Both figures of a trained result follow from its embeddings and the settings of its training.
rule embedding_figure:
    input:
        **result("manifest"),
        embeddings=trained_embeddings,
    output:
        picture=paths.EMBEDDING_FIGURE,
        vector=paths.beside(paths.EMBEDDING_FIGURE, ".pdf"),
    log:
        "results/logs/embedding_figure/{method}/{dataset}/{task}/seed{seed}.log",
    conda:
        "../../envs/train.yaml"
    resources:
        **doubled(mem_mb=3000, runtime=60),
    params:
        settings=settings_behind,
    message:
        "figure: embedding by {wildcards.method} of {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    script:
        "../scripts/embedding_figure.py"


rule plan_figure:
    input:
        **result("manifest", "annotations"),
        embeddings=trained_embeddings,
    output:
        picture=paths.PLAN_FIGURE,
        vector=paths.beside(paths.PLAN_FIGURE, ".pdf"),
    log:
        "results/logs/plan_figure/{method}/{dataset}/{task}/seed{seed}.log",
    conda:
        "../../envs/train.yaml"
    resources:
        **doubled(mem_mb=3000, runtime=60),
    params:
        settings=settings_behind,
    message:
        "figure: transport plan by {wildcards.method} of {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    script:
        "../scripts/plan_figure.py"
