"""Making a bundle of a finished result, from the files that are there (the stage behind ``rgwot bundle``)."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rgwot.bundles.file import ANSWERS, DECODER, EMBEDDING, MODEL, PROCEDURE, packed, write_bundle
from rgwot.config.experiments import split_id
from rgwot.config.methods import DECODERS
from rgwot.config.settings import Settings
from rgwot.embedding.embed import fit_of
from rgwot.embedding.interface import EmbedVideo, Fitted
from rgwot.embedding.stored import EmbeddedTask, read_embeddings
from rgwot.features.index import SHARED, open_stores
from rgwot.features.store import FeatureStore
from rgwot.keysteps.choices import Choices, extended, restored
from rgwot.keysteps.decode import apart, labelled
from rgwot.keysteps.interface import Decoded, Frames
from rgwot.keysteps.outputs import generator_for
from rgwot.paths import DIAGNOSTICS, Run, name_of
from rgwot.procedure.files import read_procedure
from rgwot.records import read_diagnostics, read_segments
from rgwot.reporting.names import names_of, read_names
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.lazy import load
from rgwot.runtime.provenance import remake
from rgwot.timing import predicted_labels

log = logging.getLogger(__name__)

#: Attributes of feature stores that say how features are made again, beside those that all of a task share.
HOW = ("seed", "fused", "decoder", "fps_exact", "start_s", "source_key", "source_axes", "source_times")
#: Tolerance for embeddings made on another machine, whose length is about 1.
ROUNDING = 1e-2


def make_bundle(
    output: Path,
    *,
    index_csv: Path,
    embeddings_zarr: Path,
    segments_csv: Path,
    model_path: Path | None,
    run: Run,
    dataset: str,
    task: str,
    settings: Settings,
    blocks: Mapping[str, Mapping[str, Any]],
    names_yaml: Path | None = None,
) -> float:
    """Write the bundle of a result.

    What the decoder learnt is learnt once more, from the stored embeddings and the same seed, and so is an embedding
    without an encoder from the features. Both must match the result, or no bundle is written. ``blocks`` are the
    ``settings`` that were given, which go into the file.

    Returns the share of the samples to which the rule for other videos gives the key step that the result has.

    Raises
    ------
    RgwotError
        For a decoder that cannot label other videos, or a result that the files do not reproduce.
    """
    name = split_id(run.decoder)[0]
    entry = DECODERS.get(name)
    if entry is None or not entry.restore:
        why = "looks at no video and learns nothing" if entry and entry.trivial else "has no rule for other videos"
        raise RgwotError(f"decoder {name!r}: {why}; expected one that has, such as graphcut or meanfield")
    embedded = read_embeddings(embeddings_zarr)
    stores = {store.video: store for store in open_stores(index_csv, index_csv.parent)}
    if set(stores) != set(embedded.videos):
        raise RgwotError(f"{embeddings_zarr}: not of the videos of {index_csv}; {remake(embeddings_zarr, 'embed')}")
    segments = read_segments(segments_csv)
    diagnostics = read_diagnostics(segments_csv.with_name(name_of(DIAGNOSTICS)))
    # Results of rgwot 0.1.0 say less; what they do not say was not there to choose.
    choices = Choices(
        float(diagnostics.get("time", 0.0)), int(diagnostics.get("surplus", 0)), int(diagnostics.get("K", 0))
    )

    part = {MODEL: model_path.read_bytes()} if model_path else {}
    seen = {video: stores[video] for video in embedded.part(held_out=False)}
    embedding = _embedding(model_path, run, list(seen.values()), settings)
    _check_embedding(embedding, embedded, seen, embeddings_zarr)
    if isinstance(embedding, Fitted):
        part[EMBEDDING] = packed(embedding.learnt())

    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        learnt, labels = _learnt(embedded, name, choices, settings, run.seed, segments, segments_csv)
        rule = restored(load(entry.restore), learnt, choices, settings)
        again = {
            video: labelled([embedded.videos[video]], embedded.features_fps, choices.K, rule).labels
            for video in embedded.part(held_out=False)
        }
    agreement = float(np.mean(np.concatenate([again[video] + 1 == labels[video] for video in again])))
    part[DECODER] = packed(learnt)
    procedure = segments_csv.with_name(PROCEDURE)
    # Read first, so that nothing else gets into a bundle.
    part[PROCEDURE] = (json.dumps(read_procedure(procedure).to_json(), indent=1, allow_nan=False) + "\n").encode()
    part[ANSWERS] = packed(
        {
            str(store.attributes["source_sha256"]): labels[video].astype(np.int16)
            for video, store in seen.items()
            if store.attributes.get("source_sha256")
        }
    )
    first = next(iter(stores.values()))
    write_bundle(
        output,
        {
            "method": run.method,
            "decoder": run.decoder,
            "dataset": dataset,
            "task": task,
            "seed": run.seed,
            "K": choices.K,
            "time": choices.time,
            "surplus": choices.surplus,
            "settings": blocks,
            "features": {
                "attributes": {key: first.attributes[key] for key in (*SHARED, *HOW) if key in first.attributes},
                "frame": first.shape[1:],
                "vectors": first.vectors,
            },
            "features_fps": embedded.features_fps,
            "names": names_of(read_names(names_yaml), str(run), segments),
            "videos": list(seen),
            "held_out": list(embedded.held_out),
            "agreement": agreement,
        },
        part,
    )
    log.info("%s: the rule for other videos agrees with the result on %.2f %% of its frames", output, 100 * agreement)
    return agreement


def _embedding(model_path: Path | None, run: Run, stores: list[FeatureStore], settings: Settings) -> EmbedVideo:
    """Return how videos are embedded: by the model, or as fitted to the videos that were learnt from."""
    if model_path is None:
        fitted = fit_of(run.method)(stores, settings, run.seed)
        if not isinstance(fitted, Fitted):
            raise RgwotError(f"method {run.method!r}: its embedding cannot be kept; expected one with restore_NAME")
        return fitted
    from rgwot.embedding.model import embed_by_model, load_model

    return embed_by_model(load_model(model_path), float(stores[0].attributes["fps"]), "cpu", 1)


def _check_embedding(
    embedding: EmbedVideo, embedded: EmbeddedTask, seen: Mapping[str, FeatureStore], embeddings_zarr: Path
) -> None:
    """Embed the shortest video again; RgwotError where the result has something else."""
    video = min(seen, key=lambda name: len(seen[name]))
    found, stored = embedding(seen[video]).embedding, embedded.videos[video].embedding
    if found.shape != stored.shape or not np.allclose(found, stored, atol=ROUNDING):
        raise RgwotError(
            f"{embeddings_zarr}: video {video!r}: not what comes of its features by these settings and this rgwot; "
            f"{remake(embeddings_zarr, 'embed')}"
        )


def _learnt(
    embedded: EmbeddedTask,
    decoder: str,
    choices: Choices,
    settings: Settings,
    seed: int,
    segments: pd.DataFrame,
    segments_csv: Path,
) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[np.int64]]]:
    """Return what the decoder learns from the embeddings, and the key steps (T,) of every video it learns from."""
    run, seen = extended(DECODERS[decoder].load(), choices), embedded.part(held_out=False)

    def decoding(frames: Frames) -> Decoded:
        return run(frames, choices.K, settings, generator_for(seed))

    made = labelled(seen.values(), embedded.features_fps, choices.K, decoding)
    if made.decoded.learnt is None:
        raise RgwotError(f"decoder {decoder!r}: has no rule for other videos here; expected two videos or more")
    own = {str(video): part for video, part in segments[segments["scope"] == "task"].groupby("video")}
    labels = {}
    for video, found in apart(seen, made.labels + 1).items():
        try:
            part = own[video]
            stored = predicted_labels(part["start_s"], part["end_s"], part["key_step"], seen[video].time_s)
        except (KeyError, ValueError):
            stored = np.full(len(found), -1)
        if not np.array_equal(found, stored):
            raise RgwotError(
                f"{segments_csv}: video {video!r}: {int((found != stored).sum())} of {len(found)} samples have another "
                "key step than these embeddings give by these settings and this rgwot; "
                f"{remake(segments_csv, 'decode')}"
            )
        labels[video] = stored
    return dict(made.decoded.learnt()), labels
