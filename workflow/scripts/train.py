"""Train one encoder on the features of a task."""

from pathlib import Path

from rgwot.study.script import stage

with stage(snakemake, "train") as job:
    from rgwot.features.index import indexed_videos
    from rgwot.stages.train import train

    index = Path(snakemake.input.index)
    train(
        index,
        index.parent,
        Path(snakemake.output[0]).parent,
        job.embedding,
        job.seed,
        device=job.device,
        held_out=job.held_out(indexed_videos(index)),
    )
