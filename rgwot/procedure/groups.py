"""Groups of videos compared key step by key step, with the video as the unit (methods 9.8)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations, product
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rgwot.columns import readable
from rgwot.procedure.interface import Deviation, Recording
from rgwot.procedure.orders import Floats, tally
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.runtime.text import look_alike, plain_name

_LOG = logging.getLogger(__name__)

ALPHA = 0.05
PERMUTATIONS = 10_000
BATCH = 1000
"""Number of permutations held in memory at once."""
#: Number of bootstrap samples for the interval of a mean, and coverage of this interval, as in keypoint-moseq's plots.
DRAWS, LEVEL = 1000, 0.68
#: A group with fewer videos gets the warning that a test can hardly find anything.
FEWEST_VIDEOS = 5
UNIT = "video"
#: The unit where the persons in the videos are known: they are permuted, with all of their videos.
PERSON = "subject"

Measure = Literal["share", "number", "duration", "place", "deviations", "transitions"]
MEASURES: Mapping[Measure, str] = {
    "share": "share of the videos that have it",
    "number": "segments per video",
    "duration": "seconds per video that has it",
    "place": "place in the video, 0 to 1",
    "deviations": "deviations per video",
    "transitions": "how often its usual successor follows, 0 to 1",
}
TEST_COLUMNS = (
    "key_step", "measure", "successor", "test", "unit", "group_a", "group_b", "statistic", "p", "p_adjusted", "star",
)  # fmt: skip
#: Columns per group, such as ``n_expert``.
OF_GROUP = ("n", "mean", "low", "high")


def measured(recordings: Sequence[Recording], deviations: Sequence[Deviation]) -> tuple[pd.DataFrame, dict[int, int]]:
    """Measure every key step in every video.

    Parameters
    ----------
    recordings, deviations
        The videos of a task, and their deviations from its procedure (`rgwot.procedure.deviations`).

    Returns
    -------
    values : pandas.DataFrame
        A row per video, a column per pair of key step and measure. The measures share, number and deviations are 0
        in a video without the key step, the others NaN.
    successors : dict
        For each key step, the one that most often comes next in these videos, 0 for the end of the video.

    Examples
    --------
    >>> from rgwot.procedure import Event
    >>> values, successors = measured([Recording("a", (Event(1, 0, 2), Event(2, 3, 5)), 10)], [])
    >>> values[1].loc["a"].to_dict(), successors
    ({'share': 1.0, 'number': 1.0, 'duration': 2.0, 'place': 0.1, 'deviations': 0.0, 'transitions': 1.0}, {1: 2, 2: 0})
    """
    counted = tally(recordings)
    place = {int(step): at for at, step in enumerate(counted.steps)}
    row = {recording.video: at for at, recording in enumerate(recordings)}
    n_deviations = np.zeros_like(counted.total)
    for deviation in deviations:
        if deviation.key_step in place:
            n_deviations[row[deviation.video], place[deviation.key_step]] += 1
    followed = np.zeros((*counted.total.shape, len(place) + 1))
    for at, recording in enumerate(recordings):
        steps = [place[event.key_step] for event in recording.events]
        np.add.at(followed[at], (steps, [*steps[1:], len(place)] if steps else []), 1)
    usual = followed.sum(axis=0).argmax(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        by_measure: dict[Measure, Floats] = {
            "share": counted.present.astype(float),
            "number": counted.count.astype(float),
            "duration": np.where(counted.present, counted.total, np.nan),
            "place": (counted.start + counted.end) / 2 / counted.duration[:, None],
            "deviations": n_deviations,
            "transitions": followed[:, np.arange(len(place)), usual] / counted.count,
        }
    columns = pd.MultiIndex.from_product([place, MEASURES], names=["key_step", "measure"])
    values = np.stack([by_measure[name] for name in MEASURES], axis=2).reshape(len(recordings), -1)
    successors = [*place, 0]
    return pd.DataFrame(values, index=list(row), columns=columns), {
        step: successors[usual[at]] for step, at in place.items()
    }


def compare_groups(
    recordings: Sequence[Recording],
    deviations: Sequence[Deviation],
    groups: Mapping[str, Any],
    permutations: int = PERMUTATIONS,
    seed: int = 0,
    subjects: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Test for every key step and measure whether groups of videos differ.

    Parameters
    ----------
    recordings, deviations
        The videos of a task, and their deviations from its procedure (`rgwot.procedure.deviations`).
    groups
        The group of each video. Videos without a group, or with an empty one (``""``, None, NaN), are left out with a
        warning.
    permutations, seed
        Number of permutations of the labels, and the seed from which they are drawn.
    subjects
        The person in each video, if known; a video without a person stands for itself. Several videos of a person are
        not independent evidence, so persons are permuted with all of their videos: the unit is the person, whose values
        are the means over the videos that have a value.

    Returns
    -------
    pandas.DataFrame
        `TEST_COLUMNS`, then `OF_GROUP` for every group. Each key step and measure has a row for all groups
        (Kruskal-Wallis, ``group_a`` and ``group_b`` empty) and, if there are more than two groups, one per pair (Dunn).
        ``successor`` is filled for transitions, as in `measured`. ``p`` and ``p_adjusted`` are NaN
        where no permutation could have given a star, such as where all have the same value. ``unit`` is ``video`` or
        ``subject``; ``n`` counts the units that have a value; ``low`` and ``high`` are a 68 % bootstrap interval of
        the mean.

    Raises
    ------
    RgwotError
        If the videos have fewer than two groups, a group has one video, a name is not a video, or a person is in two
        groups.
    """
    of_video = _checked(groups, {recording.video for recording in recordings})
    grouped = [recording for recording in recordings if recording.video in of_video]
    labels = [of_video[recording.video] for recording in grouped]
    names = sorted(set(labels))
    without = [recording.video for recording in recordings if recording.video not in of_video]
    if len(names) < 2:
        raise RgwotError(
            f"groups: found {' and '.join(map(repr, names)) or 'none'} among {len(recordings)} videos, "
            f"expected two groups or more{f'; video {readable(without[0])!r} has none' if without else ''}"
        )
    if alone := next((video for video, name in of_video.items() if labels.count(name) == 1), None):
        raise RgwotError(
            f"groups: {of_video[alone]!r} has one video, {readable(alone)!r}; expected two or more in every group; "
            "leave the group of this video empty, or put the video into another group"
        )
    if without:
        _LOG.warning("videos without a group are left out: %s", ", ".join(map(readable, without)))
    compared = {recording.video for recording in grouped}
    values, successors = measured(grouped, [deviation for deviation in deviations if deviation.video in compared])
    unit = UNIT
    if subjects:
        unit, (values, labels) = PERSON, _by_subject(values, labels, subjects)
    tests = permutation_tests(values.to_numpy(), labels, permutations, seed)
    possible_at_all = ~np.isnan(tests[()].p_adjusted)
    rng = np.random.default_rng([seed, 1])
    means = {name: _means(values[np.asarray(labels) == name].to_numpy(), rng) for name in names}
    rows = []
    for at, (step, measure) in enumerate(product(successors, MEASURES)):
        for pair, test in tests.items():
            groups_of_test = pair or names
            there = possible_at_all[at] and not np.isnan(test.p[at])
            numbers = {f"{what}_{name}": means[name][what][at] for name in groups_of_test for what in OF_GROUP}
            rows.append(
                {
                    "key_step": step,
                    "measure": measure,
                    "successor": successors[step] if measure == "transitions" else pd.NA,
                    "test": f"{'Dunn' if pair else 'Kruskal-Wallis'}, {permutations} permutations, Benjamini-Hochberg",
                    "unit": unit,
                    "group_a": pair[0] if pair else "",
                    "group_b": pair[1] if pair else "",
                    "statistic": test.statistic[at],
                    "p": test.p[at] if there else np.nan,
                    "p_adjusted": test.p_adjusted[at] if there else np.nan,
                    "star": "*" if test.star[at] else "",
                    **numbers,
                }
            )
    columns = [*TEST_COLUMNS, *(f"{what}_{name}" for name in names for what in OF_GROUP)]
    whole = {"successor": "Int64", **{f"n_{name}": "Int64" for name in names}}
    return pd.DataFrame(rows, columns=columns).astype(whole)


def _by_subject(
    values: pd.DataFrame, labels: Sequence[str], subjects: Mapping[str, str]
) -> tuple[pd.DataFrame, list[str]]:
    """Return the mean values and the group of every person; a video without a person counts as one."""
    person = pd.Series([subjects.get(str(video)) or str(video) for video in values.index], index=values.index)
    groups = pd.Series(list(labels), index=values.index).groupby(person, sort=False)
    if (several := groups.nunique()).max() > 1:
        name = several.idxmax()
        found = " and ".join(map(repr, sorted(set(groups.get_group(name)))))
        raise RgwotError(
            f"subjects: {name!r} is in the groups {found}; expected one group for all videos of a subject; correct "
            "the table, or remove the column subject to count videos"
        )
    means = values.groupby(person, sort=False).mean()
    first = groups.first()
    alone = next((group for group, size in first.value_counts().items() if size == 1), None)
    if alone is not None:
        raise RgwotError(
            f"subjects: group {alone!r} has one subject, {first.index[first == alone][0]!r}; expected two or more in "
            "every group"
        )
    return means, first.loc[means.index].tolist()


def _checked(groups: Mapping[str, Any], videos: Collection[str]) -> dict[str, str]:
    """Return the group of every video that has one; raise RgwotError unless ``groups`` maps videos to groups."""
    # A pandas column is also accepted.
    if not isinstance(groups, (Mapping, pd.Series)):
        raise RgwotError(
            f"groups: found {type(groups).__name__}, expected the group of every video, such as {{'monday': 'expert'}}"
        )
    group_of = dict(groups)
    if unknown := [video for video in group_of if video not in videos]:
        more = f" and {len(unknown) - 1} more" if unknown[1:] else ""
        raise RgwotError(
            f"groups: found {unknown[0]!r}{more}, expected videos of the result; {nearest(str(unknown[0]), videos)}"
        )
    if odd := [video for video, group in group_of.items() if not pd.api.types.is_scalar(group)]:
        raise RgwotError(
            f"groups: video {odd[0]!r}: found {type(group_of[odd[0]]).__name__}, expected one group, such as 'expert'"
        )
    texts = {video: "" if pd.isna(group) else plain_name(str(group)) for video, group in group_of.items()}
    for alike in look_alike(texts.values()):
        _LOG.warning("groups %s count as different; spell each group alike", ", ".join(map(repr, alike)))
    return {video: group for video, group in texts.items() if group}


class _Tested(NamedTuple):
    """A test of C columns: arrays (C,) of the statistic, p, p adjusted, and whether it is starred."""

    statistic: Floats
    p: Floats
    p_adjusted: Floats
    star: NDArray[np.bool_]


def permutation_tests(
    values: ArrayLike, labels: Sequence[str], permutations: int = PERMUTATIONS, seed: int = 0
) -> dict[tuple[str, ...], _Tested]:
    """Test columns of values for differences between groups, as keypoint-moseq does.

    Parameters
    ----------
    values
        (V, C), NaN where a video has none.
    labels
        (V,) the group of every video; two groups or more.

    Returns
    -------
    dict
        The Kruskal-Wallis test of all groups has the key ``()``; Dunn's test of a pair has the pair of names as key, if
        there are more than two groups.

    Notes
    -----
    If there are at most ``permutations`` ways to form the groups, p is the share of them that reach the statistic
    (`scipy.stats.permutation_test`); otherwise p = (b + 1) / (permutations + 1), where b counts the random permutations
    that reach it. Dunn's z uses ranks among all groups, and labels are permuted within the pair. Kruskal-Wallis is
    corrected over all columns (Benjamini and Hochberg), except those that no permutation could have made significant
    (Tarone 1990; Gilbert 2005); Dunn is corrected over the pairs of a column. A star means p_adjusted ≤ 0.05, for a
    pair in both tests.

    Examples
    --------
    >>> (found,) = permutation_tests([[1], [2], [3], [4], [15], [16], [17], [18]], [*"aaaabbbb"]).values()
    >>> round(found.statistic.item(), 3), round(found.p.item(), 2)  # 2 of the 70 ways to form two fours
    (5.333, 0.03)
    """
    from scipy.stats import false_discovery_control, rankdata

    values = np.asarray(values, dtype=np.float64)
    ranks = rankdata(values, axis=0, nan_policy="omit")
    n = (~np.isnan(values)).sum(axis=0)
    centred = ranks - (n + 1) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        # The variance in both statistics (Kruskal-Wallis and Dunn), corrected for ties.
        variance = np.nansum(centred**2, axis=0) / (n - 1)
    variance[~(variance > 0)] = np.nan
    names, codes = np.unique(labels, return_inverse=True)
    rng = np.random.default_rng(seed)

    def kruskal(*groups: Floats, axis: int) -> Floats:
        sums = [(np.nansum(group, axis=axis), _sizes(group, axis)) for group in groups]
        return np.asarray(sum(total**2 / size for total, size in sums) / variance)

    def dunn(first: Floats, second: Floats, axis: int) -> Floats:
        n_first, n_second = _sizes(first, axis), _sizes(second, axis)
        difference = np.abs(np.nansum(first, axis=axis) / n_first - np.nansum(second, axis=axis) / n_second)
        return np.asarray(difference / np.sqrt(variance * (1 / n_first + 1 / n_second)))

    groups = [centred[codes == code] for code in range(len(names))]
    h, p, least = _permuted(kruskal, groups, permutations, rng)
    family = possible(least)
    adjusted = np.full(len(p), np.nan)
    if family.any():
        adjusted[family] = false_discovery_control(p[family])
    star = adjusted <= ALPHA
    tested: dict[tuple[str, ...], _Tested] = {(): _Tested(h, p, adjusted, star)}
    if len(names) == 2:
        # With two groups, Dunn's z squared is the Kruskal-Wallis statistic.
        return tested
    pairs = list(combinations(range(len(names)), 2))
    of_pairs = [_permuted(dunn, [groups[a], groups[b]], permutations, rng) for a, b in pairs]
    adjusted_pairs = false_discovery_control(np.nan_to_num([p for _, p, _ in of_pairs], nan=1.0), axis=0)
    for (a, b), (z, p, _), corrected in zip(pairs, of_pairs, adjusted_pairs, strict=True):
        tested[str(names[a]), str(names[b])] = _Tested(z, p, corrected, star & (corrected <= ALPHA))
    return tested


def possible(least: ArrayLike) -> NDArray[np.bool_]:
    """Return which tests could be significant at all, by the smallest p (C,) that each can have.

    A test is possible if its smallest p is at most 0.05 / k, for the smallest k such that at most k tests are possible
    (Tarone 1990). This does not depend on the labels, so leaving out impossible tests needs no correction.

    >>> possible([0.2, 0.03, 0.001, 0.001]).tolist()
    [False, False, True, True]
    """
    smallest = np.asarray(least, dtype=np.float64)
    k = next(k for k in range(1, len(smallest) + 2) if (smallest <= ALPHA / k).sum() <= k)
    is_possible: NDArray[np.bool_] = smallest <= ALPHA / k
    return is_possible


def few_videos(sizes: Mapping[str, int], unit: str = UNIT) -> str:
    """Return a warning if a group has fewer than `FEWEST_VIDEOS` videos (or other units), else an empty text."""
    few = ", ".join(f"{name} has {size}" for name, size in sizes.items() if size < FEWEST_VIDEOS)
    return f"fewer than {FEWEST_VIDEOS} {unit}s in a group can hardly show a difference: {few}" if few else ""


def _sizes(values: Floats, axis: int) -> Floats:
    """Count the values that are not NaN; 0 becomes 1e-9, so that a group without values adds 0, not NaN, to a sum."""
    return np.asarray(np.maximum((~np.isnan(values)).sum(axis=axis), 1e-9))


def _permuted(
    statistic: Callable[..., Floats], groups: Sequence[Floats], permutations: int, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """Return statistics, p and the smallest p that any permutation would give, (C,) each; NaN for constant columns.

    ``groups`` holds the values (V_g, C) of each group; all columns share the same permutations of videos.
    """
    from scipy.stats import permutation_test

    tested = permutation_test(
        groups, statistic, vectorized=True, n_resamples=permutations, batch=BATCH, alternative="greater", axis=0,
        random_state=rng,
    )  # fmt: skip
    observed, drawn = np.asarray(tested.statistic), tested.null_distribution
    largest = drawn.max(axis=0)
    # Values that differ only by rounding count as equal.
    reached = (drawn >= largest - 1e-9 * np.abs(largest)).mean(axis=0)
    constant = np.isnan(observed)
    p = np.where(constant, np.nan, tested.pvalue)
    return observed, p, np.where(constant, np.nan, np.minimum(reached, p))


def _means(values: Floats, rng: np.random.Generator) -> dict[str, Floats]:
    """Return count, mean and a bootstrap interval of the mean for every column (V, C), NaN where no video has a value.

    `scipy.stats.bootstrap` gives no interval if a bootstrap sample has no value, which happens with few videos.
    """
    present, numbers = ~np.isnan(values), np.nan_to_num(values)
    drawn = rng.multinomial(len(values), np.full(len(values), 1 / len(values)), size=DRAWS).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = (drawn @ numbers) / (drawn @ present)
        mean = numbers.sum(axis=0) / present.sum(axis=0)
    tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    # A bootstrap sample may lack the few videos that have a value; its mean is NaN, and ignored.
    some = ~np.isnan(mean)
    low, high = np.full((2, values.shape[1]), np.nan)
    low[some], high[some] = np.nanquantile(means[:, some], tails, axis=0)
    return {"n": present.sum(axis=0).astype(np.float64), "mean": mean, "low": low, "high": high}
