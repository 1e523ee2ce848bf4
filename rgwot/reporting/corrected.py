"""The stage ``correct``: a result with corrections, in a folder of its own beside the result as it was found."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from rgwot import paths
from rgwot.corrections import Corrected, Edit, apply_corrections, read_corrections, write_corrections
from rgwot.corrections.difference import difference, read_edited, settled
from rgwot.corrections.result import corrected_result
from rgwot.keysteps.outputs import NOT_KEY_STEPS, KeySteps, write_keysteps
from rgwot.paths import Run, name_of
from rgwot.procedure.files import read_procedure
from rgwot.records import read_diagnostics, read_orders, read_segments
from rgwot.reporting.names import names_in, names_text, read_names
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import replacing, write_csv, write_text

log = logging.getLogger(__name__)


def warn_as_found(keysteps: Path, done: str) -> None:
    """Warn where a result that is used as it was found, such as ``exported``, has a corrected one beside it."""
    corrected = paths.corrected_folder(keysteps)
    if corrected is not None and corrected.is_dir():
        log.warning("%s: %s as it was found; %s has your corrections", keysteps, done, corrected)


def correct_folder(folder: Path, edits: Sequence[Edit], names: Mapping[int, str]) -> tuple[KeySteps, Corrected]:
    """Correct the result in a folder of key steps, which have these names, in memory."""
    orders = read_orders(folder / name_of(paths.ORDER))
    return corrected_result(
        read_segments(folder / name_of(paths.SEGMENTS)),
        {
            str(video): tuple(map(int, order.split(">")))
            for video, order in zip(orders["video"], orders["order"], strict=True)
        },
        read_procedure(folder / name_of(paths.PROCEDURE)),
        read_diagnostics(folder / name_of(paths.DIAGNOSTICS)),
        edits,
        names,
    )


def write_corrected(
    keysteps: Path,
    corrections_yaml: str | os.PathLike[str],
    output: Path,
    names_yaml: str | os.PathLike[str] | None = None,
) -> pd.DataFrame:
    """Write a corrected result into a folder, and return which corrections hold (`rgwot.corrections.Corrected`).

    It has the files of a folder of key steps, ``names.yaml`` with the names of the corrected key steps, and
    ``corrections.csv``, the report.

    Raises
    ------
    RgwotError
        For a folder that is none of key steps, or no or a wrong file of corrections.
    """
    folder, run = _result(keysteps)
    if not Path(corrections_yaml).is_file():
        raise RgwotError(f"{corrections_yaml}: no such file; expected corrections, as a page lets you download them")
    found, replayed = correct_folder(
        folder, read_corrections(corrections_yaml), names_in(folder, read_names(names_yaml))
    )
    with replacing(output, NOT_KEY_STEPS) as made:
        write_keysteps(made, found)
        write_csv(replayed.report, made / name_of(paths.CORRECTED_REPORT))
        names = names_text(str(run), found.segment_table, replayed.names)
        write_text(names, made / name_of(paths.CORRECTED_NAMES))
    return replayed.report


def add_edited(
    corrections_yaml: Path,
    files: Sequence[Path],
    keysteps: Path,
    names_yaml: str | os.PathLike[str] | None,
    said: Mapping[str, str],
    tier: str | None = None,
    fps: str | None = None,
) -> int:
    """Add to a file of corrections what makes a result, with those that it has, what edited files say.

    ``said`` is who did it and why. Returns the number of corrections that were added.
    """
    folder, _ = _result(keysteps)
    before, names = read_corrections(corrections_yaml), names_in(folder, read_names(names_yaml))
    found = read_segments(folder / name_of(paths.SEGMENTS))
    now = apply_corrections(found, before, names)
    edited = read_edited(files, now.segments["video"].unique(), tier, fps)
    edited = settled(edited, [(found, names), (now.segments, now.names)])
    today = {"when": datetime.now(tz=UTC).date().isoformat()}
    added = difference(now.segments, now.names, edited, {**today, **said})
    if added:
        write_corrections([*before, *added], corrections_yaml)
    return len(added)


def _result(keysteps: Path) -> tuple[Path, Run]:
    folder = keysteps.absolute()
    run = Run.of_folder(folder)
    if run is None or not (folder / name_of(paths.SEGMENTS)).is_file():
        raise RgwotError(f"{keysteps}: found no key steps there, expected a folder such as .../seed0 below keysteps")
    return folder, run


def report_lines(report: pd.DataFrame) -> list[str]:
    """Say how many corrections hold, and of every other one why not."""
    lines = [f"{int(report['holds'].sum())} of {len(report)} corrections hold here"]
    for at, row in enumerate(report.to_dict("records"), start=1):
        if not row["holds"]:
            said = ", ".join(str(row[key]) for key in ("edit", "by", "when", "why") if row[key])
            lines.append(f"  correction {at} ({said}) does not hold here: {row['reason']}")
    return lines
