"""The reference of the command line, from what click knows of every verb."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from rgwot.cli import VERBS, cli
from rgwot.cli.settings_help import SettingsCommand

_HEAD = """# Commands

Each verb of `rgwot` is one stage of the workflow, and every job is one such line, which stands first in its log. This
page is written from the command line's own help; `rgwot VERB --help` says the same, and all of a verb's settings.

`rgwot --verbose VERB …` also prints debugging messages, `rgwot --version` the version. A mistake ends in one line and
exit code 1.

| verb | what it does |
| --- | --- |
"""


def commands_page() -> str:
    """Return the page, with one section per verb, in the order of the stages."""
    rows = "".join(f"| [`{name}`](#{name}) | {line} |\n" for name, (_, line) in VERBS.items())
    return _HEAD + rows + "".join(_section(name) for name in VERBS)


def _section(name: str) -> str:
    command = cli.commands[name]
    context = click.Context(command, info_name=f"rgwot {name}", parent=None)
    parts = [f"## {name}", f"```\n{' '.join(command.get_usage(context).removeprefix('Usage: ').split())}\n```"]
    parts += _paragraphs(command.help or "")
    options = [one for one in command.get_params(context) if isinstance(one, click.Option) and not one.hidden]
    if options:
        parts.append("\n".join(["| option | what it is |", "| --- | --- |", *(_row(one, context) for one in options)]))
    if isinstance(command, SettingsCommand):
        blocks = ", ".join(f"[`{key}`](/options.md#{key.partition('.')[0]})" for key in command.reads)
        parts.append(f"Settings that it reads, for `--settings`: {blocks}.")
    parts += _paragraphs(command.epilog or "")
    return "\n" + "\n\n".join(parts) + "\n"


def _row(option: click.Option, context: click.Context) -> str:
    names, text = option.get_help_record(context) or ("", "")
    return f"| `{names.replace('|', chr(92) + '|')}` | {_escaped(text)} |"


def _paragraphs(help_text: str) -> Iterator[str]:
    """Yield the paragraphs of a help, those that click keeps as they are (after a line with a backspace) as code."""
    for part in re.split(r"\n\s*\n", help_text.split("\f")[0].strip()):
        if part.startswith("\b"):
            yield f"```\n{part.lstrip(chr(8)).strip(chr(10))}\n```"
        elif part:
            yield _escaped(part)


def _escaped(text: str) -> str:
    """Return text as Markdown that shows it: code stays code, nothing else is markup."""
    parts = re.split(r"(`[^`]+`)", " ".join(text.split()))
    return "".join(
        part.replace("|", r"\|") if part.startswith("`") else re.sub(r"[\\*_<>\[\]|#$]", r"\\\g<0>", part)
        for part in parts
    )
