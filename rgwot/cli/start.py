"""Verbs that start a study in a folder of its own, and run the workflow there."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from rgwot.cli.options import Folder


@click.command()
@click.argument("folder", type=Folder, default=Path())
@click.option(
    "--videos", type=Folder, help="Folder of your videos, with one folder per task in it. Default: FOLDER/videos."
)
def init(folder: Path, videos: Path | None) -> None:
    """Start a study in FOLDER (by default here): write config.yaml, a Snakefile and .gitignore.

    Writes nothing if one of its files is there already.
    """
    from rgwot.study.shipped import FILES, start_study

    tasks = start_study(folder, videos)
    click.echo(f"{folder}: wrote {', '.join(FILES)}")
    for task, n_videos in tasks.items():
        click.echo(f"Task {task}: {n_videos} videos")
    if not tasks:
        click.echo(f"Put your videos into {(videos or folder / 'videos') / 'TASK'}, two or more of a task.")
    there = "" if folder.resolve() == Path.cwd() else f"cd {folder} && "
    click.echo(f"Check them: {there}rgwot doctor; a first answer: rgwot run first")


class Verbatim(click.Command):
    """A command whose arguments are not its own: all but a lone ``--help`` stay as they are, ``--`` too."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the arguments as they are."""
        if args in (["--help"], ["-h"]):
            return super().parse_args(ctx, args)
        ctx.params["arguments"] = tuple(args)
        return []


@click.command(
    cls=Verbatim,
    help="""Run the workflow in this folder: Snakemake with the workflow of the package, by default on all cores.

\b
  rgwot run first                           a first answer, nothing is trained
  rgwot run results/report/mine/TASK.html   everything on the page of a task
  rgwot run -n first                        say what would be done
  rgwot run --cores 4 --configfile more.yaml -- first

Without a target: the key steps of page.first in config.yaml, without a page. The folder needs a config.yaml (see init).
Its own Snakefile is used, if it has one.
""",
)
@click.argument("arguments", nargs=-1, metavar="[TARGET]... [OPTION OF SNAKEMAKE]...")
def run(arguments: tuple[str, ...]) -> None:
    """Run the workflow in this folder."""
    from rgwot.study.shipped import snakemake_command

    command = snakemake_command(arguments)
    sys.stdout.flush()
    os.execv(command[0], command)
