"""The comparison of recipes: recipes, tasks, references, and the detection of background."""

from __future__ import annotations

import json
from pathlib import Path

import answers
import numpy as np
import pandas as pd
import pytest
from answers import DEVELOPMENT, METRICS, RECIPES, TOLD, Recipe, Task
from human import rendered
from pages import CONFIGS, renew
from similarity import best_threshold, cross_similarity

from rgwot.columns import SCORE_COLUMNS
from rgwot.config.configuration import load_config, read_files
from rgwot.config.experiments import Experiments, split_id
from rgwot.config.methods import DECODERS, FAMILIES
from rgwot.evaluation.protocols import Detection, detection

ROOT = Path(__file__).parents[2]
TASKS = [Task("a", "tea"), Task("b", "tea"), Task("c", "soup")]
FEW = [
    Recipe("uniform", "K equal segments", "none", "uniform@K=gt", "trivial", 1),
    Recipe("random", "Random labels", "none", "random@K=gt", "trivial", 2),
    Recipe("remap_graphcut", "REMAP", "remap", "graphcut@K=gt", "published", 2),
    Recipe("rgwot_graphcut", "RGWOT", "rgwot", "graphcut@K=gt", "published", 2),
    Recipe("mine", "Mine", "mine", "graphcut@K=gt", "ours", 2),
]
#: F1 by recipe and task, the mean over seeds; order distance is 1 minus it.
F1 = {
    "uniform": (0.4, 0.3, 0.3),
    "random": (0.2, 0.2, 0.5),
    "remap_graphcut": (0.6, 0.2, 0.2),
    "rgwot_graphcut": (0.5, 0.5, 0.4),
    "mine": (0.9, 0.8, 0.25),
}


def value_of(recipe, task, seed, metric):
    mean = F1[recipe.id][TASKS.index(task)]
    # Two seeds lie on both sides of the mean; a single seed lies on it.
    mean += 0.0 if recipe.seeds == 1 else 0.05 * (2 * seed - 1)
    if metric.metric == "background_precision":
        return np.nan if task.dataset != "b" else 0.5
    return 1 - mean if metric.lower_is_better else mean


@pytest.fixture
def scores(tmp_path):
    for recipe in FEW:
        for task in TASKS:
            for seed in range(recipe.seeds):
                rows = []
                for metric in (*METRICS, *TOLD):
                    value = value_of(recipe, task, seed, metric)
                    for rule, told in (("exact", value), ("cnc", 0.0)):
                        cell = (metric.protocol, metric.background, rule, metric.metric, told)
                        rows.append((*task, recipe.method, recipe.decoder, seed, *cell))
                path = tmp_path / recipe.score_file(task, seed)
                path.parent.mkdir(parents=True, exist_ok=True)
                pd.DataFrame(rows, columns=SCORE_COLUMNS).to_csv(path, index=False)
    return tmp_path


@pytest.fixture
def summary(scores):
    return answers.summarise(answers.read_values(FEW, TASKS, (*METRICS, *TOLD), scores), FEW, TASKS, draws=300)


def test_recipes_are_canonical_take_k_as_annotated_and_occur_once(house):
    experiments = Experiments(load_config(read_files(ROOT / name for name in CONFIGS)))
    assert len({recipe.id for recipe in RECIPES}) == len(RECIPES)
    assert {recipe.kind for recipe in RECIPES} <= {"trivial", "baseline", "published", "ours"}
    for recipe in RECIPES:
        base, keys = split_id(recipe.decoder)
        assert keys["K"] == "gt"
        if recipe.method not in FAMILIES or base not in DECODERS:
            assert "whitened" in recipe.method or base == "meanfield"
            continue
        assert experiments.method(recipe.method) == recipe.method
        assert experiments.decoder(recipe.decoder, recipe.method) == recipe.decoder


def test_splits_are_those_of_the_configuration_and_have_no_task_in_common(house):
    config = load_config(read_files(ROOT / name for name in CONFIGS))
    choose, once = answers.split_tasks(config, "choose"), answers.split_tasks(config, "once")
    assert Task("dev_assembly", "assembly") in choose
    assert not set(choose) & set(once)
    assert answers.split_tasks(config, "all") == choose + once
    assert len(choose + once) == 14


def test_means_are_over_tasks_by_the_exact_rule_and_without_a_value_left_out(summary):
    told = summary["recipes"]["mine"]["mean"]
    assert told["macro"] == pytest.approx((0.9 + 0.8 + 0.25) / 3, abs=1e-4)
    assert told["background_precision"] == 0.5
    assert summary["tasks"] == ["a/tea", "b/tea", "c/soup"]


def test_wins_count_tasks_and_order_counts_downwards(summary):
    assert summary["recipes"]["mine"]["better_than_uniform"]["macro"] == 2
    assert summary["recipes"]["mine"]["better_than_uniform"]["order"] == 2
    assert summary["recipes"]["uniform"]["better_than_uniform"]["macro"] == 0


def test_the_best_of_a_kind_is_chosen_by_the_mean_among_recipes_that_ran(summary):
    assert summary["references"]["best_trivial"] == {metric.id: "uniform" for metric in METRICS}
    assert summary["references"]["best_published"] == {metric.id: "rgwot_graphcut" for metric in METRICS}
    assert "whitened" not in summary["references"]


def test_ratios_for_f1_differences_for_order(summary):
    against = summary["recipes"]["mine"]["against"]["rgwot"]
    assert against["macro"]["value"] == pytest.approx((0.9 + 0.8 + 0.25) / (0.5 + 0.5 + 0.4), abs=1e-4)
    assert against["order"]["value"] == pytest.approx(-(0.95 + 0.0 + 0.55 - 0.95) / 3, abs=1e-3)
    assert against["macro"]["low"] < 1 < against["macro"]["high"]
    assert summary["recipes"]["rgwot_graphcut"]["against"]["rgwot"]["macro"] == {"value": 1, "low": 1, "high": 1}


def test_each_split_has_the_hard_kinds(house):
    config = load_config(read_files(ROOT / name for name in CONFIGS))
    for names in DEVELOPMENT.values():
        made = [synth for name in names if (synth := config.dataset(name).synth) is not None]
        assert all(len(synth.tasks) == 1 for synth in made)
        assert {name for name in names if config.dataset(name).synth is None} <= set(rendered())
        assert any(synth.foreground > 0.9 for synth in made), "one nearly without background"
        assert any(synth.repeated > 0.6 and synth.order_distance > 0.3 for synth in made), "one of repeating steps"


def test_record_and_page_hold_every_recipe_and_no_path(scores, monkeypatch):
    always = Detection(0.6, 1.0, 0.75)
    monkeypatch.setattr(answers, "background_yardsticks", lambda task, root: {"always": always, "threshold": always})
    record = answers.make_record(FEW, {"choose": TASKS[:2], "once": TASKS[2:], "all": TASKS}, scores)
    text = json.dumps(record, allow_nan=False)
    assert str(scores) not in text
    assert record["by_task"]["macro"]["mine"] == {"a/tea": 0.9, "b/tea": 0.8, "c/soup": 0.25}
    page = answers.render(record)
    for recipe in FEW:
        assert f"| {recipe.label} |" in page
    assert "### Looked at once: 1 tasks" in page
    assert "| Always background | 60.0 | 100.0 | 75.0 | – | – |" in page
    assert page.index("### To choose on") != page.index("### Looked at once")


@pytest.mark.parametrize(("name", "target"), [("answers", "bench-answers"), ("claims", "claims")])
def test_tables_go_between_the_marks_of_the_page(tmp_path, name, target):
    text = (ROOT / "benchmarks" / "report" / f"{name}.md").read_text(encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    for table in ("| new |", "| newer |"):
        renew(page, name, target, table)
    renewed = page.read_text(encoding="utf-8")
    assert (renewed.count("| newer |"), "| new |" in renewed) == (1, False)
    before, mark, _ = text.partition(f"<!-- {name}: made by make {target}")
    assert renewed.startswith(before + mark)
    assert renewed.endswith(text[text.index(f"<!-- {name}: end -->") :])
    page.write_text("nothing here", encoding="utf-8")
    with pytest.raises(SystemExit, match="expected one line"):
        renew(page, name, target, "| new |")


def test_best_threshold_is_the_best_of_all_thresholds():
    rng = np.random.default_rng(2)
    background = rng.random(300) < 0.6
    similarity = np.round(rng.normal(np.where(background, 0.4, 0.6), 0.2), 2)  # with ties
    found = best_threshold(similarity, background)
    every = [detection(background, similarity <= t).f1 for t in np.unique(similarity)]
    assert found.f1 == max(every)
    assert found.f1 >= detection(background, np.ones(300, bool)).f1


def test_a_frame_without_a_counterpart_is_less_similar():
    x, y, z = np.eye(3)
    first, second, third = np.stack([x, z]), np.stack([x, x, y]), np.stack([x, y])
    found = cross_similarity([first, second, third])
    assert found[0].tolist() == [1.0, 0.0]
    assert found[1].tolist() == [1.0, 1.0, 0.5]  # y occurs only in the third video
