# Figures, as vector and as picture.


rule segment_bars:
    input:
        manifest="results/manifest/{dataset}/{task}.csv",
        annotations="results/annotations/{dataset}/{task}.csv",
        rgwot="results/keysteps/rgwot/graphcut/{dataset}/{task}/seed{seed}/segments.csv",
        raw="results/keysteps/raw/kmeans/{dataset}/{task}/seed{seed}/segments.csv",
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
    threads: 1
    resources:
        mem_mb=by_attempt(1000),
        runtime="30m",
    message:
        "figure: key steps over time, {wildcards.dataset}/{wildcards.task}"
    shell:
        "rgwot plot --manifest {input.manifest:q} --annotations {input.annotations:q}"
        " --segments RGWOT={input.rgwot:q} --segments 'raw + k-means='{input.raw:q}"
        " --title {wildcards.dataset}/{wildcards.task:q}', seed {wildcards.seed}'"
        " {output.vector:q} 2> {log:q}"
