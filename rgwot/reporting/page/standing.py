"""Where a result stands against the trivial answers of its page, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rgwot.config.experiments import split_id
from rgwot.evaluation.protocols import PROTOCOLS
from rgwot.paths import Run
from rgwot.reporting.tables.printed import PRINTED_RULE

#: What trivial answers are called in a sentence.
_CALLED = {"one_label": "one label", "uniform": "equal segments", "random": "random labels"}


def standing(run: Run, scores: Mapping[str, Any] | None, annotated: bool) -> list[str]:
    """Say under which protocols a result is above the trivial answers of its page, F1 with background.

    ``scores`` are those of `rgwot.reporting.page.content.read_task_scores`. A result is compared by its own seed, a
    trivial answer by the mean over its seeds.
    """
    found = _compared(run, scores, annotated)
    if isinstance(found, str):
        return [found] if found else []
    return [*_against(*found), _lenient(*found)]


def in_short(run: Run, scores: Mapping[str, Any] | None, annotated: bool) -> str:
    """Say the same in a few words, without the names of protocols; nothing of a trivial answer."""
    found = _compared(run, scores, annotated)
    if isinstance(found, str):
        return found
    values, trivial = found
    best = {protocol: max((one for _, one in _at(protocol, trivial)), default=None) for protocol in PROTOCOLS}
    known = [(values[_key(name)], other) for name, other in best.items() if other is not None and _key(name) in values]
    above = sum(value > other for value, other in known)
    if not known:
        return "No score can be compared with those of trivial answers."
    how = "all scores" if above == len(known) else f"{above or 'none'} of {len(known)} scores"
    return f"Better than trivial answers by {how}."


def _compared(
    run: Run, scores: Mapping[str, Any] | None, annotated: bool
) -> tuple[Mapping[str, float], Sequence[Mapping[str, Any]]] | str:
    """Return the scores of a result and the rows of the trivial answers, or why there is nothing to compare."""
    if not annotated:
        return "Nothing is annotated, so nothing here says whether these key steps are the right ones."
    rows = scores["rows"] if scores is not None else []
    own = next((row for row in rows if (row["method"], row["decoder"]) == (run.method, run.decoder)), None)
    values = next((one["value"] for one in own["seeds"] if one["seed"] == run.seed), None) if own else None
    if own is None or values is None:
        return "Not scored, so nothing here says whether these key steps are the right ones."
    if own["kind"] in ("trivial", "annotated"):
        return ""
    trivial = [row for row in rows if row["kind"] == "trivial"]
    if not trivial:
        return "No trivial answer is among these results, so what its scores are worth cannot be told."
    return values, trivial


def _against(values: Mapping[str, float], trivial: Sequence[Mapping[str, Any]]) -> list[str]:
    below, above = [], []
    for protocol in PROTOCOLS:
        others = _at(protocol, trivial)
        value = values.get(_key(protocol))
        if value is None or not others:
            continue
        better = [f"{name} {_percent(other)}" for name, other in others if other >= value]
        if better:
            below.append(f"{protocol} ({_percent(value)} against {_listed(better)})")
        else:
            above.append(protocol)
    if not below and not above:
        return ["No protocol has a value to compare with those of the trivial answers."]
    said = [f"No better than a trivial answer under {_listed(below)}."] if below else []
    if above:
        names = _listed(list(dict.fromkeys(_name(row) for row in trivial)))
        said.append(f"Better than {names} under {_listed(above)}.")
    return [*said, "F1 in percent, with background."]


def _lenient(values: Mapping[str, float], trivial: Sequence[Mapping[str, Any]]) -> str:
    """Say under which protocol a high score may come from leaving out what is matched to nothing (methods 6.3)."""
    said = "All protocols but strict_task leave out what is matched to nothing"
    one = _at("micro_video", [row for row in trivial if split_id(row["decoder"])[0] == "one_label"])
    if not one:
        return f"{said}, so under micro_video a high score may come from few, long segments alone."
    shown = ", so a high score there shows nothing" if one[0][1] >= values.get(_key("micro_video"), 0) else ""
    return f"{said}; under micro_video that alone gives {one[0][0]} {_percent(one[0][1])}{shown}."


def _key(protocol: str) -> str:
    return f"{protocol} with {PRINTED_RULE} f1"


def _at(protocol: str, trivial: Sequence[Mapping[str, Any]]) -> list[tuple[str, float]]:
    """Return the trivial answers and their scores under a protocol, the best first."""
    found = [(_name(row), row["mean"][_key(protocol)]) for row in trivial if _key(protocol) in row["mean"]]
    return sorted(found, key=lambda one: -one[1])


def _name(row: Mapping[str, Any]) -> str:
    base, _, keys = str(row["decoder"]).partition("@")
    return _CALLED.get(base, base) + (f" ({keys})" if keys else "")


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"


def _listed(words: Sequence[str], last: str = "and") -> str:
    return f" {last} ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]
