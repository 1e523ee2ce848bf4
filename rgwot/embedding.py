"""The embedding stage: every video of a task through its encoder, or its features averaged over space."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import zarr
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from rgwot.datasets.split import check_held_out
from rgwot.device import resolve_device
from rgwot.encoder import Encoder
from rgwot.errors import RgwotError
from rgwot.features.store import FeatureStore
from rgwot.files import replacing
from rgwot.progress import Progress
from rgwot.training.bank import indexed_videos, open_stores
from rgwot.training.sampler import context_offsets, with_context

logger = logging.getLogger(__name__)

FRAMES_AT_ONCE = 64


def embed(
    index_csv: Path,
    features_dir: Path,
    model_path: Path | None,
    output_zarr: Path,
    *,
    method: str | None = None,
    seed: int | None = None,
    device: str = "auto",
    threads: int | None = None,
    held_out: Sequence[str] = (),
) -> None:
    """Embed every frame of every video of a task that has frames.

    Writes a Zarr (version 3) group per video with the arrays ``embedding`` (T, D) float32 and ``time_s`` (T,)
    float64 and the attributes ``duration_s`` and ``native_fps``; the root has ``method``, ``seed``,
    ``features_fps`` and, last, ``complete``. Where videos were held out, the group of every video also has
    ``split`` (``train`` or ``test``) and the root ``held_out``, which names those without frames too. Context
    frames are chosen as in training (methods 3.8, the consistent reading).

    Parameters
    ----------
    index_csv, features_dir
        Feature index of the task, and the directory of its stores.
    model_path
        ``model.pt`` as written by `rgwot.training.train`; None gives the raw features: conv4c averaged over
        space, L2-normalised (D = 1024).
    output_zarr
        Directory to write, replaced when it exists.
    method
        Name to record; by default ``raw`` without a model, else ``trained``.
    seed
        Seed to record; by default that of the model, or 0 without one.
    device
        ``auto``, ``cpu`` or ``cuda``.
    threads
        CPU threads of torch; None leaves them.
    held_out
        Videos that a clustering of raw features must not see; a model knows its own.

    Raises
    ------
    RgwotError
        When there is no such model, it was trained on other features, or a store is unusable.
    """
    place = resolve_device(device)
    if threads is not None:
        torch.set_num_threads(threads)
    stores = open_stores(index_csv, features_dir)
    if not stores:
        raise RgwotError(f"{index_csv}: no video with features, expected at least 1; see its column reason")
    fps = float(stores[0].attributes["fps"])
    if model_path is None:
        offsets = np.zeros(1, dtype=np.int64)
        function: Callable[[Tensor], Tensor] = raw_embedding
        name, number = method or "raw", seed or 0
        check_held_out(held_out, indexed_videos(index_csv), str(index_csv))
    else:
        model = load_model(model_path)
        if held_out:
            raise RgwotError(f"{model_path}: the model says which videos were held out; leave out --hold-out")
        held_out = model.get("held_out", ())
        for key, value in model["features"].items():
            found = stores[0].attributes.get(key)
            if found != value:
                raise RgwotError(
                    f"{model_path}: trained on features with {key} {value!r}, found {found!r} in "
                    f"{stores[0].path}; train again"
                )
        data = model["settings"]["data"]
        encoder = encoder_of(model).to(place)
        offsets = context_offsets(encoder.c, data["context_s"], fps, data["context_side"])
        function = encoder
        name, number = method or "trained", int(model["seed"] if seed is None else seed)

    frames = sum(len(store) for store in stores)
    with (
        replacing(output_zarr) as temporary,
        Progress(logger, f"embed {output_zarr}", frames, unit="frame") as progress,
    ):
        root = zarr.open_group(temporary, mode="w", zarr_format=3)
        for store in stores:
            embedding = embed_video(store, offsets, function, place)
            attributes: dict[str, Any] = {"duration_s": store.duration_s, "native_fps": str(store.native_fps)}
            if held_out:
                attributes["split"] = "test" if store.video in held_out else "train"
            group = root.create_group(store.video, attributes=attributes)
            group.create_array("embedding", data=embedding, chunks=embedding.shape)
            group.create_array("time_s", data=store.time_s, chunks=store.time_s.shape)
            progress.advance(len(store))
        root.attrs.update({"method": name, "seed": number, "features_fps": fps})
        if held_out:
            root.attrs["held_out"] = sorted(held_out)
        root.attrs["complete"] = True


def raw_embedding(clips: Tensor) -> Tensor:
    """Average the first frame's maps over space and scale to norm 1: (n, c, 1024, h, w) to (n, 1024)."""
    return F.normalize(clips[:, 0].float().mean(dim=(2, 3)), dim=1)


def load_model(path: Path) -> dict[str, Any]:
    """Read ``model.pt``.

    Raises
    ------
    RgwotError
        When there is no such file or it is not a model of this library.
    """
    try:
        model = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise RgwotError(f"{path}: no such model; expected one written by rgwot train") from None
    except (pickle.UnpicklingError, RuntimeError, EOFError) as error:
        raise RgwotError(f"{path}: not a readable model ({str(error).splitlines()[0]}); train again") from None
    if not isinstance(model, dict) or not {"encoder", "architecture", "settings", "features", "seed"} <= set(model):
        raise RgwotError(f"{path}: not a model written by rgwot train; train again")
    return model


def encoder_of(model: dict[str, Any]) -> Encoder:
    """Return the encoder of a loaded model, in eval mode."""
    encoder = Encoder(**model["architecture"])
    encoder.load_state_dict(model["encoder"])
    return encoder.eval()


def embed_video(
    store: FeatureStore,
    offsets: NDArray[np.int64],
    function: Callable[[Tensor], Tensor],
    device: torch.device,
) -> NDArray[np.float32]:
    """Embed all frames of a video in blocks; memory does not grow with its length.

    Parameters
    ----------
    store
        Features of the video, T frames.
    offsets
        (c,) offsets of the context stack in frames.
    function
        Maps (n, c, 1024, h, w) to (n, D).
    device
        Where ``function`` wants its input.

    Returns
    -------
    ndarray
        (T, D) float32.
    """
    parts = []
    with torch.inference_mode():
        for start in range(0, len(store), FRAMES_AT_ONCE):
            stacks = with_context(np.arange(start, min(start + FRAMES_AT_ONCE, len(store))), offsets, len(store))
            # Context frames are mostly sampled frames of the same block: every frame is read once.
            needed, rows = np.unique(stacks, return_inverse=True)
            maps = torch.from_numpy(store.frames(needed)).to(device).movedim(1, -1).contiguous()
            clips = maps[torch.from_numpy(rows.reshape(stacks.shape)).to(device)].movedim(-1, 2)
            parts.append(function(clips).float().cpu().numpy())
    return np.concatenate(parts)
