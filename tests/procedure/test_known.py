"""A need counts as known if at least five videos show both key steps, and most of them in the same order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from planted import recordings

from rgwot.procedure import Deviation, Event, Recording, deviations, learn
from rgwot.procedure.facts import again_sentences, order_sentence
from rgwot.procedure.graphs import share_interval
from rgwot.procedure.groups import compare_groups
from rgwot.procedure.interface import END, START, Edge
from rgwot.procedure.known import known, told
from rgwot.runtime.errors import RgwotError


@pytest.mark.parametrize("both", range(12))
def test_what_is_known_of_a_pair_is_what_its_interval_says(both: int) -> None:
    for agree in range(both + 1):
        edge = Edge(1, 2, 1.0, agree, both, share_interval(agree, both))
        assert edge.known == (both >= 5 and share_interval(agree, both)[0] > 0.5)
        assert known(np.array([[agree]]), np.array([[both]])).item() == edge.known
    # Given needs are known, too.
    assert Edge(1, 2, 1.0, 0, 0, (1.0, 1.0)).known


def test_in_a_free_order_needs_that_fewer_than_five_videos_show_are_not_listed() -> None:
    rng = np.random.default_rng(0)
    orders = [tuple(rng.permutation(np.flatnonzero(rng.random(14) < 0.4) + 1).tolist()) for _ in range(15)]
    videos = recordings(*orders)
    procedure = learn(videos)
    shown = told(procedure)
    assert len(shown.needs) < len(procedure.needs)
    assert all(need.both >= 5 and need.interval[0] > 0.5 for need in shown.needs)
    between = [edge for edge in shown.edges if edge.before != START and edge.after != END]
    assert {(edge.before, edge.after) for edge in between} <= {(need.before, need.after) for need in shown.needs}
    steps = {node.key_step for node in shown.nodes}
    assert {edge.after for edge in shown.edges} == {*steps, END}
    assert {edge.before for edge in shown.edges} == {*steps, START}
    order = [one for one in deviations(procedure, videos) if one.kind.startswith("too")]
    assert {one.key_step for one in order} <= {step for need in shown.needs for step in (need.before, need.after)}


def test_with_few_videos_no_order_is_known_and_none_deviates() -> None:
    few, enough = recordings(*[(1, 2, 3)] * 4), recordings(*[(1, 2, 3)] * 9, (1, 3, 2))
    assert told(learn(few)).needs == ()
    assert learn(few).unordered == ((1, 2, 3),)
    assert order_sentence(learn(few)) == (
        "All 4 videos show 1, 2 and 3 in this order; with fewer than 5 videos this may be chance."
    )
    assert {(need.before, need.after) for need in told(learn(enough)).needs} == {(1, 2), (1, 3), (2, 3)}
    assert [(one.video, one.kind, one.key_step) for one in deviations(learn(enough), enough)] == [
        ("v9", "too_early", 3)
    ]
    four = recordings(*[(1, 2, 3)] * 3, (1, 3, 2))
    assert deviations(learn(four), four) == []
    # The order is not stated if one video has another order, or lacks a key step.
    unknown = "; no order is known with fewer than 5 videos."
    for other in (four, recordings(*[(1, 2, 3)] * 3, (1, 3))):
        assert order_sentence(learn(other)).endswith(unknown)


def test_either_order_is_said_only_of_what_people_do_both_ways() -> None:
    both = learn(recordings(*[(1, 2, 3), (2, 1, 3)] * 4))
    assert (both.groups, both.unordered) == (((1, 2),), ())
    assert order_sentence(both) == "The order that best fits the videos is 1 and 2, found in either order, then 3."
    # Key step 1 comes both before and after 2 in every video, so no order varies.
    videos = recordings(*[(1, 2, 1, 3)] * 6, (1, 2, 3), (1, 2, 3))
    merged = learn(videos)
    assert (merged.groups, merged.unordered) == ((), ())
    assert order_sentence(merged) == "The order that best fits the videos is 1, then 2, then 3."
    (sentence,) = again_sentences(merged, videos, {1: "wash"})
    assert sentence == "In 6 of 8 videos, wash was found again after step 2; only once in v6 and v7."


def video(name: str, seconds: float) -> Recording:
    return Recording(name, (Event(1, 0, seconds), Event(2, seconds, 20)), 20)


def test_people_are_permuted_whole() -> None:
    # Each group has three people with four equal videos each: groups differ by videos, but not by people.
    people = {"x": (2, 3, 9), "y": (8, 9.5, 10)}
    videos = {
        f"{group}{n}{k}": video(f"{group}{n}{k}", s)
        for group in people
        for n, s in enumerate(people[group])
        for k in range(4)
    }
    groups = {name: name[0] for name in videos}
    subjects = {name: name[:2] for name in videos}
    chosen = {"key_step": 1, "measure": "duration"}

    def row(table: pd.DataFrame) -> pd.Series:
        return table.loc[(table[list(chosen)] == pd.Series(chosen)).all(axis=1)].iloc[0]

    by_video = row(compare_groups(list(videos.values()), [], groups))
    table = compare_groups(list(videos.values()), [], groups, subjects=subjects)
    by_person = row(table)
    assert (by_video["unit"], by_person["unit"]) == ("video", "subject")
    assert by_video["p"] < 0.01
    assert (by_person["n_x"], by_person["mean_x"]) == (3, pytest.approx(14 / 3))
    # Six people can be divided into two groups of three in 20 ways, so nothing can be significant, and no p is given.
    assert table["p"].isna().all()
    assert table["p_adjusted"].isna().all()
    # A video without a subject counts as a subject of its own.
    assert row(compare_groups(list(videos.values()), [], groups, subjects={"x00": "p", "x01": "p"}))["n_x"] == 11
    with pytest.raises(RgwotError, match=r"subjects: 'p' is in the groups 'x' and 'y'; expected one group"):
        compare_groups(list(videos.values()), [], groups, subjects={"x00": "p", "y00": "p"})


def test_p_is_given_only_with_its_correction() -> None:
    rng = np.random.default_rng(1)
    videos = [video(f"{group}{n}", {"a": 3, "b": 9, "c": 9}[group] + rng.random()) for group in "abc" for n in range(7)]
    found = [Deviation(one.video, "repeated", 1, 0, 1, 1.0) for one in videos[:2]]
    table = compare_groups(videos, found, {one.video: one.video[0] for one in videos})
    assert (table["p"].isna() == table["p_adjusted"].isna()).all()
    pairs = table[table["group_a"] != ""]
    whole = table[table["group_a"] == ""].set_index(["key_step", "measure"])["p"]
    assert pairs["p"].notna().any()
    for pair in pairs.to_dict("records"):
        assert not (np.isnan(whole[pair["key_step"], pair["measure"]]) and not np.isnan(pair["p"]))
