"""One run as the page shows it: its procedure as a picture, segments, orders, losses, and what deviates from it."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations, product
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
from rgwot.keysteps.extended import KEEPS, SAME_ORDER
from rgwot.keysteps.settings import ANNOTATED
from rgwot.paths import Run, Tree
from rgwot.procedure import Deviation, Edge, Node, Procedure
from rgwot.procedure.interface import END, START
from rgwot.procedure.words import DEVIATION_WORDS, doubt_of, in_words, join_words, moment, repeats, sentence
from rgwot.records import read_diagnostics, read_history, read_orders, read_procedures, read_segments
from rgwot.reporting.figures.losses import smoothed
from rgwot.reporting.names import RunNames, label_names, match_to_steps, names_of, result_id
from rgwot.reporting.page.layout import Drawing, NodeGroup, lay_out
from rgwot.runtime.errors import RgwotError
from rgwot.stages.procedure import read_deviation_list, read_procedure

#: Points of a training curve; nobody could distinguish more.
CURVE_POINTS = 200
#: Segments of one video in one result; more, as of random labels, would fill pages with what nobody can see.
MOST_SEGMENTS = 1000
_COLLAPSED = {
    "embedding": (
        "Collapsed: the embedding. Frames of every kind were mapped to nearly the same point, so what the decoder made "
        "of it is noise. Try a larger cidm.beta, which keeps frames of one video apart, or look at the features."
    ),
    "decoder": (
        "Collapsed: the decoder. Embeddings differ, but nearly all frames got one key step. Try a smaller decode.m or "
        "graphcut.pairwise, or another decode.K."
    ),
}


class ShownRun(NamedTuple):
    """A run that the page shows.

    ``facts``, small, stand beside every picture. ``body`` is read when the run is chosen: ``segments``, ``orders``,
    ``procedures``. ``view`` is the content of its view as text, empty where it has none. ``procedure`` is what was
    learned, with what deviates from it in every video; a trivial baseline has none.
    """

    run: Run
    facts: Mapping[str, Any]
    body: Mapping[str, Any]
    view: str
    procedures: pd.DataFrame
    procedure: tuple[Procedure, Sequence[Deviation]] | None
    names: Mapping[int, str]
    time: str


#: Order alone may be behind an answer where equal segments explain this share of what it explains.
ORDER_ALONE = 2 / 3


def answer_kind(run: Run) -> str:
    """Say what kind of answer a run is: ``annotated`` (the truth itself), ``trivial``, ``untrained`` or ``trained``."""
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
    """Read everything the page shows of one run, from it and from manifest, annotations and typed names of the task.

    ``viewed`` says whether its view is shown, if there is one.
    """
    segments = read_segments(tree.at(paths.SEGMENTS, run))
    diagnostics = read_diagnostics(tree.at(paths.DIAGNOSTICS, run))
    orders, procedures = read_orders(tree.at(paths.ORDER, run)), read_procedures(tree.at(paths.PROCEDURES, run))
    segments_here = segments[segments["scope"] == "task"]
    result = result_id(segments)
    typed = names.get(str(run))
    given = list(diagnostics.get("labelled", {}).get("videos", []))
    known = label_names(diagnostics) | names_of(names, str(run), segments)
    view, kind = _view(tree.at(paths.VIEW, run), result) if viewed else "", answer_kind(run)
    warnings = diagnostics.get("warnings", [])
    learned = None
    if kind != "trivial":
        learned = read_procedure(tree.at(paths.PROCEDURE, run)), read_deviation_list(tree.at(paths.DEVIATIONS, run))
    # Where annotated videos taught, key steps are those that people annotated.
    same = {step: step for step in sorted(set(annotations["key_step"]))}
    matched = same if given else match_to_steps(videos[videos["status"] == "ok"], annotations, segments_here)
    facts = {
        "id": str(run),
        **asdict(run),
        "kind": kind,
        "K": diagnostics.get("K"),
        "steps": sorted({int(step) for step in segments_here["key_step"]} - {0}),
        "result": result,
        "names": _keyed(known),
        # Names of an earlier result are not used; the person who typed them should know.
        "stale": sorted(typed.names.values()) if typed is not None and typed.result != result else [],
        "given": given,
        **({"taught": _taught(given), "labels": _keyed(label_names(diagnostics))} if given else {}),
        "match": {str(step): to for step, to in matched.items()},
        "degenerate": bool(diagnostics.get("degenerate", False)),
        # What takes knowing the settings is said with them.
        "words": [
            *(["The annotations themselves."] if kind == ANNOTATED else soundness(diagnostics, kind == "trivial")),
            *(as_sentence(warning) for warning in warnings if warning.startswith("decode.")),
        ],
        "warnings": [
            *(as_sentence(one) for one in warnings if not one.startswith("decode.")),
            *_order_alone(diagnostics),
        ],
        "view": bool(view),
    }
    body = _body(segments_here, orders, procedures, videos)
    return ShownRun(run, facts, body, view, procedures, learned, known, time_in_words(diagnostics))


def _order_alone(diagnostics: Mapping[str, Any]) -> list[str]:
    """Say that time alone may be behind an answer, where equal segments explain nearly as much of the features."""
    share = diagnostics.get("task", {}).get("equal_segments") or 0.0
    if share < ORDER_ALONE:
        return []
    return [
        f"Cutting every video into {in_words(diagnostics['K'])} equal parts explains {share:.0%} of what this answer "
        "explains of the features: these key steps may be little more than parts of the time."
    ]


def _taught(videos: Sequence[str]) -> str:
    """Return what a page says of the annotated videos that a result learned from."""
    number = f"{in_words(len(videos))} annotated video{'s' if len(videos) > 1 else ''}"
    named = f": {join_words([stem_of(video) for video in videos])}" if len(videos) <= NAMED else ""
    return f"Learned from {number}, whose segments are kept{named}."


def _keyed(names: Mapping[int, str]) -> dict[str, str]:
    return {str(step): name for step, name in names.items()}


def _view(path: Path, result: str) -> str:
    """Return the view of a run, or nothing where it was made for other key steps."""
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
    """Return segments per video (place in the manifest) as borders in milliseconds and key steps, or their number."""
    place = {video: str(at) for at, video in enumerate(videos["video"])}
    by_video: dict[str, Any] = {}
    for video, rows in segments[segments["video"].isin(place)].groupby("video", sort=False):
        if len(rows) > MOST_SEGMENTS:
            by_video[place[video]] = {"many": len(rows)}
            continue
        rows = rows.sort_values("start_s", kind="stable")
        ends = np.rint(rows["end_s"].to_numpy(np.float64) * 1000).astype(np.int64)
        by_video[place[video]] = {"ends": ends.tolist(), "steps": rows["key_step"].tolist()}
    shown = orders[orders["video"].isin(place)]
    return {
        "segments": by_video,
        "orders": {place[video]: _steps(order) for video, order in zip(shown["video"], shown["order"], strict=True)},
        "procedures": ranked_orders(procedures),
    }


def ranked_orders(procedures: pd.DataFrame) -> list[dict[str, Any]]:
    """Return ranked procedures as ``order`` (key steps) and ``n`` (videos)."""
    return [{"order": _steps(row["order"]), "n": int(row["n_videos"])} for row in procedures.to_dict("records")]


def _steps(order: str) -> list[int]:
    return [int(step) for step in order.split(">") if step]


def read_curves(tree: Tree, runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Return the losses of every training behind the runs, averaged over `CURVE_POINTS` equal parts of it."""
    trainings = {(run.method, run.seed): tree.at(paths.HISTORY, run) for run in runs if answer_kind(run) == "trained"}
    curves = []
    for (method, seed), path in trainings.items():
        if path.exists():
            history = read_history(path)
            means = {name: smoothed(history[name].to_numpy(float), CURVE_POINTS).tolist() for name in ("step", *TERMS)}
            curves.append({"method": method, "seed": seed, **means})
    return curves


def soundness(diagnostics: Mapping[str, Any], trivial: bool = False) -> list[str]:
    """Put ``diagnostics.json`` of a run into sentences, the verdict first; what a decoder does not know is left out."""
    task, K = diagnostics.get("task") or {}, diagnostics.get("K")
    if trivial:
        sentences = ["A trivial baseline: made without looking at the videos, it has nothing that could collapse."]
    elif diagnostics.get("degenerate"):
        cause = str(diagnostics.get("degenerate_cause"))
        sentences = [_COLLAPSED.get(cause, "Collapsed: one key step is all there is.")]
    else:
        sentences = ["No collapse: embeddings differ, and no key step takes everything."]
    labels, background = task.get("distinct_labels"), task.get("background_share") or 0.0
    if labels is not None and K is not None:
        share = task.get("dominant_label_share")
        most = f"; the largest holds {share:.0%} of the frames" if share not in (None, background) else ""
        sentences.append(f"{labels - (background > 0)} of {K} key steps occur{most}.")
        if background:
            sentences.append(f"{background:.0%} of the frames are background.")
    elif K is not None:
        sentences.append(f"{K} key steps were asked for.")
    variance = task.get("relative_variance")
    if variance is not None:
        amount = "hardly" if variance < 0.01 else "little" if variance < 0.1 else "much"
        sentences.append(f"The embeddings of different moments differ {amount}.")
    if alone := (diagnostics.get("video") or {}).get("degenerate_videos"):
        sentences.append(f"Clustered by itself, {len(alone)} of {diagnostics.get('n_videos', '?')} videos collapse.")
    if empty := diagnostics.get("videos_without_frames"):
        sentences.append(f"{len(empty)} videos have no frames and are left out.")
    if split := diagnostics.get("split"):
        sentences.append(
            f"Trained and clustered on {len(split['train'])} videos; {len(split['test'])} were held out and are scored."
        )
    return sentences + list(map(as_sentence, diagnostics.get("notes", [])))


def as_sentence(note: str) -> str:
    """Return a note as a sentence; one that begins with a key of the settings keeps its first letter.

    >>> as_sentence("two seeds disagree"), as_sentence("decode.time: auto took 0.08")
    ('Two seeds disagree.', 'decode.time: auto took 0.08.')
    """
    first = note.partition(" ")[0]
    return f"{note}." if "." in first else f"{note[:1].upper()}{note[1:]}."


def time_in_words(diagnostics: Mapping[str, Any]) -> str:
    """Say which share of time a result chose and why, from its ``diagnostics.json``; empty where it was set."""
    facts = (diagnostics.get("choices") or {}).get("time")
    if not facts:
        return ""
    if "why" in facts:
        return f"Time was left to the data, and has no share: {facts['why']}."
    J = {float(share): float(value) for share, value in facts["agreement"].items()}
    chosen, same_order, none = float(facts["chosen"]), float(facts["concordance"]), J[0.0]
    given = f"Time is given {chosen:.0%} of the squared length of an embedding"
    if not chosen:
        return f"Time is given no share: without it the labels of other videos foretell nothing (J {none:.3g})."
    if same_order < SAME_ORDER:
        measured = f"concordance {same_order:.3g}, {SAME_ORDER:g} is asked for"
        return f"{given}, a hint: videos differ in their order ({measured})."
    reached = J[chosen] >= KEEPS * none
    which = "it is the largest share that keeps" if reached else "the smallest share: none keeps"
    return (
        f"{given}{':' if reached else ','} {which} {KEEPS:.1%} of what labels explain without it (J {J[chosen]:.3g} "
        f"against {none:.3g})."
    )


#: Widths that a procedure is laid out for, in CSS pixels: those of telephones, of a printed page, and of a screen.
PAGE_WIDTHS = (300, 338, 660, 1216)
#: Lines of videos that are in sight at once; of each, deviations, the most surprising ones.
MOST_LINES, MOST_DEVIATIONS = 30, 6
#: Confidence from which an arrow is thick, and from which it is not dashed.
SURE, LIKELY = 0.9, 0.75
#: Around the number of a key step in a telling that is still to be cut into parts.
_STEP = "\0"


class Picture(NamedTuple):
    """The procedure of one run: ``place`` of the run on the page, and everything the template writes.

    ``said`` are the parts of its telling in turn, text and the numbers of key steps, for which the page puts their
    names. ``notes`` say what the videos do not support, ``legend`` what the signs in the drawing mean. Of a key step
    ``cards`` have the node, facts in words, and ``needs``, the arrows from other key steps; ``arrows`` in how many
    videos each arrow of a drawing holds (``share``), and a class for how sure it is (``weight``). ``lines`` are the
    videos, with their deviations by time, the least surprising and the least sure ones apart. ``budget`` is
    `time_budget`; ``unchecked`` says that of some deviations nobody knows how sure they are.
    """

    place: int
    said: Sequence[str]
    notes: Sequence[str]
    legend: str
    cards: Sequence[Mapping[str, Any]]
    drawings: Sequence[Drawing]
    arrows: Mapping[tuple[NodeGroup, NodeGroup], Mapping[str, str]]
    lines: Sequence[Mapping[str, Any]]
    budget: Sequence[TimeOfStep]
    unchecked: bool


def picture(
    place: int,
    procedure: Procedure,
    deviations: Sequence[Deviation],
    videos: Sequence[Mapping[str, Any]],
    warnings: Sequence[str] = (),
    pictures: bool = True,
    given: Collection[str] = (),
    doubt: str = "",
    budget: Sequence[TimeOfStep] = (),
    steps: Mapping[int, Collection[int]] | None = None,
) -> Picture:
    """Return what the page shows of a procedure.

    ``videos`` are those of `rgwot.reporting.page.content.Content`, ``warnings`` sentences that
    come before its notes; ``pictures`` leaves room for frames. Videos ``given`` are marked: they were annotated, and
    the result learned from them. ``doubt`` goes beside the order, a sentence without its full stop; ``budget`` is
    `time_budget`. ``steps`` are the key steps that have segments in a video, by its place.
    """
    edges = {(edge.before, edge.after): edge for edge in procedure.edges}
    # Without any order, arrows from start and to end would say nothing.
    ordered = len(procedure.nodes) < 2 or any(START not in pair and END not in pair for pair in edges)
    shown = edges if ordered else {}
    by_step = {node.key_step: node for node in procedure.nodes}
    cards = [_card(by_step[step], procedure) for step in procedure.order]
    loops = [node.key_step for node in procedure.nodes if repeats(node)]
    arrows = [edge for edge in shown.values() if edge.before != START and edge.after != END]
    legend = (
        ("A dashed card is optional.", any(node.optional for node in procedure.nodes)),
        ("A loop: usually done more than once.", bool(loops)),
        ("A thin or dashed arrow is less sure.", any(edge.confidence < SURE for edge in arrows)),
    )
    drawings = [lay_out(procedure.order, shown, procedure.groups, loops, width, pictures) for width in PAGE_WIDTHS]
    text = sentence(procedure, {step: f"{_STEP}{step}{_STEP}" for step in procedure.order}, doubt)
    return Picture(
        place,
        text.split(_STEP),
        (*warnings, *map(as_sentence, procedure.notes)),
        " ".join(words for words, there in legend if there),
        cards,
        drawings if cards else (),
        {
            (arrow.before, arrow.after): held([shown[pair] for pair in product(arrow.before, arrow.after)])
            for drawing in drawings
            for arrow in drawing.arrows
        },
        _lines(procedure, deviations, videos, given, steps or {}),
        budget,
        any(deviation.sureness is None for deviation in deviations),
    )


def _card(node: Node, procedure: Procedure) -> dict[str, Any]:
    total, length = procedure.n_videos, length_in_words(node.duration_s)
    share = f"found in {node.n_videos} of {total} videos"
    often = repeats(node)
    needs = [edge for edge in procedure.edges if edge.after == node.key_step and edge.before != START]
    return {
        "node": node,
        "facts": (share, f"{length} in all" if often else f"about {length}"),
        "needs": needs,
        # For those who do not see the arrows.
        "unseen": f"after {join_words([str(edge.before) for edge in needs])}" if needs else "after no other",
        "repeated": f"{node.repeats:.1f}".removesuffix(".0") + " times per video" if often else "",
    }


def length_in_words(seconds: float) -> str:
    """Write how long something takes, in seconds or, from 100 s, in minutes and seconds."""
    if seconds < 9.95:
        return f"{seconds:.1f} s" if seconds < 1.95 else f"{seconds:.0f} s"
    return f"{seconds:.0f} s" if seconds < 99.5 else f"{moment(seconds + 0.5)} min"


def held(edges: Sequence[Edge]) -> dict[str, str]:
    """Say in how many videos an arrow holds that stands for one edge or several, and how sure it is."""
    first = edges[0]
    if first.before == START or first.after == END:
        return {"share": "", "weight": "end"}
    sure, videos = min(edge.confidence for edge in edges), "videos that have both"
    if len(edges) == 1:
        share = f"in {first.agree} of {first.both} {videos}; sure to {100 * sure:.0f} %"
    else:
        least = min(edge.agree / edge.both if edge.both else 0.0 for edge in edges)
        share = f"each in at least {100 * least:.0f} % of the {videos}; sure to at least {100 * sure:.0f} %"
    weight = "sure" if sure >= SURE else "likely" if sure >= LIKELY else "weak"
    return {"share": share, "weight": weight}


def _lines(
    procedure: Procedure,
    deviations: Sequence[Deviation],
    videos: Sequence[Mapping[str, Any]],
    given: Collection[str],
    steps: Mapping[int, Collection[int]],
) -> list[dict[str, Any]]:
    lines, words = [], DEVIATION_WORDS | {"missing": "left out, due about"}
    # Where all videos fit alike, none is the most typical.
    ranked = len({fit.score for fit in procedure.videos}) > 1
    for place, video in enumerate(videos):
        if video["status"] == "skipped":
            continue
        own = sorted(
            (deviation for deviation in deviations if deviation.video == video["id"]),
            key=lambda deviation: (deviation.start_s, deviation.key_step),
        )
        shown = [deviation for deviation in own if doubt_of(deviation) is not None]
        first = sorted(shown, key=lambda deviation: -deviation.surprise)[:MOST_DEVIATIONS]
        moments, others = (
            [
                (
                    deviation,
                    # Too short for evidence, but the bar shows it.
                    "left out or very short, about"
                    if deviation.kind == "missing" and deviation.key_step in steps.get(place, ())
                    else words[deviation.kind],
                    moment(deviation.start_s),
                    "" if doubt_of(deviation) == "" else "perhaps",
                )
                for deviation in own
                if (deviation in first) is chosen
            ]
            for chosen in (True, False)
        )
        marks = {"typical": ranked and video["id"] == procedure.typical_video, "given": video["id"] in given}
        lines.append({"place": place, "name": video["name"], **marks, "moments": moments, "others": others})
    return lines


class TimeOfStep(NamedTuple):
    """How long a key step takes; of key step 0, what belongs to none.

    ``total_s`` are seconds in all videos, ``share`` is that of their time; ``in_group`` has by group the seconds per
    video and the share of the time of key steps there.
    """

    key_step: int
    total_s: float
    share: float
    in_group: Mapping[str, tuple[float, float]]


def time_budget(body: Mapping[str, Any], order: Sequence[int], groups: Mapping[str, Any] | None) -> list[TimeOfStep]:
    """Return how long every key step of ``order`` takes, and last what belongs to none, if anything does.

    ``body`` is that of `ShownRun`, ``groups`` are those of a run on its page, if any (`shown_groups`).
    """
    total = dict.fromkeys(order, 0.0)
    for own in body["segments"].values():
        start = 0
        for end, step in zip(own.get("ends", ()), own.get("steps", ()), strict=True):
            total[step] = total.get(step, 0.0) + (end - start) / 1000
            start = end
    # Seconds per video: the share of videos that have a key step, times the seconds in those.
    means: dict[str, dict[tuple[str, int], float]] = {name: {} for name in (groups or {}).get("groups", ())}
    for step, measure, _, first, _, _, _, _, numbers in (groups or {}).get("rows", ()):
        if measure in ("share", "duration") and not first:
            for name, (_, mean, _, _) in zip(means, numbers, strict=True):
                means[name][measure, step] = mean or 0.0
    each = {
        name: {step: own.get(("share", step), 0.0) * own.get(("duration", step), 0.0) for step in order}
        for name, own in means.items()
    }
    whole = sum(total.values())
    return [
        TimeOfStep(
            step,
            seconds,
            seconds / whole if whole else 0.0,
            {name: (own[step], own[step] / (sum(own.values()) or 1.0)) for name, own in each.items() if step in own},
        )
        for step, seconds in [*((step, total[step]) for step in order), *([(0, total[0])] if total.get(0) else [])]
    ]


def seeds_agree(run: Run, runs: Sequence[Run], agreed: Callable[[int, int], float | None]) -> tuple[float, str] | None:
    """Return on which share of the frames the seeds of a run's method and decoder agree, also as a sentence.

    None for a single seed.

    ``agreed`` returns the share of frames, 0 to 1, of two runs by their places, the earlier one first; None where they
    have no video in common.
    """
    seeds = [at for at, other in enumerate(runs) if (other.method, other.decoder) == (run.method, run.decoder)]
    shares = [share for pair in combinations(seeds, 2) if (share := agreed(*pair)) is not None]
    if not shares:
        return None
    share, mean = sum(shares) / len(shares), "" if len(shares) == 1 else ", on average over pairs"
    return share, f"{in_words(len(seeds))} seeds agree on {100 * share:.0f} % of the frames{mean}.".capitalize()


def rules(pictures: Sequence[Picture]) -> str:
    """Return the style rules that place the cards of pictures, for every width."""
    blocks = []
    for at, width in enumerate(PAGE_WIDTHS):
        styles = [f".v{at}{{display:block}}"]
        if at:
            styles.append(f".v{at - 1}{{display:none}}")
        for shown in pictures:
            if not shown.drawings:
                continue
            drawing = shown.drawings[at]
            styles.append(f"#sheet-{shown.place}{{width:{_px(drawing.width)};height:{_px(drawing.height)}}}")
            for step, box in drawing.cards.items():
                places = zip(("left", "top", "width", "height"), box, strict=True)
                styles.append(
                    f"#node-{shown.place}-{step}{{{';'.join(f'{key}:{_px(value)}' for key, value in places)}}}"
                )
        block = "\n".join(styles)
        blocks.append(f"@container flow (min-width:{width}px){{\n{block}\n}}" if at else block)
    return ".edges{display:none}\n" + "\n".join(blocks) + "\n"


def _px(value: float) -> str:
    return f"{round(value, 1):g}px"
