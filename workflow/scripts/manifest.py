"""Probe the videos of a task and read their annotations."""

from rgwot.study.script import stage

with stage(snakemake, "manifest"):
    from rgwot.datasets.manifest import write_manifest

    write_manifest(
        snakemake.wildcards.dataset,
        snakemake.wildcards.task,
        output_csv=snakemake.output.manifest,
        annotations_csv=snakemake.output.annotations,
        **snakemake.params.entry,
    )
