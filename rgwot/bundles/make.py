"""Making a bundle of a finished result, from the files that are there."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rgwot.bundles.file import ANSWERS, DECODER, EMBEDDING, MODEL, PROCEDURE_FILE, bundle_bytes, packed
from rgwot.config.experiments import split_id
from rgwot.config.methods import clustering
from rgwot.config.settings import Settings
from rgwot.embedding.interface import EmbeddedTask, EmbedVideo, Fitted
from rgwot.features.index import common_attributes, open_stores
from rgwot.features.store import FeatureStore
from rgwot.keysteps.decode import labelling_of
from rgwot.keysteps.extended import restored
from rgwot.keysteps.ordering import KeySteps
from rgwot.paths import DIAGNOSTICS, Run, name_of
from rgwot.records import read_annotations, read_diagnostics, read_segments
from rgwot.reporting.names import label_names, names_of, read_names
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import remake, replacing
from rgwot.stages.decode import decode_task, given_of
from rgwot.stages.embed import fit_of, read_embeddings
from rgwot.study.jobs import check_rule
from rgwot.timing import predicted_labels

log = logging.getLogger(__name__)

#: Attributes of feature stores that say how features are made again, beside those that all of a task share.
HOW = ("seed", "fused", "decoder", "fps_exact", "start_s", "source_key", "source_axes", "source_times", "columns")
#: Settings by which features made elsewhere are imported in the same way; a bundle has them as ``source_every``.
FORM = ("fps", "every", "window", "keypoints")
#: Tolerance for embeddings made on another machine, whose length is about 1.
EMBEDDING_TOLERANCE = 1e-2


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
    annotations_csv: Path | None = None,
) -> float:
    """Write the bundle of a result.

    What the decoder learned is learned once more, from the stored embeddings and the same seed, and so is an embedding
    without an encoder from the features. Both must match the result, or no bundle is written. ``blocks`` are the
    ``settings`` that were given, which go into the file.

    Returns the share of the samples to which the rule for other videos gives the key step that the result has.

    Raises
    ------
    RgwotError
        For a decoder that cannot label other videos, or a result that the files do not reproduce.
    """
    check_rule(run.decoder)
    embedded = read_embeddings(embeddings_zarr)
    stores = {store.video: store for store in open_stores(index_csv, index_csv.parent)}
    if set(stores) != set(embedded.videos):
        raise RgwotError(f"{embeddings_zarr}: not of the videos of {index_csv}; {remake(embeddings_zarr)}")
    segments = read_segments(segments_csv)
    seen = [stores[video] for video in embedded.part(held_out=False)]
    if model_path is None:
        embedding = fit_of(run.method, settings)(seen, run.seed)
    else:
        import torch

        from rgwot.embedding.encoder import embed_by_model
        from rgwot.stages.train import load_model

        embedding = embed_by_model(load_model(model_path), seen[0].fps, torch.device("cpu"), 1)
    _check_embedding(embedding, embedded, seen, embeddings_zarr)
    # The result has the share of time already; choosing it again would take longer than all else.
    diagnostics = read_diagnostics(segments_csv.with_name(name_of(DIAGNOSTICS)))
    decode = settings.decode.model_copy(update={"time": diagnostics["time"], "K": diagnostics["K"]})
    chosen = settings.model_copy(update={"decode": decode})
    given = None
    if annotations_csv is not None:
        given = given_of(embedded, read_annotations(annotations_csv, background=True), chosen, run.seed)
    key_steps = decode_task(embedded, split_id(run.decoder)[0], chosen, run.seed, alone=False, given=given)
    stored = dict(list(segments[segments["scope"] == "task"].groupby("video")))
    for video, segments_here in key_steps.segments["task"].items():
        if video not in stored or not np.array_equal(segments_here, stored[video][list(segments_here.columns)]):
            raise RgwotError(
                f"{segments_csv}: video {video!r}: other segments than these embeddings give by these settings and "
                f"this rgwot; {remake(segments_csv)}"
            )
    about, parts = bundle_of(
        run=run,
        dataset=dataset,
        task=task,
        settings=settings,
        blocks=blocks,
        stores=list(stores.values()),
        embedded=embedded,
        embedding=embedding,
        model=model_path.read_bytes() if model_path else None,
        found=key_steps,
        names=label_names(diagnostics) | names_of(read_names(names_yaml), str(run), segments),
    )
    with replacing(output) as temporary:
        temporary.write_bytes(bundle_bytes(about, parts))
    agreement = float(about["agreement"])
    log.info("%s: the rule for other videos agrees with the result on %.2f %% of its frames", output, 100 * agreement)
    return agreement


def bundle_of(
    *,
    run: Run,
    dataset: str,
    task: str,
    settings: Settings,
    blocks: Mapping[str, Mapping[str, Any]],
    stores: Sequence[FeatureStore],
    embedded: EmbeddedTask,
    embedding: EmbedVideo,
    model: bytes | None,
    found: KeySteps,
    names: Mapping[int, str],
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return what a bundle says of itself and its parts (`rgwot.bundles.file.bundle_bytes`).

    Parameters
    ----------
    stores, embedded
        Features and embeddings of all videos.
    embedding, model
        How videos are embedded, and the bytes of the model where an encoder does it.
    found
        The key steps, with what the decoder learned.

    Raises
    ------
    RgwotError
        Where embedding or decoder have no rule for other videos.
    """
    name = split_id(run.decoder)[0]
    if found.learned is None:
        raise RgwotError(f"decoder {name!r}: has no rule for other videos here; expected two videos or more")
    parts = {MODEL: model} if model is not None else {}
    if model is None:
        if not isinstance(embedding, Fitted):
            raise RgwotError(f"method {run.method!r}: its embedding cannot be kept; expected one with `restore`")
        parts[EMBEDDING] = packed(embedding.learned())

    from threadpoolctl import threadpool_limits

    K, time, surplus = (found.diagnostics[key] for key in ("K", "time", "surplus"))
    learned, labels = found.learned(), {}
    for video, shown in embedded.part(held_out=False).items():
        labels_here = found.segments["task"][video]
        labels[video] = predicted_labels(
            labels_here["start_s"], labels_here["end_s"], labels_here["key_step"], shown.time_s
        )
    with threadpool_limits(limits=1):
        entry = clustering(name, settings)
        restore = entry.bound(settings, entry.restore)
        rule = restored(restore, learned, K, time, surplus)
        again = {
            video: labelling_of([embedded.videos[video]], embedded.features_fps, K, rule).labels for video in labels
        }
    agreement = float(np.mean(np.concatenate([again[video] + 1 == labels[video] for video in again])))
    parts[DECODER] = packed(learned)
    parts[PROCEDURE_FILE] = (json.dumps(found.procedure.to_json(), indent=1, allow_nan=False) + "\n").encode()
    digests = {store.video: store.attributes.get("source_sha256") for store in stores}
    parts[ANSWERS] = packed(
        {str(digests[video]): labels_here.astype(np.int16) for video, labels_here in labels.items() if digests[video]}
    )
    first = stores[0]
    about = {
        "method": run.method,
        "decoder": run.decoder,
        "dataset": dataset,
        "task": task,
        "seed": run.seed,
        "K": K,
        "time": time,
        "surplus": surplus,
        "settings": blocks,
        "features": {
            "attributes": common_attributes(first) | _form(first),
            "frame": first.shape[1:],
            "vectors": first.vectors,
        },
        "features_fps": embedded.features_fps,
        "names": names,
        "videos": list(labels),
        "held_out": list(embedded.held_out),
        "agreement": agreement,
    }
    return about, parts


def _form(store: FeatureStore) -> dict[str, Any]:
    """Return what says how features like those of a store are made, beside what all of a task share."""
    facts = {key: store.attributes[key] for key in HOW if key in store.attributes}
    if store.imported:
        settings = store.attributes.get("settings", {})
        facts |= {f"source_{key}": settings[key] for key in FORM if settings.get(key) is not None}
        # A table of rates, in place of which this stands, says nothing of other videos.
        facts["source_native_fps"] = str(store.native_fps)
    return facts


def _check_embedding(
    embedding: EmbedVideo, embedded: EmbeddedTask, seen: Sequence[FeatureStore], embeddings_zarr: Path
) -> None:
    """Embed the shortest video again; RgwotError where the result has something else."""
    store = min(seen, key=len)
    video = store.video
    fresh, stored = embedding(store).embedding, embedded.videos[video].embedding
    if fresh.shape != stored.shape or not np.allclose(fresh, stored, atol=EMBEDDING_TOLERANCE):
        raise RgwotError(
            f"{embeddings_zarr}: video {video!r}: not what comes of its features by these settings and this rgwot; "
            f"{remake(embeddings_zarr)}"
        )
