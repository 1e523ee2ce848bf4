"""Verbs that bring data: published features, and videos of LeRobot datasets."""

from __future__ import annotations

from pathlib import Path

import click

Folder = click.Path(path_type=Path)


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
