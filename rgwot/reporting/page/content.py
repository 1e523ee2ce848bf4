"""The content of a page, read from the results of a task."""

from __future__ import annotations

import base64
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple, cast
from urllib.parse import quote

import pandas as pd
from scipy.optimize import linear_sum_assignment

from rgwot import __version__, paths
from rgwot.columns import CELL
from rgwot.datasets.names import stem_of
from rgwot.evaluation.agreement import Agreement
from rgwot.evaluation.protocols import BACKGROUNDS, PROTOCOLS
from rgwot.keysteps.ordering import first_order, rank_procedures
from rgwot.keysteps.settings import ANNOTATED
from rgwot.keysteps.warnings import COMPETE, COMPETING, OTHER_SEED, seeds_compete
from rgwot.names import read_names
from rgwot.paths import Run, Tree
from rgwot.procedure.differences import what, with_sureness
from rgwot.procedure.groups import LEVEL, MEASURES, OF_GROUP, few_videos
from rgwot.procedure.interface import Deviation, Procedure
from rgwot.procedure.learning import recordings_from_segments
from rgwot.records import read_annotations, read_manifest, read_scores, read_segments
from rgwot.reporting.compare import (
    RATE,
    Answer,
    Comparison,
    compare,
    compare_pairs,
    parts,
    read_answer,
    teaching_videos,
)
from rgwot.reporting.figures.style import STEP_COLOURS
from rgwot.reporting.groups import about, impossible, note_on_teaching, read_group_table, sizes, unit_of
from rgwot.reporting.page.data import (
    GroupRow,
    Groups,
    GroupsOfRun,
    PageData,
    PageScores,
    RankedOrder,
    RunFacts,
    ScoreRow,
    SeedScores,
    Suggestion,
    Video,
)
from rgwot.reporting.page.pictures import STRIP_FRAMES, has_pictures, shown_aspect
from rgwot.reporting.page.runs import (
    Picture,
    ShownRun,
    answer_kind,
    as_sentence,
    picture,
    ranked_orders,
    read_curves,
    read_run,
    seeds_agree,
    with_number,
)
from rgwot.reporting.show import export_command
from rgwot.reporting.tables.reported import metrics_of
from rgwot.reporting.tables.scores import summarise
from rgwot.runtime.errors import RgwotError
from rgwot.timing import RULES, allowed_loss

SHOWN_METRICS = metrics_of("macro_task")
#: The main score of tables: F1 with background, with one matching for all videos.
LEADING_SCORES = "protocol == 'macro_task' and background == 'with' and label_rule == 'exact' and metric == 'f1'"
#: The share of frames that are right after one matching of key steps for all videos.
FRAMES_RIGHT = LEADING_SCORES.replace("macro_task", "strict_task")
#: Formats of stored frames, which a browser cannot play.
_NOT_PLAYABLE = {".h5", ".hdf5"}


class _Content(NamedTuple):
    """The content of a page.

    ``data`` has what every tab needs. The first of ``runs``
    is shown first. ``pictures`` are the drawn procedures, ``comparisons`` compare pairs of runs (`compared`), and
    ``strips`` are base64 JPEGs of the videos in the order of the manifest, empty for a video without pictures.
    """

    data: PageData
    runs: Sequence[ShownRun]
    pictures: Sequence[Picture]
    comparisons: Sequence[Mapping[str, Any]]
    strips: Sequence[str]


def gather(
    tree: Tree,
    root: Path,
    runs: Sequence[Run],
    page_folder: Path,
    names_yaml: str | os.PathLike[str] | None,
    groups: str | None = None,
    study: str | None = None,
) -> _Content:
    """Read the results of a task for a page in ``page_folder``; ``study`` as in `write_page`."""
    if not runs:
        raise RgwotError(f"{tree.dataset}/{tree.task}: no run to show; name at least one, such as rgwot/graphcut/seed0")
    names = read_names(names_yaml)
    manifest = read_manifest(tree.at(paths.MANIFEST))
    given = read_annotations(tree.at(paths.ANNOTATIONS), background=True)
    annotations = given[given["key_step"] > 0]
    # Only the first seed of each method is shown in detail, even if other views exist.
    first = {(run.method, run.decoder): run for run in reversed(runs)}.values()
    shown_runs = [read_run(tree, run, manifest, annotations, names, viewed=run in first) for run in runs]
    strips = _strips(tree, manifest["video"])
    answers = [read_answer(tree.keysteps(run)) for run in runs]
    agreements = compare_pairs(answers, [run.facts.given for run in shown_runs])
    seeds = _seeds_compared(shown_runs, answers, agreements)
    # If the task is no longer annotated, its scores are outdated, and not read.
    scorable = bool((manifest["status"] == "ok").any()) and len(annotations) > 0
    scores = read_task_scores(tree, runs) if scorable else None
    right = frames_right(tree, runs) if scorable else {}
    videos = [
        shown_video(row, page_folder, root, bool(strip))
        for row, strip in zip(manifest.to_dict("records"), strips, strict=True)
    ]
    together = _Compared(shown_runs, agreements, seeds)
    facts = _facts(tree, together, page_folder)
    pictures = [
        _picture(place, tree, together, facts[place].warnings, right, scorable, videos, study is None)
        for place, run in enumerate(shown_runs)
        if run.procedure is not None
    ]
    data = PageData(
        dataset=tree.dataset,
        task=tree.task,
        version=__version__,
        frames=STRIP_FRAMES,
        colours=len(STEP_COLOURS),
        videos=videos,
        steps={str(row["key_step"]): str(row["name"]) for row in annotations.to_dict("records")},
        truth=shown_truth(manifest, given),
        true_procedures=_true_procedures(annotations),
        runs=facts,
        notices=[
            *([] if study is None else [study]),
            *_cut_short(shown_runs, videos),
            *_other_number(shown_runs, annotations),
            *(_made_up(tree, root) if scores is not None else []),
        ],
        names_path=f"names/{tree.dataset}/{tree.task}.yaml" if names_yaml is None else Path(names_yaml).as_posix(),
        typed=names,
        curves=read_curves(tree, runs),
        scores=scores,
        groups=shown_groups(tree, runs, groups),
        next=_worth_annotating(tree, shown_runs, manifest),
    )
    return _Content(data, shown_runs, _with_elsewhere(pictures, facts), compared(agreements), strips)


class _Compared(NamedTuple):
    """The runs of a page, comparisons of pairs of runs, and comparisons of two seeds of the same method."""

    runs: Sequence[ShownRun]
    agreements: Mapping[tuple[int, int], Comparison]
    seeds: Mapping[tuple[int, int], Comparison]


def _strips(tree: Tree, videos: Iterable[str]) -> list[str]:
    """Return the strips of videos as base64 JPEGs, empty for a video without pictures."""
    files = [tree.at(paths.STRIPS) / f"{video}.jpg" for video in videos]
    return [base64.b64encode(file.read_bytes()).decode() if file.exists() else "" for file in files]


def _facts(tree: Tree, together: _Compared, page_folder: Path) -> list[RunFacts]:
    """Return the facts of every run, with its colours, its figures, and the seeds that compete with it."""
    colours = _colours(together.agreements, together.runs)
    doubted = _seeds_that_differ(together.runs, together.seeds)
    return [
        replace(
            shown.facts,
            colour=colour,
            warnings=[*_without_guess(place, together), *more],
            figures=_figures(tree, shown.run, page_folder),
        )
        for place, (shown, colour, more) in enumerate(zip(together.runs, colours, doubted, strict=True))
    ]


def _without_guess(place: int, together: _Compared) -> list[str]:
    """Return the warnings of a run, without the guess about another seed if the page has one to compare with."""
    warnings = together.runs[place].facts.warnings
    if not any(place in pair for pair in together.seeds):
        return list(warnings)
    return [warning for warning in warnings if not _of_seeds(warning)]


def _of_seeds(warning: str) -> bool:
    return warning.startswith(as_sentence(OTHER_SEED)[:-1])


def _picture(
    place: int,
    tree: Tree,
    together: _Compared,
    warnings: Sequence[str],
    right: Mapping[Run, float],
    scorable: bool,
    videos: Sequence[Video],
    shares: bool,
) -> Picture:
    """Return the picture of the procedure that the run at ``place`` learned; ``shares`` as in `picture`."""
    runs, agreements, seeds = together
    shown = runs[place]
    assert shown.procedure is not None
    labelled: Sequence[str] = shown.facts.given
    doubts: Sequence[str] = ()
    if shown.run.decoder == ANNOTATED:
        labelled = [video.id for video in videos]
    else:
        agreed = {pair: comparison.agreement.same for pair, comparison in seeds.items()}

        def agreed_on(one: int, other: int) -> float | None:
            return agreed.get((one, other))

        doubts = [
            *shown.cautions,
            *against_trivial(shown.run, right, scorable, bool(labelled) and not shown.facts.score_file),
            # Other seeds that differ much are among the warnings.
            *([] if any(map(_of_seeds, warnings)) else seeds_agree(shown.run, [run.run for run in runs], agreed_on)),
            *_second_method(place, runs, agreements),
        ]
    return picture(
        place,
        shown.procedure[0],
        sure_by_seeds(place, tree, runs, seeds),
        shown.recordings,
        videos,
        doubts,
        labelled,
        shown.every,
        shown.own,
        shown.number,
        held_at(place, runs, agreements),
        shares=shares,
        blind=shown.blind,
        competing=[warning for warning in warnings if warning.lower().startswith(COMPETING)],
    )


def _with_elsewhere(pictures: Sequence[Picture], facts: Sequence[RunFacts]) -> list[Picture]:
    """Add to each picture without deviations which other result tells some; ``facts`` are those of all runs of a page.

    The other result has the same method, seed and settings, tells some deviation that is not doubtful, and of such
    results its number of key steps is nearest.
    """
    numbers = {one.place: [line["number"] for line in one.lines] for one in pictures}
    told = []
    for one in pictures:
        own, lines = facts[one.place], one.lines
        distances = {
            place: abs(other.K - own.K)
            for place, other in ((place, facts[place]) for place in numbers if any(numbers[place]))
            if own.K and other.K and (other.method, other.seed) == (own.method, own.seed)
            if with_number(other.decoder, 0) == with_number(own.decoder, 0) and not (own.given or other.given)
        }
        if distances and not any(numbers[one.place]):
            nearest = min(distances, key=distances.__getitem__)
            found = "only doubtful deviations were" if any(line["doubtful"] for line in lines) else "no deviation was"
            n_videos = sum(number > 0 for number in numbers[nearest])
            one = one._replace(
                elsewhere=f"With {own.K} key steps, {found} found; the result with {facts[nearest].K} key steps on "
                f"this page (under Result) tells {sum(numbers[nearest])} in {n_videos} "
                f"video{'s' if n_videos > 1 else ''}."
            )
        told.append(one)
    return told


def _true_procedures(annotations: pd.DataFrame) -> list[RankedOrder]:
    """Return the orders of the annotated videos, the most common first."""
    # Segments without length do not count in an order.
    lasting = annotations[annotations["end_s"] > annotations["start_s"]]
    orders = {one.video: first_order(one.events) for one in recordings_from_segments(lasting)}
    return [RankedOrder(**one) for one in ranked_orders(rank_procedures(orders))] if orders else []


def _figures(tree: Tree, run: Run, page_folder: Path) -> dict[str, str]:
    """Return the addresses of the figures of a result that exist, relative to the page."""
    return {name: link(path, page_folder) for name, path in tree.figures(run).items() if path.exists()}


def _worth_annotating(tree: Tree, shown: Sequence[ShownRun], manifest: pd.DataFrame) -> Suggestion | None:
    """Return the videos to annotate next by the first result with suggestions, if any."""
    annotated = set(manifest.loc[manifest["status"] == "ok", "video"])
    annotated.update(video for run in shown for video in run.facts.given)
    for run in shown:
        videos = [video for video in json.loads(run.view or "{}").get("next", []) if video not in annotated]
        if videos:
            names = [stem_of(video) for video in videos]
            folders = {str(one.run): tree.keysteps(one.run).as_posix() for one in shown}
            return Suggestion(videos, {id_: export_command(folder, names) for id_, folder in folders.items()})
    return None


def _colours(agreements: Mapping[tuple[int, int], Comparison], shown: Sequence[ShownRun]) -> list[dict[str, int]]:
    """Return the index of the colour of every key step of every run.

    The colours of the first run follow its consensus order. A key step of another run takes the colour of a key step of
    the first run if each is the largest part of the other, one to one; the others get new colours.
    """
    first = shown[0]
    order = first.procedure[0].order if first.procedure is not None else ()
    led = list(dict.fromkeys([*order, *first.facts.steps]))
    colours = [{step: at for at, step in enumerate(led, 1)}]
    for place, run in enumerate(shown[1:], 1):
        steps, both = list(run.facts.steps), agreements.get((0, place))
        places: dict[int, int] = {}
        if both and steps and led:
            table = pd.DataFrame(both.agreement.overlap, *both.agreement.steps)
            overlap = table.reindex(index=led, columns=steps, fill_value=0).to_numpy()
            for a, b in zip(*linear_sum_assignment(-overlap), strict=True):
                if overlap[a, b] and overlap[a, b] == overlap[a].max() == overlap[:, b].max():
                    places[steps[b]] = int(a) + 1
        free = (at for at in range(1, len(led) + len(steps) + 1) if at not in places.values())
        colours.append({step: places.get(step) or next(free) for step in steps})
    return [{str(step): at for step, at in places_here.items()} for places_here in colours]


def _cut_short(shown: Sequence[ShownRun], videos: Sequence[Video]) -> list[str]:
    """Return sentences on videos that could be decoded only in part, judged by the end of a run's key steps."""
    looking = next((run for run in shown if run.facts.kind in ("untrained", "trained")), None)
    if looking is None:
        return []
    sentences = []
    for at, video in enumerate(videos):
        ends = looking.body["segments"].get(str(at), {}).get("ends", [])
        if ends and video.duration - ends[-1] / 1000 > allowed_loss(video.duration):
            sentences.append(
                f"{video.name}: only the first {ends[-1] / 1000:.1f} of {video.duration:.1f} s can be decoded; "
                "the rest has no key steps."
            )
    return sentences


def _other_number(shown: Sequence[ShownRun], annotations: pd.DataFrame) -> list[str]:
    """Return a sentence if the number of key steps asked for is not the number of annotated ones."""
    n_annotated, first = annotations["key_step"].nunique(), shown[0].facts
    sought = first.K
    if not n_annotated or sought in (None, n_annotated) or first.given or first.kind == ANNOTATED:
        return []
    return [
        f"{sought} key steps were asked for, but {n_annotated} are annotated; set decode.K to gt to ask for as many."
    ]


def _made_up(tree: Tree, root: Path) -> list[str]:
    """Return a note on the scores of synthetic clips."""
    if root.absolute() != tree.at(paths.SYNTHETIC).absolute():
        return []
    return [
        "These clips are synthetic. Recordings of people score far lower on average: RGWOT+ stays ahead of K equal "
        "segments there, RGWOT falls below them."
    ]


def _seeds_compared(
    shown: Sequence[ShownRun], answers: Sequence[Answer], agreements: Mapping[tuple[int, int], Comparison]
) -> dict[tuple[int, int], Comparison]:
    """Compare every two seeds of each method that looks at the videos.

    Comparisons are taken from ``agreements`` if they are there; with many results, most pairs are missing.
    """
    comparisons = {}
    for first_place, other in combinations(range(len(shown)), 2):
        first, second = shown[first_place].run, shown[other].run
        if (first.method, first.decoder) == (second.method, second.decoder) and answer_kind(first) != "trivial":
            labelled = {*shown[first_place].facts.given, *shown[other].facts.given}
            comparisons[first_place, other] = agreements.get((first_place, other)) or compare(
                answers[first_place], answers[other], labelled=labelled
            )
    return {pair: comparison for pair, comparison in comparisons.items() if comparison is not None}


def _second_method(
    place: int, shown: Sequence[ShownRun], agreements: Mapping[tuple[int, int], Comparison]
) -> list[str]:
    """Return a clause on how far the first other method that looks at the videos agrees with a run, if there is one.

    Results with another number of key steps, or learned from labels, are skipped, because they differ for this reason.
    """
    run, facts = shown[place].run, shown[place].facts
    for other, result in enumerate(shown):
        pair = min(place, other), max(place, other)
        same_method = (result.run.method, result.run.decoder) == (run.method, run.decoder)
        comparable = result.facts.K == facts.K and not (result.facts.given or facts.given)
        if (
            pair in agreements
            and comparable
            and not same_method
            and answer_kind(result.run) in ("untrained", "trained")
        ):
            share = 100 * agreements[pair].agreement.same
            name = f"{result.run.method}/{result.run.decoder}"
            return [f"another method ({name}) finds the same in {share:.0f} of 100 frames"]
    return []


def sure_by_seeds(
    place: int, tree: Tree, shown: Sequence[ShownRun], seeds: Mapping[tuple[int, int], Comparison]
) -> list[Deviation]:
    """Return the deviations of a run, with the sureness from the other seeds if the decoder gives none.

    The key steps of each other seed are matched one to one with those of the run.
    """
    procedure, deviations = cast("tuple[Procedure, Sequence[Deviation]]", shown[place].procedure)
    if any(first.sureness is not None for first in deviations):
        return list(deviations)
    own = [deviation for deviation in deviations if deviation.against == "own"]
    deviations = [deviation for deviation in deviations if deviation.against != "own"]
    others = []
    for (first, other), both in seeds.items():
        if place in (first, other):
            # Maps key steps of the other seed to those of the run.
            mine = both.agreement.matched if place == other else both.agreement.swapped().matched
            run = shown[first if place == other else other].run
            segments = read_segments(tree.at(paths.SEGMENTS, run))
            renamed = segments.assign(shows=segments["shows"].map(mine).fillna(0))
            others.append(recordings_from_segments(renamed))
    return [*with_sureness(deviations, procedure, others), *own]


def held_at(
    place: int, shown: Sequence[ShownRun], agreements: Mapping[tuple[int, int], Comparison]
) -> dict[int, set[tuple[str, str, int]]]:
    """Return the deviations of a run that hold with one key step less or more, by that number, if the page has results.

    The results have the same method, decoder and seed; their key steps are matched by the time that they share.
    """
    run, facts = shown[place].run, shown[place].facts
    held: dict[int, set[tuple[str, str, int]]] = {}
    for other, result in enumerate(shown):
        pair = min(place, other), max(place, other)
        if facts.K is None or result.facts.K not in (facts.K - 1, facts.K + 1) or pair not in agreements:
            continue
        same = (result.run.method, result.run.seed) == (run.method, run.seed)
        if not same or with_number(result.run.decoder, 0) != with_number(run.decoder, 0) or result.procedure is None:
            continue
        agreed = agreements[pair].agreement
        mine = agreed.matched if other < place else agreed.swapped().matched
        there = (what(deviation) for deviation in result.procedure[1] if deviation.against == "others")
        held[result.facts.K] = {(video, way, mine[step]) for video, way, step in there if step in mine}
    return held


def _seeds_that_differ(shown: Sequence[ShownRun], seeds: Mapping[tuple[int, int], Comparison]) -> list[list[str]]:
    """Return, for each run, a warning that names the try that differs most from it, if both are plausible."""
    apart: list[list[tuple[float, int]]] = [[] for _ in shown]
    for pair, comparison in seeds.items():
        for place, other in (pair, pair[::-1]):
            apart[place].append((1 - comparison.agreement.same, other))
    most = [max(others, default=(0.0, 0)) for others in apart]
    return [
        [as_sentence(seeds_compete(differ, f"look at try {shown[other].run.seed}, too, under Result"))]
        if differ > COMPETE
        else []
        for differ, other in most
    ]


def compared(agreements: Mapping[tuple[int, int], Comparison]) -> list[dict[str, Any]]:
    """Return how far pairs of runs agree, as in `rgwot compare`.

    In each dict, ``pair`` holds the indices of both runs, and ``sides`` the values that depend on which run comes
    first, in both orders: ``macro`` (F1), ``split``, ``merged`` and, for each key step of the first run, ``parts``:
    its number, seconds, shares of the second run's key steps in it, kappa and F1 of segments.
    """
    comparisons = []
    for pair, (common, alone, both, _, labelled) in agreements.items():
        facts = {"pair": pair, "videos": len(common), "alone": len(alone), "labelled": len(labelled)}
        facts["seconds"] = both.n_frames / RATE
        scores: dict[str, float | None] = {"rand": round(both.adjusted_rand, 4), "strict": round(both.strict_f1, 4)}
        scores |= {"kappa": _number(both.kappa), "segments": _number(both.segments_f1)}
        comparisons.append({**facts, **scores, "sides": [_side(both), _side(both.swapped())]})
    return comparisons


def _number(value: float, digits: int = 4) -> float | None:
    return round(value, digits) if math.isfinite(value) else None


def _side(agreement: Agreement) -> dict[str, Any]:
    parts_of_first = [
        [
            part.key_step,
            part.seconds,
            [[step, round(share, 3)] for step, share in part.shares.items()],
            _number(part.kappa),
            _number(part.segments_f1),
        ]
        for part in parts(agreement)
    ]
    return {
        "macro": round(agreement.macro_f1, 4),
        "parts": parts_of_first,
        "split": agreement.split,
        "merged": agreement.merged,
    }


def shown_video(row: Mapping[Any, Any], page_folder: Path, root: Path, strip: bool) -> Video:
    """Return a row of the manifest as a page shows it."""
    usable = row["status"] != "skipped"
    path, pictured = root / str(row["path"]), has_pictures(row["width"])
    playable = pictured and path.suffix.lower() not in _NOT_PLAYABLE
    return Video(
        id=str(row["video"]),
        name=str(row["name"]),
        status=str(row["status"]),
        reason=str(row["reason"]),
        duration=float(row["duration_s"]) if usable else 0.0,
        fps=float(row["fps"]) if usable else 0.0,
        aspect=round(shown_aspect(row["width"], row["height"]), 4),
        strip=strip,
        pictured=pictured,
        start=float(row["start_s"]) if usable else 0.0,
        path=str(row["path"]),
        file=link(path.expanduser(), page_folder) if playable else None,
        size=(int(row["width"]), int(row["height"])) if playable and usable and pd.notna(row["width"]) else (0, 0),
    )


def link(path: Path, page_folder: Path) -> str:
    """Return the URL of a file relative to a page, percent-encoded."""
    return quote(Path(os.path.relpath(path.absolute(), page_folder.absolute())).as_posix())


def shown_truth(manifest: pd.DataFrame, annotations: pd.DataFrame) -> list[list[tuple[float, float, int]]]:
    """Return the annotated segments and marks (start, end, key step) of every video, in the order of the manifest."""
    of_video: dict[str, list[tuple[float, float, int]]] = {video: [] for video in manifest["video"]}
    # Background comes first in the table.
    for row in annotations.sort_values("start_s", kind="stable").to_dict("records"):
        of_video[row["video"]].append((round(row["start_s"], 3), round(row["end_s"], 3), row["key_step"]))
    return list(of_video.values())


def read_task_scores(tree: Tree, runs: Sequence[Run]) -> PageScores | None:
    """Return the scores of the runs, rounded to 5 digits, or None if no run has scores."""
    scored = [run for run in runs if tree.at(paths.SCORES, run).exists()]
    if not scored:
        return None
    table = read_scores([tree.at(paths.SCORES, run) for run in scored])
    table = table[table["metric"].isin(SHOWN_METRICS)].copy()
    table["key"] = table[[*CELL, "metric"]].agg(" ".join, axis=1)
    rows = []
    for method, decoder in dict.fromkeys((run.method, run.decoder) for run in scored):
        seeds = [run for run in scored if (run.method, run.decoder) == (method, decoder)]
        scores_here = table[(table["method"] == method) & (table["decoder"] == decoder)]
        over_seeds = {name: summarise(values) for name, values in scores_here.groupby("key", sort=False)["value"]}
        by_seed = {seed: part.set_index("key")["value"] for seed, part in scores_here.groupby("seed")}
        rows.append(
            ScoreRow(
                method,
                decoder,
                answer_kind(seeds[0]),
                len(seeds),
                mean=_finite({name: mean for name, (mean, _) in over_seeds.items()}),
                sd=_finite({name: spread for name, (_, spread) in over_seeds.items()}),
                seeds=[SeedScores(run.seed, _finite(by_seed.get(run.seed, {}))) for run in seeds],
            )
        )
    return PageScores(list(PROTOCOLS), list(BACKGROUNDS), list(RULES), list(SHOWN_METRICS), rows)


def frames_right(tree: Tree, runs: Sequence[Run]) -> dict[Run, float]:
    """Return the share of frames that are right (`FRAMES_RIGHT`), 0 to 1, of each run that has scores."""
    files = {run: path for run in runs if (path := tree.at(paths.SCORES, run)).exists()}
    return {run: float(read_scores([path]).query(FRAMES_RIGHT)["value"].iloc[0]) for run, path in files.items()}


def against_trivial(run: Run, right: Mapping[Run, float], annotated: bool, labelled: bool) -> list[str]:
    """Return a clause that compares a run with the best trivial baseline, or says why it cannot.

    ``right`` has the share of frames that are right, 0 to 1. Nothing is said of a ``labelled`` result, which learned
    from every annotated video.
    """
    if not annotated and not labelled:
        # Also true after labels were given: this result was there before, or they are too few to score it.
        return ["this result was compared with no labels, so its key steps may not be the true ones"]
    if run not in right:
        return [] if labelled else ["this result is not scored"]
    by_decoder: dict[str, list[float]] = {}
    for other, score in right.items():
        if answer_kind(other) == "trivial":
            by_decoder.setdefault(other.decoder, []).append(score)
    own = f"of the annotated videos, {100 * right[run]:.0f} of 100 frames are right"
    if not by_decoder:
        return [f"{own}, and no answer that ignores the videos is scored for comparison"]
    best, decoder = max((sum(scores) / len(scores), name) for name, scores in by_decoder.items())
    return [f"{own}, against {100 * best:.0f} in the best answer that ignores the videos ({decoder})"]


def _finite(values: Mapping[Any, float] | pd.Series) -> dict[Any, float]:
    return {key: round(value, 5) for key, value in values.items() if math.isfinite(value)}


def shown_groups(tree: Tree, runs: Sequence[Run], column: str | None) -> Groups | None:
    """Return the groups of a column as the page shows them; None if no run was compared by groups."""
    by_run = {}
    for place, run in enumerate(runs if column is not None else ()):
        path = paths.at(paths.GROUPS, tree.results, column=column, dataset=tree.dataset, task=tree.task, **asdict(run))
        if not path.exists():
            continue
        table = read_group_table(path)
        groups = sizes(table)
        rows = [
            GroupRow(
                step=row["key_step"],
                measure=row["measure"],
                successor=_number(row["successor"], 5),
                a=row["group_a"],
                b=row["group_b"],
                p=_number(row["p"], 5),
                adjusted=_number(row["p_adjusted"], 5),
                star=row["star"] == "*",
                numbers=[[_number(row[f"{what}_{group}"], 5) for what in OF_GROUP] for group in groups],
            )
            for row in table.to_dict("records")
        ]
        interval = f"in brackets {100 * LEVEL:.0f} % bootstrap intervals of the mean"
        note = note_on_teaching(teaching_videos(tree.keysteps(run)))
        about_here = ". ".join(filter(None, [f"{about(table)}; {interval}", impossible(table), note]))
        by_run[str(place)] = GroupsOfRun(about_here, few_videos(groups, unit_of(table)), list(groups), rows)
    return Groups(column, dict[str, str](MEASURES.items()), by_run) if column is not None and by_run else None
