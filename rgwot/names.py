"""Names of key steps: those that people typed on the page of a task, and the annotated steps that match.

Typed names are in a YAML file ``names/{dataset}/{task}.yaml``::

    rgwot/graphcut/seed0:
      result: 3f2a9c1b7d20
      names:
        1: "pour water"
      segments:
        monday: "0 1500 1 9000"

Every training numbers its clusters afresh, so names belong to one result, identified by ``result``. ``segments`` has
its key steps, each with its end in milliseconds; they show which key steps of a later result get the names
(`names_of`). Key steps with the same name are one key step, and a key step named ``-`` is background (`as_named`).
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import yaml

from rgwot.columns import COUNTS, SHOWS
from rgwot.config.experiments import present
from rgwot.evaluation.metrics import IntArray, contingency, match
from rgwot.paths import DIAGNOSTICS, NAMES, SEGMENTS, Run, Tree, name_of
from rgwot.records import read_diagnostics, read_segments
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.text import pairing_key
from rgwot.runtime.yaml_files import read_yaml
from rgwot.timing import BACKGROUND, frame_times, parse_rate, predicted_labels, scoring_frames, truth_labels

log = logging.getLogger(__name__)

_SEGMENTS = re.compile(r"\d{1,6} \d{1,12}( \d{1,6} \d{1,12})*")

#: Longest name in characters.
LONGEST = 80
#: The name that makes a key step background.
NO_STEP = "-"


#: A name is carried over if at least this share of the key step, or of the new one, is common to both.
CARRIED = 0.5


@dataclass(frozen=True)
class RunNames:
    """The names of a run's key steps, and the id and segments (by video) of the result for which they were typed.

    The text of a video has the key step and the end in milliseconds of every segment. Names that an earlier version
    wrote have no segments.
    """

    result: str
    names: Mapping[int, str]
    segments: Mapping[str, str] = field(default_factory=dict)


class _Carried(NamedTuple):
    """The names of a result's key steps, and the ``lost`` names of an earlier result, which fit none of them."""

    names: dict[int, str]
    lost: list[str]


def result_id(segments: pd.DataFrame) -> str:
    """Return 12 hexadecimal digits that identify the key steps of a run.

    They depend on the segments of scope ``task``, with times in milliseconds.
    """
    rows = segments[segments["scope"] == "task"].to_dict("records")
    lines = [f"{row['video']},{row['start_s']:.3f},{row['end_s']:.3f},{row['key_step']}\n" for row in rows]
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:12]


def read_names(path: str | os.PathLike[str] | None) -> dict[str, RunNames]:
    """Read typed names by run (``method/decoder/seedN``), {} for a missing file; raise RgwotError for an invalid file.

    If the id of a run has changed since, its names are also returned by the present id.
    """
    content = None if path is None or not Path(path).exists() else read_yaml(path)
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise RgwotError(f"{path}: found {type(content).__name__}, expected runs such as rgwot/graphcut/seed0")
    read = {str(run): _run_names(f"{path}: {str(run)!r}", str(run), entry) for run, entry in content.items()}
    return {_renamed(run): names for run, names in read.items()} | read


def _renamed(run: str) -> str:
    """Return a run by its present id, so that names typed for an earlier id are kept."""
    *ids, seed = run.split("/")
    return "/".join([*(present(text) if "@" in text else text for text in ids), seed])


def _run_names(where: str, run: str, entry: object) -> RunNames:
    if Run.of_text(run) is None:
        raise RgwotError(f"{where}: expected a run such as rgwot/graphcut/seed0")
    if (
        not isinstance(entry, dict)
        or set(entry) - {"segments"} != {"result", "names"}
        or not isinstance(entry["names"], dict)
    ):
        keys = sorted(map(str, entry)) if isinstance(entry, dict) else type(entry).__name__
        raise RgwotError(f"{where}: found {keys}, expected 'result' and 'names'; press Download names on the page")
    names = {}
    for step, name in entry["names"].items():
        if not isinstance(step, int) or isinstance(step, bool) or step < 1:
            raise RgwotError(f"{where}: found key step {step!r}, expected a whole number, 1 or above")
        names[step] = _name(f"{where}: key step {step}", name)
    if not isinstance(entry["result"], str | int) or isinstance(entry["result"], bool):
        raise RgwotError(
            f"{where}: result: found {entry['result']!r}, expected 12 letters and digits; put it in quotes"
        )
    segments = entry.get("segments", {})
    if not isinstance(segments, dict) or not all(_SEGMENTS.fullmatch(str(text)) for text in segments.values()):
        raise RgwotError(f"{where}: segments: expected videos with key steps and ends in milliseconds, such as 1 9000")
    return RunNames(str(entry["result"]), names, {str(video): str(text) for video, text in segments.items()})


def _name(where: str, name: object) -> str:
    """Return the name of a key step without surrounding spaces; raise RgwotError if it is not a valid name."""
    # YAML reads some unquoted names as numbers, dates or booleans.
    if not isinstance(name, str):
        raise RgwotError(f"{where}: found {name!r}, expected a name; put it in quotes")
    text = pairing_key(name).strip()
    if not 0 < len(text) <= LONGEST or any(unicodedata.category(letter) == "Cc" for letter in text):
        raise RgwotError(f"{where}: found {name[:100]!r}, expected a name in one line, of 1 to {LONGEST} characters")
    return text


def names_of(names: Mapping[str, RunNames], run: str, segments: pd.DataFrame) -> _Carried:
    """Return the names of a run's key steps.

    Names that were typed for an earlier result of this run, or of a run that differs only in K, are carried over to the
    key steps that cover the same times of the same videos, one to one.
    """
    named = names.get(run) or next((names[other] for other in names if _without_K(other) == _without_K(run)), None)
    if named is None:
        return _Carried({}, [])
    if named.result == result_id(segments):
        return _Carried(dict(named.names), [])
    steps = _same_steps(named.segments, segments)
    kept = {steps[step]: name for step, name in named.names.items() if step in steps}
    return _Carried(dict(sorted(kept.items())), [name for step, name in named.names.items() if step not in steps])


def _without_K(run: str) -> str:  # noqa: N802
    """Return a run without the K in the id of its decoder."""
    method, decoder, seed = run.split("/")
    name, _, keys = decoder.partition("@")
    return "/".join([method, name, *(key for key in keys.split(",") if key and not key.startswith("K=")), seed])


def _same_steps(before: Mapping[str, str], segments: pd.DataFrame) -> dict[int, int]:
    """Return, by key step of an earlier result, the key step of ``segments`` that has most time in common with it."""
    shared: dict[tuple[int, int], int] = {}
    for video, rows in segments[segments["scope"] == "task"].groupby("video", sort=False):
        old = np.array(before.get(str(video), "").split(), dtype=np.int64).reshape(-1, 2)
        new = rows.sort_values("start_s")
        ends = np.rint(new["end_s"].to_numpy(np.float64) * 1000).astype(np.int64)
        if not len(old):
            continue
        borders = np.union1d(old[:, 1], ends)
        borders = borders[borders <= min(old[-1, 1], ends[-1])]
        earlier = old[np.searchsorted(old[:, 1], borders), 0].tolist()
        later = new["key_step"].to_numpy()[np.searchsorted(ends, borders)].tolist()
        for a, b, length in zip(earlier, later, np.diff(borders, prepend=0).tolist(), strict=True):
            shared[a, b] = shared.get((a, b), 0) + length
    if not shared:
        return {}
    from scipy.optimize import linear_sum_assignment

    olds, news = (sorted({pair[side] for pair in shared}) for side in (0, 1))
    common = np.array([[shared.get((a, b), 0) for b in news] for a in olds])
    own, others = common.sum(axis=1), common.sum(axis=0)
    # Background is not matched, because it has no name.
    common *= np.outer(np.array(olds) > 0, np.array(news) > 0)
    return {
        olds[a]: news[b]
        for a, b in zip(*(places.tolist() for places in linear_sum_assignment(-common)), strict=True)
        if common[a, b] >= max(1, CARRIED * min(own[a], others[b]))
    }


def lost_names(run: str, lost: Sequence[str]) -> str:
    """Return a line on names that could not be carried over."""
    return (
        f"{run}: names typed for another result could not be given to its key steps: {', '.join(lost)}; "
        "type them again on its page"
    )


def names_text(run: str, segments: pd.DataFrame, names: Mapping[int, str]) -> str:
    """Return the text of a file with the names of one run."""
    if not names:
        return "{}\n"
    rows = segments[segments["scope"] == "task"].sort_values(["video", "start_s"], kind="stable")
    pairs = rows["key_step"].astype(str) + " " + (rows["end_s"] * 1000).round().astype("int64").astype(str)
    by_video = {str(video): " ".join(texts) for video, texts in pairs.groupby(rows["video"], sort=False)}
    entry = {"result": result_id(segments), "names": dict(names), "segments": by_video}
    return str(yaml.safe_dump({run: entry}, allow_unicode=True, sort_keys=False, width=10**9))


def names_in(folder: Path, names_yaml: str | os.PathLike[str] | None = None) -> dict[int, str]:
    """Return the names of the key steps in a folder of results, such as ``METHOD/DECODER/DATASET/TASK/seedN``.

    The names are read from ``names_yaml``, by default the file of the study that the results belong to. A result saved
    from Python can have its own file of names in its folder, wherever that is. If a result was learned with annotated
    videos, key steps without a typed name have their annotated name. Names of an earlier result are carried over
    (`names_of`), with a warning about those that cannot be.
    """
    folder = folder.absolute()
    file = _names_file(folder) if names_yaml is None else names_yaml
    named = read_names(folder / name_of(NAMES))
    names, run = {**read_names(file), **named}, str(Run.of_folder(folder) or next(iter(named), ""))
    diagnostics = folder / name_of(DIAGNOSTICS)
    taught = read_diagnostics(diagnostics).names if diagnostics.is_file() else {}
    if not names or not run:
        return taught
    typed, lost = names_of(names, run, read_segments(folder / name_of(SEGMENTS)))
    if lost:
        log.warning("%s: %s", file, lost_names(run, lost))
    return taught | typed


def _names_file(folder: Path) -> Path | None:
    """Return the path of the study's names for a result folder; None if the folder belongs to no study."""
    tree = Tree.of_folder(folder)
    if tree is None:
        return None
    study = tree.results.parent
    content = read_yaml(study / "config.yaml") if (study / "config.yaml").is_file() else None
    page = content.get("page") if isinstance(content, dict) else None
    place = page.get("names") if isinstance(page, dict) else None
    return study / str(place or "names") / tree.dataset / f"{tree.task}.yaml"


def as_named(segments: pd.DataFrame, names: Mapping[int, str]) -> pd.DataFrame:
    """Merge key steps that have the same name, and turn those named ``-`` into background.

    Merged key steps have the smallest of their numbers. Adjoining segments of the same key step, video and scope are
    joined; the whole counts as an occurrence if a part of it does. Background never counts.
    """
    first: dict[str, int] = {NO_STEP: BACKGROUND}
    merged = {step: first.setdefault(name, step) for step, name in sorted(names.items())}
    if all(step == other for step, other in merged.items()):
        return segments
    by = ["video", "scope"] if "scope" in segments else ["video"]
    steps = [name for name in ("key_step", SHOWS) if name in segments]
    table = segments.assign(**{name: segments[name].replace(merged) for name in steps})
    table = table.sort_values([*by, "start_s"], kind="stable")
    before = table.groupby(by, sort=False)[["end_s", *steps]].shift()
    joins = (before["end_s"] == table["start_s"]) & (before[steps] == table[steps]).all(axis=1)
    runs = table.groupby((~joins).cumsum().to_numpy(), sort=False)
    joined = runs.first().assign(end_s=runs["end_s"].last())
    if COUNTS in table:
        joined[COUNTS] = runs[COUNTS].any() & (joined[SHOWS] != BACKGROUND)
    return joined.reset_index(drop=True)[list(segments.columns)]


def named_order(order: str, names: Mapping[int, str]) -> str:
    """Write an order, with names instead of numbers for key steps that have one.

    >>> named_order("3>1", {3: "pour"})
    'pour > 1'
    """
    return " > ".join(names.get(int(step), step) for step in order.split(">") if step)


STRIDE = 2
"""Pages and figures match on every second native frame, regardless of ``evaluation.stride``."""


def partners(truth: IntArray, prediction: IntArray, n_classes: int, n_clusters: int) -> dict[int, int]:
    """Return the matched class of each cluster, from the labels (T,) of common frames (methods 6.1, step 1)."""
    overlap = contingency(truth, prediction, n_classes, n_clusters)
    classes, clusters = match(overlap)
    # A pair without a common frame is not a match: it only completes the one-to-one matching.
    shared = overlap[classes, clusters] > 0
    return dict(zip(clusters[shared].tolist(), classes[shared].tolist(), strict=True))


def match_to_steps(videos: pd.DataFrame, annotations: pd.DataFrame, predicted: pd.DataFrame) -> dict[int, int]:
    """Match decoded key steps to annotated ones by their common frames over all videos of a task.

    The matching is one to one with background as a class, as in the protocol ``macro_task`` (methods 6.1). The
    arguments are tables of `rgwot.records`: the annotated videos (those without a prediction are left out), their
    annotated segments, and the decoded segments of scope ``task``.

    Returns
    -------
    dict
        Annotated step (0 is background) by decoded key step. Key steps without a match are left out.
    """
    truths, guesses = [], []
    truth_of, found_of = (dict(list(table.groupby("video", sort=False))) for table in (annotations, predicted))
    for video in videos.to_dict("records"):
        if video["video"] not in found_of:
            continue
        fps = parse_rate(video["fps"])
        frames = scoring_frames(float(video["duration_s"]), fps, STRIDE)
        truth_here, mine = truth_of.get(video["video"], annotations.iloc[:0]), found_of[video["video"]]
        truths.append(truth_labels(truth_here.start_s, truth_here.end_s, truth_here.key_step, frames, fps, "exact"))
        guesses.append(predicted_labels(mine.start_s, mine.end_s, mine.key_step, frame_times(frames, fps)))
    if not truths:
        return {}
    truth, guess = np.concatenate(truths), np.concatenate(guesses)
    return partners(truth, guess, int(truth.max()) + 1, int(guess.max()) + 1)
