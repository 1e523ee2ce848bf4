"""Why a result should be doubted, in one line each (methods 5.15): facts in, sentences out.

``diagnostics.json`` has them under ``warnings``; the log, the page and `rgwot.discover` repeat what stands there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rgwot.embedding.arrays import scales_differ
from rgwot.keysteps.relative_time import HINT, KEEPS, SAME_ORDER, largest_share

FEW = 1 / 3
"""A video keeps few key steps where it has no more than this share of them."""

MOST = 0.5
"""Share of background above which most of a task is background."""

SAME = 0.6
"""Two seeds disagree where the adjusted Rand index of their labels is below this."""

NEAR = 0.02
"""A share of time was a near thing where J or the concordance is within this share of its threshold."""

NAMED = 3
"""Videos that a warning names; of the others it gives the number."""


def doubts(
    K: int,
    kept: Mapping[str, int],
    background: float,
    same: float | None = None,
    time: Mapping[str, Any] | None = None,
    scales: float | None = None,
) -> list[str]:
    """Return why a result should be doubted, a line each; none where nothing speaks against it.

    Parameters
    ----------
    K
        Key steps that were asked for.
    kept
        Different key steps of every video, background not counted.
    background
        Share of all samples that are background, in [0, 1].
    same
        Adjusted Rand index of the labels and of those of another seed; None where it is not known.
    time
        How the share of time was chosen, as `rgwot.keysteps.relative_time.choose_share` tells it; None where it is set.
    scales
        Largest scale of a channel of the features divided by the smallest, where an embedding depends on it.
    """
    said = []
    # With one or two key steps a video of one is nothing to wonder at.
    few = {video: number for video, number in kept.items() if number <= FEW * K}
    if few:
        named = ", ".join(f"{video} {number}" for video, number in list(few.items())[:NAMED])
        more = f" and {len(few) - NAMED} more" if len(few) > NAMED else ""
        said.append(f"{len(few)} of {len(kept)} videos keep few of {K} key steps: {named}{more}")
    if background > MOST:
        said.append(f"{background:.0%} of the samples are background, which is most of them")
    if same is not None and same < SAME:
        said.append(seeds_differ("two seeds", same))
    return [one for one in (*said, _of_time(time or {}), scales_differ(scales or 1.0)) if one]


def seeds_differ(who: str, same: float) -> str:
    """Return the warning about two seeds, named by ``who``, whose labels have a small adjusted Rand index."""
    # 0.597 is not told to be 0.60.
    shown = min(same, SAME - 0.01)
    return (
        f"{who} disagree: their adjusted Rand index is {shown:.2f}, expected {SAME:g} or more (1 is the same answer, 0 "
        "is chance); trust what several seeds have in common"
    )


def _of_time(choice: Mapping[str, Any]) -> str:
    """Return what is doubtful about the share of time that was chosen, if anything."""
    if "agreement" not in choice:
        return ""
    found = {float(share): float(J) for share, J in choice["agreement"].items()}
    least, order = KEEPS * found[0.0], float(choice["concordance"])
    # A hint is given whatever its J is.
    close = [share for share, J in found.items() if share > HINT and least > 0 and abs(J - least) <= NEAR * least]
    if close and order >= SAME_ORDER:
        near = f"with {close[0]:g} J is {found[close[0]]:.3g}, and {least:.3g} is asked for"
    elif abs(order - SAME_ORDER) <= NEAR * SAME_ORDER and largest_share(found, SAME_ORDER) > HINT:
        near = f"the concordance of videos is {order:.3g}, and {SAME_ORDER:g} is asked for"
    else:
        return ""
    chosen = float(choice["chosen"])
    return f"decode.time: auto took {chosen:g}, a near thing: {near}; another seed may take another share"
