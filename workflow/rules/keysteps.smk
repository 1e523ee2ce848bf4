# From embeddings to key steps, per-video orders and ranked procedures; and the trivial answers beside them.


rule decode:
    input:
        "results/embeddings/{method}/{dataset}/{task}/seed{seed}.zarr",
    output:
        segments="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/segments.csv",
        order="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/order.csv",
        procedures="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/procedures.csv",
        diagnostics="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/diagnostics.json",
    log:
        "results/logs/decode/{method}/{decoder}/{dataset}/{task}/seed{seed}.log",
    benchmark:
        "results/benchmarks/decode/{method}/{decoder}/{dataset}/{task}/seed{seed}.tsv"
    wildcard_constraints:
        method=f"(?!{FEATURELESS}/)[^/]+",
    group:
        "after_training"
    conda:
        "../../envs/train.yaml"
    threads: 1
    resources:
        mem_mb=memory_for("decode"),
        runtime=time_for("decode"),
    params:
        settings=settings_of("decode", "graphcut", "meanfield"),
    message:
        "decode: {wildcards.method}/{wildcards.decoder} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    shell:
        "rgwot decode --embeddings {input:q} --decoder {wildcards.decoder:q} --settings {params.settings:q}"
        " --seed {wildcards.seed} {output.segments:q} 2> {log:q}"


rule decode_trivial:
    input:
        "results/manifest/{dataset}/{task}.csv",
    output:
        segments="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/segments.csv",
        order="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/order.csv",
        procedures="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/procedures.csv",
        diagnostics="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/diagnostics.json",
    log:
        "results/logs/decode/{method}/{decoder}/{dataset}/{task}/seed{seed}.log",
    benchmark:
        "results/benchmarks/decode/{method}/{decoder}/{dataset}/{task}/seed{seed}.tsv"
    wildcard_constraints:
        method=FEATURELESS,
    group:
        "after_training"
    conda:
        "../../envs/evaluate.yaml"
    threads: 1
    resources:
        mem_mb=memory_for("decode_trivial"),
        runtime=time_for("decode_trivial"),
    params:
        settings=settings_of("decode", "evaluation"),
        hold_out=hold_out,
    message:
        "decode: trivial answer {wildcards.decoder} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    shell:
        "rgwot decode --manifest {input:q} --decoder {wildcards.decoder:q} {params.hold_out}"
        " --settings {params.settings:q}"
        " --seed {wildcards.seed} {output.segments:q} 2> {log:q}"
