"""The runs and files that a figure needs, with the real tables and a configuration of a few tasks."""

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
    """Return what a figure shows: its only part, or the first one."""
    return targets.figure(facts, figure).shown[0]


def parts(path: Path) -> dict[str, str]:
    """Return the wildcards in the path of a file of scores."""
    return dict(zip(("method", "decoder", "dataset", "task", "seed"), path.with_suffix("").parts[2:], strict=True))


def test_tasks_that_are_not_configured_give_way_to_the_first_that_are(facts: Study) -> None:
    # The figure asks for four tasks, but only two of them are configured.
    configured = ["make_coffee", "make_smoke_salmon_sandwich"]
    assert [task.task for task, *_ in shown(facts, "degenerate")] == configured
    videos = targets.figure(facts, "tsne_procel").files
    assert [video.parent.name for video in videos] == 2 * configured
    assert len(set(videos)) == 4


def test_a_sweep_has_a_row_for_every_value(facts: Study) -> None:
    alpha, radius, rho, margin = (panel.curve for panel in shown(facts, "sensitivity"))
    assert list(alpha) == [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9]
    assert list(radius) == [0.01, 0.02, 0.03, 0.035, 0.05, 0.065, 0.1, 0.2]
    assert {parts(file)["method"] for file in alpha[0.9]} == {"rgwot@alpha=0.9"}
    assert (shown(facts, "sensitivity")[0].frames, shown(facts, "sensitivity")[0].epsilon) == (33, 0.07)
    # The published value of every sweep is the default model, so one training serves all four.
    published = [line[value] for line, value in zip((alpha, radius, rho, margin), (0.3, 0.02, 0.35, 2), strict=True)]
    assert {parts(file)["method"] for files in published for file in files} == {"rgwot"}
    assert len(published) == 4


def test_lines_of_training_videos_are_methods_with_all_videos_last(facts: Study) -> None:
    _, lines, levels, *_ = targets.figure(facts, "training_videos").shown
    assert {name: list(line) for name, line in lines.items()} == dict.fromkeys(
        ("CnC", "OPEL", "VAOT", "RGWOT"), [2, 5, 8, 11, 14, 17]
    )
    assert {parts(file)["method"] for file in lines["VAOT"][17]} == {"vaot"}
    trivial = {("none", decoder) for decoder in ("one_label", "uniform", "random")}
    files = map(parts, (file for line in levels.values() for file in line[0]))
    assert {(file["method"], file["decoder"]) for file in files} == trivial | {("whitened", "meanfield")}


def test_key_steps_are_looked_up_and_answers_without_training_are_apart(facts: Study) -> None:
    panel = shown(facts, "k_score")[0]
    assert panel.classes == 10
    # K = gt is 9, and gt + 1 is 10, which is already in the list.
    assert list(panel.curve) == [7, 9, 10, 12, 15]
    assert {parts(file)["decoder"] for file in panel.curve[10]} == {"graphcut@K=10"}
    assert list(panel.untrained["uniform"]) == [7, 10, 12, 15]


def test_files_are_those_of_what_is_drawn(facts: Study) -> None:
    files = map(Path, targets.figure_files(facts, "k_score"))
    scores = [parts(file) for file in files if not file.is_absolute()]
    assert {file["task"] for file in scores} == {"pc_assembly", "pc_disassembly"}
    assert {file["seed"] for file in scores} == {"seed0", "seed1"}
    # A figure of features needs only the features of the drawn videos.
    features = targets.figure_files(facts, "tsne_egoprocel")
    assert len(features) == 4
    assert all(file.startswith("results/features/") and file.endswith(".zarr") for file in features)


def test_every_plan_says_what_it_shows(facts: Study) -> None:
    for name in targets.targets(facts).figures:
        figure, labels = targets.figure(facts, name), targets.figure_labels(facts, name, "vector")
        assert "seed" in figure.about, name
        assert figure.data[0] in figure.about, name
        said = " ".join(targets.figure_caption(facts, name))
        assert targets.figure(facts, name).title in said
        assert figure.about in said
        assert labels["figure"] == name
        assert all(isinstance(value, str) and value for value in labels.values())


def test_a_figure_is_drawn_again_when_a_setting_behind_it_changes(facts: Study) -> None:
    other = study(ot={"epsilon": 0.09})
    assert targets.figure(other, "transport_plan").content != targets.figure(facts, "transport_plan").content
    assert targets.figure(other, "tsne_procel").content == targets.figure(facts, "tsne_procel").content
    # The memory that trainings may use does not affect any figure.
    smaller = study(train={"memory_gb": 1.0})
    assert targets.figure(smaller, "transport_plan").content == targets.figure(facts, "transport_plan").content


def test_untrained_backbones_are_reported(facts: Study) -> None:
    mine = study(features={"weights": "random"})
    told = "random weights: not the paper's numbers"
    assert [told in targets.figure(one, "losses").about for one in (facts, mine)] == [False, True]


def test_figures_of_single_videos_take_the_first_seed_and_losses_all(facts: Study) -> None:
    assert shown(facts, "teaser").run.seed == 0
    assert {run.seed for _, run in targets.figure(facts, "losses").shown[1]} == {0, 1}
    assert targets.figure_labels(facts, "teaser", "picture")["seeds"] == "0"


HEAD = """from rgwot.reporting.figures.bars import step_bars
from rgwot.reporting.figures.drawing import drawing
from rgwot.reporting.figures.losses import loss_terms
from rgwot.reporting.figures.plans import solver_plans
from rgwot.reporting.figures.sweep import panel, parameter_sweep
from rgwot.reporting.tables.table import Place, Row
from .datasets import CROSSTASK, PC_ASSEMBLY, PROCEL
from .rows import RANDOM, RGWOT, UNTRAINED
def mine(study):
    return {}
FIGURES = {{"mine": mine}}
"""


@pytest.mark.parametrize(
    ("figure", "message"),
    [
        ("loss_terms(study, PROCEL, [UNTRAINED[0]])", "run 'Raw features .*: found method 'raw', expected"),
        ("solver_plans(study, PROCEL, RANDOM, [0.1])", "run 'Random labels': found method 'none', expected"),
        ("loss_terms(study, CROSSTASK, [RGWOT])", "dataset 'crosstask': not in `datasets`"),
        ("loss_terms(study, PROCEL, [])", "figure 'mine': runs: found none, expected at least one"),
        ("step_bars(study, PROCEL, [RGWOT], beside='score')", "unknown beside 'score'; did you mean 'scores'"),
        ("parameter_sweep(study, [panel(study, PROCEL, 'x', {1: RGWOT}, above='rad')])",
         "unknown annotation 'rad'; did you mean 'radius'"),
        ("parameter_sweep(study, [panel(study, PROCEL.tasks('tie_tie')[0], 'x', {1: RGWOT})])",
         "none of procel/tie_tie is configured"),
        ("drawing(study, lambda *shown: None, (), [], caption='', places=[PROCEL], notes=[], seeds=[0])",
         "figure 'mine': draw: found mine.<locals>.<lambda>, expected a function at the top of a file"),
        ("loss_terms(study, PROCEL, [Row('x', 'X', 'rgwto')])", "figure 'mine': .*'rgwto'"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, figure: str, message: str
) -> None:
    written(tmp_path / "tables", HEAD.format(figure))
    monkeypatch.chdir(tmp_path)
    names = {"pc_assembly": "pc_assembly", "procel": "make_coffee"}
    facts = study(datasets={dataset: synthetic(dataset, (task,)) for dataset, task in names.items()})
    with pytest.raises(RgwotError, match=message) as caught:
        targets.figure(facts, "mine")
    assert "\n" not in str(caught.value)
