"""The drawing of a procedure: what it shows, and that nothing overlaps, crosses a card or points backwards."""

from __future__ import annotations

import itertools
import random
import re

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rgwot.procedure.interface import END, START
from rgwot.reporting.page.layout import Box, Drawing, arrange_layers, arranged, crossings, lay_out, merge_arrows
from rgwot.reporting.page.runs import PAGE_WIDTHS

Task = tuple[list[int], list[tuple[object, object]], list[list[int]]]


def task(n: int, density: float, seed: int) -> Task:
    """A reduced random graph as `rgwot.procedure` makes them: order, edges with START and END, groups."""
    rng = random.Random(seed)
    order = rng.sample(range(1, n + 1), n)
    graph = nx.DiGraph()
    graph.add_nodes_from(order)
    graph.add_edges_from(pair for pair in itertools.combinations(order, 2) if rng.random() < density / n)
    graph, closed = nx.transitive_reduction(graph), nx.transitive_closure(graph)
    groups: list[list[int]] = [[]]
    for step in order:
        if any(closed.has_edge(other, step) for other in groups[-1]):
            groups.append([])
        groups[-1].append(step)
    ends = [(START, step) for step in order if not closed.in_degree(step)]
    ends += [(step, END) for step in order if not closed.out_degree(step)]
    return order, [*graph.edges, *ends], [group for group in groups if len(group) > 1]


TASKS = st.builds(task, st.integers(1, 40), st.sampled_from([0.0, 1.0, 2.0, 4.0]), st.integers(0, 10**6))


def overlap(one: Box, other: Box, slack: float = 0.2) -> bool:
    return (
        one.x + slack < other.x + other.width
        and other.x + slack < one.x + one.width
        and one.y + slack < other.y + other.height
        and other.y + slack < one.y + one.height
    )


def points(path: str) -> NDArray[np.float64]:
    """Points (n, 2) along an SVG path of the letters M, L, C and Q."""
    here, found = np.zeros(2), []
    t = np.linspace(0, 1, 24)[:, None]
    for letter, text in re.findall(r"([MLCQ])([^MLCQZ]*)", path):
        ends = np.array(list(map(float, text.split()))).reshape(-1, 2)
        hull = [here, *ends]
        if letter in "MLC":
            a, b, c, d = hull if letter == "C" else (hull[0], hull[0], hull[1], hull[1])
        else:
            a, b, c, d = hull[0], hull[0] / 3 + hull[1] * 2 / 3, hull[1] * 2 / 3 + hull[2] / 3, hull[2]
        if letter != "M":
            found.append(a * (1 - t) ** 3 + 3 * b * t * (1 - t) ** 2 + 3 * c * t**2 * (1 - t) + d * t**3)
        here = ends[-1]
    return np.concatenate(found)


def forwards(drawing: Drawing, before: Box, after: Box) -> bool:
    if drawing.flow == "down":
        return before.y + before.height <= after.y
    return before.x + before.width <= after.x or before.y + before.height <= after.y


@pytest.mark.parametrize("width", PAGE_WIDTHS)
@given(TASKS, st.booleans())
@example(task(27, 2.0, 855), False)  # with arrows beyond the next band
@settings(max_examples=30, deadline=None)
def test_nothing_overlaps_points_backwards_or_crosses_a_card(width: int, made: Task, pictures: bool) -> None:
    order, edges, groups = made
    drawing = lay_out(order, edges, groups, order if pictures else [], width, pictures)  # type: ignore[arg-type]
    cards = drawing.cards
    assert sorted(cards) == sorted(order)
    assert not any(overlap(one, other, 0) for one, other in itertools.combinations(cards.values(), 2))
    for box in [*cards.values(), *drawing.marks.values(), *drawing.frames.values()]:
        assert 0 <= box.x <= box.x + box.width <= width
        assert 0 <= box.y <= box.y + box.height <= drawing.height
    for unit, frame in drawing.frames.items():
        assert {step for step, box in cards.items() if overlap(frame, box)} == set(unit)
    # Every need is drawn, once, and leads forwards.
    drawn = [pair for arrow in drawing.arrows for pair in itertools.product(arrow.before, arrow.after)]
    inner = [pair for pair in edges if START not in pair and END not in pair]
    assert sorted(pair for pair in drawn if START not in pair and END not in pair) == sorted(inner)
    assert set(drawn) <= set(edges)
    assert all(forwards(drawing, cards[before], cards[after]) for before, after in inner)  # type: ignore[index]
    boxes = np.array([tuple(box) for box in cards.values()])
    low, high = boxes[:, :2] + 0.5, boxes[:, :2] + boxes[:, 2:] - 0.5
    for arrow in drawing.arrows:
        path = points(arrow.line)
        inside = ((path[:, None] > low) & (path[:, None] < high)).all(axis=2)
        assert not inside.any(), arrow
        assert ((path >= 0) & (path <= (drawing.width, drawing.height))).all()


def test_a_group_that_is_reached_and_left_as_a_whole_has_one_arrow_either_way() -> None:
    edges = [(START, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, END)]
    drawing = lay_out([1, 2, 3, 4], edges, [[2, 3]], [], 1216, pictures=True)
    assert [(arrow.before, arrow.after) for arrow in drawing.arrows] == [
        ((1,), (2, 3)), ((2, 3), (4,)), (("START",), (1,)), ((4,), ("END",)),
    ]  # fmt: skip
    # Side by side, where the flow is rightwards one above the other.
    assert drawing.cards[2].x == drawing.cards[3].x
    narrow = lay_out([1, 2, 3, 4], edges, [[2, 3]], [], 352, pictures=True)
    assert narrow.cards[2].y == narrow.cards[3].y
    assert merge_arrows([(1, 2), (2, 4), (3, 4)], [(1,), (2, 3), (4,)]) == [((1,), (2,)), ((2, 3), (4,))]


def test_an_arrow_of_one_key_step_leaves_its_group_between_the_cards() -> None:
    # All four are needed, but for different steps: they stay one frame, two by two.
    edges = [(1, 5), (2, 5), (3, 6), (4, 6)]
    drawing = lay_out([1, 2, 3, 4, 5, 6], edges, [[1, 2, 3, 4], [5, 6]], [], 1216, pictures=True)
    assert set(drawing.frames) == {(1, 2, 3, 4), (5, 6)}
    assert len({drawing.cards[step].x for step in (1, 2, 3, 4)}) == 2
    assert len({drawing.cards[step].y for step in (1, 2, 3, 4)}) == 2
    assert sorted((arrow.before, arrow.after) for arrow in drawing.arrows) == [((a,), (b,)) for a, b in edges]


def test_layers_by_hand() -> None:
    # 5 needs nothing and nothing needs it: it goes where the consensus has it, beside 3.
    units = [(1,), (2,), (3,), (5,), (4,)]
    needs = [((1,), (2,)), ((2,), (3,)), ((3,), (4,))]
    assert arrange_layers(units, needs, 2) == [[(1,)], [(2,)], [(3,), (5,)], [(4,)]]
    assert arrange_layers(units, [], 2) == [[(1,), (2,)], [(3,), (5,)], [(4,)]]
    assert arrange_layers([(1, 2, 3), (4,)], [], 2) == [[(1, 2, 3)], [(4,)]]


def test_crossings_are_avoided() -> None:
    rows = [[(1,), (2,)], [(3,), (4,)]]
    needs = [((1,), (4,)), ((2,), (3,))]
    assert crossings(rows, needs) == 1
    assert crossings(arranged(rows, needs), needs) == 0


def test_a_short_task_fills_a_screen_and_a_long_one_stays_readable() -> None:
    for n, bands in ((3, 1), (7, 1), (40, 6)):
        order = list(range(1, n + 1))
        edges = [(START, 1), *itertools.pairwise(order), (n, END)]
        drawing = lay_out(order, edges, [], [], 1216, pictures=True)  # type: ignore[arg-type]
        tops = sorted({box.y for box in drawing.cards.values()})
        assert len(tops) == bands
        # As in a text, and with lines of nearly the same length.
        lengths = [sum(box.y == top for box in drawing.cards.values()) for top in tops]
        assert max(lengths) - min(lengths) <= 1 or len(lengths) == 1 or min(lengths) > 3
        assert sorted(order, key=lambda step: (drawing.cards[step].y, drawing.cards[step].x)) == order
        assert {box.width for box in drawing.cards.values()} == {min(196, drawing.cards[1].width)}
        assert all(116 <= box.width <= 196 and box.height < box.width + 60 for box in drawing.cards.values())
    assert lay_out([1], [], [], [], 1216, pictures=True).cards[1].width == 196
    assert lay_out([], [], [], [], 1216, pictures=True).cards == {}
