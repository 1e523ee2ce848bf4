from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rgwot.keysteps.ordering import (
    KeySteps,
    concordance,
    counted,
    first_order,
    format_order,
    mean_ranks,
    occurrences,
    order_information,
    rank_procedures,
    usual_of,
    video_order,
)
from rgwot.names import as_named
from rgwot.procedure import Event, learn
from rgwot.records import read_segments
from rgwot.runtime.errors import RgwotError


def test_order_by_mean_time_with_a_repeated_step() -> None:
    # Step 1 happens at both ends: its mean lies between those of 3 and 2.
    steps, positions = np.array([1, 3, 3, 2, 1]), np.array([0.0, 0.1, 0.3, 0.7, 0.8])
    assert video_order(steps, positions) == (3, 1, 2)
    assert format_order(video_order(steps, positions)) == "3>1>2"


def test_absent_steps_are_left_out_and_ties_go_to_the_smaller_step() -> None:
    assert video_order(np.array([7]), np.array([0.0])) == (7,)
    assert video_order(np.array([4, 2, 2, 4]), np.array([0.0, 0.25, 0.5, 0.75])) == (2, 4)


def test_weights_count_as_repetition() -> None:
    steps, positions = np.array([1, 2, 1]), np.array([0.0, 0.4, 0.9])
    assert video_order(steps, positions) == (2, 1)
    assert video_order(steps, positions, np.array([3.0, 1.0, 1.0])) == (1, 2)


def test_procedures_by_frequency() -> None:
    table = rank_procedures({"a": (2, 1), "b": (1, 2), "c": (2, 1), "d": (3,)})
    assert table.order.tolist()[0] == "2>1"
    assert table.n_videos.tolist() == [2, 1, 1]
    assert table["rank"].tolist() == [1, 2, 3]
    assert table.share.sum() == pytest.approx(1)


def test_ties_go_to_what_usually_comes_first() -> None:
    # Mean ranks: 1 -> (1 + 2 + 1 + 1)/4 = 1.25, 2 -> (2 + 1 + 2)/3 = 1.67, 3 -> (2 + 3 + 3)/3 = 2.67.
    orders = {"a": (1, 2, 3), "b": (2, 1, 3), "c": (1, 3, 2), "d": (1,)}
    orders["c"] = (1, 3)
    orders["e"] = (1, 2)
    means = mean_ranks(list(orders.values()))
    assert means[1] == pytest.approx(6 / 5)
    assert means[2] == pytest.approx(5 / 3)
    assert means[3] == pytest.approx(8 / 3)
    # (1.2) < (1.2, 1.67) < (1.2, 1.67, 2.67) < (1.2, 2.67) < (1.67, ...)
    assert rank_procedures(orders).order.tolist() == ["1", "1>2", "1>2>3", "1>3", "2>1>3"]


def test_what_is_still_tied_goes_by_text() -> None:
    # Both steps have mean rank 1.5, so only the text decides between the two orders.
    assert rank_procedures({"a": (2, 1), "b": (1, 2)}).order.tolist() == ["1>2", "2>1"]


@settings(max_examples=20)
@given(st.dictionaries(st.text(min_size=1), st.permutations([1, 2, 3]).map(tuple), min_size=1, max_size=20))
def test_procedures_hold_every_video_once(orders: dict[str, tuple[int, ...]]) -> None:
    table = rank_procedures(orders)
    assert table.n_videos.sum() == len(orders)
    assert table.share.sum() == pytest.approx(1)
    assert table.n_videos.is_monotonic_decreasing
    assert set(table.order) == {format_order(order) for order in orders.values()}
    # The order in which videos are listed does not matter.
    assert rank_procedures(dict(reversed(list(orders.items())))).equals(table)


def test_order_information_is_what_a_key_step_says_about_the_next() -> None:
    # 0 1 0 2 and 0 2 0 1 have six borders: 0 is followed twice by 1 and twice by 2, and 1 and 2 once each by 0.
    labels = np.array([0, 0, 1, 0, 2, 0, 2, 2, 0, 1])
    assert order_information(labels, (5, 5)) == pytest.approx((4 * np.log(3 / 2) + 2 * np.log(3)) / 6)
    # Renumbering key steps changes nothing.
    assert order_information(np.array([4, 1, 7])[labels], (5, 5)) == pytest.approx(order_information(labels, (5, 5)))
    # In a random order of four, the other three are equally likely to come next.
    drawn = np.random.default_rng(0).integers(0, 4, 20_000)
    assert order_information(drawn, (100,) * 200) == pytest.approx(np.log(4) - np.log(3), rel=0.01)
    assert order_information(np.zeros(6, dtype=int), (3, 3)) == 0


def test_concordance_is_kendalls_tau_over_pairs_of_videos() -> None:
    from itertools import combinations

    from scipy.stats import kendalltau

    orders = [[0, 1, 2, 3], [0, 2, 1, 3], [3, 1, 0, 2]]
    expected = [kendalltau(np.argsort(one), np.argsort(other)).statistic for one, other in combinations(orders, 2)]
    assert concordance(np.concatenate(orders), (4, 4, 4)) == pytest.approx(np.mean(expected))
    # Nothing is known about two key steps that only one video has.
    assert concordance(np.array([0, 1, 2, 0, 1]), (3, 2)) == 1
    assert concordance(np.array([0, 1, 0]), (2, 1)) == 0


def segments_of(**videos: str) -> Mapping[str, pd.DataFrame]:
    """Return segments, a letter per second: ``a`` is key step 1, ``.`` background."""
    tables = {}
    for video, letters in videos.items():
        steps = np.array([0 if letter == "." else ord(letter) - 96 for letter in letters])
        starts = np.flatnonzero(np.diff(steps, prepend=-1))
        ends = np.append(starts[1:], len(steps))
        tables[video] = pd.DataFrame({"start_s": starts * 1.0, "end_s": ends * 1.0, "key_step": steps[starts]})
    return tables


def test_short_segments_do_not_count_and_what_they_separate_is_one_occurrence() -> None:
    usual = {1: 10.0, 2: 10.0, 3: 10.0}
    told = counted(segments_of(v="aaaaaabbaaaaaa..aaaaaaccbbbbbbbbbb"), usual)["v"]
    assert told["key_step"].tolist() == [1, 2, 1, 0, 1, 3, 2]
    assert told["counts"].tolist() == [True, False, True, False, True, False, True]
    (video,) = occurrences({"v": told})
    # Background keeps the second occurrence of 1 apart; key step 3 has no occurrence.
    assert video.events == (Event(1, 0, 14), Event(1, 16, 22), Event(2, 24, 34))
    assert video.duration_s == 34
    # What does not count within an occurrence is not its time.
    assert (video.pauses, video.seconds) == ((Event(1, 6, 8),), {1: 18, 2: 10})
    assert first_order(video.events) == (1, 2)
    # Annotated key steps count, however short.
    assert counted(segments_of(v="aab"), usual, annotated=["v"])["v"]["counts"].all()


def test_neighbours_that_look_like_each_other_count_as_what_they_show() -> None:
    segments, evidence = segments_of(v="aaaabbbbccccdddd"), segments_of(v="aaaaccccbbbbdddd")
    told = counted(segments, usual_of(segments), evidence)
    assert told["v"]["shows"].tolist() == [1, 3, 2, 4]
    assert told["v"]["counts"].all()
    assert first_order(occurrences(told)[0].events) == (1, 3, 2, 4)
    # A segment that looks like its neighbours does not count if its key step occurs nowhere else.
    told = counted(segments, usual_of(segments), segments_of(v="aaaaaaccccccdddd"))
    assert told["v"]["shows"].tolist() == [1, 2, 3, 4]
    assert told["v"]["counts"].tolist() == [True, False, True, True]


@pytest.mark.parametrize(("y", "due"), [("ccccccaabaaa", (8, 9)), ("aaaaccccccbc", (4, 4))])
def test_a_step_left_out_was_due_at_its_segment_that_does_not_count(y: str, due: tuple[float, float]) -> None:
    segments = segments_of(**dict.fromkeys("tuvwx", "aaaabbbbcccc"), y=y)
    segments = counted(segments, usual_of(segments))
    found = KeySteps({"task": segments}, {}, learn(occurrences(segments)), {})
    (missing,) = (one for one in found.deviations if one.key_step == 2)
    assert (missing.video, missing.kind) == ("y", "missing")
    # Segments at other times do not say where it was left out.
    assert (missing.start_s, missing.end_s) == due


def test_what_counts_is_written_read_and_follows_names(tmp_path: Path) -> None:
    segments = counted(segments_of(v="aaaaaaaabaaaaccccccccc"), {1: 8.0, 2: 8.0, 3: 8.0})
    found = KeySteps({"task": segments, "video": segments}, {}, learn(occurrences(segments)), {})
    table = found.segment_table
    assert list(table) == ["video", "scope", "start_s", "end_s", "key_step", "shows", "counts"]
    assert table["counts"].tolist() == [True, False, True, True, False, False, False, False]
    path = tmp_path / "segments.csv"
    table.to_csv(path, index=False)
    pd.testing.assert_frame_equal(read_segments(path), table.astype({"video": object}), check_dtype=False)
    # The segment that does not count has the name of its neighbours, so all three become one segment that counts.
    merged = as_named(table[table["scope"] == "task"], {1: "pour", 2: "pour"})
    assert merged["key_step"].tolist() == merged["shows"].tolist() == [1, 3]
    assert merged["counts"].all()
    # In results without these columns, every segment of a key step counts.
    table.drop(columns=["shows", "counts"]).to_csv(path, index=False)
    assert read_segments(path)["counts"].tolist() == [True] * 4 + [False] * 4
    table.assign(counts="maybe").to_csv(path, index=False)
    with pytest.raises(RgwotError, match=r"row 2: found counts 'maybe', expected True or False"):
        read_segments(path)
