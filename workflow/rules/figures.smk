# Figures, as vector and as picture.


rule segment_bars:
    input:
        manifest="results/manifest/{dataset}/{task}.csv",
        annotations="results/annotations/{dataset}/{task}.csv",
        segments=one_line_errors(lambda w: [*pages.bars(STUDY, w.dataset, w.task, int(w.seed)).values()]),
        names=lambda w: pages.names_there(STUDY, w.dataset, w.task),
    output:
        vector=report(
            "results/figures/segments/{dataset}/{task}/seed{seed}.pdf",
            "../report/segments.rst",
            category="Key steps over time",
            labels={"dataset": "{dataset}", "task": "{task}", "seed": "{seed}"},
        ),
        picture="results/figures/segments/{dataset}/{task}/seed{seed}.png",
    log:
        "results/logs/segment_bars/{dataset}/{task}/seed{seed}.log",
    localrule: True
    conda:
        "../../envs/evaluate.yaml"
    resources:
        **doubled(mem_mb=2000, runtime=30),
    params:
        bars=one_line_errors(lambda w: [*pages.bars(STUDY, w.dataset, w.task, int(w.seed))]),
        names=lambda w: pages.names_file(STUDY, w.dataset, w.task),
    message:
        "figure: key steps over time, {wildcards.dataset}/{wildcards.task}"
    script:
        "../scripts/segment_bars.py"


rule compare_groups:
    input:
        **result("segments", "deviations"),
        names=lambda w: pages.names_there(STUDY, w.dataset, w.task),
        videos=one_line_errors(lambda w: datasets.groups_file(STUDY, w.dataset, w.task, w.column)),
    output:
        table=report(
            paths.GROUPS,
            "../report/groups.rst",
            category="Groups",
            labels=result_labels(column="{column}", form="table"),
        ),
        vector=report(
            Path(paths.GROUPS).with_suffix(".pdf"),
            "../report/groups.rst",
            category="Groups",
            labels=result_labels(column="{column}", form="vector"),
        ),
        picture=Path(paths.GROUPS).with_suffix(".png"),
    log:
        "results/logs/compare_groups/{column}/{method}/{decoder}/{dataset}/{task}/seed{seed}.log",
    localrule: True
    conda:
        "../../envs/evaluate.yaml"
    resources:
        **doubled(mem_mb=2000, runtime=30),
    params:
        names=lambda w: pages.names_file(STUDY, w.dataset, w.task),
    message:
        "groups: {wildcards.column} in {wildcards.method}/{wildcards.decoder} on {wildcards.dataset}/{wildcards.task}"
    script:
        "../scripts/compare_groups.py"


rule figure:
    input:
        one_line_errors(lambda w: targets.figure_files(STUDY, w.figure)),
    output:
        vector=report(
            "results/figures/{figure}.pdf", "../report/figure.rst", category="Figures", labels=figure_labels("vector")
        ),
        picture=report(
            "results/figures/{figure}.png", "../report/figure.rst", category="Figures", labels=figure_labels("picture")
        ),
    log:
        "results/logs/figure/{figure}.log",
    conda:
        "../../envs/train.yaml"
    resources:
        **doubled(mem_mb=3000, runtime=60),
    params:
        # A change of it makes the figure outdated.
        content=one_line_errors(lambda w: targets.figure_content(STUDY, w.figure)),
        caption=untracked(one_line_errors(lambda w: targets.figure_caption(STUDY, w.figure))),
    message:
        "figure: {wildcards.figure}"
    script:
        "../scripts/figure.py"
