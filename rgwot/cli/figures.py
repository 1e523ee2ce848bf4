"""The verb that draws the figures of the paper."""

from __future__ import annotations

from pathlib import Path

import click

from rgwot.cli.options import Folder


@click.command()
@click.argument("output", type=Folder)
@click.option(
    "--plan",
    required=True,
    metavar="JSON",
    help="What to draw, from which files, as the workflow says it.",
)
def figure(output: Path, plan: str) -> None:
    """Draw a figure of workflow/tables.yaml into OUTPUT (PDF, and PNG beside it).

    The workflow makes the plan: `snakemake results/figures/teaser.pdf`. To draw a figure again by hand, copy the line
    from what `snakemake --printshellcmds` prints.
    """
    from rgwot.reporting.figures.interface import read_plan
    from rgwot.reporting.figures.style import save
    from rgwot.runtime.integrity import check_file

    planned = read_plan(plan)
    for path in map(Path, planned.files()):
        if path.is_file():
            check_file(path)
    save(planned.draw(), output)
