"""Losses and decoders of one's own, named in a file of extensions."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rgwot.config.methods import CLUSTERING, EMBEDDINGS, LOSSES
from rgwot.config.registry import load
from rgwot.config.settings import BLOCKS, defaults

ENTRIES = """
losses:
  position:
    {function: "mine:align_position", description: distance at the same position, reads: [loss.gamma, ot.zeta]}
embeddings:
  clock: {function: "mine:fit_clock", description: nothing but time, reads: [whiten.D, regression]}
decoders:
  pieces: {function: "mine:decode_pieces", description: equal pieces, reads: [decode.restarts, consensus]}
"""
FUNCTIONS = """
import numpy as np

from rgwot.embedding.interface import Embedded
from rgwot.keysteps.interface import Decoded


def align_position(batch, settings):
    return settings.loss.gamma * ((batch.x - batch.y) ** 2).sum(2).mean(1)


def fit_clock(stores, settings, seed):
    return lambda store: Embedded((store.time_s[:, None] / settings.whiten.D).astype(np.float32))


def decode_pieces(frames, K, settings, generator):
    return Decoded(np.concatenate([np.arange(length) * K // length for length in frames.lengths]))
"""
PLANNED = """
import sys
from rgwot.config.configuration import load_config
from rgwot.config.experiments import Experiments
experiments = Experiments(load_config({}))
print(experiments.method("rgwot@loss.gamma=0.5,loss.alignment=position"))
print(experiments.method("clock@whiten.D=3"))
print(experiments.decoder("pieces@decode.restarts=9,K=3", "rgwot"))
for ask in (lambda: experiments.method("rgwot@loss.alignment=position,loss.tau=0.5"),
            lambda: experiments.decoder("pieces@meanfield.alpha=0.1", "rgwot")):
    try:
        ask()
    except Exception as error:
        print(error)
print([name for name in ("mine", "torch", "scipy", "sklearn", "pandas") if name in sys.modules])
"""
FOUND = """
import numpy as np
import rgwot
videos = [np.random.default_rng(n).normal(size=(12, 4)) for n in range(2)]
small = {"encoder": {"channels": 4, "hidden": 4, "D": 4}, "train": {"N": 4, "iterations": 3, "threads": 1}}
made = rgwot.discover(
    videos, method="rgwot@loss.alignment=position,loss.gamma=0.5", decoder="pieces", K=3, settings=small, device="cpu"
)
print(made.labels["0"].tolist())
print(rgwot.discover(videos, method="clock", decoder="pieces", K=3, fps=2).embeddings["0"][:, 0].max() * 32)
"""


def run(code: str, file: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "RGWOT_EXTENSIONS": str(file), "OMP_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def extensions(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(FUNCTIONS, encoding="utf-8")
    (tmp_path / "extensions.yaml").write_text(ENTRIES, encoding="utf-8")
    return tmp_path / "extensions.yaml"


def test_planning_knows_extensions_and_imports_none(extensions: Path) -> None:
    done = run(PLANNED, extensions)
    assert done.returncode == 0, done.stderr
    loss, embedding, decoder, unread, unknown, imported = done.stdout.splitlines()
    assert loss == "rgwot@loss.alignment=position,loss.gamma=0.5"
    assert embedding == "clock@whiten.D=3"
    assert decoder == "pieces@K=3,decode.restarts=9"
    assert "expected keys it reads (loss.gamma, ot.zeta)" in unread
    assert "unknown key 'meanfield.alpha'" in unknown
    assert imported == "[]"


def test_extensions_run_by_name(extensions: Path) -> None:
    done = run(FOUND, extensions)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]\n5.5\n"


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("losses: {tcc: {function: 'mine:x', description: x}}", "losses.tcc: the library has one of this name"),
        ("losses: {x: {function: 'mine:x', description: x, read: []}}", "losses.x: .*unexpected keyword argument"),
        ("losses: [x]", r"losses: found \['x'\]; expected names, each with its entry"),
        ("losses: {My Loss: {function: 'mine:x', description: x}}", "losses.My Loss: expected a name of a-z"),
        ("losses: {x: {function: 'mine:x', description: x, reads: ot.r}}", r"losses.x: reads: found ot.r; .*\[ot.r\]"),
        ("embeddings: {lav: {function: 'mine:x', description: x}}", "embeddings.lav: the library has one of this name"),
        ("decoders: {uniform: {function: 'mine:x', description: x}}", "uniform: the library has one of this name"),
        ("loss: {}", "found loss; expected entries of losses, embeddings, decoders"),
        (None, "RGWOT_EXTENSIONS: .*No such file"),
    ],
)
def test_mistakes_are_reported_in_one_line(extensions: Path, written: str | None, message: str) -> None:
    extensions.unlink()
    if written:
        extensions.write_text(written, encoding="utf-8")
    command = [sys.executable, "-m", "rgwot", "embed", "--help"]
    environment = {**os.environ, "RGWOT_EXTENSIONS": str(extensions)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("rgwot: ")
    assert re.search(message, line)


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        (
            "store.time_s[:, None]",
            "store.time_s[1:, None]",
            r"embedding of 0: found shape \(11, 1\), expected \(12, D\)",
        ),
        ("store.time_s[:, None]", "store.read()", r"embedding of 0: found shape \(12, 4, 1, 1\), expected \(12, D\)"),
        ("length) * K", "length) * (K + 1)", "decoder: found labels from 0 to 3, expected 24 .* from -1 to 2"),
        ("length) * K", "length - 1) * K", r"decoder: found labels of shape \(22,\) and type int64, expected 24 whole"),
    ],
)
def test_what_an_extension_makes_is_checked(extensions: Path, right: str, wrong: str, message: str) -> None:
    (extensions.parent / "mine.py").write_text(FUNCTIONS.replace(right, wrong), encoding="utf-8")
    done = run(FOUND.split("made =")[0] + FOUND.splitlines()[-1], extensions)
    assert re.search(f"RgwotError: {message}", done.stderr), done.stderr


def test_a_key_that_no_block_has_is_refused(extensions: Path) -> None:
    extensions.write_text(ENTRIES.replace("whiten.D", "whiten.d"), encoding="utf-8")
    done = run(PLANNED, extensions)
    assert "RGWOT_EXTENSIONS: clock: reads: unknown key 'whiten.d'; did you mean 'whiten.D'?" in done.stderr


def test_entries_are_true() -> None:
    for entry in (*LOSSES.values(), *EMBEDDINGS.values(), *CLUSTERING.values()):
        assert entry.description
        assert set(entry.reads) <= {*BLOCKS, *defaults()}
        places = [entry.function, getattr(entry, "restore", ""), getattr(entry, "learned", "")]
        assert all(callable(load(place)) for place in places if place)
