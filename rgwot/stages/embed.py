"""The embedding stage: every video of a task through its encoder, or embedded as its method does without one."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import zarr

from rgwot.config.experiments import split_id
from rgwot.config.methods import EMBEDDING_KINDS, FAMILIES
from rgwot.config.settings import Settings
from rgwot.embedding.arrays import usual_ratio
from rgwot.embedding.interface import (
    EmbeddedTask,
    EmbeddedVideo,
    EmbedVideo,
    Fit,
    VideoFeatures,
    check_finite,
    checked,
    embedded_video,
    with_both_parts,
)
from rgwot.features.index import open_stores
from rgwot.features.store import STORE_ERRORS, FeatureStore, put, whole
from rgwot.runtime.errors import RgwotError, first_line
from rgwot.runtime.files import remake, replacing
from rgwot.runtime.progress import Progress
from rgwot.timing import parse_rate

#: Bytes of a chunk, about.
CHUNK_BYTES = 2**24


def write_embedded(path: Path, videos: Mapping[str, EmbeddedVideo], facts: Mapping[str, Any]) -> None:
    """Write the embeddings of at least one video, and ``facts`` about the run as attributes: `EmbeddedTask`'s fields.

    One Zarr store holds all videos of a task: ``embedding`` (ΣT, D) float32 and ``time_s`` (ΣT,) float64, the samples
    of one video after those of another; those of the i-th are rows ``offsets[i]`` to ``offsets[i + 1]``, with
    ``offsets`` (N + 1,) int64. The attribute ``videos`` has the N ids, ``duration_s`` and ``native_fps`` are as long.
    Methods that tell background apart also write ``background`` (ΣT,) bool. ``complete`` is written last, and an older
    store is replaced as a whole.
    """
    embedded = list(videos.values())
    arrays = {
        "embedding": np.concatenate([np.asarray(video.embedding, dtype=np.float32) for video in embedded]),
        "time_s": np.concatenate([video.time_s for video in embedded]),
        "offsets": np.cumsum([0, *(len(video.time_s) for video in embedded)], dtype=np.int64),
    }
    background = [video.background for video in embedded if video.background is not None]
    if background:
        arrays["background"] = np.concatenate(background)
    rates = [str(video.native_fps) for video in embedded]
    lengths = [video.duration_s for video in embedded]
    about: dict[str, Any] = {**facts, "videos": list(videos), "duration_s": lengths, "native_fps": rates}
    with replacing(path) as temporary:
        root = zarr.open_group(temporary, mode="w", zarr_format=3)
        for name, array in arrays.items():
            rows = CHUNK_BYTES // max(array[:1].nbytes, 1)
            put(root, name, array, chunk=max(1, min(len(array), rows)))
        root.update_attributes({**about, "complete": True})


def read_embeddings(path: str | Path) -> EmbeddedTask:
    """Read a store of embeddings, in float64.

    Raises
    ------
    RgwotError
        When it is missing, incomplete or damaged, has no video with a frame, or holds values that are not finite.
    """
    store = Path(path)
    if not store.is_dir():
        raise RgwotError(f"embeddings {store}: found nothing there; embed the task first")
    try:
        return _read(store)
    except STORE_ERRORS as error:
        raise RgwotError(f"embeddings {store}: damaged ({first_line(error)}); {remake(store)}") from None


def _read(store: Path) -> EmbeddedTask:
    root = zarr.open_group(store, mode="r", zarr_format=3)
    about: dict[str, Any] = dict(root.attrs)
    if about.get("complete") is not True:
        raise RgwotError(f"embeddings {store}: not complete; {remake(store)}")
    names, offsets = [str(name) for name in about["videos"]], whole(root, "offsets", store)
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
                float(about["duration_s"][place]),
                float(parse_rate(about["native_fps"][place])),
                arrays["background"][rows] if "background" in arrays else None,
            )
    if not videos:
        raise RgwotError(f"embeddings {store}: no video with a frame; expected at least one, see the feature index")
    task = EmbeddedTask(
        videos,
        tuple(sorted(set(names) - set(videos))),
        float(about["features_fps"]),
        str(about.get("method", "")),
        tuple(about.get("held_out", ())),
        tuple(about.get("notes", ())),
        about.get("scales"),
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
    settings: Settings | None = None,
    seed: int | None = None,
    device: str = "auto",
    threads: int | None = None,
    held_out: Sequence[str] = (),
) -> None:
    """Embed every frame of every video of a task that has frames.

    Writes what `write_embedded` describes, with the attributes ``method``, ``seed`` and ``features_fps``.
    Where videos were held out, ``held_out`` names them, those without frames too. ``notes`` are sentences about the
    training that a reader of its results should know, ``scales`` is how far the scales of the features' channels
    differ, where they are known and weigh on the embedding.
    Context frames are chosen as in training (methods 3.8).

    Parameters
    ----------
    index_csv, features_dir
        Feature index of the task, and the directory of its stores.
    model_path
        ``model.pt`` as written by `rgwot.stages.train`; None for a method without an encoder, which is fitted here.
    output_zarr
        Directory to write, replaced when it exists.
    method
        Id to record; by default ``raw`` without a model, else ``trained``. Without a model it also says how to embed.
    settings
        The blocks that the embedding without an encoder reads (`rgwot.config.methods.EMBEDDING_KINDS`); left out, the
        defaults.
    seed
        Seed to fit with and to record; by default that of the model, or 0 without one.
    device
        ``auto``, ``cpu`` or ``cuda``; of the encoder. What is fitted here is fitted on the CPU.
    threads
        CPU threads of torch; None leaves them.
    held_out
        Videos that neither an embedding fitted here nor a clustering may learn from; a model knows its own.

    Raises
    ------
    RgwotError
        When there is no such model, it was trained on other features, a store is unusable, or the method needs a
        model and none is given.
    """
    stores = open_stores(index_csv, features_dir)
    if not stores:
        raise RgwotError(f"{index_csv}: no video with features, expected at least 1; see its column reason")
    model = None
    if model_path is not None:
        # Not at the top: a method without an encoder need not wait for PyTorch.
        from rgwot.stages.train import load_model

        model = load_model(model_path)
        for key, value in model["features"].items():
            found = stores[0].attributes.get(key)
            if found != value:
                raise RgwotError(
                    f"model: trained on features with {key} {value!r}, found {found!r} in {stores[0].path}; train again"
                )
    embed_one = embedder(stores, settings or Settings(), model, method, seed, device, threads, held_out)
    write_embeddings(output_zarr, stores, embed_one.embed, embed_one.facts, embed_one.held_out)


class Embedder(NamedTuple):
    """How the videos of a task are embedded.

    Attributes
    ----------
    embed
        One video -> its embedding.
    facts
        ``method``, ``seed`` and ``features_fps``; ``notes`` and ``scales`` as in `embed`.
    held_out
        Videos that were not learned from.
    """

    embed: EmbedVideo
    facts: dict[str, Any]
    held_out: tuple[str, ...] = ()


def embedder(
    stores: Sequence[VideoFeatures],
    settings: Settings,
    model: Mapping[str, Any] | None = None,
    method: str | None = None,
    seed: int | None = None,
    device: str = "cpu",
    threads: int | None = None,
    held_out: Sequence[str] = (),
) -> Embedder:
    """Return how the videos of a task are embedded: by a trained model, or as fitted here to the videos not held out.

    Parameters are those of `embed`, with the features of all videos and a loaded model.

    Raises
    ------
    RgwotError
        When the method needs a model and none is given.
    """
    fps = stores[0].fps
    scales = usual_ratio(store.scales for store in stores)
    if model is None:
        name, number, notes = method or "raw", seed or 0, []
        training = [store for store in stores if store.video not in held_out]
        embed_one = fit_of(name, settings)(training, number)
        # Of embeddings without an encoder, the one that does not depend on the scales of the channels.
        standardised = FAMILIES[split_id(name)[0]].embedding == "whitened"
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


def fit_of(method: str, settings: Settings) -> Fit:
    """Return how a method without an encoder embeds, with its settings."""
    base = split_id(method)[0]
    entry = EMBEDDING_KINDS[FAMILIES[base].embedding]
    if not entry.function:
        able = [family.name for family in FAMILIES.values() if EMBEDDING_KINDS[family.embedding].function]
        raise RgwotError(
            f"method {method!r}: found no model; name it (--model), or take a method that needs none: {', '.join(able)}"
        )
    return entry.bound(settings)


def embedded_task(stores: Sequence[VideoFeatures], embed_one: Embedder) -> EmbeddedTask:
    """Embed the videos of a task, those that `rgwot.stages.embed.embed` writes into a store."""
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
