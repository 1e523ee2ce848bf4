"""The procedure in words: hand-worked procedures and the sentences they must give."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from rgwot.procedure.interface import Deviation, Edge, Node, Procedure, VideoFit
from rgwot.procedure.orders import closure
from rgwot.procedure.sentences import deviations_in_words, longest_chain, need_layers, sentence, stages


def edge(before: int | str, after: int | str, agree: int = 10, both: int = 10) -> Edge:
    return Edge(before, after, 0.9, agree, both, (0.7, 1.0))  # type: ignore[arg-type]


def node(key_step: int, n_videos: int = 10, repeat_share: float = 0.0, total: int = 10) -> Node:
    share = n_videos / total
    return Node(key_step, n_videos, share, share < 0.75, 1 + repeat_share, repeat_share, 0.5, 8.0)


def procedure(nodes: list[Node], needs: list[Edge], order: tuple[int, ...], **other: object) -> Procedure:
    facts = {
        "learner": "precedence", "settings": {}, "n_videos": 10, "nodes": tuple(nodes), "edges": tuple(needs),
        "needs": tuple(needs), "groups": (), "order": order, "order_distance": 0.0, "typical_video": "a", "videos": (),
    }  # fmt: skip
    return Procedure(**{**facts, **other})  # type: ignore[arg-type]


#: 1 before 2 before 4 before 7, 3 and 5 in either order between 2 and 7, 6 optional.
ISSUE = procedure(
    [node(step, 6 if step == 6 else 10) for step in range(1, 8)],
    [edge(1, 2), edge(2, 4), edge(1, 4), edge(2, 3), edge(2, 5), edge(1, 3), edge(1, 5)],
    (1, 2, 4, 3, 5, 6, 7),
    groups=((3, 5),),
)


def test_the_sentence_of_the_issue() -> None:
    assert sentence(ISSUE) == (
        "With seven key steps, the order of those found in at least 80 % of the videos is: first 1; then 2; "
        "last 4, 3 and 5, in any order; at any time 7. Found in some videos only: 6, in six of ten videos."
    )


def test_names_take_the_place_of_numbers() -> None:
    said = sentence(ISSUE, {1: "open the box", 6: "wipe"})
    assert "first open the box; then step 2; last step 4, step 3 and step 5, in any order; at any time step 7. " in said
    assert said.endswith(" Found in some videos only: wipe, in six of ten videos.")


def test_what_need_not_be_done_before_the_next_stage_may_come_later() -> None:
    """1, 2 and 3 before 4, 1 and 2 before 5, but 3 only before 6, as 4 and 5."""
    pairs = [(1, 4), (2, 4), (3, 4), (1, 5), (2, 5), (1, 6), (2, 6), (3, 6), (4, 6), (5, 6)]
    found = procedure([node(step) for step in range(1, 7)], [edge(*pair) for pair in pairs], (2, 1, 3, 5, 4, 6))
    assert stages(found) == ([[2, 1, 3], [5, 4], [6]], [], {3})
    assert sentence(found) == (
        "With six key steps, the order found is: first 2, 1 and 3 (or later), in any order; then 5 and "
        "4, in either order; last 6."
    )


def test_two_strands_side_by_side_are_no_stages() -> None:
    """1 before 2 before 3, and 4 before 5: neither 1 nor 4 is needed by all that would come second."""
    needs = [edge(1, 2), edge(2, 3), edge(1, 3), edge(4, 5)]
    found = procedure([node(step) for step in range(1, 6)], needs, (1, 4, 2, 5, 3), groups=((1, 4), (2, 5)))
    assert stages(found)[2] == {1, 4, 5}
    assert sentence(found) == (
        "With five key steps, the order found is: 1 before 2 before 3; "
        "1 and 4, in either order; 2 and 5, in either order."
    )


@pytest.mark.parametrize("seed", range(20))
def test_stages_claim_only_what_is_needed(seed: int) -> None:
    """Of a random partial order: whatever is told without "or later" comes before all of the later stages."""
    rng = np.random.default_rng(seed)
    relation = closure(np.triu(rng.random((8, 8)) < rng.uniform(0.1, 0.9), 1))
    pairs = {(int(a) + 1, int(b) + 1) for a, b in np.argwhere(relation)}
    found = procedure([node(step) for step in range(1, 9)], [edge(*pair) for pair in pairs], tuple(range(1, 9)))
    told, free, later = stages(found)
    at = {step: place for place, layer in enumerate(told) for step in layer}
    assert sorted([*at, *free]) == list(range(1, 9)) or not pairs
    assert all(at[before] < at[after] for before, after in pairs)
    firm = {(one, other) for one in at if one not in later for other in at if at[one] < at[other]}
    assert firm <= pairs
    assert all(any((one, other) not in pairs and at[one] < at[other] for other in at) for one in later)


@pytest.mark.parametrize(
    ("nodes", "needs", "said"),
    [
        ([], [], "No key step was found: everything is background."),
        ([node(1)], [], "One key step: 1."),
        ([node(1), node(2)], [], "With two key steps, there is no fixed order: 1 and 2."),
        # The weakest need is said of a chain.
        (
            [node(1), node(2), node(3)],
            [edge(1, 2), edge(2, 3, 8), edge(1, 3, 9)],
            "With three key steps, the order found is 1, 2, 3. "
            "For any two steps this order holds in at least eight of ten videos.",
        ),
        (
            [node(1), node(2, 9)],
            [edge(1, 2, 9, 9)],
            "With two key steps, the order found is 1, 2.",
        ),
        (
            [node(1), node(2, 9)],
            [edge(1, 2, 6, 9)],
            "With two key steps, the order found is 1, 2. "
            "This order holds in 67 % of the videos where both were found.",
        ),
        # Where all is optional, needs are still said.
        (
            [node(1, 5), node(2, 5)],
            [edge(1, 2, 4, 4)],
            "With two key steps, the order found is 1, 2. "
            "Found in some videos only: 1, in five of ten videos; 2, in five of ten videos.",
        ),
        ([node(1, repeat_share=0.8)], [], "One key step: 1. Found more than once: 1, in eight of ten videos."),
        (
            [node(1, repeat_share=0.6), node(2), node(3, repeat_share=0.6)],
            [],
            "With three key steps, there is no fixed order: 1, 2 and 3. Usually more than once: 1 and 3.",
        ),
        (
            [*(node(step, repeat_share=0.6) for step in range(1, 6)), node(6)],
            [],
            "With six key steps, there is no fixed order: 1, 2, 3, 4, 5 and 6. Five of six steps "
            "usually come more than once.",
        ),
        (
            [node(step, repeat_share=0.6) for step in (1, 2)],
            [],
            "With two key steps, there is no fixed order: 1 and 2. All steps usually come more than once.",
        ),
    ],
)
def test_short_procedures(nodes: list[Node], needs: list[Edge], said: str) -> None:
    assert sentence(procedure(nodes, needs, tuple(one.key_step for one in nodes))) == said


def test_a_chain_passes_by_optional_steps() -> None:
    """1 needs nothing, 2 is optional, 3 needs 2 and so 1: only 1 before 3 is a chain of usual steps."""
    found = procedure([node(1), node(2, 4), node(3)], [edge(1, 2, 4, 4), edge(2, 3, 4, 4), edge(1, 3)], (1, 2, 3))
    assert longest_chain(found) == [1, 3]
    assert sentence(found) == (
        "With three key steps, the order of those found in at least 80 % of the videos is 1, 3. "
        "Found in some videos only: 2, in four of ten videos."
    )


def test_of_two_chains_the_one_with_more_agreement() -> None:
    found = procedure([node(step) for step in (1, 2, 3)], [edge(1, 2, 8), edge(1, 3, 9)], (1, 2, 3))
    assert longest_chain(found) == [1, 3]


def test_forty_steps_stay_a_few_sentences() -> None:
    steps = range(1, 41)
    needs = [edge(a, b) for a in steps for b in steps if a < b]
    long = procedure([node(step) for step in steps], needs, tuple(steps))
    assert sentence(long) == (
        "With 40 key steps, the order found is: first 1, then 2, then 3, then 4, then 32 more, then 37, "
        "then 38, then 39, last 40."
    )
    loose = replace(long, needs=(), nodes=tuple(node(step, 5) for step in steps))
    assert sentence(loose) == (
        "With 40 key steps, there is no fixed order: 1, 2, 3, 4, 5, 6, 7 and 33 others. Found in some videos only: "
        "1, in five of ten videos; 2, in five of ten videos; 3, in five of ten videos; 4, in five of ten videos; "
        "36 more key steps."
    )
    # A row of 20, and 20 pairs without an order to it.
    row = [edge(a, b) for a in steps for b in steps if a < b <= 20] + [edge(a, a + 1) for a in range(21, 40, 2)]
    strands = replace(long, needs=tuple(row), groups=tuple((a, a + 20) for a in range(1, 11)))
    said = sentence(strands)
    assert said.startswith(
        "With 40 key steps, the order found is: 1 before 2 before 3 before 4 ... before 17 before 18 "
        "before 19 before 20 (20 in"
    )
    assert said.count("in either order") == 4
    assert "; six more groups." in said


def test_layers_lie_below_all_they_need() -> None:
    assert need_layers(ISSUE) == [[1, 6, 7], [2], [4, 3, 5]]


def test_deviations_are_said_with_their_moment_the_most_surprising_first() -> None:
    found = [
        Deviation("a", "too_early", 3, 72.9, 80.0, 1.5),
        Deviation("a", "missing", 6, 10.0, 20.0, 4.0),
        Deviation("a", "repeated", 2, 5.0, 6.0, 0.5),
    ]
    assert deviations_in_words(found) == "6 left out, 3 too early (1:12), 2 again (0:05)"
    assert deviations_in_words(2 * found, {6: "wipe"}).startswith("wipe left out, wipe left out, 3 too early (1:12), 3")
    assert deviations_in_words(2 * found).endswith(", and two more")
    # Deviations that are too doubtful to report are not nothing.
    assert deviations_in_words([replace(found[0], sureness=0.1)]) == "only doubtful deviations"


@pytest.mark.parametrize(
    ("scores", "expected"), [((0.5, 2.0), "a"), ((math.nan, 0.5, 2.0), "a"), ((0.5, 0.5, 2.0), ""), ((0.5,), "")]
)
def test_no_video_is_the_most_typical_if_several_deviate_least(scores: tuple[float, ...], expected: str) -> None:
    fits = tuple(VideoFit(f"v{at}", 1.0, score) for at, score in enumerate(scores))
    assert replace(ISSUE, videos=fits).most_typical == expected


def test_a_single_stage_is_not_left_out() -> None:
    steps = range(1, 10)
    needs = [edge(a, b) for a in steps for b in steps if a < b]
    said = sentence(procedure([node(step) for step in steps], needs, tuple(steps)))
    assert said.endswith("then 4, then 5, then 6, then 7, then 8, last 9.")
