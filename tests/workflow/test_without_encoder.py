"""The real Snakefile with methods that train no encoder, and with every decoder."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from checkouts import Checkout
from numpy.typing import NDArray
from videos import write_video

import rgwot
from rgwot.config.methods import DECODERS
from rgwot.evaluation.metrics import contingency, f1, macro, match

SETTINGS = {
    "regression": {"E": 4, "epochs": 3},
    "graph": {"D": 8, "walks": 4, "walk_length": 10, "clip_s": 1},
}
MINE = {"layout": "folder", "root": "videos", "imported": {"folder": "features", "axes": "CT", "fps": 2}}
RUNS = {
    "cte": "viterbi@background=75",
    "gpl@data.split=holdout": "graphcut",
}
"""What the workflow makes: a method of each kind, one with videos held out."""

FOUND = {
    "subset@centres=5": ("unitygraph", 0.9),
    "kmeans": ("gpl", 0.9),
    # Marks half of the samples as background.
    "spectral": ("gpl-nobg", 0.0),
    "meanfield": ("raw", 0.9),
    # After whitening, a thousand channels of noise would weigh as much as the three that show the steps.
    "consensus": ("whitened", 0.0),
}
"""Decoders that are not among the targets, each with a method and an F1 that it must exceed on obvious steps."""

STEPS = np.repeat([0, 1, 2], [6, 6, 8])
TARGETS = [f"results/scores/{method}/{decoder}/mine/tea/seed0.csv" for method, decoder in RUNS.items()]


def video(seed: int) -> NDArray[np.float32]:
    """Return features (20, 1024) of a video of 10 s that show three steps following each other."""
    noise = np.random.default_rng(seed).normal(size=(20, 1024))
    return (noise + 30 * np.eye(1024)[STEPS]).astype(np.float32)


def write(root: Path) -> None:
    """Write four videos with features and annotations."""
    for folder in ("videos/tea", "features/tea"):
        (root / folder).mkdir(parents=True)
    (root / "more.yaml").write_text(json.dumps({"datasets": {"mine": MINE}, "decode": {"K": 3}, **SETTINGS}))
    for seed, name in enumerate("abcd"):
        write_video(root / f"videos/tea/{name}.mp4", 300)
        (root / f"videos/tea/{name}.csv").write_text("0.0,3.0,1 cut\n3.0,6.0,2 stir\n6.0,10.0,3 pour\n")
        np.save(root / f"features/tea/{name}.npy", video(seed).T)


def test_every_method_is_planned_by_the_rule_it_needs(fresh: Checkout) -> None:
    write(fresh.path)
    jobs = fresh.plan(*TARGETS, more=["more.yaml"]).jobs
    assert (jobs["embed_without_encoder"], jobs["train"], jobs["embed"]) == (len(RUNS), 0, 0)
    assert jobs["decode"] == jobs["evaluate"] == len(RUNS)


def test_one_video_is_too_few_for_a_graph_before_any_job_runs(fresh: Checkout) -> None:
    write(fresh.path)
    for name in "bcd":
        (fresh.path / f"videos/tea/{name}.mp4").unlink()
        (fresh.path / f"videos/tea/{name}.csv").unlink()
    gpl, cte = (f"results/scores/{method}/kmeans/mine/tea/seed0.csv" for method in ("gpl", "cte"))
    assert "mine/tea: 1 usable video in videos; expected at least 2" in fresh.plan(gpl, more=["more.yaml"]).mistake
    assert fresh.plan(cte, more=["more.yaml"]).jobs["embed_without_encoder"] == 1


@pytest.mark.long
def test_from_features_to_scores(fresh: Checkout) -> None:
    write(fresh.path)
    output = fresh.snakemake(*TARGETS, more=["more.yaml"])
    assert output.returncode == 0, output.text[-4000:]
    found, facts = {}, {}
    for (method, decoder), target in zip(RUNS.items(), TARGETS, strict=True):
        table = pd.read_csv(fresh.path / target)
        assert set(table.method) == {method}
        cell = table[(table.protocol == "macro_task") & (table.background == "without") & (table.label_rule == "exact")]
        values = cell.set_index("metric").value
        found[method] = values["f1"]
        assert values["n_videos"] == (1 if "holdout" in method else 4)
        folder = fresh.path / f"results/keysteps/{method}/{decoder}/mine/tea/seed0"
        facts[method] = json.loads((folder / "diagnostics.json").read_text())
        assert facts[method]["degenerate"] is False
    # CTE trains for only three epochs, and standardising makes the three channels that show the steps as small as the
    # thousand channels of noise.
    assert found["gpl@data.split=holdout"] > 0.9, found
    assert facts["cte"]["task"]["viterbi"]["clusters"] == 3
    assert len(facts["gpl@data.split=holdout"]["split"]["test"]) == 1
    assert not fresh.plan(*TARGETS, more=["more.yaml"]).jobs


@pytest.mark.parametrize("decoder", list(FOUND))
def test_every_decoder_finds_steps_that_cannot_be_mistaken(decoder: str) -> None:
    method, expected = FOUND[decoder]
    features = {name: video(seed) for seed, name in enumerate("abcd")}
    result = rgwot.discover(features, fps=2, method=method, decoder=decoder, K=3, settings=SETTINGS)
    assert result.diagnostics["degenerate"] is False
    assert (0.3 < result.diagnostics["task"]["background_share"] < 0.7) == (method == "gpl-nobg")
    overlap = contingency(np.tile(STEPS, 4), np.concatenate([result.labels[name] for name in "abcd"]), 3, 4)
    scores = macro(overlap, match(overlap))
    assert f1(scores.precision, scores.recall) > expected


def test_every_decoder_has_its_turn() -> None:
    assert {decoder.split("@")[0] for decoder in (*RUNS.values(), *FOUND)} == {
        name for name, kind in DECODERS.items() if not (kind.TRIVIAL or kind.LABELS)
    }
