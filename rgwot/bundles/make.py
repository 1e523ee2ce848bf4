"""Making a bundle of a finished result from its files."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from rgwot.bundles.file import ANSWERS, DECODER, EMBEDDING, LIKENESS, MODEL, PROCEDURE_FILE, bundle_bytes, packed
from rgwot.bundles.learned import LearnedResult, learned_result, training_labels
from rgwot.config.settings import merged
from rgwot.embedding.interface import EmbeddedTask, EmbedVideo
from rgwot.embedding.settings import Embedding
from rgwot.features.index import open_stores
from rgwot.features.store import FeatureStore
from rgwot.keysteps.ordering import KeySteps
from rgwot.keysteps.settings import Decoder, Numbered
from rgwot.names import names_of, read_names
from rgwot.paths import DIAGNOSTICS, Run, name_of
from rgwot.records import read_annotations, read_diagnostics, read_segments
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import remake, replacing
from rgwot.stages.decode import decode_task, given_of
from rgwot.stages.embed import fit, read_embeddings
from rgwot.study.refusals import check_rule

log = logging.getLogger(__name__)

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
    method: Embedding,
    rule: Decoder,
    names_yaml: Path | None = None,
    annotations_csv: Path | None = None,
) -> float:
    """Write the bundle of a result.

    The decoder is run again on the stored embeddings with the same seed, and an embedding without an encoder is fitted
    again to the features. Both must reproduce the result, otherwise no bundle is written. ``method`` and ``rule``
    are method and decoder with their settings.

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
    model = None
    if model_path is None:
        embedding = fit(method, learned_from, run.seed)
    else:
        import torch

        from rgwot.embedding.encoder import embed_by_model
        from rgwot.stages.models import load_model

        model = load_model(model_path)
        embedding = embed_by_model(model, learned_from[0].fps, torch.device("cpu"), 1)
    _check_embedding(embedding, embedded, learned_from, embeddings_zarr)
    diagnostics = read_diagnostics(segments_csv.with_name(name_of(DIAGNOSTICS)))
    if isinstance(rule, Numbered):
        rule = rule.model_copy(update={"K": diagnostics.K})
    given = None
    if annotations_csv is not None:
        given = given_of(embedded, read_annotations(annotations_csv, background=True))
    key_steps = decode_task(embedded, rule, run.seed, alone=False, given=given)
    stored = dict(list(segments[segments["scope"] == "task"].groupby("video")))
    for video, segments_here in key_steps.segments["task"].items():
        if video not in stored or not np.array_equal(segments_here, stored[video][list(segments_here.columns)]):
            raise RgwotError(
                f"{segments_csv}: video {video!r}: its segments differ from those that this version of rgwot makes "
                f"from the same embeddings and settings; {remake(segments_csv)}"
            )
    learned = learned_result(
        run=run,
        method=method,
        rule=rule,
        stores=list(stores.values()),
        embedded=embedded,
        embedding=embedding,
        model=model,
        key_steps=key_steps,
    )
    agreement = write_bundle(
        output,
        learned,
        dataset=dataset,
        task=task,
        embedded=embedded,
        key_steps=key_steps,
        names=diagnostics.names | names_of(read_names(names_yaml), str(run), segments).names,
        model=model_path.read_bytes() if model_path else None,
    )
    log.info("%s: the rule for other videos agrees with the result on %.2f %% of its frames", output, 100 * agreement)
    return agreement


def write_bundle(
    output: str | os.PathLike[str],
    learned: LearnedResult,
    *,
    dataset: str,
    task: str,
    embedded: EmbeddedTask,
    key_steps: KeySteps,
    names: Mapping[int, str],
    model: bytes | None = None,
) -> float:
    """Write what was learned as a bundle; return its agreement (`rgwot.bundles.file.About`).

    ``embedded`` are the embeddings of all videos, ``model`` is the file of a trained encoder.
    """
    (_, predict), labels = learned.rules(), training_labels(embedded, key_steps)
    again = [learned.key_steps(predict, embedded.videos[video]) == steps for video, steps in labels.items()]
    agreement = float(np.mean(np.concatenate(again)))
    parts = {EMBEDDING: packed(learned.embedding)} if model is None else {MODEL: model}
    parts[DECODER] = packed(learned.decoder)
    parts[PROCEDURE_FILE] = (json.dumps(key_steps.procedure.to_json(), indent=1, allow_nan=False) + "\n").encode()
    parts[ANSWERS] = packed(learned.answers)
    parts[LIKENESS] = packed(learned.likeness)
    facts = {
        "method": learned.run.method,
        "decoder": learned.run.decoder,
        "dataset": dataset,
        "task": task,
        "seed": learned.run.seed,
        "K": learned.K,
        "time": learned.time,
        "surplus": learned.surplus,
        "settings": merged(learned.method.by_block(), learned.rule.by_block()),
        "features": learned.features,
        "features_fps": learned.features_fps,
        "names": names,
        "videos": list(labels),
        "held_out": list(embedded.held_out),
        "agreement": agreement,
    }
    with replacing(output) as temporary:
        temporary.write_bytes(bundle_bytes(facts, parts))
    return agreement


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
