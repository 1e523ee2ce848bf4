"""The help of every verb: quick, and with a meaning and a default for everything that can be set."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from rgwot.cli import VERBS, cli
from rgwot.cli.settings_help import SettingsCommand
from rgwot.config.settings import defaults


def commands() -> dict[str, click.Command]:
    return {name: cli.commands[name] for name in VERBS}


def helped(verb: str) -> str:
    result = CliRunner().invoke(cli, [verb, "--help"])
    assert result.exit_code == 0
    return " ".join(result.output.split())


def test_help_waits_for_no_library() -> None:
    slow = ("numpy", "pandas", "torch", "scipy", "zarr", "pydantic", "snakemake")
    code = f"""
import sys
from rgwot.cli import cli
cli(["--help"], standalone_mode=False)
print([name for name in {slow} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert all(verb in done.stdout for verb in VERBS)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_says_what_it_is_and_its_default(verb: str) -> None:
    assert helped(verb)
    for option in commands()[verb].params:
        if not isinstance(option, click.Option):
            continue
        assert option.help, option.name
        # A flag is off, a repeated or a required option has none; what has no default says what happens without.
        number = isinstance(option.type, (click.types.IntParamType, click.types.FloatParamType))
        if number and not option.required:
            stated = option.show_default or "efault" in option.help or "Or " in option.help
            assert stated, (verb, option.name)


READERS = sorted(name for name, command in commands().items() if isinstance(command, SettingsCommand))


def test_every_verb_with_settings_lists_them() -> None:
    configured = {
        name for name, command in commands().items() if any(option.name == "configs" for option in command.params)
    }
    # These read what the configuration says of datasets, tables and figures.
    assert configured - {"synth", "manifest", "doctor", "table", "figure"} == set(READERS)


@pytest.mark.parametrize("verb", READERS)
def test_settings_have_their_default_and_something_to_try(verb: str) -> None:
    command = commands()[verb]
    assert isinstance(command, SettingsCommand)
    text = helped(verb)
    every = defaults()
    read = [key for key in every if key in command.reads or key.split(".")[0] in command.reads]
    assert read
    for key in read:
        after = text.split(f"{key} ", 1)[1].split("[default: ", 1)[1]
        assert after.startswith(f"{every[key]}]"), key
    assert command.epilog
    assert command.epilog in text
