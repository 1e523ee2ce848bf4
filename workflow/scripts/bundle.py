"""Write a finished result to one file."""

from pathlib import Path

from rgwot.study.script import stage

with stage(snakemake, "bundle") as job:
    from rgwot.bundles.make import make_bundle
    from rgwot.paths import Run

    files, w = snakemake.input, snakemake.wildcards
    make_bundle(
        Path(snakemake.output[0]),
        index_csv=Path(files.index),
        embeddings_zarr=Path(files.embeddings),
        segments_csv=Path(files.segments),
        model_path=Path(files.model[0]) if files.model else None,
        run=Run(w.method, w.decoder, job.seed),
        dataset=w.dataset,
        task=w.task,
        method=job.embedding,
        rule=job.decoder,
        names_yaml=Path(files.names[0]) if files.names else None,
        annotations_csv=Path(files.annotations[0]) if files.annotations else None,
    )
