"""What a decoder leaves to the data: share of time, clusters of background, number of key steps (methods 5.5, 5.7).

Labels are made with more and more time, and measured: how much of the samples they foretell in other videos, whether
videos have them in one order, and whether one foretells the next. The number of key steps is judged by two views, the
same samples seen through disjoint halves of the channels, and by how many a video fills. Labels are made by the mean
field, whatever the decoder is: it takes a fraction of a second, and is what others are built on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rgwot.config.settings import Settings
from rgwot.embedding import MOST_VIEWED
from rgwot.evaluation.metrics import adjusted_rand_score
from rgwot.keysteps.background import keep_clusters, key_step_clusters
from rgwot.keysteps.interface import Decoded, Decoder, Frames, Learned, Predict, Restore, directions, middle_times
from rgwot.keysteps.ordering import concordance, disorder
from rgwot.runtime.errors import RgwotError
from rgwot.timing import thinned

if TYPE_CHECKING:
    from rgwot.keysteps.meanfield import MeanField

Views = NDArray[np.float64]
"""(2P, T, D): P pairs of views of a video's samples, or of every n-th, the two of a pair next to each other."""

TIME_SHARES = (0.0, 0.03, 0.08, 0.15, 0.4)
"""Shares of time that are tried, up to the first with too little J: none, to compare with; a hint, the least that is
taken; and up to nearly half."""

HINT = TIME_SHARES[1]
"""With more time than this two views agree because both see the same time."""

KEEPS = 0.885
"""Share of the J without time that labels with time must keep; as real recordings suggest (methods 5.7)."""

ORDERED = 0.08
"""Share of time that is tried for an order; taken where background is found."""

SAME_ORDER = 0.75
"""Concordance of videos from which on time may have more than a hint; as development tasks suggest."""

PRESSED = 0.15
"""Share of time with which segmentations made without it go on, to see what gives way."""

ASKED: Mapping[str, float] = {"J": 0.755, "disorder": 1.4, "concordance": 0.1}
"""Evidence from which on there is background (`background_evidence`); as development tasks suggest."""

SURPLUS_SHARE = 0.5
"""Clusters of background where there is any, in units of K: as good as K on development tasks, and less when wrong."""

USUAL = 7
"""Key steps assumed while time is chosen and K is not yet known; as in published tables."""

KEY_STEPS = range(3, 17)
"""Numbers of recurring activities that are tried, and that may be the answer."""

SURE = 0.8
"""Adjusted Rand index of two views from which on the number with the largest is the answer."""

OFFERED = 12
"""Of these, the one that is judged by: more than most tasks have, so that videos fill only some."""

FILLED = 0.8
"""Recurring activities per one that a video fills of `OFFERED`; as development tasks suggest (methods 5.7)."""

STARTS = 2
"""Segmentations for every number of activities; their agreement, or what videos fill of them, is averaged."""

TIME_STARTS = 12
"""Segmentations for every share of time; their J and disorder are averaged, so that neither hangs on a start."""

QUICK: dict[str, Any] = {"restarts": 4, "max_iterations": 8}
"""Changes to the settings of the mean field while choosing."""

KEPT = "key_step_clusters"
"""Among what was learned, the clusters that are key steps; the others are background."""

NUMBERS = "numbers"
"""Among what was learned, the numbers of the clusters."""


@dataclass(frozen=True)
class Choices:
    """Share of time in the squared length of an embedding, in [0, 1), clusters beyond K, and K key steps.

    ``facts``, the curves they were read from, go to ``diagnostics.json``.
    """

    time: float
    surplus: int
    K: int
    facts: dict[str, Any] = field(default_factory=dict)


class Measured(NamedTuple):
    """How much of the samples labels explain across videos (`agreement`), their `disorder` and `concordance`."""

    J: float
    disorder: float
    concordance: float


class _Chooser:
    """Segments views quickly, thinned where they are long, and measures how far they agree under a choice."""

    def __init__(
        self, x: NDArray[Any], views: Sequence[Views], lengths: Sequence[int], settings: Settings, seed: int
    ) -> None:
        chosen, self.lengths, _ = thinned(lengths, MOST_VIEWED)
        self.x = directions(x[chosen])
        self.views, self.viewed = np.concatenate(views, axis=1), tuple(own.shape[1] for own in views)
        if self.viewed == tuple(lengths):
            # Not thinned when they were written.
            self.views, self.viewed = self.views[:, chosen], self.lengths
        self.chain = settings.meanfield.model_copy(update=QUICK)
        self.seed = seed

    def made(self, K: int, time: float) -> list[MeanField]:
        """Segment the samples with a share of time, from every start."""
        return [self._made(self.x, self.lengths, K, time, start) for start in range(TIME_STARTS)]

    def pressed(self, made: Sequence[MeanField]) -> list[MeanField]:
        """Go on with `PRESSED` of time from segmentations."""
        from rgwot.keysteps.meanfield import minimise

        x = with_time(self.x, self.lengths, PRESSED)
        return [minimise(x, self.lengths, each.memberships, self.chain) for each in made]

    def measured(self, made: Sequence[MeanField]) -> Measured:
        """Measure the labels of segmentations, in the mean."""
        found = [
            (agreement(self.x, labels, self.lengths), disorder(labels, self.lengths), concordance(labels, self.lengths))
            for labels in (each.labels for each in made)
        ]
        return Measured(*np.mean(found, axis=0).tolist())

    def same_partition(self, K: int, time: float) -> float:
        """Return how far the segmentations of two views are the same: the mean adjusted Rand index."""
        found = []
        for pair in zip(self.views[0::2], self.views[1::2], strict=True):
            for start in range(STARTS):
                found.append(
                    adjusted_rand_score(*(self._made(view, self.viewed, K, time, start).labels for view in pair))
                )
        return float(np.mean(found))

    def filled(self, K: int, time: float) -> float:
        """Return how many of K key steps a video fills; the mean over starts."""
        made = [self._made(self.x, self.lengths, K, time, start).labels for start in range(STARTS)]
        return float(np.mean([filled(labels, self.lengths) for labels in made]))

    def _made(self, view: NDArray[np.float64], lengths: Sequence[int], K: int, time: float, start: int) -> MeanField:
        # Not at the top: most decodings have nothing to choose, and need not wait for it.
        from rgwot.keysteps.meanfield import segment

        x = with_time(view, lengths, time)
        generator = np.random.default_rng([self.seed, 2, start])
        return segment(x, lengths, K, self.chain, generator)


def choose(
    x: NDArray[Any], views: Sequence[Views] | None, lengths: Sequence[int], settings: Settings, seed: int
) -> Choices:
    """Resolve ``decode.time``, ``decode.K`` and ``decode.surplus`` where they are ``auto``, in this order.

    What is set stays as set. ``x`` (T, D) are the embeddings of the videos to learn from. Without the views of
    each, or with a single video, an ``auto`` of time or surplus is 0.

    Raises
    ------
    RgwotError
        For K ``auto`` without views, or with a single video.
    """
    block = settings.decode
    time = 0.0 if block.time == "auto" else block.time
    surplus = 0 if block.surplus == "auto" else block.surplus
    if "auto" not in (block.time, block.K, block.surplus):
        return Choices(time, surplus, int(block.K))
    if views is None or len(lengths) < 2:
        why = "a single video" if len(lengths) < 2 else "an embedding without views"
        if block.K == "auto":
            raise RgwotError(
                f"decode.K: found auto and {why}, expected two videos or more, and views of the features to choose by; "
                "give K as a number, or take the method whitened or rgwot-plus"
            )
        return Choices(time, surplus, int(block.K), {"why": f"{why}: nothing to choose by"})
    chooser = _Chooser(x, views, lengths, settings, seed)
    facts: dict[str, Any] = {}

    if "auto" in (block.time, block.surplus):
        number = USUAL if block.K == "auto" else int(block.K)
        untimed = chooser.made(number, 0.0)
        tried = {0.0: chooser.measured(untimed)}
        for share in TIME_SHARES[1:]:
            tried[share] = chooser.measured(chooser.made(number, share))
            # J falls further with more time.
            if share >= ORDERED and tried[share].J < KEEPS * tried[0.0].J:
                break
    background = False
    if block.surplus == "auto":
        evidence = background_evidence(tried[0.0], tried[ORDERED], chooser.measured(chooser.pressed(untimed)))
        background = disturbed(evidence)
        curve = {share: each.disorder for share, each in tried.items()}
        facts["surplus"] = {**_fact(ORDERED, curve), "evidence": evidence}
    if block.time == "auto":
        found, same_order = {share: each.J for share, each in tried.items()}, tried[ORDERED].concordance
        time = ORDERED if background else largest_share(found, same_order)
        facts["time"] = {**_fact(time, found), "concordance": same_order}

    if block.K == "auto":
        same = {each: chooser.same_partition(each, min(time, HINT)) for each in KEY_STEPS}
        activities = max(same, key=lambda each: same[each])
        by = "views" if same[activities] >= SURE else "filled"
        if by == "filled":
            same = {each: chooser.filled(each, time) for each in KEY_STEPS}
            activities = number_of(same)
        K = max(2, activities - surplus)
        facts["K"] = {**_fact(activities, same), "by": by}
    else:
        K = int(block.K)

    if background:
        surplus = round(SURPLUS_SHARE * K)
    return Choices(time, surplus, K, facts)


def background_evidence(untimed: Measured, ordered: Measured, pressed: Measured) -> dict[str, float]:
    """Return what speaks for background, by the names of `ASKED`.

    ``untimed`` labels are made without time, ``ordered`` ones with a share of `ORDERED`, and ``pressed`` ones are the
    untimed, gone on with `PRESSED`: the share of their J that these keep, and of those made with time the smaller
    disorder and concordance.
    """
    return {
        "J": pressed.J / untimed.J if untimed.J > 0 else 0.0,
        "disorder": min(ordered.disorder, pressed.disorder),
        "concordance": min(ordered.concordance, pressed.concordance),
    }


def disturbed(evidence: Mapping[str, float]) -> bool:
    """Return whether there is background, which disturbs an order of key steps, by its `background_evidence`.

    Key steps in an order foretell the next one; key steps that come again are cut up by time and lose J, or are so
    plain that time moves nothing, and have no order. What holds, in an order, and is still unforeseen has something in
    it that is no key step. A little background is not found, nor that of tasks that are done in no order.

    >>> disturbed({"J": 0.8, "disorder": 1.9, "concordance": 0.5})
    True
    >>> disturbed({"J": 1.0, "disorder": 2.0, "concordance": 0.0})
    False
    """
    return all(evidence[name] >= least for name, least in ASKED.items())


def largest_share(found: Mapping[float, float], same_order: float) -> float:
    """Return the largest share of time at which J is at least `KEEPS` of J without time, no less than a hint.

    Where key steps come once and in order, time cuts where the features cut, and J hardly falls; where they come again
    it cuts through them, and J falls at once. More than J without time proves nothing: slow drift looks like order. And
    J need not fall where videos differ in their order, so that without `SAME_ORDER` it is a hint.

    >>> J = {0.0: 0.100, 0.03: 0.097, 0.08: 0.092, 0.15: 0.085}
    >>> largest_share(J, 0.9), largest_share(J, 0.6)
    (0.08, 0.03)
    >>> largest_share({0.0: 0.100, 0.03: 0.080, 0.08: 0.070, 0.15: 0.060}, 0.9)
    0.03

    0 where the samples say nothing at all, J <= 0 without time.
    """
    if found[0.0] <= 0:
        return 0.0
    hint, *more = sorted(share for share in found if share)
    kept = [share for share in more if found[share] >= KEEPS * found[0.0]]
    return max([hint, *kept]) if same_order >= SAME_ORDER else hint


def filled(labels: NDArray[np.int64], lengths: Sequence[int]) -> float:
    """Return the effective number of labels of a video, exp of the entropy of their shares; the mean over videos.

    Labels (T,) are of videos one after the other, with the samples of each in ``lengths``. Between 1 and the number of
    labels, which it is where every video has all of them at even shares.

    >>> round(filled(np.array([0, 0, 1, 1, 2, 2, 2, 2]), [4, 4]), 2)
    1.5
    """
    found = []
    for own in np.split(np.asarray(labels), np.cumsum(lengths)[:-1]):
        shares = np.unique(own, return_counts=True)[1] / len(own)
        found.append(np.exp(-(shares * np.log(shares)).sum()))
    return float(np.mean(found))


def number_of(fills: Mapping[int, float]) -> int:
    """Return the number of recurring activities, from how many of those offered a video fills.

    Beyond what is really done, more clusters divide what several people do, each in a way of their own, and a video
    fills fewer of them. Where people are alike it fills nearly all, and the number is too large.

    >>> number_of({11: 8.6, 12: 9.3, 13: 9.9})
    7
    """
    return int(np.clip(round(FILLED * fills[OFFERED]), KEY_STEPS[0], KEY_STEPS[-1]))


def _fact(chosen: float, found: Mapping[Any, float]) -> dict[str, Any]:
    return {"chosen": chosen, "agreement": {str(value): agreement for value, agreement in found.items()}}


def extended(decoder: Decoder, choices: Choices) -> Decoder:
    """Give any decoder the share of time and the clusters of background that were chosen."""
    if not choices.time and not choices.surplus:
        return decoder

    def decode(frames: Frames, K: int, settings: Settings, generator: np.random.Generator) -> Decoded:
        made = decoder(_timed(frames, choices), K + choices.surplus, settings, generator)
        clusters = key_step_clusters(made.labels, frames.lengths, K + choices.surplus, K)
        predict, learned = made.predict, made.learned
        return replace(
            _kept(made, clusters, choices),
            predict=None if predict is None else _extended_rule(predict, clusters, choices),
            learned=None if learned is None else lambda: {**learned(), KEPT: clusters},
        )

    return decode


def restored(restore: Restore, learned: Learned, choices: Choices, settings: Settings) -> Predict:
    """Return how other videos are labelled by what a decoder learned that was `extended` by the same choices."""
    own = {name: value for name, value in learned.items() if name not in (KEPT, NUMBERS)}
    predict = restore(own, choices.K + choices.surplus, settings)
    if choices.time or choices.surplus:
        predict = _extended_rule(predict, learned[KEPT], choices)
    if NUMBERS not in learned:
        return predict

    def numbered(others: Frames) -> Decoded:
        found = predict(others)
        return replace(found, labels=renumbered(found.labels, learned[NUMBERS]))

    return numbered


def renumbered(labels: NDArray[np.int64], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return labels with cluster k called ``numbers[k]``; background, -1, stays.

    >>> renumbered(np.array([0, -1, 2]), np.array([1, 2, 0])).tolist()
    [1, -1, 0]
    """
    return np.where(labels < 0, labels, numbers[labels])


def _extended_rule(predict: Predict, clusters: NDArray[np.int64], choices: Choices) -> Predict:
    return lambda others: _kept(predict(_timed(others, choices)), clusters, choices)


def _timed(frames: Frames, choices: Choices) -> Frames:
    return replace(frames, x=with_time(frames.x, frames.lengths, choices.time), place=2 if choices.time else 0)


def _kept(found: Decoded, clusters: NDArray[np.int64], choices: Choices) -> Decoded:
    return replace(found, labels=keep_clusters(found.labels, clusters)) if choices.surplus else found


def with_time(x: NDArray[Any], lengths: Sequence[int], share: float) -> NDArray[np.float64]:
    r"""Give relative time a share of the squared length of embeddings.

    .. math:: x'_i = \left[\sqrt{1 - w}\, \frac{x_i}{|x_i|},\ \sqrt{w}\cos a_i,\ \sqrt{w}\sin a_i\right],
              \qquad a_i = \pi \left(\frac{i + 1/2}{T_v} - \frac12\right)

    Time is a place on half a circle, so that embeddings of length 1 stay so and the two ends of a video are as far
    apart as two samples can be. Where every key step is done once and in order, time separates key steps that look
    alike; where they come again it pulls their repetitions apart.

    Returns (T, D + 2) for samples x (T, D) of videos of T_v samples each and a share w in [0, 1), or x for w = 0.
    """
    samples = np.asarray(x, dtype=np.float64)
    if share == 0:
        return samples
    angles = np.pi * (middle_times(lengths) - 0.5)
    place = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return np.concatenate([np.sqrt(1 - share) * directions(samples), np.sqrt(share) * place], axis=1)


def agreement(view: NDArray[Any], labels: NDArray[np.int64], lengths: Sequence[int]) -> float:
    r"""Return how much of a view a labelling predicts in videos that it was not averaged over.

    .. math:: J = \frac{\sum_v \sum_{i \in v} g_i \cdot \mu_{-v}(l_i)}{\sum_i |g_i|^2}

    where :math:`\mu_{-v}(k)` is the mean of the samples labelled k in all videos but v, shrunk towards 0 by two
    samples. Expected to be 0 for labels that know nothing of the view.

    At most about 1; 0 for a single video, which nothing predicts, or a view of zeros.

    Parameters
    ----------
    view
        g (T, D), samples of all videos one after the other.
    labels
        (T,) labels of the same samples, `NO_CLUSTER` among them: a label like any other.
    lengths
        Samples of each video; they add up to T.
    """
    g = np.asarray(view, dtype=np.float64)
    _, classes = np.unique(labels, return_inverse=True)
    V, K = len(lengths), int(classes.max(initial=0)) + 1
    power = float(np.square(g).sum())
    if V < 2 or power == 0:
        return 0.0
    cells = np.repeat(np.arange(V), lengths) * K + classes
    counts = np.bincount(cells, minlength=V * K).reshape(V, K)
    flat = np.zeros((V * K, g.shape[1]))
    np.add.at(flat, cells, g)
    sums = flat.reshape(V, K, -1)
    others = (sums.sum(axis=0) - sums) / ((counts.sum(axis=0) - counts) + 2.0)[:, :, None]
    return float((sums * others).sum()) / power
