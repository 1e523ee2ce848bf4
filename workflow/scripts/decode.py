"""Find key steps and their order from embeddings."""

from pathlib import Path

from rgwot.study.script import stage

with stage(snakemake, "decode") as job:
    from rgwot.stages.decode import decode

    decode(
        Path(snakemake.input.embeddings),
        Path(snakemake.output.segments).parent,
        job.decoder,
        job.seed,
        alone=snakemake.params.alone,
        annotations_csv=next(iter(snakemake.input.annotations), None),
        expected_yaml=next(iter(snakemake.params.expected), None),
    )
