"""Verbs that train an encoder and use it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rgwot.cli import options
from rgwot.cli.options import Folder, Job, SettingsCommand
from rgwot.config.methods import EMBEDDING_KINDS
from rgwot.config.registry import blocks


@click.command(
    cls=SettingsCommand,
    reads=blocks([EMBEDDING_KINDS["encoder"]]),
    epilog="Try a larger cidm.beta if embeddings collapse, a cidm.sigma near the length of a key step, and fewer "
    "train.iterations with a larger train.lr for a first look.",
)
@click.argument("output", type=Folder)
@click.option("--index", required=True, type=Folder, help="Feature index of the task, next to its stores.")
@click.option("--method", default="rgwot", show_default=True, help="Method id.")
@options.dataset
@options.task
@options.config
@options.seed
@options.job("train")
def train(output: Path, index: Path, job: Job, seed: int) -> None:
    """Train one encoder on the features of a task; writes OUTPUT (model.pt) and history.csv next to it."""
    from rgwot.features.index import indexed_videos
    from rgwot.stages.train import train as run

    kept = job.held_out(indexed_videos(index))
    run(index, index.parent, output.parent, job.settings, seed, device=job.study.config.device, held_out=kept)


@click.command(
    cls=SettingsCommand,
    reads=blocks(entry for entry in EMBEDDING_KINDS.values() if entry.function),
    epilog="The settings matter only without --model; --method raw has none.",
)
@click.argument("output", type=Folder)
@click.option("--index", required=True, type=Folder, help="Feature index of the task, next to its stores.")
@click.option("--model", type=Folder, help="Trained model. Without it: a method without an encoder.")
@click.option("--method", default="raw", show_default=True, help="Method id.")
@options.dataset
@options.task
@options.config
@options.seed
@options.threads
@options.job("embed")
def embed(output: Path, index: Path, model: Path | None, job: Job, seed: int, threads: int) -> None:
    """Embed every video of a task into OUTPUT (Zarr); a model records which videos were held out."""
    from rgwot.features.index import indexed_videos
    from rgwot.stages.embed import embed as run

    how: dict[str, Any] = {"settings": job.settings, "seed": seed, "threads": threads, "method": job.method}
    if model is not None:
        run(index, index.parent, model, output, device=job.study.config.device, **how)
    else:
        run(index, index.parent, None, output, device="cpu", held_out=job.held_out(indexed_videos(index)), **how)
