"""Cuts of a tree of key steps, as on the page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def cut(merges: Sequence[Sequence[float]], leaves: int, K: int) -> np.ndarray:
    """Return the key step 1..K of every leaf if merges leave K clusters, which are numbered by their first leaves."""
    members = {k: [k] for k in range(leaves)}
    for new, (a, b, _) in enumerate(merges[: max(leaves - K, 0)], start=leaves):
        members[new] = members.pop(int(a)) + members.pop(int(b))
    return 1 + np.argmax([np.isin(range(leaves), own) for own in sorted(members.values(), key=min)], axis=0)
