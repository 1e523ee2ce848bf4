# Figures, as vector and as picture.


rule segment_bars:
    input:
        manifest="results/manifest/{dataset}/{task}.csv",
        annotations="results/annotations/{dataset}/{task}.csv",
        segments=one_line_errors(lambda w: pages.bar_segments(STUDY, w.dataset, w.task, int(w.seed))),
        names=lambda w: pages.names_there(STUDY, w.dataset, w.task),
    output:
        vector=report(
            "results/figures/segments/{dataset}/{task}/seed{seed}.pdf",
            caption="../report/segments.rst",
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
        bars=one_line_errors(lambda w: pages.bar_options(STUDY, w.dataset, w.task, int(w.seed))),
        names=lambda w: pages.names_file(STUDY, w.dataset, w.task),
    message:
        "figure: key steps over time, {wildcards.dataset}/{wildcards.task}"
    shell:
        "rgwot plot --manifest {input.manifest:q} --annotations {input.annotations:q} {params.bars}"
        " --title {wildcards.dataset}/{wildcards.task:q}', seed {wildcards.seed}' --names {params.names:q}"
        " {output.vector:q} 2> {log:q}"


rule compare_groups:
    input:
        **result("segments", "deviations"),
        names=lambda w: pages.names_there(STUDY, w.dataset, w.task),
        videos=one_line_errors(lambda w: datasets.groups_file(STUDY, w.dataset, w.task, w.column)),
    output:
        table=report(
            "results/groups/{column}/{method}/{decoder}/{dataset}/{task}/seed{seed}.csv",
            caption="../report/groups.rst",
            category="Groups",
            labels=result_labels(column="{column}", form="table"),
        ),
        vector=report(
            "results/groups/{column}/{method}/{decoder}/{dataset}/{task}/seed{seed}.pdf",
            caption="../report/groups.rst",
            category="Groups",
            labels=result_labels(column="{column}", form="vector"),
        ),
        picture="results/groups/{column}/{method}/{decoder}/{dataset}/{task}/seed{seed}.png",
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
    shell:
        "rgwot compare-groups --videos {input.videos:q} --column {wildcards.column:q} --task {wildcards.task:q}"
        " --names {params.names:q} --title {wildcards.dataset}/{wildcards.task:q}':"
        " {wildcards.method}/{wildcards.decoder}, seed {wildcards.seed}'"
        " {output.table:q} $(dirname {input.segments:q}) > {log:q} 2>&1"


rule figure:
    input:
        files=one_line_errors(lambda w: tables.figure_files(STUDY, w.figure)),
    output:
        vector=report(
            "results/figures/{figure}.pdf",
            caption="../report/figure.rst",
            category="Figures",
            labels=figure_labels("vector"),
        ),
        picture=report(
            "results/figures/{figure}.png",
            caption="../report/figure.rst",
            category="Figures",
            labels=figure_labels("picture"),
        ),
    log:
        "results/logs/figure/{figure}.log",
    conda:
        "../../envs/train.yaml"
    resources:
        **doubled(mem_mb=3000, runtime=60),
    params:
        config=CONFIGURATION,
        tables=untracked(TABLES),
        # A change of it makes the figure outdated.
        content=one_line_errors(lambda w: tables.figure_content(STUDY, w.figure)),
        caption=untracked(one_line_errors(lambda w: tables.figure_caption(STUDY, w.figure))),
    message:
        "figure: {wildcards.figure}"
    shell:
        "rgwot figure --config {params.config} --tables {params.tables:q} {output.vector:q} 2> {log:q}"
