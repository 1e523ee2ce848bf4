"""Text for a terminal: the procedure of a result, and which of its videos to annotate first."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rgwot import paths
from rgwot.datasets.names import stem_of
from rgwot.keysteps.given import lasting
from rgwot.keysteps.left_out import left_out_sentence
from rgwot.keysteps.reading import edits_sentence, untold
from rgwot.keysteps.settings import ANNOTATED
from rgwot.keysteps.suggest import MOMENT_COLUMNS, moments_of, number_of_key_steps, videos_of
from rgwot.keysteps.uncovered import uncovered_sentence
from rgwot.keysteps.warnings import COMPETING
from rgwot.paths import PROCEDURE, SEGMENTS, Run, Tree, name_of
from rgwot.procedure import Deviation, Procedure, Recording, recordings_from_segments
from rgwot.procedure.facts import (
    DEVIATION_HEADINGS,
    again_sentences,
    complete_sentence,
    deviation_facts,
    doubt_sentence,
    join_words,
    order_sentence,
    step_facts,
    step_table,
)
from rgwot.records import read_annotations, read_diagnostics, read_manifest, read_segments
from rgwot.reporting.named import read_named
from rgwot.runtime.csv_files import write_csv
from rgwot.runtime.errors import RgwotError
from rgwot.stages.decode import given_of
from rgwot.stages.embed import read_embeddings

if TYPE_CHECKING:
    import pandas as pd

    from rgwot.embedding.interface import EmbeddedTask

#: At most this many deviations are listed.
MOST_DEVIATIONS = 20


def procedure_lines(folder: Path, names_yaml: str | os.PathLike[str] | None = None) -> list[str]:
    """Return the procedure in a folder of key steps and its deviations as lines, with the names of key steps."""
    segments, names, procedure, found, own = read_named(folder, names_yaml)
    if procedure is None:
        raise RgwotError(f"{folder}: found no {name_of(PROCEDURE)}, expected a folder of key steps")
    run = Run.of_folder(folder.absolute())
    head = [f"Found by {run}."] if run is not None else []
    annotated: Sequence[str] = ()
    blind: Sequence[str] = ()
    if (path := folder / name_of(paths.DIAGNOSTICS)).is_file():
        diagnostics = read_diagnostics(path)
        annotated = diagnostics.labelled_videos
        head += [f"Warning: {line}." for line in diagnostics.warnings or () if line.startswith(COMPETING)]
        if diagnostics.uncovered is not None:
            head.append(f"Warning: {uncovered_sentence(diagnostics.uncovered)}.")
        if diagnostics.left_out is not None:
            head.append(left_out_sentence(diagnostics.left_out, len(annotated)))
        edits = diagnostics.second_reading
        if edits is not None and (sentence := edits_sentence(edits, bool(annotated))):
            head.append(sentence)
            blind = untold(edits)
    head += own
    recordings = recordings_from_segments(segments)
    every = recordings_from_segments(segments, every=True)
    if run is not None and run.decoder == ANNOTATED:
        annotated = [recording.video for recording in recordings]
    return head + drawn(procedure, found, recordings, names, annotated, every, blind)


def drawn(
    procedure: Procedure,
    found: Sequence[Deviation],
    recordings: Sequence[Recording],
    names: Mapping[int, str] | None = None,
    annotated: Collection[str] = (),
    every: Sequence[Recording] | None = None,
    blind: Collection[str] = (),
) -> list[str]:
    """Return a procedure as lines: its order, what to doubt, and tables of its key steps and of deviations.

    ``recordings`` are the occurrences in the videos, and ``every`` all their segments, if some do not count. In videos
    that are not ``annotated``, a missing key step may not have been recognised. ``blind`` has the kinds of deviations
    that cannot be detected.
    """
    rows = deviation_facts(found, recordings, annotated, every)
    doubt = doubt_sentence(procedure, rows, names)
    lines = [
        order_sentence(procedure, names),
        *(() if "repeated" in blind else again_sentences(procedure, recordings, names)),
        *([doubt] if doubt else []),
    ]
    # Tables also have the numbers of key steps, because files and pages use them.
    names = {step: f"{step} {name}" for step, name in (names or {}).items()}
    if procedure.nodes:
        lines += ["", *_table(*step_table(step_facts(procedure, recordings, every), names))]
    complete = [text] if (text := complete_sentence(procedure, found)) else []
    return [*lines, "", *deviation_lines([row.cells(names) for row in rows]), *complete]


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
    folder, run, tree = _result(keysteps)
    task, manifest = read_embeddings(tree.at(paths.EMBEDDINGS, run)), read_manifest(tree.at(paths.MANIFEST))
    videos = suggested(task, manifest, read_segments(folder / name_of(paths.SEGMENTS)), run.seed, number)
    if not videos:
        raise RgwotError(f"{keysteps}: every video of the task is annotated, so none is left to suggest")
    names = [stem_of(video) for video in videos]
    return [
        f"Annotate next: {join_words(names)}. To open them in ELAN with the present key steps, run",
        f"  {export_command(str(keysteps), names)}",
    ]


def moment_suggestion(keysteps: Path, number: int, output: Path | None = None) -> list[str]:
    """Return lines with a table of moments to label next, and write it to ``output`` (CSV) to be filled in.

    Labels of the task's annotations count as answers. Nothing is asked about videos with annotated segments, because
    their own files take precedence over the table. Raises RgwotError if the folder has no key steps, their
    embeddings are missing, fewer samples are left, or ``output`` exists.
    """
    folder, run, tree = _result(keysteps)
    if output is not None and output.exists():
        raise RgwotError(f"{output}: exists, and may have answers; expected a new file; give another name")
    task, given, closed = read_embeddings(tree.at(paths.EMBEDDINGS, run)), None, set()
    if (path := tree.at(paths.ANNOTATIONS)).is_file():
        annotations = read_annotations(path, background=True)
        given, closed = given_of(task, annotations), set(annotations.loc[lasting(annotations), "video"])
    K = number_of_key_steps(read_segments(folder / name_of(SEGMENTS)))
    table = moments_of(task, given, K, run.seed, number, closed)
    table["video"] = table["video"].map(stem_of)
    rows = [[video, f"{time_s:.3f}", ""] for video, time_s, _ in table.itertuples(index=False)]
    lines = [line.rstrip() for line in _table(list(MOMENT_COLUMNS), rows)]
    if output is not None:
        write_csv(table, output)
        lines += ["", f"{output}: write the key step of each moment into label (- for background), then put the file"]
        lines += ["next to the videos of the task, and run the workflow again. Moments without a label are left out."]
    return lines


def _result(keysteps: Path) -> tuple[Path, Run, Tree]:
    """Return the folder, ids and tree of a result; raise RgwotError if there are no key steps."""
    folder = keysteps.absolute()
    run, tree = Run.of_folder(folder), Tree.of_folder(folder)
    if run is None or tree is None or not (folder / name_of(SEGMENTS)).is_file():
        raise RgwotError(
            f"{keysteps}: found no key steps, expected a folder such as "
            f"{paths.RESULTS}/keysteps/rgwot-plus/consensus/demo/assembly/seed0"
        )
    return folder, run, tree


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
        Tables of `rgwot.records`: which videos are annotated, and the decoded segments, from which the number of key
        steps follows.
    seed
        The seed of the result.

    Returns
    -------
    The best video first; empty if every video is annotated.
    """
    annotated = set(manifest.loc[manifest["status"] == "ok", "video"])
    return videos_of(task, annotated, number_of_key_steps(segments), seed, number)
