"""Methods that train no encoder, and every decoder, through the real Snakefile."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from checkouts import Checkout
from videos import write_video

from rgwot.config.methods import CLUSTERING

CONFIGURATION = """
datasets:
  mine: {layout: folder, root: videos, imported: {folder: features, axes: CT, fps: 2, weights: other}}
regression: {E: 4, epochs: 3}
graph: {D: 8, walks: 4, walk_length: 10, clip_s: 1}
decode: {K: 3}
"""
RUNS = {
    "cte": "viterbi@decode.background=75",
    "unitygraph": "subset@decode.centres=5",
    "gpl": "kmeans",
    "gpl-nobg": "spectral",
    "gpl@data.split=holdout": "graphcut",
    "gpl@graph.walks=3": "semimarkov",
    "raw": "meanfield",
    "raw@data.split=holdout": "twfinch",
    "whitened": "consensus",
    "gpl@graph.walks=5": "asot",
    "unitygraph@graph.neighbours=3": "vasot",
    "raw@data.split=holdout,data.split_seed=1": "hvq",
}
TARGETS = [f"results/scores/{method}/{decoder}/mine/tea/seed0.csv" for method, decoder in RUNS.items()]


def write(root: Path) -> None:
    """Four videos of 10 s in which three steps follow each other, and features that show them."""
    for folder in ("videos/tea", "features/tea"):
        (root / folder).mkdir(parents=True)
    (root / "more.yaml").write_text(CONFIGURATION)
    for seed, name in enumerate("abcd"):
        rng = np.random.default_rng(seed)
        write_video(root / f"videos/tea/{name}.mp4", 300)
        (root / f"videos/tea/{name}.csv").write_text("0.0,3.0,1 cut\n3.0,6.0,2 stir\n6.0,10.0,3 pour\n")
        step = np.repeat([0, 1, 2], [6, 6, 8])
        features = rng.normal(size=(20, 1024)) + 30 * np.eye(1024)[step]
        np.save(root / f"features/tea/{name}.npy", features.T.astype(np.float32))


def test_every_method_is_planned_by_the_rule_it_needs(fresh: Checkout) -> None:
    write(fresh.path)
    said = fresh.snakemake(*TARGETS, more=["more.yaml"], options=("--dry-run", "--printshellcmds", "--cores", "1"))
    assert (said.jobs["embed_without_encoder"], said.jobs["train"], said.jobs["embed"]) == (len(RUNS), 0, 0)
    assert said.jobs["decode"] == said.jobs["evaluate"] == len(RUNS)
    commands = {line.split("--method ")[1].split()[0].strip("'"): line for line in said.text.splitlines()
                if "rgwot embed " in line}  # fmt: skip
    assert set(commands) == set(RUNS)


def test_one_video_is_too_few_for_a_graph_before_any_job_runs(fresh: Checkout) -> None:
    write(fresh.path)
    for name in "bcd":
        (fresh.path / f"videos/tea/{name}.mp4").unlink()
        (fresh.path / f"videos/tea/{name}.csv").unlink()
    gpl, cte = (f"results/scores/{method}/kmeans/mine/tea/seed0.csv" for method in ("gpl", "cte"))
    assert "mine/tea: 1 usable video in videos; expected at least 2" in fresh.plan(gpl, more=["more.yaml"]).mistake
    assert fresh.plan(cte, more=["more.yaml"]).jobs["embed_without_encoder"] == 1


@pytest.mark.slow
def test_from_features_to_scores(fresh: Checkout) -> None:
    write(fresh.path)
    made = fresh.snakemake(*TARGETS, more=["more.yaml"])
    assert made.returncode == 0, made.text[-4000:]
    f1, facts = {}, {}
    for (method, decoder), target in zip(RUNS.items(), TARGETS, strict=True):
        table = pd.read_csv(fresh.path / target)
        assert set(table.method) == {method}
        cell = table[(table.protocol == "macro_task") & (table.background == "without") & (table.label_rule == "exact")]
        values = cell.set_index("metric").value
        f1[method] = values["f1"]
        assert values["n_videos"] == (1 if "holdout" in method else 4)
        folder = fresh.path / f"results/keysteps/{method}/{decoder}/mine/tea/seed0"
        facts[method] = json.loads((folder / "diagnostics.json").read_text())
        assert facts[method]["degenerate"] is False
    # Steps that cannot be mistaken are found where there is time to learn; CTE has three epochs, and standardising
    # makes the three channels that tell them apart as small as the thousand of noise. VASOT stays just below.
    found = {"unitygraph", "gpl", "gpl@data.split=holdout", "gpl@graph.walks=3", "gpl@graph.walks=5", "raw"}
    for method in found | {"raw@data.split=holdout"}:
        assert f1[method] > 0.9, f1
    # HVQ has four videos of ten seconds to learn forty convolutions from.
    assert f1["raw@data.split=holdout,data.split_seed=1"] > 0.6, f1
    assert f1["unitygraph@graph.neighbours=3"] > 0.85, f1
    assert facts["gpl-nobg"]["background"]
    assert 0.3 < facts["gpl-nobg"]["task"]["background_share"] < 0.7
    assert facts["cte"]["task"]["viterbi"]["clusters"] == 3
    assert len(facts["gpl@data.split=holdout"]["split"]["test"]) == 1
    # Nothing is left to do, and every decoder has had its turn.
    assert not fresh.plan(*TARGETS, more=["more.yaml"]).jobs
    assert {decoder.split("@")[0] for decoder in RUNS.values()} == set(CLUSTERING) - {"asot-released", "vasot-released"}
