"""Why a result should be doubted, in one line each (methods 5.15): facts in, sentences out.

``diagnostics.json`` has them under ``warnings``; the log, the page and `rgwot.discover` repeat what stands there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rgwot.features.scales import scales_differ
from rgwot.keysteps.choices import ASKED, FILLED, HINT, KEEPS, KEY_STEPS, OFFERED, SAME_ORDER, disturbed, largest_share

FEW = 1 / 3
"""A video keeps few key steps where it has no more than this share of them."""

MOST = 0.5
"""Share of background above which most of a task is background."""

SAME = 0.6
"""Two seeds disagree where the adjusted Rand index of their labels is below this."""

NEAR = 0.02
"""A choice is near its threshold where it, or what would be taken instead, is within this share of it."""

HALFWAY = 0.1
"""A number of key steps is near its threshold where, not rounded, it is within this of half-way between two."""

FEWEST = 2
"""Key steps at most that `decode.K: auto` is doubted for by their number alone."""

NAMED = 3
"""Videos that a warning names; of the others it gives the number."""


def doubts(
    K: int,
    kept: Mapping[str, int],
    background: float,
    same: float | None = None,
    choices: Mapping[str, Any] | None = None,
    scales: float | None = None,
) -> list[str]:
    """Return why a result should be doubted, a line each; none where nothing speaks against it.

    Parameters
    ----------
    K
        Key steps that were asked for, or chosen.
    kept
        Different key steps of every video, background not counted.
    background
        Share of all samples that are background, in [0, 1].
    same
        Adjusted Rand index of the labels and of those of another seed; None where it is not known.
    choices
        What was left to the data, as `rgwot.keysteps.choices.choose` has it in ``facts``.
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
    said += _of_choices(K, choices or {})
    return [one for one in (*said, scales_differ(scales or 1.0)) if one]


def seeds_differ(who: str, same: float) -> str:
    """Return the warning about two seeds, named by ``who``, whose labels have a small adjusted Rand index."""
    # 0.597 is not told to be 0.60.
    shown = min(same, SAME - 0.01)
    return (
        f"{who} disagree: their adjusted Rand index is {shown:.2f}, expected {SAME:g} or more (1 is the same answer, 0 "
        "is chance); trust what several seeds have in common"
    )


def _of_choices(K: int, choices: Mapping[str, Any]) -> list[str]:
    """Return what is doubtful about the choices that were left to the data."""
    said = []
    background = False
    if "surplus" in choices:
        evidence = {name: float(choices["surplus"]["evidence"][name]) for name in ASKED}
        background = disturbed(evidence)
        # A little more of everything, or a little less, and the answer would be another one.
        more, less = (
            disturbed({name: one + by * ASKED[name] for name, one in evidence.items()}) for by in (NEAR, -NEAR)
        )
        if more != less:
            numbers = (f"{name} {evidence[name]:.2f}, {least:g} asked for" for name, least in ASKED.items())
            said.append(
                f"decode.surplus: auto found {'' if background else 'no '}background, a near thing: "
                f"{'; '.join(numbers)}; look at the page, or set it"
            )
    if "time" in choices and not background:
        found = {float(share): float(J) for share, J in choices["time"]["agreement"].items()}
        least, order = KEEPS * found[0.0], float(choices["time"]["concordance"])
        # A hint is given whatever its J is.
        close = [share for share, J in found.items() if share > HINT and least > 0 and abs(J - least) <= NEAR * least]
        near = ""
        if close and order >= SAME_ORDER:
            near = f"with {close[0]:g} J is {found[close[0]]:.3g}, and {least:.3g} is asked for"
        elif abs(order - SAME_ORDER) <= NEAR * SAME_ORDER and largest_share(found, SAME_ORDER) > HINT:
            near = f"the concordance of videos is {order:.3g}, and {SAME_ORDER:g} is asked for"
        if near:
            chosen = float(choices["time"]["chosen"])
            said.append(f"decode.time: auto took {chosen:g}, a near thing: {near}; another seed may take another share")
    if "K" in choices:
        said.append(_of_number(K, choices["K"]))
    return said


def _of_number(K: int, choice: Mapping[str, Any]) -> str:
    """Return what is doubtful about the number of key steps that was chosen."""
    if K <= FEWEST:
        return f"decode.K: auto answers {K}, which is hardly ever right; look at the tree of key steps and set K"
    curve = {int(number): float(value) for number, value in choice["agreement"].items()}
    chosen = int(choice["chosen"])
    if choice["by"] == "views":
        other = max((one for one in curve if one != chosen), key=lambda one: curve[one])
        near = curve[chosen] - curve[other] <= NEAR
    else:
        number = FILLED * curve[OFFERED]
        other = chosen + 1 if number > chosen else chosen - 1
        near = abs(number % 1 - 0.5) <= HALFWAY and other in KEY_STEPS
    if not near:
        return ""
    # Where decode.surplus is a number, so many of what was chosen are background.
    other -= chosen - K
    return f"decode.K: auto took {K}, and {other} would have done nearly as well; look at the tree of key steps"
