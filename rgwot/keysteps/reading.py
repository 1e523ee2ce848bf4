r"""A second reading of videos, which decides how sure deviations are (methods 9.10).

Decoders use time, order and warping, so they find a key step at its usual time even if it was left out. Here, every
video is read by appearance alone: linear classifiers that learned from the *other* videos score its samples, and a
hidden semi-Markov model, in which every order is possible but unusual ones are less probable, finds the best reading.
The difference in log probability between the best reading with a deviation and the best one without is compared with
the differences of the task's own videos, as they are and in copies into which the same deviation was put by cutting
out, moving or repeating a key step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rgwot.diagnostics import Edits, SecondReadingFacts
from rgwot.keysteps.consensus import FOLDS, Classifier, Components
from rgwot.keysteps.interface import PER_VIDEO, Array, learned_from
from rgwot.procedure import Procedure
from rgwot.procedure.differences import LIMITS, SURE_FROM
from rgwot.runtime.threads import in_threads
from rgwot.timing import runs, thinned

Integers = NDArray[np.int64]

NEAR = 0.02
"""A sample is seen together with two others, this share of the video's length before and after it."""

COMPONENTS = 48
"""Number of principal components of samples in context that the classifiers use."""

PACE = 0.2
"""Weight of a sample's log likelihood if a video has `PER_VIDEO` samples; below 1, as neighbouring samples are
alike."""

LEAST = -12.0
"""Smaller log likelihood ratios of a sample are raised to this value."""

ROUNDS = 1
"""Rounds in which the readings of all videos replace the labels that classifiers learn from."""

UNSEEN = 0.3
"""Number of transitions added to those counted from each key step, spread evenly over all key steps and the end."""

SPREAD = (0.4, 1.2)
"""Least and largest standard deviation of the logarithm of a duration."""

NEVER = -1e9
"""Log probability of what is impossible."""


class Chain(NamedTuple):
    """Transitions and durations of key steps, from labelled videos.

    Attributes
    ----------
    transitions
        Log probabilities (S, S) of the next key step, S = K + 1; row 0 is the start of a video, column 0 its end.
        Background between key steps does not count.
    mean, deviation
        Median and standard deviation (S,) of the logarithm of the number of samples of a segment; entry 0 is
        background.
    between
        Share of the borders of key steps at which background lies; 0 if there is none.
    """

    transitions: Array
    mean: Array
    deviation: Array
    between: float

    @classmethod
    def fit(cls, videos: Sequence[Integers], K: int) -> Chain:
        """Learn from videos with labels (T,), 0 for background; labels below 0 are unknown and belong to no segment."""
        counts = np.full((K + 1, K + 1), UNSEEN / (K + 1))
        lengths: list[list[int]] = [[] for _ in range(K + 1)]
        borders = np.array([0.5, 0.5])
        for labels in videos:
            before, end_before = 0, None
            for step, start, end in zip(*(part.tolist() for part in runs(labels)), strict=True):
                if step >= 0:
                    lengths[step].append(end - start)
                if step > 0:
                    counts[before, step] += 1
                    if end_before is not None:
                        borders[int(start > end_before)] += 1
                    before, end_before = step, end
            counts[before, 0] += 1
        usual = int(np.median([length for part in lengths[1:] for length in part] or [1]))
        logs = [np.log(np.array(part or [max(usual, 1)], dtype=np.float64)) for part in lengths]
        mean = np.array([np.median(part) for part in logs])
        squares = [np.square(part - middle).sum() for part, middle in zip(logs, mean, strict=True)]
        # Two durations of a usual spread are added, since some key steps have few.
        deviation = np.sqrt((np.array(squares) + 2 * 0.36) / (np.array([len(part) for part in logs]) + 2))
        deviation = np.clip(deviation, *SPREAD)
        deviation[0] = SPREAD[1]
        transitions = np.log(counts / counts.sum(axis=1, keepdims=True))
        # A reading must have at least one key step.
        transitions[0, 0] = NEVER
        share = float(borders[1] / borders.sum())
        return cls(transitions, mean, deviation, share if lengths[0] and share > 0.02 else 0.0)

    def durations(self, T: int) -> Array:
        """Return the log densities (T, S) of 1 to T samples."""
        n = np.log(np.arange(1, T + 1))[:, None]
        return np.asarray(-0.5 * np.square((n - self.mean) / self.deviation) - np.log(self.deviation))

    def prices(self) -> tuple[float, float]:
        """Return the log probabilities that a key step is followed directly by the next, and by background."""
        return (np.log1p(-self.between), np.log(self.between)) if self.between else (0.0, NEVER)


AGAIN = 4
"""Level of `visits`: the target occurred again."""


def visits(K: int, targets: Integers) -> Integers:
    """Return the levels (B, 5, S) that follow each level when a key step begins, to count visits to targets (B,).

    Level 0 is before its first segment, 1 in it, 2 and 3 after one and more segments of other key steps, and `AGAIN` is
    reached by a second segment on level 3. With a single segment in between, the target was only interrupted.
    """
    after = np.broadcast_to(np.array([0, 2, 3, 3, AGAIN])[:, None], (len(targets), 5, K + 1)).copy()
    after[np.arange(len(targets)), :, targets] = [1, 1, 1, AGAIN, AGAIN]
    return after


IN_ORDER, MOVED = 4, 6
"""Levels of `places`: the target was visited in order, or not."""


def places(K: int, targets: Integers, before: Integers, after: Integers) -> Integers:
    """Return the levels (B, 7, S) that follow each level when a key step begins, to find targets (B,) out of order.

    In order, the target comes after the key step ``before`` (B,) and before ``after`` (B,), 0 for none. Before the
    first segment of the target, the level is 0 if neither of them has come, 1 if only ``before`` has, 2 if only
    ``after`` has, and 3 if both have. On level 5 the target came before ``before``, and `MOVED` is reached once
    ``before`` follows. `MOVED` is also reached if the target comes after ``after``.
    """
    B = len(targets)
    to = np.broadcast_to(np.arange(7)[:, None], (B, 7, K + 1)).copy()
    rows = np.arange(B)
    with_before, with_after = before > 0, after > 0
    for level, reached in ((0, 1), (2, 3), (5, MOVED)):
        to[rows[with_before], level, before[with_before]] = reached
    for level, reached in ((0, 2), (1, 3)):
        to[rows[with_after], level, after[with_after]] = reached
    to[rows, 0, targets] = np.where(with_before, 5, IN_ORDER)
    to[rows, 1, targets] = IN_ORDER
    to[rows, 2, targets] = to[rows, 3, targets] = MOVED
    return to


def best_scores(log_p: Sequence[Array], chain: Chain, levels: Integers) -> Array:
    """Return the log probability (B, L) of the best reading of each of B videos that ends on each level.

    ``log_p`` are log likelihood ratios (T, S) of each video, ``levels`` (B, L, S) the level that follows when a segment
    of a key step begins; every reading starts on level 0.
    """
    lengths = np.array([len(one) for one in log_p])
    (B, L, S), T = levels.shape, int(lengths.max())
    sums = np.zeros((T + 1, B, S), dtype=np.float32)
    for at, one in enumerate(log_p):
        sums[1 : len(one) + 1, at] = np.cumsum(one, axis=0)
        sums[len(one) + 1 :, at] = sums[len(one), at]
    durations, transitions = chain.durations(T).astype(np.float32), chain.transitions.astype(np.float32)
    plain, interrupted = chain.prices()
    direct = _direct(transitions, plain)
    pairs = [
        (level, reached, mask)
        for level in range(L)
        for reached in range(L)
        if (mask := levels[:, level] == reached)[:, 1:].any()
    ]
    entered = np.full((T + 1, B, L, S), NEVER, dtype=np.float32)
    ended = np.full((T + 1, B, L, S), NEVER, dtype=np.float32)
    ended[0, :, 0, 0] = 0
    result = np.full((B, L), NEVER)
    for t in range(T + 1):
        here, paused = ended[t], np.full((B, L, S), NEVER, dtype=np.float32)
        if t:
            lasting = durations[:t][::-1]
            here[:] = (entered[:t] + lasting[:, None, None]).max(axis=0) + sums[t][:, None]
            here[:, :, 0] = NEVER
            if chain.between:
                quiet = lasting[:, 0, None] - sums[:t, :, 0]
                paused = (ended[:t] + quiet[:, :, None, None]).max(axis=0) + (sums[t, :, 0, None, None] + interrupted)
        done = lengths == t
        if done.any():
            result[done] = (np.maximum(here, paused)[done] + transitions[:, 0]).max(axis=2)
        following = (here[:, :, :, None] + direct).max(axis=2)
        if t and chain.between:
            following = np.maximum(following, (paused[:, :, :, None] + transitions).max(axis=2))
        after = np.full((B, L, S), NEVER, dtype=np.float32)
        for level, reached, mask in pairs:
            after[:, reached] = np.where(mask, np.maximum(after[:, reached], following[:, level]), after[:, reached])
        after[:, :, 0] = NEVER
        entered[t] = after - sums[t][:, None]
    return result


def read(log_p: Array, chain: Chain, without: Sequence[int] = ()) -> Integers:
    """Return the labels (T,) of the best reading of a video, 0 for background, with no key step of ``without``.

    ``log_p`` (T, S) are log likelihood ratios.
    """
    T, S = log_p.shape
    sums = np.concatenate([np.zeros((1, S)), np.cumsum(log_p, axis=0)])
    durations, (plain, interrupted) = chain.durations(T), chain.prices()
    transitions = chain.transitions.copy()
    transitions[:, list(without)] = NEVER
    direct = _direct(transitions, plain)
    entered, ended, paused = (np.full((T + 1, S), NEVER) for _ in range(3))
    came, came_quiet, begun, quiet_from = (np.zeros((T + 1, S), dtype=np.int64) for _ in range(4))
    columns = np.arange(S)
    ended[0, 0] = 0
    for t in range(T + 1):
        if t:
            lasting = durations[:t][::-1]
            total = entered[:t] + lasting + sums[t]
            begun[t] = total.argmax(axis=0)
            ended[t] = total[begun[t], columns]
            ended[t, 0] = NEVER
            if chain.between:
                total = ended[:t] + (lasting[:, 0] + sums[t, 0] - sums[:t, 0] + interrupted)[:, None]
                quiet_from[t] = total.argmax(axis=0)
                paused[t] = total[quiet_from[t], columns]
        total = np.stack([ended[t][:, None] + direct, paused[t][:, None] + transitions])
        came_quiet[t], came[t] = np.unravel_index(total.reshape(2 * S, S).argmax(axis=0), (2, S))
        entered[t] = total[came_quiet[t], came[t], columns] - sums[t]
        entered[t, 0] = NEVER
    labels, t = np.zeros(T, dtype=np.int64), T
    step = int((np.maximum(ended[T], paused[T]) + transitions[:, 0]).argmax())
    quiet = paused[T, step] > ended[T, step]
    while t > 0:
        if quiet:
            t, quiet = int(quiet_from[t, step]), False
            continue
        start = int(begun[t, step])
        labels[start:t] = step
        t, quiet, step = start, bool(came_quiet[start, step]), int(came[start, step])
    return labels


def _direct(transitions: NDArray[np.floating], plain: float) -> NDArray[np.floating]:
    """Return log probabilities (S, S) of the next key step without background between; no key step follows itself."""
    direct = transitions + transitions.dtype.type(plain)
    np.fill_diagonal(direct, NEVER)
    return np.asarray(direct)


@dataclass(frozen=True)
class Reader:
    """For each video, classifiers of key steps that did not see it; the order and durations of key steps in all videos.

    Attributes
    ----------
    x
        Samples (T, D) of each video, thinned.
    components
        Principal components of samples in context.
    classifiers
        Weights and offsets of log likelihood ratios for each part of the videos; they learned from the other parts.
    chain
        Transitions and durations.
    labels
        The labels (T,) that it learned from, 0 for background.
    """

    x: Sequence[Array]
    components: Components
    classifiers: Sequence[Classifier]
    chain: Chain
    labels: Sequence[Integers]

    @classmethod
    def fit(
        cls, x: Sequence[Array], labels: Sequence[Integers], K: int, fixed: Sequence[bool], absent: Sequence[int] = ()
    ) -> Reader:
        """Learn from thinned samples (T, D) of videos and their labels (T,), which readings replace unless ``fixed``.

        Nothing is learned from the videos with the indices ``absent``.
        """
        seen = [_in_context(one) for one in x]
        components = Components.fit(np.concatenate(seen), 0)
        z = [components.apply(one)[:, :COMPONENTS] for one in seen]
        used = [video for video in range(len(x)) if video not in absent]
        for again in range(ROUNDS + 1):
            parts = min(FOLDS, len(x))
            classifiers = in_threads(partial(_of_other_parts, z, labels, used, parts, K), range(parts))
            chain = Chain.fit([labels[video] for video in used], K)
            reader = cls(x, components, classifiers, chain, labels)
            if again < ROUNDS:
                labels = [
                    part if keep else read(reader.seen(one, video), chain)
                    for video, (one, part, keep) in enumerate(zip(x, labels, fixed, strict=True))
                ]
        return reader

    def seen(self, x: Array, video: int) -> Array:
        """Return weighted log likelihood ratios (T, S) of samples (T, D), from the classifier that did not see them."""
        z = self.components.apply(_in_context(x, len(self.x[video])))[:, :COMPONENTS]
        weights, offsets = self.classifiers[video % len(self.classifiers)]
        scores = z @ weights.T + offsets
        known = np.isfinite(offsets)
        top = scores[:, known].max(axis=1, keepdims=True)
        mean = np.exp(scores[:, known] - top).mean(axis=1, keepdims=True)
        ratios = PACE * np.maximum(scores - top - np.log(mean), LEAST)
        ratios[:, ~known] = PACE * LEAST
        return np.asarray(ratios)


def _in_context(x: Array, T: int | None = None) -> Array:
    """Return samples (n, D) of a video of T samples, by default n, with those before and after (`NEAR`): (n, 3 D)."""
    step, at = max(1, round(NEAR * (T or len(x)))), np.arange(len(x))
    return np.concatenate([x[np.clip(at + offset, 0, len(x) - 1)] for offset in (-step, 0, step)], axis=1)


def _of_other_parts(
    z: Sequence[Array], labels: Sequence[Integers], used: Sequence[int], parts: int, K: int, part: int
) -> Classifier:
    others = [video for video in used if video % parts != part]
    return _ratios(np.concatenate([z[video] for video in others]), np.concatenate([labels[v] for v in others]), K)


def _ratios(z: Array, labels: Integers, K: int) -> Classifier:
    """Return the classifier whose scores are log likelihoods of key steps up to a constant; -inf for unknown ones."""
    known = labels >= 0
    fitted = Classifier.fit(z[known], labels[known], K + 1)
    counts = np.bincount(labels[known], minlength=K + 1)
    priors = np.log(np.maximum(counts, 1) / counts.sum())
    return Classifier(fitted.weights, np.where(counts > 0, fitted.offsets - priors, -np.inf))


EDITED = 12
"""Largest number of videos in copies of which each key step is cut out, moved and repeated."""

BETWEEN = 2
"""Least number of segments of key steps between a moved or repeated segment and its usual place."""

SHORTEST = 10
"""Fewest samples that a video must have left after a key step was cut out."""

AT_ONCE = 128
"""Number of videos that are read at once, to bound memory."""

PRIOR = 0.05
"""Probability of each deviation before a video was read."""

TAILS = 5.0
"""Degrees of freedom of Student's distribution of the differences in log probability."""

ADDED = (3.0, 3.0)
"""Number and standard deviation of differences that are added to those measured, since some key steps have few."""

NOTICED: Mapping[str, float] = {"missing": -1.0, "order": -1.0, "repeated": 8.0}
"""A deviation is noticed if the second reading supports it by at least this many nats (`supports`)."""

SHOWN: Mapping[str, float] = {
    kind: min(limit.support for limit in limits if limit.share == 0 and not limit.in_result)
    for kind, limits in LIMITS.items()
}
"""A deviation that only the second reading contains is shown if its support is at least this, in nats."""

OFTEN = 0.3
"""A key step that seems to be left out in a larger share of the videos is recognised too badly to judge this."""

MANY, LESS = 0.12, 4.0
"""If a larger share of the videos seems to repeat some key step that few videos repeat, repetitions have less support.

The first number is that share; the second is subtracted from the support, in nats.
"""

AGAINST = -2.0
"""A repetition with smaller log odds has no support, however much more probable its reading is."""

FEWEST = 4
"""With fewer differences of a key step, no deviation of it is reported."""

KINDS = ("missing", "order", "repeated")
"""Kinds of deviations whose sureness depends on a second reading; ``order`` is too early and too late."""


class LogRatios(NamedTuple):
    """Log probability of the best reading with a deviation minus that of the best reading without it; NaN if unknown.

    ``found`` (V, K) is for the videos as they are, ``edited`` (V, K) for copies into which the deviation was put.
    """

    found: Array
    edited: Array


def differences(
    reader: Reader, K: int, before: Integers, after: Integers, generator: np.random.Generator
) -> dict[str, LogRatios]:
    """Return the `LogRatios` of each kind in `KINDS`, for each video and key step.

    ``before`` and ``after`` (K,) are the key steps between which each one comes, 0 for none (`places`).
    """
    V = len(reader.x)
    shown = [reader.seen(x, video) for video, x in enumerate(reader.x)]
    every = [(video, step) for video in range(V) for step in range(1, K + 1)]
    found = _scored(reader, [(shown[video], step) for video, step in every], K)
    ordered = [(video, step) for video, step in every if before[step - 1] or after[step - 1]]
    bounds = (before, after)
    result = {
        "missing": _table(every, found[:, 0] - found[:, 1:].max(axis=1), V, K),
        "repeated": _table(every, found[:, AGAIN] - found[:, :AGAIN].max(axis=1), V, K),
        "order": _table(ordered, _out_of_order(reader, [(shown[v], step) for v, step in ordered], K, *bounds), V, K),
    }
    chosen = np.unique(np.linspace(0, V - 1, EDITED).round().astype(int))
    edits: dict[str, list[tuple[int, int, Array]]] = {kind: [] for kind in KINDS}
    for video in chosen.tolist():
        for step in range(1, K + 1):
            for kind in KINDS if before[step - 1] or after[step - 1] else ("missing", "repeated"):
                edited = edit(reader, video, step, kind, generator)
                if edited is not None:
                    edits[kind].append((video, step, edited))
    tables = {}
    for kind, made in edits.items():
        jobs = [(reader.seen(x, video), step) for video, step, x in made]
        if kind == "order":
            values = _out_of_order(reader, jobs, K, *bounds)
        else:
            scores = _scored(reader, jobs, K)
            absent = kind == "missing"
            values = (
                scores[:, 0] - scores[:, 1:].max(axis=1) if absent else scores[:, AGAIN] - scores[:, :AGAIN].max(axis=1)
            )
        tables[kind] = LogRatios(result[kind], _table([one[:2] for one in made], values, V, K))
    return tables


def _table(cells: Sequence[tuple[int, int]], values: Array, V: int, K: int) -> Array:
    """Return values of (video, key step) as an array (V, K), NaN elsewhere."""
    table = np.full((V, K), np.nan)
    for (video, step), value in zip(cells, values, strict=True):
        table[video, step - 1] = value
    return table


def _scored(reader: Reader, jobs: Sequence[tuple[Array, int]], K: int) -> Array:
    """Return the `best_scores` (B, 5) on the levels of `visits`, of a key step in each of B videos."""
    return _at_once(reader, jobs, lambda targets: visits(K, targets), AGAIN + 1)


def _out_of_order(
    reader: Reader, jobs: Sequence[tuple[Array, int]], K: int, before: Integers, after: Integers
) -> Array:
    """Return the log ratios (B,) of a key step out of order (`LogRatios`), of one key step in each of B videos."""
    scores = _at_once(
        reader, jobs, lambda targets: places(K, targets, before[targets - 1], after[targets - 1]), MOVED + 1
    )
    return np.asarray(scores[:, MOVED] - scores[:, :MOVED].max(axis=1))


def _at_once(
    reader: Reader, jobs: Sequence[tuple[Array, int]], levels: Callable[[Integers], Integers], L: int
) -> Array:
    """Return the `best_scores` (B, L) of B videos, each with its target; videos of similar length are read together."""
    order = np.argsort([len(log_p) for log_p, _ in jobs], kind="stable")

    def part(start: int) -> Array:
        log_p, targets = zip(*(jobs[row] for row in order[start : start + AT_ONCE]), strict=True)
        return best_scores(log_p, reader.chain, levels(np.array(targets)))

    scores = np.empty((len(jobs), L))
    if jobs:
        scores[order] = np.concatenate(in_threads(part, range(0, len(jobs), AT_ONCE)))
    return scores


def edit(reader: Reader, video: int, step: int, kind: str, generator: np.random.Generator) -> Array | None:
    """Return the samples of a copy of a video with a deviation of a kind, or None if it cannot be made.

    For ``missing`` every segment of the key step is cut out. For ``order`` its only segment is moved by at least
    `BETWEEN` segments of key steps. For ``repeated``, a segment of it from another video is inserted at such a place.
    """
    x, labels = reader.x[video], reader.labels[video]
    inside = labels == step
    if kind == "missing":
        rest = np.flatnonzero(~inside)
        return np.asarray(x[rest]) if inside.any() and len(rest) >= SHORTEST else None
    parts = list(zip(*(part.tolist() for part in runs(labels)), strict=True))
    own = [at for at, part in enumerate(parts) if part[0] == step]
    if len(own) != 1:
        return None
    at = own[0]
    _, start, end = parts[at]
    targets = [
        place
        for place in range(len(parts) + 1)
        if sum(part[0] > 0 for part in (parts[place:at] if place <= at else parts[at + 1 : place])) >= BETWEEN
    ]
    if not targets:
        return None
    place = int(generator.choice(targets))
    to = parts[place][1] if place < len(parts) else len(x)
    if kind == "repeated":
        others = [
            (other, first, last)
            for other, theirs in enumerate(reader.labels)
            if other != video
            for here, first, last in zip(*(part.tolist() for part in runs(theirs)), strict=True)
            if here == step
        ]
        if not others:
            return None
        other, first, last = others[int(generator.integers(len(others)))]
        return np.concatenate([x[:to], reader.x[other][first:last], x[to:]])
    rest = np.r_[0:start, end : len(x)]
    return np.asarray(x[np.insert(rest, int(np.searchsorted(rest, to)), np.arange(start, end))])


def log_odds(differences: LogRatios, values: Array | None = None) -> Array:
    r"""Return the log odds (V, K) of a deviation by its `LogRatios`; -inf where too little is known.

    .. math:: \log\frac{\pi}{1 - \pi} + \log t\!\left(\frac{d - m_1}{s_1}\right) - \log s_1
              - \log t\!\left(\frac{d - m_0}{s_0}\right) + \log s_0

    with the prior π = `PRIOR`, Student's density t with `TAILS` degrees of freedom, and median m and deviation s of the
    differences of this key step: of videos as they are (0), most of which do not deviate, and of edited ones (1). A
    difference d beyond either median counts as the median. The ``values`` (V, K) of d are by default those found.
    """
    found, edited = differences
    d = found if values is None else values
    odds = np.full(found.shape, -np.inf)
    for step in range(found.shape[1]):
        usual, made = _located(found[:, step]), _located(edited[:, step])
        if usual is None or made is None or made[0] <= usual[0]:
            continue
        value = np.clip(d[:, step], usual[0], made[0])
        odds[:, step] = _log_t(value, *made) - _log_t(value, *usual) + np.log(PRIOR / (1 - PRIOR))
    return np.where(np.isnan(odds), -np.inf, odds)


def supports(kind: str, differences: LogRatios, values: Array) -> Array:
    """Return how far the second reading supports a deviation (V, K) of a kind, in nats.

    These are `log_odds`, or for ``repeated`` the ``values`` (V, K) of differences themselves, because in all videos
    readings switch back and forth between key steps that look alike. Deviations that are noticed too often to be
    believed have less support: -inf for a key step that seems to be left out in many videos (`OFTEN`), and less by
    `LESS` for repetitions (`MANY`). Repetitions whose log odds are below `AGAINST` have -inf.
    """
    odds = log_odds(differences, values)
    if kind == "repeated":
        noticed = differences.found >= NOTICED[kind]
        # A repetition in many videos is not a deviation.
        seldom = noticed.mean(axis=0) <= OFTEN
        many = noticed[:, seldom].any(axis=1).mean() > MANY
        return np.where(np.isnan(values) | (odds < AGAINST), -np.inf, values - LESS * many)
    often = (log_odds(differences) >= NOTICED[kind]).mean(axis=0) > OFTEN
    return np.where((kind == "missing") & often, -np.inf, odds)


def _located(values: Array) -> tuple[float, float] | None:
    """Return the median of numbers, and their spread by the median absolute deviation; None for too few numbers."""
    some = values[np.isfinite(values) & (np.abs(values) < -NEVER / 10)]
    if len(some) < FEWEST:
        return None
    middle = float(np.median(some))
    spread = 1.4826 * float(np.median(np.abs(some - middle)))
    n, least = ADDED
    return middle, float(np.sqrt((len(some) * spread**2 + n * least**2) / (len(some) + n)))


def _log_t(values: Array, middle: float, spread: float) -> Array:
    """Return the log density of Student's distribution up to a constant."""
    return np.asarray(-(TAILS + 1) / 2 * np.log1p(np.square((values - middle) / spread) / TAILS) - np.log(spread))


MOST_STEPS = 24
"""Largest number of key steps for a second reading, whose cost grows with its cube."""


@dataclass(frozen=True)
class _SecondReading:
    """The evidence for deviations from a second reading of a task's videos.

    Attributes
    ----------
    labels
        Key steps (T,) by video, 0 for background.
    support
        How far it supports a deviation, by kind (`KINDS`), video and key step; videos that were not read are missing.
    edits
        For each kind, how many key steps were cut out of, moved or repeated in copies of the videos, and noticed.
    """

    labels: dict[str, Integers]
    support: Mapping[tuple[str, str, int], float]
    edits: Mapping[str, Edits]


def second_reading(
    videos: Mapping[str, Array],
    labels: Mapping[str, Integers],
    annotated: Collection[str],
    procedure: Procedure,
    K: int,
    seed: int,
) -> _SecondReading | None:
    """Read videos again, by appearance alone.

    Parameters
    ----------
    videos
        Embeddings (T, D) of the videos that a result learned from. Of many, only some are read (`learned_from`).
    labels
        Their key steps (T,), 0 for background.
    annotated
        The videos whose labels a person made.
    procedure
        The procedure, which gives the key steps between which each one comes.
    K
        Number of key steps.
    seed
        Draws the places of moved and repeated key steps.

    Returns
    -------
    SecondReading or None
        None for fewer than `FEWEST` videos, a single key step or more than `MOST_STEPS`, and if all are annotated.
    """
    every = list(videos)
    chosen = {every[at] for at in learned_from([len(x) for x in videos.values()])}
    names = [name for name in every if name in chosen or name in annotated]
    if len(names) < FEWEST or not 2 <= K <= MOST_STEPS or all(name in annotated for name in names):
        return None
    lengths = [len(videos[name]) for name in names]
    rows, counts, nearest = thinned(lengths, PER_VIDEO * len(lengths))
    borders = np.cumsum(counts)[:-1]
    x = np.split(np.concatenate([videos[name] for name in names])[rows].astype(np.float64), borders)
    start = np.split(np.concatenate([labels[name] for name in names])[rows], borders)
    reader = Reader.fit(x, start, K, [name in annotated for name in names])
    before, after = _between(procedure, K)
    each = differences(reader, K, before, after, np.random.default_rng([seed, 4]))
    support: dict[tuple[str, str, int], float] = {}
    edits: dict[str, Edits] = {}
    for kind, pair in each.items():
        made = np.isfinite(pair.edited)
        table, noticed = (supports(kind, pair, values) for values in pair)
        n_shown, n_noticed = (int((noticed[made] >= least[kind]).sum()) for least in (SHOWN, NOTICED))
        edits[kind] = Edits(made=int(made.sum()), told=n_shown, noticed=n_noticed)
        if hidden(edits[kind]):
            table, edits[kind] = np.full_like(table, -np.inf), replace(edits[kind], told=0)
        support |= {
            (kind, name, step + 1): float(table[video, step]) for video, name in enumerate(names) for step in range(K)
        }
    read_labels = [
        labels_here
        if name in annotated
        else read(
            reader.seen(x_here, video),
            reader.chain,
            [step for step in range(1, K + 1) if support["missing", name, step] >= NOTICED["missing"]],
        )
        for video, (name, x_here, labels_here) in enumerate(zip(names, x, start, strict=True))
    ]
    spread = np.split(np.concatenate(read_labels)[nearest], np.cumsum(lengths)[:-1])
    full = {name: labels[name] if name in annotated else part for name, part in zip(names, spread, strict=True)}
    return _SecondReading(full, support, edits)


def _between(procedure: Procedure, K: int) -> tuple[Integers, Integers]:
    """Return the key steps (K,) after and before which each key step comes: the nearest in the consensus, or 0."""
    place = {step: at for at, step in enumerate(procedure.order)}
    before, after = np.zeros(K, dtype=np.int64), np.zeros(K, dtype=np.int64)
    for need in procedure.needs:
        first, then = int(need.before), int(need.after)
        if need.confidence < SURE_FROM:
            continue
        if not before[then - 1] or place[first] > place[int(before[then - 1])]:
            before[then - 1] = first
        if not after[first - 1] or place[then] < place[int(after[first - 1])]:
            after[first - 1] = then
    return before, after


BORNE_OUT = 0.2
"""A kind of deviation can be told if at least this share of those put into copies of the videos is noticed."""

#: Words for deviations that were made, and for those that were found.
_EDITS = {
    "missing": ("cut out", "left out"),
    "order": ("moved", "moved"),
    "repeated": ("repeated", "repeated"),
}


def hidden(edits: Edits) -> bool:
    """Return whether too few of the deviations put into copies of videos are noticed (`BORNE_OUT`)."""
    return (edits.told if edits.noticed is None else edits.noticed) < BORNE_OUT * edits.made


def untold(facts: SecondReadingFacts) -> tuple[str, ...]:
    """Return the kinds of deviations that cannot be told (`hidden`)."""
    return tuple(kind for kind in KINDS if hidden(facts.of(kind)))


#: The time that the second reading took is stated if it is at least this many seconds.
LONG_S = 60.0


def edits_sentence(facts: SecondReadingFacts, labelled: bool = False) -> str:
    """Return sentences on ``second_reading`` of ``diagnostics.json``: which kinds of deviations would be shown.

    ``labelled`` says whether annotated videos teach, whose steps are then the key steps.

    >>> edits_sentence(
    ...     SecondReadingFacts(
    ...         missing=Edits(made=40, told=31, noticed=35),
    ...         order=Edits(made=10, told=0, noticed=1),
    ...         repeated=Edits(made=0, told=0, noticed=0),
    ...         decoding_cpu_s=2.04,
    ...     )
    ... )
    'In copies of up to 12 of these videos, each key step that has a segment, even one that does not count, was cut \
out, moved or repeated, one at a time (those with several segments were only cut out): of 40 cut out, 31 would be \
told; of 10 moved, 0. Real deviations may be told more rarely, and several together were not tried. Moved key \
steps are always doubtful here. A step that is only a part of a key step is never told.'
    """
    made = [kind for kind in KINDS if facts.of(kind).made]
    silent = untold(facts)
    if not made:
        return ""
    cost = f" This test took {facts.decoding_cpu_s:.0f} s." if facts.decoding_cpu_s >= LONG_S else ""
    if len(silent) == len(made):
        return f"Deviations cannot be told here: none of those made in copies of these videos would be.{cost}"
    parts = [f"of {facts.of(kind).made} {_EDITS[kind][0]}, {facts.of(kind).told}" for kind in made]
    parts[0] += " would be told"
    doubtful = " and ".join(_EDITS[kind][1] for kind in silent)
    end = f" {doubtful.capitalize()} key steps are always doubtful here." if silent else ""
    each = (
        f"In copies of up to {EDITED} of these videos, each key step that has a segment, even one that does not count, "
        "was cut out, moved or repeated, one at a time (those with several segments were only cut out)"
    )
    real = "Real deviations may be told more rarely, and several together were not tried."
    smaller = "" if labelled else " A step that is only a part of a key step is never told."
    return f"{each}: {'; '.join(parts)}. {real}{end}{smaller}{cost}"
