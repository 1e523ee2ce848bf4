"""The verb that opens a study in a browser."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("open")
@click.argument("folder", type=click.Path(path_type=Path), default=Path())
@click.option("--port", type=click.IntRange(1, 65535), help="Port to listen on. Default: a free one from 8765.")
@click.option("--no-browser", is_flag=True, help="Only print the address, as over SSH.")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on; others than 127.0.0.1 are plain HTTP."
)
def open_(folder: Path, port: int | None, no_browser: bool, host: str) -> None:
    """Open FOLDER (default: the current folder) in a browser: a study, or a folder of videos.

    For a folder of videos, a study is made beside the videos. The window stores everything in files that the other
    commands read and write, too. Only this machine can reach the server.
    """
    from rgwot.window.server import serve

    serve(folder, host, port, not no_browser, click.echo)
