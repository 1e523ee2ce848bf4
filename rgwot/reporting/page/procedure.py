"""The first view of a page: the procedure as a picture, and what deviates from it in every video."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

from rgwot.paths import Run
from rgwot.procedure import Deviation, Edge, Node, Procedure
from rgwot.procedure.interface import END, START
from rgwot.procedure.words import call, called, listed, moment, number, repeats, sentence
from rgwot.reporting.page.layout import Drawing, Unit, draw
from rgwot.reporting.page.runs import as_sentence

#: Widths that a procedure is laid out for, in CSS pixels: those of telephones, of a printed page, and of a screen.
WIDTHS = (300, 338, 660, 1216)
#: Lines of videos that are in sight at once; of each, deviations, the most surprising ones.
MOST_LINES, MOST_DEVIATIONS = 30, 6
#: Confidence from which an arrow is thick, and from which it is not dashed.
SURE, LIKELY = 0.9, 0.75
KINDS = {
    "missing": "left out, due about", "added": "added", "repeated": "again", "too_early": "too early",
    "too_late": "too late",
}  # fmt: skip
#: Around the number of a key step in a telling that is still to be cut into parts.
_STEP = "\0"


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


class Said(NamedTuple):
    """An arrow in words: what it means, in how many videos, and a class for how sure it is."""

    meaning: str
    share: str
    weight: str


class Picture(NamedTuple):
    """The procedure of one run: ``place`` of the run on the page, and everything the template writes.

    ``said`` are the parts of its telling in turn, since names may still be typed: a key step and what it is called, or
    None and the text between. ``notes`` say what the videos do not support, ``legend`` what the signs in the drawing
    mean, ``arrows`` what each arrow of a drawing means.
    """

    place: int
    said: tuple[tuple[int | None, str], ...]
    notes: tuple[str, ...]
    legend: str
    cards: tuple[Card, ...]
    drawings: tuple[Drawing, ...]
    arrows: Mapping[tuple[Unit, Unit], Said]
    lines: tuple[Line, ...]


def picture(
    place: int,
    procedure: Procedure,
    deviations: Sequence[Deviation],
    videos: Sequence[Mapping[str, Any]],
    names: Mapping[int, str],
    warnings: Sequence[str] = (),
    pictures: bool = True,
) -> Picture:
    """Return what the page shows of a procedure.

    ``videos`` are those of `rgwot.reporting.page.content.Content`, ``warnings`` sentences that
    come before its notes; ``pictures`` leaves room for frames.
    """
    edges = {(edge.before, edge.after): edge for edge in procedure.edges}
    # Without any order, arrows from start and to end would say nothing.
    ordered = len(procedure.nodes) < 2 or any(START not in pair and END not in pair for pair in edges)
    shown = edges if ordered else {}
    by_step = {node.key_step: node for node in procedure.nodes}
    cards = tuple(_card(by_step[step], procedure, edges) for step in procedure.order)
    loops = [node.key_step for node in procedure.nodes if repeats(node)]
    arrows = [edge for edge in shown.values() if edge.before != START and edge.after != END]
    legend = (
        ("A dashed card is optional.", any(node.optional for node in procedure.nodes)),
        ("A loop: usually done more than once.", bool(loops)),
        ("A thin or dashed arrow is less sure.", any(edge.confidence < SURE for edge in arrows)),
    )
    drawings = [draw(procedure.order, shown, procedure.groups, loops, width, pictures) for width in WIDTHS]
    return Picture(
        place,
        tuple(_parts(procedure, names)),
        (*warnings, *map(as_sentence, procedure.notes)),
        " ".join(words for words, there in legend if there),
        cards,
        tuple(drawings) if cards else (),
        {
            (arrow.before, arrow.after): said([shown[pair] for pair in product(arrow.before, arrow.after)], names)
            for drawing in drawings
            for arrow in drawing.arrows
        },
        tuple(_lines(procedure, deviations, videos)),
    )


def _parts(procedure: Procedure, names: Mapping[int, str]) -> list[tuple[int | None, str]]:
    text = sentence(procedure, {step: f"{_STEP}{step}{_STEP}" for step in procedure.order})
    parts = enumerate(text.split(_STEP))
    return [(int(part), called(int(part), names)) if at % 2 else (None, part) for at, part in parts]


def _card(node: Node, procedure: Procedure, edges: Mapping[tuple[Any, Any], Edge]) -> Card:
    needs = tuple(edge for (before, after), edge in edges.items() if after == node.key_step and before != START)
    total = procedure.n_videos
    share = f"{node.n_videos} of {total} videos" if node.n_videos < total else f"all {total} videos"
    if not repeats(node):
        return Card(node, (share, f"about {_length(node.duration_s)}"), needs, "")
    times = f"{node.repeats:.1f}".removesuffix(".0")
    return Card(node, (share, f"{_length(node.duration_s)} in all"), needs, f"{times} times per video")


def _length(seconds: float) -> str:
    if seconds < 9.95:
        return f"{seconds:.1f} s" if seconds < 1.95 else f"{seconds:.0f} s"
    return f"{seconds:.0f} s" if seconds < 99.5 else f"{moment(seconds)} min"


def said(edges: Sequence[Edge], names: Mapping[int, str]) -> Said:
    """Say what an arrow means that stands for one edge or several, and in how many videos it holds."""
    first = edges[0]
    before, after = (
        listed([call(end, names) for end in dict.fromkeys(ends) if isinstance(end, int)])
        for ends in ((edge.before for edge in edges), (edge.after for edge in edges))
    )
    if first.before == START or first.after == END:
        said = f"{after} may come first" if first.before == START else f"{before} may come last"
        return Said(said, "", "end")
    sure, videos = min(edge.confidence for edge in edges), "videos that have both"
    if len(edges) == 1:
        share = f"in {first.agree} of {first.both} {videos}; sure to {100 * sure:.0f} %"
    else:
        least = min(edge.agree / edge.both if edge.both else 0.0 for edge in edges)
        share = f"each in at least {100 * least:.0f} % of the {videos}; sure to at least {100 * sure:.0f} %"
    weight = "sure" if sure >= SURE else "likely" if sure >= LIKELY else "weak"
    return Said(f"{before} before {after}", share, weight)


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


def seeds_agree(run: Run, runs: Sequence[Run], agreed: Callable[[int, int], float | None]) -> tuple[float, str] | None:
    """Return on which share of the frames the seeds of a run's method and decoder agree, also as a sentence.

    None for a single seed.

    ``agreed`` returns the share of frames, 0 to 1, of two runs by their places, the earlier one first; None where they
    have no video in common.
    """
    own = [at for at, other in enumerate(runs) if (other.method, other.decoder) == (run.method, run.decoder)]
    shares = [share for pair in combinations(own, 2) if (share := agreed(*pair)) is not None]
    if not shares:
        return None
    share, mean = sum(shares) / len(shares), "" if len(shares) == 1 else ", on average over pairs"
    return share, f"{number(len(own))} seeds agree on {100 * share:.0f} % of the frames{mean}.".capitalize()


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
