"""VASOT: ASOT trained on pairs of videos that are aligned as well (methods 5.13).

The alignment loss is that of VAOT: this library's, from embeddings of frames that segmentation shares with it.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from rgwot.baselines.asot import Drawn, labelled, learn, restore_asot
from rgwot.config.settings import Settings
from rgwot.keysteps.interface import Decoded, Frames
from rgwot.losses.gromov_wasserstein import align_gromov_wasserstein
from rgwot.losses.interface import PairBatch
from rgwot.runtime.threads import one_thread


def paired(x: Drawn, y: Drawn) -> PairBatch:
    """Return the frames that were drawn of two videos as one pair, their places in the video for times."""
    times = [torch.from_numpy(one.rows).double()[None] for one in (x, y)]
    lengths = [torch.tensor([float(one.length)], dtype=torch.float64) for one in (x, y)]
    return PairBatch(
        x.f[None], y.f[None], times[0], lengths[0], times[1], lengths[1], torch.zeros(1, dtype=torch.int64)
    )


def decode_vasot(frames: Frames, K: int, settings: Settings, generator: np.random.Generator) -> Decoded:
    """Learn an embedding and centres from segmentation and alignment, and label as ASOT: the decoder ``vasot``.

    A single video has nothing to be aligned with, and is segmented as by ``asot``.
    """

    def alignment(x: Drawn, y: Drawn) -> Tensor:
        return settings.vasot.beta * align_gromov_wasserstein(paired(x, y), settings).sum()

    with one_thread():
        learned, losses = learn(frames, K, settings.asot, generator, alignment if settings.vasot.beta else None)
    return labelled(learned, losses, frames, K, settings, "vasot")


restore_vasot = restore_asot
