"""Mean-field segmentation with re-estimated centres and even shares of key steps (methods 5.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rgwot.diagnostics import Facts
from rgwot.keysteps.interface import Array, Decoded, Frames, Learned, Predict, directions, first_samples
from rgwot.keysteps.kmeans import kmeans
from rgwot.keysteps.settings import Meanfield, MeanfieldSettings

LEAST_MEMBERSHIP = 1e-12
"""Smallest membership to start from: updates multiply memberships, so a 0 would stay 0."""


@dataclass(frozen=True)
class MeanField:
    """Memberships and centres whose energy cannot be lowered, up to the tolerance, by changing only one of the two.

    Memberships p (T, K) are positive and their rows add up to 1, centres A (K, D) have length 1, shares m (K,) are the
    mean membership of all samples. ``energies``, at the start and after every update, never rise.
    """

    memberships: Array
    centres: Array
    shares: Array
    energies: Array

    @property
    def labels(self) -> NDArray[np.int64]:
        """Key step of largest membership of every sample, (T,)."""
        return largest(self.memberships)


class Windows:
    """Moving averages B inside every video: the mean over the samples at most ``h`` away.

    ``h`` is ``window`` times the video's length, rounded; windows end where the video ends. The kernel W = B'B of the
    energy is a triangle of half width 2h, symmetric and positive semidefinite by construction.
    """

    def __init__(self, lengths: Sequence[int], window: float) -> None:
        sizes = np.asarray(lengths, dtype=np.int64)
        starts = np.repeat(first_samples(lengths), sizes)
        reach = np.repeat(np.rint(window * sizes).astype(np.int64), sizes)
        position = np.arange(len(starts))
        self._first = np.maximum(position - reach, starts)
        self._behind = np.minimum(position + reach + 1, starts + np.repeat(sizes, sizes))
        self._count = (self._behind - self._first).astype(np.float64)
        self._sums = np.zeros((0, len(starts) + 1))

    def mean(self, p: Array) -> Array:
        """Return B p for p (K, T)."""
        means = self._sum(p)
        means /= self._count
        return means

    def transposed(self, y: Array) -> Array:
        """Return B'y for y (K, T): sample i is in the window of j exactly if j is in that of i."""
        return self._sum(y / self._count)

    def _sum(self, p: Array) -> Array:
        if len(self._sums) != len(p):
            self._sums = np.zeros((len(p), p.shape[1] + 1))
        sums = self._sums
        # Row by row, as NumPy lets other threads run during the sum of a long vector, but not of a few rows.
        for row, own in zip(p, sums[:, 1:], strict=True):
            np.cumsum(row, out=own)
        # All indices are valid; "clip" skips the check, which makes `take` a third faster.
        sums_here = sums.take(self._behind, axis=1, mode="clip")
        sums_here -= sums.take(self._first, axis=1, mode="clip")
        return np.asarray(sums_here)


class _Chain:
    """The energy as a function of the memberships, whose rows here are key steps: p (K, T).

    If ``shares`` is None, the key steps' shares of all samples follow from p, and uneven shares cost. Otherwise they
    are fixed, and a key step with a larger share costs more.
    """

    def __init__(self, lengths: Sequence[int], settings: MeanfieldSettings, shares: Array | None = None) -> None:
        self.block, self.shares = settings, shares
        self.lengths = np.asarray(lengths, dtype=np.int64)
        self.starts = first_samples(lengths)
        self.video = np.repeat(np.arange(len(self.lengths)), self.lengths)
        self.windows = Windows(lengths, settings.window)
        pull = settings.lambda_video + (settings.lambda_ if shares is None else 0.0)
        self.eta = 1 / (1 + pull / settings.epsilon)

    def evaluate(self, log_p: Array, p: Array, unary: Array) -> tuple[float, Array]:
        """Return the energy, and the gradient of the energy without entropy, up to a constant per sample."""
        block, T = self.block, p.shape[1]
        K = len(p)
        means = self.windows.mean(p)
        energy = np.vdot(p, unary) + block.alpha * (T - np.vdot(means, means)) + block.epsilon * np.vdot(p, log_p)
        # In place: arrays of this size do not fit into the caches, and this is called thousands of times.
        gradient = self.windows.transposed(means)
        gradient *= -2 * block.alpha
        gradient += unary
        if self.shares is None:
            m = p.mean(axis=1)
            popularity = _log(K * m)
            energy += block.lambda_ * T * (m @ popularity)
        else:
            popularity = _log(K * self.shares)
            energy += block.lambda_ * float(p.sum(axis=1) @ popularity)
        gradient += block.lambda_ * popularity[:, None]
        if block.lambda_video:
            of_video = np.add.reduceat(p, self.starts, axis=1) / self.lengths
            popularity = _log(K * of_video)
            energy += block.lambda_video * float((self.lengths * of_video * popularity).sum())
            gradient += (block.lambda_video * popularity).take(self.video, axis=1, mode="clip")
        return float(energy), gradient

    def update(self, log_p: Array, gradient: Array) -> tuple[Array, Array]:
        """Return log memberships and memberships with an energy that is not larger (methods 5.4)."""
        moved = (1 - self.eta) * log_p
        moved -= self.eta / self.block.epsilon * gradient
        moved -= moved.max(axis=0)
        p = np.exp(moved)
        total = p.sum(axis=0)
        p /= total
        moved -= np.log(total)
        return moved, p

    def run(
        self, log_p: Array, p: Array, x: Array, centres: Array, fixed: bool, held: NDArray[np.int64] | None = None
    ) -> MeanField:
        """Alternate updates of centres, unless they are fixed, and of memberships, until the energy stands still.

        The samples ``held`` keep their memberships. With fixed centres, the energy after the last possible update is
        left out.
        """
        block, first = self.block, (log_p, p)
        unary = _unary(x, centres, block.alpha)
        energy, gradient = self.evaluate(log_p, p, unary)
        energies = [energy]
        for turn in range(1, block.max_iterations + 1):
            before = energies[-1]
            if not fixed:
                centres = _centres(x, p, centres)
                moved = _unary(x, centres, block.alpha)
                change = moved - unary
                energies.append(energies[-1] + float(np.vdot(p, change)))
                gradient += change
                unary = moved
            for step in range(1, block.inner + 1):
                log_p, p = self.update(log_p, gradient)
                if held is not None:
                    log_p[:, held], p[:, held] = first[0][:, held], first[1][:, held]
                if fixed and (turn, step) == (block.max_iterations, block.inner):
                    break
                energy, gradient = self.evaluate(log_p, p, unary)
                energies.append(energy)
            if before - energies[-1] <= block.tolerance * p.shape[1]:
                break
        return MeanField(np.ascontiguousarray(p.T), centres, p.mean(axis=1), np.array(energies))


def minimise_energy(
    x: NDArray[np.floating],
    lengths: Sequence[int],
    p: NDArray[np.floating],
    settings: MeanfieldSettings,
    held: NDArray[np.int64] | None = None,
) -> MeanField:
    """Minimise the energy F over memberships and centres, from given memberships (methods 5.4).

    Parameters
    ----------
    x
        Concatenated samples (T, D) of all videos; only their directions count, and samples of zeros have none.
    lengths
        Samples of each video, >= 1; they add up to T.
    p
        Memberships (T, K) to start from, with rows that add up to 1; they may be hard.
    settings
        Every key but ``restarts`` is read.
    held
        Indices of samples whose memberships stay as they are given.
    """
    return _minimised(directions(x), lengths, p, settings, held)


def _minimised(
    x: Array,
    lengths: Sequence[int],
    p: NDArray[np.floating],
    settings: MeanfieldSettings,
    held: NDArray[np.int64] | None = None,
) -> MeanField:
    """Minimise the energy of directions x (T, D), as `minimise_energy` does."""
    start = np.maximum(np.asarray(p, dtype=np.float64).T, LEAST_MEMBERSHIP)
    start = np.ascontiguousarray(start / start.sum(axis=0))
    centres = _centres(x, start, np.zeros((len(start), x.shape[1])))
    return _Chain(lengths, settings).run(np.log(start), start, x, centres, fixed=False, held=held)


def segment(
    x: NDArray[np.floating], lengths: Sequence[int], K: int, settings: MeanfieldSettings, generator: np.random.Generator
) -> MeanField:
    """Minimise the energy from the best k-means partition of the directions x / |x|.

    Parameters are the same as for `minimise_energy`. If fewer than K directions differ, there are only as many key
    steps as different directions.
    """
    return segment_directions(directions(x), lengths, K, settings, generator)


def segment_directions(
    x: Array, lengths: Sequence[int], K: int, settings: MeanfieldSettings, generator: np.random.Generator
) -> MeanField:
    """Segment directions, as `segment` does; for samples that are segmented many times."""
    start = kmeans(x.astype(np.float32), K, generator, restarts=settings.restarts).labels
    used, start = np.unique(start, return_inverse=True)
    return _minimised(x, lengths, np.eye(len(used))[start], settings)


def label(
    x: NDArray[np.floating], lengths: Sequence[int], centres: Array, shares: Array, settings: MeanfieldSettings
) -> Array:
    """Return memberships (T, K) of samples of other videos: centres and shares of the task do not change.

    Each video is labelled separately, so that its labels do not depend on the other videos of the call.
    """
    videos = np.split(np.asarray(x), np.cumsum(lengths)[:-1])
    return np.concatenate([label_at_once(samples, [len(samples)], centres, shares, settings) for samples in videos])


def label_at_once(
    x: NDArray[np.floating], lengths: Sequence[int], centres: Array, shares: Array, settings: MeanfieldSettings
) -> Array:
    """Return the memberships of `label`, for thousands of videos in little more time than for a few.

    All videos end in the same round, when their total energy no longer falls.
    """
    return label_directions(directions(x), lengths, centres, shares, settings)


def label_directions(
    x: Array, lengths: Sequence[int], centres: Array, shares: Array, settings: MeanfieldSettings
) -> Array:
    """Return the memberships of directions, as `label_at_once` does; for samples that are labelled many times."""
    popularity = settings.lambda_ * _log(len(shares) * shares)
    log_p = -(_unary(x, centres, settings.alpha) + popularity[:, None]) / settings.epsilon
    log_p -= log_p.max(axis=0)
    log_p -= np.log(np.exp(log_p).sum(axis=0))
    return _Chain(lengths, settings, shares).run(log_p, np.exp(log_p), x, centres, fixed=True).memberships


@dataclass(frozen=True, kw_only=True)
class _MeanfieldFacts(Facts):
    """Energies at the end and at the start, rounds between, whether these were enough, and shares of key steps."""

    energy: float
    energy_at_start: float
    rounds: int
    converged: bool
    shares: Sequence[float]


def decode_meanfield(frames: Frames, K: int, generator: np.random.Generator, settings: Meanfield) -> Decoded:
    """Label every sample by its largest membership: the decoder ``meanfield``.

    If there are fewer different directions than K, the other key steps have no member.
    """
    field = segment(frames.x, frames.lengths, K, settings, generator)
    rounds = (len(field.energies) - 1) // (settings.inner + 1)
    facts = _MeanfieldFacts(
        energy=float(field.energies[-1]),
        energy_at_start=float(field.energies[0]),
        rounds=rounds,
        converged=rounds < settings.max_iterations,
        shares=field.shares.tolist(),
    )
    learned = {"centres": field.centres, "shares": field.shares}
    return replace(decoded(field.memberships, K, {"meanfield": facts}), learned=learned)


def restore_meanfield(learned: Learned, K: int, settings: Meanfield) -> Predict:
    """Return the function that labels other videos by centres and shares that do not change (`label`)."""
    arguments = learned["centres"], learned["shares"], settings
    return lambda others: decoded(label(others.x, others.lengths, *arguments), K)


def decoded(memberships: Array, K: int, facts: Mapping[str, Facts] | None = None) -> Decoded:
    """Label samples by memberships (T, K') in K' <= K key steps; the others have no member."""
    padded = np.zeros((len(memberships), K))
    padded[:, : memberships.shape[1]] = memberships
    return Decoded(largest(memberships), padded, facts or {})


def largest(memberships: Array) -> NDArray[np.int64]:
    """Return the key step of largest membership of every sample, (T,); on a tie the first."""
    return np.asarray(memberships.argmax(axis=1), dtype=np.int64)


def _unary(x: Array, centres: Array, alpha: float) -> Array:
    """Return (1 - alpha) (1 - x_i . A_k), (K, T)."""
    return np.asarray((1 - alpha) * (1 - centres @ x.T))


def _centres(x: Array, p: Array, centres: Array) -> Array:
    """Return the centres (K, D) of least energy; a centre stays if it has no members, or if they cancel."""
    # Unlike the operator, `dot` lets other threads run even if the product is small.
    sums = np.dot(p, x)
    norms = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.asarray(np.divide(sums, norms, out=centres.copy(), where=norms > LEAST_MEMBERSHIP * len(x)))


def _log(x: Array) -> Array:
    """Return log x; a share that is 0 in floating point counts as the smallest number."""
    return np.asarray(np.log(np.maximum(x, np.finfo(np.float64).tiny)))
