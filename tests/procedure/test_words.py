"""The procedure in words: hand-worked procedures and the sentences they must give."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rgwot.procedure.interface import END, START, Deviation, Edge, Node, Procedure
from rgwot.procedure.words import chain, deviations_in_words, layers, sentence


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
        "Seven key steps; 1 before 2 before 4 in all ten videos; 3 and 5 in either order; 6 in six of ten."
    )


def test_names_take_the_place_of_numbers() -> None:
    said = sentence(ISSUE, {1: "open the box", 6: "wipe"})
    assert "; open the box before 2 before 4 in all ten videos;" in said
    assert said.endswith("; wipe in six of ten.")


def test_the_weakest_need_is_said_of_a_chain() -> None:
    two = [node(1), node(2), node(3)]
    weak = procedure(two, [edge(1, 2), edge(2, 3, 8), edge(1, 3, 9)], (1, 2, 3))
    assert sentence(weak) == "Three key steps; 1 before 2 before 3 in at least eight of ten videos."
    seldom = procedure([node(1), node(2, 9)], [edge(1, 2, 9, 9)], (1, 2))
    assert sentence(seldom) == "Two key steps; 1 before 2 in every video that has them."
    both = procedure([node(1), node(2, 9)], [edge(1, 2, 6, 9)], (1, 2))
    assert sentence(both) == "Two key steps; 1 before 2 in 67 % of the videos that have both."


def test_a_chain_passes_by_optional_steps() -> None:
    """1 needs nothing, 2 is optional, 3 needs 2 and so 1: only 1 before 3 is a chain of usual steps."""
    found = procedure([node(1), node(2, 4), node(3)], [edge(1, 2, 4, 4), edge(2, 3, 4, 4), edge(1, 3)], (1, 2, 3))
    assert chain(found) == [1, 3]
    assert sentence(found) == "Three key steps; 1 before 3 in all ten videos; 2 in four of ten."


def test_where_all_is_optional_needs_are_still_said() -> None:
    found = procedure([node(1, 5), node(2, 5)], [edge(1, 2, 4, 4)], (1, 2))
    assert sentence(found).startswith("Two key steps; 1 before 2 in every video that has them; 1 in five of ten; ")


def test_of_two_chains_the_one_with_more_agreement() -> None:
    found = procedure([node(step) for step in (1, 2, 3)], [edge(1, 2, 8), edge(1, 3, 9)], (1, 2, 3))
    assert chain(found) == [1, 3]


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ([], "No key step was found: everything is background."),
        ([node(1)], "One key step."),
        ([node(1), node(2)], "Two key steps; no fixed order among them."),
        ([node(1, repeat_share=0.8)], "One key step; 1 more than once in eight of ten."),
    ],
)
def test_hardly_anything_to_say(nodes: list[Node], said: str) -> None:
    assert sentence(procedure(nodes, [], tuple(one.key_step for one in nodes))) == said


def test_steps_that_repeat_are_listed_together() -> None:
    some = procedure([*(node(step, repeat_share=0.6) for step in (1, 2, 3)), node(4)], [], (3, 1, 4, 2))
    assert sentence(some).endswith("; 3, 1 and 2 usually more than once.")
    many = procedure([*(node(step, repeat_share=0.6) for step in range(1, 8)), node(8)], [], tuple(range(1, 9)))
    assert sentence(many).endswith("; seven usually more than once.")
    every = procedure([node(step, repeat_share=0.6) for step in (1, 2)], [], (1, 2))
    assert sentence(every).endswith("; all usually more than once.")


def test_two_videos() -> None:
    found = procedure([node(1, 2, total=2), node(2, 2, total=2)], [edge(1, 2, 2, 2)], (1, 2), n_videos=2)
    assert sentence(found) == "Two key steps; 1 before 2 in both videos."


def test_forty_steps_stay_one_sentence() -> None:
    steps = range(1, 41)
    needs = [edge(a, b) for a in steps for b in steps if a < b]
    long = procedure([node(step) for step in steps], needs, tuple(steps))
    assert sentence(long) == (
        "40 key steps; 1 before 2 before 3 before 4 ... before 37 before 38 before 39 before 40 (40 in a row) "
        "in all ten videos."
    )
    loose = replace(
        long, needs=(), groups=tuple((a, a + 1) for a in range(1, 21, 2)), nodes=tuple(node(step, 5) for step in steps)
    )
    said = sentence(loose)
    assert said.count("in either order") == 4
    assert "; six more groups; " in said
    assert said.endswith("4 in five of ten; 36 more optional steps.")


def test_layers_lie_below_all_they_need() -> None:
    assert layers(ISSUE) == [[1, 6, 7], [2], [4, 3, 5]]


def test_deviations_are_said_with_their_moment_the_most_surprising_first() -> None:
    found = [
        Deviation("a", "too_early", 3, 72.9, 80.0, 1.5),
        Deviation("a", "missing", 6, 10.0, 20.0, 4.0),
        Deviation("a", "repeated", 2, 5.0, 6.0, 0.5),
    ]
    assert deviations_in_words(found) == "6 left out, 3 too early (1:12), 2 again (0:05)"
    assert deviations_in_words(found, {6: "wipe"}, most=1) == "wipe left out, and two more"


def test_the_terminals_of_the_graph_are_no_steps() -> None:
    found = procedure([node(1)], [], (1,), edges=(edge(START, 1), edge(1, END)))
    assert (layers(found), chain(found)) == ([[1]], [1])
