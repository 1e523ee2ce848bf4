"""Find key steps and their order from embeddings."""

from pathlib import Path

from rgwot.study.script import stage

with stage(snakemake, "decode") as job:
    from rgwot.config.experiments import split_id
    from rgwot.stages.decode import decode

    decode(
        Path(snakemake.input.embeddings),
        Path(snakemake.output.segments).parent,
        split_id(snakemake.wildcards.decoder)[0],
        job.settings,
        job.seed,
        alone=snakemake.params.alone,
        annotations_csv=next(iter(snakemake.input.annotations), None),
        expected_yaml=next(iter(snakemake.params.expected), None),
    )
