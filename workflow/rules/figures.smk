# Figures, as vector and as picture.


rule segment_bars:
    input:
        manifest=paths.MANIFEST,
        annotations=paths.ANNOTATIONS,
        segments=study("bar_segments"),
        names=study("names_there"),
    output:
        vector=report(
            paths.SEGMENT_BARS,
            caption="../report/segments.rst",
            category="Key steps over time",
            labels={"dataset": "{dataset}", "task": "{task}", "seed": "{seed}"},
        ),
        picture=paths.beside(paths.SEGMENT_BARS, ".png"),
    log:
        paths.log("segment_bars/{dataset}/{task}/seed{seed}"),
    localrule: True
    conda:
        "../../envs/evaluate.yaml"
    threads: 1
    resources:
        mem_mb=doubled(2000),
        runtime=doubled(30),
    params:
        bars=study("bar_options"),
    message:
        "figure: key steps over time, {wildcards.dataset}/{wildcards.task}"
    shell:
        "rgwot plot --manifest {input.manifest:q} --annotations {input.annotations:q}"
        " --title {wildcards.dataset}/{wildcards.task:q}', seed {wildcards.seed}' {params.bars}"
        " {output.vector:q} 2> {log:q}"


rule choice_curves:
    input:
        paths.DIAGNOSTICS,
    output:
        vector=report(
            paths.CHOICE_CURVES,
            caption="../report/choices.rst",
            category="What was left to the data",
            labels={
                "dataset": "{dataset}",
                "task": "{task}",
                "method": "{method}",
                "decoder": "{decoder}",
                "seed": "{seed}",
            },
        ),
        picture=paths.beside(paths.CHOICE_CURVES, ".png"),
    log:
        paths.log("choice_curves/{method}/{decoder}/{dataset}/{task}/seed{seed}"),
    wildcard_constraints:
        method=FEATURED,
    localrule: True
    conda:
        "../../envs/evaluate.yaml"
    threads: 1
    resources:
        mem_mb=doubled(1000),
        runtime=doubled(30),
    message:
        "figure: what {wildcards.method}/{wildcards.decoder} left to the data, {wildcards.dataset}/{wildcards.task}"
    shell:
        "rgwot plot-choices {output.vector:q} {input:q}"
        " --title {wildcards.dataset}/{wildcards.task:q}': {wildcards.method}/{wildcards.decoder}, seed {wildcards.seed}'"
        " 2> {log:q}"


rule figure:
    input:
        study("figure_files"),
    output:
        vector=report(
            paths.FIGURE,
            caption="../report/figure.rst",
            category="Figures",
            labels=figure_labels("vector"),
        ),
        picture=report(
            paths.beside(paths.FIGURE, ".png"),
            caption="../report/figure.rst",
            category="Figures",
            labels=figure_labels("picture"),
        ),
    log:
        paths.log("figure/{figure}"),
    threads: 1
    resources:
        mem_mb=doubled(3000),
        runtime=doubled(60),
    params:
        # A change of it makes the figure outdated.
        content=study("figure_content"),
        caption=untracked(study("figure_caption")),
    message:
        "figure: {wildcards.figure}"
    # What is drawn follows from tables and configuration, which the process of this job has read.
    run:
        plainly(CATALOGUE.draw_figure)(wildcards.figure, output.vector, log[0])
        record("figure", {"output": Path(output.vector)})
