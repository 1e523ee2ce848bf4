"""Channels as a page draws them: their ranges, and digits that are finer than a pixel."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rgwot import paths
from rgwot.features import OTHER
from rgwot.features.store import StoreWriter
from rgwot.runtime.errors import RgwotError
from rgwot.window.channels import FINEST, MOST, channels

T, C = 200, 15
RNG = np.random.default_rng(0)
TIMES = np.arange(T) / 25
VALUES = RNG.normal(size=(T, C))
#: Air pressure changes by less than one part in a thousand.
VALUES[:, 3] = 1013.25 + 0.3 * np.sin(TIMES)


@pytest.fixture(autouse=True)
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = paths.at(paths.FEATURES, Path("results"), dataset="mine", task="walk", video="one")
    writer = StoreWriter(store, TIMES, (), channels=C, layer="imported", dtype="float64")
    for chunk in range(-(-T // 64)):
        writer.write(chunk, VALUES[64 * chunk : 64 * chunk + 64])
    writer.finish(T, {"layer": OTHER, "backbone": "imported"})


def test_chosen_channels_have_their_ranges_and_fine_values() -> None:
    actual = channels("mine", "walk", "one", (3, 7))
    assert (actual["chosen"], actual["most"], len(actual["names"])) == ([3, 7], MOST, C)
    np.testing.assert_allclose(actual["time_s"], TIMES, atol=5e-4)
    for number, values, (low, high) in zip((3, 7), actual["values"], actual["ranges"], strict=True):
        assert (low, high) == (VALUES[:, number].min(), VALUES[:, number].max())
        assert np.abs(np.array(values) - VALUES[:, number]).max() <= FINEST * (high - low)


def test_without_a_choice_the_one_that_changes_slowly_comes_first() -> None:
    assert channels("mine", "walk", "one")["chosen"][0] == 3


@pytest.mark.parametrize("chosen", [(C,), (-1,), tuple(range(MOST + 1))])
def test_other_numbers_are_one_line(chosen: tuple[int, ...]) -> None:
    with pytest.raises(RgwotError, match=f"expected up to {MOST} numbers from 0 to {C - 1}"):
        channels("mine", "walk", "one", chosen)
