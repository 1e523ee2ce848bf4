"""Which runs and files a figure needs, over the real tables and a configuration of a few tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from figure_tree import study, synthetic
from table_helpers import written

from rgwot.reporting import targets
from rgwot.runtime.errors import RgwotError
from rgwot.study.study import Study


@pytest.fixture(scope="module")
def facts() -> Study:
    return study()


def shown(facts: Study, figure: str) -> Any:
    return targets.figure_plan(facts, figure).shown


def test_tasks_that_are_not_configured_give_way_to_the_first_that_are(facts: Study) -> None:
    # The figure wants four tasks; two of them are configured, and no more.
    configured = ["make_coffee", "make_smoke_salmon_sandwich"]
    assert [task.task for task in shown(facts, "degenerate")] == configured
    videos = shown(facts, "tsne_procel")
    assert [video.task for video in videos] == 2 * configured
    assert len({(video.task, video.video) for video in videos}) == 4


def test_a_sweep_has_a_row_for_every_value(facts: Study) -> None:
    alpha, radius, rho, margin = (sweep.lines[""] for sweep in shown(facts, "sensitivity"))
    assert list(alpha) == [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9]
    assert list(radius) == [0.01, 0.02, 0.03, 0.035, 0.05, 0.065, 0.1, 0.2]
    assert {run.method for run in alpha[0.9]} == {"rgwot@alpha=0.9"}
    assert (shown(facts, "sensitivity")[0].frames, shown(facts, "sensitivity")[0].epsilon) == (33, 0.07)
    # The published value of every sweep is the default model: one training for all four.
    published = [line[value] for line, value in zip((alpha, radius, rho, margin), (0.3, 0.02, 0.35, 2), strict=True)]
    assert {run.method for runs in published for run in runs} == {"rgwot"}
    assert len(published) == 4


def test_lines_of_training_videos_are_methods_with_all_videos_last(facts: Study) -> None:
    (sweep,) = shown(facts, "training_videos")
    lines = {name: list(line) for name, line in sweep.lines.items()}
    assert lines == dict.fromkeys(("CnC", "OPEL", "VAOT", "RGWOT"), [2, 5, 8, 11, 14, 17])
    assert {run.method for run in sweep.lines["VAOT"][17]} == {"vaot"}
    trivial = {("none", decoder) for decoder in ("one_label", "uniform", "random")}
    assert {(run.method, run.decoder) for line in sweep.untrained.values() for run in line[0]} == trivial | {
        ("whitened", "meanfield")
    }


def test_key_steps_are_looked_up_and_answers_without_training_are_apart(facts: Study) -> None:
    sweep = shown(facts, "k_score")[0]
    assert sweep.classes == 10
    # K = gt is 9, and gt + 1 the 10 that is there already.
    assert list(sweep.lines[""]) == [7, 9, 10, 12, 15]
    assert {run.decoder for run in sweep.lines[""][10]} == {"graphcut@K=10"}
    assert list(sweep.untrained["uniform"]) == [7, 10, 12, 15]


def test_files_are_those_of_what_is_drawn(facts: Study) -> None:
    runs = {(run.dataset, run.task) for run in shown(facts, "k_score")[0].runs}
    assert runs == {("pc_assembly", "pc_assembly")}
    # A figure of features waits for those of the drawn videos alone.
    features = targets.figure_files(facts, "tsne_egoprocel")
    assert len(features) == 4
    assert all(file.startswith("results/features/") and file.endswith(".zarr") for file in features)


def test_every_plan_says_what_it_shows(facts: Study) -> None:
    for name, figure in targets.targets(facts).figures.items():
        plan, labels = targets.figure_plan(facts, name), targets.figure_labels(facts, name)
        assert "seed" in plan.about, name
        assert plan.data[0] in plan.about, name
        assert f"({getattr(figure, 'protocol', '')})" in f"{plan.about}()", name
        said = " ".join(targets.figure_caption(facts, name))
        assert figure.title in said
        assert plan.about in said
        assert labels["figure"] == name
        assert all(isinstance(value, str) and value for value in labels.values())


def test_a_figure_is_drawn_again_when_a_setting_behind_it_changes(facts: Study) -> None:
    other = study(ot={"epsilon": 0.09})
    assert targets.figure_content(other, "transport_plan") != targets.figure_content(facts, "transport_plan")
    assert targets.figure_content(other, "tsne_procel") == targets.figure_content(facts, "tsne_procel")
    # Nothing that is drawn depends on how much memory a training may take.
    smaller = study(train={"memory_gb": 1.0})
    assert targets.figure_content(smaller, "transport_plan") == targets.figure_content(facts, "transport_plan")


def test_untrained_backbones_are_told(facts: Study) -> None:
    mine = study(features={"weights": "random"})
    told = "random weights: not the paper's numbers"
    assert [told in targets.figure_plan(one, "losses").about for one in (facts, mine)] == [False, True]


def test_figures_of_single_videos_take_the_first_seed_and_losses_all(facts: Study) -> None:
    for figure, seeds in (("teaser", {0}), ("losses", {0, 1})):
        assert {run.seed for task in shown(facts, figure) for run in task.runs} == seeds
    assert targets.figure_labels(facts, "teaser")["seeds"] == "0"


HEAD = """from rgwot.reporting.figures.bars import Bars
from rgwot.reporting.figures.losses import Losses
from rgwot.reporting.figures.plans import Plans
from rgwot.reporting.figures.sweep import Sweep, SweepPanel
from rgwot.reporting.tables.table import Place, Row
from .datasets import CROSSTASK, PC_ASSEMBLY, PROCEL
from .rows import RANDOM, RGWOT, UNTRAINED
def mine():
    return """


@pytest.mark.parametrize(
    ("figure", "said"),
    [
        ("Losses(dataset=PROCEL, runs=[UNTRAINED[0]])", "run 'Raw features .*: found method 'raw', expected"),
        ("Plans(dataset=PROCEL, runs=[RANDOM])", "run 'Random labels': found method 'none', expected one that has an"),
        ("Losses(dataset=CROSSTASK, runs=[RGWOT])", "dataset 'crosstask': not in `datasets`"),
        ("Losses(dataset=PROCEL, runs=[])", "mine: runs: found none, expected at least one"),
        ("Bars(dataset=PROCEL, runs=[RGWOT], beside='score')", "unknown beside 'score'; did you mean 'scores'"),
        ("Sweep(panels=[SweepPanel(dataset=PROCEL, label='x', rows={1: RGWOT}, above='rad')])",
         "unknown annotation 'rad'; did you mean 'radius'"),
        ("Sweep(panels=[SweepPanel(dataset=PROCEL.tasks('tie_tie')[0], label='x', rows={1: RGWOT})])",
         "none of procel/tie_tie is configured"),
        ("Losses(dataset=PROCEL, runs=[Row('x', 'X', 'rgwto')])", "figure 'mine': .*'rgwto'"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, figure: str, said: str
) -> None:
    written(tmp_path / "tables", HEAD + figure)
    monkeypatch.chdir(tmp_path)
    names = {"pc_assembly": "pc_assembly", "procel": "make_coffee"}
    facts = study(datasets={dataset: synthetic(dataset, (task,)) for dataset, task in names.items()})
    with pytest.raises(RgwotError, match=said) as caught:
        targets.figure_plan(facts, "mine")
    assert "\n" not in str(caught.value)
