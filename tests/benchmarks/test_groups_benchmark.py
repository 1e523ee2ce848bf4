"""Simulated studies of benchmarks/groups.py, a few of the 10,000 behind benchmarks/report/groups.md."""

from __future__ import annotations

import groups
import numpy as np


def test_without_a_difference_hardly_a_star_and_a_planted_one_is_found():
    rng = np.random.default_rng(0)
    without = [groups.starred(groups.study(rng), 999) for _ in range(60)]
    # If 5 % of studies without a difference have a star, more than 9 of 60 do so with a probability of 0.1 %.
    assert sum(any(one.values()) for one in without) <= 9
    always = (groups.PLANTED,)
    longer_s = 2 * groups.spread(rng, always, 40)
    planted = [groups.starred(groups.study(rng, longer_s, always), 999) for _ in range(40)]
    assert np.mean([one[groups.PLANTED, "duration"] for one in planted]) >= 0.85
