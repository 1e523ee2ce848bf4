"""The steps as which clusters are drawn, compared with every possible matching; and helper functions of bars."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rgwot.diagnostics import Diagnostics, ScopeFacts
from rgwot.reporting.figures.bars import collapse_facts, degenerate_text
from rgwot.reporting.figures.videos import TaskLabels, matched_steps, stretches
from rgwot.runtime.errors import RgwotError

LABELS = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 3), min_size=n, max_size=n), st.lists(st.integers(1, 4), min_size=n, max_size=n)
    )
)


def best_overlap(truth: np.ndarray, prediction: np.ndarray) -> int:
    """Return the most frames that are right if clusters 1 to 4 are matched one to one with classes 0 to 3."""
    return max(
        sum(int(((prediction == cluster) & (truth == step)).sum()) for cluster, step in enumerate(names, start=1))
        for names in permutations(range(4))
    )


@settings(max_examples=60, deadline=None)
@given(LABELS)
def test_clusters_get_the_steps_of_the_best_matching(pair: tuple[list[int], list[int]]) -> None:
    truth, prediction = (np.array(values, dtype=np.int64) for values in pair)
    steps = matched_steps(truth, prediction, n_key_steps=3, n_clusters=4)
    assert (steps == truth).sum() == best_overlap(truth, prediction)
    # Every cluster has one name, and no two clusters have the same.
    names = {(int(cluster), int(step)) for cluster, step in zip(prediction, steps, strict=True)}
    assert len(names) == len(np.unique(prediction))
    used = [step for _, step in names if step >= 0]
    assert len(used) == len(set(used))
    # The numbers of clusters only decide between two clusters that agree equally well.
    renamed = np.array([0, 40, 7, 23, 5])[prediction]
    assert (matched_steps(truth, renamed, 3, 4) == truth).sum() == (steps == truth).sum()
    # A cluster that shares no frame with its partner has no step.
    assert matched_steps(np.zeros(4, dtype=np.int64), np.array([1, 1, 1, 2]), 2, 3).tolist() == [0, 0, 0, -1]


@settings(deadline=None)
@given(st.lists(st.integers(-1, 3), min_size=1, max_size=30))
def test_stretches_put_together_are_the_labels(labels: list[int]) -> None:
    parts = stretches(np.array(labels))
    again = [step for start, end, step in parts for _ in range(round((end - start) * len(labels)))]
    assert again == labels
    assert all(left[2] != right[2] for left, right in zip(parts, parts[1:], strict=False))


def test_the_later_row_wins_and_ends_are_open() -> None:
    rows = [("a", 0.0, 4.0, 1), ("a", 2.0, 3.0, 2), ("b", 0.0, 9.0, 3)]
    table = pd.DataFrame(rows, columns=["video", "start_s", "end_s", "key_step"])
    labels = TaskLabels("", pd.DataFrame(), table, 3)
    assert labels.at("a", np.array([0.0, 1.9, 2.0, 3.0, 4.0])).tolist() == [1, 1, 2, 1, 0]


def test_the_first_annotated_videos_with_features_are_drawn() -> None:
    statuses = {"a": "ok", "b": "skipped", "c": "ok", "d": "unscored", "e": "ok"}
    videos = TaskLabels("d/t", pd.DataFrame(statuses.items(), columns=["video", "status"]), pd.DataFrame(), 3)
    assert videos.choose(2, "abcde") == ["a", "c"]
    # A video without features has nothing to show.
    assert videos.choose(2, "cde") == ["c", "e"]
    with pytest.raises(RgwotError, match="d/t: found 1 annotated videos with features, expected at least 2"):
        videos.choose(2, "ab")


def test_collapse_is_reported_as_the_decoder_recorded_it_and_counted() -> None:
    facts = ScopeFacts(degenerate=True, mean_pairwise_cosine=0.999, lambda_1=0.123, distinct_labels=1)
    told = collapse_facts(Diagnostics(K=3, video=ScopeFacts(videos={"v": facts})), "v")
    assert told == (("1.00", "0.12", "–", "1", "degenerate"), True)
    assert degenerate_text([False, False]) == "none of the 2 clusterings drawn is degenerate"
    assert degenerate_text([True, False]) == "1 of the 2 clusterings drawn is degenerate"
