"""The workflow plans a held-out run: every stage that has to know the videos held out is told the same ones."""

from __future__ import annotations

import re

from checkouts import Checkout, Said

ALL = {"rgwot": "graphcut", "raw": "kmeans", "none": "uniform"}
HOLDOUT = {f"{method}@data.split=holdout": decoder for method, decoder in ALL.items()}


def plan(checkout: Checkout, methods: dict[str, str]) -> Said:
    """Plan the scores of some methods, with the commands of all jobs."""
    targets = [f"results/scores/{method}/{decoder}/demo/assembly/seed0.csv" for method, decoder in methods.items()]
    return checkout.snakemake(*targets, options=("--dry-run", "--printshellcmds", "--cores", "1"))


def test_every_stage_is_told_the_same_videos(fresh: Checkout) -> None:
    said = plan(fresh, HOLDOUT)
    assert (said.jobs["train"], said.jobs["embed"], said.jobs["decode_trivial"]) == (1, 1, 1)
    assert said.jobs["embed_without_encoder"] == 1
    told = {}
    for line in re.findall(r"rgwot (?:train|embed|decode|evaluate) .*", said.text):
        (method,) = [name for name in HOLDOUT if name in line]
        told[line.split()[1], method.split("@")[0]] = re.findall(r"--hold-out (\S+)", line)
    holding = {stage: kept for stage, kept in told.items() if kept}
    # The other stages read it in what these write.
    assert set(holding) == {("train", "rgwot"), ("embed", "raw"), ("decode", "none")}
    assert len(told) == 9
    ((kept,),) = {tuple(kept) for kept in holding.values()}
    videos = kept.split(",")
    assert len(set(videos)) == 3  # 3.5 of 10 are the share; of two numbers as near the smaller one
    assert all(re.fullmatch(r"assembly_\d\d", video) for video in videos)


def test_without_a_split_nothing_is_held_out(fresh: Checkout) -> None:
    said = plan(fresh, ALL)
    assert said.jobs["train"] == 1
    assert "--hold-out" not in said.text


def test_another_spelling_is_told_the_canonical_one(fresh: Checkout) -> None:
    said = plan(fresh, {"none@data.split=all": "uniform"})
    assert "ask for results/scores/none/uniform/demo/assembly/seed0.csv" in said.mistake


def test_a_task_too_small_to_split_is_told_before_any_job_runs(planned: Checkout) -> None:
    said = planned.plan("results/scores/raw@data.split=holdout/kmeans/meccano/meccano/seed0.csv")
    assert "meccano/meccano: found 2 videos of 2 subjects, expected at least 2 to train on and 1" in said.mistake
