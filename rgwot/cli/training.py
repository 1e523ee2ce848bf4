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
    epilog="Try a larger cidm.beta where embeddings collapse, a cidm.sigma near the length of a key step, and fewer "
    "train.iterations with a larger train.lr for a first look.",
)
@click.argument("output", type=Folder)
@click.option("--index", required=True, type=Folder, help="Feature index of the task; the stores lie beside it.")
@options.hold_out
@options.settings
@options.execution
@options.seed
@options.device
def train(output: Path, index: Path, held_out: str, settings: str, execution: str, seed: int, device: str) -> None:
    """Train one encoder on the features of a task; writes OUTPUT (model.pt) and history.csv beside it."""
    from rgwot.embedding.train import train as run

    resolved, kept = options.read_settings(settings, execution), options.video_ids(held_out)
    run(index, index.parent, output.parent, resolved, seed, device=device, held_out=kept)


@click.command(
    cls=SettingsCommand,
    reads=blocks(entry for entry in EMBEDDINGS.values() if entry.function),
    epilog="The settings matter without --model alone; try --method raw first, which has none.",
)
@click.argument("output", type=Folder)
@click.option("--index", required=True, type=Folder, help="Feature index of the task; the stores lie beside it.")
@click.option("--model", type=Folder, help="Trained model. Left out: a method without an encoder.")
@click.option("--method", default="raw", show_default=True, help="Method id to record; without --model, how to embed.")
@options.hold_out
@options.settings
@options.seed
@options.threads
@options.device
def embed(output: Path, index: Path, model: Path | None, held_out: str, settings: str, **how: Any) -> None:
    """Embed every video of a task into OUTPUT (Zarr); a model knows by itself which videos were held out."""
    from rgwot.embedding.embed import embed as run

    kept = options.video_ids(held_out)
    run(index, index.parent, model, output, settings=options.read_settings(settings), held_out=kept, **how)
