"""A result as people read it: with the names of its key steps (those of equal name are merged) and its deviations."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from rgwot.names import as_named, names_in
from rgwot.paths import DEVIATIONS, PROCEDURE, SEGMENTS, Tree, name_of
from rgwot.procedure import Deviation, Procedure, deviations, learn, recordings_from_segments
from rgwot.procedure.expected import NAMELESS, ExpectedStep, compare_with_own
from rgwot.records import read_segments
from rgwot.runtime.yaml_files import read_yaml
from rgwot.stages.procedure import read_deviation_list, read_expected, read_procedure


class _NamedResult(NamedTuple):
    """Segments, names of key steps, procedure and deviations of a result; None or empty if they are not known.

    If the study expects a procedure, deviations from it are among ``deviations``, and ``own`` are sentences on what
    cannot be said of single videos.
    """

    segments: pd.DataFrame
    names: Mapping[int, str]
    procedure: Procedure | None
    deviations: Sequence[Deviation]
    own: Sequence[str] = ()


def named(
    segments: pd.DataFrame,
    names: Mapping[int, str],
    procedure: Procedure | None,
    found: Sequence[Deviation],
    expected: Sequence[ExpectedStep] | None = None,
) -> _NamedResult:
    """Return a result with the names of its key steps.

    If key steps have the same name, or one is called ``-``, the procedure and its deviations are learned anew. If a
    procedure is ``expected``, deviations from it are listed with those from what most videos do; their sureness, if
    known, is taken from ``found``.
    """
    merged = as_named(segments, names)
    learner = None if merged is segments or procedure is None else procedure.learner
    if learner is None and expected is None:
        return _NamedResult(merged, names, procedure, found)
    recordings, every = (recordings_from_segments(merged, every=one) for one in (False, True))
    if learner is not None:
        procedure = learn(recordings, learner)
        others = deviations(procedure, recordings, every=every)
        found = [*others, *(one for one in found if one.against == "own")]
    if expected is None:
        return _NamedResult(merged, names, procedure, found)
    own = compare_with_own(expected, names, recordings, every=every)
    others = [one for one in found if one.against != "own"]
    if own is None:
        return _NamedResult(merged, names, procedure, others, [NAMELESS])
    sure = {(one.video, one.kind, one.key_step): one.sureness for one in found if one.against == "own"}
    told = [replace(one, sureness=sure.get((one.video, one.kind, one.key_step))) for one in own.deviations]
    return _NamedResult(merged, names, procedure, [*others, *told], own.sentences())


def expected_file(folder: Path) -> Path | None:
    """Return the file that config.yaml of a result's study names under ``expected`` for the dataset, or None."""
    tree = Tree.of_folder(folder.absolute())
    config = None if tree is None else tree.results.parent / "config.yaml"
    if tree is None or config is None or not config.is_file():
        return None
    content = read_yaml(config)
    datasets = content.get("datasets") if isinstance(content, dict) else None
    entry = datasets.get(tree.dataset) if isinstance(datasets, dict) else None
    name = entry.get("expected") if isinstance(entry, dict) else None
    return None if not isinstance(name, str) else config.parent / name.replace("{task}", tree.task)


def read_named(folder: Path, names_yaml: str | os.PathLike[str] | None = None) -> _NamedResult:
    """Read a result from its folder, in which all files but ``segments.csv`` may be missing.

    Names are those of ``names_yaml``, by default of its study (`rgwot.names.names_in`).
    """
    segments, procedure, found = read_segments(folder / name_of(SEGMENTS)), None, list[Deviation]()
    if (folder / name_of(PROCEDURE)).is_file():
        procedure = read_procedure(folder / name_of(PROCEDURE))
    if (folder / name_of(DEVIATIONS)).is_file():
        found = read_deviation_list(folder / name_of(DEVIATIONS))
    expected = None if (path := expected_file(folder)) is None else read_expected(path)
    return named(segments, names_in(folder, names_yaml), procedure, found, expected)
