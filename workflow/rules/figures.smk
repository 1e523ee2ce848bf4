# Figures, as vector and as picture.


rule segment_bars:
    input:
        manifest="results/manifest/{dataset}/{task}.csv",
        annotations="results/annotations/{dataset}/{task}.csv",
        rgwot="results/keysteps/rgwot/graphcut/{dataset}/{task}/seed{seed}/segments.csv",
        whitened="results/keysteps/whitened/meanfield/{dataset}/{task}/seed{seed}/segments.csv",
        raw="results/keysteps/raw/kmeans/{dataset}/{task}/seed{seed}/segments.csv",
        names=names_file,
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
    benchmark:
        "results/benchmarks/segment_bars/{dataset}/{task}/seed{seed}.tsv"
    localrule: True
    conda:
        "../../envs/evaluate.yaml"
    threads: 1
    resources:
        mem_mb=memory_for("segment_bars"),
        runtime=time_for("segment_bars"),
    params:
        names=names_option,
    message:
        "figure: key steps over time, {wildcards.dataset}/{wildcards.task}"
    shell:
        "rgwot plot --manifest {input.manifest:q} --annotations {input.annotations:q}"
        " --segments RGWOT={input.rgwot:q} --segments 'whitened + mean field='{input.whitened:q}"
        " --segments 'raw + k-means='{input.raw:q}"
        " --title {wildcards.dataset}/{wildcards.task:q}', seed {wildcards.seed}' {params.names}"
        " {output.vector:q} 2> {log:q}"


rule choice_curves:
    input:
        "results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/diagnostics.json",
    output:
        vector=report(
            "results/figures/choices/{method}/{decoder}/{dataset}/{task}/seed{seed}.pdf",
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
        picture="results/figures/choices/{method}/{decoder}/{dataset}/{task}/seed{seed}.png",
    log:
        "results/logs/choice_curves/{method}/{decoder}/{dataset}/{task}/seed{seed}.log",
    benchmark:
        "results/benchmarks/choice_curves/{method}/{decoder}/{dataset}/{task}/seed{seed}.tsv"
    wildcard_constraints:
        method=f"(?!{FEATURELESS}/)[^/]+",
    localrule: True
    conda:
        "../../envs/evaluate.yaml"
    threads: 1
    resources:
        mem_mb=memory_for("choice_curves"),
        runtime=time_for("choice_curves"),
    message:
        "figure: what {wildcards.method}/{wildcards.decoder} left to the data, {wildcards.dataset}/{wildcards.task}"
    shell:
        "rgwot plot-choices {output.vector:q} {input:q}"
        " --title {wildcards.dataset}/{wildcards.task:q}': {wildcards.method}/{wildcards.decoder}, seed {wildcards.seed}'"
        " 2> {log:q}"


rule figure:
    input:
        figure_files,
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
    benchmark:
        "results/benchmarks/figure/{figure}.tsv"
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        mem_mb=memory_for("figure"),
        runtime=time_for("figure"),
    params:
        plan=figure_plan,
        caption=figure_caption,
    message:
        "figure: {wildcards.figure}"
    shell:
        "rgwot figure --plan {params.plan:q} {output.vector:q} 2> {log:q}"
