"""Compute what a page shows of a run's embeddings."""

from pathlib import Path

from rgwot.study.script import stage

with stage(snakemake, "view") as job:
    from rgwot.reporting.page.view import write_view

    files = snakemake.input
    write_view(
        Path(files.embeddings),
        Path(files.segments),
        Path(files.manifest),
        Path(snakemake.params.root),
        Path(snakemake.output[0]),
        job.seed,
        to_annotate=True,
    )
