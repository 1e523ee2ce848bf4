"""HVQ: vector quantisation at two levels between a temporal encoder and a decoder (peers 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from asot import directions_of, first_centres
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from rgwot.baselines.regression import weights_of, with_weights
from rgwot.blocks import Count, NonNegative, Positive
from rgwot.config.extensions import Extension
from rgwot.diagnostics import Facts
from rgwot.embedding.encoder import seeded
from rgwot.keysteps.interface import Decoded, Frames, Learned, Predict, directions
from rgwot.keysteps.settings import Clustering
from rgwot.runtime.limits import one_thread


class Hvq(Clustering):
    """Vector quantisation at two levels, behind a temporal encoder (peers 4)."""

    NAME = "hvq"
    FUNCTION = "hvq:decode_hvq"
    RESTORE = "hvq:restore_hvq"
    SOURCE = "HVQ, AAAI 2025"
    SLOW = True

    epochs: Count = Field(20, description="passes over the videos; HVQ")
    lr: Positive = Field(1e-3, description="learning rate of AdamW; HVQ")
    weight_decay: NonNegative = Field(1e-4, description="decoupled weight decay; HVQ")
    ema: Annotated[float, Field(ge=0, lt=1)] = Field(0.8, description="share of a code's mean kept per step; HVQ")
    reconstruction: NonNegative = Field(0.002, description="weight of the squared error of the features; HVQ")
    hidden: Count = Field(32, description="channels of the convolutions, and dimensions of the codes; HVQ")
    layers: Annotated[int, Field(ge=1, le=20)] = Field(
        10, description="convolutions of a stage, with taps 1, 2, 4, ... samples apart; HVQ"
    )
    stages: Count = Field(2, description="stages of encoder and of decoder; HVQ")


DEAD = (3.0, 1.0)
"""A code of the first or second level is dead if its moving number of frames per step is below this; published."""

FINE = 2
"""Number of codes of the first level per code of the second level; published."""


def videos_of(frames: Frames) -> list[Tensor]:
    """Return every video's features (N, I), float32, frames of length 1."""
    parts = np.split(directions(frames.x).astype(np.float32), np.cumsum(frames.lengths)[:-1])
    return [torch.from_numpy(part) for part in parts]


class Convolutions(nn.Module):
    """Stages of convolutions over time, layer l with taps 2^l samples apart and zeros beyond the ends (peers 4).

    (N, I) to (N, hidden): a stage is a linear layer and ``layers`` of x + linear(ReLU(convolution(x))).
    """

    def __init__(self, I: int, hidden: int, layers: int, stages: int) -> None:  # noqa: E741
        super().__init__()
        widths = (I, *[hidden] * (stages - 1))
        self.first = nn.ModuleList(nn.Conv1d(width, hidden, 1) for width in widths)
        self.taps = nn.ModuleList(
            nn.Conv1d(hidden, hidden, 3, padding=2**layer, dilation=2**layer)
            for _ in range(stages)
            for layer in range(layers)
        )
        self.mixes = nn.ModuleList(nn.Conv1d(hidden, hidden, 1) for _ in self.taps)
        self.layers = layers

    def forward(self, x: Tensor) -> Tensor:
        """Return one vector per sample."""
        x = x.T[None]
        for layer, (taps, mix) in enumerate(zip(self.taps, self.mixes, strict=True)):
            if layer % self.layers == 0:
                x = self.first[layer // self.layers](x)
            x = x + mix(torch.relu(taps(x)))
        return x[0].T


class Codebook:
    """Codes (n, D) that move to the vectors of length 1 that are assigned to them (peers 4).

    It begins with some codes and the ``counts`` (n,) > 0 of vectors that each is expected to get per step. An update
    keeps the share ``decay`` of codes and counts, and replaces a code whose moving count has fallen below ``dead``.
    """

    def __init__(self, codes: Tensor, counts: Tensor, decay: float, dead: float) -> None:
        self.codes, self.counts = codes.clone(), counts.clone()
        self.decay, self.dead = decay, dead
        self.replaced = 0

    def assign(self, z: Tensor) -> Tensor:
        """Return the code with the largest cosine to each vector (N, D) of length 1, (N,); the first code in a tie."""
        return (z.detach() @ F.normalize(self.codes, dim=1).T).argmax(1)

    def quantise(self, z: Tensor, labels: Tensor) -> Tensor:
        """Return the codes ``labels`` (N,) of vectors (N, D); the gradient passes through a code to its vector."""
        return z + (self.codes[labels] - z).detach()

    @torch.no_grad()
    def update(self, z: Tensor, labels: Tensor, generator: np.random.Generator) -> None:
        r"""Move codes towards the vectors (N, D) of length 1 that are assigned to them, and replace dead codes.

        With n_k vectors in code k and their sum s_k,

        .. math:: c_k \leftarrow \gamma c_k + (1-\gamma) n_k, \qquad
                  A_k \leftarrow \gamma A_k + (1-\gamma) s_k / |s_k| \; \text{ where } n_k > 0

        A code with c_k below the limit becomes a vector of this step, drawn at random, with the limit as its count.
        """
        n = len(self.codes)
        counts = torch.bincount(labels, minlength=n).to(z)
        sums = torch.zeros_like(self.codes).index_add_(0, labels, z.detach())
        self.counts = self.decay * self.counts + (1 - self.decay) * counts
        moved = torch.lerp(self.codes, F.normalize(sums, dim=1), 1 - self.decay)
        self.codes = torch.where(counts[:, None] > 0, moved, self.codes)
        gone = torch.nonzero(self.counts < self.dead)[:, 0]
        if len(gone):
            drawn = z.detach()[torch.from_numpy(generator.integers(len(z), size=len(gone)))]
            self.counts[gone], self.codes[gone] = self.dead, drawn
            self.replaced += len(gone)


@dataclass(frozen=True)
class Quantiser:
    """A learned encoder and two levels of codes; the codes of the second level are the key steps."""

    encoder: nn.Module
    fine: Codebook
    coarse: Codebook

    def label(self, frames: Frames) -> NDArray[np.int64]:
        """Return the code of the second level of every frame, (T,)."""
        with one_thread(), torch.inference_mode():
            labels = [self._label(video) for video in videos_of(frames)]
        return torch.cat(labels).numpy()

    def _label(self, x: Tensor) -> Tensor:
        q1 = self.fine.codes[self.fine.assign(directions_of(self.encoder(x), "hvq"))]
        return self.coarse.assign(F.normalize(q1, dim=1))


def quantisation_loss(z: Tensor, q1: Tensor, q2: Tensor, x: Tensor, found: Tensor, weight: float) -> Tensor:
    r"""Mean over frames and dimensions of :math:`(sg(q_1) - z)^2 + (sg(q_2) - q_1)^2` and :math:`w (\hat x - x)^2`."""
    pulls = F.mse_loss(z, q1.detach()) + F.mse_loss(q1, q2.detach())
    return pulls + weight * F.mse_loss(found, x)


def learn(frames: Frames, K: int, block: Hvq, generator: np.random.Generator) -> tuple[Quantiser, list[float]]:
    """Train encoder, codes and decoder on one video after the other; return them and the mean loss of every epoch.

    Raises
    ------
    RgwotError
        If training diverges.
    """
    videos = videos_of(frames)
    shape, width = (block.hidden, block.layers, block.stages), frames.x.shape[1]
    seeds = generator.integers(2**63), generator.integers(2**63)
    with seeded(int(seeds[0])):
        encoder = Convolutions(width, *shape)
    with seeded(int(seeds[1])):
        decoder = nn.Sequential(Convolutions(block.hidden, *shape), nn.Linear(block.hidden, width))
    with torch.no_grad():
        z = torch.cat([directions_of(encoder(video), "hvq") for video in videos])
    fine = _started(z, FINE * K, len(videos), block.ema, DEAD[0], generator)
    coarse = _started(F.normalize(fine.codes[fine.assign(z)], dim=1), K, len(videos), block.ema, DEAD[1], generator)
    parameters = [*encoder.parameters(), *decoder.parameters()]
    optimiser = torch.optim.AdamW(parameters, lr=block.lr, weight_decay=block.weight_decay, fused=True)
    losses = []
    for _ in range(block.epochs):
        total = 0.0
        for video in generator.permutation(len(videos)):
            x = videos[video]
            z = directions_of(encoder(x), "hvq")
            first = fine.assign(z)
            fine.update(z, first, generator)
            q1 = fine.quantise(z, first)
            of_fine = F.normalize(q1.detach(), dim=1)
            second = coarse.assign(of_fine)
            coarse.update(of_fine, second, generator)
            q2 = coarse.quantise(q1, second)
            loss = quantisation_loss(z, q1, q2, x, decoder(q2), block.reconstruction)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            total += loss.item()
        losses.append(total / len(videos))
    return Quantiser(encoder.eval(), fine, coarse), losses


@dataclass(frozen=True, kw_only=True)
class HvqFacts(Facts):
    """The codes of both levels, how many of them were replaced, and the loss in the first and last epoch."""

    codes: tuple[int, int]
    replaced: tuple[int, int]
    epochs: int
    loss_first: float
    loss_last: float


def decode_hvq(frames: Frames, K: int, generator: np.random.Generator, settings: Hvq) -> Decoded:
    """Learn codes at two levels and label every frame by its code of the second level: the decoder ``hvq``."""
    with one_thread():
        learned, losses = learn(frames, K, settings, generator)
    facts = HvqFacts(
        codes=(len(learned.fine.codes), len(learned.coarse.codes)),
        replaced=(learned.fine.replaced, learned.coarse.replaced),
        epochs=len(losses),
        loss_first=losses[0],
        loss_last=losses[-1],
    )
    codes = {"fine": learned.fine.codes.numpy(), "coarse": learned.coarse.codes.numpy()}
    kept = {**weights_of(learned.encoder), **codes}
    return Decoded(learned.label(frames), facts={"hvq": facts}, learned=kept)


def restore_hvq(learned: Learned, K: int, block: Hvq) -> Predict:
    """Label other videos by the same codes."""
    width = learned["first.0.weight"].shape[1]
    with seeded(0):
        encoder = with_weights(Convolutions(width, block.hidden, block.layers, block.stages), learned)
    levels = (torch.from_numpy(learned[level]) for level in ("fine", "coarse"))
    # These codes do not learn any more, so their counts do not matter.
    quantiser = Quantiser(encoder, *(Codebook(codes, torch.ones(len(codes)), 1.0, 0.0) for codes in levels))
    return lambda others: Decoded(quantiser.label(others))


def _started(z: Tensor, n: int, videos: int, decay: float, dead: float, generator: np.random.Generator) -> Codebook:
    """Return at most n codes by k-means of vectors (N, D); a step sees one video, on average N / ``videos`` vectors."""
    codes = first_centres(z, n, generator)
    counts = torch.bincount((z @ codes.T).argmax(1), minlength=len(codes)).to(z) / videos
    # Lower the limit if there are few frames, or else most codes would be dead at every step.
    dead = min(dead, len(z) / videos / (2 * len(codes)))
    return Codebook(codes, counts.clamp_min(dead), decay, dead)


EXTENSION = Extension(decoders=[Hvq])
