"""The command line: one verb per stage of the workflow. Thin: parse, call, write.

Every rule of the workflow is one such line, so a job is replayed by copying it from its log. Settings are given as one
JSON object of blocks, as in ``config.yaml``; what is left out has the default that ``config.yaml`` documents.

One module per stage. A new verb is a function there and a line of `VERBS`; it imports what it needs when it runs.
"""

from __future__ import annotations

import logging
import os
import shlex
import stat
import sys
import warnings
from contextlib import suppress

import click

from rgwot import __version__
from rgwot.cli import bundles, data, features, keysteps, pages, reporting, study, training
from rgwot.cli.records import recorded
from rgwot.runtime.errors import RgwotError, one_line

#: Every verb in the order of the stages: the command, and its help in one line.
VERBS: dict[str, tuple[click.Command, str]] = {
    "init": (study.init, "Start a study in a folder of its own."),
    "run": (study.run, "Run the workflow in this folder (Snakemake)."),
    "synth": (data.synth, "Write synthetic procedure videos with ground truth."),
    "fetch": (data.fetch, "Download published features."),
    "doctor": (study.doctor, "Check a dataset on disk."),
    "manifest": (data.manifest, "List the videos of a task and their annotations."),
    "extract": (features.extract, "Run the frozen backbone on a video."),
    "import-lerobot": (data.import_lerobot, "Cut the episodes of a LeRobot dataset into videos."),
    "import-features": (features.import_features, "Import features made elsewhere."),
    "index": (features.index, "Check the features of a task and list them."),
    "train": (training.train, "Train one encoder on the features of a task."),
    "embed": (training.embed, "Embed every video of a task."),
    "decode": (keysteps.decode, "Find key steps and their order."),
    "procedure": (keysteps.procedure, "Learn the procedure from any table of segments."),
    "evaluate": (keysteps.evaluate, "Score a prediction by every protocol."),
    "table": (reporting.table, "Make a table from score files, or from its rows."),
    "plot": (reporting.plot, "Draw key steps over time, truth above predictions."),
    "strips": (pages.strips, "Write small pictures of the videos of a task."),
    "view": (pages.view, "Compute what a page shows of a run's embeddings."),
    "report": (pages.report, "Make the page of a task."),
    "report-index": (pages.report_index, "List all pages, with links to them."),
    "export": (pages.export, "Export a result to ELAN, BORIS, subtitles, clips."),
    "bundle": (bundles.bundle, "Write a finished result to one file."),
    "apply": (bundles.apply, "Apply a bundle to new videos."),
    "compare": (pages.compare, "Compare two results of a task, or a result with a coder."),
    "compare-groups": (pages.compare_groups, "Test whether groups of videos differ."),
    "figure": (reporting.figure, "Draw a figure of the paper."),
    "verify": (study.verify, "Check a tree of results against its records."),
    "show": (reporting.show, "Print a table."),
}


def main() -> None:
    """Run the command line; a user's mistake ends in one line and exit code 1."""
    try:
        cli(prog_name="rgwot", standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("rgwot: interrupted", err=True)
        sys.exit(130)
    except click.exceptions.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (RgwotError, OSError) as error:
        click.echo(f"rgwot: {one_line(error)}", err=True)
        sys.exit(1)


class _InOrder(click.Group):
    """A group that lists its commands in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self.commands)


@click.group(cls=_InOrder, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="rgwot")
@click.option("-v", "--verbose", is_flag=True, help="Also print debugging messages.")
def cli(verbose: bool) -> None:
    """Procedure learning from unlabelled videos: key steps, where they happen, and in what order.

    Each verb is one stage; the workflow (`snakemake results/tables/demo.csv`) calls them in order.
    """
    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.INFO,
        format="%(asctime)s %(levelname)s %(message)s",
        datefmt="%H:%M:%S",
        stream=sys.stderr,
    )
    # Of a job of the workflow, or by hand: what is in a log can be done again.
    with suppress(OSError):  # written nowhere, or into a test
        if stat.S_ISREG(os.fstat(sys.stderr.fileno()).st_mode):
            click.echo(f"rgwot {shlex.join(sys.argv[1:])}", err=True)
    # Chatter of libraries would bury our own lines.
    for name in ("matplotlib", "fontTools", "PIL", "asyncio", "gensim", "smart_open"):
        logging.getLogger(name).setLevel(logging.WARNING)
    # Snakemake and the records of a run leave files of their own in a store.
    warnings.filterwarnings("ignore", r"Object at \.\S+ is not recognized", category=UserWarning)


for _name, (_command, _help) in VERBS.items():
    _command.short_help, _command.callback = _help, recorded(_name, _command.callback)
    cli.add_command(_command, _name)
