"""The command line: thin verbs for the work of a person before and after the workflow.

The stages of the workflow are scripts (workflow/scripts). A new verb needs a function, with its imports inside, and a
line of `VERBS`.
"""

from __future__ import annotations

import logging
import sys

import click

from rgwot import __version__
from rgwot.cli import results, study, window
from rgwot.runtime.errors import RgwotError, extras, nearest, one_line
from rgwot.study.script import messages
from rgwot.study.shipped import TARGETS

#: The command and a short help text of every verb.
VERBS: dict[str, tuple[click.Command, str]] = {
    "open": (window.open_, "Open a study or a folder of videos in a browser."),
    "init": (study.init, "Start a study in a new folder."),
    "run": (study.run, "Run the workflow in this folder (Snakemake)."),
    "doctor": (study.doctor, "Check a dataset on disk."),
    "fetch": (study.fetch, "Download published features."),
    "import-lerobot": (study.import_lerobot, "Cut the episodes of a LeRobot dataset into videos."),
    "show": (results.show, "Print a table, or the procedure of a result."),
    "export": (results.export, "Export a result to ELAN, BORIS, subtitles, clips."),
    "suggest": (results.suggest, "Suggest which videos to annotate next."),
    "compare": (results.compare, "Compare two results of a task, or a result with annotations."),
    "compare-groups": (results.compare_groups, "Test whether groups of videos differ."),
    "procedure": (results.procedure, "Learn a procedure from a table of segments."),
    "apply": (results.apply, "Apply a bundle to new videos."),
    "verify": (study.verify, "Check results against their records."),
}


def main() -> None:
    """Run the command line; after a user's mistake, print a message of one line and exit with code 1."""
    try:
        with extras(" ".join(sys.argv[1:2])):
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
    """A command group that lists its commands in the order of their definition, and suggests the nearest one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is asked for; suggest the nearest command or target."""
        near = nearest(args[0], [*self.commands, *TARGETS])
        for target in TARGETS:
            if near == f"did you mean {target!r}?":
                ctx.fail(f"No such command {args[0]!r}. Did you mean 'rgwot run {target}'?")
        if args[0] not in self.commands and args[0].lower() in self.commands:
            ctx.fail(f"No such command {args[0]!r}. {near.capitalize()}")
        return super().resolve_command(ctx, args)


@click.group(cls=_InOrder, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="rgwot")
@click.option("-v", "--verbose", is_flag=True, help="Also print debugging messages.")
def cli(verbose: bool) -> None:
    """Procedure learning from unlabelled videos: key steps, where they happen, and in what order.

    `rgwot run` runs the workflow, whose targets are results; the other verbs prepare data and use results.
    """
    click.get_current_context().with_resource(messages(sys.stderr, logging.DEBUG if verbose else logging.INFO))


for _name, (_command, _help) in VERBS.items():
    _command.short_help = _help
    cli.add_command(_command, _name)
