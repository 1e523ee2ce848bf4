"""Verbs before the first feature: write synthetic videos, download published features, list videos."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from rgwot.cli import options
from rgwot.cli.options import Folder


@click.command()
@click.argument("root", type=Folder)
@click.option("--videos", type=click.IntRange(1), help="Videos per task. Default: 10.")
@click.option("--seconds", type=float, nargs=2, metavar="MIN MAX", help="Length of a clip, seconds. Default: 40 90.")
@click.option("--seed", type=click.IntRange(0), help="The same seed gives the same ground truth. Default: 0.")
@click.option(
    "--set", "others", multiple=True, metavar="KEY=VALUE", help="Any other setting of a `synth` block; may be repeated."
)
@click.option("--dataset", help="Dataset of --config, whose `synth` block has all other settings.")
@options.config
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, type=click.IntRange(1), help="Processes.")
def synth(
    root: Path,
    videos: int | None,
    seconds: tuple[float, float] | None,
    others: tuple[str, ...],
    dataset: str | None,
    configs: tuple[Path, ...],
    jobs: int,
    **given: Any,
) -> dict[str, Any]:
    """Write synthetic procedure videos with ground truth into ROOT."""
    import yaml

    from rgwot.config.settings import validated
    from rgwot.config.synthetic import SynthSettings
    from rgwot.study import datasets
    from rgwot.study.study import Study
    from rgwot.synthetic.write import write_dataset

    given = {key: value for key, value in {"n_videos": videos, **given}.items() if value is not None}
    given |= {key: yaml.safe_load(value) for key, _, value in (text.partition("=") for text in others)}
    if seconds:
        given |= {"min_s": seconds[0], "max_s": seconds[1]}
    configured = datasets.synth_settings(Study.read(configs), dataset).model_dump() if dataset else {}
    settings = validated(SynthSettings, configured | given, "synth")
    write_dataset(settings, root, jobs=jobs)
    return settings.model_dump()


@click.command("import-lerobot")
@click.argument("dataset", type=Folder)
@click.argument("output", type=Folder)
@click.option("--camera", help="Video feature, such as observation.images.top. Default: the only one.")
@click.option(
    "--on-bad-video",
    default="fail",
    show_default=True,
    type=click.Choice(["fail", "skip"]),
    help="skip leaves out episodes whose video file is missing.",
)
def import_lerobot(dataset: Path, output: Path, camera: str | None, on_bad_video: str) -> None:
    """Make videos of the episodes of a LeRobot DATASET, v2.1 or v3, in OUTPUT: a folder per task (`layout: folder`).

    Subtasks become annotations. `rgwot export lerobot` with --root OUTPUT takes results back.
    """
    from rgwot.datasets.lerobot import import_episodes

    number = import_episodes(dataset, output, camera, on_bad_video)
    click.echo(f"{output}: wrote {number} episodes of {dataset}; use it as root of a dataset with layout: folder")


@click.command()
@click.argument("output", type=Folder)
@click.option("--dataset", required=True, help="Dataset id, such as meccano.")
@click.option("--task", required=True, help="Task id, such as meccano or Brownie.")
@click.option("--annotations", required=True, type=Folder, help="Where to write the table of annotated segments.")
@options.config
def manifest(output: Path, dataset: str, task: str, annotations: Path, configs: tuple[Path, ...]) -> None:
    """Probe the videos of a task and read their annotations into OUTPUT, the manifest."""
    from rgwot.datasets.manifest import write_manifest
    from rgwot.study.datasets import manifest_entry
    from rgwot.study.study import Study

    entry = manifest_entry(Study.read(configs), dataset)
    write_manifest(dataset, task, output_csv=output, annotations_csv=annotations, **entry)


@click.command()
@click.argument("name", required=False)
@click.option("--accept", is_flag=True, help="Download, and accept the terms that are shown without this option.")
@click.option("--to", "data", type=Folder, default=Path("data"), show_default=True, help="Folder of all downloads.")
@click.option(
    "--from", "mirror", metavar="ADDRESS", help="A mirror of that folder, file:// or https://. Default: none."
)
def fetch(name: str | None, accept: bool, data: Path, mirror: str | None) -> None:
    """Download published features: into data/NAME, which published_features.yaml reads; all names without NAME.

    An interrupted download goes on when the same is run again. Proxies are those of the environment (https_proxy).
    """
    import sys
    from urllib.parse import urlsplit

    from rgwot.datasets.fetch import fetch as download
    from rgwot.datasets.fetch import sources
    from rgwot.runtime.errors import RgwotError

    if mirror and urlsplit(mirror).scheme not in ("file", "http", "https"):
        raise RgwotError(f"--from: {mirror} is no address; expected file:///folder or https://...")
    if name is None:
        for known in dict.fromkeys(row.name for row in sources()):
            click.echo(f"{known}: {', '.join(row.size for row in sources(known))}")
        return
    rows = sources(name)
    by_hand = list(dict.fromkeys(row.by_hand for row in rows if row.by_hand))
    for row in rows:
        if row.address and not mirror:
            checked = "SHA-256 is checked" if row.sha256 else "no checksum is published"
            click.echo(f"{row.address}\n  size: {row.size}; terms: {row.terms}; {checked}")
    if not accept:
        click.echo("\n".join(f"by hand, in {data / rows[0].folder}: {step}" for step in by_hand))
        if mirror or any(row.address for row in rows):
            more = f" --from {mirror}" if mirror else ""
            click.echo(f"nothing was downloaded; if you accept the terms: rgwot fetch {rows[0].name}{more} --accept")
        sys.exit(1)
    for path in download(rows, data, mirror or ""):
        click.echo(f"{path}: fetched")
    if not mirror:
        click.echo("\n".join(f"still by hand, in {data / rows[0].folder}: {step}" for step in by_hand))
