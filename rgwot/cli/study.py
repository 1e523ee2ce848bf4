"""Verbs about a whole study: whether its data are sound, and whether its results are as written."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from rgwot.cli.options import Folder
from rgwot.runtime.errors import RgwotError


@click.command()
@click.argument("dataset")
@click.option(
    "--config",
    "configs",
    multiple=True,
    type=Folder,
    default=["config.yaml"],
    show_default=True,
    help="Configuration; several are merged in order.",
)
@click.option("--task", "tasks", multiple=True, help="Only this task; may be repeated. Default: all of the dataset.")
@click.option("--json", "json_to", metavar="FILE|-", help="Also write the whole report as JSON; - prints it instead.")
@click.option("--quick", is_flag=True, help="Open no video: names, sizes and annotations alone.")
@click.option("--strict", is_flag=True, help="Warnings give exit code 1, too.")
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, type=click.IntRange(1), help="Videos at once.")
def doctor(
    dataset: str, configs: tuple[Path, ...], tasks: tuple[str, ...], json_to: str | None, strict: bool, **how: Any
) -> None:
    """Say what is wrong with DATASET on disk before anything is computed.

    Exit code 0: fit for use; 1: errors were found; 2: the request itself cannot be met.
    """
    from rgwot.config.configuration import read_files
    from rgwot.runtime.files import write_json
    from rgwot.study.doctor import as_json, as_text, examine

    try:
        where = " + ".join(map(str, configs))
        report = examine(read_files(configs), dataset, tasks, where=where, **how)
        if json_to not in (None, "-"):
            write_json(as_json(report, strict), str(json_to))
    except RgwotError as error:
        click.echo(f"rgwot: {error}", err=True)
        sys.exit(2)
    text = json.dumps(as_json(report, strict), indent=2) if json_to == "-" else as_text(report)
    # A terminal may lack letters of file names.
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    click.echo(text.encode(encoding, "backslashreplace").decode(encoding))
    sys.exit(report.exit_code(strict))


@click.command()
@click.argument("results", type=Folder, default=Path("results"))
@click.option("--repair", is_flag=True, help="Remove what is broken, so that the next run makes it anew.")
@click.option("--sources", is_flag=True, help="Also read every video and feature file behind the results as a whole.")
def verify(results: Path, repair: bool, sources: bool) -> None:
    """Compare every file of RESULTS with the digest that was written with it, and name what is broken.

    Exit code 0: all that can be checked is as it was written, or --repair has removed the rest; 1: something is broken,
    or (--sources) one of its source files has changed.
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
