"""One run on the page: the picture of its procedure, its segments, orders and losses, and the deviations."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations, groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rgwot import paths
from rgwot.columns import TERMS
from rgwot.config.experiments import split_id
from rgwot.config.methods import FAMILIES, TRIVIAL
from rgwot.datasets.names import stem_of
from rgwot.keysteps.decode import NAMED
from rgwot.keysteps.extended import SAME_ORDER
from rgwot.keysteps.settings import ANNOTATED
from rgwot.paths import Run, Tree
from rgwot.procedure import Deviation, Edge, Node, Procedure
from rgwot.procedure.interface import END, START
from rgwot.procedure.sentences import DEVIATION_WORDS, doubt_of, in_words, join_words, moment, repeats, sentence
from rgwot.records import read_diagnostics, read_history, read_orders, read_procedures, read_segments
from rgwot.reporting.figures.losses import smoothed
from rgwot.reporting.names import RunNames, label_names, match_to_steps, names_of, result_id
from rgwot.reporting.page.data import Curve, GroupsOfRun, RunFacts, Video
from rgwot.runtime.errors import RgwotError
from rgwot.stages.procedure import read_deviation_list, read_procedure

#: Points of a training curve; a page cannot show more.
CURVE_POINTS = 200
#: Most segments of a video in one result; more (as random labels have) would fill the page and could not be seen.
MOST_SEGMENTS = 1000
_COLLAPSED = {
    "embedding": (
        "Collapsed embedding: all frames were mapped to nearly the same point, so the key steps are noise. "
        "Try a larger cidm.beta, which keeps the frames of a video apart, or check the features."
    ),
    "decoder": (
        "Collapsed decoder: the embeddings differ, but nearly all frames got the same key step. Try a smaller decode.m "
        "or graphcut.pairwise, or another decode.K."
    ),
}


class ShownRun(NamedTuple):
    """A run on the page.

    ``facts`` are small and shown beside every picture. ``body`` is read when the run is chosen: ``segments``,
    ``orders`` and ``procedures``. ``view`` is the text of its view, empty without one. ``procedure`` is the learned
    procedure with the deviations from it, or None for a trivial baseline.
    """

    run: Run
    facts: RunFacts
    body: Mapping[str, Any]
    view: str
    procedures: pd.DataFrame
    procedure: tuple[Procedure, Sequence[Deviation]] | None
    names: Mapping[int, str]
    time: str


#: A result may follow from time alone if equal segments explain at least this share of the variance that the result
#: explains.
ORDER_ALONE = 2 / 3


def answer_kind(run: Run) -> str:
    """Return the kind of a run: ``annotated`` (the truth itself), ``trivial``, ``untrained`` or ``trained``."""
    decoder, family = split_id(run.decoder)[0], FAMILIES.get(split_id(run.method)[0])
    if decoder in TRIVIAL:
        return ANNOTATED if decoder == ANNOTATED else "trivial"
    return "trained" if family is not None and family.trained else "untrained"


def read_run(
    tree: Tree,
    run: Run,
    videos: pd.DataFrame,
    annotations: pd.DataFrame,
    names: Mapping[str, RunNames],
    *,
    viewed: bool,
) -> ShownRun:
    """Read everything that the page shows of a run, using the manifest, annotations and typed names of the task.

    ``viewed`` says whether to show its view, if it has one.
    """
    segments = read_segments(tree.at(paths.SEGMENTS, run))
    diagnostics = read_diagnostics(tree.at(paths.DIAGNOSTICS, run))
    orders, procedures = read_orders(tree.at(paths.ORDER, run)), read_procedures(tree.at(paths.PROCEDURES, run))
    segments_here = segments[segments["scope"] == "task"]
    result = result_id(segments)
    typed = names.get(str(run))
    taught = list(diagnostics.get("labelled", {}).get("videos", []))
    names_here = label_names(diagnostics) | names_of(names, str(run), segments)
    view, kind = _view(tree.at(paths.VIEW, run), result) if viewed else "", answer_kind(run)
    warnings = diagnostics.get("warnings", [])
    learned = None
    if kind != "trivial":
        learned = read_procedure(tree.at(paths.PROCEDURE, run)), read_deviation_list(tree.at(paths.DEVIATIONS, run))
    # With labels, the key steps are the annotated ones.
    identity = {step: step for step in sorted(set(annotations["key_step"]))}
    matched = identity if taught else match_to_steps(videos[videos["status"] == "ok"], annotations, segments_here)
    facts = RunFacts(
        id=str(run),
        **asdict(run),
        kind=kind,
        K=diagnostics.get("K"),
        steps=sorted({int(step) for step in segments_here["key_step"]} - {0}),
        result=result,
        names=_keyed(names_here),
        labels=_keyed(label_names(diagnostics)),
        match={str(step): to for step, to in matched.items()},
        given=taught,
        taught=_taught(taught) if taught else "",
        # Names typed for an earlier result are ignored; the page tells the person who typed them.
        stale=sorted(typed.names.values()) if typed is not None and typed.result != result else [],
        degenerate=bool(diagnostics.get("degenerate", False)),
        # Warnings about settings are a part of the verdict, so they are left out below.
        words=[
            *(["The annotations themselves."] if kind == ANNOTATED else soundness(diagnostics, kind == "trivial")),
            *(as_sentence(warning) for warning in warnings if warning.startswith("decode.")),
        ],
        warnings=[
            *(as_sentence(warning) for warning in warnings if not warning.startswith("decode.")),
            *_order_alone(diagnostics),
        ],
        view=bool(view),
        folder=tree.keysteps(run).as_posix(),
        score_file=tree.at(paths.SCORES, run).as_posix(),
    )
    body = _body(segments_here, orders, procedures, videos)
    return ShownRun(run, facts, body, view, procedures, learned, names_here, time_in_words(diagnostics))


def _order_alone(diagnostics: Mapping[str, Any]) -> list[str]:
    """Return a warning if equal segments explain the features nearly as well as the result."""
    share = diagnostics.get("task", {}).get("equal_segments") or 0.0
    if share < ORDER_ALONE:
        return []
    return [
        f"Cutting every video into {in_words(diagnostics['K'])} equal parts explains the features {share:.0%} as well "
        "as this result, so these key steps may be little more than equal parts."
    ]


def _taught(videos: Sequence[str]) -> str:
    """Return a sentence on the annotated videos that a result learned from."""
    number = f"{in_words(len(videos))} annotated video{'s' if len(videos) > 1 else ''}"
    named = f": {join_words([stem_of(video) for video in videos])}" if len(videos) <= NAMED else ""
    return f"Learned from {number}, whose segments are kept{named}."


def _keyed(names: Mapping[int, str]) -> dict[str, str]:
    return {str(step): name for step, name in names.items()}


def _view(path: Path, result: str) -> str:
    """Return the view of a run, or an empty text if it was made for other key steps."""
    if not path.exists():
        return ""
    text = path.read_text(encoding="utf-8")
    try:
        return text if json.loads(text)["result"] == result else ""
    except (ValueError, KeyError, TypeError):
        raise RgwotError(f"{path}: not a view of a result; make it again") from None


def _body(
    segments: pd.DataFrame, orders: pd.DataFrame, procedures: pd.DataFrame, videos: pd.DataFrame
) -> dict[str, Any]:
    """Return the segments, orders and procedures of a run; videos are known by their place in the manifest.

    Segments are given by their ``ends`` in milliseconds and key ``steps``, or only by their number if there are many.
    """
    place = {video: str(at) for at, video in enumerate(videos["video"])}
    by_video: dict[str, Any] = {}
    for video, rows in segments[segments["video"].isin(place)].groupby("video", sort=False):
        if len(rows) > MOST_SEGMENTS:
            by_video[place[video]] = {"many": len(rows)}
            continue
        rows = rows.sort_values("start_s", kind="stable")
        ends = np.rint(rows["end_s"].to_numpy(np.float64) * 1000).astype(np.int64)
        by_video[place[video]] = {"ends": ends.tolist(), "steps": rows["key_step"].tolist()}
    of_task = orders[orders["video"].isin(place)]
    return {
        "segments": by_video,
        "orders": {
            place[video]: _steps(order) for video, order in zip(of_task["video"], of_task["order"], strict=True)
        },
        "procedures": ranked_orders(procedures),
    }


def ranked_orders(procedures: pd.DataFrame) -> list[dict[str, Any]]:
    """Return ranked procedures as ``order`` (key steps) and ``n`` (videos)."""
    return [{"order": _steps(row["order"]), "n": int(row["n_videos"])} for row in procedures.to_dict("records")]


def _steps(order: str) -> list[int]:
    return [int(step) for step in order.split(">") if step]


def read_curves(tree: Tree, runs: Sequence[Run]) -> list[Curve]:
    """Return the losses of every training behind the runs, averaged over `CURVE_POINTS` equal parts of it."""
    trainings = {(run.method, run.seed): tree.at(paths.HISTORY, run) for run in runs if answer_kind(run) == "trained"}
    curves = []
    for (method, seed), path in trainings.items():
        if path.exists():
            history = read_history(path)
            means = {name: smoothed(history[name].to_numpy(float), CURVE_POINTS).tolist() for name in ("step", *TERMS)}
            curves.append(Curve(method, seed, **means))
    return curves


def soundness(diagnostics: Mapping[str, Any], trivial: bool = False) -> list[str]:
    """Describe ``diagnostics.json`` of a run in sentences, the verdict first."""
    task, K = diagnostics.get("task") or {}, diagnostics.get("K")
    if trivial:
        sentences = ["This is a trivial baseline, which does not look at the videos, so it cannot collapse."]
    elif diagnostics.get("degenerate"):
        cause = str(diagnostics.get("degenerate_cause"))
        sentences = [_COLLAPSED.get(cause, "Collapsed: there is only one key step.")]
    else:
        sentences = ["No collapse: frames differ, and no key step covers nearly all of them."]
    labels, background = task.get("distinct_labels"), task.get("background_share") or 0.0
    if labels is not None and K is not None:
        share = task.get("dominant_label_share")
        most = f"; the largest covers {share:.0%} of the frames" if share not in (None, background) else ""
        sentences.append(f"{labels - (background > 0)} of {K} key steps occur{most}.")
        if background:
            share = "Less than 1 %" if background < 0.01 else f"{100 * background:.0f} %"
            sentences.append(f"{share} of the frames have no key step.")
    elif K is not None:
        sentences.append(f"{K} key steps were asked for.")
    variance = task.get("relative_variance")
    if variance is not None and variance < 0.1:
        amount = "hardly" if variance < 0.01 else "little"
        sentences.append(f"The embeddings of different moments differ {amount}.")
    if alone := (diagnostics.get("video") or {}).get("degenerate_videos"):
        sentences.append(f"Clustered one by one, {len(alone)} of {diagnostics.get('n_videos', '?')} videos collapse.")
    if empty := diagnostics.get("videos_without_frames"):
        sentences.append(f"{len(empty)} videos have no frames and are left out.")
    if split := diagnostics.get("split"):
        sentences.append(
            f"Learned from {len(split['train'])} videos and scored on {len(split['test'])} others, which were held out."
        )
    return sentences + list(map(as_sentence, diagnostics.get("notes", [])))


def as_sentence(note: str) -> str:
    """Return a note as a sentence; a setting's key at its start keeps its first letter.

    >>> as_sentence("two seeds disagree"), as_sentence("decode.time: auto chose 0.08")
    ('Two seeds disagree.', 'decode.time: auto chose 0.08.')
    """
    first = note.partition(" ")[0]
    return f"{note}." if "." in first else f"{note[:1].upper()}{note[1:]}."


def time_in_words(diagnostics: Mapping[str, Any]) -> str:
    """Return a sentence on the weight of time that was chosen from the data, or an empty text if it was set."""
    facts = (diagnostics.get("choices") or {}).get("time")
    if not facts:
        return ""
    if "why" in facts:
        return f"The weight of time was left to the data and is 0: {facts['why']}."
    chosen, same_order, J = (float(facts[key]) for key in ("chosen", "concordance", "agreement"))
    if not chosen:
        return f"Time has the weight 0: without it, labels do not generalise to other videos (J {J:.3g})."
    weight = f"Time has a weight of {chosen:.0%} in the squared length of an embedding"
    if same_order < SAME_ORDER:
        measured = f"concordance {same_order:.3g}, below {SAME_ORDER:g}"
        return f"{weight}, only as a hint, because the videos differ in their order ({measured})."
    return (
        f"{weight}, because the videos have one order (concordance {same_order:.3g}); they are aligned to measure it."
    )


#: Number of videos shown at first, and of the most surprising deviations of each.
MOST_LINES, MOST_DEVIATIONS = 30, 6
#: A need with less confidence is shown with a question mark.
LIKELY = 0.75
#: Marks the number of a key step in the text, which is then split there.
_STEP = "\0"


class Card(NamedTuple):
    """A key step as the page draws it.

    ``facts`` are the share of videos and the duration, ``repeated`` says how often it occurs, if more than once.
    ``needs`` are the edges from other key steps, and ``shares`` says by key step in how many videos each need holds.
    What the place of the card does not say is in ``after`` (key steps that it needs, and whether each is likely) and
    ``free``. ``unseen`` are the needs for screen readers.
    """

    node: Node
    facts: tuple[str, str]
    repeated: str
    needs: Sequence[Edge]
    shares: Mapping[str, str]
    after: Sequence[tuple[int, bool]]
    free: str
    unseen: str


class Picture(NamedTuple):
    """The procedure of a run as the template writes it; ``place`` is the place of the run on the page.

    ``text_parts`` are the sentences, cut into text and numbers of key steps, which the page replaces by names.
    ``notes`` say what the videos do not support; ``legend`` explains the signs in the drawing. ``layers`` are the cards
    in the consensus order; those of a layer may come in any order, and need the whole layer before unless they say
    otherwise. ``lines``
    are the videos with their deviations by time, the less surprising and less sure ones apart. ``budget`` is
    `time_budget`; ``unchecked`` is true if the sureness of some deviations is unknown.
    """

    place: int
    text_parts: Sequence[str]
    notes: Sequence[str]
    legend: str
    layers: Sequence[Sequence[Card]]
    lines: Sequence[Mapping[str, Any]]
    budget: Sequence[TimeOfStep]
    unchecked: bool


def picture(
    place: int,
    procedure: Procedure,
    deviations: Sequence[Deviation],
    videos: Sequence[Video],
    warnings: Sequence[str] = (),
    taught: Collection[str] = (),
    doubt: str = "",
    budget: Sequence[TimeOfStep] = (),
    steps: Mapping[int, Collection[int]] | None = None,
) -> Picture:
    """Return a procedure as the page shows it.

    ``videos`` are those of `rgwot.reporting.page.data.PageData`; ``warnings`` are sentences before the notes. The
    annotated videos that ``taught`` the result are marked. ``doubt`` is a sentence without full stop beside the order,
    ``budget`` the result of `time_budget`. ``steps`` are the key steps that have segments in a video, by the place of
    the video.
    """
    layers = _layers(procedure)
    cards = [card for layer in layers for card in layer]
    legend = (
        (
            "A dashed card is optional: found in fewer than 80 % of the videos.",
            any(card.node.optional for card in cards),
        ),
        ("Key steps in one frame have no fixed order.", len(layers) < len(cards)),
        ("A key step comes after those before the arrow to it, unless it says otherwise.", len(layers) > 1),
        ("A question mark: fewer videos agree.", any(not likely for card in cards for _, likely in card.after)),
    )
    text = sentence(procedure, {step: f"{_STEP}{step}{_STEP}" for step in procedure.order}, doubt)
    return Picture(
        place,
        text.split(_STEP),
        (*warnings, *_all_alike(procedure, deviations), *map(as_sentence, procedure.notes)),
        " ".join(words for words, there in legend if there),
        layers,
        _lines(procedure, deviations, videos, taught, steps or {}),
        budget,
        any(deviation.sureness is None and deviation.video not in taught for deviation in deviations),
    )


def _layers(procedure: Procedure) -> list[list[Card]]:
    """Return the key steps in the consensus order, those of a group in one layer."""
    group_of = {step: group for group in procedure.groups for step in group}
    layers = [list(layer) for _, layer in groupby(procedure.order, lambda step: group_of.get(step, (step,)))]
    return [[_card(step, procedure, layers, at) for step in layer] for at, layer in enumerate(layers)]


def _card(step: int, procedure: Procedure, layers: Sequence[Sequence[int]], at: int) -> Card:
    """Return the card of a key step in the layer ``at``."""
    node = next(node for node in procedure.nodes if node.key_step == step)
    needs = [edge for edge in procedure.edges if edge.after == step and edge.before != START]
    often, length = repeats(node), length_in_words(node.duration_s)
    likely = {int(edge.before): edge.confidence >= LIKELY for edge in needs}
    placed = bool(at) and set(likely) == set(layers[at - 1]) and all(likely.values())
    needed = any(edge.before == step and edge.after != END for edge in procedure.edges)
    last = at == len(layers) - 1
    free = [end for end, may in (("first", at and not needs), ("last", not last and not needed)) if may]
    return Card(
        node,
        (f"{node.n_videos} of {procedure.n_videos} videos", f"{length} per video" if often else f"about {length}"),
        f"{node.repeats:.1f}".removesuffix(".0") + " times" if often else "",
        needs,
        {str(edge.before): f"in {edge.agree} of {edge.both} videos where both were found" for edge in needs},
        () if placed else tuple(likely.items()),
        f"may come {join_words(free)}" if len(free) == 1 else "at any time" if free else "",
        f"after {join_words([str(edge.before) for edge in needs])}" if needs else "after no other",
    )


def length_in_words(seconds: float) -> str:
    """Write how long something takes, in seconds or, from 100 s, in minutes and seconds."""
    if seconds < 9.95:
        return f"{seconds:.1f} s" if seconds < 1.95 else f"{math.floor(seconds + 0.5)} s"
    return f"{math.floor(seconds + 0.5)} s" if seconds < 99.5 else f"{moment(seconds + 0.5)} min"


def _all_alike(procedure: Procedure, deviations: Sequence[Deviation]) -> list[str]:
    """Return a sentence for videos that have all key steps in one order, or nothing."""
    if deviations or procedure.n_videos < 2 or any(node.n_videos < procedure.n_videos for node in procedure.nodes):
        return []
    return ["All videos have all of these key steps, so a step that somebody left out may not show here."]


def _lines(
    procedure: Procedure,
    deviations: Sequence[Deviation],
    videos: Sequence[Video],
    taught: Collection[str],
    steps: Mapping[int, Collection[int]],
) -> list[dict[str, Any]]:
    lines = []
    for place, video in enumerate(videos):
        if video.status == "skipped":
            continue
        of_video = sorted(
            (deviation for deviation in deviations if deviation.video == video.id),
            key=lambda deviation: (deviation.start_s, deviation.key_step),
        )
        reported = [deviation for deviation in of_video if doubt_of(deviation) is not None]
        first = sorted(reported, key=lambda deviation: -deviation.surprise)[:MOST_DEVIATIONS]
        moments, others = (
            [
                (
                    deviation,
                    missing_in_words(
                        deviation, video.duration, deviation.key_step in steps.get(place, ()), video.id in taught
                    )
                    if deviation.kind == "missing"
                    else DEVIATION_WORDS[deviation.kind],
                    moment(deviation.start_s),
                    "" if doubt_of(deviation) == "" else "perhaps",
                )
                for deviation in of_video
                if (deviation in first) is chosen
            ]
            for chosen in (True, False)
        )
        marks = {"typical": video.id == procedure.most_typical, "given": video.id in taught}
        lines.append({"place": place, "name": video.name, **marks, "moments": moments, "others": others})
    return lines


def missing_in_words(deviation: Deviation, duration_s: float, on_bar: bool, annotated: bool) -> str:
    """Return how the page says that a key step is missing, between its number and the time at which it is due.

    The words claim no more than is known. ``on_bar``: the bar of the video shows a segment of the key step;
    ``annotated``: a person has annotated the video.
    """
    # A segment of the key step is too short to count, but the bar shows it, so "left out" alone would look wrong.
    if on_bar:
        return "left out or unclear, about"
    if deviation.start_s == 0 or deviation.end_s >= duration_s:
        return "left out or not recorded, due about"
    known = annotated or deviation.sureness is not None
    return "left out, due about" if known else "left out or not recognised, due about"


class TimeOfStep(NamedTuple):
    """How long a key step takes; key step 0 stands for the time without a key step.

    ``total_s`` is the time in all videos in seconds, ``share`` its share of their length. ``in_group`` contains the
    seconds per video, and the share of the time of all key steps, for each group.
    """

    key_step: int
    total_s: float
    share: float
    in_group: Mapping[str, tuple[float, float]]


def time_budget(body: Mapping[str, Any], order: Sequence[int], groups: GroupsOfRun | None) -> list[TimeOfStep]:
    """Return how long every key step of ``order`` takes, followed by the time without a key step, if there is any.

    ``body`` is that of `ShownRun`, ``groups`` the groups of the run, if any (`shown_groups`).
    """
    total = dict.fromkeys(order, 0.0)
    for bars in body["segments"].values():
        start = 0
        for end, step in zip(bars.get("ends", ()), bars.get("steps", ()), strict=True):
            total[step] = total.get(step, 0.0) + (end - start) / 1000
            start = end
    # Seconds per video: the share of videos that have a key step, times the seconds in these videos.
    means: dict[str, dict[tuple[str, int], float]] = {name: {} for name in (groups.groups if groups else ())}
    for row in groups.rows if groups else ():
        if row.measure in ("share", "duration") and not row.a:
            for name, (_, mean, _, _) in zip(means, row.numbers, strict=True):
                means[name][row.measure, row.step] = mean or 0.0
    each = {
        name: {step: measures.get(("share", step), 0.0) * measures.get(("duration", step), 0.0) for step in order}
        for name, measures in means.items()
    }
    whole = sum(total.values())
    return [
        TimeOfStep(
            step,
            seconds,
            seconds / whole if whole else 0.0,
            {
                name: (seconds[step], seconds[step] / (sum(seconds.values()) or 1.0))
                for name, seconds in each.items()
                if step in seconds
            },
        )
        for step, seconds in [*((step, total[step]) for step in order), *([(0, total[0])] if total.get(0) else [])]
    ]


def seeds_agree(run: Run, runs: Sequence[Run], agreed: Callable[[int, int], float | None]) -> tuple[float, str] | None:
    """Return the share of frames on which the seeds of a run's method and decoder agree, and a sentence on it.

    Returns None if no two seeds have a video in common.

    ``agreed`` takes the indices of two of the ``runs``, the smaller one first, and returns the share of frames on which
    these runs agree, or None without a common video.
    """
    seeds = [at for at, other in enumerate(runs) if (other.method, other.decoder) == (run.method, run.decoder)]
    shares = [share for pair in combinations(seeds, 2) if (share := agreed(*pair)) is not None]
    if not shares:
        return None
    share, mean = sum(shares) / len(shares), "" if len(shares) == 1 else ", on average over pairs"
    return share, f"{in_words(len(seeds))} seeds agree on {100 * share:.0f} % of the frames{mean}.".capitalize()
