"""The stage that embeds every video of a task, by an encoder or by a method without one."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import zarr

from rgwot.config.experiments import embedding_of
from rgwot.config.methods import FAMILIES
from rgwot.embedding.arrays import usual_ratio
from rgwot.embedding.interface import (
    EmbeddedTask,
    EmbeddedVideo,
    EmbedVideo,
    VideoFeatures,
    check_finite,
    checked,
    embedded_video,
    with_both_parts,
)
from rgwot.embedding.settings import Embedding, Pooled, Whitened
from rgwot.features.index import open_stores
from rgwot.features.store import STORE_ERRORS, FeatureStore, put, whole
from rgwot.runtime.errors import RgwotError, first_line
from rgwot.runtime.files import remake, replacing
from rgwot.runtime.progress import Progress
from rgwot.timing import parse_rate

#: Approximate size of a chunk in bytes.
CHUNK_BYTES = 2**24


def write_embedded(path: Path, videos: Mapping[str, EmbeddedVideo], facts: Mapping[str, Any]) -> None:
    """Write the embeddings of at least one video, and ``facts`` on the run (fields of `EmbeddedTask`) as attributes.

    A single Zarr store has all videos of a task: ``embedding`` (ΣT, D) float32 and ``time_s`` (ΣT,) float64 are
    concatenated; the samples of video i are rows ``offsets[i]`` to ``offsets[i + 1]``, with ``offsets`` (N + 1,) int64.
    The attributes ``videos`` (ids), ``duration_s`` and ``native_fps`` have N items. Methods that detect background also
    write ``background`` (ΣT,) bool. ``complete`` is written last, and an older store is replaced as a whole.
    """
    embedded = list(videos.values())
    arrays = {
        "embedding": np.concatenate([np.asarray(video.embedding, dtype=np.float32) for video in embedded]),
        "time_s": np.concatenate([video.time_s for video in embedded]),
        "offsets": np.cumsum([0, *(len(video.time_s) for video in embedded)], dtype=np.int64),
    }
    # With missing="background", some videos have background and others do not.
    background = [video.background for video in embedded]
    if any(own is not None for own in background):
        masks = zip(embedded, background, strict=True)
        arrays["background"] = np.concatenate(
            [np.zeros(len(video.time_s), dtype=bool) if own is None else own for video, own in masks]
        )
    rates = [str(video.native_fps) for video in embedded]
    lengths = [video.duration_s for video in embedded]
    attributes: dict[str, Any] = {**facts, "videos": list(videos), "duration_s": lengths, "native_fps": rates}
    with replacing(path) as temporary:
        root = zarr.open_group(temporary, mode="w", zarr_format=3)
        for name, array in arrays.items():
            rows = CHUNK_BYTES // max(array[:1].nbytes, 1)
            put(root, name, array, chunk=max(1, min(len(array), rows)))
        root.update_attributes({**attributes, "complete": True})


def read_embeddings(path: str | Path) -> EmbeddedTask:
    """Read a store of embeddings, in float64.

    Parameters
    ----------
    path
        The store, ``results/embeddings/METHOD/DATASET/TASK/seedN.zarr``.

    Raises
    ------
    RgwotError
        If it is missing, incomplete or damaged, has no video with a frame, or has values that are not finite.
    """
    store = Path(path)
    if not store.is_dir():
        raise RgwotError(f"embeddings {store}: no such store; embed the task first")
    try:
        return _read(store)
    except RgwotError:
        raise
    except STORE_ERRORS as error:
        raise RgwotError(f"embeddings {store}: damaged ({first_line(error)}); {remake(store)}") from None


def _read(store: Path) -> EmbeddedTask:
    root = zarr.open_group(store, mode="r", zarr_format=3)
    attributes: dict[str, Any] = dict(root.attrs)
    if attributes.get("complete") is not True:
        raise RgwotError(f"embeddings {store}: incomplete; {remake(store)}")
    names, offsets = [str(name) for name in attributes["videos"]], whole(root, "offsets", store)
    arrays = {name: whole(root, name, store) for name in ("embedding", "time_s", "background") if name in root}
    if len(offsets) != len(names) + 1 or any(len(array) != offsets[-1] for array in arrays.values()):
        raise ValueError("offsets do not fit the arrays and videos")
    videos: dict[str, EmbeddedVideo] = {}
    for place in sorted(range(len(names)), key=names.__getitem__):
        rows = slice(offsets[place], offsets[place + 1])
        name, x = names[place], arrays["embedding"][rows].astype(np.float64)
        check_finite(x, f"embeddings {store}: video {name}")
        if len(x):
            videos[name] = EmbeddedVideo(
                x,
                arrays["time_s"][rows],
                float(attributes["duration_s"][place]),
                float(parse_rate(attributes["native_fps"][place])),
                arrays["background"][rows] if "background" in arrays else None,
            )
    if not videos:
        raise RgwotError(f"embeddings {store}: no video with a frame; expected at least one, see the feature index")
    task = EmbeddedTask(
        videos,
        tuple(sorted(set(names) - set(videos))),
        float(attributes["features_fps"]),
        str(attributes.get("method", "")),
        tuple(attributes.get("held_out", ())),
        tuple(attributes.get("notes", ())),
        attributes.get("scales"),
    )
    return with_both_parts(task, f"embeddings {store}")


log = logging.getLogger(__name__)


def embed(
    index_csv: Path,
    features_dir: Path,
    model_path: Path | None,
    output_zarr: Path,
    *,
    method: str | None = None,
    settings: Embedding | None = None,
    seed: int | None = None,
    device: str = "auto",
    threads: int | None = None,
    held_out: Sequence[str] = (),
) -> None:
    """Embed every frame of a task; videos without frames are left out.

    Writes what `write_embedded` describes, with the attributes ``method``, ``seed`` and ``features_fps``.
    ``held_out`` names the held-out videos, including those without frames. ``notes`` are sentences about the training
    for readers of the results; ``scales`` says how far the scales of the features' channels differ, if this is known
    and affects the embedding.
    Context frames are chosen as in training (methods 3.8).

    Parameters
    ----------
    index_csv, features_dir
        Feature index of the task, and the directory of its stores.
    model_path
        ``model.pt`` as written by `rgwot.stages.train`; None for a method without an encoder, which is fitted here.
    output_zarr
        Directory to write; an existing one is replaced.
    method
        Id to record; by default ``trained``, or ``raw`` without a model. Without a model it determines the embedding.
    settings
        An embedding without an encoder; by default that of the method, with default settings.
    seed
        Seed to fit with and to record; by default that of the model, or 0 without one.
    device
        The device of the encoder: ``auto``, ``cpu`` or ``cuda``. Other embeddings are fitted on the CPU.
    threads
        Number of CPU threads of PyTorch; by default unchanged.
    held_out
        Videos from which neither an embedding fitted here nor a clustering may learn; a model has its own list.

    Raises
    ------
    RgwotError
        If the model does not exist or was trained on other features, a store is unusable, or a required model is
        missing.
    """
    stores = open_stores(index_csv, features_dir)
    if not stores:
        raise RgwotError(f"{index_csv}: no video with features, expected at least 1; see its column reason")
    model = None
    if model_path is not None:
        # Imported here, because a method without an encoder need not wait for PyTorch.
        from rgwot.stages.models import load_model

        model = load_model(model_path)
        for key, value in model["features"].items():
            actual = stores[0].attributes.get(key)
            if actual != value:
                raise RgwotError(
                    f"model: trained on features with {key} {value!r}, found {actual!r} in {stores[0].path}; "
                    "train again"
                )
    if settings is None and model is None and method is not None:
        settings = embedding_of(method)
    embed_one = embedder(stores, settings or Pooled(), model, method, seed, device, threads, held_out)
    write_embeddings(output_zarr, stores, embed_one.embed, embed_one.facts, embed_one.held_out)


class Embedder(NamedTuple):
    """The embedding of a task's videos.

    Attributes
    ----------
    embed
        A function from a video to its embedding.
    facts
        ``method``, ``seed`` and ``features_fps``; ``notes`` and ``scales`` as in `embed`.
    held_out
        Videos that were not used for learning.
    """

    embed: EmbedVideo
    facts: dict[str, Any]
    held_out: tuple[str, ...] = ()


def embedder(
    stores: Sequence[VideoFeatures],
    settings: Embedding,
    model: Mapping[str, Any] | None = None,
    method: str | None = None,
    seed: int | None = None,
    device: str = "cpu",
    threads: int | None = None,
    held_out: Sequence[str] = (),
) -> Embedder:
    """Return the embedding of a task's videos: by a trained model, or fitted here to the videos that are not held out.

    The parameters are the same as for `embed`, but with the features of all videos and a loaded model.

    Raises
    ------
    RgwotError
        If the method needs a model and none is given.
    """
    fps = stores[0].fps
    scales = usual_ratio([store.scales for store in stores])
    if model is None:
        name, number, notes = method or "raw", seed or 0, []
        training = [store for store in stores if store.video not in held_out]
        embed_one = fit(settings, training, number)
        # Among embeddings without an encoder, only whitening does not depend on the scales of channels.
        standardised = isinstance(settings, Whitened)
    else:
        from rgwot.embedding.encoder import embed_by_model
        from rgwot.runtime.device import resolve_device

        name, number = method or "trained", int(model["seed"] if seed is None else seed)
        held_out, notes = model.get("held_out", ()), model.get("notes", [])
        embed_one = embed_by_model(model, fps, resolve_device(device), threads)
        standardised = model["architecture"]["input_norm"] or "projection" in model
    facts = {"method": name, "seed": number, "features_fps": fps, **({"notes": notes} if notes else {})}
    if scales is not None and not standardised:
        facts["scales"] = scales
    return Embedder(embed_one, facts, tuple(held_out))


def write_embeddings(
    output_zarr: Path,
    stores: Sequence[FeatureStore],
    embed_one: EmbedVideo,
    facts: Mapping[str, Any],
    held_out: Sequence[str] = (),
) -> None:
    """Embed videos and write the store that `embed` describes; ``facts`` are its attributes."""
    videos: dict[str, EmbeddedVideo] = {}
    frames = sum(len(store) for store in stores)
    with Progress(log, f"embed {output_zarr}", frames, unit="frame") as progress:
        for store in stores:
            embedded = checked(embed_one(store), store)
            videos[store.video] = EmbeddedVideo(
                embedded.embedding, store.time_s, store.duration_s, store.native_fps, embedded.background
            )
            progress.advance(len(store))
    write_embedded(output_zarr, videos, {**facts, "held_out": sorted(held_out)} if held_out else facts)


def fit(embedding: Embedding, videos: Sequence[VideoFeatures], seed: int) -> EmbedVideo:
    """Fit an embedding without an encoder to videos."""
    if not embedding.FUNCTION:
        able = [family.name for family in FAMILIES.values() if family.embedding.FUNCTION]
        raise RgwotError(
            f"method {str(embedding)!r}: found no model; give one, or choose a method without one: {', '.join(able)}"
        )
    embed: EmbedVideo = embedding(videos, seed)
    return embed


def embedded_task(stores: Sequence[VideoFeatures], embed_one: Embedder) -> EmbeddedTask:
    """Embed the videos of a task like `embed`, but without writing a store."""
    videos = {
        store.video: embedded_video(store, embed_one.embed) for store in sorted(stores, key=lambda store: store.video)
    }
    facts = embed_one.facts
    return with_both_parts(
        EmbeddedTask(
            videos,
            (),
            facts["features_fps"],
            facts["method"],
            tuple(sorted(embed_one.held_out)),
            tuple(facts.get("notes", ())),
            facts.get("scales"),
        ),
        "features",
    )
