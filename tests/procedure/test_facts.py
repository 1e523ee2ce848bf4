"""The table of facts of hand-worked procedures, and the sentences on order and reliability."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from rgwot.procedure.facts import (
    UNCOUNTED,
    complete_sentence,
    deviation_facts,
    doubt_sentence,
    order_sentence,
    step_facts,
    step_table,
)
from rgwot.procedure.interface import Deviation, Edge, Event, Node, Procedure, Recording, VideoFit


def edge(before: int | str, after: int | str, agree: int = 10, both: int = 10, confidence: float = 0.9) -> Edge:
    return Edge(before, after, confidence, agree, both, (0.7, 1.0))  # type: ignore[arg-type]


def node(key_step: int, n_videos: int = 10, repeats: float = 1.0) -> Node:
    return Node(key_step, n_videos, n_videos / 10, n_videos < 8, repeats, repeats - 1, 0.5, 8.0)


def procedure(nodes: list[Node], needs: list[Edge], order: tuple[int, ...], **other: object) -> Procedure:
    facts = {
        "learner": "precedence", "settings": {}, "n_videos": 10, "nodes": tuple(nodes), "edges": tuple(needs),
        "needs": tuple(needs), "either_order": (), "order": order, "order_distance": 0.0, "typical_video": "a",
        "videos": (),
    }  # fmt: skip
    return Procedure(**{**facts, **other})  # type: ignore[arg-type]


#: 1, then 2 and 3 in either order, then 4, which is optional and repeats.
NEEDS = [edge(1, 2, 8, 9), edge(1, 3), edge(2, 4, 6, 6), edge(3, 4, 5, 6)]
TEA = replace(
    procedure([node(1), node(2, 9), node(3), node(4, 6, 2.5)], NEEDS, (1, 3, 2, 4), either_order=((2, 3),)),
    edges=(edge("START", 1), *NEEDS, edge(4, "END")),
)
RECORDINGS = [Recording("a", (Event(1, 0.0, 4.0), Event(2, 5.0, 8.0), Event(1, 8.0, 9.0)), 10.0)]


def test_a_row_has_the_facts_of_its_key_step_and_the_last_one_the_background() -> None:
    assert [row.cells() for row in step_facts(TEA, RECORDINGS)] == [
        ("1", "10 of 10", "1", "8 s", "50 %", "", "", ""),
        ("3", "10 of 10", "1", "8 s", "0 %", "1 (10 of 10)", "2", ""),
        ("2", "9 of 10", "1", "8 s", "30 %", "1? (8 of 9)", "3", ""),
        # All videos that have 2 and 4 agree, but few have both.
        ("4", "6 of 10", "2.5", "8 s", "0 %", "2 (6 of 6), 3? (5 of 6)", "", ""),
        ("no key step", "", "", "", "20 %", "", "", ""),
    ]
    # A need that few videos show is not listed; segments that do not count have a row of their own.
    few = replace(TEA, needs=(*NEEDS[:3], edge(3, 4, 4, 4)), either_order=(), unordered=((2, 3),))
    every = [Recording("a", (*RECORDINGS[0].events, Event(2, 9.0, 9.5)), 10.0)]
    _, third, _, last, *rest = [row.cells() for row in step_facts(few, RECORDINGS, every)]
    assert (third[5:], last[5]) == (("1 (10 of 10)", "", "2"), "2 (6 of 6)")
    assert [row[:1] + row[4:5] for row in rest] == [("parts that do not count", "5 %"), ("no key step", "15 %")]
    # So do those within an occurrence.
    paused = [replace(RECORDINGS[0], pauses=(Event(1, 1.0, 2.0),))]
    rows = {row.key_step: row.share for row in step_facts(TEA, paused, RECORDINGS)}
    assert (rows[1], rows[UNCOUNTED], rows[0]) == pytest.approx((0.4, 0.1, 0.2))
    # Without recordings nothing is known about time shares and background.
    *_, last = [row.cells({2: "stir"}) for row in step_facts(TEA)]
    assert last == ("step 4", "6 of 10", "2.5", "8 s", "", "stir (6 of 6), step 3? (5 of 6)", "", "")
    # Where no video contradicts, there is nothing to question, however few videos there are.
    (row, _) = step_facts(procedure([node(1), node(2)], [edge(2, 1, 8, 8, 0.3)], (1, 2)))
    assert row.cells()[5] == "2 (8 of 8)"
    # A given need has no number of videos.
    (row, _) = step_facts(procedure([node(1), node(2)], [replace(edge(2, 1, 0, 0), interval=(1.0, 1.0))], (1, 2)))
    assert row.cells()[5] == "2"
    # If every key step occurs once, there is no column of times per video.
    once = replace(TEA, nodes=tuple(replace(one, repeats=1.0) for one in TEA.nodes))
    assert "Times per video" in step_table(step_facts(TEA))[0]
    assert "Times per video" not in step_table(step_facts(once))[0]
    # A column is also left out if every key step lists every other one in it.
    heading = "Next to it, order unknown"
    assert heading in step_table(step_facts(few))[0]
    assert heading not in step_table(step_facts(replace(few, needs=(), either_order=(), unordered=((1, 2, 3, 4),))))[0]


def test_the_order_joins_what_was_found_in_either_order_and_counts_where_a_key_step_was_found() -> None:
    assert order_sentence(TEA) == (
        "The order that best fits the videos is 1, then 3 and 2, found in either order, then 4 (found in 6 of 10)."
    )
    # Without one of the needs of 4, the last "then" is not known.
    assert order_sentence(replace(TEA, needs=tuple(NEEDS[:3]))).startswith(f"{order_sentence(TEA)} Not every")
    assert order_sentence(TEA, {1: "boil", 4: "serve"}) == (
        "The order that best fits the videos is boil, then step 3 and step 2, found in either order, "
        "then serve (found in 6 of 10)."
    )


@pytest.mark.parametrize(
    ("steps", "groups", "needs", "message"),
    [
        ((), (), (), "No key step was found: everything is background."),
        ((1,), (), (), "One key step was found: 1."),
        ((2, 1, 3), ((1, 2, 3),), (), "No fixed order was found: 2, 1 and 3 may come in any order."),
        (
            (2, 1, 3, 4), ((1, 2, 3),), (1, 2, 3),
            "The order that best fits the videos is 2, 1 and 3, found in any order, then 4.",
        ),
    ],
)  # fmt: skip
def test_orders_that_are_not_a_sequence(
    steps: tuple[int, ...], groups: tuple[tuple[int, ...], ...], needs: tuple[int, ...], message: str
) -> None:
    """The last key step needs the key steps ``needs``, and nothing needs the last one."""
    edges = [*(edge(step, steps[-1]) for step in needs), *(edge(step, "END") for step in steps)]
    assert order_sentence(procedure([node(step) for step in steps], edges, steps, either_order=groups)) == message


def test_what_to_doubt_is_one_sentence() -> None:
    missing = [Deviation("a", "missing", 2, 4.0, 5.0, 1.0)]
    found = deviation_facts(missing, [])
    assert doubt_sentence(TEA, found, {1: "boil"}) == (
        "Reliability: step 4 was found after step 3 in only 5 of the 6 videos that have both and "
        "step 2 after boil in 8 of 9."
    )
    # A video that is named as of another order explains the need that it contradicts.
    moved = deviation_facts([Deviation("a", "too_early", 2, 4.0, 5.0, 1.0, 0.8)], [])
    assert doubt_sentence(TEA, moved) == (
        "Reliability: another order was found in a; "
        "step 4 was found after step 3 in only 5 of the 6 videos that have both."
    )
    # Needs that no video contradicts are not doubted.
    unsure = (edge(1, 2), edge(1, 3), edge(2, 4, 6, 6, 0.6), edge(3, 4, 5, 6, 0.2))
    unsure = replace(TEA, needs=unsure, edges=unsure)
    assert doubt_sentence(unsure, found) == (
        "Reliability: step 4 was found after step 3 in only 5 of the 6 videos that have both."
    )
    noted = replace(TEA, notes=("two videos only: it may be chance",), needs=())
    assert doubt_sentence(noted, found, clauses=["2 seeds agree on 60 % of the frames"]) == (
        "Reliability: two videos only \N{EN DASH} it may be chance; 2 seeds agree on 60 % of the frames."
    )
    sure = procedure([node(1), node(2)], [edge(1, 2)], (1, 2))
    assert doubt_sentence(sure, found) == ""
    # Videos that do not differ may hide a step that was left out.
    assert complete_sentence(sure, [])
    assert complete_sentence(sure, missing) == ""
    assert complete_sentence(replace(sure, nodes=(node(1), node(2, 9))), []) == ""


UNSURE = ", unless key steps were confused there"


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ([("a%20b", "too_early", 0.8)], "in a b"),
        ([("a%20b", "too_late", None), ("c", "too_early", 0.8)], f"in c and perhaps in a b{UNSURE}"),
        # A video is named once, as surely as its surest deviation, in the order of the videos.
        (
            [("c", "too_late", 0.1), ("c", "too_early", 0.5), ("a%20b", "too_early", 0.5)],
            f"perhaps in a b and c{UNSURE}",
        ),
        ([("a%20b", "too_early", 0.1)], f"doubtfully in a b{UNSURE}"),
        # No segment of this video shows it.
        ([("d", "too_early", 0.5)], f"perhaps in d (by a second reading alone){UNSURE}"),
        ([("a%20b", "missing", 0.8)], ""),
    ],
)  # fmt: skip
def test_another_order_is_reported_of_the_videos_whose_rows_say_so(found: list[Any], words: str) -> None:
    fits = tuple(VideoFit(video, 0.9, 1.0) for video in ("a%20b", "c", "d"))
    sure = procedure([node(1), node(2)], [edge(1, 2)], (1, 2), videos=fits)
    recordings = [Recording(video, (Event(2, 4, 5),), 9) for video in ("a%20b", "c")] + [Recording("d", (), 9)]
    rows = deviation_facts(
        [Deviation(video, kind, 2, 4, 5, 1, sureness) for video, kind, sureness in found], recordings
    )
    assert doubt_sentence(sure, rows) == (words and f"Reliability: another order was found {words}.")


def test_another_order_that_a_bar_shows_is_not_of_a_second_reading_alone() -> None:
    sure = procedure([node(1), node(2), node(3)], [edge(1, 2)], (1, 2, 3), videos=(VideoFit("c", 0.9, 1.0),))
    found = [Deviation("c", "too_early", 3, 7, 8, 1, 0.5), Deviation("c", "too_early", 2, 4, 5, 1, 0.1)]
    rows = deviation_facts(found, [Recording("c", (Event(2, 4, 5),), 9)])
    assert [row.unseen for row in rows] == [True, False]
    assert doubt_sentence(sure, rows) == f"Reliability: another order was found perhaps in c{UNSURE}."


def test_deviations_are_cells_the_most_surprising_first_and_doubtful_ones_last() -> None:
    found = [
        Deviation("v%201", "too_early", 3, 72.9, 80.0, 1.5, 0.7),
        Deviation("v%201", "missing", 6, 10.0, 20.0, 4.0, 0.69),
        Deviation("v%201", "repeated", 2, 5.0, 6.0, 5.0, 0.24),
        Deviation("v%201", "added", 9, 5.0, 6.0, 0.5),
    ]
    recordings = [Recording("v%201", (Event(2, 5.0, 6.0), Event(9, 5.0, 6.0), Event(3, 72.9, 80.0)), 90.0)]
    assert [row.cells({6: "wipe"}) for row in deviation_facts(found, recordings)] == [
        ("v 1", "wipe", "left out", "due between 0:10 and 0:20", "perhaps", "4.0"),
        ("v 1", "step 3", "too early", "1:13", "sure", "1.5"),
        ("v 1", "step 9", "added", "0:05", "perhaps", "0.5"),
        ("v 1", "step 2", "again", "0:05", "doubtful", "5.0"),
    ]


@pytest.mark.parametrize(
    ("start_s", "end_s", "message"),
    [
        (10.0, 14.0, "due about 0:12"), (10.0, 10.0, "due about 0:10"), (10.0, 15.0, "due about 0:13"),
        (10.0, 15.1, "due between 0:10 and 0:15"), (0.0, 75.0, "due between 0:00 and 1:15"),
    ],
)  # fmt: skip
def test_a_missing_key_step_was_due_in_a_time(start_s: float, end_s: float, message: str) -> None:
    (row,) = deviation_facts([Deviation("a", "missing", 2, start_s, end_s, 3.0)], [])
    assert row.time == message


def test_a_missing_key_step_that_was_due_in_the_whole_video_has_no_time() -> None:
    recording = Recording("a", (Event(3, 72.9, 80.0),), 90.0)
    rows = deviation_facts([Deviation("a", "missing", 2, 0.0, end_s, 3.0) for end_s in (90.0, 80.0)], [recording])
    assert [row.time for row in rows] == ["", "due between 0:00 and 1:20"]


def test_a_part_of_a_missing_key_step_that_does_not_count_tells_where_it_is() -> None:
    every = Recording("a", (Event(2, 72.9, 74.0),), 90.0)
    missing = [Deviation("a", "missing", 2, *times, 3.0) for times in ((72.9, 74.0), (80.0, 82.0))]
    rows = deviation_facts(missing, [replace(every, events=())], every=[every])
    assert [row.time for row in rows] == ["at 1:13", "due about 1:21"]


@pytest.mark.parametrize(
    ("start_s", "end_s", "key_step", "sureness", "cells"),
    [
        (4.0, 6.0, 2, 0.9, ("left out", "sure")),
        # No key step was found before the missing one, or after it: the recording may have begun late or ended early.
        (0.0, 6.0, 2, 0.9, ("left out or not recorded", "sure")),
        (4.0, 9.0, 2, 0.9, ("left out or not recorded", "sure")),
        # There is a segment of the key step, but it does not count.
        (4.0, 6.0, 5, 0.9, ("hardly recognised here or left out", "perhaps")),
        (0.0, 6.0, 5, None, ("hardly recognised here or left out", "perhaps")),
        (4.0, 6.0, 5, 0.1, ("hardly recognised here or left out", "doubtful")),
        # Without a second reading, nothing is sure.
        (4.0, 6.0, 2, None, ("left out", "perhaps")),
    ],
)
def test_a_missing_step_is_stated_no_more_surely_than_it_is_known(
    start_s: float, end_s: float, key_step: int, sureness: float | None, cells: tuple[str, str]
) -> None:
    every = [Recording("v", (Event(5, 4.0, 4.5),), 9.0), Recording("w", (Event(2, 4.0, 6.0),), 99.0)]
    recordings = [replace(one, events=()) for one in every]
    missing = [Deviation("v", "missing", key_step, start_s, end_s, 3.0, sureness)]
    (row,) = deviation_facts(missing, recordings, every=every)
    assert (row.kind, row.sureness) == cells
    assert row.cells()[2] == cells[0].replace("here", "here (0.5 s)")
    # The number in exported tables is as sure as the word.
    (again,) = deviation_facts([row.deviation], recordings)
    assert again.sureness == row.sureness
    (row,) = deviation_facts([row.deviation], recordings, ["v"], every)
    assert row.kind == cells[0]
    if sureness is None and key_step == 2:
        assert row.sureness == "sure"


def test_a_step_that_the_result_has_is_left_out_only_by_a_second_reading() -> None:
    # The only segment, of key step 1, counts as key step 2, which a second reading does not find.
    counting, every = Recording("v", (Event(2, 1, 5),), 9.0), Recording("v", (Event(1, 1, 5),), 9.0)
    missing = Deviation("v", "missing", 2, 4.0, 6.0, 3.0, 0.9)
    (row,) = deviation_facts([missing], [counting], every=[every])
    assert (row.kind, row.sureness) == ("left out, by a second reading alone", "perhaps")


@pytest.mark.parametrize(
    ("scores", "expected"), [((0.5, 2.0), "a"), ((math.nan, 0.5, 2.0), "a"), ((0.5, 0.5, 2.0), ""), ((0.5,), "")]
)
def test_no_video_is_the_most_typical_if_several_deviate_least(scores: tuple[float, ...], expected: str) -> None:
    fits = tuple(VideoFit(f"v{at}", 1.0, score) for at, score in enumerate(scores))
    assert replace(TEA, videos=fits).most_typical == expected


def test_a_deviation_that_no_segment_shows_comes_from_a_second_reading() -> None:
    recording = Recording("a", (Event(1, 0, 10), Event(2, 10, 20)), 20)
    found = [Deviation("a", "repeated", 2, start, start + 4, 3.0, 0.5) for start in (0.0, 8.0, 7.0)]
    kinds = [row.told for row in deviation_facts(found, [recording])]
    # The second deviation, from 8 to 12 s, lies half in the segment of key step 2.
    assert kinds == ["perhaps again, by a second reading alone", "perhaps again", kinds[0]]
    # A segment that does not count is no occurrence, so it does not show that its key step was moved.
    counting = replace(recording, events=recording.events[:1])
    early = Deviation("a", "too_early", 2, 8.0, 20.0, 3.0, 0.5)
    (row,) = deviation_facts([early], [counting], every=[recording])
    assert row.told == "perhaps too early, by a second reading alone"
