"""Embed every video of a task, with an encoder or without; the model or the settings say which are held out."""

from pathlib import Path

from rgwot.study.script import stage

with stage(snakemake, "embed") as job:
    from rgwot.features.index import indexed_videos
    from rgwot.stages.embed import embed

    index, model = Path(snakemake.input.index), snakemake.input.get("model")
    embed(
        index,
        index.parent,
        model and Path(model),
        Path(snakemake.output[0]),
        settings=job.embedding,
        seed=job.seed,
        threads=snakemake.threads,
        method=snakemake.wildcards.method,
        device=job.device if model else "cpu",
        held_out=() if model else job.held_out(indexed_videos(index)),
    )
