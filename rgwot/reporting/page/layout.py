"""The layout of a drawn procedure: cards in layers and arrows between them, for windows of several widths.

This is a layered drawing of the task graph. Every card comes after the cards that it needs; key steps in either order
share a frame. In a wide window layers are columns from left to right, and the drawing wraps into bands like the lines
of a text; in a narrow window layers are rows from top to bottom. An arrow to the next layer is a curve in the space
between them; any other arrow runs in a lane outside the cards, so that no arrow crosses a card. If all key steps of a
frame share a need, they share one arrow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, Literal, NamedTuple

from networkx import DiGraph

from rgwot.procedure.interface import END, START

NodeId = int | Literal["START", "END"]
NodeGroup = tuple[NodeId, ...]
"""A single key step, START or END, or the key steps of a group."""
Flow = Literal["right", "down"]
#: An SVG path command, and its points along and across the flow.
PathPiece = tuple[str, list[tuple[float, float]]]

#: In windows of at least this width, layers are columns.
WIDE = 600
#: Largest numbers of cards side by side in a layer: each is tried, and the drawing with the least height is used.
TRIED = {"right": (2, 3, 4), "down": (2,)}
#: Space between the cards of a layer, and between layers, in CSS pixels.
GAP, SPACE = 22, 38
#: Distance of a lane from the cards, and of lanes from each other.
CLEAR, LANE = 20, 9
#: Room outside the cards for start and end, and for lanes.
OUTER_MARGIN = {"right": 60, "down": 34}
#: Width of a card if layers are columns: smallest, wide enough for two lines of text, and largest.
NARROWEST, ROOMY, WIDEST = 116, 150, 196
#: Diameter of the start and end marks.
MARK = 18
#: Length and half width of an arrow's head; distance of a group's frame from its cards.
HEAD, HALF, PAD = 8, 4, 9


class Box(NamedTuple):
    """A rectangle in CSS pixels, given by its upper left corner, width and height."""

    x: float
    y: float
    width: float
    height: float


class Arrow(NamedTuple):
    """An arrow from every node in ``before`` to every node in ``after``, as the SVG paths of its line and head."""

    before: NodeGroup
    after: NodeGroup
    line: str
    head: str


class Drawing(NamedTuple):
    """A procedure laid out for a window of the given ``width``.

    ``cards`` are the boxes of key steps, ``marks`` those of START and END, ``frames`` those around key steps in either
    order; ``loops`` are arrows (line and head) from a card to itself, by key step.
    """

    width: float
    height: float
    flow: Flow
    cards: Mapping[int, Box]
    marks: Mapping[Literal["START", "END"], Box]
    arrows: Sequence[Arrow]
    frames: Mapping[NodeGroup, Box]
    loops: Mapping[int, tuple[str, str]]


def lay_out(
    order: Sequence[int],
    edges: Iterable[tuple[NodeId, NodeId]],
    groups: Iterable[Sequence[int]],
    loops: Collection[int],
    width: float,
    pictures: bool,
) -> Drawing:
    """Lay out a procedure for a window of ``width`` pixels.

    Parameters
    ----------
    order
        Every key step once, in the consensus order.
    edges
        Pairs (before, after), including START and END; pairs against the order are left out.
    groups
        Key steps in either order, neighbours in ``order``; groups do not overlap.
    loops
        Repeated key steps.
    width
        At least 300.
    pictures
        Whether cards have room for pictures.
    """
    flow: Flow = "right" if width >= WIDE else "down"
    place: dict[NodeId, int] = {START: -1, **{step: at for at, step in enumerate(order)}, END: len(order)}
    drawn = [pair for pair in edges if place[pair[0]] < place[pair[1]]]
    sheets = [_Sheet(order, drawn, groups, width, flow, pictures, most, bool(loops)) for most in TRIED[flow]]
    best = min(sheets, key=lambda sheet: sheet.height)
    cards = {node: box for node, box in best.boxes.items() if isinstance(node, int)}
    marks = {node: box for node, box in best.boxes.items() if not isinstance(node, int)}
    repeated = {step: _loop(cards[step]) for step in loops}
    return Drawing(width, best.height, flow, cards, marks, best.arrows(), best.frames, repeated)


def merge_arrows(
    edges: Sequence[tuple[NodeId, NodeId]], units: Iterable[NodeGroup]
) -> list[tuple[NodeGroup, NodeGroup]]:
    """Return the arrows between units: a single one if all pairs of two units are edges, otherwise one per edge."""
    unit_of = {node: unit for unit in units for node in unit}
    between: dict[tuple[NodeGroup, NodeGroup], list[tuple[NodeId, NodeId]]] = {}
    for before, after in edges:
        between.setdefault((unit_of.get(before, (before,)), unit_of.get(after, (after,))), []).append((before, after))
    arrows: list[tuple[NodeGroup, NodeGroup]] = []
    for (first, second), pairs in between.items():
        whole = len(pairs) == len(first) * len(second)
        arrows += [(first, second)] if whole else [((before,), (after,)) for before, after in pairs]
    return arrows


def arrange_layers(
    units: Sequence[NodeGroup], needs: Iterable[tuple[NodeGroup, NodeGroup]], most: int
) -> list[list[NodeGroup]]:
    """Return units in layers, each after all units that it needs.

    ``units`` are in an order that agrees with ``needs`` (before, after). A layer holds at most ``most`` nodes, or one
    unit. Units that may be in several layers are placed next to their neighbours, not as early as possible.
    """
    sizes = {unit: min(len(unit), most) for unit in units}
    place = {unit: at for at, unit in enumerate(units)}
    graph = _graph(units, needs)
    level: dict[NodeGroup, int] = {}
    held: Counter[int] = Counter()
    for unit in units:
        at = max((level[other] + 1 for other in graph.pred[unit]), default=0)
        while held[at] + sizes[unit] > most:
            at += 1
        level[unit] = at
        held[at] += sizes[unit]
    last = max(level.values(), default=-1)
    for unit in reversed(units):
        first = max((level[other] + 1 for other in graph.pred[unit]), default=0)
        final = min((level[other] - 1 for other in graph.succ[unit]), default=last)
        free = [at for at in range(first, final + 1) if at == level[unit] or held[at] + sizes[unit] <= most]

        def away(at: int, unit: NodeGroup = unit) -> float:
            others = [place[other] for other, at_other in level.items() if at_other == at and other != unit]
            return abs(sum(others) / len(others) - place[unit]) if others else 0.0

        held[level[unit]] -= sizes[unit]
        level[unit] = min(free, key=lambda at: (away(at), at))
        held[level[unit]] += sizes[unit]
    return [[unit for unit in units if level[unit] == at] for at in sorted(set(level.values()))]


def arranged(
    rows: Sequence[Sequence[NodeGroup]], needs: Sequence[tuple[NodeGroup, NodeGroup]]
) -> list[list[NodeGroup]]:
    """Order every layer by the barycentres of its neighbours; return the order with the fewest crossings."""
    graph = _graph([unit for row in rows for unit in row], needs)
    best = now = [list(row) for row in rows]
    least = crossings(now, needs)
    for sweep in range(4):
        sides = graph.pred if sweep % 2 == 0 else graph.succ
        now = [list(row) for row in now]
        for row in now if sweep % 2 == 0 else reversed(now):
            at = _centred(now)
            means = {unit: fmean([at[other] for other in sides[unit]] or [at[unit]]) for unit in row}
            row.sort(key=means.__getitem__)
        if (crossed := crossings(now, needs)) < least:
            best, least = now, crossed
    return best


def crossings(rows: Sequence[Sequence[NodeGroup]], needs: Iterable[tuple[NodeGroup, NodeGroup]]) -> int:
    """Count the crossings of arrows between adjacent layers."""
    level = {unit: at for at, row in enumerate(rows) for unit in row}
    at = _centred(rows)
    between: dict[int, list[tuple[float, float]]] = {}
    for before, after in needs:
        if level[after] == level[before] + 1:
            between.setdefault(level[before], []).append((at[before], at[after]))
    return sum(
        (a - c) * (b - d) < 0 for ends in between.values() for n, (a, b) in enumerate(ends) for c, d in ends[n + 1 :]
    )


def _graph(units: Iterable[NodeGroup], needs: Iterable[tuple[NodeGroup, NodeGroup]]) -> DiGraph[NodeGroup]:
    graph: DiGraph[NodeGroup] = DiGraph()
    graph.add_nodes_from(units)
    graph.add_edges_from(needs)
    return graph


def _centred(rows: Sequence[Sequence[Any]]) -> dict[Any, float]:
    """Return the positions of items in their rows, 0 in the middle."""
    return {item: at - (len(row) - 1) / 2 for row in rows for at, item in enumerate(row)}


class _Sheet:
    """The positions of all elements along the flow (u) and across it (v), in bands of layers.

    A layer has at most ``most`` cards across the flow; a larger group has a layer to itself and continues along the
    flow.
    """

    def __init__(
        self,
        order: Sequence[int],
        edges: Sequence[tuple[NodeId, NodeId]],
        groups: Iterable[Sequence[int]],
        width: float,
        flow: Flow,
        pictures: bool,
        most: int,
        repeated: bool,
    ) -> None:
        self.width, self.flow, self.pictures, self.most = float(width), flow, pictures, most
        self.repeated = repeated
        self.inner = self.width - 2 * OUTER_MARGIN[flow]
        self.pairs, rows = self._layers(order, edges, groups)
        # The lines of cards of every layer, one behind the other along the flow.
        self.lines = [
            self.split[row[0]] if len(row) == 1 else [[step for unit in row for step in unit]] for row in rows
        ]
        self.band: dict[NodeId, int] = {}
        self.layer: dict[NodeId, int] = {}
        self.bands, self.card_width = self._bands()
        for band, layers in enumerate(self.bands):
            for at, layer in enumerate(layers):
                for step in sum(self.lines[layer], []):
                    self.band[step], self.layer[step] = band, at
        self.band |= {START: 0, END: len(self.bands) - 1}
        self.layer |= {START: -1, END: len(self.bands[-1])}
        self.marked = {START, END} & {node for pair in self.pairs for unit in pair for node in unit}
        self.at = {START: 0.0, END: 0.0, **_centred(sum(self.lines, []))}
        self.lanes = self._lanes()
        self.boxes: dict[NodeId, Box] = {}
        self.edge: dict[tuple[int, int], float] = {}
        self.apart, self.height = float(LANE), 0.0
        self._place()
        self.frames = {
            unit: _around([self.boxes[step] for step in unit]) for row in rows for unit in row if len(unit) > 1
        }

    def _layers(
        self, order: Sequence[int], edges: Sequence[tuple[NodeId, NodeId]], groups: Iterable[Sequence[int]]
    ) -> tuple[list[tuple[NodeGroup, NodeGroup]], list[list[NodeGroup]]]:
        """Return the arrows, and the units in layers; a group too large for the window becomes single cards."""
        fits = self.most * int((self.inner + GAP) // (NARROWEST + GAP)) if self.flow == "right" else len(order)
        group_of = {
            step: tuple(sorted(group, key=order.index)) for group in groups if len(group) <= fits for step in group
        }
        inside = [(a, b) for a, b in edges if isinstance(a, int) and isinstance(b, int)]
        units: list[NodeGroup] = list(dict.fromkeys(group_of.get(step, (step,)) for step in order))
        pairs = merge_arrows(inside, units)
        reached, left = {b[0] for _, b in pairs if len(b) == 1}, {a[0] for a, _ in pairs if len(a) == 1}
        # Lines of a unit's cards: first the cards that single arrows reach, and last the cards that single arrows
        # leave.
        self.split: dict[NodeGroup, list[list[NodeId]]] = {}
        for unit in units:
            late = sorted(unit, key=lambda step: (step in left) - (step in reached))
            steps = late if len(unit) > self.most else list(unit)
            self.split[unit] = [steps[at : at + self.most] for at in range(0, len(steps), self.most)]
        member = {step: unit for unit in units for step in unit}
        needs = list(dict.fromkeys((member[before[0]], member[after[0]]) for before, after in pairs))
        rows = arranged(arrange_layers(units, needs, self.most), needs)
        # Arrows from start are drawn only to the first layer, and arrows to end only from the last; others are obvious.
        first, last = (rows[0], rows[-1]) if rows else ([], [])
        ends: list[tuple[NodeGroup, NodeGroup]] = [
            ((START,), unit) for unit in first if all((START, step_here) in edges for step_here in unit)
        ]
        ends += [(unit, (END,)) for unit in last if all((step_here, END) in edges for step_here in unit)]
        return pairs + ends, rows

    def _bands(self) -> tuple[list[list[int]], float]:
        """Return the layers of every band, and the width of a card if layers are columns (0 if they are rows)."""
        columns = [len(lines) for lines in self.lines]
        if self.flow == "down" or not columns:
            return [list(range(len(columns)))], 0.0

        def length(layers: Sequence[int], width: float) -> float:
            return sum(columns[at] * (width + GAP) - GAP for at in layers) + SPACE * (len(layers) - 1)

        def packed(room: float) -> list[list[int]]:
            bands: list[list[int]] = [[]]
            for at in range(len(columns)):
                if bands[-1] and length([*bands[-1], at], NARROWEST) > room:
                    bands.append([])
                bands[-1].append(at)
            return bands

        bands = packed(self.inner)
        # Keep the number of bands, but shorten the longest as far as possible, so that no band has a single card.
        longest = max(length(band, NARROWEST) for band in bands)
        while len(shorter := packed(longest - 1)) == len(bands):
            if (longest_here := max(length(band, NARROWEST) for band in shorter)) >= longest:
                break
            bands, longest = shorter, longest_here
        spare = min((self.inner - length(band, 0.0)) / sum(columns[at] for at in band) for band in bands)
        return bands, min(float(WIDEST), spare)

    def _size(self, n: int) -> tuple[float, float]:
        """Return the size of each card in a line of n cards, along and across the flow."""
        right = self.flow == "right"
        # If a key step is repeated, cards have room for one more line of text.
        lines = 16 if self.repeated else 0
        width = self.card_width if right else (self.inner + GAP) / n - GAP
        if n == 1 and not right:
            # A card that has a line for itself is in landscape format.
            return (94.0 if self.pictures else 90.0) + lines, width
        # Narrow cards may need another line of text.
        height = (94 + 0.5 * width if self.pictures else 106) + (16 if width < ROOMY else 0) + lines
        return (width, height) if right else (height, width)

    def _lanes(self) -> dict[tuple[NodeGroup, NodeGroup], list[tuple[tuple[int, int], int]]]:
        """Give every arrow that skips layers a lane: band, side (-1 or 1), and track, counted outwards.

        An arrow that skips bands has two lanes, below its first band and above its last. Between them it runs in the
        margin, because the cards of the skipped bands may be anywhere.
        """
        taken: dict[tuple[int, int], list[list[tuple[float, float]]]] = {}
        lanes: dict[tuple[NodeGroup, NodeGroup], list[tuple[tuple[int, int], int]]] = {}

        def lane(side: tuple[int, int], span_here: float, other: float) -> tuple[tuple[int, int], int]:
            low, high = sorted((span_here, other))
            tracks = taken.setdefault(side, [])
            free = (n for n, spans in enumerate(tracks) if all(high < left or right < low for left, right in spans))
            if (track := next(free, len(tracks))) == len(tracks):
                tracks.append([])
            tracks[track].append((low, high))
            return side, track

        def reach(pair: tuple[NodeGroup, NodeGroup]) -> tuple[int, int]:
            before, after = pair[0][0], pair[1][0]
            return self.band[after] - self.band[before], self.layer[after] - self.layer[before]

        for pair in sorted(self.pairs, key=reach):
            if reach(pair) == (0, 1):
                continue
            (before, *_), (after, *_) = pair
            lean = sum(self.at[node] for node in (before, after)) if len(pair[0]) == len(pair[1]) == 1 else 0.0
            side = self.band[before], -1 if reach(pair)[0] == 0 and lean < 0 else 1
            out, into = self.layer[before] + 0.5, self.layer[after] - 0.5
            if reach(pair)[0] > 1:
                lanes[pair] = [lane(side, -1.0, out), lane((self.band[after] - 1, 1), -1.0, into)]
            else:
                lanes[pair] = [lane(side, out, into)]
        return lanes

    def _place(self) -> None:
        """Place cards and marks, and the lanes outside of them."""
        tracks: dict[tuple[int, int], int] = {}
        for side, track in sum(self.lanes.values(), []):
            tracks[side] = max(tracks.get(side, 0), track + 1)
        if self.flow == "down" and tracks:
            self.apart = min(self.apart, (OUTER_MARGIN["down"] - 14) / max(tracks.values()))
        v = PAD + 8.0
        for band, layers in enumerate(self.bands):
            # All lines of a layer are as wide as its first, so that the gaps between their cards align.
            sizes = [self._size(len(self.lines[layer][0])) for layer in layers]
            rows = [(self.lines[layer], *size) for layer, size in zip(layers, sizes, strict=True)]
            across = max((len(lines[0]) * (breadth + GAP) - GAP for lines, _, breadth in rows), default=MARK)
            along = sum(sum(length + GAP for _ in lines) - GAP + SPACE for lines, length, _ in rows) - SPACE
            above, below = (tracks.get((band, side), 0) for side in (-1, 1))
            if self.flow == "right":
                # Bands are aligned at their start; a single band is centred.
                u = (self.width - along) / 2 if len(self.bands) == 1 else float(OUTER_MARGIN["right"])
                v += CLEAR + (above - 1) * self.apart if above else 0.0
                middle = v + across / 2
                self.edge[band, -1], self.edge[band, 1] = v - CLEAR, v + across + CLEAR
                v += across + (CLEAR + (below - 1) * self.apart if below else 0.0) + CLEAR
            else:
                u, middle = 12.0 + (MARK + SPACE if START in self.marked else 0.0), self.width / 2
                self.edge[band, -1], self.edge[band, 1] = (
                    OUTER_MARGIN["down"] - 8.0,
                    self.width - OUTER_MARGIN["down"] + 8.0,
                )
            if START in self.marked and band == 0:
                self.boxes[START] = self._box(u - SPACE - MARK, middle - MARK / 2, MARK, MARK)
            for lines, length, breadth in rows:
                first = middle - (len(lines[0]) * (breadth + GAP) - GAP) / 2
                for line in lines:
                    for at, step in enumerate(line):
                        self.boxes[step] = self._box(u, first + at * (breadth + GAP), length, breadth)
                    u += length + GAP
                u += SPACE - GAP
            if END in self.marked and band == len(self.bands) - 1:
                self.boxes[END] = self._box(u, middle - MARK / 2, MARK, MARK)
                u += SPACE + MARK
            self.height = v if self.flow == "right" else u - SPACE + 12

    def arrows(self) -> list[Arrow]:
        """Return the arrows."""
        arrows_here = []
        far = [pair for pair, lanes in self.lanes.items() if len(lanes) > 1]
        for pair in self.pairs:
            start, end = self._way(pair[0], out=True), self._way(pair[1], out=False)
            (end_u, end_v), (u, v), (to_u, to_v) = end[-1], start[-1], end[0]
            end[-1] = tip, _ = end_u - HEAD, end_v
            if len(end) == 1:
                to_u = tip
            if pair not in self.lanes:
                path = [*_rounded(start), _curve((u, v), (to_u, to_v)), *_rounded(end)[1:]]
            else:
                lanes = [self.edge[side] + side[1] * track * self.apart for side, track in self.lanes[pair]]
                if self.band[pair[0][0]] == self.band[pair[1][0]]:
                    out, back = (u + SPACE - PAD - 4, lanes[0]), (end[0][0] - SPACE + PAD + HEAD, lanes[0])
                    path = [*_rounded(start), _curve((u, v), out), ("L", [back]), _curve(back, (to_u, to_v))]
                    path += _rounded(end)[1:]
                else:
                    out_u, back_u = u + SPACE / 2 - 4, to_u - SPACE / 2 + (HEAD if len(end) == 1 else 0)
                    way = [(out_u, v), (out_u, lanes[0])]
                    if len(lanes) > 1:
                        beside = 30 - 24 * far.index(pair) / len(far)
                        way += [(beside, lanes[0]), (beside, lanes[1])]
                    path = _rounded([*start, *way, (back_u, lanes[-1]), (back_u, to_v), *end])
            head = [("M", [(end_u, end_v)]), ("L", [(tip, end_v - HALF)]), ("L", [(tip, end_v + HALF)])]
            arrows_here.append(Arrow(*pair, self._written(path), self._written(head) + "Z"))
        return arrows_here

    def _way(self, unit: NodeGroup, out: bool) -> list[tuple[float, float]]:
        """Return the points, along and across the flow, by which an arrow leaves a card or frame or enters it."""
        u, v, length, breadth = self._sides(self.boxes[unit[0]] if len(unit) == 1 else self.frames[unit])
        port = (u + (length if out else 0), v + breadth / 2)
        lines = self.lines[self.bands[self.band[unit[0]]][self.layer[unit[0]]]] if isinstance(unit[0], int) else []
        border = lines[-1 if out else 0] if lines else []
        if len(unit) > 1 or not border or unit[0] in border:
            return [port]
        # Arrows pass through the gaps between cards; those of different cards keep a little apart.
        line = next(line for line in lines if unit[0] in line)
        at = line.index(unit[0])
        aside = 4 * (sum(lines, []).index(unit[0]) % 4 - 1.5)
        gap = (v + breadth + GAP / 2 if at < len(lines[0]) - 1 else v - GAP / 2) + aside
        turn = port[0] + (GAP if out else -GAP) / 2 + (aside / 3 if out else -2)
        far, _, far_length, _ = self._sides(self.boxes[border[0]])
        way = [port, (turn, port[1]), (turn, gap), (far + (far_length if out else 0), gap)]
        return way if out else way[::-1]

    def _sides(self, box: Box) -> tuple[float, float, float, float]:
        """Return the start and the size of a rectangle, each along and across the flow: (u, v, length, breadth)."""
        x, y, width, height = box
        return (x, y, width, height) if self.flow == "right" else (y, x, height, width)

    def _box(self, u: float, v: float, length: float, breadth: float) -> Box:
        return Box(u, v, length, breadth) if self.flow == "right" else Box(v, u, breadth, length)

    def _written(self, pieces: Sequence[PathPiece]) -> str:
        turn = (0, 1) if self.flow == "right" else (1, 0)
        return "".join(
            letter + " ".join(f"{_number(point[turn[0]])} {_number(point[turn[1]])}" for point in points)
            for letter, points in pieces
        )


def _curve(start: tuple[float, float], end: tuple[float, float]) -> PathPiece:
    half = (start[0] + end[0]) / 2
    return ("L", [end]) if start[1] == end[1] else ("C", [(half, start[1]), (half, end[1]), end])


def _rounded(corners: Sequence[tuple[float, float]]) -> list[PathPiece]:
    """Return a right-angled line with rounded corners, or a move to the point if there is only one."""
    path: list[PathPiece] = [("M", [corners[0]])]
    if len(corners) == 1:
        return path
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


def _around(cards: Sequence[Box]) -> Box:
    """Return the frame around cards."""
    left, top = min(box.x for box in cards) - PAD, min(box.y for box in cards) - PAD
    right, bottom = max(box.x + box.width for box in cards) + PAD, max(box.y + box.height for box in cards) + PAD
    return Box(left, top, right - left, bottom - top)


def _loop(card: Box) -> tuple[str, str]:
    """Return the line and head of the arrow around the upper right corner of a card."""
    x, y = card.x + card.width, card.y
    line = f"M{_number(x - 18)} {_number(y)}A14 14 0 1 1 {_number(x + 6)} {_number(y + 18)}"
    head = f"M{_number(x)} {_number(y + 18)}l{HEAD - 1} {-HALF}v{2 * HALF}z"
    return line, head
