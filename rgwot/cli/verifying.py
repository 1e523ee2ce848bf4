"""The verb that compares results with what was written."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from rgwot.cli.options import Folder


@click.command()
@click.argument("results", type=Folder, default=Path("results"))
@click.option("--repair", is_flag=True, help="Remove what is broken, so that the next run makes it anew.")
@click.option("--sources", is_flag=True, help="Also read every video and feature file behind the results as a whole.")
def verify(results: Path, repair: bool, sources: bool) -> None:
    """Compare every file of RESULTS with the digest that was written with it, and name what is broken.

    Exit code 0: all that can be checked is as it was written, or --repair has removed the rest; 1: something is broken,
    or (--sources) made from a file that is another now.
    What rgwot 0.1.0 wrote has no digests and is listed as such.
    """
    from rgwot.study.verify import examine

    found = examine(results, sources=sources)
    for line in found.lines():
        click.echo(line)
    if repair:
        for path in found.repair():
            click.echo(f"removed: {path}")
    click.echo(found.summary(repair))
    sys.exit(0 if repair or not (found.broken or found.changed) else 1)
