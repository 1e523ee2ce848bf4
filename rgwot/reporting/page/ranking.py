"""How a result ranks against the trivial baselines of its page, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rgwot.config.experiments import split_id
from rgwot.evaluation.protocols import PROTOCOLS
from rgwot.paths import Run
from rgwot.procedure.words import join_words
from rgwot.reporting.tables.printed import PRINTED_RULE

#: What trivial baselines are called in a sentence.
_CALLED = {"one_label": "one label", "uniform": "equal segments", "random": "random labels"}

_ORDER = f"macro_task without {PRINTED_RULE} order_distance"
#: Each protocol where it is named (methods 6.1).
PROTOCOLS_IN_WORDS = (
    "In micro_video and macro_video every video matches key steps with annotated ones by itself; micro_video counts "
    "frames, macro_video takes the mean over steps. In macro_task and strict_task one matching holds for all videos; "
    "macro_task takes the mean over matched steps, strict_task counts every frame."
)


def ranking(run: Run, scores: Mapping[str, Any] | None, annotated: bool) -> tuple[str, list[str]]:
    """Say under which protocols a result is above the trivial baselines of its page, F1 with background.

    ``scores`` are those of `rgwot.reporting.page.content.read_task_scores`. A result is compared by its own seed, a
    baseline by the mean over its seeds. Returned are a short form without the names of protocols, and sentences; of a
    baseline itself nothing is said.
    """
    rows = scores["rows"] if scores is not None else []
    trivial = [row for row in rows if row["kind"] == "trivial"]
    own: Mapping[str, Any] = next(
        (row for row in rows if (row["method"], row["decoder"]) == (run.method, run.decoder)), {}
    )
    values = next((one["value"] for one in own.get("seeds", []) if one["seed"] == run.seed), None)
    if not annotated or values is None:
        lacking = "Not scored" if annotated else "Nothing is annotated"
        why = f"{lacking}, so nothing here says whether these key steps are the right ones."
        return why, [why]
    if own["kind"] in ("trivial", "annotated"):
        return "", []
    if not trivial:
        why = "No trivial baseline is among these results, so what its scores are worth cannot be said."
        return why, [why]
    below, above = [], []
    for protocol in PROTOCOLS:
        others, value = _at(protocol, trivial), values.get(_key(protocol))
        if value is None or not others:
            continue
        better = [f"{name} {100 * other:.1f}" for name, other in others if other >= value]
        if better:
            below.append(f"{protocol} ({100 * value:.1f} against {join_words(better)})")
        else:
            above.append(protocol)
    if not below and not above:
        return "No score can be compared with those of trivial baselines.", [
            "No protocol has a value to compare with those of the trivial baselines."
        ]
    how = f"{len(above) or 'none'} of {len(above) + len(below)} scores" if below else "all scores"
    order = _order(values, trivial)
    said = [f"No better than a trivial baseline under {join_words(below)}."] if below else []
    if above:
        names = join_words(list(dict.fromkeys(_name(row) for row in trivial)))
        said.append(f"Better than {names} under {join_words(above)}.")
    short = f"Better than trivial baselines by {how}{', ' + order if order else ''}."
    return short, [*said, "F1 in percent, with background.", PROTOCOLS_IN_WORDS, _lenient(values, trivial)]


def _order(values: Mapping[str, float], trivial: Sequence[Mapping[str, Any]]) -> str:
    """Say whether the order of key steps in a video is nearer to the annotated one than that of trivial baselines."""
    own = values.get(_ORDER)
    others = [row["mean"][_ORDER] for row in trivial if _ORDER in row["mean"]]
    if own is None or not others:
        return ""
    wrong = f"{100 * own:.0f} % of the pairs of steps the wrong way round, at best {100 * min(others):.0f} % by them"
    return f"{'and' if own < min(others) else 'but not'} by order ({wrong})"


def _lenient(values: Mapping[str, float], trivial: Sequence[Mapping[str, Any]]) -> str:
    """Say under which protocol a high score may come from leaving out what is matched to nothing (methods 6.3)."""
    said = "All protocols but strict_task leave out what is matched to nothing"
    one = _at("micro_video", [row for row in trivial if split_id(row["decoder"])[0] == "one_label"])
    if not one:
        return f"{said}, so under micro_video a high score may come from few, long segments alone."
    shown = ", so a high score there shows nothing" if one[0][1] >= values.get(_key("micro_video"), 0) else ""
    return f"{said}; under micro_video that alone gives {one[0][0]} {100 * one[0][1]:.1f}{shown}."


def _key(protocol: str) -> str:
    return f"{protocol} with {PRINTED_RULE} f1"


def _at(protocol: str, trivial: Sequence[Mapping[str, Any]]) -> list[tuple[str, float]]:
    """Return the baselines and their scores under a protocol, the best first."""
    found = [(_name(row), row["mean"][_key(protocol)]) for row in trivial if _key(protocol) in row["mean"]]
    return sorted(found, key=lambda one: -one[1])


def _name(row: Mapping[str, Any]) -> str:
    base, _, keys = str(row["decoder"]).partition("@")
    return _CALLED.get(base, base) + (f" ({keys})" if keys else "")
