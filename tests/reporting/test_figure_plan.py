"""Which runs and files a figure needs, over the real tables and a configuration of a few tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from figure_tree import TABLES, study, synthetic

from rgwot.runtime.errors import RgwotError
from rgwot.study import tables
from rgwot.study.study import Study


@pytest.fixture(scope="module")
def facts() -> Study:
    return study()


def shown(facts: Study, figure: str) -> Any:
    return tables.figure_plan(facts, figure).shown


def test_tasks_that_are_not_configured_give_way_to_the_first_that_are(facts: Study) -> None:
    # The figure wants four tasks; two of them are configured, and no more.
    configured = ["make_coffee", "make_smoke_salmon_sandwich"]
    assert [task.task for task in shown(facts, "degenerate")] == configured
    videos = shown(facts, "tsne_procel")
    assert [video.task for video in videos] == 2 * configured
    assert len({(video.task, video.video) for video in videos}) == 4


def test_a_sweep_takes_its_values_from_the_settings_behind_the_rows(facts: Study) -> None:
    alpha, radius, rho, margin = shown(facts, "sensitivity")
    assert list(alpha.trained[0].rows) == [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9]
    assert list(radius.trained[0].rows) == [0.01, 0.02, 0.03, 0.035, 0.05, 0.065, 0.1, 0.2]
    assert (alpha.frames, alpha.epsilon) == (33, 0.07)
    # The published value of every sweep is the default model: one training for all four.
    pairs = zip((alpha, radius, rho, margin), (0.3, 0.02, 0.35, 2), strict=True)
    published = [sweep.trained[0].rows[value] for sweep, value in pairs]
    assert {run.method for runs in published for run in runs} == {"rgwot"}
    assert len(published) == 4


def test_lines_of_training_videos_are_methods_with_all_videos_last(facts: Study) -> None:
    (sweep,) = shown(facts, "training_videos")
    lines = {line.name: list(line.rows) for line in sweep.lines}
    assert lines == dict.fromkeys(("cnc", "opel", "vaot", "rgwot"), [2, 5, 8, 11, 14, 17])
    trivial = {("none", decoder) for decoder in ("one_label", "uniform", "random")}
    assert {(run.method, run.decoder) for runs in sweep.levels.values() for run in runs} == trivial | {
        ("whitened", "meanfield")
    }


def test_key_steps_are_looked_up_and_answers_without_training_are_apart(facts: Study) -> None:
    sweep = shown(facts, "k_score")[0]
    assert sweep.classes == 10
    # K = gt is 9, and gt + 1 the 10 that is there already.
    lines = {(line.name, line.trained): list(line.rows) for line in sweep.lines}
    assert lines == {("uniform", False): [7, 10, 12, 15], ("rgwot", True): [7, 9, 10, 12, 15]}


def test_files_are_those_of_what_is_drawn(facts: Study) -> None:
    runs = {(run.dataset, run.task) for run in shown(facts, "k_score")[0].runs}
    assert runs == {("pc_assembly", "pc_assembly")}
    # A figure of features waits for those of the drawn videos alone.
    features = tables.figure_files(facts, "tsne_egoprocel")
    assert len(features) == 4
    assert all(file.startswith("results/features/") and file.endswith(".zarr") for file in features)


def test_every_plan_says_what_it_shows(facts: Study) -> None:
    for name, figure in tables.all_figures(facts).figures.items():
        plan, labels = tables.figure_plan(facts, name), tables.figure_labels(facts, name)
        assert "seed" in plan.about, name
        assert plan.data[0] in plan.about, name
        assert f"({getattr(figure, 'protocol', '')})" in f"{plan.about}()", name
        said = " ".join(tables.figure_caption(facts, name))
        assert figure.title in said
        assert plan.about in said
        assert labels["figure"] == name
        assert all(isinstance(value, str) and value for value in labels.values())


def test_a_figure_is_drawn_again_when_a_setting_behind_it_changes(facts: Study) -> None:
    other = study(ot={"epsilon": 0.09})
    assert tables.figure_content(other, "transport_plan") != tables.figure_content(facts, "transport_plan")
    assert tables.figure_content(other, "tsne_procel") == tables.figure_content(facts, "tsne_procel")
    # Nothing that is drawn depends on how much memory a training may take.
    smaller = study(train={"memory_gb": 1.0})
    assert tables.figure_content(smaller, "transport_plan") == tables.figure_content(facts, "transport_plan")


def test_a_dataset_is_called_in_print_what_its_files_are() -> None:
    entry = synthetic("meccano", ("meccano",))
    fact = {"layout": "packed", "root": "x", "subset": "meccano", "imported": {"axes": "TC", "fps": 4}}
    facts = study(datasets={"meccano_fact": fact, "demo_two": entry})
    assert [tables.in_print(facts, name) for name in facts.config.datasets] == ["MECCANO", "demo_two"]


def test_untrained_backbones_are_told(facts: Study) -> None:
    mine = study(features={"weights": "random"})
    told = "random weights: not the paper's numbers"
    assert [told in tables.figure_plan(one, "losses").about for one in (facts, mine)] == [False, True]


def test_figures_of_single_videos_take_the_first_seed_and_losses_all(facts: Study) -> None:
    for figure, seeds in (("teaser", {0}), ("losses", {0, 1})):
        assert {run.seed for task in shown(facts, figure) for run in task.runs} == seeds
    assert tables.figure_labels(facts, "teaser")["seeds"] == "0"


@pytest.mark.parametrize(("kind", "drawn"), [("sweep", {"rgwot"}), ("growth", {"rgwot", "vaot"})])
def test_a_sweep_waits_for_its_longest_line_alone(tmp_path: Path, kind: str, drawn: set[str]) -> None:
    content = yaml.safe_load(TABLES.read_text(encoding="utf-8"))
    row = {"label": "x", "decoder": "graphcut"}
    rows = [{**row, "id": "other", "method": "vaot@epsilon=0.5"}]
    rows += [{**row, "id": f"K={K}", "method": "rgwot", "decoder": f"graphcut@K={K}"} for K in (5, 9)]
    content["tables"]["mine"] = {"title": "t", "datasets": ["pc_assembly"], "rows": rows}
    panel = {"table": "mine", "dataset": "pc_assembly", "key": "K", "label": "K"}
    shapes = {"sweep": {"panels": [panel]}, "growth": {"panel": panel}}
    content["figures"] = {"mine": {"title": "t", "kind": kind, **shapes[kind]}}
    (tmp_path / "reported").symlink_to(TABLES.parent / "reported")
    path = tmp_path / "tables.yaml"
    path.write_text(yaml.safe_dump(content))
    facts = study(path=path)
    files = [Path(file) for file in tables.figure_files(facts, "mine")]
    assert {file.parts[2].partition("@")[0] for file in files} == drawn
    (sweep,) = shown(facts, "mine")
    assert sweep.epsilon == 0.07
    assert sweep.left_out == (("other (mine)",) if kind == "sweep" else ())


RGWOT = {"label": "R", "method": "rgwot"}
TASK = "make_smoke_salmon_sandwich"
PANEL = {"table": "sensitivity_alpha", "dataset": "pc_assembly", "key": "ot.solver", "label": "s"}


@pytest.mark.parametrize(
    ("figure", "said"),
    [
        ({"kind": "sweep", "panels": [{**PANEL, "table": "sensitivity"}]}, "'sensitivity': not among the tables"),
        ({"kind": "sweep", "panels": [{**PANEL, "dataset": "pc_asembly"}]},
         "no dataset 'pc_asembly' for a figure; did you mean 'pc_assembly'"),
        ({"kind": "sweep", "panels": [{**PANEL, "table": "runtime"}]}, "expected one of scores"),
        ({"kind": "losses", "dataset": "procel", "runs": [{**RGWOT, "method": "raw"}]},
         "run 'R': raw .*expected a method with a training"),
        ({"kind": "plans", "dataset": "procel", "run": {**RGWOT, "method": "none", "decoder": "random"}},
         "run 'R': none .*expected a method with an embedding"),
        ({"kind": "losses", "dataset": "crosstask", "runs": [RGWOT]}, "dataset 'crosstask': not in `datasets`"),
        ({"kind": "sweep", "panels": [PANEL]}, "no row is trained with a ot.solver"),
        ({"kind": "sweep", "panels": [{**PANEL, "table": "sensitivity_beta", "key": "beta", "dataset": TASK}]},
         f"none of procel/{TASK} is configured"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_told_in_one_line(tmp_path: Path, figure: dict, said: str) -> None:
    content = yaml.safe_load(TABLES.read_text(encoding="utf-8"))
    (tmp_path / "reported").symlink_to(TABLES.parent / "reported")
    path = tmp_path / "tables.yaml"
    path.write_text(yaml.safe_dump({**content, "figures": {"mine": {"title": "t", **figure}}}))
    # The last one is of a task that is not configured.
    names = {"pc_assembly": "pc_assembly", "procel": "make_coffee"}
    facts = study(path=path, datasets={dataset: synthetic(dataset, (task,)) for dataset, task in names.items()})
    with pytest.raises(RgwotError, match=said) as caught:
        tables.figure_plan(facts, "mine")
    assert "\n" not in str(caught.value)
