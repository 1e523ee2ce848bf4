"""One run on the page: the picture of its procedure, its segments, orders and losses, and the deviations."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import combinations, groupby
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import numpy as np
import pandas as pd

from rgwot import paths
from rgwot.columns import TERMS
from rgwot.config.experiments import split_id
from rgwot.config.methods import DECODERS, FAMILIES
from rgwot.datasets.names import stem_of
from rgwot.diagnostics import Diagnostics, LeftOutFacts, ScopeFacts
from rgwot.embedding.values import NAMED
from rgwot.keysteps.common_time import KEPT_SHARE, ONE_ORDER, SAME_ORDER
from rgwot.keysteps.left_out import FEWEST as FEWEST_TAUGHT
from rgwot.keysteps.left_out import left_out_sentence
from rgwot.keysteps.ordering import first_order, rank_procedures
from rgwot.keysteps.reading import KINDS, edits_sentence, untold
from rgwot.keysteps.settings import ANNOTATED, Numbered
from rgwot.keysteps.warnings import OTHER_SEED, briefly, other_time
from rgwot.names import RunNames, lost_names, match_to_steps, names_of, result_id
from rgwot.paths import Run, Tree
from rgwot.procedure import Deviation, Node, Procedure, Recording, recordings_from_segments
from rgwot.procedure.differences import what
from rgwot.procedure.facts import (
    MOST_NAMED,
    DeviationFacts,
    again_sentences,
    agreed_by_few,
    complete_sentence,
    deviation_facts,
    doubt_sentence,
    join_words,
    length_in_words,
    order_sentence,
    questioned,
    repeats,
    step_facts,
    step_table,
)
from rgwot.procedure.interface import FEWEST, START
from rgwot.procedure.known import told
from rgwot.procedure.learning import OPTIONAL_BELOW
from rgwot.records import read_diagnostics, read_history, read_procedures, read_segments
from rgwot.reporting.figures.losses import smoothed
from rgwot.reporting.named import expected_file, named
from rgwot.reporting.page.data import Curve, RunFacts, Video
from rgwot.reporting.page.shell import SEED_UNDER_SCORES, TIME_UNDER_SCORES
from rgwot.runtime.errors import RgwotError
from rgwot.stages.procedure import read_deviation_list, read_expected, read_procedure

#: Number of points of a training curve; a page cannot show more.
CURVE_POINTS = 200
#: Largest number of segments of a video in one result; more, as in random labels, would fill the page and be invisible.
MOST_SEGMENTS = 1000
_COLLAPSED = {
    "embedding": (
        "Collapsed embedding: all frames were mapped to nearly the same point, so the key steps are noise. "
        "Try a larger cidm.beta, which keeps the frames of a video apart, or check the features."
    ),
    "decoder": (
        "Collapsed decoder: the embeddings differ, but nearly all frames got the same key step. Try a smaller "
        "graphcut.m or graphcut.pairwise, or another decode.K."
    ),
}


class ShownRun(NamedTuple):
    """A run on the page.

    ``facts`` are small and shown beside every picture. ``body`` is read when the run is chosen: ``segments``,
    ``orders`` and ``procedures``. ``view`` is the text of its view, empty without one. ``procedures`` is the table of
    the paper's orders. ``procedure`` is the learned procedure with the deviations from it, or None for a trivial
    baseline. ``recordings`` are the occurrences in its videos, ``every`` all segments, and ``own`` sentences
    on the procedure that the study expects and on detectable deviations. ``number`` are sentences on the number
    of key steps. ``blind`` has the kinds of deviations that cannot be told. ``cautions`` are clauses on how well
    annotated videos teach.
    """

    run: Run
    facts: RunFacts
    body: Mapping[str, Any]
    view: str
    procedures: pd.DataFrame
    procedure: tuple[Procedure, Sequence[Deviation]] | None
    names: Mapping[int, str]
    recordings: Sequence[Recording]
    every: Sequence[Recording]
    own: Sequence[str] = ()
    number: str = ""
    blind: Collection[str] = ()
    cautions: Sequence[str] = ()


#: A result may follow from time alone if equal segments explain at least this share of the variance that the result
#: explains.
ORDER_ALONE = 2 / 3


def answer_kind(run: Run) -> str:
    """Return the kind of a run: ``annotated`` (the truth itself), ``trivial``, ``untrained`` or ``trained``."""
    decoder, family = DECODERS.get(split_id(run.decoder)[0]), FAMILIES.get(split_id(run.method)[0])
    if decoder is not None and decoder.TRIVIAL:
        return ANNOTATED if decoder.NAME == ANNOTATED else "trivial"
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
    procedures = read_procedures(tree.at(paths.PROCEDURES, run))
    segments_here = segments[segments["scope"] == "task"]
    result = result_id(segments)
    given = list(diagnostics.labelled_videos)
    typed, lost = names_of(names, str(run), segments)
    view, kind = _view(tree.at(paths.VIEW, run), result) if viewed else "", answer_kind(run)
    annotated = dict(zip(annotations["key_step"], annotations["name"], strict=True))
    labels = annotated if kind == ANNOTATED else diagnostics.names
    names_here = labels | typed
    warnings = diagnostics.warnings or []
    learned, own = (None, ()) if kind == "trivial" else _learned(tree, run, segments_here, names_here)
    edits = diagnostics.second_reading
    blind = untold(edits) if edits is not None else ()
    if edits is not None and (sentence := edits_sentence(edits, bool(given))):
        own = [*own, sentence]
    # With labels, the key steps are the annotated ones.
    identity = {step: step for step in sorted(annotated)}
    matched = identity if given else match_to_steps(videos[videos["status"] == "ok"], annotations, segments_here)
    chosen = kind in ("trained", "untrained") and not given
    number, another = about_number(tree, run, diagnostics, len(annotated), tree=bool(view)) if chosen else ("", "")
    steps = sorted({int(step) for step in segments_here["key_step"]} - {0})
    found_order = learned[0].order if learned else ()
    facts = RunFacts(
        id=str(run),
        **asdict(run),
        kind=kind,
        K=diagnostics.K,
        steps=steps,
        order=list(dict.fromkeys([*(step for step in found_order if step in steps), *steps])),
        result=result,
        names=_keyed(names_here),
        labels=_keyed(labels),
        match={str(step): to for step, to in matched.items()},
        given=given,
        learned_from=_learned_from(given, diagnostics.left_out) if given else "",
        lost=lost_names(str(run), lost) if lost else "",
        collapsed=_COLLAPSED.get(str(diagnostics.degenerate_cause), "Collapsed: there is only one key step.")
        if diagnostics.degenerate
        else "",
        soundness=soundness(diagnostics, _other_answers(tree, run, diagnostics))
        if kind in ("trained", "untrained")
        else {},
        # Warnings about settings are among the cells of `soundness`.
        warnings=[
            *(as_sentence(_without_command(warning)) for warning in warnings if not warning.startswith("decode.")),
            *_order_alone(diagnostics),
        ],
        view=bool(view),
        folder=tree.keysteps(run).as_posix(),
        another=another,
        score_file=tree.at(paths.SCORES, run).as_posix() if _can_be_scored(videos, diagnostics) else "",
    )
    recordings, every = (recordings_from_segments(segments_here, every=one) for one in (False, True))
    body = _body(segments_here, recordings, videos)
    cautions = [_caution(given, diagnostics.left_out)] if given else ()
    return ShownRun(
        run, facts, body, view, procedures, learned, names_here, recordings, every, own, number, blind, cautions
    )


def _learned(
    tree: Tree, run: Run, segments: pd.DataFrame, names: Mapping[int, str]
) -> tuple[tuple[Procedure, Sequence[Deviation]], Sequence[str]]:
    """Return the procedure of a run with the deviations from it, and sentences on the procedure that is expected."""
    procedure = read_procedure(tree.at(paths.PROCEDURE, run))
    deviations = read_deviation_list(tree.at(paths.DEVIATIONS, run))
    if (path := expected_file(tree.keysteps(run))) is None:
        return (procedure, deviations), ()
    # Key steps with the same name stay separate here, as on the rest of the page, except for the expected procedure.
    told = named(segments, names, None, deviations, read_expected(path))
    return (procedure, told.deviations), told.own


def about_number(
    results: Tree, run: Run, diagnostics: Diagnostics, n_annotated: int = 0, *, tree: bool = True
) -> tuple[str, str]:
    """Return a sentence on who chose the number of key steps, and the command for another one with its cost.

    ``n_annotated`` steps are annotated, and ``tree`` says whether the page has the tree of this result.
    """
    K = diagnostics.K
    default = K == Numbered().K and number_in(run.decoder) is None
    chosen = f"{K} key steps is the default" if default else f"{K} key steps were asked for"
    if n_annotated:
        said = "" if n_annotated == K else f"{chosen}, but {n_annotated} are annotated."
    else:
        said = f"{chosen}; the videos do not say how many{' (see How many?)' if tree else ''}."
    other = n_annotated if n_annotated not in (0, K) else K + 1
    seconds = diagnostics.decoding_cpu_s
    cost = "" if seconds is None else f" (about {length_in_words(seconds)} of one core)"
    made = _key_steps_of(results, replace(run, decoder=with_number(run.decoder, other)))
    return said, f'Another number of key steps, such as {other}{cost}: rgwot run "{made}"'


def _key_steps_of(tree: Tree, run: Run) -> str:
    """Return the file of key steps that a run has, or would have."""
    return paths.at(paths.SEGMENTS, tree.results, dataset=tree.dataset, task=tree.task, **asdict(run)).as_posix()


def _without_command(warning: str) -> str:
    """Return a warning that refers to the page instead of settings, if it says how another answer can be seen."""
    said, separator, _ = warning.partition("; to see both, ")
    # `rgwot.reporting.page.shell.in_window` has another way for seeds.
    where = SEED_UNDER_SCORES if warning.startswith(OTHER_SEED) else TIME_UNDER_SCORES
    return f"{said}; {where}" if separator else warning


def _other_answers(tree: Tree, run: Run, diagnostics: Diagnostics) -> list[str]:
    """Return the commands for answers that are supported almost equally, each as a note."""
    others: dict[str, Run] = {}
    if any(warning.startswith(OTHER_SEED) for warning in diagnostics.warnings or ()):
        others["another try"] = replace(run, seed=run.seed + 1)
    if time := other_time(diagnostics.choices.time if diagnostics.choices else None):
        others[f"the answer with {time:g} as the weight of time"] = replace(
            run, decoder=with_key(run.decoder, "time", f"{time:g}")
        )
    made = [(words, _key_steps_of(tree, other)) for words, other in others.items()]
    return [f'to see {words}: rgwot run "{path}", then rgwot show "{path}"' for words, path in made]


def number_in(decoder: str) -> int | None:
    """Return the K in the id of a decoder, if it is a number there.

    >>> number_in("consensus@K=5,decode.surplus=2"), number_in("consensus")
    (5, None)
    """
    keys = dict(key.split("=", 1) for key in decoder.partition("@")[2].split(",") if key)
    return int(keys["K"]) if keys.get("K", "").isdecimal() else None


def with_number(decoder: str, K: int) -> str:
    """Return the id of a decoder with another K.

    >>> with_number("consensus@decode.surplus=2", 5), with_number("consensus@K=7", 8)
    ('consensus@K=5,decode.surplus=2', 'consensus@K=8')
    """
    return with_key(decoder, "K", str(K))


def with_key(decoder: str, key: str, value: str) -> str:
    """Return the id of a decoder with another value of a key."""
    name, _, keys = decoder.partition("@")
    others = [other for other in keys.split(",") if other and not other.startswith(f"{key}=")]
    return f"{name}@{','.join(sorted([*others, f'{key}={value}']))}"


def _order_alone(diagnostics: Diagnostics) -> list[str]:
    """Return a warning if equal segments explain the features nearly as well as the result."""
    share = (diagnostics.task.equal_segments if diagnostics.task else None) or 0.0
    if share < ORDER_ALONE:
        return []
    return [
        f"Cutting every video into {diagnostics.K} equal parts explains the features {share:.0%} as well "
        "as this result, so these key steps may be little more than equal parts."
    ]


def _can_be_scored(videos: pd.DataFrame, diagnostics: Diagnostics) -> bool:
    """Return whether an annotated video of the manifest did not teach the result, as `score_task` demands."""
    scored = set(videos.loc[videos["status"] == "ok", "video"]) - set(diagnostics.labelled_videos)
    return bool(scored if diagnostics.split is None else scored & set(diagnostics.split.test))


def _learned_from(videos: Sequence[str], left_out: LeftOutFacts | None) -> str:
    """Return sentences on the annotated videos that a result learned from, and on how well these label each other."""
    number = f"{len(videos)} annotated video{'s' if len(videos) > 1 else ''}"
    named = f": {join_words([stem_of(video) for video in videos])}" if len(videos) <= NAMED else ""
    kept = f"Learned from {number}, whose labels are kept{named}."
    return f"{kept} {left_out_sentence(left_out, len(videos))}" if left_out else kept


def _caution(videos: Sequence[str], left_out: LeftOutFacts | None) -> str:
    """Return a clause on how well annotated videos label each other, or that this is unknown."""
    if left_out is None:
        few = f"it takes {FEWEST_TAUGHT} annotated videos to know how well they label others"
        return few if len(videos) < FEWEST_TAUGHT else "how well annotated videos label others is not checked yet"
    least, most = (f"{100 * end(left_out.shares, default=0):.0f}" for end in (min, max))
    between = "" if least == most else f" ({least} to {most})"
    share = f"{100 * left_out.frames_right:.0f} of 100 frames{between}"
    return f"annotated videos, each labelled by the others, are right in {share}; the other videos were not checked"


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


def _body(segments: pd.DataFrame, recordings: Sequence[Recording], videos: pd.DataFrame) -> dict[str, object]:
    """Return the segments, orders and procedures of a run, with videos in the order of the manifest.

    Segments are given by their ``ends`` in milliseconds and key ``steps``, or only by their number if there are many;
    ``shows`` maps the index of a segment to the key step that it shows instead of its own, 0 if it does not count. An
    order is that in which key steps first occur.
    """
    place = {video: str(at) for at, video in enumerate(videos["video"])}
    by_video: dict[str, Any] = {}
    segments = segments[segments["video"].isin(place)]
    # Arrays, because a table per video would dominate the time for thousands of videos.
    ends = np.rint(segments["end_s"].to_numpy(np.float64) * 1000).astype(np.int64)
    starts, steps = segments["start_s"].to_numpy(), segments["key_step"].to_numpy()
    shown = segments["shows"].where(segments["counts"], 0).to_numpy()
    rows_of = segments.groupby("video", sort=False).indices
    for video in segments["video"].unique():
        rows = np.asarray(rows_of[video])
        if len(rows) > MOST_SEGMENTS:
            by_video[place[video]] = {"many": len(rows)}
            continue
        rows = rows[np.argsort(starts[rows], kind="stable")]
        own = steps[rows].tolist()
        by_video[place[video]] = {"ends": ends[rows].tolist(), "steps": own}
        other = {str(at): step for at, step in enumerate(shown[rows].tolist()) if step != own[at]}
        if other:
            by_video[place[video]]["shows"] = other
    orders = {recording.video: first_order(recording.events) for recording in recordings if recording.video in place}
    return {
        "segments": by_video,
        "orders": {place[video]: list(order) for video, order in orders.items()},
        "procedures": ranked_orders(rank_procedures(orders)) if orders else [],
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


def soundness(diagnostics: Diagnostics, more: Sequence[str] = ()) -> dict[str, str]:
    """Return cells on ``diagnostics.json`` of a run by their headings, without the empty ones; ``more`` are notes."""
    task, alone = diagnostics.task or ScopeFacts(), diagnostics.video or ScopeFacts()
    labels, background = task.distinct_labels, task.background_share or 0.0
    cause = diagnostics.degenerate_cause or "one key step"
    largest, variance = task.dominant_label_share, task.relative_variance
    warnings = (warning for warning in diagnostics.warnings or () if warning.startswith("decode."))
    cells = {
        "Collapsed": cause if diagnostics.degenerate else "no",
        "Key steps found": "" if labels is None else f"{labels - (background > 0)} of {diagnostics.K}",
        # The largest label may be the background.
        "Largest key step": "" if largest is None or largest == background else f"{100 * largest:.0f} % of the frames",
        "Background": f"{100 * background:.0f} % of the frames" if background else "",
        "Spread of embeddings": "" if variance is None else f"{variance:.2g} (0: all frames alike, 1: no common part)",
        "Videos that collapse alone": str(len(alone.degenerate_videos or ()) or ""),
        "Videos without frames": str(len(diagnostics.videos_without_frames) or ""),
        "Held-out videos": str(len(diagnostics.split.test if diagnostics.split else ()) or ""),
        "Weight of time": _weight_of_time(diagnostics),
        "Notes": " ".join(map(as_sentence, [*(diagnostics.notes or ()), *warnings, *more])),
    }
    return {heading: cell for heading, cell in cells.items() if cell}


def _weight_of_time(diagnostics: Diagnostics) -> str:
    """Return the weight of time that was chosen from the data and why, or an empty text if it was set."""
    choice = diagnostics.choices.time if diagnostics.choices else None
    if choice is None:
        return ""
    share = f"{100 * choice.chosen:.0f} %"
    if choice.concordance is None or not choice.chosen:
        why = choice.why or "key steps found without time predict nothing of other videos"
        return f"Time does not count ({share}): {why}."
    agree = f"({_beside(choice.concordance, SAME_ORDER)}; {SAME_ORDER:g} needed)"
    if choice.concordance < SAME_ORDER or choice.kept is None:
        return (
            f"Time counts little ({share}): the orders of the videos, before time was used, agreed too weakly {agree}."
        )
    predict = f"({_beside(choice.kept, KEPT_SHARE)} times as well as without time; {KEPT_SHARE:g} needed)"
    if choice.chosen == ONE_ORDER:
        return (
            f"Time counts much ({share}): the orders of the videos, before time was used, agreed {agree}, and key "
            f"steps found with time predicted those of other videos {predict}."
        )
    return (
        f"Time counts little ({share}): the orders of the videos, before time was used, agreed {agree}, but key steps "
        f"found with time predicted those of other videos too poorly {predict}."
    )


def _beside(value: float, limit: float) -> str:
    """Write a value with two digits, or with three if it would else look like a limit that it does not reach."""
    return f"{value:.3f}" if value < limit <= round(value, 2) else f"{value:.2f}"


def as_sentence(note: str) -> str:
    """Return a note as a sentence; a setting's key at its start keeps its first letter.

    >>> as_sentence("another answer is possible"), as_sentence("decode.time: auto chose 0.08")
    ('Another answer is possible.', 'decode.time: auto chose 0.08.')
    """
    first = note.partition(" ")[0]
    return f"{note}." if "." in first else f"{note[:1].upper()}{note[1:]}."


#: Number of videos shown at first, and of the most surprising deviations of each.
MOST_LINES, MOST_DEVIATIONS = 30, 6
#: The sureness of a deviation that a second reading has yet to decide.
UNCHECKED = "not checked"
#: The text of a video without a deviation.
NOTHING = "no deviation was found"
#: The text of a card whose key step has no known need.
UNKNOWN_NEED = "nothing is known to come before it"
#: Marks the number of a key step in the text, which is then split there.
_STEP = "\0"


class _Card(NamedTuple):
    """A key step as the page draws it.

    ``facts`` are the share of videos and the duration, ``repeated`` says how often it occurs, if more than once.
    ``shares`` maps each key step that it needs to a text on the number of videos in which the need holds. ``after``
    (key steps that it needs, and whether each need has a question mark) and ``free`` have what does not follow from the
    place of the card. ``unseen`` lists needs that follow from the place, for screen readers.
    """

    node: Node
    facts: tuple[str, str]
    repeated: str
    shares: Mapping[str, str]
    after: Sequence[tuple[int, bool]]
    free: str
    unseen: str


class _Line(TypedDict):
    """A video with its deviations by time, ``moments`` first: ``number`` are not doubtful, and ``doubtful`` are.

    ``typical`` is the most typical video, ``given`` one that labelled, and ``none`` what is said without a deviation.
    """

    place: int
    name: str
    number: int
    doubtful: int
    typical: bool
    given: bool
    moments: Sequence[DeviationFacts]
    others: Sequence[DeviationFacts]
    none: str


class Picture(NamedTuple):
    """The procedure of a run as the template writes it; ``place`` is the place of the run on the page.

    Texts are lists in which text and numbers of key steps alternate, so that the page can replace numbers by names:
    ``sentences`` on the order and on what to doubt (``remarks`` are plain texts), and the cells of ``table`` under its
    ``headings`` (`rgwot.procedure.facts.step_table`). ``legend`` explains the signs in the drawing.
    ``layers`` are the cards in the consensus order; the order within a layer is not known, as its caption says, and a
    card needs the whole layer before unless it says otherwise. ``lines`` are the videos with the number of their
    deviations that are not doubtful, the number of doubtful ones, and all deviations by time, with the less surprising
    and less sure ones apart; ``most_different`` names the videos that differ most. ``unchecked`` says why it is not
    known how sure some deviations are, if so, and ``complete`` what may hide where no video differs. ``elsewhere`` says
    which result with another number of key steps tells more, if this one tells nothing.
    """

    place: int
    sentences: Sequence[Sequence[str]]
    remarks: Sequence[str]
    headings: Sequence[str]
    table: Sequence[Sequence[Sequence[str]]]
    legend: str
    layers: Sequence[Sequence[_Card]]
    captions: Sequence[str]
    lines: Sequence[_Line]
    most_different: str
    unchecked: str
    complete: str
    elsewhere: str = ""


def picture(
    place: int,
    procedure: Procedure,
    deviations: Sequence[Deviation],
    recordings: Sequence[Recording],
    videos: Sequence[Video],
    doubts: Sequence[str] = (),
    labelled: Collection[str] = (),
    every: Sequence[Recording] | None = None,
    own: Sequence[str] = (),
    number: str = "",
    also: Also | None = None,
    shares: bool = True,
    blind: Collection[str] = (),
    pending: str = "",
    competing: Sequence[str] = (),
) -> Picture:
    """Return a procedure as the page shows it.

    ``recordings`` are the occurrences in the videos, ``every`` all segments, if some do not count, and ``videos`` those
    of `rgwot.reporting.page.data.PageData`. ``doubts`` are clauses of `rgwot.procedure.facts.doubt_sentence`. The
    ``labelled`` videos, from which the result learned, are marked. ``own`` are sentences on the procedure that is
    expected and on detectable deviations, ``number`` on the number of key steps, and ``also`` says with which other
    numbers deviations hold. ``shares`` says whether the procedure was learned from these recordings, so that its
    table may have their times. ``blind`` has the kinds of deviations that cannot be told. ``pending`` is a sentence if
    a second reading of the videos has yet to decide how sure deviations are; then only those of annotated videos are
    called sure. ``competing`` are warnings of answers that are supported almost equally.
    """
    # A video with a few marks is mostly found, and not annotated.
    labelled = {video.id for video in videos if video.id in labelled and video.status != "unscored"}
    if pending:
        deviations = [one if one.video in labelled else replace(one, sureness=None) for one in deviations]
    shown = told(procedure)
    layers = _layers(shown)
    captions = [_caption(shown, [card.node.key_step for card in layer]) for layer in layers]
    marked = {step: f"{_STEP}{step}{_STEP}" for step in procedure.order}
    again = () if "repeated" in blind else again_sentences(procedure, recordings, marked)
    headings, table = step_table(step_facts(procedure, *((recordings, every) if shares else ())), marked)
    facts = deviation_facts(deviations, recordings, labelled, every)
    facts = [
        replace(
            row,
            also=_holds_also(row.deviation, also),
            sureness=UNCHECKED if pending and row.deviation.sureness is None else row.sureness,
        )
        for row in facts
    ]
    sentences = (
        " ".join([order_sentence(procedure, marked), *again, *_competing_sentence(competing)]),
        doubt_sentence(procedure, facts, marked, doubts),
    )
    lines = _lines(
        procedure, facts, videos, labelled,
        "deviations cannot be told here" if set(blind) >= {*KINDS} else "nothing found yet" if pending else "",
    )  # fmt: skip
    unknown = any(deviation.sureness is None and deviation.video not in labelled for deviation in deviations)
    whose = "Except in annotated videos, it" if labelled else "It"
    unchecked = (pending or f"{whose} is not known how sure these deviations are, so look at them.") if unknown else ""
    return Picture(
        place,
        [text.split(_STEP) for text in sentences if text],
        [text for text in (" ".join(own), _also_sentence(number, facts, also)) if text],
        headings,
        [[cell.split(_STEP) for cell in row] for row in table],
        _legend(layers, procedure.n_videos),
        layers,
        captions,
        lines,
        "" if pending and unknown else _most_different(lines),
        unchecked,
        "" if pending else complete_sentence(procedure, deviations),
    )


def _competing_sentence(warnings: Sequence[str]) -> list[str]:
    """Return a sentence on warnings of other answers (`rgwot.keysteps.warnings.COMPETING`), if there are any."""
    if not warnings:
        return []
    begins = "Another answer is possible" if len(warnings) == 1 else "Other answers are possible"
    return [f"{begins}: {'; '.join(map(briefly, warnings))} (see Trust)."]


def _legend(layers: Sequence[Sequence[_Card]], n_videos: int) -> str:
    """Return an explanation of the signs in a drawing of a procedure."""
    cards = [card for layer in layers for card in layer]
    says = any(card.after for layer in layers[1:] for card in layer)
    legend = (
        (
            f"A dashed card was found in fewer than {100 * OPTIONAL_BELOW:.0f} % of the videos: the others lack it, "
            "or it was not recognised there.",
            any(card.node.optional for card in cards),
        ),
        (
            "Key steps in one frame were found in either order, or their order is not known: for two of them it takes "
            f"{FEWEST} videos that show both, nearly all of them in the same order.",
            # With fewer videos, the first sentence says that no order is known.
            len(layers) < len(cards) and n_videos >= FEWEST,
        ),
        (
            "Time runs from left to right: a card comes after everything in the card or frame before it"
            + (
                "; if it says \N{LEFT DOUBLE QUOTATION MARK}after …\N{RIGHT DOUBLE QUOTATION MARK}, after those and "
                "all that comes before them."
                if says
                else "."
            ),
            len(layers) > 1,
        ),
        (
            "A question mark: some videos contradict.",
            any(doubt for card in cards for _, doubt in card.after),
        ),
    )
    return " ".join(words for words, there in legend if there)


#: By another number of key steps, the deviations that hold with it, as `rgwot.procedure.differences.what` gives them.
Also = Mapping[int, Collection[tuple[str, str, int]]]


def _holds_also(deviation: Deviation, also: Also | None) -> str:
    """Return the other numbers of key steps for which a deviation holds, in words; empty if none is known."""
    numbers = [str(K) for K, holding in sorted((also or {}).items()) if what(deviation) in holding]
    return f"also with {join_words(numbers)} key steps" if numbers else ""


def _also_sentence(number: str, facts: Sequence[DeviationFacts], also: Also | None) -> str:
    """Return the sentences on the number of key steps, and on how many deviations hold with other numbers."""
    likely = [row.deviation for row in facts if row.sureness != "doubtful" and row.deviation.against == "others"]
    if not number or not likely:
        return number
    counts = [
        f"{sum(what(one) in holding for one in likely)} with {K} key steps"
        for K, holding in sorted((also or {}).items())
    ]
    return f"{number} Of the {len(likely)} deviations shown, {join_words(counts)} hold, too." if counts else number


def _layers(procedure: Procedure) -> list[list[_Card]]:
    """Return the key steps in the consensus order, those of a group in one layer."""
    group_of = {step: group for group in (*procedure.either_order, *procedure.unordered) for step in group}
    layers = [list(layer) for _, layer in groupby(procedure.order, lambda step: group_of.get(step, (step,)))]
    return [[_card(step, procedure, layers, at) for step in layer] for at, layer in enumerate(layers)]


def _caption(procedure: Procedure, steps: Sequence[int]) -> str:
    """Return how the key steps of a layer are ordered."""
    if len(steps) < 2:
        return ""
    if tuple(sorted(steps)) in procedure.unordered:
        return "in this order, perhaps by chance" if agreed_by_few(procedure) else "no order is known"
    return "found in either order" if len(steps) == 2 else "found in any order"


def _card(step: int, procedure: Procedure, layers: Sequence[Sequence[int]], at: int) -> _Card:
    """Return the card of a key step in the layer ``at``."""
    node = next(node for node in procedure.nodes if node.key_step == step)
    needs = [edge for edge in procedure.edges if edge.after == step and edge.before != START]
    often, length = repeats(node), length_in_words(node.duration_s)
    doubts = {int(edge.before): questioned(edge) for edge in needs}
    placed = bool(at) and set(doubts) == set(layers[at - 1]) and not any(doubts.values())
    after = () if placed else tuple(doubts.items())
    return _Card(
        node,
        (f"found in {node.n_videos} of {procedure.n_videos}", f"{length} per video" if often else f"about {length}"),
        f"{node.repeats:.1f}".removesuffix(".0") + " times" if often else "",
        {str(edge.before): f"in {edge.agree} of {edge.both} videos where both were found" for edge in needs},
        after,
        "" if needs or not at else UNKNOWN_NEED,
        f"after {join_words([str(edge.before) for edge in needs])}" if placed and needs else "",
    )


def _lines(
    procedure: Procedure,
    deviations: Sequence[DeviationFacts],
    videos: Sequence[Video],
    labelled: Collection[str],
    nothing: str = "",
) -> list[_Line]:
    """Return the videos with their deviations; ``nothing`` is the text for videos without deviation and annotation."""
    lines: list[_Line] = []
    typical, rows_of = procedure.most_typical, dict[str, list[DeviationFacts]]()
    for row in deviations:
        rows_of.setdefault(row.deviation.video, []).append(row)
    for place, video in enumerate(videos):
        if video.status == "skipped":
            continue
        of_video = rows_of.get(video.id, [])
        # The most surprising deviations come first.
        first = [row for row in of_video if row.sureness != "doubtful"][:MOST_DEVIATIONS]
        of_video.sort(key=lambda row: (row.deviation.start_s, row.deviation.key_step))
        moments, others = ([row for row in of_video if (row in first) is chosen] for chosen in (True, False))
        none = video.reason if video.status in ("ok", "partial") else ""
        doubtful = sum(row.sureness == "doubtful" for row in of_video)
        if video.id not in labelled:
            none = none or nothing
        if not none:
            none = "only doubtful deviations" if others else NOTHING
        lines.append(
            _Line(
                place=place,
                name=video.name,
                number=len(of_video) - doubtful,
                doubtful=doubtful,
                typical=video.id == typical,
                given=video.id in labelled,
                moments=moments,
                others=others,
                none=none,
            )
        )
    return lines


def _most_different(lines: Sequence[_Line]) -> str:
    """Return a sentence on the videos with the most deviations that were found, and on those with the next most.

    Doubtful ones, which a line folds away, do not count. Returns an empty text if no video has more than these.
    """
    by_number: dict[int, list[_Line]] = {}
    for line in lines:
        by_number.setdefault(line["number"], []).append(line)
    (most, first), *others = sorted(by_number.items(), reverse=True) or [(0, [])]
    # Many videos without their names say nothing.
    if not most or len(first) > MOST_NAMED:
        return ""

    def told(number: int, differing: Sequence[_Line]) -> str:
        names = [line["name"] for line in differing]
        sure = any(row.sureness == "sure" for line in differing for row in (*line["moments"], *line["others"]))
        counted = f"{'' if sure else 'perhaps '}{number}{' each' * (len(names) > 1)}"
        return f"{join_words(names) if len(names) <= MOST_NAMED else f'{len(names)} videos'} ({counted})"

    then = f", then in {told(*others[0])}" if others and others[0][0] and len(first) == 1 else ""
    apart = ", not counting doubtful ones" if any(line["doubtful"] for line in lines) else ""
    return f"Most deviations were found in {told(most, first)}{then}{apart}."


def seeds_agree(run: Run, runs: Sequence[Run], agreed: Callable[[int, int], float | None]) -> list[str]:
    """Return a clause on the share of frames on which the seeds of a run's method and decoder agree.

    Returns an empty list if no two seeds have a video in common.

    ``agreed`` takes the indices of two of the ``runs``, the smaller one first, and returns the share of frames on which
    these runs agree, or None if they have no video in common.
    """
    seeds = [at for at, other in enumerate(runs) if (other.method, other.decoder) == (run.method, run.decoder)]
    shares = [share for pair in combinations(seeds, 2) if (share := agreed(*pair)) is not None]
    if not shares:
        return []
    mean = "" if len(shares) == 1 else ", on average over pairs"
    return [f"{len(seeds)} tries agree in {100 * sum(shares) / len(shares):.0f} of 100 frames{mean}"]
