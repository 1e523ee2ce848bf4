from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import rgwot
from rgwot.synthetic.sensors import STEPS


def steps_of(data: rgwot.Example, name: str) -> np.ndarray:
    """Return the annotated key step of every sample, 1..6, or 0 for background."""
    steps = np.zeros(len(data.videos[name]), dtype=np.int64)
    for row in data.labels[name].itertuples():
        steps[round(row.start_s * data.fps) : round(row.end_s * data.fps)] = list(STEPS).index(row.label) + 1
    return steps


def test_annotations_have_exactly_the_listed_deviations() -> None:
    data, usual = rgwot.example(), list(STEPS)
    told = {(row.video, row.kind): row.label for row in data.deviations.itertuples()}
    for name, table in data.labels.items():
        order = list(table["label"])
        if (name, "again") in told:
            assert order.pop() == told[name, "again"]
        if (name, "left out") in told:
            assert told[name, "left out"] not in order
            order = usual
        if (name, "swapped") in told:
            first, second = (order.index(step) for step in told[name, "swapped"].split("+"))
            assert first > second
            order[first], order[second] = order[second], order[first]
        assert order == usual
        assert (table["start_s"][1:].to_numpy() > table["end_s"][:-1].to_numpy()).all()
        assert table["start_s"][0] > 0
        assert table["end_s"].iloc[-1] * data.fps < len(data.videos[name])
    pd.testing.assert_frame_equal(rgwot.example().videos["r03"], data.videos["r03"])
    assert not rgwot.example(1).videos["r03"].equals(data.videos["r03"])


def test_three_annotated_recordings_reveal_every_deviation() -> None:
    data = rgwot.example()
    learned = {name: data.labels[name] for name in ("r00", "r01", "r03")}
    result = rgwot.discover(data.videos, fps=data.fps, labels=learned)
    right = np.concatenate([result.labels[name] == steps_of(data, name) for name in data.videos if name not in learned])
    assert right.mean() > 0.9
    told = {(row.video, row.kind, result.names[row.key_step]) for row in result.deviations.itertuples()}
    assert told == {
        ("r02", "repeated", "pour"),
        ("r04", "too_early", "taste"),
        ("r06", "missing", "pour"),
        ("r09", "too_early", "boil"),
        ("r11", "missing", "taste"),
    }


def test_without_labels_the_usual_order_is_found() -> None:
    data = rgwot.example()
    result = rgwot.discover(data.videos, fps=data.fps, K=6, decoder="meanfield")
    for name in ("r00", "r05", "r10"):
        true = steps_of(data, name)
        table = pd.crosstab(result.labels[name][true > 0], true[true > 0])
        assert table.max(axis=0).sum() / (true > 0).sum() > 0.8
    assert issubclass(rgwot.RgwotError, ValueError)
    with pytest.raises(ValueError, match="K"):
        rgwot.discover(data.videos, K=1)
