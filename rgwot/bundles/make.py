"""Making a bundle of a finished result from its files."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rgwot.bundles.file import ANSWERS, DECODER, EMBEDDING, MODEL, PROCEDURE_FILE, bundle_bytes, packed
from rgwot.config.experiments import split_id
from rgwot.config.methods import DECODERS
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

#: Attributes of a feature store that are needed to make such features, besides the attributes that all stores of a task
#: share.
HOW = ("seed", "fused", "decoder", "fps_exact", "start_s", "source_key", "source_axes", "source_times", "columns")
#: Settings for importing features in the same way; a bundle has them as ``source_every`` and so on.
FORM = ("fps", "every", "window", "keypoints")
#: Tolerance for embeddings (of length about 1) made on another machine.
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

    The decoder is run again on the stored embeddings with the same seed, and an embedding without an encoder is fitted
    again to the features. Both must reproduce the result, otherwise no bundle is written. ``blocks`` are the
    blocks of ``settings`` to store in the file.

    Returns the share of the samples for which the rule for other videos gives the key step of the result.

    Raises
    ------
    RgwotError
        For a decoder that cannot label other videos, or a result that the files do not reproduce.
    """
    check_rule(run.decoder)
    embedded = read_embeddings(embeddings_zarr)
    stores = {store.video: store for store in open_stores(index_csv, index_csv.parent)}
    if set(stores) != set(embedded.videos):
        raise RgwotError(f"{embeddings_zarr}: its videos differ from those of {index_csv}; {remake(embeddings_zarr)}")
    segments = read_segments(segments_csv)
    learned_from = [stores[video] for video in embedded.part(held_out=False)]
    if model_path is None:
        embedding = fit_of(run.method, settings)(learned_from, run.seed)
    else:
        import torch

        from rgwot.embedding.encoder import embed_by_model
        from rgwot.stages.train import load_model

        embedding = embed_by_model(load_model(model_path), learned_from[0].fps, torch.device("cpu"), 1)
    _check_embedding(embedding, embedded, learned_from, embeddings_zarr)
    diagnostics = read_diagnostics(segments_csv.with_name(name_of(DIAGNOSTICS)))
    chosen = settings.model_copy(update={"decode": settings.decode.model_copy(update={"K": diagnostics["K"]})})
    given = None
    if annotations_csv is not None:
        given = given_of(embedded, read_annotations(annotations_csv, background=True))
    key_steps = decode_task(embedded, split_id(run.decoder)[0], chosen, run.seed, alone=False, given=given)
    stored = dict(list(segments[segments["scope"] == "task"].groupby("video")))
    for video, segments_here in key_steps.segments["task"].items():
        if video not in stored or not np.array_equal(segments_here, stored[video][list(segments_here.columns)]):
            raise RgwotError(
                f"{segments_csv}: video {video!r}: found other segments than this version of rgwot makes from the same "
                f"embeddings and settings; {remake(segments_csv)}"
            )
    facts, parts = bundle_of(
        run=run,
        dataset=dataset,
        task=task,
        settings=settings,
        blocks=blocks,
        stores=list(stores.values()),
        embedded=embedded,
        embedding=embedding,
        model=model_path.read_bytes() if model_path else None,
        key_steps=key_steps,
        names=label_names(diagnostics) | names_of(read_names(names_yaml), str(run), segments),
    )
    with replacing(output) as temporary:
        temporary.write_bytes(bundle_bytes(facts, parts))
    agreement = float(facts["agreement"])
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
    key_steps: KeySteps,
    names: Mapping[int, str],
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the facts and parts of a bundle (`rgwot.bundles.file.bundle_bytes`).

    Parameters
    ----------
    stores, embedded
        Features and embeddings of all videos.
    embedding, model
        The function that embeds videos and, if it is an encoder, the bytes of its model.
    key_steps
        The key steps, with what the decoder learned.

    Raises
    ------
    RgwotError
        If the embedding or the decoder has no rule for other videos.
    """
    name = split_id(run.decoder)[0]
    if key_steps.learned is None:
        raise RgwotError(
            f"decoder {name!r}: found no rule for other videos, expected two videos or more, and a decoder that calls "
            "`Decoded.inductive`"
        )
    parts = {MODEL: model} if model is not None else {}
    if model is None:
        if not isinstance(embedding, Fitted):
            raise RgwotError(
                f"method {run.method!r}: its embedding cannot embed other videos; expected an embedding with `restore`"
            )
        parts[EMBEDDING] = packed(embedding.learned())

    from threadpoolctl import threadpool_limits

    K, time, surplus = (key_steps.diagnostics[key] for key in ("K", "time", "surplus"))
    learned, labels = key_steps.learned(), {}
    for video, embedded_video in embedded.part(held_out=False).items():
        labels_here = key_steps.segments["task"][video]
        labels[video] = predicted_labels(
            labels_here["start_s"], labels_here["end_s"], labels_here["key_step"], embedded_video.time_s
        )
    with threadpool_limits(limits=1):
        entry = DECODERS[name]
        restore = entry.bound(settings, entry.restore)
        rule = restored(restore, learned, K, time, surplus)
        again = {
            video: labelling_of([embedded.videos[video]], embedded.features_fps, K, rule).labels for video in labels
        }
    agreement = float(np.mean(np.concatenate([again[video] + 1 == labels[video] for video in again])))
    parts[DECODER] = packed(learned)
    parts[PROCEDURE_FILE] = (json.dumps(key_steps.procedure.to_json(), indent=1, allow_nan=False) + "\n").encode()
    digests = {store.video: store.attributes.get("source_sha256") for store in stores}
    parts[ANSWERS] = packed(
        {str(digests[video]): labels_here.astype(np.int16) for video, labels_here in labels.items() if digests[video]}
    )
    first = stores[0]
    facts = {
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
    return facts, parts


def _form(store: FeatureStore) -> dict[str, Any]:
    """Return the attributes needed to make the features of a store again, besides the ones that its task shares."""
    facts = {key: store.attributes[key] for key in HOW if key in store.attributes}
    if store.imported:
        settings = store.attributes.get("settings", {})
        facts |= {f"source_{key}": settings[key] for key in FORM if settings.get(key) is not None}
        # The rate of this store instead of the settings' table of rates, which does not cover other videos.
        facts["source_native_fps"] = str(store.native_fps)
    return facts


def _check_embedding(
    embedding: EmbedVideo, embedded: EmbeddedTask, learned_from: Sequence[FeatureStore], embeddings_zarr: Path
) -> None:
    """Embed the shortest video again; raise RgwotError if the result differs."""
    store = min(learned_from, key=len)
    video = store.video
    fresh, stored = embedding(store).embedding, embedded.videos[video].embedding
    if fresh.shape != stored.shape or not np.allclose(fresh, stored, atol=EMBEDDING_TOLERANCE):
        raise RgwotError(
            f"{embeddings_zarr}: video {video!r}: the stored embedding differs from a new one of the same features; "
            f"{remake(embeddings_zarr)}"
        )
