# From embeddings to key steps, per-video orders and ranked procedures; and the trivial baselines.


rule decode:
    input:
        embeddings="results/embeddings/{method}/{dataset}/{task}/seed{seed}.zarr",
    output:
        segments="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/segments.csv",
        order="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/order.csv",
        procedures="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/procedures.csv",
        procedure="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/procedure.json",
        deviations="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/deviations.csv",
        diagnostics="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/diagnostics.json",
    log:
        "results/logs/decode/{method}/{decoder}/{dataset}/{task}/seed{seed}.log",
    wildcard_constraints:
        method=FEATURED,
    group:
        "after_training"
    conda:
        "../../envs/train.yaml"
    resources:
        mem_mb=doubled(4000),
        runtime=doubled(120),
    params:
        config=CONFIGURATION,
        settings=settings_of("decode"),
        # Where nothing is scored, nobody looks at the key steps of a video by itself; annotations, once there, ask for them.
        scopes=one_line_errors(lambda w: "" if datasets.annotated(STUDY, w.dataset, w.task) else "--task-only"),
    message:
        "decode: {wildcards.method}/{wildcards.decoder} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    shell:
        "rgwot decode --config {params.config} --method {wildcards.method:q} --decoder {wildcards.decoder:q}"
        " --dataset {wildcards.dataset} --task {wildcards.task:q} --seed {wildcards.seed}"
        " {params.scopes} --embeddings {input.embeddings:q} {output.segments:q} 2> {log:q}"


rule decode_trivial:
    input:
        annotations=lambda w: ("results/annotations/{dataset}/{task}.csv" if jobs.reads_annotations(w.decoder) else []),
        manifest="results/manifest/{dataset}/{task}.csv",
    output:
        segments="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/segments.csv",
        order="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/order.csv",
        procedures="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/procedures.csv",
        procedure="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/procedure.json",
        deviations="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/deviations.csv",
        diagnostics="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/diagnostics.json",
    log:
        "results/logs/decode/{method}/{decoder}/{dataset}/{task}/seed{seed}.log",
    wildcard_constraints:
        method=FEATURELESS,
    group:
        "after_training"
    conda:
        "../../envs/evaluate.yaml"
    resources:
        mem_mb=doubled(1000),
        runtime=doubled(30),
    params:
        config=CONFIGURATION,
        settings=settings_of("decode"),
        annotations=lambda w, input: f"--annotations {shlex.quote(input.annotations)}" if input.annotations else "",
    message:
        "decode: trivial baseline {wildcards.decoder} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    shell:
        "rgwot decode --config {params.config} --method {wildcards.method:q} --decoder {wildcards.decoder:q}"
        " --dataset {wildcards.dataset} --task {wildcards.task:q} --seed {wildcards.seed}"
        " --manifest {input.manifest:q} {params.annotations} {output.segments:q} 2> {log:q}"


rule correct:
    input:
        corrections=one_line_errors(lambda w: pages.corrections_needed(STUDY, w.dataset, w.task)),
        names=lambda w: pages.names_there(STUDY, w.dataset, w.task),
        segments="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/segments.csv",
        order="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/order.csv",
        procedure="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/procedure.json",
        diagnostics="results/keysteps/{method}/{decoder}/{dataset}/{task}/seed{seed}/diagnostics.json",
    output:
        segments="results/corrected/{method}/{decoder}/{dataset}/{task}/seed{seed}/segments.csv",
        order="results/corrected/{method}/{decoder}/{dataset}/{task}/seed{seed}/order.csv",
        procedures="results/corrected/{method}/{decoder}/{dataset}/{task}/seed{seed}/procedures.csv",
        procedure="results/corrected/{method}/{decoder}/{dataset}/{task}/seed{seed}/procedure.json",
        deviations="results/corrected/{method}/{decoder}/{dataset}/{task}/seed{seed}/deviations.csv",
        diagnostics="results/corrected/{method}/{decoder}/{dataset}/{task}/seed{seed}/diagnostics.json",
        names="results/corrected/{method}/{decoder}/{dataset}/{task}/seed{seed}/names.yaml",
        report="results/corrected/{method}/{decoder}/{dataset}/{task}/seed{seed}/corrections.csv",
    log:
        "results/logs/correct/{method}/{decoder}/{dataset}/{task}/seed{seed}.log",
    localrule: True
    conda:
        "../../envs/evaluate.yaml"
    resources:
        mem_mb=doubled(1000),
        runtime=doubled(30),
    params:
        names=lambda w: pages.names_file(STUDY, w.dataset, w.task),
        keysteps=lambda w, input: str(Path(input.segments).parent),
        folder=lambda w, output: str(Path(output.segments).parent),
    message:
        "correct: {wildcards.method}/{wildcards.decoder} on {wildcards.dataset}/{wildcards.task}, seed {wildcards.seed}"
    shell:
        "rgwot correct --keysteps {params.keysteps:q} --corrections {input.corrections:q} --names {params.names:q}"
        " {params.folder:q} > {log:q} 2>&1"
