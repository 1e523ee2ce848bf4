"""Verbs that train an encoder and use it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rgwot.cli import options
from rgwot.cli.options import Folder
from rgwot.cli.settings_help import SettingsCommand
from rgwot.config.methods import EMBEDDINGS
from rgwot.config.registry import blocks


@click.command(
    cls=SettingsCommand,
    reads=EMBEDDINGS["encoder"].reads,
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
def train(
    output: Path, index: Path, method: str, dataset: str, task: str, configs: tuple[Path, ...], seed: int
) -> dict[str, Any]:
    """Train one encoder on the features of a task; writes OUTPUT (model.pt) and history.csv next to it."""
    from rgwot.embedding.train import train as run
    from rgwot.features.index import indexed_videos
    from rgwot.study.jobs import held_out

    study, settings, reads = options.resolved(configs, "train", dataset, task, method)
    kept = held_out(study, dataset, task, method, indexed_videos(index))
    run(index, index.parent, output.parent, settings, seed, device=study.config.device, held_out=kept)
    return reads


@click.command(
    cls=SettingsCommand,
    reads=blocks(entry for entry in EMBEDDINGS.values() if entry.function),
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
def embed(
    output: Path,
    index: Path,
    model: Path | None,
    method: str,
    dataset: str,
    task: str,
    configs: tuple[Path, ...],
    seed: int,
    threads: int,
) -> dict[str, Any]:
    """Embed every video of a task into OUTPUT (Zarr); a model records which videos were held out."""
    from rgwot.embedding.embed import embed as run
    from rgwot.features.index import indexed_videos
    from rgwot.study.jobs import held_out

    study, settings, reads = options.resolved(configs, "embed", dataset, task, method)
    how: dict[str, Any] = {"settings": settings, "seed": seed, "threads": threads, "method": method}
    if model is not None:
        run(index, index.parent, model, output, device=study.config.device, **how)
    else:
        kept = held_out(study, dataset, task, method, indexed_videos(index))
        run(index, index.parent, None, output, device="cpu", held_out=kept, **how)
    return reads
