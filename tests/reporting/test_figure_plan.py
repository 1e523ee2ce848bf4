"""Which runs and files a figure needs, over the real tables and a configuration of a few tasks."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from figure_tree import TABLES, study

from rgwot.runtime.errors import RgwotError
from rgwot.study import tables
from rgwot.study.study import Study


@pytest.fixture(scope="module")
def facts() -> Study:
    return study()


def with_figures(folder: Path, figures: dict) -> Path:
    """Write the real tables with other figures."""
    content = yaml.safe_load(TABLES.read_text(encoding="utf-8"))
    path = folder / "workflow" / "tables.yaml"
    path.parent.mkdir()
    (path.parent / "reported").symlink_to(TABLES.parent / "reported")
    path.write_text(yaml.safe_dump({**content, "figures": figures}))
    return path


def test_tasks_that_are_not_configured_give_way_to_the_first_that_are(facts: Study) -> None:
    # The figure wants four tasks; two of them are configured, and no more.
    assert [task.task for task in tables.figure_plan(facts, "degenerate").shown] == [
        "make_coffee",
        "make_smoke_salmon_sandwich",
    ]
    assert [video.task for video in tables.figure_plan(facts, "tsne_procel").shown] == 2 * [
        "make_coffee",
        "make_smoke_salmon_sandwich",
    ]
    names = [(video.task, video.video) for video in tables.figure_plan(facts, "tsne_procel").shown]
    assert len(set(names)) == 4


def test_a_sweep_takes_its_values_from_the_settings_behind_the_rows(facts: Study) -> None:
    alpha, radius, rho, margin = tables.figure_plan(facts, "sensitivity").shown
    assert [row.value for row in alpha.rows] == [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9]
    assert [row.value for row in radius.rows] == [0.01, 0.02, 0.03, 0.035, 0.05, 0.065, 0.1, 0.2]
    assert (alpha.frames, alpha.epsilon) == (33, 0.07)
    # The published value of every sweep is the default model: one training for all four.
    pairs = zip((alpha, radius, rho, margin), (0.3, 0.02, 0.35, 2), strict=True)
    published = [row for sweep, value in pairs for row in sweep.rows if row.value == value]
    assert {run.method for row in published for run in row.runs} == {"rgwot"}
    assert len(published) == 4


def test_lines_of_training_videos_are_methods_with_all_videos_last(facts: Study) -> None:
    sweep = tables.figure_plan(facts, "training_videos").shown[0]
    lines: dict[str, list[float]] = {}
    for row in sweep.rows:
        lines.setdefault(row.line, []).append(row.value)
    assert set(lines) == {"cnc", "opel", "vaot", "rgwot"}
    assert all(values == [2, 5, 8, 11, 14, 17] for values in lines.values())
    levels = {(run.method, run.decoder) for run in sweep.levels}
    trivial = {("none", decoder) for decoder in ("one_label", "uniform", "random")}
    assert levels == trivial | {("whitened", "meanfield")}


def test_key_steps_are_looked_up_and_answers_without_training_are_apart(facts: Study) -> None:
    sweep = tables.figure_plan(facts, "k_score").shown[0]
    assert sweep.classes == 10
    values = {row.id: row.value for row in sweep.rows}
    assert (values["K=gt"], values["K=gt+1"]) == (9, 10)
    assert {row.line for row in sweep.rows if not row.trained} == {"uniform"}


def test_beta_is_drawn_on_the_one_task_of_its_table(facts: Study) -> None:
    plan = tables.figure_plan(facts, "collapse_beta")
    runs = {(run.dataset, run.task) for row in plan.shown[0].rows for run in row.runs}
    assert runs == {("procel", "make_smoke_salmon_sandwich")}
    assert sum(file.endswith("diagnostics.json") for file in tables.figure_files(facts, "collapse_beta")) == 6 * 2


def test_a_figure_of_some_rows_waits_for_no_others(facts: Study) -> None:
    files = tables.figure_files(facts, "protocols")
    rows = {Path(file).stem for file in files}
    assert {"one_label", "rgwot"} <= rows
    assert "remap" not in rows
    assert all(file.startswith("results/tables/protocols/") for file in files)


def test_features_are_asked_of_the_drawn_videos_alone(facts: Study) -> None:
    files = tables.figure_files(facts, "tsne_egoprocel")
    assert len(files) == 4
    assert all(file.startswith("results/features/") and file.endswith(".zarr") for file in files)


def test_every_plan_says_what_it_shows(facts: Study) -> None:
    for name, figure in tables.all_figures(facts).figures.items():
        plan = tables.figure_plan(facts, name)
        assert "seed" in plan.about, name
        assert plan.data[0] in plan.about, name
        said = " ".join(tables.figure_caption(facts, name))
        assert figure.title in said
        assert plan.about in said
        labels = tables.figure_labels(facts, name)
        assert labels["figure"] == name
        assert all(isinstance(value, str) and value for value in labels.values())
        if hasattr(figure, "protocol"):
            assert f"({figure.protocol})" in plan.about


def test_a_figure_is_drawn_again_when_a_setting_behind_it_changes(facts: Study) -> None:
    other = study(ot={"epsilon": 0.09})
    assert tables.figure_content(other, "transport_plan") != tables.figure_content(facts, "transport_plan")
    assert tables.figure_content(other, "tsne_procel") == tables.figure_content(facts, "tsne_procel")


def test_untrained_backbones_are_told(facts: Study) -> None:
    assert "random weights" not in tables.figure_plan(facts, "losses").about
    mine = study(features={"weights": "random"})
    assert "random weights: not the paper's numbers" in tables.figure_plan(mine, "losses").about


def test_figures_of_single_videos_take_the_first_seed_and_losses_all(facts: Study) -> None:
    assert {run.seed for task in tables.figure_plan(facts, "teaser").shown for run in task.runs} == {0}
    assert {run.seed for task in tables.figure_plan(facts, "losses").shown for run in task.runs} == {0, 1}
    assert tables.figure_labels(facts, "teaser")["seeds"] == "0"


def test_a_sweep_on_a_task_that_is_not_configured_says_so() -> None:
    from figure_tree import synthetic

    few = study(datasets={"procel": synthetic("procel", ("tie_tie",))})
    with pytest.raises(RgwotError, match="none of procel/make_smoke_salmon_sandwich is configured"):
        tables.figure_plan(few, "collapse_beta")


@pytest.mark.parametrize(
    ("figure", "said"),
    [
        (
            {"kind": "protocols", "title": "t", "table": "protocol", "datasets": ["meccano"]},
            "'protocol': not among the tables",
        ),
        (
            {"kind": "protocols", "title": "t", "table": "protocols", "datasets": ["mecano"]},
            "no dataset 'mecano' for a figure; did you mean 'meccano'",
        ),
        ({"kind": "protocols", "title": "t", "table": "runtime", "datasets": ["meccano"]}, "expected one of scores"),
        (
            {"kind": "losses", "title": "t", "dataset": "procel", "runs": [{"label": "R", "method": "raw"}]},
            "run 'R': raw .*expected a method with a training",
        ),
        (
            {
                "kind": "plans",
                "title": "t",
                "dataset": "procel",
                "run": {"label": "N", "method": "none", "decoder": "random"},
            },
            "run 'N': none .*expected a method with an embedding",
        ),
        (
            {"kind": "losses", "title": "t", "dataset": "crosstask", "runs": [{"label": "R", "method": "rgwot"}]},
            "dataset 'crosstask': not in `datasets`",
        ),
        (
            {
                "kind": "sweep",
                "title": "t",
                "panels": [{"table": "sensitivity_alpha", "dataset": "pc_assembly", "key": "ot.solver", "label": "s"}],
            },
            "no row is trained with a ot.solver",
        ),
    ],
)
def test_what_cannot_be_drawn_is_told_in_one_line(tmp_path: Path, figure: dict, said: str) -> None:
    facts = study(path=with_figures(tmp_path, {"mine": figure}))
    with pytest.raises(RgwotError, match=said) as caught:
        tables.figure_plan(facts, "mine")
    assert "\n" not in str(caught.value)
