"""HVQ: vector quantisation at two levels between a temporal encoder and a decoder (methods 5.14)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from rgwot.baselines.asot import directions_of, first_centres, seeded, weights_of, with_weights
from rgwot.config.settings import HvqSettings, Settings
from rgwot.keysteps.interface import Decoded, Frames, Learned, Predict
from rgwot.runtime.threads import one_thread

DEAD = (3.0, 1.0)
"""Moving count of frames per step below which a code of the first and of the second level is dead; published."""

FINE = 2
"""Codes of the first level per code of the second; published."""

CONSTANT = 1e-6
"""A video is constant, and becomes 0, where its spread is no more of its length than float32 rounds."""


def videos_of(frames: Frames) -> list[Tensor]:
    """Return every video's features (N, I), float32, around their mean and of variance 1 on average over channels.

    One factor for all channels: each by itself, as ASOT has it, would make the noise of a channel in which nothing
    happens as loud as what people do.
    """
    return [_scaled(part) for part in np.split(frames.x, np.cumsum(frames.lengths)[:-1])]


def _scaled(x: NDArray[np.float64]) -> Tensor:
    offsets = x - x.mean(axis=0)
    spread, length = (float(np.sqrt(np.square(values).mean())) for values in (offsets, x))
    scaled = offsets / spread if spread > CONSTANT * length else np.zeros_like(offsets)
    return torch.from_numpy(scaled.astype(np.float32))


class DilatedConvolutions(nn.Module):
    """Convolutions over time, layer l with taps 2^l samples apart, each added to what went in (methods 5.14).

    (N, I) to (N, O): a linear layer to ``hidden`` channels, ``layers`` of x + linear(ReLU(convolution(x))), a linear
    layer. The first and the last sample are repeated beyond the ends, so that a constant video stays constant.
    """

    def __init__(self, I: int, O: int, hidden: int, layers: int) -> None:  # noqa: E741
        super().__init__()
        self.first, self.last = nn.Linear(I, hidden), nn.Linear(hidden, O)
        self.taps = nn.ModuleList(nn.Linear(3 * hidden, hidden) for _ in range(layers))
        self.mixes = nn.ModuleList(nn.Linear(hidden, hidden) for _ in range(layers))

    def forward(self, x: Tensor) -> Tensor:
        """Return one vector per sample."""
        x = self.first(x)
        place = torch.arange(len(x))
        for layer, (taps, mix) in enumerate(zip(self.taps, self.mixes, strict=True)):
            before, after = ((place + step).clamp(0, len(x) - 1) for step in (-(2**layer), 2**layer))
            x = x + mix(torch.relu(taps(torch.cat([x[before], x, x[after]], 1))))
        return self.last(x)  # type: ignore[no-any-return]


class Codebook:
    """Codes (n, D) of length 1, moving means of the vectors of length 1 that are assigned to them (methods 5.14).

    It begins with some codes and the ``counts`` (n,) > 0 of vectors that each is expected to get per step. An update
    keeps the share ``decay`` of counts and sums, and replaces a code whose moving count has fallen below ``dead``.
    """

    def __init__(self, codes: Tensor, counts: Tensor, decay: float, dead: float) -> None:
        self.codes, self.counts = codes.clone(), counts.clone()
        self.sums = codes * counts[:, None]
        self.decay, self.dead = decay, dead
        self.replaced = 0

    def assign(self, z: Tensor) -> Tensor:
        """Return the code of largest cosine with each vector (N, D) of length 1, (N,); of equal ones the first."""
        return (z.detach() @ self.codes.T).argmax(1)

    def quantise(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """Return codes of vectors (N, D) and their numbers (N,); to the gradient a code is its vector."""
        labels = self.assign(z)
        return z + (self.codes[labels] - z).detach(), labels

    @torch.no_grad()
    def update(self, z: Tensor, labels: Tensor, generator: np.random.Generator) -> None:
        r"""Move codes towards the vectors (N, D) of length 1 that are assigned to them, and replace those that died.

        With n_k vectors in code k and their sum s_k,

        .. math:: c_k \leftarrow \gamma c_k + (1-\gamma) n_k, \qquad S_k \leftarrow \gamma S_k + (1-\gamma) s_k, \qquad
                  A_k = S_k / |S_k|

        A code with c_k below the limit becomes a vector of this step, drawn at random, with the limit as its count.
        """
        n = len(self.codes)
        counts = torch.bincount(labels, minlength=n).to(z)
        sums = torch.zeros_like(self.sums).index_add_(0, labels, z.detach())
        self.counts = self.decay * self.counts + (1 - self.decay) * counts
        self.sums = self.decay * self.sums + (1 - self.decay) * sums
        gone = torch.nonzero(self.counts < self.dead)[:, 0]
        if len(gone):
            drawn = z.detach()[torch.from_numpy(generator.integers(len(z), size=len(gone)))]
            self.counts[gone], self.sums[gone] = self.dead, self.dead * drawn
            self.replaced += len(gone)
        self.codes = F.normalize(self.sums, dim=1)


@dataclass(frozen=True)
class Quantiser:
    """What was learned: an encoder and two levels of codes, the second of which are the key steps."""

    encoder: nn.Module
    fine: Codebook
    coarse: Codebook

    def label(self, frames: Frames) -> NDArray[np.int64]:
        """Return the code of the second level of every frame, (T,)."""
        with one_thread(), torch.inference_mode():
            labels = [self._label(video) for video in videos_of(frames)]
        return torch.cat(labels).numpy()

    def _label(self, x: Tensor) -> Tensor:
        return self.coarse.assign(self.fine.codes[self.fine.assign(directions_of(self.encoder(x), "hvq"))])


def quantisation_loss(z: Tensor, q1: Tensor, q2: Tensor, x: Tensor, found: Tensor, weight: float) -> Tensor:
    r"""Mean over frames of :math:`|sg(q_1) - z|^2 + |sg(q_2) - q_1|^2 + w |\hat x - x|^2`, sg a constant."""
    pulls = (q1.detach() - z).square().sum(1) + (q2.detach() - q1).square().sum(1)
    return (pulls + weight * (found - x).square().sum(1)).mean()


def learn(frames: Frames, K: int, block: HvqSettings, generator: np.random.Generator) -> tuple[Quantiser, list[float]]:
    """Train encoder, codes and decoder on one video after the other; returns them and the mean loss of every epoch.

    Raises
    ------
    RgwotError
        When training diverges.
    """
    videos = videos_of(frames)
    I, shape = frames.x.shape[1], (block.hidden, block.layers)  # noqa: E741
    encoder = seeded(generator, lambda: DilatedConvolutions(I, block.D, *shape))
    decoder = seeded(generator, lambda: DilatedConvolutions(block.D, I, *shape))
    with torch.no_grad():
        z = torch.cat([directions_of(encoder(video), "hvq") for video in videos])
    fine = _started(z, FINE * K, len(videos), block.ema, DEAD[0], generator)
    coarse = _started(fine.codes[fine.assign(z)], K, len(videos), block.ema, DEAD[1], generator)
    parameters = [*encoder.parameters(), *decoder.parameters()]
    optimiser = torch.optim.AdamW(parameters, lr=block.lr, weight_decay=block.weight_decay, fused=True)
    losses = []
    for _ in range(block.epochs):
        total = 0.0
        for video in generator.permutation(len(videos)):
            x = videos[video]
            z = directions_of(encoder(x), "hvq")
            q1, first = fine.quantise(z)
            q2, second = coarse.quantise(q1)
            loss = quantisation_loss(z, q1, q2, x, decoder(q2), block.reconstruction)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            fine.update(z, first, generator)
            coarse.update(q1, second, generator)
            total += loss.item()
        losses.append(total / len(videos))
    return Quantiser(encoder.eval(), fine, coarse), losses


def decode_hvq(frames: Frames, K: int, settings: Settings, generator: np.random.Generator) -> Decoded:
    """Learn codes at two levels and label every frame by that of the second: the decoder ``hvq``."""
    with one_thread():
        learned, losses = learn(frames, K, settings.hvq, generator)
    facts = {
        "codes": [len(learned.fine.codes), len(learned.coarse.codes)],
        "replaced": [learned.fine.replaced, learned.coarse.replaced],
        "epochs": len(losses),
        "loss_first": losses[0],
        "loss_last": losses[-1],
    }
    codes = {"fine": learned.fine.codes.numpy(), "coarse": learned.coarse.codes.numpy()}
    kept = {**weights_of(learned.encoder), **codes}
    return Decoded(learned.label(frames), facts={"hvq": facts}).inductive(restore_hvq, lambda: kept, K, settings)


def restore_hvq(learned: Learned, K: int, settings: Settings) -> Predict:
    """Label other videos by the same codes."""
    block, width = settings.hvq, learned["first.weight"].shape[1]
    encoder = with_weights(DilatedConvolutions(width, block.D, block.hidden, block.layers), learned)
    fine, coarse = (_kept(torch.from_numpy(learned[level])) for level in ("fine", "coarse"))
    quantiser = Quantiser(encoder, fine, coarse)
    return lambda others: Decoded(quantiser.label(others))


def _kept(codes: Tensor) -> Codebook:
    """Return codes that learn no more; what counts are for is over."""
    return Codebook(codes, torch.ones(len(codes)), 1.0, 0.0)


def _started(z: Tensor, n: int, videos: int, decay: float, dead: float, generator: np.random.Generator) -> Codebook:
    """Return at most n codes from k-means of vectors (N, D); a step, one video, will see N / videos of them."""
    codes = first_centres(z, n, generator)
    counts = torch.bincount((z @ codes.T).argmax(1), minlength=len(codes)).to(z) / videos
    # With fewer frames than codes need, all but a few would be dead at every step.
    dead = min(dead, len(z) / videos / (2 * len(codes)))
    return Codebook(codes, counts.clamp_min(dead), decay, dead)
