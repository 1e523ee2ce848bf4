"""Entries of ``tables.yaml`` that stand for several: a sweep writes one entry for every value."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any

from rgwot.config.experiments import value_text
from rgwot.runtime.errors import RgwotError, nearest

KEY = "sweep"
_NAME = re.compile(r"\{([A-Za-z_]\w*)\}")


def expand(entries: Any, where: str) -> Any:
    """Write every entry with a key ``sweep`` out, once for every combination of its values.

    Parameters
    ----------
    entries
        A list of mappings. ``sweep: {alpha: [0, 0.3]}`` makes two entries of one; ``{alpha}`` in its texts becomes the
        value as experiment ids spell it, and ``at`` says which value the entry stands for. Anything that is no list
        of mappings is returned as it is, for the check of types to refuse.
    where
        What to name in an error.

    Examples
    --------
    >>> expand([{"id": "a={alpha}", "sweep": {"alpha": [0, 0.3]}}], "table 'x'")
    [{'id': 'a=0', 'at': {'alpha': 0}}, {'id': 'a=0.3', 'at': {'alpha': 0.3}}]

    Raises
    ------
    RgwotError
        When a sweep has no values, or a text names a value that its sweep does not have.
    """
    if not isinstance(entries, list):
        return entries
    return [one for number, entry in enumerate(entries) for one in _written_out(entry, f"{where}.{number}")]


def _written_out(entry: Any, where: str) -> list[Any]:
    if not isinstance(entry, Mapping) or KEY not in entry:
        return [entry]
    sweep = entry[KEY]
    if not isinstance(sweep, Mapping) or not sweep:
        raise RgwotError(f"{where}.{KEY}: found {sweep!r}, expected names with their values, like alpha: [0, 0.3]")
    for name, values in sweep.items():
        good = isinstance(values, list) and values
        if not good or any(not isinstance(value, (str, int, float)) for value in values):
            raise RgwotError(f"{where}.{KEY}.{name}: found {values!r}, expected a list of numbers or words")
    rest = {key: value for key, value in entry.items() if key != KEY}
    combinations = (dict(zip(sweep, chosen, strict=True)) for chosen in itertools.product(*sweep.values()))
    return [{**_filled(rest, at, where), "at": at} for at in combinations]


def _filled(part: Any, at: Mapping[str, Any], where: str) -> Any:
    """Put values in place of their names, in every text below ``part``."""
    if isinstance(part, Mapping):
        return {key: _filled(value, at, f"{where}.{key}") for key, value in part.items()}
    if isinstance(part, list):
        return [_filled(value, at, where) for value in part]
    if not isinstance(part, str):
        return part

    def value(match: re.Match[str]) -> str:
        if match[1] not in at:
            raise RgwotError(f"{where}: found {match[0]}, which is not swept; {nearest(match[1], list(map(str, at)))}")
        return value_text(at[match[1]])

    return _NAME.sub(value, part)
