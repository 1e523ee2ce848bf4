"""A procedure in words: one plain sentence, the steps in layers, and the deviations of a video in a line.

Pure functions of a `Procedure`, shared by the terminal and the page. ``names`` maps key steps to their names; a key
step without one is written as its number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import networkx as nx

if TYPE_CHECKING:
    from rgwot.procedure.interface import Deviation, Node, Procedure

_NUMBERS = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
#: Steps of a chain, groups, optional steps and deviations that one sentence names; the others are counted.
CHAIN, SOME = 8, 4


def number(count: int) -> str:
    """Write a count as a word up to twelve.

    >>> number(7), number(40)
    ('seven', '40')
    """
    return _NUMBERS[count] if 0 <= count < len(_NUMBERS) else str(count)


def call(key_step: int, names: Mapping[int, str] | None = None) -> str:
    """Return the name of a key step, or its number.

    >>> call(3), call(3, {3: "pour water"})
    ('3', 'pour water')
    """
    return (names or {}).get(key_step, str(key_step))


def of_videos(count: int, total: int) -> str:
    """Say in how many videos.

    >>> of_videos(10, 10), of_videos(6, 10), of_videos(1, 1), of_videos(2, 2)
    ('all ten videos', 'six of ten videos', 'the only video', 'both videos')
    """
    if count < total:
        return f"{number(count)} of {number(total)} videos"
    return {1: "the only video", 2: "both videos"}.get(total, f"all {number(total)} videos")


def moment(seconds: float) -> str:
    """Write a time as minutes and seconds, rounded down.

    >>> moment(65.9), moment(3600)
    ('1:05', '60:00')
    """
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def listed(parts: Sequence[str]) -> str:
    """Join parts as prose does.

    >>> listed(["1", "2", "5"]), listed(["4"])
    ('1, 2 and 5', '4')
    """
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else "".join(parts)


def layers(procedure: Procedure) -> list[list[int]]:
    """Return the key steps in layers, each in the consensus order: a step lies below all steps it needs.

    The layer of a step is the length of the longest chain of needs that leads to it. START and END are in none.
    """
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(procedure.order)
    graph.add_edges_from((need.before, need.after) for need in procedure.needs)
    place = {step: at for at, step in enumerate(procedure.order)}
    return [sorted(layer, key=lambda step: place[step]) for layer in nx.topological_generations(graph)]


def repeats(node: Node) -> bool:
    """Return whether at least half of the videos that have a key step show it more than once."""
    return node.repeat_share >= 0.5


def chain(procedure: Procedure) -> list[int]:
    """Return the longest chain of key steps that are not optional, each needing the one before it.

    Of several, the one that more videos agree with. A step needs another also by way of optional ones, so all needs
    count, not only those of the reduced graph. Where no two usual steps need each other, optional ones take part.
    """
    usual = {node.key_step for node in procedure.nodes if not node.optional}
    found = _longest(procedure, usual)
    return found if len(found) > 1 else _longest(procedure, set(procedure.order))


def _longest(procedure: Procedure, steps: set[int]) -> list[int]:
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(step for step in procedure.order if step in steps)
    for need in procedure.needs:
        if need.before in steps and need.after in steps:
            share = need.agree / need.both if need.both else 0.0
            graph.add_edge(need.before, need.after, weight=1 + share / (1 + len(steps)))
    return list(nx.dag_longest_path(graph)) if steps else []


def sentence(procedure: Procedure, names: Mapping[int, str] | None = None) -> str:
    """Say in one sentence what the procedure is.

    It has the number of key steps, the longest chain that is needed, what comes in either order, what is optional and
    what repeats, such as "Seven key steps; 1 before 2 before 4 in all ten videos; 3 and 5 in either order; 6 in six of
    ten."
    """
    if not procedure.nodes:
        return "No key step was found: everything is background."
    # The consensus order is that of a reader, too.
    place = {step: at for at, step in enumerate(procedure.order)}
    steps, total = sorted(procedure.nodes, key=lambda node: place[node.key_step]), procedure.n_videos
    parts = [f"{number(len(steps))} key step{'s' if len(steps) > 1 else ''}".capitalize()]
    parts += _needs(procedure, names)
    parts += _some(
        [
            f"{listed([call(step, names) for step in group])} in {'either' if len(group) == 2 else 'any'} order"
            for group in procedure.groups
        ],
        "group",
    )
    parts += _some([_shared(node, total, names) for node in steps if node.optional], "optional step")
    repeated = [node for node in steps if repeats(node)]
    every = len(repeated) == len(steps) > 1
    parts += ["all usually more than once"] if every else _repeated(repeated, names)
    return "; ".join(parts) + "."


def deviations_in_words(
    deviations: Sequence[Deviation], names: Mapping[int, str] | None = None, most: int = SOME
) -> str:
    """Say in a line what deviates in one video, the most surprising first; at most ``most`` are named.

    >>> deviations_in_words([])
    'as the procedure has it'
    """
    said = [
        deviation_in_words(one, names)
        for one in sorted(deviations, key=lambda one: (-one.surprise, one.start_s, one.key_step))
    ]
    rest = len(said) - most
    return ", ".join([*said[:most], *([f"and {number(rest)} more"] if rest > 0 else [])]) or "as the procedure has it"


def deviation_in_words(deviation: Deviation, names: Mapping[int, str] | None = None) -> str:
    """Say what deviates, and when where it has a moment, such as "3 too early (0:12)"."""
    what = {
        "missing": "left out",
        "added": "added",
        "repeated": "again",
        "too_early": "too early",
        "too_late": "too late",
    }[deviation.kind]
    when = "" if deviation.kind == "missing" else f" ({moment(deviation.start_s)})"
    return f"{call(deviation.key_step, names)} {what}{when}"


def _needs(procedure: Procedure, names: Mapping[int, str] | None) -> list[str]:
    """Say the chain and how many videos keep to it."""
    steps = chain(procedure)
    if len(steps) < 2:
        return ["no fixed order among them"] if len(procedure.nodes) > 1 and not procedure.groups else []
    called = [call(step, names) for step in steps]
    text = " before ".join(called)
    if len(called) > CHAIN:
        first, last = (" before ".join(part) for part in (called[: CHAIN // 2], called[-(CHAIN // 2) :]))
        text = f"{first} ... before {last} ({len(called)} in a row)"
    pairs = set(pairwise(steps))
    counts = [(need.agree, need.both) for need in procedure.needs if (need.before, need.after) in pairs]
    return [f"{text} {_how_often(counts, procedure.n_videos)}"]


def _how_often(counts: Sequence[tuple[int, int]], total: int) -> str:
    """Say how many videos agree with every need of a chain, of those that have both steps: the weakest need counts."""
    if all(count == (total, total) for count in counts):
        return f"in {of_videos(total, total)}"
    agree, both = min(counts, key=lambda count: (count[0] / count[1] if count[1] else 0.0, count[1]))
    if agree == both:
        return "in every video that has them"
    least = "at least " if len(counts) > 1 else ""
    if all(count[1] == total for count in counts):
        return f"in {least}{of_videos(agree, total)}"
    return f"in {least}{100 * agree / both if both else 0:.0f} % of the videos that have both"


def _shared(node: Node, total: int, names: Mapping[int, str] | None) -> str:
    return f"{call(node.key_step, names)} in {number(node.n_videos)} of {number(total)}"


def _repeated(nodes: Sequence[Node], names: Mapping[int, str] | None) -> list[str]:
    """Say which key steps repeat, and of a single one how often; of more than a few only how many."""
    if len(nodes) == 1:
        times = round(nodes[0].repeat_share * nodes[0].n_videos)
        return [f"{call(nodes[0].key_step, names)} more than once in {number(times)} of {number(nodes[0].n_videos)}"]
    some = listed([call(node.key_step, names) for node in nodes]) if len(nodes) <= SOME else number(len(nodes))
    return [f"{some} usually more than once"] if nodes else []


def _some(parts: Sequence[str], kind: str) -> list[str]:
    """Return a few parts, and how many there are beyond them."""
    rest = len(parts) - SOME
    return [*parts[:SOME], *([f"{number(rest)} more {kind}{'s' if rest > 1 else ''}"] if rest > 0 else [])]
