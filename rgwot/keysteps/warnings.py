"""Reasons to doubt a result, and notes on it, in words."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from rgwot.columns import readable
from rgwot.diagnostics import TimeChoice
from rgwot.embedding.arrays import scales_differ
from rgwot.embedding.values import NAMED
from rgwot.keysteps.common_time import HINT, KEPT_SHARE, NEAR, ONE_ORDER, SAME_ORDER
from rgwot.keysteps.settings import too_fine

FEW = 1 / 3
"""A video has few key steps if it has at most this share of them."""

MOST = 0.5
"""A warning is given if a larger share of the samples is background."""

COMPETE = 0.1
"""Two answers compete if they differ in a larger share of the samples."""

SEE_BOTH = "to see both, set seeds: [0, 1] in config.yaml (seed=1 in Python)"
"""Advice on how to compare the answers of two seeds."""

COMPETING = "two answers compete"
"""Beginning of a warning that another answer is supported almost equally."""

OTHER_SEED = f"{COMPETING}: another seed"
"""Beginning of this warning if the other answer is that of a seed whose result was not stored."""


def doubts(
    K: int,
    steps_per_video: Mapping[str, int],
    background: float,
    seeds_differ: float | None = None,
    time: TimeChoice | None = None,
    scales: float | None = None,
    samples: Collection[int] = (),
    present: int | None = None,
) -> list[str]:
    """Return the reasons to doubt a result, a line each.

    Parameters
    ----------
    K
        Requested number of key steps.
    steps_per_video
        Number of different key steps in each video, without background.
    background
        Share of all samples that are background, in [0, 1].
    seeds_differ
        Share of the samples that another seed gives another key step, after key steps are matched; None if unknown.
    time
        How the weight of time was chosen (`rgwot.keysteps.common_time.choose_share`); None if it was set.
    scales
        Ratio of the largest to the smallest scale of the features' channels, if the embedding depends on it.
    samples
        Number of samples of each video.
    present
        Number of key steps that occur in any video; None if it may be smaller than K.
    """
    warnings = [fine] if (fine := too_fine(K, samples)) else []
    if present is not None and present < K:
        warnings.append(f"{K - present} of {K} key steps are empty: no video has them; give a smaller K")
    # The limit is below 1 for one or two key steps, because a video with a single one is then not unusual.
    few = {video: number for video, number in steps_per_video.items() if number <= FEW * K}
    if few:
        named = ", ".join(f"{readable(video)} {number}" for video, number in list(few.items())[:NAMED])
        more = f" and {len(few) - NAMED} more" if len(few) > NAMED else ""
        warnings.append(f"{len(few)} of {len(steps_per_video)} videos have few of the {K} key steps: {named}{more}")
    if background > MOST:
        warnings.append(f"{background:.0%} of the samples, and thus most, are background")
    if seeds_differ is not None and seeds_differ > COMPETE:
        warnings.append(seeds_compete(OTHER_SEED, seeds_differ, SEE_BOTH))
    return [text for text in (*warnings, _of_time(time), scales_differ(scales or 1.0)) if text]


def seeds_compete(who: str, differ: float, how: str) -> str:
    """Return the warning that another seed, ``who``, gives this share of the samples another key step.

    ``how`` says how both can be seen.
    """
    return f"{who} gives {100 * differ:.0f} of 100 samples another key step; {how}"


def briefly(warning: str) -> str:
    """Return what a warning about competing answers says, without how both can be seen.

    >>> briefly(seeds_compete("Two answers compete: another seed", 0.43, SEE_BOTH))
    'Two answers compete: another seed gives 43 of 100 samples another key step'
    """
    return warning.partition(";")[0]


def add_time(share: float) -> str:
    """Return words that tell how the answer with another weight of time can be seen."""
    return f"add time={share:g} to the decoder, as in consensus@time={share:g}"


def other_time(choice: TimeChoice | None) -> tuple[float, str] | None:
    """Return the weight of time that was nearly chosen and gives another answer, if any, and what is near its limit."""
    if choice is None or choice.differ is None or choice.differ <= COMPETE:
        return None
    measured = ("concordance", choice.concordance, SAME_ORDER), ("kept", choice.kept, KEPT_SHARE)
    near = [
        f"{name} {value:.3g}, limit {limit:g}"
        for name, value, limit in measured
        if value is not None and abs(value - limit) <= NEAR * limit
    ]
    return (HINT if choice.chosen == ONE_ORDER else ONE_ORDER, ", ".join(near)) if near else None


def _of_time(choice: TimeChoice | None) -> str:
    """Return a warning if another weight of time was nearly chosen and gives another answer, or an empty text."""
    other = other_time(choice)
    if choice is None or choice.differ is None or other is None:
        return ""
    share, near = other
    more = "more" if share > choice.chosen else "less"
    return (
        f"{COMPETING}: if time counts {more}, {100 * choice.differ:.0f} of 100 samples get another key step; to see "
        f"both, {add_time(share)} ({near})"
    )


NO_BACKGROUND = "background was not looked for: every frame has a key step; decode.surplus adds clusters for background"
"""Note on a result of a method that cannot detect background."""


def no_background(background: bool, surplus: int) -> list[str]:
    """Return the note that background was not looked for, unless there is background, or clusters beyond K."""
    return [] if background or surplus else [NO_BACKGROUND]
