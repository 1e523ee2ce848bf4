"""The stage from embeddings, or a manifest, to key steps: the folder of a result."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rgwot.config.methods import CLUSTERING
from rgwot.config.settings import Settings
from rgwot.embedding.interface import EmbeddedTask
from rgwot.keysteps.decode import find_key_steps
from rgwot.keysteps.ordering import KeySteps, rank_procedures
from rgwot.keysteps.settings import ANNOTATED
from rgwot.keysteps.trivial import annotated_segments, trivial_key_steps, trivial_segments
from rgwot.paths import DIAGNOSTICS, KEYSTEPS, NAMES, ORDER, PROCEDURES, SEGMENTS, name_of
from rgwot.procedure.learning import LEARNER
from rgwot.records import read_annotations, read_manifest
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.runtime.files import other_than, replacing, write_csv, write_json
from rgwot.stages.embedded import read_embeddings
from rgwot.stages.procedure import write_procedure

#: Finds what is in a folder beside key steps.
NOT_KEY_STEPS = other_than({name_of(path) for path in (*KEYSTEPS, NAMES)})


def write_keysteps(output_dir: str | Path, found: KeySteps) -> None:
    """Write every file of a folder of key steps (`rgwot.paths.KEYSTEPS`); an existing one is replaced as a whole."""
    with replacing(output_dir, NOT_KEY_STEPS) as folder:
        folder.mkdir()
        write_csv(found.segment_table, folder / name_of(SEGMENTS))
        write_csv(found.order_table, folder / name_of(ORDER))
        write_csv(rank_procedures(found.orders), folder / name_of(PROCEDURES))
        write_procedure(folder, found.procedure, found.deviations)
        write_json(found.diagnostics, folder / name_of(DIAGNOSTICS))


def decode(
    embeddings_zarr: str | Path, output_dir: str | Path, decoder: str, settings: Settings, seed: int, alone: bool = True
) -> dict[str, Any]:
    """Find the key steps of a task from its store of embeddings and write them (`decode_task`).

    An existing folder is replaced as a whole. Returns the content of ``diagnostics.json``; the same seed gives the same
    files.

    Raises
    ------
    RgwotError
        As `decode_task`, and for a store that cannot be used.
    """
    found = decode_task(read_embeddings(embeddings_zarr), decoder, settings, seed, alone)
    write_keysteps(output_dir, found)
    return found.diagnostics


def decode_task(task: EmbeddedTask, decoder: str, settings: Settings, seed: int, alone: bool = True) -> KeySteps:
    """Find the key steps of a task by a decoder and its settings (`rgwot.keysteps.decode.find_key_steps`).

    RgwotError for an unknown decoder, and as there.
    """
    if decoder not in CLUSTERING:
        raise RgwotError(f"decoder {decoder!r}: not known; {nearest(decoder, CLUSTERING)}")
    rule, learner = CLUSTERING[decoder].bound(settings), settings.procedure.learner
    return find_key_steps(task, decoder, rule, settings.decode, settings.meanfield, learner, seed, alone)


def decode_trivial(
    manifest_csv: str | Path,
    output_dir: str | Path,
    decoder: str,
    K: int | str,
    seed: int,
    stride: int,
    held_out: Sequence[str] = (),
    learner: str = LEARNER,
    annotations_csv: str | Path | None = None,
) -> dict[str, Any]:
    """Write a trivial answer for every video of a manifest that is not skipped, in the files every decoder writes.

    Both scopes hold the same segments: labels mean the same in every video by construction. An existing folder is
    replaced as a whole. The decoder is ``one_label``, ``uniform`` or ``random``, which uses ``seed`` and labels every
    ``stride``-th native frame; K is at least 1, and a word like ``gt`` must have become its number before. ``held_out``
    are the only videos to be scored, as for the methods this answer is compared with; none means all. ``learner``
    learns the procedure from the others. The decoder ``annotated`` writes the annotations instead, rasterised at every
    ``stride``-th native frame by the rule ``exact``, with as many key steps as there are. Returns the content of
    ``diagnostics.json``; a trivial answer is never marked degenerate, as nothing has collapsed.

    Raises
    ------
    RgwotError
        For a manifest without a usable video or with an unusable row, or annotations of nothing.
    """
    manifest = read_manifest(Path(manifest_csv))
    skipped = manifest.loc[manifest["status"] == "skipped", "video"].tolist()
    usable = manifest.loc[manifest["status"] != "skipped", ["video", "duration_s", "fps"]]
    if usable.empty:
        raise RgwotError(f"manifest {manifest_csv}: no usable video ({len(skipped)} skipped); expected at least one")
    if decoder == ANNOTATED:
        if annotations_csv is None:
            raise RgwotError(f"decoder {ANNOTATED!r}: found no annotations, expected a table of them")
        segments, K = annotated_segments(usable, read_annotations(Path(annotations_csv)), stride)
    else:
        segments = trivial_segments(usable.itertuples(index=False, name=None), decoder, K, seed, stride)
    found = trivial_key_steps(segments, decoder, int(K), seed, held_out, learner, skipped)
    write_keysteps(output_dir, found)
    return found.diagnostics
