"""A trained model, and embedding videos by its encoder (methods 3.8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rgwot.embedding.encoder import Encoder, seeded
from rgwot.embedding.interface import Embedded, EmbedVideo, VideoFeatures
from rgwot.embedding.sampler import context_offsets, with_context

FRAMES_PER_BATCH = 64


def encoder_of(model: Mapping[str, Any]) -> Encoder:
    """Return the encoder of a loaded model, in eval mode."""
    encoder = seeded(0, lambda: Encoder(**model["architecture"]))
    encoder.load_state_dict(model["encoder"])
    return encoder.eval()


def embed_by_model(model: Mapping[str, Any], fps: float, device: torch.device, threads: int | None) -> EmbedVideo:
    """Return how the encoder of a loaded model embeds videos with features of ``fps`` per second."""
    if threads is not None:
        torch.set_num_threads(threads)
    data = model["settings"]["data"]
    encoder = encoder_of(model).to(device)
    offsets = context_offsets(encoder.c, data["context_s"], fps, data["context_side"])
    arrays = {
        part: {name: tensor.numpy() for name, tensor in model[part].items()}
        for part in ("projection", "beside")
        if part in model
    }
    if arrays:
        # Not at the top: most models need no whitening, nor SciPy for it.
        from rgwot.embedding.projection import Projection, with_beside
    project = Projection(**arrays["projection"]) if "projection" in arrays else None

    def embed(store: VideoFeatures) -> Embedded:
        return Embedded(embed_video(project(store) if project else store, offsets, encoder, device))

    if "beside" not in arrays:
        return embed
    return with_beside(embed, arrays["beside"], float(model["settings"]["encoder"]["beside"]))


def embed_video(
    store: VideoFeatures, offsets: NDArray[np.int64], encoder: Encoder, device: torch.device
) -> NDArray[np.float32]:
    """Embed all T frames of a video, (T, D), in blocks; memory does not grow with its length.

    ``offsets`` (c,) are those of the context stack in frames; the encoder is in eval mode, on ``device``.
    """
    parts = []
    with torch.inference_mode():
        for start in range(0, len(store), FRAMES_PER_BATCH):
            stacks = with_context(np.arange(start, min(start + FRAMES_PER_BATCH, len(store))), offsets, len(store))
            # Context frames are mostly sampled frames of the same block: every frame is read once.
            needed, rows = np.unique(stacks, return_inverse=True)
            maps = torch.from_numpy(store.frames(needed)).to(device)
            parts.append(encoder(maps[torch.from_numpy(rows.reshape(stacks.shape)).to(device)]).cpu().numpy())
    return np.concatenate(parts)
