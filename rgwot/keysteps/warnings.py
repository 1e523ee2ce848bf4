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
"""Another answer is told of if it differs in a larger share of the samples."""

SEE_BOTH = "to see both, set seeds: [0, 1] in config.yaml (seed=1 in Python)"
"""Advice on how to compare the answers of two seeds."""

COMPETING = "another answer is possible"
"""Beginning of a warning that another answer is supported almost equally."""

OTHER_SEED = f"{COMPETING}: two tries"
"""Beginning of this warning if the other answer is that of another seed."""


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
        Share of the samples that two seeds give different key steps, after key steps are matched; None if unknown.
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
        warnings.append(seeds_compete(seeds_differ, SEE_BOTH))
    return [text for text in (*warnings, _of_time(time), scales_differ(scales or 1.0)) if text]


def seeds_compete(differ: float, how: str) -> str:
    """Return the warning that two seeds give this share of the frames different key steps.

    ``how`` says how both can be seen.
    """
    return f"{OTHER_SEED} give {100 * differ:.0f} of 100 frames different key steps; {how}"


def briefly(warning: str) -> str:
    """Return what a warning says about another answer, without how it can be seen.

    >>> briefly(seeds_compete(0.43, SEE_BOTH))
    'two tries give 43 of 100 frames different key steps'
    """
    return warning[len(f"{COMPETING}: ") :].partition(";")[0]


def other_time(choice: TimeChoice | None) -> float | None:
    """Return the weight of time that was nearly chosen and gives another answer, if any."""
    if choice is None or choice.differ is None or choice.differ <= COMPETE:
        return None
    measured = (choice.concordance, SAME_ORDER), (choice.kept, KEPT_SHARE)
    near = any(value is not None and abs(value - limit) <= NEAR * limit for value, limit in measured)
    return (HINT if choice.chosen == ONE_ORDER else ONE_ORDER) if near else None


def _of_time(choice: TimeChoice | None) -> str:
    """Return a warning if another weight of time was nearly chosen and gives another answer, or an empty text."""
    share = other_time(choice)
    if choice is None or choice.differ is None or share is None:
        return ""
    more = "more" if share > choice.chosen else "less"
    return (
        f"{COMPETING}: if the usual time of a step counts {more}, {100 * choice.differ:.0f} of 100 frames get another "
        f"key step; to see both, add time={share:g} to the decoder, as in consensus@time={share:g}"
    )


NO_BACKGROUND = "background was not looked for: every frame has a key step; decode.surplus adds clusters for background"
"""Note on a result of a method that cannot detect background."""


def no_background(background: bool, surplus: int) -> list[str]:
    """Return the note that background was not looked for, unless there is background, or clusters beyond K."""
    return [] if background or surplus else [NO_BACKGROUND]
