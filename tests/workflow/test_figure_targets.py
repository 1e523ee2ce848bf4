"""Figures as targets: their jobs, the changes after which they are drawn again, and their entries in the report."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from checkouts import Checkout

# Clips that the workflow itself writes, so that figures of PC Assembly and ProceL need nothing on disk.
WRITTEN = """
datasets:
  pc_assembly:
    layout: folder
    root: results/synthetic/pc_assembly
    synth: &clips {tasks: [pc_assembly], K: 9, n_videos: 2, min_s: 4, max_s: 5, width: 160, height: 120}
  procel:
    layout: folder
    root: results/synthetic/procel
    drop_rows: []
    synth: {<<: *clips, tasks: [tie_tie], K: 14}
"""


def test_a_figure_makes_what_it_shows_and_nothing_else(fresh: Checkout, configured: Callable[[str], str]) -> None:
    targets = {name: [f"results/figures/{name}"] for name in ("transport_plan.pdf", "tsne_procel.png")}
    plans = fresh.plans(targets, more=[configured(WRITTEN)])
    jobs = plans["transport_plan.pdf"].jobs
    assert jobs == {"synth": 1, "manifest": 1, "extract": 1, "index": 1, "train": 1, "embed": 1, "figure": 1}
    # This figure shows neither key steps nor plans, so it needs no decoding and no embedding, only features.
    assert plans["tsne_procel.png"].jobs == {"synth": 1, "extract_video": 2, "figure": 1}


def test_a_mistake_in_the_figures_ends_before_any_job(fresh: Checkout) -> None:
    fresh.edit_tables("figures", 'beside="collapse"', 'besides="collapse"')
    assert re.search(r"figures.py:\d+: TypeError: ", fresh.plan("results/figures/degenerate.pdf").mistake)


def test_figures_of_a_result_need_only_its_embeddings(fresh: Checkout, configured: Callable[[str], str]) -> None:
    more = [configured(WRITTEN)]
    names = [f"results/figures/{what}/rgwot/pc_assembly/pc_assembly/seed0.png" for what in ("embedding", "plan")]
    made = {"synth": 1, "manifest": 1, "extract": 1, "index": 1, "train": 1, "embed": 1}
    assert fresh.plan(*names, more=more).jobs == {**made, "embedding_figure": 1, "plan_figure": 1}
    said = fresh.plan(names[1].replace("rgwot", "whitened"), more=more).mistake
    assert "method 'whitened': found no encoder to train" in said


@pytest.mark.long
def test_figures_are_drawn_once_and_stand_in_the_report(fresh: Checkout, configured: Callable[[str], str]) -> None:
    more = [configured(WRITTEN)]
    targets = [f"results/figures/{name}.pdf" for name in ("teaser", "transport_plan")]
    output = fresh.snakemake(*targets, more=more)
    assert output.returncode == 0, output.text[-4000:]
    for target in targets:
        assert (fresh.path / target).read_bytes().startswith(b"%PDF")
        assert (fresh.path / target).with_suffix(".png").stat().st_size > 10_000
    assert not fresh.plan(*targets, more=more).jobs

    # An edited figure is drawn again, and nothing is trained for it.
    fresh.edit_tables("figures", "Transport of one pair", "One pair")
    assert fresh.plan(*targets, more=more).jobs == {"figure": 1}
    (fresh.path / "tables/figures.py").unlink()

    options = ("--cores", "1", "--report", "report.zip")
    reported = fresh.snakemake(*targets, options=options, more=more)
    assert reported.returncode == 0, reported.text[-4000:]
    check_report(fresh.path / "report.zip")


def check_report(path: Path) -> None:
    """Check that both forms of every figure are in the report, with keys to filter by and correct captions."""
    with zipfile.ZipFile(path) as report:
        names = report.namelist()
        page = report.read(next(name for name in names if name.endswith("report.html"))).decode()
    for figure in ("teaser", "transport_plan"):
        for suffix in (".pdf", ".png"):
            assert any(name.endswith(f"{figure}{suffix}") for name in names), figure
    results = json.loads(re.search(r"var results = (\{.*?\});?\n", page, re.DOTALL)[1])  # type: ignore[index]
    figures = [entry for entry in results.values() if entry["name"].startswith(("teaser", "transport"))]
    assert len(figures) == 4
    for entry in figures:
        labels = entry["labels"]
        assert set(labels) == {"figure", "data", "protocol", "seeds", "form"}
        assert labels["form"] in {"vector", "picture"}
        assert labels["data"] == "PC Assembly"
        assert labels["data"] in entry["caption"]
        assert "seed" in entry["caption"]
        assert "random weights" in entry["caption"]
