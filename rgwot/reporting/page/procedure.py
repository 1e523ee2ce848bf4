"""The first view of a page: the procedure as a picture, and what deviates from it in every video."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

from rgwot.paths import Run
from rgwot.procedure import Deviation, Edge, Node, Procedure
from rgwot.procedure.interface import END, START
from rgwot.procedure.words import DEVIATION_WORDS, in_words, join_words, moment, repeats, sentence
from rgwot.reporting.page.layout import Drawing, NodeGroup, lay_out
from rgwot.reporting.page.runs import as_sentence

#: Widths that a procedure is laid out for, in CSS pixels: those of telephones, of a printed page, and of a screen.
PAGE_WIDTHS = (300, 338, 660, 1216)
#: Lines of videos that are in sight at once; of each, deviations, the most surprising ones.
MOST_LINES, MOST_DEVIATIONS = 30, 6
#: Confidence from which an arrow is thick, and from which it is not dashed.
SURE, LIKELY = 0.9, 0.75
#: Around the number of a key step in a telling that is still to be cut into parts.
_STEP = "\0"


class Picture(NamedTuple):
    """The procedure of one run: ``place`` of the run on the page, and everything the template writes.

    ``said`` are the parts of its telling in turn, text and the numbers of key steps, for which the page puts their
    names. ``notes`` say what the videos do not support, ``legend`` what the signs in the drawing mean. Of a key step
    ``cards`` have the node, facts in words, and ``needs``, the arrows from other key steps; ``arrows`` in how many
    videos each arrow of a drawing holds (``share``), and a class for how sure it is (``weight``). ``lines`` are the
    videos, with their deviations by time, the least surprising ones apart.
    """

    place: int
    said: Sequence[str]
    notes: Sequence[str]
    legend: str
    cards: Sequence[Mapping[str, Any]]
    drawings: Sequence[Drawing]
    arrows: Mapping[tuple[NodeGroup, NodeGroup], Mapping[str, str]]
    lines: Sequence[Mapping[str, Any]]


def picture(
    place: int,
    procedure: Procedure,
    deviations: Sequence[Deviation],
    videos: Sequence[Mapping[str, Any]],
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
    cards = [_card(by_step[step], procedure) for step in procedure.order]
    loops = [node.key_step for node in procedure.nodes if repeats(node)]
    arrows = [edge for edge in shown.values() if edge.before != START and edge.after != END]
    legend = (
        ("A dashed card is optional.", any(node.optional for node in procedure.nodes)),
        ("A loop: usually done more than once.", bool(loops)),
        ("A thin or dashed arrow is less sure.", any(edge.confidence < SURE for edge in arrows)),
    )
    drawings = [lay_out(procedure.order, shown, procedure.groups, loops, width, pictures) for width in PAGE_WIDTHS]
    text = sentence(procedure, {step: f"{_STEP}{step}{_STEP}" for step in procedure.order})
    return Picture(
        place,
        text.split(_STEP),
        (*warnings, *map(as_sentence, procedure.notes)),
        " ".join(words for words, there in legend if there),
        cards,
        drawings if cards else (),
        {
            (arrow.before, arrow.after): held([shown[pair] for pair in product(arrow.before, arrow.after)])
            for drawing in drawings
            for arrow in drawing.arrows
        },
        _lines(procedure, deviations, videos),
    )


def _card(node: Node, procedure: Procedure) -> dict[str, Any]:
    total, length = procedure.n_videos, _length(node.duration_s)
    share = f"{node.n_videos} of {total} videos" if node.n_videos < total else f"all {total} videos"
    often = repeats(node)
    needs = [edge for edge in procedure.edges if edge.after == node.key_step and edge.before != START]
    return {
        "node": node,
        "facts": (share, f"{length} in all" if often else f"about {length}"),
        "needs": needs,
        # For those who do not see the arrows.
        "unseen": f"needs: {join_words([str(edge.before) for edge in needs])}" if needs else "needs nothing",
        "repeated": f"{node.repeats:.1f}".removesuffix(".0") + " times per video" if often else "",
    }


def _length(seconds: float) -> str:
    if seconds < 9.95:
        return f"{seconds:.1f} s" if seconds < 1.95 else f"{seconds:.0f} s"
    return f"{seconds:.0f} s" if seconds < 99.5 else f"{moment(seconds)} min"


def held(edges: Sequence[Edge]) -> dict[str, str]:
    """Say in how many videos an arrow holds that stands for one edge or several, and how sure it is."""
    first = edges[0]
    if first.before == START or first.after == END:
        return {"share": "", "weight": "end"}
    sure, videos = min(edge.confidence for edge in edges), "videos that have both"
    if len(edges) == 1:
        share = f"in {first.agree} of {first.both} {videos}; sure to {100 * sure:.0f} %"
    else:
        least = min(edge.agree / edge.both if edge.both else 0.0 for edge in edges)
        share = f"each in at least {100 * least:.0f} % of the {videos}; sure to at least {100 * sure:.0f} %"
    weight = "sure" if sure >= SURE else "likely" if sure >= LIKELY else "weak"
    return {"share": share, "weight": weight}


def _lines(
    procedure: Procedure, deviations: Sequence[Deviation], videos: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    lines, said = [], DEVIATION_WORDS | {"missing": "left out, due about"}
    for place, video in enumerate(videos):
        if video["status"] == "skipped":
            continue
        own = sorted(
            (one for one in deviations if one.video == video["id"]), key=lambda one: (one.start_s, one.key_step)
        )
        first = sorted(own, key=lambda one: -one.surprise)[:MOST_DEVIATIONS]
        moments, others = (
            [(one, said[one.kind], moment(one.start_s)) for one in own if (one in first) is chosen]
            for chosen in (True, False)
        )
        typical = video["id"] == procedure.typical_video
        lines.append({"place": place, "name": video["name"], "typical": typical, "moments": moments, "others": others})
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
    return share, f"{in_words(len(own))} seeds agree on {100 * share:.0f} % of the frames{mean}.".capitalize()


def rules(pictures: Sequence[Picture]) -> str:
    """Return the style rules that place the cards of pictures, for every width."""
    found = []
    for at, width in enumerate(PAGE_WIDTHS):
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
