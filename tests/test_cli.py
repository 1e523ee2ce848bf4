"""The command line is light, says one line on a mistake, and every verb has help."""

import subprocess
import sys

import pytest
from click.testing import CliRunner
from configured import config

from rgwot.cli import VERBS, cli, main

HEAVY = ("torch", "torchvision", "zarr", "decord", "av", "sklearn", "matplotlib", "pandas", "scipy", "numpy")


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom click.testing import CliRunner\nfrom rgwot.cli import cli\n"
        "assert CliRunner().invoke(cli, ['--help']).exit_code == 0\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == ["[]"]


def test_verbs_are_listed_in_order_and_described_in_one_line_each():
    listed = CliRunner().invoke(cli, ["--help"], terminal_width=80).stdout.split("Commands:\n")[1].splitlines()
    assert [line.split()[0] for line in listed] == list(VERBS)
    assert all(line.endswith(".") and not line.endswith("...") for line in listed)


def test_the_nearest_of_a_misspelt_verb_is_suggested(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["rgwot", "trian"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "Did you mean 'train'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "x/model.pt", "--index", "i.csv", "--config", "none.yaml"], "none.yaml: cannot be read"),
        (["train", "x/model.pt", "--index", "i.csv", *config({"ott": {}})], "did you mean 'ot'"),
        (["train", "x/model.pt", "--index", "i.csv", *config({"ot": {"alhpa": 1}})], "did you mean 'alpha'"),
        (["train", "x/model.pt", "--index", "i.csv", "--method", "rgwto"], "did you mean 'rgwot'"),
        (["train", "x/model.pt", "--index", "missing.csv"], "missing.csv"),
        (["decode", "x/segments.csv", "--decoder", "graphcut"], "expected one of them"),
        (["decode", "x/segments.csv", "--decoder", "uniform", "--embeddings", "e"], "expected one of"),
        (["show", "missing.csv"], "not among the tables"),
        (["synth", "x", "--set", "K=1"], "K"),
    ],
)
def test_a_mistake_is_one_line(arguments, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["rgwot", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    lines = [line for line in capsys.readouterr().err.splitlines() if line.strip()]
    assert len(lines) == 1, lines
    assert lines[0].startswith("rgwot: ")
    assert words in lines[0]


def test_settings_reach_the_stage(tmp_path, monkeypatch):
    seen = {}
    index = tmp_path / "index.csv"
    index.write_text("video,status,reason,frames\na,ok,,9\n", encoding="utf-8")
    monkeypatch.setattr(
        "rgwot.embedding.train.train", lambda *args, **kwargs: seen.update(settings=args[3], seed=args[4])
    )
    monkeypatch.setattr(
        sys,
        "argv",
        ["rgwot", "train", str(tmp_path / "model.pt"), "--index", str(index), "--seed", "7"]
        + config({"cidm": {"lambda": 3.0}}),
    )
    main()
    assert (seen["settings"].cidm.lambda_, seen["seed"]) == (3.0, 7)
