"""Compare learners of task graphs on twelve recipes with known graphs, from annotations and optionally from pixels.

Without options, no video is needed: graphs are learned from annotations of people (benchmarks/data) and from random
procedures (procedures.py); graphs, deviations and confidences are scored; and learner, settings and limit are chosen
again with each recipe left out in turn. This renews benchmarks/results/graphs.csv and the tables and picture of
benchmarks/report/graphs.md. With `--pixels`, the same recipes are also rendered, decoded through the real workflow
(benchmarks/graphs.yaml) with three seeds, and scored; `--recipes 3 --seeds 0 --pixels` is a smoke test, which is only
printed.

    python benchmarks/graphs.py [--pixels] [--cores 2] [--recipes ID ...] [--seeds N ...]
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from human import rendered
from learners import likelihood, transitions
from numpy.typing import ArrayLike, NDArray
from pages import HOUSE, REPORT, RESULTS, make, options_of, renew, table
from procedures import draw_procedure

from rgwot.config.configuration import Config, load_config, read_files
from rgwot.evaluation.protocols import Detection
from rgwot.keysteps.ordering import order_of_segments
from rgwot.procedure import LEARNERS as OURS
from rgwot.procedure import Deviation, Event, Procedure, Recording, deviations, learn, recordings_from_segments
from rgwot.procedure.differences import SURE_FROM, out_of_order
from rgwot.procedure.graphs import edge_scores, mean_distance, needs_of, restricted, set_scores, share_interval
from rgwot.procedure.learners import CLEAN, PENALTY, Needs
from rgwot.procedure.orders import Tally, tally
from rgwot.records import read_annotations, read_manifest, read_orders, read_segments
from rgwot.runtime.csv_files import write_csv
from rgwot.stages.procedure import read_deviation_list

DATA = HOUSE / "benchmarks" / "data"
RECORD, PICTURE, PAGE = RESULTS / "graphs.csv", REPORT / "graph_reliability.png", REPORT / "graphs.md"
CONFIGS = ("config.yaml", "benchmarks/graphs.yaml")

FUNCTIONS: dict[str, Callable[..., Needs]] = {**OURS, "transitions": transitions, "likelihood": likelihood}
#: Columns of the table: label, learner, settings of the learner.
LEARNERS: tuple[tuple[str, str, dict[str, float]], ...] = (
    ("chain", "chain", {}),
    ("transitions", "transitions", {}),
    ("intersection", "intersection", {}),
    ("precedence > 80 %", "precedence", {"above": 0.8}),
    ("precedence > 90 %", "precedence", {"above": 0.9}),
    ("likelihood", "likelihood", {}),
    ("robust", "robust", {}),
)
SOURCES = {"published": "published listing", "error_free": "error-free, by start", "all": "all recordings, by start"}
#: Choices of the cross-validation: learners with settings, and limits of the confidence below which needs do not count.
CANDIDATES: tuple[tuple[str, dict[str, float]], ...] = (
    ("intersection", {}),
    *(("precedence", {"above": above}) for above in (0.7, 0.8, 0.9)),
    *(("robust", {"clean": clean, "penalty": penalty}) for clean in (0.4, 0.6, 0.8) for penalty in (0.5, 1.0, 2.0)),
)
LIMITS = (0.0, 1 / 3, 0.5, 0.6, 2 / 3, 0.75, 0.8, 0.9)
#: Random procedures: numbers of videos, shares of videos that err, and draws of each combination.
N_VIDEOS, ERRING, DRAWS = (5, 8, 12, 24), (0.0, 0.1, 0.25, 0.5), 15
SWEPT = ("intersection", "precedence > 80 %", "precedence > 90 %", "robust")
ENDS = (0.0, 0.5, 0.7, 0.85, 0.95, 0.99, 1.0)
#: Answers from pixels: label, method, decoder, spelt as in paths.
ANSWERS = (
    ("first answer", "whitened", "meanfield@K=gt"),
    ("RGWOT", "rgwot", "graphcut@K=gt"),
    ("RGWOT+", "rgwot-plus", "consensus@K=gt"),
)
RENDERED = 7
#: Ranges of the sureness of deviations (from, below), and groups of kinds of deviations that are counted together.
SURENESS = {"sure": (0.8, 1.1), "unsure": (1 / 3, 0.8), "folded": (0.0, 1 / 3)}
KINDS = {"missing": "missing", "added": "added", "repeated": "repeated", "too_early": "order", "too_late": "order"}

Answer = tuple[str, str, str]

Step = int | str
Graph = set[tuple[Step, Step]]


@dataclass(frozen=True)
class Recipe:
    """A recipe: its true graph, recordings by source, and steps that were annotated as errors."""

    graph: Graph
    sources: Mapping[str, list[Recording]]
    order_errors: set[tuple[str, int]]
    missing: set[tuple[str, int]]


@cache
def recipes() -> dict[int, Recipe]:
    """Read benchmarks/data."""
    read = {
        name: pd.read_csv(DATA / f"captaincook4d_{name}.csv")
        for name in ("task_graphs", "timelines", "published_sequences", "errors")
    }
    errors = read["errors"]
    found = {}
    for activity, rows in read["task_graphs"].groupby("activity_id"):
        graph = {(_step(before), _step(after)) for before, after in zip(rows["needs"], rows["step_id"], strict=True)}
        of_recipe = {name: table[table["activity_id"] == activity] for name, table in read.items()}
        everything = _timelines(of_recipe["timelines"])
        erring = set(of_recipe["timelines"].query("has_errors == 1")["recording_id"])
        annotated = {
            kind: set(zip(part["recording_id"], part["step_id"], strict=True))
            for kind, part in errors[errors["activity_id"] == activity].groupby("error")
        }
        found[int(str(activity))] = Recipe(
            graph,
            {
                "published": _listed(of_recipe["published_sequences"]),
                "error_free": _once(one for one in everything if one.video not in erring),
                "all": everything,
            },
            annotated.get("order", set()),
            annotated.get("missing", set()),
        )
    return found


def _step(name: str) -> Step:
    return name if name in ("START", "END") else int(name)


def _timelines(rows: pd.DataFrame) -> list[Recording]:
    found = []
    for video, of_video in rows.groupby("recording_id", sort=False):
        done = of_video[of_video["missing"] == 0]
        events = zip(done["step_id"], done["start_s"], done["end_s"], strict=True)
        made = tuple(Event(int(step), float(start), float(end)) for step, start, end in events)
        found.append(Recording(str(video), made, float(of_video["video_s"].iloc[0])))
    return found


def _listed(rows: pd.DataFrame) -> list[Recording]:
    """Return sequences without times as recordings with one key step per second."""
    found = []
    for video, of_video in rows.groupby("recording_id", sort=False):
        steps = of_video.sort_values("position")["step_id"]
        events = tuple(Event(int(step), float(place), place + 1.0) for place, step in enumerate(steps))
        found.append(Recording(str(video), events, float(len(events))))
    return found


def _once(recordings: Iterable[Recording]) -> list[Recording]:
    """Return one recording for each different order of first occurrences."""
    kept: dict[tuple[int, ...], Recording] = {}
    for recording in recordings:
        kept.setdefault(tuple(dict.fromkeys(event.key_step for event in recording.events)), recording)
    return list(kept.values())


def edges_of(procedure: Procedure) -> Graph:
    """Return the edges of a procedure as pairs."""
    return {(edge.before, edge.after) for edge in procedure.edges}


def learner_scores(names: Sequence[int]) -> pd.DataFrame:
    """Score every learner on every source: ``source,recipe,learner,precision,recall,f1``."""
    rows = []
    for source, name, (label, learner, settings) in product(SOURCES, names, LEARNERS):
        recipe = recipes()[name]
        found = learn(recipe.sources[source], learner=FUNCTIONS[learner], **settings)
        scores = edge_scores(recipe.graph, edges_of(found))
        rows.append({"source": source, "recipe": name, "learner": label, **scores._asdict()})
    return pd.DataFrame(rows)


def _told(needs: Needs, counted: Tally, limit: float = SURE_FROM) -> list[set[int]]:
    """Return, for each video, the two key steps of every learned need that the video breaks."""
    relation = needs.relation & (needs.confidence >= limit)
    broken = relation & counted.earlier.transpose(0, 2, 1)
    return [set(counted.steps[of_video.any(axis=0) | of_video.any(axis=1)].tolist()) for of_video in broken]


def _graph(needs: Needs, counted: Tally) -> Graph:
    pairs = {(int(counted.steps[k]), int(counted.steps[after])) for k, after in np.argwhere(needs.relation)}
    return restricted(pairs, counted.steps.tolist())


def _hits(true: set[Any], found: set[Any]) -> NDArray[np.int64]:
    return np.array([len(true & found), len(found - true), len(true - found)])


def _f1(hits: NDArray[np.int64]) -> float:
    right, wrong, missed = (int(one) for one in hits)
    return 2 * right / max(2 * right + wrong + missed, 1)


def left_out() -> tuple[pd.DataFrame, list[str]]:
    """Choose learner, settings and limit with each recipe left out.

    Returns a table ``what,chosen,left_out,defaults``, and the choices.

    The choice has the largest sum of five figures on the other eleven recipes: the mean F1 of the edges from each
    source, and the F1 of deviations in order over steps and over recordings. ``chosen`` has the figures of the choices
    on the eleven (means over choices), ``left_out`` those on the recipe that was left out (deviations pooled over all
    twelve).
    """
    names = list(recipes())
    scores, counts, labels = [], [], []
    for learner, settings in CANDIDATES:
        edges, hits = np.zeros((len(SOURCES), len(names))), np.zeros((len(LIMITS), len(names), 2, 3), dtype=np.int64)
        for column, name in enumerate(names):
            recipe = recipes()[name]
            for row, source in enumerate(SOURCES):
                counted = tally(recipe.sources[source])
                needs = FUNCTIONS[learner](counted, **settings)
                edges[row, column] = edge_scores(recipe.graph, _graph(needs, counted)).f1
            # ``source`` is now the last one, all recordings.
            videos = [one.video for one in recipe.sources[source]]
            for number, limit in enumerate(LIMITS):
                told = zip(videos, _told(needs, counted, limit), strict=True)
                found = {(video, step) for video, steps in told for step in steps}
                hits[number, column, 0] = _hits(recipe.order_errors, found)
                of_found = {video for video, _ in found}
                hits[number, column, 1] = _hits({video for video, _ in recipe.order_errors}, of_found)
        for number, limit in enumerate(LIMITS):
            scores.append(edges)
            counts.append(hits[number])
            labels.append(
                ", ".join([learner, *(f"{key} {value:g}" for key, value in settings.items()), f"limit {limit:.2g}"])
            )

    def figures(which: int, columns: Sequence[int]) -> NDArray[np.float64]:
        pooled = counts[which][columns].sum(axis=0)
        return np.array([*scores[which][:, columns].mean(axis=1), *(_f1(one) for one in pooled)])

    inside, edges_out, hits_out, choices = [], [], np.zeros((2, 3), dtype=np.int64), []
    for out in range(len(names)):
        kept = [place for place in range(len(names)) if place != out]
        best = max(range(len(scores)), key=lambda which: float(figures(which, kept).sum()))  # noqa: B023
        choices.append(labels[best])
        inside.append(figures(best, kept))
        edges_out.append(scores[best][:, out])
        hits_out += counts[best][out]
    left = [*np.mean(edges_out, axis=0), *(_f1(one) for one in hits_out)]
    ours = labels.index(f"robust, clean {CLEAN:.2g}, penalty {PENALTY:.2g}, limit {SURE_FROM:.2g}")
    means = {"chosen": np.mean(inside, axis=0), "left_out": left, "defaults": figures(ours, range(len(names)))}
    what = [*SOURCES, "order, steps", "order, recordings"]
    return pd.DataFrame({"what": what, **means}), choices


def random_scores(
    n_videos: Sequence[int] = N_VIDEOS, erring: Sequence[float] = ERRING, draws: int = DRAWS
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Score learners on random procedures, and the deviations that the robust learner reports at each limit.

    Returns ``learner,n_videos,erring,edges,steps,recordings`` (mean F1 of the edges, F1 of deviations pooled) and
    ``limit,n_videos,what,right,wrong,missed``.
    """
    rows, limits = [], []
    for size, share in product(n_videos, erring):
        seeds = [[size, round(100 * share), at] for at in range(draws)]
        drawn = [draw_procedure(np.random.default_rng(seed), size, share) for seed in seeds]
        counts = [tally(one.recordings) for one in drawn]
        true_graphs, true_told = [], []
        for planted, counted in zip(drawn, counts, strict=True):
            of_these = counted.steps - 1
            truth = Needs(planted.needs[np.ix_(of_these, of_these)], np.ones((len(of_these),) * 2), np.ones(size))
            true_graphs.append(_graph(truth, counted))
            true_told.append(_told(truth, counted))
        for label, learner, settings in LEARNERS:
            if label not in SWEPT:
                continue
            edges, hits = [], {limit: np.zeros((2, 3), dtype=np.int64) for limit in LIMITS}
            for counted, graph, truth_told in zip(counts, true_graphs, true_told, strict=True):
                needs = FUNCTIONS[learner](counted, **settings)
                edges.append(edge_scores(graph, _graph(needs, counted)).f1)
                for limit in LIMITS:
                    for true, found in zip(truth_told, _told(needs, counted, limit), strict=True):
                        hits[limit] += [_hits(true, found), _hits({0} if true else set(), {0} if found else set())]
            f1 = [_f1(one) for one in hits[SURE_FROM]]
            rows.append([label, size, share, float(np.mean(edges)), *f1])
            if label == "robust":
                limits += [
                    [limit, size, what, *of_what]
                    for limit, both in hits.items()
                    for what, of_what in zip(("steps", "recordings"), both.tolist(), strict=True)
                ]
    return (
        pd.DataFrame(rows, columns=["learner", "n_videos", "erring", "edges", "steps", "recordings"]),
        pd.DataFrame(limits, columns=["limit", "n_videos", "what", "right", "wrong", "missed"]),
    )


def deviation_scores(names: Sequence[int]) -> pd.DataFrame:
    """Score deviations, learned from all recordings without labels: ``learner,what,precision,recall,f1``."""
    rows = []
    for label, learner, settings in (*LEARNERS, ("true graph", "", {})):
        true: dict[str, set[Any]] = defaultdict(set)
        found: dict[str, set[Any]] = defaultdict(set)
        for name in names:
            recipe = recipes()[name]
            videos = recipe.sources["all"]
            true["steps"] |= recipe.order_errors
            true["recordings"] |= {video for video, _ in recipe.order_errors}
            true["missing"] |= recipe.missing
            if learner:
                procedure = learn(videos, learner=FUNCTIONS[learner], **settings)
                told = deviations(procedure, videos)
                # Steps count as for the true graph (`_broken`), and as people annotated them.
                order = out_of_order(procedure, videos)
                found["missing"] |= {(one.video, one.key_step) for one in told if one.kind == "missing"}
            else:
                order = _broken(recipe.graph, videos)
            found["steps"] |= order
            found["recordings"] |= {video for video, _ in order}
        for what in ("steps", "recordings", "missing") if learner else ("steps", "recordings"):
            rows.append({"learner": label, "what": what, **set_scores(true[what], found[what])._asdict()})
    return pd.DataFrame(rows)


def _broken(graph: Graph, videos: Sequence[Recording]) -> set[tuple[str, int]]:
    """Return, with the name of the video, the two steps of every need of the true graph that a video breaks."""
    found = set()
    for video in videos:
        first: dict[Step, float] = {}
        for event in video.events:
            first.setdefault(event.key_step, event.start_s)
        for before, after in needs_of(graph):
            if before in first and after in first and first[before] > first[after]:
                found |= {(video.video, int(before)), (video.video, int(after))}
    return found


def confidences(names: Sequence[int], source: str) -> tuple[list[float], list[bool]]:
    """Return the confidences that the robust learner gives to its needs, and whether the true graph has these needs."""
    given, right = [], []
    for name in names:
        recipe = recipes()[name]
        truth = needs_of(recipe.graph)
        for need in learn(recipe.sources[source]).needs:
            given.append(need.confidence)
            right.append((need.before, need.after) in truth)
    return given, right


class Bin(NamedTuple):
    """A bin of confidences: its ends, their number (``total``), the number of right ones, and their mean.

    ``share`` is right / total, (``share_low``, ``share_high``) its interval; NaN and (0, 1) in an empty bin.
    """

    low: float
    high: float
    total: int
    right: int
    confidence: float
    share: float
    share_low: float
    share_high: float


def reliability(confidence: ArrayLike, right: ArrayLike, ends: Sequence[float]) -> list[Bin]:
    """Count confidences (N,), and those that are right, in bins [ends[i], ends[i + 1]); the last bin is closed."""
    given, truth = np.asarray(confidence, dtype=np.float64), np.asarray(right, dtype=bool)
    if given.shape != truth.shape or given.ndim != 1:
        raise ValueError(f"confidence: found shapes {given.shape} and {truth.shape}, expected two of shape (N,)")
    which = np.clip(np.searchsorted(ends, given, side="right") - 1, 0, len(ends) - 2)
    found = []
    for number, (low, high) in enumerate(zip(ends[:-1], ends[1:], strict=True)):
        inside = (which == number) & (given >= low) & (given <= high)
        count, correct = int(inside.sum()), int(truth[inside].sum())
        mean = float(given[inside].mean()) if count else float("nan")
        share = correct / count if count else float("nan")
        found.append(Bin(low, high, count, correct, mean, share, *share_interval(correct, count)))
    return found


def draw(bins: Mapping[str, Sequence[Bin]], path: Path) -> None:
    """Draw a panel per source: for every bin its ends, the share of real needs with its interval, and the count."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 3.4), layout="constrained")
    axes = figure.subplots(1, len(bins), sharey=True)
    for axis, (source, of_source) in zip(axes, bins.items(), strict=True):
        for place, one in enumerate(of_source):
            axis.bar(place, one.high - one.low, 0.8, one.low, color="0.87")
            axis.annotate(f"n = {one.total}", (place, 0.0), (0, 3), textcoords="offset points", ha="center", fontsize=7)
            if one.total:
                ends = [[one.share - one.share_low], [one.share_high - one.share]]
                axis.errorbar(place, one.share, yerr=ends, fmt="o", color="#1f5fa8", capsize=3, markersize=4)
        axis.set_xticks(
            range(len(of_source)), [f"{one.low:g}–{one.high:g}" for one in of_source], fontsize=7, rotation=30
        )
        axis.set(title=SOURCES[source], xlabel="confidence", ylim=(0.0, 1.03))
    axes[0].set_ylabel("share that is in the true graph")
    figure.savefig(path, dpi=110)


def render_tables(
    scores: pd.DataFrame,
    choice: pd.DataFrame,
    choices: Sequence[str],
    told: pd.DataFrame,
    bins: Mapping[str, Sequence[Bin]],
) -> str:
    """Write the tables in Markdown."""
    labels = [label for label, *_ in LEARNERS]
    means = scores.groupby(["source", "learner"])[["precision", "recall", "f1"]].mean()
    rows = [
        [SOURCES[source], *(f"{100 * means.loc[(source, label), 'f1']:.1f}" for label in labels)] for source in SOURCES
    ]
    parts = [table(["edges, mean F1, %", *labels], rows)]
    if len(choice):
        rows = [
            [
                SOURCES.get(one.what, one.what),
                *(f"{100 * value:.1f}" for value in (one.defaults, one.chosen, one.left_out)),
            ]
            for one in choice.itertuples()
        ]
        parts.append(table(["F1, %", "robust, defaults", "chosen on eleven", "the one left out"], rows))
        parts.append(
            "Chosen: " + "; ".join(f"{one} ({choices.count(one)} times)" for one in dict.fromkeys(choices)) + "."
        )
    by_learner = told.set_index(["learner", "what"])
    rows = []
    for label in [*labels, "true graph"]:
        cells = []
        for what in ("steps", "recordings", "missing"):
            known = (label, what) in by_learner.index
            cells.append(_triple(Detection(*by_learner.loc[(label, what)])) if known else "–")
        rows.append([label, *cells])
    head = ["deviations, all recordings: F1 (P, R), %", "order, steps", "order, recordings", "missing steps"]
    parts.append(table(head, rows))
    rows = [
        [f"{one.low:g}–{one.high:g}", *(_bin(of_source[number]) for of_source in bins.values())]
        for number, one in enumerate(bins["all"])
    ]
    parts.append(table(["confidence", *(f"{SOURCES[source]}: real" for source in bins)], rows))
    return "\n\n".join(parts)


def render_random(swept: pd.DataFrame, limits: pd.DataFrame) -> str:
    """Write the scores of learners on random procedures, and of reported deviations at each limit, in Markdown."""
    parts = []
    for column, name in (("erring", "{:.0%} of the videos err"), ("n_videos", "{} videos")):
        means = swept.groupby(["learner", column])[["edges", "steps", "recordings"]].mean()
        values = sorted(swept[column].unique())
        rows = [
            [label, *(" / ".join(f"{100 * one:.0f}" for one in means.loc[(label, value)]) for value in values)]
            for label in SWEPT
        ]
        parts.append(table(["F1, %: edges / steps / recordings", *(name.format(value) for value in values)], rows))
    sums = limits.groupby(["limit", "n_videos", "what"])[["right", "wrong", "missed"]].sum()
    rows = []
    for limit in LIMITS:
        cells = []
        for n_videos in (*N_VIDEOS, None):
            of_limit = sums.loc[limit] if n_videos is None else sums.loc[limit].loc[[n_videos]]
            pooled = of_limit.groupby("what").sum()
            shares = [
                100 * pooled.loc[what, "right"] / max(pooled.loc[what, "right"] + pooled.loc[what, "wrong"], 1)
                for what in ("steps", "recordings")
            ]
            cells.append(" / ".join(f"{share:.0f}" for share in shares))
        found = sums.loc[limit].groupby("what").sum()
        cells += [f"{100 * _f1(found.loc[what].to_numpy()):.1f}" for what in ("steps", "recordings")]
        rows.append([f"{limit:.2g}", *cells])
    head = ["limit", *(f"{n_videos} videos" for n_videos in N_VIDEOS), "all", "F1, steps", "F1, recordings"]
    parts.append(table([f"{head[0]}: true of those told, %: steps / recordings", *head[1:]], rows))
    return "\n\n".join(parts)


def _triple(scores: Detection) -> str:
    return f"{100 * scores.f1:.1f} ({100 * scores.precision:.1f}, {100 * scores.recall:.1f})"


def _bin(one: Bin) -> str:
    if not one.total:
        return "–"
    interval = f"{100 * one.share_low:.0f} to {100 * one.share_high:.0f}"
    return f"{one.right} of {one.total}: {100 * one.share:.0f} % ({interval})"


def pixel_scores(config: Config, names: Sequence[int], seeds: Sequence[int], answers: Sequence[Answer]) -> pd.DataFrame:
    """Score graphs, orders and deviations from pixels, a row per recipe, answer and seed.

    ``f1`` is the F1 of edges by the robust learner, ``f1_precedence`` and ``f1_chain`` by the learners of these names;
    ``consensus`` the mean distance of the consensus order from the annotated orders, ``single`` the mean distance of a
    video's own order from the annotated orders of the other videos; in both, found key steps are matched to annotated
    ones. ``told_…`` and ``true_…`` count deviations, and those that are true, by their sureness.
    """
    rows = []
    steps = pd.read_csv(DATA / "captaincook4d_clips_map.csv")
    for name in names:
        dataset = f"graph_{name}"
        task = rendered()[dataset].task
        of_recipe = steps[steps["activity_id"] == name]
        labels_of_steps = dict(zip(of_recipe["step_id"].tolist(), of_recipe["label"].tolist(), strict=True))
        truth = {
            (labels_of_steps.get(before, before), labels_of_steps.get(after, after))
            for before, after in restricted(recipes()[name].graph, labels_of_steps)
        }
        videos = read_manifest(HOUSE / "results" / "manifest" / dataset / f"{task}.csv")
        annotations = read_annotations(HOUSE / "results" / "annotations" / dataset / f"{task}.csv")
        lengths = dict(zip(videos["video"], videos["duration_s"].astype(float), strict=True))
        annotated = recordings_from_segments(annotations, lengths)
        orders = {str(one): order_of_segments(own) for one, own in annotations.groupby("video", sort=False)}
        known = {step: step for step in labels_of_steps.values()}
        rows.append(
            {"recipe": name, "answer": "annotated", "seed": 0, **_scored(annotated, known, truth, orders, None)}
        )
        for (label, method, decoder), seed in product(answers, seeds):
            folder = HOUSE / "results" / "keysteps" / method / decoder / dataset / task / f"seed{seed}"
            segments = read_segments(folder / "segments.csv")
            matching = _matching(videos, annotations, segments)
            own = read_orders(folder / "order.csv")
            singles = {
                video: [int(step) for step in order.split(">") if step]
                for video, order in zip(own["video"], own["order"], strict=True)
            }
            found = recordings_from_segments(segments, lengths)
            scores = _scored(found, matching, truth, orders, singles)
            sure = _sure(read_deviation_list(folder / "deviations.csv"), matching, annotated)
            rows.append({"recipe": name, "answer": label, "seed": seed, **scores, **sure})
    return pd.DataFrame(rows)


def _matching(videos: pd.DataFrame, annotations: pd.DataFrame, segments: pd.DataFrame) -> dict[int, int]:
    """Return the annotated step of every matched key step, by common frames over all videos (macro_task)."""
    from rgwot.names import match_to_steps

    found = match_to_steps(videos, annotations, segments[segments["scope"] == "task"])
    return {key_step: step for key_step, step in found.items() if key_step and step}


def _scored(
    recordings: Sequence[Recording],
    matching: Mapping[int, int],
    truth: Graph,
    orders: Mapping[str, Sequence[int]],
    singles: Mapping[str, Sequence[int]] | None,
) -> dict[str, float]:
    """Return the scores of an answer; ``singles`` are the orders of single videos, by default the annotated ones."""
    own = orders if singles is None else singles
    found = learn(recordings)
    named: Callable[[Iterable[int]], list[int]] = lambda order: [matching[k] for k in order if k in matching]  # noqa: E731
    apart = [
        mean_distance(named(order), [other for video, other in orders.items() if video != own_video])
        for own_video, order in own.items()
    ]
    return {
        "f1": edge_scores(truth, edges_of(found), matching).f1,
        **{
            f"f1_{learner}": edge_scores(truth, edges_of(learn(recordings, learner=learner)), matching).f1
            for learner in ("precedence", "chain")
        },
        "consensus": mean_distance(named(found.order), orders.values()),
        "single": float(np.mean(apart)),
    }


def _sure(told: Sequence[Deviation], matching: Mapping[int, int], annotated: Sequence[Recording]) -> dict[str, int]:
    """Count deviations by sureness, and those that are true.

    A deviation is true if the annotated key steps of the video deviate in the same way, or lack the missing step.
    """
    true = {(one.video, KINDS[one.kind], one.key_step) for one in deviations(learn(annotated), annotated)}
    steps = {event.key_step for recording in annotated for event in recording.events}
    for recording in annotated:
        lacking = steps - {event.key_step for event in recording.events}
        true |= {(recording.video, "missing", step) for step in lacking}
    counts = {}
    for name, (low, high) in SURENESS.items():
        part = [one for one in told if one.sureness is not None and low <= one.sureness < high]
        counts[f"told_{name}"] = len(part)
        counts[f"true_{name}"] = sum((one.video, KINDS[one.kind], matching.get(one.key_step)) in true for one in part)
    return counts


def render_pixels(scores: pd.DataFrame) -> str:
    """Write the scores of answers from pixels in Markdown, by recipe and on average."""
    columns = ["f1", "f1_precedence", "f1_chain", "consensus", "single"]
    by_answer = scores.groupby(["answer", "recipe"])[columns].mean()
    rows = []
    labels = [label for label in ("annotated", *(label for label, *_ in ANSWERS)) if label in set(scores["answer"])]
    for label in labels:
        part = by_answer.loc[label]
        nearer = int((part["consensus"] < part["single"]).sum())
        means = part.mean()
        cells = (f"{100 * means[column]:.1f}" for column in columns)
        rows.append([label, *cells, f"{nearer} of {len(part)}"])
    head = ["from pixels, %", "edges F1", "precedence F1", "chain F1"]
    head += ["consensus: distance ↓", "single videos ↓", "consensus is nearer"]
    single = [
        [str(recipe), *(f"{100 * value:.1f}" for value in by_answer.xs(recipe, level="recipe").loc[
            labels, ["f1", "consensus", "single"]].to_numpy().ravel())]
        for recipe in scores["recipe"].unique()
    ]  # fmt: skip
    heads = [f"{label}: {what}" for label in labels for what in ("F1", "consensus", "single")]
    told = scores[scores["told_sure"].notna()].groupby("answer", sort=False)[
        [f"{what}_{name}" for name in SURENESS for what in ("true", "told")]
    ].sum()  # fmt: skip
    counts = [
        [label, *(f"{row[f'true_{name}']:.0f} of {row[f'told_{name}']:.0f}" for name in SURENESS)]
        for label, row in told.iterrows()
        if row.sum()
    ]
    sureness = [
        "deviations that are true, by sureness",
        *(f"{low:.2g} to {min(high, 1):.2g}" for low, high in SURENESS.values()),
    ]
    return "\n\n".join([table(head, rows), table(sureness, counts), table(["recipe", *heads], single)])


def run(config: Config, names: Sequence[int], seeds: Sequence[int], answers: Sequence[Answer], cores: int) -> None:
    """Render the recipes and find key steps through the workflow, unless the results exist."""
    targets = []
    for name in names:
        task = rendered()[f"graph_{name}"].task
        targets += [
            f"results/keysteps/{method}/{decoder}/graph_{name}/{task}/seed{seed}/segments.csv"
            for _, method, decoder in answers
            for seed in seeds
        ]
        targets.append(f"results/annotations/graph_{name}/{task}.csv")
    if done := make(targets, cores, CONFIGS):
        sys.exit(done)


def main() -> None:
    """Learn, score and print; renew the record, the picture and the page if all recipes were scored."""
    parser = options_of(__doc__)
    parser.add_argument("--pixels", action="store_true", help="also from rendered recipes, which trains encoders")
    parser.add_argument("--recipes", nargs="+", type=int, default=list(recipes()), metavar="ID", help="which recipes")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2], metavar="N", help="seeds of decoding")
    labels = [label for label, *_ in ANSWERS]
    parser.add_argument("--answers", nargs="+", default=labels, metavar="NAME", help="which answers from pixels")
    chosen = parser.parse_args()
    answers = [answer for answer in ANSWERS if answer[0] in chosen.answers]
    unknown = set(chosen.recipes) - set(recipes())
    if unknown:
        parser.error(f"--recipes: found {min(unknown)}, expected some of {', '.join(map(str, recipes()))}")
    whole = set(chosen.recipes) == set(recipes())
    scores = learner_scores(chosen.recipes)
    choice, choices = left_out() if whole else (pd.DataFrame(columns=["what"]), [])
    told = deviation_scores(chosen.recipes)
    bins = {source: reliability(*confidences(chosen.recipes, source), ENDS) for source in SOURCES}
    text = render_tables(scores, choice, choices, told, bins)
    print(text)
    swept, limits = random_scores() if whole else (pd.DataFrame(), pd.DataFrame())
    if whole:
        by_chance = render_random(swept, limits)
        print(f"\n{by_chance}")
    tidy = [
        scores.melt(["source", "recipe", "learner"], var_name="metric"),
        choice.rename(columns={"what": "source"})
        .melt(["source"], var_name="metric")
        .assign(recipe="mean", learner="robust"),
        told.melt(["learner", "what"], var_name="metric").rename(columns={"what": "source"}).assign(recipe="pooled"),
        pd.DataFrame(
            {"source": source, "recipe": f"{one.low:g} to {one.high:g}", "learner": "robust", "metric": metric,
             "value": value}
            for source, of_source in bins.items()
            for one in of_source
            for metric, value in (("total", one.total), ("right", one.right), ("confidence", one.confidence))
        ),
    ]  # fmt: skip
    if chosen.pixels:
        config = load_config(read_files([HOUSE / name for name in CONFIGS]))
        run(config, chosen.recipes, chosen.seeds, answers, chosen.cores)
        seen = pixel_scores(config, chosen.recipes, chosen.seeds, answers)
        print(f"\n{render_pixels(seen)}")
        tidy.append(
            seen.melt(["recipe", "answer", "seed"], var_name="metric")
            .assign(source=lambda table: "pixels: " + table["answer"] + ", seed " + table["seed"].astype(str))
            .assign(learner="robust")
            .drop(columns=["answer", "seed"])
        )
    if whole:
        of_random = swept.melt(["learner", "n_videos", "erring"], var_name="metric")
        drawn = zip(of_random["n_videos"], of_random["erring"], strict=True)
        told_by = [f"{n_videos} videos, {erring:.0%} erring" for n_videos, erring in drawn]
        tidy.append(of_random.assign(source="random procedures", recipe=told_by))
        record = pd.concat(tidy, ignore_index=True)[["source", "recipe", "learner", "metric", "value"]]
        if not chosen.pixels and RECORD.exists():
            before = pd.read_csv(RECORD)
            record = pd.concat([record, before[before["source"].str.startswith("pixels")]], ignore_index=True)
        write_csv(record.round({"value": 4}), RECORD)
        draw(bins, PICTURE)
        renew(PAGE, "graphs", "graphs", text)
        renew(PAGE, "random procedures", "graphs", by_chance)
        if chosen.pixels:
            renew(PAGE, "graphs from pixels", "graphs", render_pixels(seen))
        print(f"\nwritten: {', '.join(str(path.relative_to(HOUSE)) for path in (RECORD, PICTURE, PAGE))}")


if __name__ == "__main__":
    main()
