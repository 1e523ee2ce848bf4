"""Text for a terminal: the procedure of a result, and which of its videos to annotate first."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rgwot import paths
from rgwot.datasets.names import stem_of
from rgwot.keysteps.left_out import left_out_sentence
from rgwot.keysteps.settings import ANNOTATED, MeanfieldSettings
from rgwot.keysteps.suggest import frames_of, suggest
from rgwot.keysteps.uncovered import uncovered_sentence
from rgwot.paths import DEVIATIONS, PROCEDURE, SEGMENTS, Run, Tree, name_of
from rgwot.procedure import Deviation, Procedure, Recording, deviations, learn, recordings_from_segments
from rgwot.procedure.facts import (
    DEVIATION_HEADINGS,
    STEP_HEADINGS,
    deviation_facts,
    doubt_sentence,
    join_words,
    order_sentence,
    step_facts,
)
from rgwot.records import read_diagnostics, read_manifest, read_segments
from rgwot.reporting.names import as_named, names_in
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.provenance import unedited
from rgwot.stages.embed import read_embeddings
from rgwot.stages.procedure import read_deviation_list, read_procedure

if TYPE_CHECKING:
    import pandas as pd

    from rgwot.embedding.interface import EmbeddedTask

#: At most this many deviations are listed.
MOST_DEVIATIONS = 20


def procedure_lines(folder: Path, names_yaml: str | os.PathLike[str] | None = None) -> list[str]:
    """Return the procedure in a folder of key steps and its deviations as lines, with the names of key steps."""
    # Raises an error if a user edited the segments, because the other files would not match them.
    segments = read_segments(unedited(folder / name_of(SEGMENTS)))
    procedure = read_procedure(folder / name_of(PROCEDURE))
    found = read_deviation_list(folder / name_of(DEVIATIONS))
    names = names_in(folder, names_yaml)
    if (named := as_named(segments, names)) is not segments:
        # Key steps of one name are one, and those called - are none, as in exports; so the procedure is another.
        segments = named
        procedure = learn(recordings_from_segments(segments), procedure.learner)
        found = deviations(procedure, recordings_from_segments(segments))
    run = Run.of_folder(folder.absolute())
    head = [f"Found by {run}."] if run is not None else []
    diagnostics = read_diagnostics(path) if (path := folder / name_of(paths.DIAGNOSTICS)).is_file() else {}
    if "uncovered" in diagnostics:
        head.append(f"Warning: {uncovered_sentence(diagnostics['uncovered'])}.")
    if "left_out" in diagnostics:
        head.append(left_out_sentence(diagnostics["left_out"], len(diagnostics["labelled"]["videos"])))
    recordings = recordings_from_segments(segments)
    annotated = diagnostics.get("labelled", {}).get("videos", [])
    if run is not None and run.decoder == ANNOTATED:
        annotated = [recording.video for recording in recordings]
    return head + drawn(procedure, found, recordings, names, annotated)


def drawn(
    procedure: Procedure,
    found: Sequence[Deviation],
    recordings: Sequence[Recording],
    names: Mapping[int, str] | None = None,
    annotated: Collection[str] = (),
) -> list[str]:
    """Return a procedure as lines: its order, what to doubt, and tables of its key steps and of deviations.

    In videos that are not ``annotated``, a missing key step may not have been recognised.
    """
    doubt = doubt_sentence(procedure, found, names)
    lines = [order_sentence(procedure, names), *([doubt] if doubt else [])]
    # Tables have the numbers, too, because files and pages need them.
    names = {step: f"{step} {name}" for step, name in (names or {}).items()}
    if procedure.nodes:
        lines += ["", *_table(STEP_HEADINGS, [row.cells(names) for row in step_facts(procedure, recordings)])]
    rows = deviation_facts(found, recordings, annotated)
    return [*lines, "", *deviation_lines([row.cells(names) for row in rows])]


def deviation_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the first `MOST_DEVIATIONS` rows of a table of deviations, given by their cells, as lines."""
    if not rows:
        return ["No deviation was found."]
    more = [f"... and {len(rows) - MOST_DEVIATIONS} more in deviations.csv"] if len(rows) > MOST_DEVIATIONS else []
    return _table(DEVIATION_HEADINGS, rows[:MOST_DEVIATIONS]) + more


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (headings, *rows)
    ]


def suggestion(keysteps: Path, number: int = 3) -> list[str]:
    """Return lines that suggest videos to annotate next, with the command that exports them to ELAN.

    Raises RgwotError if the folder has no key steps, their embeddings are missing, or every video is annotated.
    """
    folder = keysteps.absolute()
    run, tree = Run.of_folder(folder), Tree.of_folder(folder)
    if run is None or tree is None or not (folder / name_of(paths.SEGMENTS)).is_file():
        raise RgwotError(
            f"{keysteps}: found no key steps, expected a folder such as "
            f"{paths.RESULTS}/keysteps/rgwot-plus/consensus/demo/assembly/seed0"
        )
    task, manifest = read_embeddings(tree.at(paths.EMBEDDINGS, run)), read_manifest(tree.at(paths.MANIFEST))
    videos = suggested(task, manifest, read_segments(folder / name_of(paths.SEGMENTS)), run.seed, number)
    if not videos:
        raise RgwotError(f"{keysteps}: every video of the task is annotated, so none is left to suggest")
    names = [stem_of(video) for video in videos]
    return [
        f"Annotate next: {join_words(names)}. To open them in ELAN with the present key steps, run",
        f"  {export_command(str(keysteps), names)}",
    ]


def export_command(keysteps: str, names: Sequence[str]) -> str:
    """Return the command that exports videos for ELAN, with the key steps of a folder."""
    chosen = [word for name in names for word in ("--videos", name)]
    return shlex.join(["rgwot", "export", "elan", keysteps, f"to_annotate_{names[0]}", *chosen])


def suggested(
    task: EmbeddedTask, manifest: pd.DataFrame, segments: pd.DataFrame, seed: int, number: int = 3
) -> list[str]:
    """Return the ids of the ``number`` videos to annotate next.

    Parameters
    ----------
    task
        The embeddings of a result.
    manifest, segments
        Tables of `rgwot.records`: which videos are annotated, and the decoded segments, which tell the number of key
        steps.
    seed
        The seed of the result.

    Returns
    -------
    The best video first; empty if every video is annotated.
    """
    annotated = set(manifest.loc[manifest["status"] == "ok", "video"])
    order = list(task.videos)
    annotated_places = [place for place, video in enumerate(order) if video in annotated]
    if len(annotated_places) == len(order):
        return []
    K = segments.loc[(segments["scope"] == "task") & (segments["key_step"] > 0), "key_step"].nunique()
    frames = frames_of(task.videos, task.features_fps)
    from threadpoolctl import threadpool_limits

    # Threads would slow down thousands of small products, and change the rounding of their sums.
    with threadpool_limits(limits=1):
        places = suggest(frames, max(K, 2), number, MeanfieldSettings(), np.random.default_rng(seed), annotated_places)
    return [order[place] for place in places]
