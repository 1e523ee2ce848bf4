"""What key steps are called: names that people typed into the page of a task, and the annotated steps they stand for.

Names lie in a small YAML file ``names/{dataset}/{task}.yaml``, which looks like this::

    rgwot/graphcut/seed0:
      result: 3f2a9c1b7d20
      names:
        1: "pour water"

Every training numbers its clusters afresh, so names hold for one result: ``result`` says which. Key steps of one name
are one key step, and one called ``-`` is background (`as_named`).
"""

from __future__ import annotations

import hashlib
import logging
import os
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import yaml

from rgwot.evaluation.metrics import IntArray, contingency, match
from rgwot.paths import DIAGNOSTICS, NAMES, SEGMENTS, Run, Tree, name_of
from rgwot.records import read_diagnostics, read_segments
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import read_yaml
from rgwot.timing import BACKGROUND, frame_times, parse_rate, predicted_labels, scoring_frames, truth_labels

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger(__name__)

#: Characters of a name at most.
LONGEST = 80
#: The name that makes a key step background.
NO_STEP = "-"


class RunNames(NamedTuple):
    """Names of the key steps of one run, and the result that they were typed for."""

    result: str
    names: Mapping[int, str]


def result_id(segments: pd.DataFrame) -> str:
    """Return 12 hexadecimal digits that stand for the key steps of a run.

    Of the found segments only scope ``task`` counts, and times count to the millisecond.
    """
    rows = segments[segments["scope"] == "task"].to_dict("records")
    lines = [f"{row['video']},{row['start_s']:.3f},{row['end_s']:.3f},{row['key_step']}\n" for row in rows]
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:12]


def read_names(path: str | os.PathLike[str] | None) -> dict[str, RunNames]:
    """Read typed names by run (``method/decoder/seedN``); no file, no names. A wrong one is an `RgwotError`."""
    content = None if path is None or not Path(path).exists() else read_yaml(path)
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise RgwotError(f"{path}: found {type(content).__name__}, expected runs such as rgwot/graphcut/seed0")
    return {str(run): _run_names(f"{path}: {str(run)!r}", str(run), entry) for run, entry in content.items()}


def _run_names(where: str, run: str, entry: Any) -> RunNames:
    if Run.of_text(run) is None:
        raise RgwotError(f"{where}: expected a run such as rgwot/graphcut/seed0")
    if not isinstance(entry, dict) or set(entry) != {"result", "names"} or not isinstance(entry["names"], dict):
        found = sorted(map(str, entry)) if isinstance(entry, dict) else type(entry).__name__
        raise RgwotError(f"{where}: found {found}, expected the keys result and names; download the file from the page")
    names = {}
    for step, name in entry["names"].items():
        if not isinstance(step, int) or isinstance(step, bool) or step < 1:
            raise RgwotError(f"{where}: found key step {step!r}, expected a whole number from 1")
        names[step] = _name(f"{where}: key step {step}", name)
    if not isinstance(entry["result"], str | int) or isinstance(entry["result"], bool):
        raise RgwotError(
            f"{where}: result: found {entry['result']!r}, expected 12 letters and digits; put it in quotes"
        )
    return RunNames(str(entry["result"]), names)


def _name(where: str, name: Any) -> str:
    """Return the name of a key step without spaces around it; RgwotError where it is none."""
    # Unquoted, YAML takes some names for numbers, dates or truth values.
    if not isinstance(name, str):
        raise RgwotError(f"{where}: found {name!r}, expected a name; put it in quotes")
    text = name.strip()
    if not 0 < len(text) <= LONGEST or any(unicodedata.category(letter) == "Cc" for letter in text):
        raise RgwotError(f"{where}: found {name[:100]!r}, expected a name in one line, of 1 to {LONGEST} characters")
    return text


def names_of(names: Mapping[str, RunNames], run: str, segments: pd.DataFrame) -> dict[int, str]:
    """Return the names of a run's key steps, none where they were typed for another result."""
    named = names.get(run)
    return dict(named.names) if named is not None and named.result == result_id(segments) else {}


def names_text(run: str, segments: pd.DataFrame, names: Mapping[int, str]) -> str:
    """Return the file of names of one run."""
    content: dict[str, Any] = {run: {"result": result_id(segments), "names": dict(names)}} if names else {}
    return str(yaml.safe_dump(content, allow_unicode=True, sort_keys=False))


def names_in(folder: Path, names_yaml: str | os.PathLike[str] | None = None) -> dict[int, str]:
    """Return the names of the key steps in a folder of results, such as ``METHOD/DECODER/DATASET/TASK/seedN``.

    They are those of ``names_yaml``, by default of the study whose results these are. A result that was saved from
    Python may have a file of its own with them, which is known in a folder anywhere. Where annotated videos taught, key
    steps have the names that they have there, unless others were typed. Names of another result are told in the log.
    """
    folder = folder.absolute()
    file = _names_file(folder) if names_yaml is None else names_yaml
    named = read_names(folder / name_of(NAMES))
    names, run = {**read_names(file), **named}, str(Run.of_folder(folder) or next(iter(named), None))
    diagnostics = folder / name_of(DIAGNOSTICS)
    taught = label_names(read_diagnostics(diagnostics)) if diagnostics.is_file() else {}
    if run not in names:
        return taught
    typed = names_of(names, run, read_segments(folder / name_of(SEGMENTS)))
    if not typed and names[run].names:
        log.warning("%s: names of %s are those of an earlier result and not used; type them on its page", file, run)
    return taught | typed


def _names_file(folder: Path) -> Path | None:
    """Return where the study keeps the names of the result in a folder; None for a folder elsewhere."""
    tree = Tree.of_folder(folder)
    if tree is None:
        return None
    study = tree.results.parent
    content = read_yaml(study / "config.yaml") if (study / "config.yaml").is_file() else None
    page = content.get("page") if isinstance(content, dict) else None
    place = page.get("names") if isinstance(page, dict) else None
    return study / str(place or "names") / tree.dataset / f"{tree.task}.yaml"


def label_names(diagnostics: Mapping[str, Any]) -> dict[int, str]:
    """Return the names that annotations gave to the key steps of a result, by its ``diagnostics.json``."""
    return {int(step): str(name) for step, name in diagnostics.get("labelled", {}).get("names", {}).items()}


def as_named(segments: pd.DataFrame, names: Mapping[int, str]) -> pd.DataFrame:
    """Return segments as their names say: key steps of one name as the first of them, those called ``-`` as background.

    Neighbouring segments of one video and scope that are then of one key step become one.
    """
    first: dict[str, int] = {NO_STEP: BACKGROUND}
    same = {step: first.setdefault(name, step) for step, name in sorted(names.items())}
    if all(step == other for step, other in same.items()):
        return segments
    by = ["video", "scope"] if "scope" in segments else ["video"]
    table = segments.assign(key_step=segments["key_step"].replace(same)).sort_values([*by, "start_s"], kind="stable")
    before = table.groupby(by, sort=False)[["end_s", "key_step"]].shift()
    joins = (before["end_s"] == table["start_s"]) & (before["key_step"] == table["key_step"])
    runs = table.groupby((~joins).cumsum().to_numpy(), sort=False)
    return runs.first().assign(end_s=runs["end_s"].last()).reset_index(drop=True)[list(segments.columns)]


def named_order(order: str, names: Mapping[int, str]) -> str:
    """Write an order with names for numbers, where there are any.

    >>> named_order("3>1", {3: "pour"})
    'pour > 1'
    """
    return " > ".join(names.get(int(step), step) for step in order.split(">") if step)


STRIDE = 2
"""Pages and figures match by every second native frame, whatever ``evaluation.stride`` is."""


def partners(truth: IntArray, prediction: IntArray, n_classes: int, n_clusters: int) -> dict[int, int]:
    """Return the class of every cluster that has one, from the labels (T,) of common frames (methods 6.1, step 1)."""
    overlap = contingency(truth, prediction, n_classes, n_clusters)
    classes, clusters = match(overlap)
    # A pair without a common frame is a tie broken by index: it says nothing.
    shared = overlap[classes, clusters] > 0
    return dict(zip(clusters[shared].tolist(), classes[shared].tolist(), strict=True))


def match_to_steps(videos: pd.DataFrame, annotations: pd.DataFrame, predicted: pd.DataFrame) -> dict[int, int]:
    """Match found key steps to annotated ones by their common frames over all videos of a task.

    One to one, as protocol ``macro_task`` does it with background as a class (methods 6.1). All three are tables as of
    `rgwot.records`: the annotated videos, of which those without a prediction are left out, their annotated segments,
    and the segments found, of scope ``task``.

    Returns
    -------
    dict
        Found key step to annotated step, 0 for background. A key step without a partner is left out.
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
