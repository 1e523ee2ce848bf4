"""The workflow plans runs with held-out videos."""

from __future__ import annotations

from checkouts import Checkout

ALL = {"rgwot": "graphcut", "raw": "kmeans", "none": "uniform"}
HOLDOUT = {f"{method}@data.split=holdout": decoder for method, decoder in ALL.items()}


def targets(methods: dict[str, str]) -> list[str]:
    return [f"results/scores/{method}/{decoder}/demo/assembly/seed0.csv" for method, decoder in methods.items()]


def test_a_held_out_run_is_planned_like_any_other(fresh: Checkout) -> None:
    plans = fresh.plans({"holdout": targets(HOLDOUT), "all": targets(ALL)})
    jobs = plans["holdout"].jobs
    assert jobs == plans["all"].jobs
    assert (jobs["train"], jobs["embed"], jobs["decode_trivial"], jobs["embed_without_encoder"]) == (1, 1, 1, 1)
