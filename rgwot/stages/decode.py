"""The stage from embeddings, or a manifest, to key steps: it writes the folder of a result."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd

from rgwot.diagnostics import Diagnostics, SecondReadingFacts, as_json
from rgwot.embedding.interface import EmbeddedTask
from rgwot.keysteps.decode import find_key_steps, segments_of
from rgwot.keysteps.given import given_of_rows
from rgwot.keysteps.interface import Given
from rgwot.keysteps.labelled import Kept
from rgwot.keysteps.labelling import ByVideo, extra_of
from rgwot.keysteps.left_out import leave_one_out
from rgwot.keysteps.ordering import KeySteps, counted, occurrences, rank_procedures, usual_kept
from rgwot.keysteps.reading import KINDS, second_reading
from rgwot.keysteps.settings import ANNOTATED, LABELLED, Decoder, Labelled, Numbered, resolved_K
from rgwot.keysteps.suggest import frames_of, suggest
from rgwot.keysteps.trivial import annotated_segments, trivial_key_steps, trivial_segments
from rgwot.keysteps.uncovered import uncovered, uncovered_sentence
from rgwot.paths import DIAGNOSTICS, KEYSTEPS, NAMES, ORDER, PROCEDURES, SEGMENTS, name_of
from rgwot.procedure import Deviation
from rgwot.procedure.expected import ExpectedStep, compare_with_own
from rgwot.records import read_annotations, read_manifest
from rgwot.runtime.csv_files import write_csv
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import other_than, replacing, write_json
from rgwot.runtime.provenance import write_record
from rgwot.stages.embed import read_embeddings
from rgwot.stages.procedure import read_expected, write_procedure
from rgwot.timing import predicted_labels

log = logging.getLogger(__name__)

TEACHING = 3
"""Least number of teaching videos (annotated videos that are learned from), and of other videos, to report key steps
that are seldom found."""

FOUND = 0.6
"""A key step of all teaching videos is seldom found if less than this share of the other videos has it."""

#: Finds files in a folder that do not belong to key steps.
NOT_KEY_STEPS = other_than({name_of(path) for path in (*KEYSTEPS, NAMES)})


def write_keysteps(
    output_dir: str | Path, key_steps: KeySteps, expected: Sequence[ExpectedStep] | None = None
) -> Diagnostics:
    """Write all files of a folder of key steps (`rgwot.paths.KEYSTEPS`); an existing folder is replaced as a whole.

    If a procedure is ``expected`` and labels name the key steps, ``deviations.csv`` also has deviations from it. A
    record with the SHA-256 of the files is beside them (`rgwot.runtime.provenance.unedited`). Returns the diagnostics.
    """
    with replacing(output_dir, NOT_KEY_STEPS) as folder:
        folder.mkdir()
        write_csv(key_steps.segment_table, folder / name_of(SEGMENTS))
        write_csv(key_steps.order_table, folder / name_of(ORDER))
        write_csv(rank_procedures(key_steps.orders), folder / name_of(PROCEDURES))
        write_procedure(folder, key_steps.procedure, [*key_steps.deviations, *own_deviations(key_steps, expected)])
        write_json(as_json(key_steps.diagnostics), folder / name_of(DIAGNOSTICS))
    segments, *others = (Path(output_dir) / name_of(path) for path in KEYSTEPS)
    write_record(segments, "decode", others)
    return key_steps.diagnostics


def own_deviations(key_steps: KeySteps, expected: Sequence[ExpectedStep] | None) -> Sequence[Deviation]:
    """Return deviations from a procedure that is ``expected``, by the names that labels gave, if any."""
    names = key_steps.diagnostics.names
    if not expected or not names:
        return ()
    others = [occurrences(segments) for segments in key_steps.alternatives]
    own = compare_with_own(expected, names, key_steps.recordings, others, key_steps.every)
    return () if own is None else own.deviations


def decode(
    embeddings_zarr: str | Path,
    output_dir: str | Path,
    decoder: Decoder,
    seed: int,
    alone: bool = True,
    annotations_csv: str | Path | None = None,
    expected_yaml: str | Path | None = None,
) -> Diagnostics:
    """Find the key steps of a task in its store of embeddings, and write them (`decode_task`).

    The decoder ``labelled`` learns from the annotations in ``annotations_csv`` (`given_of`); ``expected_yaml`` is the
    procedure that is expected (`rgwot.stages.procedure.read_expected`).

    An existing folder is replaced as a whole. Returns the diagnostics; the same seed gives the same
    files, except for the time in the diagnostics.

    Raises
    ------
    RgwotError
        As in `decode_task`, and for an unusable store or table.
    """
    task, given = read_embeddings(embeddings_zarr), None
    if annotations_csv is not None:
        given = given_of(task, read_annotations(Path(annotations_csv), background=True))
    expected = None if expected_yaml is None else read_expected(expected_yaml)
    return write_keysteps(output_dir, decode_task(task, decoder, seed, alone, given), expected)


def given_of(task: EmbeddedTask, annotations: pd.DataFrame) -> Given:
    """Return the labels of all annotated videos of a task, from the table of their segments and marks."""
    rows = {str(video): table for video, table in annotations.groupby("video")}
    named = annotations[annotations["name"] != ""]
    return given_of_rows(
        {name: rows[name] for name in task.videos if name in rows} | rows,
        {name: video.time_s for name, video in task.videos.items()},
        {name: video.duration_s for name, video in task.videos.items()},
        dict(zip(named["key_step"].tolist(), named["name"], strict=True)),
        int(annotations["key_step"].max()) if len(annotations) else 0,
        {video: table["silence"].iloc[0] for video, table in rows.items()} if "silence" in annotations else {},
    )


def teaching_labels(task: EmbeddedTask, given: Given, decoder: Labelled, seed: int) -> Given:
    """Return the labels of the videos that teach: all that are labelled and not held out, or ``decoder.n`` of these.

    Raises RgwotError if there are too few.
    """
    videos = task.part(held_out=False)
    chosen = [video for video in videos if video in given.labels]
    n = decoder.teachers(len(chosen))
    generator = np.random.default_rng([seed, 3])
    if n < len(chosen) and decoder.draw == "suggested":
        order = list(videos)
        places, frames = [order.index(video) for video in chosen], frames_of(videos, task.features_fps)
        chosen = [order[place] for place in suggest(frames, given.K, n, decoder.meanfield, generator, among=places)]
    elif n < len(chosen):
        chosen = sorted(generator.permutation(chosen)[:n].tolist())
    return replace(
        given,
        labels={video: given.labels[video] for video in chosen},
        marks={video: given.marks[video] for video in chosen if video in given.marks},
        silence={video: given.silence[video] for video in chosen if video in given.silence},
    )


def seldom_found(key_steps: KeySteps, teaching: Given) -> list[str]:
    """Return a line for each key step that all teaching videos and few of the other videos have (methods 5.11).

    It needs `TEACHING` teaching videos and as many others.
    """
    steps = {video: set(rows["key_step"]) for video, rows in key_steps.segments["task"].items()}
    others = [own for video, own in steps.items() if video not in teaching.labels]
    if min(len(teaching.labels), len(others)) < TEACHING:
        return []
    lines = []
    for step in sorted(set.intersection(*(set(own[own > 0].tolist()) for own in teaching.labels.values()))):
        found = sum(step in own for own in others)
        if found < FOUND * len(others):
            name, n = teaching.names.get(step, ""), len(teaching.labels)
            lines.append(
                f"key step {step}{f' ({name})' if name else ''}: in {n} of {n} annotated videos, found in {found} of "
                f"{len(others)} others; expected it in most of them; annotate one in which it was not found, because "
                "people may leave it out"
            )
    return lines


def check_labels(decoder: Decoder, labelled: int) -> None:
    """Raise RgwotError if a decoder cannot learn from this number of ``labelled`` videos, or learns from none."""
    if isinstance(decoder, Labelled):
        decoder.teachers(labelled)
    elif labelled:
        raise RgwotError(
            f"decoder {decoder.NAME!r}: found labels, from which it does not learn; expected the decoder {LABELLED!r}"
        )


def decode_task(
    task: EmbeddedTask,
    decoder: Decoder,
    seed: int,
    alone: bool = True,
    given: Given | None = None,
    kept: Kept | None = None,
    check: bool = True,
) -> KeySteps:
    """Find the key steps of a task by a decoder (`rgwot.keysteps.decode.find_key_steps`).

    The decoder ``labelled`` learns from ``given`` labels (`teaching_labels`). ``kept`` caches the parts of decoding
    that do not depend on labels, so that decoding the same embeddings with other labels takes less time. The
    diagnostics also have ``decoding_cpu_s``, the CPU time in seconds, ``uncovered`` if a key step seems to have no
    label (`uncovered`), a warning about each key step that is seldom found (`seldom_found`), and with three and more
    teaching videos ``left_out`` (`leave_one_out`). The CPU times of `leave_one_out` and `read_again` are separate.
    Without ``check``, `uncovered`, `seldom_found`, `leave_one_out` and `read_again` are omitted.

    Raises RgwotError if the decoder cannot learn from the labels, or needs labels and has none, and as
    `find_key_steps` does.
    """
    began = process_time()
    check_labels(decoder, 0 if given is None else len(given.labels))
    run, teaching, extra = decoder.__call__, None, 0
    if isinstance(decoder, Labelled) and given is not None:
        teaching = teaching_labels(task, given, decoder, seed)
        extra = extra_of(decoder, teaching)
        decoder = decoder.model_copy(update={"extra": extra})
        # Leaving videos out decodes the same samples, too.
        run = partial(decoder.__call__, kept=kept or Kept())
    key_steps = find_key_steps(task, decoder, seed=seed, decode=run, alone=alone, labels_given=teaching)
    key_steps.diagnostics.decoding_cpu_s = round(process_time() - began, 3)
    missing = None if teaching is None or extra or not check else uncovered(task, teaching)
    if missing is not None:
        key_steps.diagnostics.uncovered = missing
        key_steps.diagnostics.warn(uncovered_sentence(missing))
        log.warning("%s/%s/seed%d: %s", task.method, decoder.NAME, seed, uncovered_sentence(missing))
    if teaching is not None and check and (seldom := seldom_found(key_steps, teaching)):
        key_steps.diagnostics.warn(*seldom)
        for line in seldom:
            log.warning("%s/%s/seed%d: %s", task.method, decoder.NAME, seed, line)
    left_out = None if teaching is None or not check else leave_one_out(task, teaching, run, extra, seed)
    if left_out is not None:
        key_steps.diagnostics.left_out = left_out.facts
        key_steps = replace(
            key_steps, alternatives=[_counted(task, key_steps, labels) for labels in left_out.found if labels]
        )
    return read_again(task, key_steps, seed) if check else key_steps


def _counted(task: EmbeddedTask, key_steps: KeySteps, labels: ByVideo) -> dict[str, pd.DataFrame]:
    usual = usual_kept(key_steps.procedure)
    return counted(segments_of(task, labels), usual, annotated=key_steps.annotated)


def read_again(task: EmbeddedTask, key_steps: KeySteps, seed: int) -> KeySteps:
    """Return key steps whose deviations are decided by a second reading (`rgwot.keysteps.reading`), if there is one.

    The diagnostics then have ``second_reading``: how many key steps were cut out, moved and repeated in the videos, and
    how many of these deviations are detected; and the CPU time in seconds.
    """
    from threadpoolctl import threadpool_limits

    began, K = process_time(), key_steps.diagnostics.K
    training = task.part(held_out=False)
    labels = {
        name: predicted_labels(rows["start_s"], rows["end_s"], rows["key_step"], training[name].time_s)
        for name, rows in key_steps.segments["task"].items()
        if name in training
    }
    # Sums depend on the number of threads.
    with threadpool_limits(limits=1):
        second = second_reading(
            {name: video.embedding for name, video in training.items()},
            labels, key_steps.annotated, key_steps.procedure, K, seed,
        )  # fmt: skip
    if second is None:
        return key_steps
    missing, order, repeated = (second.edits[kind] for kind in KINDS)
    key_steps.diagnostics.second_reading = SecondReadingFacts(
        missing=missing, order=order, repeated=repeated, decoding_cpu_s=round(process_time() - began, 3)
    )
    return replace(key_steps, second=(_counted(task, key_steps, second.labels), second.support))


def decode_trivial(
    manifest_csv: str | Path,
    output_dir: str | Path,
    decoder: Decoder,
    seed: int,
    stride: int,
    held_out: Sequence[str] = (),
    annotations_csv: str | Path | None = None,
) -> Diagnostics:
    """Write a trivial baseline for every usable video of a manifest, in the same files as other decoders.

    Both scopes have the same segments, because labels mean the same in every video. An existing folder is replaced as a
    whole. The decoder is ``one_label``, ``uniform`` or ``random``, which uses ``seed`` and labels every ``stride``-th
    native frame; its K is a number, at least 1. Only the ``held_out`` videos are scored (all if there are none), as for
    the methods that the baseline is compared with; the procedure is learned from the others. The decoder ``annotated``
    writes the annotations instead, rasterised at every ``stride``-th native frame by the rule ``exact``.
    Returns the diagnostics; a trivial baseline is never marked degenerate.

    Raises
    ------
    RgwotError
        For a manifest without a usable video or with an invalid row, or for empty annotations.
    """
    began, manifest = process_time(), read_manifest(Path(manifest_csv))
    skipped = manifest.loc[manifest["status"] == "skipped", "video"].tolist()
    usable = manifest.loc[manifest["status"] != "skipped", ["video", "duration_s", "fps"]]
    if usable.empty:
        raise RgwotError(f"manifest {manifest_csv}: no usable video ({len(skipped)} skipped); expected at least one")
    if isinstance(decoder, Numbered):
        K = resolved_K(decoder.K)
        segments = trivial_segments(usable.itertuples(index=False, name=None), decoder.NAME, K, seed, stride)
    else:
        if annotations_csv is None:
            raise RgwotError(f"decoder {ANNOTATED!r}: found no annotations, expected a table of them")
        segments, K = annotated_segments(usable, read_annotations(Path(annotations_csv)), stride)
    key_steps = trivial_key_steps(segments, decoder.NAME, K, seed, held_out, decoder.procedure.learner, skipped)
    key_steps.diagnostics.decoding_cpu_s = round(process_time() - began, 3)
    return write_keysteps(output_dir, key_steps)
