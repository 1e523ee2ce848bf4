"""The command line starts fast, reports mistakes in one line, and explains every verb and option."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from rgwot.cli import VERBS, cli, main

HEAVY = ("torch", "numpy", "pandas", "scipy", "sklearn", "zarr", "matplotlib", "snakemake", "av", "decord")
COMMANDS = {name: cli.commands[name] for name in VERBS}


def helped(*verb: str) -> str:
    result = CliRunner().invoke(cli, [*verb, "--help"], terminal_width=80)
    assert result.exit_code == 0
    return result.stdout


def ended(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str]:
    """Return the exit code of a command and the one line that it ended with."""
    monkeypatch.setattr(sys, "argv", ["rgwot", *arguments])
    with pytest.raises(SystemExit) as raised:
        main()
    lines = [line for line in capsys.readouterr().err.splitlines() if line.strip()]
    return raised.value.code, lines[-1] if raised.value.code == 2 else "".join(lines)


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom rgwot.cli import cli\ncli(['--help'], standalone_mode=False)\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert output.stdout.splitlines()[-1] == "[]"


def test_verbs_are_listed_in_order_and_described_in_one_line_each() -> None:
    listed = helped().split("Commands:\n")[1].splitlines()
    assert [line.split()[0] for line in listed] == list(VERBS)
    assert all(line.endswith(".") and not line.endswith("...") for line in listed)


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_says_what_it_is_and_its_default(verb: str) -> None:
    assert "\\b" not in helped(verb)
    for option in COMMANDS[verb].params:
        if isinstance(option, click.Option):
            assert option.help, option.name
            # Flags and repeated or required options have no default; the help of other options names the default, or
            # says what happens without the option.
            if isinstance(option.type, (click.types.IntParamType, click.types.FloatParamType)) and not option.required:
                assert option.show_default or "efault" in option.help or "Or " in option.help, option.name


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["verfy"], 2, "Did you mean 'verify'?"),
        (["show", "missing.csv"], 1, "unknown; known: "),
        (["fetch", "egoprocel"], 1, "did you mean"),
        (["Show"], 2, "No such command 'Show'. Did you mean 'show'?"),
        (["First"], 2, "No such command 'First'. Did you mean 'rgwot run first'?"),
        (["apply", "x", "a.mp4", "--output", "out"], 1, "x: no such file"),
        (["apply", "x.rgwot", "a.mp4", "--output", "out", "--frames-fps", "fast"], 1, "--frames-fps"),
    ],
)
def test_a_mistake_is_one_line(
    arguments: list[str],
    code: int,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    found, line = ended(monkeypatch, capsys, *arguments)
    assert found == code
    assert words in line
    assert code == 2 or line.startswith("rgwot: ")
    assert line.count("rgwot: ") == (code == 1)
