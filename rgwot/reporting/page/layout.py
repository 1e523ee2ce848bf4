"""Drawing a procedure: cards in layers, arrows between them, for windows of several widths.

A layered drawing of the task graph. Every card comes after those it needs; key steps in either order share a layer.
Where the window is wide, layers are columns from left to right, and what does not fit goes on in a band below, as
lines of a text do; where it is narrow, layers are rows from top to bottom. An arrow to the next layer is a curve in
the space between; any other one runs in a lane outside of the cards, so that no arrow crosses a card.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import networkx as nx

from rgwot.procedure.interface import END, START

Node = int | Literal["START", "END"]
Pair = tuple[Node, Node]
Flow = Literal["right", "down"]
#: A letter of an SVG path, and its points along and across the flow.
Piece = tuple[str, list[tuple[float, float]]]

#: Cards side by side in one layer, at most.
MOST = {"right": 4, "down": 2}
#: Widths from which layers are columns.
WIDE = 600
#: Between cards of one layer, and between layers, in CSS pixels.
GAP, SPACE = 22, 32
#: Of a lane to the cards, and between lanes.
CLEAR, LANE = 20, 9
#: Beside the cards: room for start and end, and for lanes.
MARGIN = {"right": 54, "down": 34}
#: Width of a card where layers are columns.
NARROWEST, WIDEST = 116, 196
#: Diameter of the marks of start and end.
MARK = 18
#: Length and half of the width of an arrow's head; how far the frame of a group is from its cards.
HEAD, HALF, PAD = 8, 4, 9


class Box(NamedTuple):
    """A rectangle in CSS pixels, rightwards and downwards from its corner."""

    x: float
    y: float
    width: float
    height: float


class Arrow(NamedTuple):
    """An arrow from one node to another: the SVG paths of its line and of its head."""

    before: Node
    after: Node
    line: str
    head: str


class Drawing(NamedTuple):
    """A procedure laid out for a window ``width`` wide.

    ``cards`` are those of key steps, ``marks`` of START and END; ``groups`` frame key steps in either order and
    ``loops`` are arrows (line and head) from a card to itself, by key step.
    """

    width: float
    height: float
    flow: Flow
    cards: Mapping[int, Box]
    marks: Mapping[Node, Box]
    arrows: Sequence[Arrow]
    groups: Sequence[Box]
    loops: Mapping[int, tuple[str, str]]


def layers(
    order: Sequence[int], needs: Iterable[tuple[int, int]], groups: Sequence[Sequence[int]], most: int
) -> list[list[int]]:
    """Return key steps in layers of at most ``most``, each after all that it needs.

    ``order`` holds every key step once and agrees with ``needs`` (before, after). Members of a group share a layer
    where the needs allow it; a step with a choice of layers goes where its neighbours in the order are.
    """
    place = {step: at for at, step in enumerate(order)}
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(order)
    graph.add_edges_from(pair for pair in needs)
    members = {step: (step,) for step in order}
    for group in groups:
        own = tuple(sorted(group, key=place.__getitem__))
        if len(own) > most or any(len(members.get(step, ())) != 1 for step in own):
            continue
        joined = nx.relabel_nodes(graph, dict.fromkeys(own, own[0]))
        joined.remove_edges_from(list(nx.selfloop_edges(joined)))
        if nx.is_directed_acyclic_graph(joined):
            graph = joined
            members[own[0]] = own
            members |= dict.fromkeys(own[1:], ())
    level: dict[int, int] = {}
    held: dict[int, int] = {}
    sequence = list(nx.lexicographical_topological_sort(graph, key=place.__getitem__))
    for step in sequence:
        at = max((level[other] + 1 for other in graph.predecessors(step)), default=0)
        while held.get(at, 0) + len(members[step]) > most:
            at += 1
        level[step] = at
        held[at] = held.get(at, 0) + len(members[step])
    last = max(level.values(), default=-1)
    for step in reversed(sequence):
        first = max((level[other] + 1 for other in graph.predecessors(step)), default=0)
        final = min((level[other] - 1 for other in graph.successors(step)), default=last)
        size = len(members[step])
        # Between neighbours of the consensus, rather than as early as possible.
        best = min(
            (at for at in range(first, final + 1) if at == level[step] or held.get(at, 0) + size <= most),
            key=lambda at: (_away(place, level, step, at), at),
        )
        held[level[step]] -= size
        held[best] = held.get(best, 0) + size
        level[step] = best
    found: dict[int, list[int]] = {}
    for step in sequence:
        found.setdefault(level[step], []).extend(members[step])
    return [found[at] for at in sorted(found)]


def _away(place: Mapping[int, int], level: Mapping[int, int], step: int, at: int) -> float:
    """How far a step in a layer is from the others there, by the consensus."""
    others = [place[other] for other, own in level.items() if own == at and other != step]
    return abs(sum(others) / len(others) - place[step]) if others else 0.0


def arranged(rows: Sequence[Sequence[int]], needs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Order every layer by the means of its neighbours (barycentres), as long as fewer arrows cross."""
    above: dict[int, list[int]] = {}
    below: dict[int, list[int]] = {}
    pairs = list(needs)
    for before, after in pairs:
        above.setdefault(after, []).append(before)
        below.setdefault(before, []).append(after)
    best = now = [list(row) for row in rows]
    least = crossings(now, pairs)
    for sweep in range(4):
        sides = above if sweep % 2 == 0 else below
        now = [list(row) for row in now]
        for row in now if sweep % 2 == 0 else reversed(now):
            at = _centred(now)
            row.sort(key=lambda step: _mean([at[other] for other in sides.get(step, [])], at[step]))
        if (found := crossings(now, pairs)) < least:
            best, least = now, found
    return best


def crossings(rows: Sequence[Sequence[int]], needs: Iterable[tuple[int, int]]) -> int:
    """Count the crossings of arrows between layers that follow each other."""
    level = {step: at for at, row in enumerate(rows) for step in row}
    at = _centred(rows)
    between: dict[int, list[tuple[float, float]]] = {}
    for before, after in needs:
        if level[after] == level[before] + 1:
            between.setdefault(level[before], []).append((at[before], at[after]))
    return sum(
        (a - c) * (b - d) < 0 for own in between.values() for n, (a, b) in enumerate(own) for c, d in own[n + 1 :]
    )


def _centred(rows: Sequence[Sequence[int]]) -> dict[int, float]:
    return {step: at - (len(row) - 1) / 2 for row in rows for at, step in enumerate(row)}


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def draw(
    order: Sequence[int],
    edges: Iterable[Pair],
    groups: Sequence[Sequence[int]],
    loops: Iterable[int],
    width: float,
    pictures: bool,
) -> Drawing:
    """Lay a procedure out for a window ``width`` pixels wide; ``edges`` (before, after) may hold START and END.

    ``pictures`` leaves room for frames on the cards. Edges against the order are left out.
    """
    flow: Flow = "right" if width >= WIDE else "down"
    place: dict[Node, float] = {START: -1, **{step: at for at, step in enumerate(order)}, END: len(order)}
    drawn = [pair for pair in edges if place[pair[0]] < place[pair[1]]]
    needs = [(a, b) for a, b in drawn if isinstance(a, int) and isinstance(b, int)]
    rows = arranged(layers(order, needs, groups, MOST[flow]), needs)
    marked = {node for pair in drawn for node in pair if not isinstance(node, int)}
    sheet = _Sheet(rows, marked, float(width), flow, pictures)
    arrows = sheet.arrows(drawn)
    cards = {node: box for node, box in sheet.boxes.items() if isinstance(node, int)}
    marks = {node: box for node, box in sheet.boxes.items() if not isinstance(node, int)}
    frames = [_frame([cards[step] for step in group], cards) for group in groups]
    return Drawing(
        width,
        sheet.height,
        flow,
        cards,
        marks,
        arrows,
        [frame for frame in frames if frame],
        {step: _loop(cards[step]) for step in loops},
    )


class _Sheet:
    """Where everything is: along the flow (u) and across it (v), in bands of layers.

    Lanes of a band are counted by `arrows` before anything has a place, because they push what follows away.
    """

    def __init__(
        self, rows: Sequence[Sequence[int]], marked: set[Node], width: float, flow: Flow, pictures: bool
    ) -> None:
        self.rows, self.marked, self.width, self.flow = rows, marked, width, flow
        self.inner = width - 2 * MARGIN[flow]
        self.columns = max(1, len(rows))
        if flow == "right":
            most = max(1, int((self.inner + SPACE) // (NARROWEST + SPACE)))
            # Bands of nearly as many columns each, so that none is left with one card.
            self.columns = -(-self.columns // -(-self.columns // most))
        self.n_bands = max(1, -(-len(rows) // self.columns))
        self.pictures = pictures
        level = {step: at for at, row in enumerate(rows) for step in row}
        self.band: dict[Node, int] = {step: at // self.columns for step, at in level.items()}
        self.column: dict[Node, int] = {step: at % self.columns for step, at in level.items()}
        self.band |= {START: 0, END: self.n_bands - 1}
        self.column |= {START: -1, END: len(rows) - (self.n_bands - 1) * self.columns}
        self.boxes: dict[Node, Box] = {}
        self.height = 0.0

    def size(self, row: Sequence[int]) -> tuple[float, float]:
        """Return how far the cards of a layer reach along and across the flow."""
        if self.flow == "right":
            width = min(float(WIDEST), (self.inner + SPACE) / self.columns - SPACE)
            return width, round(92 + 0.5 * width) if self.pictures else 96.0
        width = (self.inner + GAP) / len(row) - GAP
        alone = len(row) == 1
        return ((92.0 if alone else round(92 + 0.5 * width)) if self.pictures else 76.0 if alone else 96.0), width

    def arrows(self, edges: Sequence[Pair]) -> list[Arrow]:
        """Place everything, and return the arrows."""
        lanes = self._lanes(edges)
        self._place(
            {side: 1 + max(track for own, track in lanes.values() if own == side) for side, _ in lanes.values()}
        )
        found = []
        for pair in edges:
            (u, v), (end_u, end_v) = self._port(pair[0], True), self._port(pair[1], False)
            tip = end_u - HEAD
            if pair not in lanes:
                path = [("M", [(u, v)]), self._curve((u, v), (tip, end_v))]
            elif self.band[pair[0]] == self.band[pair[1]]:
                lane = self._lane(*lanes[pair])
                out, back = (u + SPACE - 6, lane), (end_u - SPACE + 2, lane)
                path = [("M", [(u, v)]), self._curve((u, v), out), ("L", [back]), self._curve(back, (tip, end_v))]
            else:
                lane, out, back = self._lane(*lanes[pair]), u + SPACE / 2 - 2, end_u - SPACE / 2 - 2
                path = _rounded([(u, v), (out, v), (out, lane), (back, lane), (back, end_v), (tip, end_v)])
            head = [("M", [(end_u, end_v)]), ("L", [(tip, end_v - HALF)]), ("L", [(tip, end_v + HALF)])]
            found.append(Arrow(*pair, self._written(path), self._written(head) + "Z"))
        return found

    def _lanes(self, edges: Sequence[Pair]) -> dict[Pair, tuple[tuple[int, int], int]]:
        """Give every arrow that does not lead to the next layer a lane: band, side (-1 or 1), and track outwards."""
        at: dict[Node, float] = {**_centred(self.rows), START: 0.0, END: 0.0}
        taken: dict[tuple[int, int], list[list[tuple[float, float]]]] = {}
        found = {}
        reach = {(a, b): self.column[b] - self.column[a] for a, b in edges}
        for before, after in sorted(edges, key=lambda pair: (self.band[pair[1]] - self.band[pair[0]], reach[pair])):
            within = self.band[before] == self.band[after]
            if within and reach[before, after] == 1:
                continue
            side = self.band[before], -1 if within and at[before] + at[after] < 0 else 1
            span = (
                min(self.column[before] + 0.5, self.column[after] - 0.5),
                max(self.column[before] + 0.5, self.column[after] - 0.5),
            )
            tracks = taken.setdefault(side, [])
            free = (n for n, own in enumerate(tracks) if all(span[1] < low or high < span[0] for low, high in own))
            track = next(free, len(tracks))
            tracks[track : track + 1] = [[*(tracks[track] if track < len(tracks) else []), span]]
            found[before, after] = side, track
        return found

    def _place(self, tracks: Mapping[tuple[int, int], int]) -> None:
        """Place cards and marks, and the lanes beside them."""
        self.edge: dict[tuple[int, int], float] = {}
        self.apart = float(LANE)
        if self.flow == "down" and tracks:
            self.apart = min(self.apart, (MARGIN["down"] - 8 - 6) / max(tracks.values()))
        v = PAD + 8.0
        for band in range(self.n_bands):
            rows = self.rows[band * self.columns : (band + 1) * self.columns]
            sizes = [self.size(row) for row in rows]
            across = max(
                (len(row) * (size[1] + GAP) - GAP for row, size in zip(rows, sizes, strict=True)), default=MARK
            )
            if self.flow == "right":
                start = (
                    MARGIN["right"] + (self.inner - (self.columns * (sizes[0][0] + SPACE) - SPACE)) / 2 if sizes else 0
                )
                above, below = (tracks.get((band, side), 0) for side in (-1, 1))
                v += CLEAR + (above - 1) * self.apart if above else PAD if band else 0
                middle = v + across / 2
                self.edge[band, -1], self.edge[band, 1] = v - CLEAR, v + across + CLEAR
                v += (
                    across
                    + (CLEAR + (below - 1) * self.apart if below else 0)
                    + (CLEAR if band < self.n_bands - 1 else PAD)
                )
            else:
                start, middle = 12.0 + (MARK + SPACE if START in self.marked else 0), self.width / 2
                self.edge[band, -1], self.edge[band, 1] = MARGIN["down"] - 8.0, self.width - MARGIN["down"] + 8.0
            u = start
            for row, (length, breadth) in zip(rows, sizes, strict=True):
                first = middle - (len(row) * (breadth + GAP) - GAP) / 2
                for at, step in enumerate(row):
                    self.boxes[step] = self._box(u, first + at * (breadth + GAP), length, breadth)
                u += length + SPACE
            for mark, place in ((START, start - SPACE - MARK), (END, u)):
                if mark in self.marked and self.band[mark] == band:
                    self.boxes[mark] = self._box(place, middle - MARK / 2, MARK, MARK)
            self.height = v if self.flow == "right" else (u + MARK if END in self.marked else u - SPACE) + 14

    def _lane(self, side: tuple[int, int], track: int) -> float:
        return self.edge[side] + side[1] * track * self.apart

    def _box(self, u: float, v: float, length: float, breadth: float) -> Box:
        return Box(u, v, length, breadth) if self.flow == "right" else Box(v, u, breadth, length)

    def _port(self, node: Node, out: bool) -> tuple[float, float]:
        """Where arrows leave a card or come in, along and across."""
        x, y, width, height = self.boxes[node]
        if self.flow == "right":
            return x + (width if out else 0), y + height / 2
        return y + (height if out else 0), x + width / 2

    @staticmethod
    def _curve(start: tuple[float, float], end: tuple[float, float]) -> Piece:
        half = (start[0] + end[0]) / 2
        return ("L", [end]) if start[1] == end[1] else ("C", [(half, start[1]), (half, end[1]), end])

    def _written(self, pieces: Sequence[Piece]) -> str:
        turn = (0, 1) if self.flow == "right" else (1, 0)
        return "".join(
            letter + " ".join(f"{_number(point[turn[0]])} {_number(point[turn[1]])}" for point in points)
            for letter, points in pieces
        )


def _rounded(corners: Sequence[tuple[float, float]]) -> list[Piece]:
    """Return a line with right angles, its corners rounded."""
    path: list[Piece] = [("M", [corners[0]])]
    for before, corner, after in zip(corners, corners[1:], corners[2:], strict=False):
        sides = []
        for other in (before, after):
            far = abs(other[0] - corner[0]) + abs(other[1] - corner[1])
            share = min(8.0, far / 2) / far if far else 0.0
            sides.append((corner[0] + share * (other[0] - corner[0]), corner[1] + share * (other[1] - corner[1])))
        path += [("L", [sides[0]]), ("Q", [corner, sides[1]])]
    return [*path, ("L", [corners[-1]])]


def _number(value: float) -> str:
    return f"{round(value, 1):g}"


def _frame(own: Sequence[Box], cards: Mapping[int, Box]) -> Box | None:
    """Return a frame around cards, None where it would hold another one or they are apart."""
    left, top = min(box.x for box in own) - PAD, min(box.y for box in own) - PAD
    right = max(box.x + box.width for box in own) + PAD
    bottom = max(box.y + box.height for box in own) + PAD
    frame = Box(left, top, right - left, bottom - top)
    return None if sum(overlap(frame, box) for box in cards.values()) > len(own) else frame


def overlap(one: Box, other: Box) -> bool:
    """Whether two rectangles have an area in common."""
    return (
        one.x < other.x + other.width
        and other.x < one.x + one.width
        and one.y < other.y + other.height
        and other.y < one.y + one.height
    )


def _loop(card: Box) -> tuple[str, str]:
    """Return the arrow around the upper right corner of a card, line and head."""
    x, y = card.x + card.width, card.y
    line = f"M{_number(x - 18)} {_number(y)}A14 14 0 1 1 {_number(x + 6)} {_number(y + 18)}"
    head = f"M{_number(x)} {_number(y + 18)}l{HEAD - 1} {-HALF}v{2 * HALF}z"
    return line, head
