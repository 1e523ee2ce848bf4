"""Compare all recipes on the development tasks, with intervals against references.

Missing results are made through the real workflow. A recipe is a line of `RECIPES`; `DEVELOPMENT` has the
tasks, and says on which of them choices may be based (benchmarks/report/answers.md). A complete run renews
benchmarks/results/answers.json and the tables of that page; a partial one (`--split choose`, `--recipes`) is only
printed.

    python benchmarks/answers.py [--cores 2] [--split all|choose|once] [--recipes ID ...] [--only-report]
"""

from __future__ import annotations

import math
import resource
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from bootstrap import DRAWS, compare, task_mean
from human import task_of
from pages import CONFIGS, HOUSE, REPORT, RESULTS, make, options_of, renew, table
from similarity import background_yardsticks

from rgwot.config.configuration import Config, load_config, read_files
from rgwot.evaluation.protocols import Detection
from rgwot.records import read_scores
from rgwot.runtime.files import write_json
from rgwot.runtime.provenance import surroundings

RECORD, PAGE = RESULTS / "answers.json", REPORT / "answers.md"
#: Datasets on which every choice is made, and datasets that are scored once, when everything is decided.
DEVELOPMENT = {
    "choose": (
        "dev_assembly", "bench_made", "bench_human", "dev_salad", "dev_raita", "dev_ramen", "dev_repeat", "dev_dense",
    ),
    "once": ("once_bruschetta", "once_meatballs", "once_omelet", "once_made", "once_repeat", "once_dense"),
}  # fmt: skip


@dataclass(frozen=True)
class Recipe:
    """A method and a decoder, spelt as in the paths of scores, and the number of seeds."""

    id: str
    label: str
    method: str
    decoder: str
    kind: str
    seeds: int = 3

    def score_file(self, task: Task, seed: int) -> str:
        """Return where the workflow puts the scores of a run."""
        return f"results/scores/{self.method}/{self.decoder}/{task.dataset}/{task.name}/seed{seed}.csv"


# All recipes, including trivial answers, use the annotated K: five tasks do not have 7 steps, and choosing K from the
# data is a separate problem. Recipes that hardly depend on the seed, or not at all, have one seed, and so do
# published methods that were far from the best in the comparison of all methods (benchmarks/report/comparison.md).
# Other methods of that comparison were weaker still and are left out: each would take 20 minutes of processor time.
RECIPES = (
    Recipe("one_label", "One label everywhere", "none", "one_label@K=gt", "trivial", 1),
    Recipe("uniform", "K equal segments", "none", "uniform@K=gt", "trivial", 1),
    Recipe("random", "Random labels", "none", "random@K=gt", "trivial"),
    Recipe("raw_kmeans", "Raw features + k-means", "raw", "kmeans@K=gt", "baseline", 1),
    Recipe("raw_graphcut", "Raw features + graph cut", "raw", "graphcut@K=gt", "baseline", 1),
    Recipe("whitened_kmeans", "Whitened features + k-means", "whitened", "kmeans@K=gt", "baseline"),
    Recipe("whitened_meanfield", "Whitened features + mean field", "whitened", "meanfield@K=gt", "baseline"),
    Recipe("gtcc_graphcut", "GTCC", "gtcc", "graphcut@K=gt", "published", 1),
    Recipe("remap_graphcut", "REMAP", "remap", "graphcut@K=gt", "published", 1),
    Recipe("rgwot_graphcut", "RGWOT", "rgwot", "graphcut@K=gt", "published"),
    Recipe("rgwot_meanfield", "RGWOT + mean field", "rgwot", "meanfield@K=gt", "ours"),
    Recipe("rgwot_plus", "RGWOT+", "rgwot-plus", "consensus@K=gt", "ours"),
)


class Metric(NamedTuple):
    """A value of the tidy scores (exact label rule), its name in print, and whether lower is better."""

    id: str
    label: str
    protocol: str
    background: str
    metric: str
    lower_is_better: bool = False


#: The metrics by which recipes are compared.
METRICS = (
    Metric("macro", "`macro_task` F1", "macro_task", "without", "f1"),
    Metric("strict", "`strict_task` F1", "strict_task", "without", "f1"),
    Metric("macro_background", "`macro_task` F1, with background", "macro_task", "with", "f1"),
    Metric("strict_background", "`strict_task` F1, with background", "strict_task", "with", "f1"),
    Metric("order", "order distance ↓", "macro_task", "without", "order_distance", lower_is_better=True),
)
#: Further values: detection of background (key step 0), scores with key step 0 fixed as background, and collapse.
TOLD = (
    Metric("background_precision", "precision", "macro_task", "with", "background_precision"),
    Metric("background_recall", "recall", "macro_task", "with", "background_recall"),
    Metric("background_f1", "F1", "macro_task", "with", "background_f1"),
    Metric("macro_fixed", "`macro_task` F1, 0 fixed", "macro_task", "with", "f1_fixed"),
    Metric("strict_fixed", "`strict_task` F1, 0 fixed", "strict_task", "with", "f1_fixed"),
    Metric("degenerate", "collapsed", "macro_task", "without", "degenerate"),
)
#: The references with which recipes are compared, and those for the detection of background.
REFERENCES = {
    "rgwot": "RGWOT",
    "best_trivial": "the best trivial answer",
    "best_published": "the best published method",
    "whitened": "whitened features + mean field",
}
YARDSTICKS = {"always": "Always background", "threshold": "Best threshold on raw similarity, chosen with the labels"}
SPLITS = {"once": "Looked at once", "choose": "To choose on", "all": "All tasks"}


class Task(NamedTuple):
    """A task by its dataset and its name."""

    dataset: str
    name: str


Values = Mapping[str, Mapping[Task, Sequence[float]]]
"""Values of one metric by recipe and task, one per seed."""


def split_tasks(config: Config, split: str) -> list[Task]:
    """Return the development tasks of a split, ``choose``, ``once`` or ``all``."""
    names = [name for part, names in DEVELOPMENT.items() if split in (part, "all") for name in names]
    return [Task(name, task_of(config, name)) for name in names]


def run(targets: Sequence[str], cores: int) -> dict[str, float]:
    """Make files through the workflow; return wall and CPU time in seconds, and the number that existed before."""
    there = sum((HOUSE / target).exists() for target in targets)
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = make(targets, cores, CONFIGS)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done:
        print("not every score was made; the errors are above, and finished files are kept", file=sys.stderr)
        sys.exit(done)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall_s": round(wall), "cpu_s": round(busy), "cores": cores, "files": len(targets), "there_before": there}


def read_values(
    recipes: Iterable[Recipe], tasks: Sequence[Task], metrics: Iterable[Metric], root: Path = HOUSE
) -> dict[str, dict[str, dict[Task, list[float]]]]:
    """Read the scores of every recipe: values by metric, recipe and task, in the order of the seeds."""
    metrics = list(metrics)
    found: dict[str, dict[str, dict[Task, list[float]]]] = {metric.id: {} for metric in metrics}
    for recipe in recipes:
        scores = read_scores(root / recipe.score_file(task, seed) for task in tasks for seed in range(recipe.seeds))
        exact = scores[scores["label_rule"] == "exact"]
        key = ["protocol", "background", "metric", "dataset", "task"]
        by_cell = {cell: rows.sort_values("seed")["value"].tolist() for cell, rows in exact.groupby(key)}
        for metric in metrics:
            cell = (metric.protocol, metric.background, metric.metric)
            found[metric.id][recipe.id] = {task: by_cell[(*cell, *task)] for task in tasks}
    return found


def best(values: Values, recipes: Iterable[Recipe], kind: str, tasks: Sequence[Task], metric: Metric) -> str | None:
    """Return the recipe of a kind with the best mean over tasks, or None if there is none of this kind."""
    sign = -1 if metric.lower_is_better else 1
    means = {r.id: sign * task_mean([values[r.id][task] for task in tasks]) for r in recipes if r.kind == kind}
    return max(means, key=lambda name: means[name], default=None)


def references(values: Values, recipes: Sequence[Recipe], tasks: Sequence[Task], metric: Metric) -> dict[str, str]:
    """Return, for a metric, the recipe of each reference; the best of a kind has the best mean over the tasks."""
    there = {recipe.id for recipe in recipes}
    named = {
        "rgwot": "rgwot_graphcut",
        "best_trivial": best(values, recipes, "trivial", tasks, metric),
        "best_published": best(values, recipes, "published", tasks, metric),
        "whitened": "whitened_meanfield",
    }
    return {name: recipe for name, recipe in named.items() if recipe in there and recipe is not None}


def summarise(
    values: Mapping[str, Values], recipes: Sequence[Recipe], tasks: Sequence[Task], draws: int = DRAWS
) -> dict[str, Any]:
    """Compare all recipes on some tasks.

    Parameters
    ----------
    values
        Values of `METRICS` and `TOLD`, as from `read_values`.
    recipes, tasks
        Recipes to compare, and tasks on which they are compared.
    draws
        Number of draws of the bootstrap.

    Returns
    -------
    dict
        ``tasks``; ``references``: the recipe by name of the reference and metric; ``recipes``: for every recipe
        ``mean`` by metric (over tasks, of the mean over seeds), ``better_than_uniform`` by metric (in how many tasks),
        and ``against`` by reference and metric: the ratio of the means (for order, their difference) as ``value``,
        and its 95 % interval as ``low`` and ``high``. None stands for a missing value.
    """
    named: dict[str, dict[str, str]] = {}
    told: dict[str, dict[str, Any]] = {
        recipe.id: {"mean": {}, "better_than_uniform": {}, "against": {}} for recipe in recipes
    }
    for metric in (*METRICS, *TOLD):
        for recipe in recipes:
            mean = _told_mean([values[metric.id][recipe.id][task] for task in tasks])
            told[recipe.id]["mean"][metric.id] = rounded(mean)
    for metric in METRICS:
        of = {recipe.id: [values[metric.id][recipe.id][task] for task in tasks] for recipe in recipes}
        less = metric.lower_is_better
        for recipe in recipes:
            if "uniform" in of:
                better = wins(of[recipe.id], of["uniform"], lower_is_better=less)
                told[recipe.id]["better_than_uniform"][metric.id] = better
        for name, other in references(values[metric.id], recipes, tasks, metric).items():
            named.setdefault(name, {})[metric.id] = other
            for recipe in recipes:
                found = compare(of[recipe.id], of[other], difference=less, draws=draws)
                against = told[recipe.id]["against"].setdefault(name, {})
                against[metric.id] = {key: rounded(value) for key, value in found._asdict().items()}
    return {"tasks": ["/".join(task) for task in tasks], "references": named, "recipes": told}


def wins(first: Sequence[Sequence[float]], second: Sequence[Sequence[float]], *, lower_is_better: bool = False) -> int:
    """Return in how many tasks the first method has a better mean over seeds than the second; ties do not count."""
    sign = -1 if lower_is_better else 1
    return sum(bool(sign * np.mean(a) > sign * np.mean(b)) for a, b in zip(first, second, strict=True))


def _told_mean(values: Sequence[Sequence[float]]) -> float:
    """Return the mean over tasks that have a value; precision of background needs a task where background was found."""
    told = [[value for value in of_task if not math.isnan(value)] for of_task in values]
    return task_mean([of_task for of_task in told if of_task]) if any(told) else math.nan


def rounded(value: float) -> float | None:
    """Round to four decimals; return None for NaN and infinity, which JSON does not have."""
    return round(value, 4) if math.isfinite(value) else None


def percent(value: float | None) -> str:
    """Write a share in percent; None is a dash."""
    return "–" if value is None else f"{100 * value:.1f}"


def interval(found: Mapping[str, float | None], difference: bool) -> str:
    """Write a ratio, or a difference in points, with its interval."""
    told = [value for name in ("value", "low", "high") if (value := found[name]) is not None]
    if len(told) < 3:
        return "–"
    printed = [f"{100 * share:+.1f}" if difference else f"{share:.2f}" for share in told]
    return f"{printed[0]} ({printed[1]} to {printed[2]})"


def render(record: Mapping[str, Any]) -> str:
    """Return the record as Markdown: tables for each split, then the values of single tasks."""
    recipes = record["recipes"]
    labels = {name: recipe["label"] for name, recipe in recipes.items()}
    blocks = []
    for split, part in record["splits"].items():
        blocks += [f"### {SPLITS[split]}: {len(part['tasks'])} tasks", _means(part, labels), _collapsed(part, labels)]
        # Trivial answers are compared with RGWOT alone, because RGWOT is not always better than they are.
        shown = [name for name in recipes if recipes[name]["kind"] != "trivial"]
        for reference in part["references"]:
            blocks.append(_against(part, labels, reference, list(recipes) if reference == "rgwot" else shown))
        blocks.append(_background(part, labels))
    for metric in METRICS[:2]:
        by_task = record["by_task"][metric.id]
        tasks = list(next(iter(by_task.values())))
        lines = [[labels[name], *(percent(values[task]) for task in tasks)] for name, values in by_task.items()]
        blocks += [f"### Single tasks: {metric.label}", table(["%", *(task.split("/")[0] for task in tasks)], lines)]
    return "\n\n".join(block for block in blocks if block)


def _means(part: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    rows = []
    for name, entry in part["recipes"].items():
        better = [str(entry["better_than_uniform"].get(metric, "–")) for metric in ("macro", "strict", "order")]
        rows.append([labels[name], *(percent(entry["mean"][metric.id]) for metric in METRICS), " / ".join(better)])
    last = "tasks better than equal segments: macro, strict, order"
    return table(["mean over tasks, %", *(metric.label for metric in METRICS), last], rows)


def _collapsed(part: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    shares = {labels[name]: entry["mean"]["degenerate"] for name, entry in part["recipes"].items()}
    told = ", ".join(f"{label} {percent(share)} %" for label, share in shares.items() if share)
    return f"Collapsed runs, which count as they scored: {told}." if told else ""


def _against(part: Mapping[str, Any], labels: Mapping[str, str], reference: str, shown: Sequence[str]) -> str:
    if not shown:
        return ""
    rows = []
    for name in shown:
        against = part["recipes"][name]["against"][reference]
        rows.append([labels[name], *(interval(against[metric.id], metric.lower_is_better) for metric in METRICS)])
    head = table([f"against {REFERENCES[reference]}", *(metric.label for metric in METRICS)], rows)
    if not reference.startswith("best"):
        return head
    under: dict[str, list[str]] = {}
    for metric in METRICS:
        under.setdefault(labels[part["references"][reference][metric.id]], []).append(metric.label)
    meant = (f"{label} under {'; '.join(names)}" if len(under) > 1 else label for label, names in under.items())
    return f"{head}\n\nHere {REFERENCES[reference]} is {', and '.join(meant)}."


def _background(part: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    told = [metric for metric in TOLD if metric.id != "degenerate"]
    rows = [
        [labels[name], *(percent(entry["mean"][metric.id]) for metric in told)]
        for name, entry in part["recipes"].items()
    ]
    for name, values in part["background"].items():
        rows.append([YARDSTICKS[name], *(percent(values[f"background_{key}"]) for key in Detection._fields), "–", "–"])
    return table(["key step 0 as background, %", *(metric.label for metric in told)], rows)


def make_record(recipes: Sequence[Recipe], splits: Mapping[str, Sequence[Task]], root: Path = HOUSE) -> dict[str, Any]:
    """Read the scores of all recipes and compare them on every split.

    Parameters
    ----------
    recipes
        Recipes that have run.
    splits
        Tasks by split.
    root
        Folder that contains ``results``.
    """
    tasks = list(dict.fromkeys(task for part in splits.values() for task in part))
    values = read_values(recipes, tasks, (*METRICS, *TOLD), root)
    yardsticks = {task: background_yardsticks(task, root) for task in tasks}
    record: dict[str, Any] = {
        "recipes": {
            recipe.id: {key: value for key, value in asdict(recipe).items() if key != "id"} for recipe in recipes
        },
        "draws": DRAWS,
        "splits": {},
    }
    for split, part in splits.items():
        background = {
            name: {
                f"background_{key}": rounded(_told_mean([[getattr(yardsticks[task][name], key)] for task in part]))
                for key in Detection._fields
            }
            for name in YARDSTICKS
        }
        record["splits"][split] = {**summarise(values, recipes, part), "background": background}
    record["by_task"] = {
        metric.id: {
            recipe.id: {"/".join(task): rounded(task_mean([values[metric.id][recipe.id][task]])) for task in tasks}
            for recipe in recipes
        }
        for metric in METRICS
    }
    return record


def main() -> None:
    """Make missing results, compare and print; renew the record and the page if everything was compared."""
    known = [recipe.id for recipe in RECIPES]
    parser = options_of(__doc__)
    parser.add_argument("--split", choices=("all", "choose", "once"), default="all", help="which tasks")
    parser.add_argument("--recipes", nargs="+", choices=known, default=known, metavar="ID", help=", ".join(known))
    parser.add_argument("--only-report", action="store_true", help="run nothing: every score is there")
    chosen = parser.parse_args()
    config = load_config(read_files(HOUSE / name for name in CONFIGS))
    recipes = [recipe for recipe in RECIPES if recipe.id in chosen.recipes]
    splits = {name: split_tasks(config, name) for name in (SPLITS if chosen.split == "all" else [chosen.split])}
    tasks = list(dict.fromkeys(task for part in splits.values() for task in part))
    whole = chosen.split == "all" and len(recipes) == len(RECIPES)
    spent = None
    if not chosen.only_report:
        targets = [
            recipe.score_file(task, seed) for recipe in recipes for task in tasks for seed in range(recipe.seeds)
        ]
        spent = run(
            [*targets, *(f"results/features/{task.dataset}/{task.name}/index.csv" for task in tasks)], chosen.cores
        )
    record = make_record(recipes, splits)
    print(render(record))
    if whole:
        write_json({**surroundings(), "run": spent, **record}, RECORD)
        renew(PAGE, "answers", "bench-answers", render(record))
        print(f"\nwritten: {RECORD.relative_to(HOUSE)}, {PAGE.relative_to(HOUSE)}")
    if spent is not None:
        print(f"\n{spent['wall_s'] / 60:.0f} minutes on {chosen.cores} cores", file=sys.stderr)


if __name__ == "__main__":
    main()
