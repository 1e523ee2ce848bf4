"""A result as people read it: with the names of its key steps, by which some are merged, and its deviations."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from rgwot.paths import DEVIATIONS, PROCEDURE, SEGMENTS, name_of
from rgwot.procedure import Deviation, Procedure, deviations, learn, recordings_from_segments
from rgwot.records import read_segments
from rgwot.reporting.names import as_named, names_in
from rgwot.stages.procedure import read_deviation_list, read_procedure


class Named(NamedTuple):
    """Segments, names of key steps, procedure and deviations of a result; None and none if they are not known."""

    segments: pd.DataFrame
    names: Mapping[int, str]
    procedure: Procedure | None
    deviations: Sequence[Deviation]


def named(
    segments: pd.DataFrame, names: Mapping[int, str], procedure: Procedure | None, found: Sequence[Deviation]
) -> Named:
    """Return a result with the names of its key steps.

    If key steps have the same name, or one is called ``-``, the procedure and its deviations are learned anew.
    """
    merged = as_named(segments, names)
    if merged is segments or procedure is None:
        return Named(merged, names, procedure, found)
    recordings = recordings_from_segments(merged)
    learned = learn(recordings, procedure.learner)
    return Named(merged, names, learned, deviations(learned, recordings))


def read_named(folder: Path, names_yaml: str | os.PathLike[str] | None = None) -> Named:
    """Read a result from its folder, of which some files may be missing besides ``segments.csv``.

    Names are those of ``names_yaml``, by default of its study (`rgwot.reporting.names.names_in`).
    """
    segments, procedure, found = read_segments(folder / name_of(SEGMENTS)), None, list[Deviation]()
    if (folder / name_of(PROCEDURE)).is_file():
        procedure = read_procedure(folder / name_of(PROCEDURE))
    if (folder / name_of(DEVIATIONS)).is_file():
        found = read_deviation_list(folder / name_of(DEVIATIONS))
    return named(segments, names_in(folder, names_yaml), procedure, found)
