"""The workflow plans runs of which videos are held out."""

from __future__ import annotations

from checkouts import Checkout, Said

ALL = {"rgwot": "graphcut", "raw": "kmeans", "none": "uniform"}
HOLDOUT = {f"{method}@data.split=holdout": decoder for method, decoder in ALL.items()}


def plan(checkout: Checkout, methods: dict[str, str]) -> Said:
    """Plan the scores of some methods."""
    targets = [f"results/scores/{method}/{decoder}/demo/assembly/seed0.csv" for method, decoder in methods.items()]
    return checkout.snakemake(*targets, options=("--dry-run", "--cores", "1", "--quiet", "rules"))


def test_a_held_out_run_is_planned_like_any_other(fresh: Checkout) -> None:
    jobs = plan(fresh, HOLDOUT).jobs
    assert jobs == plan(fresh, ALL).jobs
    assert (jobs["train"], jobs["embed"], jobs["decode_trivial"], jobs["embed_without_encoder"]) == (1, 1, 1, 1)
