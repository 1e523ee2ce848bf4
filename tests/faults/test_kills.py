"""A demo that is killed at random moments of every stage loses nothing, and gives the tables of an undisturbed run."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pandas as pd
import pytest
from checkouts import Checkout
from killing import STAGES, VICTIMS, Run, lost

# `make faults` uses 30.
KILLS = int(os.environ.get("RGWOT_KILLS", "5"))

QUICK = """
datasets:
  demo:
    synth: {n_videos: 3, min_s: 6, max_s: 8, width: 160, height: 120}
    settings:
      features: {fps: 5, size: 64}
      encoder: {channels: 8, hidden: 8}
      train: {iterations: 400, N: 8, precision: float32}
# A side checkpoint at almost every step, so that every kill in training is followed by a resumed one.
train: {save_every_s: 0.2}
"""


def make_run(folder: Path) -> Run:
    run = Run(Checkout.copied_to(folder), ("quick.yaml",))
    (folder / "quick.yaml").write_text(QUICK, encoding="utf-8")
    return run


@pytest.mark.long
def test_killed_at_random_moments_gives_the_same_tables(tmp_path: Path) -> None:
    # One undisturbed run uses one core, another uses two; interrupted runs are compared with both.
    quiet = make_run(tmp_path / "quiet")
    quiet.finish(cores=1)
    expected = quiet.tables()
    assert "results/tables/demo.csv" in expected
    parallel = make_run(tmp_path / "parallel")
    parallel.finish(cores=2)
    assert parallel.tables() == expected

    rng, tried, gone, round_ = random.Random(0), [], [], 0
    # Kills are spread evenly over the stages, in their order; victims take turns.
    wanted = sorted((STAGES[index % len(STAGES)] for index in range(KILLS)), key=STAGES.index)
    if len(wanted) < len(STAGES):
        wanted = sorted(rng.sample(STAGES, KILLS), key=STAGES.index)
    while wanted:
        round_ += 1
        run = make_run(tmp_path / f"round{round_}")
        later = []
        for index, stage in enumerate(wanted):
            before = run.finished()
            victim = VICTIMS[(index + round_) % len(VICTIMS)]
            # If a stage ended before the kill, try again, and kill it sooner after it begins.
            hit = run.interrupt(stage, victim, rng, 2.0 / round_)
            if hit is not None:
                tried.append((hit, victim))
                gone += lost(before, run.finished())
            if hit != stage:
                later.append(stage)
        before = run.finished()
        run.finish()
        gone += lost(before, run.finished())
        assert run.tables() == expected
        assert round_ < 10, f"no kill hit {later}"
        wanted = later

    print(json.dumps({"tried": len(tried), "survived": len(tried), "lost": len(gone)}))  # noqa: T201
    table = pd.DataFrame(tried, columns=["stage", "victim"])
    print(pd.crosstab(table["stage"], table["victim"]).to_string())  # noqa: T201
    assert not gone
    assert len(tried) >= KILLS
    if len(STAGES) <= KILLS:
        assert set(table["stage"]) >= set(STAGES)
