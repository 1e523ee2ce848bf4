"""The first view of a page: the procedure as a picture, and what deviates from it in every video."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rgwot.paths import Run
from rgwot.procedure import Deviation, Edge, Node, Procedure
from rgwot.procedure.interface import END, START
from rgwot.procedure.words import listed, moment, number, of_videos, repeats, sentence
from rgwot.reporting.page.layout import Drawing, draw

#: Widths that a procedure is laid out for, in CSS pixels: those of telephones, of a printed page, and of a screen.
WIDTHS = (300, 352, 680, 1216)
#: Lines of videos that are in sight at once; of each, deviations, the most surprising ones.
MOST_LINES, MOST_DEVIATIONS = 30, 6
KINDS = {"missing": "left out", "added": "added", "repeated": "again", "too_early": "too early", "too_late": "too late"}


class Card(NamedTuple):
    """A key step: facts in words, and ``needs``, the arrows that lead to it from other key steps."""

    node: Node
    facts: tuple[str, ...]
    needs: tuple[Edge, ...]
    repeated: str


class Moment(NamedTuple):
    """A deviation in words, and the time to play it from."""

    deviation: Deviation
    words: str
    at: str


class Line(NamedTuple):
    """A video: its place in the manifest, its name, and its deviations by time, the least surprising ones apart."""

    place: int
    name: str
    typical: bool
    moments: tuple[Moment, ...]
    others: tuple[Moment, ...]


class Picture(NamedTuple):
    """The procedure of one run: ``place`` of the run on the page, and everything the template writes.

    ``message`` says why there is nothing to see, or no order; ``arrows`` hold for every arrow its words.
    """

    place: int
    said: tuple[str, ...]
    notes: tuple[str, ...]
    message: str
    cards: tuple[Card, ...]
    drawings: tuple[Drawing, ...]
    arrows: Mapping[tuple[Any, Any], tuple[str, str]]
    weights: Mapping[tuple[Any, Any], str]
    lines: tuple[Line, ...]


def picture(
    place: int,
    procedure: Procedure,
    deviations: Sequence[Deviation],
    videos: Sequence[Mapping[str, Any]],
    names: Mapping[int, str],
    seeds: str = "",
    pictures: bool = True,
) -> Picture:
    """Return what the page shows of a procedure.

    ``videos`` are those of `rgwot.reporting.page.content.Content`, ``seeds`` a sentence on how far seeds agree;
    ``pictures`` leaves room for frames.
    """
    edges = {(edge.before, edge.after): edge for edge in procedure.edges}
    needed = [pair for pair in edges if START not in pair and END not in pair]
    message = ""
    if not procedure.nodes:
        message = "There is no procedure to draw: no video shows a key step, all of their time is background."
    elif len(procedure.nodes) == 1:
        message = "There is only one key step, so there is no order to find. Ask for more key steps with decode.K."
    elif not needed:
        message = "No order holds: no key step comes before another one in enough of the videos. Any order is as good."
    shown = {pair: edge for pair, edge in edges.items() if needed or len(procedure.nodes) < 2}
    by_step = {node.key_step: node for node in procedure.nodes}
    cards = tuple(_card(by_step[step], procedure, edges) for step in procedure.order)
    loops = [node.key_step for node in procedure.nodes if repeats(node)]
    # Without any order all key steps would be one group.
    groups = procedure.groups if needed else ()
    drawings = [draw(procedure.order, shown, groups, loops, width, pictures) for width in WIDTHS] if cards else []
    return Picture(
        place,
        tuple(filter(None, (sentence(procedure, names), seeds))),
        procedure.notes,
        message,
        cards,
        tuple(drawings),
        {pair: arrow_words(edge, names) for pair, edge in shown.items()},
        {pair: _weight(edge) for pair, edge in shown.items()},
        tuple(_lines(procedure, deviations, videos)),
    )


def _card(node: Node, procedure: Procedure, edges: Mapping[tuple[Any, Any], Edge]) -> Card:
    needs = tuple(edge for (before, after), edge in edges.items() if after == node.key_step and before != START)
    facts = (of_videos(node.n_videos, procedure.n_videos).replace("videos", "videos"), f"about {_length(node.duration_s)}")
    return Card(node, facts, needs, f"{node.repeats:.1f} times" if repeats(node) else "")


def _length(seconds: float) -> str:
    if seconds < 9.95:
        return f"{seconds:.1f} s" if seconds < 1.95 else f"{seconds:.0f} s"
    return f"{seconds:.0f} s" if seconds < 99.5 else f"{moment(seconds)} min"


def arrow_words(edge: Edge, names: Mapping[int, str]) -> tuple[str, str]:
    """Say what an arrow means, and how many videos agree."""
    before, after = (f"key step {end}" + (f" ({names[end]})" if end in names else "") for end in (edge.before, edge.after))
    if edge.before == START:
        return f"Nothing has to come before {after}", f"in {edge.both} videos"
    if edge.after == END:
        return f"Nothing has to come after {before}", f"in {edge.both} videos"
    low, high = edge.interval
    share = f"{100 * edge.agree / edge.both:.0f} %" if edge.both else "none"
    interval = f"; with so few, anything from {100 * low:.0f} to {100 * high:.0f} %" if edge.both and high - low > 0.1 else ""
    return (
        f"{before} before {after}".capitalize(),
        f"in {edge.agree} of {edge.both} videos that have both ({share}{interval}); sure to {100 * edge.confidence:.0f} %",
    )


def _weight(edge: Edge) -> str:
    """Return a class for how sure an arrow is."""
    if START in (edge.before, edge.after) or END in (edge.before, edge.after):
        return "end"
    return "sure" if edge.confidence >= 0.9 else "likely" if edge.confidence >= 0.75 else "weak"


def _lines(procedure: Procedure, deviations: Sequence[Deviation], videos: Sequence[Mapping[str, Any]]) -> list[Line]:
    of_video: dict[str, list[Moment]] = {}
    for one in deviations:
        of_video.setdefault(one.video, []).append(Moment(one, KINDS[one.kind], moment(one.start_s)))
    lines = []
    for place, video in enumerate(videos):
        if video["status"] == "skipped":
            continue
        own = sorted(of_video.get(video["id"], []), key=lambda at: (at.deviation.start_s, at.deviation.key_step))
        ranked = sorted(own, key=lambda at: -at.deviation.surprise)
        first = set(ranked[:MOST_DEVIATIONS])
        parts = ([at for at in own if (at in first) is chosen] for chosen in (True, False))
        lines.append(Line(place, video["name"], video["id"] == procedure.typical_video, *map(tuple, parts)))
    return lines


def agreement_words(run: Run, runs: Sequence[Run], agreed: Mapping[tuple[int, int], float]) -> str:
    """Say on which share of the frames the seeds of a run's method and decoder agree; empty for a single one.

    ``agreed`` has the share of frames, 0 to 1, by places of two runs, the earlier one first.
    """
    own = [at for at, other in enumerate(runs) if (other.method, other.decoder) == (run.method, run.decoder)]
    shares = [share for (one, other), share in agreed.items() if one in own and other in own]
    if not shares:
        return ""
    mean = "" if len(shares) == 1 else ", on average over pairs"
    return f"{number(len(own))} seeds agree on {100 * sum(shares) / len(shares):.0f} % of the frames{mean}.".capitalize()


def rules(pictures: Sequence[Picture]) -> str:
    """Return the style rules that place the cards of pictures, for every width."""
    found = []
    for at, width in enumerate(WIDTHS):
        own = [f".v{at}{{display:block}}"]
        if at:
            own.append(f".v{at - 1}{{display:none}}")
        for one in pictures:
            if not one.drawings:
                continue
            drawing = one.drawings[at]
            own.append(f"#sheet-{one.place}{{width:{_px(drawing.width)};height:{_px(drawing.height)}}}")
            for step, box in drawing.cards.items():
                places = zip(("left", "top", "width", "height"), box, strict=True)
                own.append(f"#node-{one.place}-{step}{{{';'.join(f'{key}:{_px(value)}' for key, value in places)}}}")
        block = "\n".join(own)
        found.append(f"@container flow (min-width:{width}px){{\n{block}\n}}" if at else block)
    return ".edges{display:none}\n" + "\n".join(found) + "\n"


def _px(value: float) -> str:
    return f"{round(value, 1):g}px"


def needs_words(card: Card) -> str:
    """Say what a key step needs, for those who do not see the arrows."""
    return f"needs: {listed([str(edge.before) for edge in card.needs])}" if card.needs else "needs nothing"
