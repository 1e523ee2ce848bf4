"""Verbs that keep a finished result in one file, and apply it to other videos."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rgwot.cli import options
from rgwot.cli.options import Folder, Job, SettingsCommand
from rgwot.config.methods import DECODERS, EMBEDDING_KINDS
from rgwot.config.registry import blocks


@click.command(
    cls=SettingsCommand,
    reads=blocks([*(entry for entry in EMBEDDING_KINDS.values() if entry.function), *DECODERS.values()]),
    epilog="Give the settings of the result; a different result is refused.",
)
@click.argument("output", type=Folder)
@click.option("--index", required=True, type=Folder, help="Feature index of the task, next to its stores.")
@click.option("--embeddings", required=True, type=Folder, help="Embeddings of the task.")
@click.option("--segments", required=True, type=Folder, help="Key steps found from them (segments.csv).")
@click.option("--model", type=Folder, help="Trained model. Without it: a method without an encoder.")
@click.option("--method", required=True, help="Method id.")
@click.option("--decoder", required=True, help="Decoder id.")
@click.option("--dataset", required=True, help="Dataset id, to name results by.")
@click.option("--task", required=True, help="Task id, to name results by.")
@click.option("--names", type=Folder, help="Names of key steps, as downloaded from a page; need not exist.")
@options.config
@options.seed
@options.job("bundle")
def bundle(
    output: Path,
    index: Path,
    embeddings: Path,
    segments: Path,
    model: Path | None,
    decoder: str,
    names: Path | None,
    job: Job,
    seed: int,
) -> None:
    """Write a finished result to one file, OUTPUT (.rgwot), which `apply` uses on other videos.

    The workflow does it: snakemake results/bundles/METHOD/DECODER/DATASET/TASK/seed0.rgwot.
    """
    from rgwot.bundles.make import make_bundle
    from rgwot.paths import Run

    # With all their keys, so that another default of another version changes nothing.
    dumped = job.settings.model_dump(by_alias=True, mode="json")
    agreement = make_bundle(
        output,
        index_csv=index,
        embeddings_zarr=embeddings,
        segments_csv=segments,
        model_path=model,
        run=Run(job.method, decoder, seed),
        dataset=job.dataset,
        task=job.task,
        settings=job.settings,
        blocks={block: dumped[block] for block in job.reads},
        names_yaml=names,
    )
    click.echo(f"{output}: as a new video, a video of the task would get the same key steps for {agreement:.2%} of it")


@click.command()
@click.argument("bundle", type=Folder)
@click.argument("videos", type=Folder, nargs=-1, required=True)
@click.option(
    "--output",
    "folder",
    required=True,
    type=Folder,
    help="Folder for segments.csv, order.csv, deviations.csv and page.html.",
)
@click.option("--weights", metavar="PATH", help="Checkpoint of the backbone, if the bundle was made with your own.")
@click.option("--extension", "extensions", multiple=True, type=Folder, help="Python file that brings the method.")
@options.frames_fps_option
@options.on_bad_video
@options.threads
@options.device
def apply(
    bundle: Path,
    videos: tuple[Path, ...],
    folder: Path,
    extensions: tuple[Path, ...],
    frames_fps: str | None,
    **how: Any,
) -> None:
    """Find the key steps of other VIDEOS with a BUNDLE, and their deviations; nothing is trained.

    A video may also be a feature store (.zarr) or, if the result is based on imported features, a file of them.
    """
    from rgwot.bundles.apply import apply_bundle
    from rgwot.bundles.inputs import How
    from rgwot.config.extensions import load_extensions

    load_extensions(extensions)
    rate = options.read_rate(frames_fps, "--frames-fps")
    for found in apply_bundle(bundle, videos, folder, How(frames_fps=rate, **how)):
        known = " (a video of the study: its answer there)" if found.known else ""
        click.echo(f"{found.video}: {found.segments} segments, order {found.order}{known}; {found.deviations}")
    click.echo(f"{folder / 'page.html'}: open it in a browser")
