"""The optimisation loop: iterations of one video pair, gradients accumulated over several (methods 3.7)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rgwot.embedding.encoder import Encoder, dropout_masks, seeded
from rgwot.embedding.interface import VideoFeatures
from rgwot.embedding.sampler import FeatureBank, Stream, context_offsets, draw_pair, generator, with_context
from rgwot.embedding.settings import DataSettings, EncoderSettings, TrainSettings
from rgwot.losses.cidm import cidm_loss
from rgwot.losses.interface import Alignment, PairBatch
from rgwot.losses.settings import CidmSettings
from rgwot.runtime.errors import RgwotError

# On an accelerator, as many pairs are encoded together as keep the largest intermediate result below this size.
# On the CPU a pair already fills the cores; in measurements, several at once were not faster and took more memory.
FORWARD_BYTES = 600e6


class Record(NamedTuple):
    """One row of ``history.csv``; ``seconds`` is the training time until the end of the optimiser step."""

    step: int
    loss: float
    align: float
    cidm: float
    seconds: float


def objective(batch: PairBatch, align: Alignment, cidm: CidmSettings) -> tuple[Tensor, Tensor, Tensor]:
    """Return the loss of every pair, L = L_align + beta (I(X) + I(Y)) (RGWOT's total loss; methods 3.6).

    With ``cidm.over_n`` the total is divided by N if it includes C-IDM, as in the public code. Without
    ``cidm.gradient`` C-IDM is a constant.

    Returns the total, the alignment loss, and I(X) + I(Y) before its weight, each (P,).
    """
    aligned = align(batch)
    embedded = torch.cat([batch.x, batch.y])
    times, lengths = torch.cat([batch.x_times, batch.y_times]), torch.cat([batch.x_lengths, batch.y_lengths])
    n = batch.x.shape[1]
    if cidm.unit == "positions":
        times, lengths = torch.arange(n, device=times.device).expand_as(times), torch.full_like(lengths, n)
    contrast = cidm_loss(
        embedded if cidm.gradient else embedded.detach(),
        times,
        lambda_=cidm.lambda_,
        sigma=cidm.sigma,
        duration=lengths,
        distance=cidm.distance,
        weight=cidm.weight,
        positives=cidm.positives,
    )
    contrast = contrast.view(2, -1).sum(0)
    loss = aligned + cidm.beta * contrast
    if cidm.over_n and cidm.beta:
        loss = loss / n
    return loss, aligned, contrast


class Recipe(NamedTuple):
    """How an encoder is trained.

    Attributes
    ----------
    align
        The alignment loss, with its settings.
    cidm, encoder, train, data
        Blocks of settings.
    learned
        A function from D to the module that the alignment loss learns beside the encoder; None for most losses.
    """

    align: Alignment
    cidm: CidmSettings
    encoder: EncoderSettings
    train: TrainSettings
    data: DataSettings
    learned: Callable[[int], nn.Module] | None = None


@dataclass
class Trainer:
    """One run: everything an optimiser step reads and changes.

    Attributes
    ----------
    encoder, bank, recipe
        The model, the features of the training videos, and how it is trained.
    seed
        Seed of every draw; see `rgwot.embedding.sampler`.
    step, seconds
        Finished iterations, and their time in seconds.
    history
        A record per finished iteration.
    learned
        The parameters that the alignment loss learns besides the encoder, or None.
    pairs_at_once
        Pairs in one forward pass; does not change results beyond rounding.
    """

    encoder: Encoder
    bank: FeatureBank
    recipe: Recipe
    seed: int
    step: int = 0
    seconds: float = 0.0
    history: list[Record] = field(default_factory=list)

    def __post_init__(self) -> None:
        train, data = self.recipe.train, self.recipe.data
        fps = self.bank.stores[0].fps
        self.offsets = context_offsets(self.recipe.encoder.c, data.context_s, fps, data.context_side)
        self.learned = None
        if (make := self.recipe.learned) is not None:
            start = int(generator(self.seed, Stream.ALIGNMENT).integers(2**31))
            with seeded(start):
                self.learned = make(self.recipe.encoder.D)
        self.parameters = list(self.encoder.parameters())
        if self.learned is not None:
            # The learned parts of the loss are put on the encoder's device, in its precision.
            self.parameters += self.learned.to(self.parameters[0]).parameters()
        self.optimiser = torch.optim.Adam(self.parameters, lr=train.lr, weight_decay=train.weight_decay, fused=True)
        self.pairs_at_once = 1
        if self.bank.device.type != "cpu":
            _, _, height, width = self.bank.stores[0].shape
            encoder = self.recipe.encoder
            pair = 2 * train.N * encoder.c * height * width * (encoder.channels + self.bank.stores[0].shape[1]) * 4
            self.pairs_at_once = int(max(1, min(train.accumulation, FORWARD_BYTES // pair)))

    def steps(self) -> Iterator[list[Record]]:
        """Train until the last iteration; yield the records of the iterations of every optimiser step after it.

        A new iteration over the steps continues with the next one. The last step averages over fewer pairs when
        ``accumulation`` does not divide the iterations; its gradient is still divided by ``accumulation``.

        Raises
        ------
        RgwotError
            If an embedding or a loss is not finite; the message names the iteration and the term.
        """
        self.encoder.train()
        total = self.recipe.train.iterations
        while self.step < total:
            began = time.perf_counter()
            end = min(self.step + self.recipe.train.accumulation, total)
            self.optimiser.zero_grad()
            values = np.concatenate([
                self._accumulate(range(first, min(first + self.pairs_at_once, end)))
                for first in range(self.step, end, self.pairs_at_once)
            ])  # fmt: skip
            for iteration, (loss, align, cidm) in enumerate(values, self.step + 1):
                if not np.isfinite(loss):
                    raise _not_finite(iteration, f"loss is {loss} (alignment {align}, C-IDM {cidm})")
            if self.recipe.train.clip is not None:
                torch.nn.utils.clip_grad_norm_(self.parameters, self.recipe.train.clip)
            self.optimiser.step()
            self.seconds += time.perf_counter() - began
            records = [
                Record(i, loss, align, cidm, self.seconds)
                for i, (loss, align, cidm) in enumerate(values.tolist(), self.step + 1)
            ]
            self.history += records
            self.step = end
            yield records

    def check_weights(self) -> None:
        """Raise RgwotError if a weight is not finite; after the last step, no loss would show this."""
        if not all(bool(value.isfinite().all()) for value in self.parameters):
            raise _not_finite(self.step, "a weight is not finite")

    def state(self) -> dict[str, Any]:
        """Return the state that a resumed run needs, as plain containers and tensors.

        Raises
        ------
        RgwotError
            If a weight is not finite, so that such a state does not replace the last good one.
        """
        self.check_weights()
        return {
            "encoder": self.encoder.state_dict(),
            "learned": {} if self.learned is None else self.learned.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "history": torch.tensor(self.history, dtype=torch.float64),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a `state`."""
        self.encoder.load_state_dict(state["encoder"])
        if self.learned is not None:
            self.learned.load_state_dict(state["learned"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.history = [Record(int(step), *values) for step, *values in state["history"].tolist()]
        self.step, self.seconds = len(self.history), self.history[-1].seconds

    def _accumulate(self, iterations: range) -> NDArray[np.float64]:
        """Add the gradients of some iterations in one forward pass; return (iterations, 3) losses."""
        train, encoder = self.recipe.train, self.recipe.encoder
        lengths = self.bank.lengths
        pairs = [draw_pair(lengths, train.N, generator(self.seed, Stream.PAIRS, i)) for i in iterations]
        drawn = [video for pair in pairs for video in pair]
        stacks = [with_context(frames, self.offsets, int(lengths[video])) for video, frames in drawn]
        clips = self.bank.clips([video for video, _ in drawn], stacks)
        masks = None
        if encoder.dropout:
            sources = [generator(self.seed, Stream.DROPOUT, i) for i in iterations]
            widths = self.encoder.fc1.in_features, self.encoder.fc2.in_features
            each = [dropout_masks(source, 2 * train.N, widths, encoder.dropout) for source in sources]
            masks = [torch.cat(layer).to(self.bank.device) for layer in zip(*each, strict=True)]
        embedded = self.encoder(clips, pairs=len(pairs), masks=masks)
        finite = embedded.detach().view(len(pairs), -1).isfinite().all(1)
        if not bool(finite.all()):
            raise _not_finite(iterations[int(finite.int().argmin())] + 1, "an embedding is not finite")
        terms = objective(self._batch(embedded, pairs, iterations), self.recipe.align, self.recipe.cidm)
        torch.autograd.backward(terms[0].sum() / train.accumulation)
        values: NDArray[np.float64] = torch.stack(terms, dim=1).detach().to("cpu", torch.float64).numpy()
        return values

    def _batch(
        self, embedded: Tensor, pairs: Sequence[Sequence[tuple[int, NDArray[np.int64]]]], iterations: range
    ) -> PairBatch:
        x, y = embedded.view(len(pairs), 2, self.recipe.train.N, -1).unbind(1)
        sides = []
        for side in (0, 1):
            stores = [self.bank.stores[pair[side][0]] for pair in pairs]
            units = [per_second(store, self.recipe.cidm.unit) for store in stores]
            times = np.stack([
                store.time_s[pair[side][1]] * unit
                for store, pair, unit in zip(stores, pairs, units, strict=True)
            ])  # fmt: skip
            lengths = np.array([store.duration_s * unit for store, unit in zip(stores, units, strict=True)])
            sides += [torch.from_numpy(times).to(x.device), torch.from_numpy(lengths).to(x.device)]
        x_times, x_lengths, y_times, y_lengths = sides
        steps, planned = torch.tensor(iterations, device=x.device), self.recipe.train.iterations
        chance = partial(generator, self.seed, Stream.LOSS)
        return PairBatch(x, y, x_times, x_lengths, y_times, y_lengths, steps, self.learned, planned, chance)


def per_second(store: VideoFeatures, unit: str) -> float:
    """Return the number of units of ``cidm.unit`` per second of a video; 1 for positions, which are not times."""
    if unit == "share":
        return 1 / store.duration_s
    return float(store.native_fps) if unit == "native_frames" else 1.0


def _not_finite(iteration: int, value: str) -> RgwotError:
    return RgwotError(f"iteration {iteration}: {value}, expected finite numbers; lower train.lr, or check the features")
