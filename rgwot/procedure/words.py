"""A procedure in words: told from start to end, the steps in layers, and the deviations of a video in a line.

Pure functions of a `Procedure`, shared by the terminal and the page. ``names`` maps key steps to their names; a key
step without one is written as its number.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import networkx as nx

if TYPE_CHECKING:
    from rgwot.procedure.interface import Deviation, Node, Procedure

_NUMBERS = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
#: Stages, and steps of a stage or of a chain; groups, optional steps and deviations: those that are named one by one.
#: The others are counted.
CHAIN, SOME = 8, 4
#: What is said of deviations.
DEVIATION_WORDS = {
    "missing": "left out", "added": "added", "repeated": "again", "too_early": "too early", "too_late": "too late",
}  # fmt: skip


#: Sureness from which a deviation is told as it is, and from which with "perhaps".
SURE, PERHAPS = 0.5, 0.25
#: What is said where nothing deviates.
NOTHING = "nothing unusual found"


def in_words(count: int) -> str:
    """Write a count as a word up to twelve.

    >>> in_words(7), in_words(40)
    ('seven', '40')
    """
    return _NUMBERS[count] if 0 <= count < len(_NUMBERS) else str(count)


def call(key_step: int, names: Mapping[int, str] | None = None) -> str:
    """Return the name of a key step, or its number.

    >>> call(3), call(3, {3: "pour water"})
    ('3', 'pour water')
    """
    return (names or {}).get(key_step, str(key_step))


def called(key_step: int, names: Mapping[int, str] | None = None) -> str:
    """Return what a sentence calls a key step: its number may stand alone only where no key step has a name.

    >>> called(3), called(3, {3: "pour water"}), called(3, {1: "open the box"})
    ('3', 'pour water', 'step 3')
    """
    return f"step {key_step}" if names and key_step not in names else call(key_step, names)


def of_videos(count: int, total: int) -> str:
    """Say in how many videos.

    >>> of_videos(10, 10), of_videos(6, 10), of_videos(1, 1), of_videos(2, 2)
    ('all ten videos', 'six of ten videos', 'the only video', 'both videos')
    """
    if count < total:
        return f"{in_words(count)} of {in_words(total)} videos"
    return {1: "the only video", 2: "both videos"}.get(total, f"all {in_words(total)} videos")


def moment(seconds: float) -> str:
    """Write a time as minutes and seconds, rounded down.

    >>> moment(65.9), moment(3600)
    ('1:05', '60:00')
    """
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def join_words(parts: Sequence[str]) -> str:
    """Join parts as prose does.

    >>> join_words(["1", "2", "5"]), join_words(["4"])
    ('1, 2 and 5', '4')
    """
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else "".join(parts)


def need_layers(procedure: Procedure) -> list[list[int]]:
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


def longest_chain(procedure: Procedure) -> list[int]:
    """Return the longest chain of key steps that are not optional, each needing the one before it.

    Of several, the one that more videos agree with. A step needs another also by way of optional ones, so all needs
    count, not only those of the reduced graph. Where no two usual steps need each other, optional ones take part.
    """
    steps = _told(procedure)
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(step for step in procedure.order if step in steps)
    for need in procedure.needs:
        if need.before in steps and need.after in steps:
            share = need.agree / need.both if need.both else 0.0
            graph.add_edge(need.before, need.after, weight=1 + share / (1 + len(steps)))
    return list(nx.dag_longest_path(graph)) if steps else []


def _told(procedure: Procedure) -> set[int]:
    """Return the key steps that are not optional; all, where no two of those need each other."""
    usual = {node.key_step for node in procedure.nodes if not node.optional}
    return usual if any({need.before, need.after} <= usual for need in procedure.needs) else set(procedure.order)


def sentence(procedure: Procedure, names: Mapping[int, str] | None = None, doubt: str = "") -> str:
    """Tell the procedure from start to end, in a few sentences.

    They have the number of key steps, the stages (`stages`), a ``doubt``, how many videos keep to this order unless all
    seem to, what is optional and what repeats, such as "With four key steps, the order is 1, 2, 6, 4. Sometimes 6: six
    of ten videos." A step that another of a later stage does not need has the words "or later". Where that holds for
    more than half of those that a later stage follows, stages would say little, and `longest_chain` and the groups are
    said instead: "With six key steps, the order is: 1 before 3 before 4; 2 and 5 in either order."
    """
    if not procedure.nodes:
        return "No key step was found: everything is background."
    # The consensus order is that of a reader, too.
    place = {step: at for at, step in enumerate(procedure.order)}
    nodes = sorted(procedure.nodes, key=lambda node: place[node.key_step])
    order, *kept = _order(procedure, names)
    said = [
        order,
        *([doubt] if doubt else []),
        *kept,
        *_optional(nodes, procedure.n_videos, names),
        *_repeated(nodes, names),
    ]
    return " ".join(f"{one}." for one in said)


def stages(procedure: Procedure) -> tuple[list[list[int]], list[int], set[int]]:
    """Return usual key steps in layers, those without any need, and those that may come later than their layer says.

    The latter are not needed by every key step of the later layers. Where no two usual key steps need each other,
    optional ones take part, as in `longest_chain`.
    """
    steps = _told(procedure)
    pairs = {(need.before, need.after) for need in procedure.needs}
    free = steps - {step for pair in pairs for step in pair}
    found = [[step for step in layer if step in steps - free] for layer in need_layers(procedure)]
    found = [layer for layer in found if layer]
    later = {
        step
        for at, layer in enumerate(found)
        for step in layer
        if any((step, other) not in pairs for below in found[at + 1 :] for other in below)
    }
    return found, [step for step in procedure.order if step in free], later


def deviations_in_words(deviations: Sequence[Deviation], names: Mapping[int, str] | None = None) -> str:
    """Say in a line what deviates in one video, the most surprising first; at most `SOME` are named.

    >>> deviations_in_words([])
    'nothing unusual found'
    """
    said = [
        deviation_in_words(one, names)
        for one in sorted(deviations, key=lambda one: (-one.surprise, one.start_s, one.key_step))
        if doubt_of(one) is not None
    ]
    rest = len(said) - SOME
    return ", ".join([*said[:SOME], *([f"and {in_words(rest)} more"] if rest > 0 else [])]) or NOTHING


def doubt_of(deviation: Deviation) -> str | None:
    """Return the word that goes before a deviation: none where it is sure; None where it is too doubtful to be told."""
    sureness = deviation.sureness
    if sureness is None or sureness >= SURE:
        return ""
    return "perhaps" if sureness >= PERHAPS else None


def deviation_in_words(deviation: Deviation, names: Mapping[int, str] | None = None) -> str:
    """Say what deviates, and when where it has a moment, such as "perhaps 3 too early (0:12)"."""
    perhaps = "" if doubt_of(deviation) == "" else "perhaps "
    when = "" if deviation.kind == "missing" else f" ({moment(deviation.start_s)})"
    return f"{perhaps}{call(deviation.key_step, names)} {DEVIATION_WORDS[deviation.kind]}{when}"


def _order(procedure: Procedure, names: Mapping[int, str] | None) -> list[str]:
    """Say how many key steps there are, in which order, and how many videos keep to it."""
    found, free, later = stages(procedure)
    if len(procedure.nodes) == 1:
        return [f"One key step: {called(procedure.order[0], names)}"]
    count = f"With {in_words(len(procedure.nodes))} key steps"
    if not procedure.needs:
        return [f"{count}, there is no fixed order: {_named(procedure.order, names)}"]
    if len(later) <= sum(map(len, found[:-1])) / 2:
        steps = {step for layer in found for step in layer}
        row = [called(layer[0], names) for layer in found]
        if len(steps) == len(row) <= CHAIN and not free:
            said = [f"{count}, the order is {', '.join(row)}"]
        else:
            said = [f"{count}, the order is: {_stages(found, free, later, names)}"]
    else:
        line = longest_chain(procedure)
        steps = set(line)
        groups = [_in_any_order(group, names) for group in procedure.groups]
        said = [f"{count}, the order is: {'; '.join([_chain(line, names), *_some(groups, 'group')])}"]
    counts = [(need.agree, need.both) for need in procedure.needs if {need.before, need.after} <= steps]
    return [*said, *_kept(counts, procedure.n_videos)]


def _stages(
    found: Sequence[Sequence[int]], free: Sequence[int], later: set[int], names: Mapping[int, str] | None
) -> str:
    """Say what comes first, then and last, and what comes at any time; of many stages those at both ends."""
    parts = [_in_any_order(layer, names, later) for layer in found]
    said = [f"{'last' if at == len(parts) - 1 > 1 else 'then' if at else 'first'} {p}" for at, p in enumerate(parts)]
    if len(said) > CHAIN:
        between = sum(map(len, found[CHAIN // 2 : -CHAIN // 2]))
        said = [*said[: CHAIN // 2], f"then {in_words(between)} more", *said[-CHAIN // 2 :]]
    said += [f"at any time {_named(free, names)}"] if free else []
    return (", " if all(len(layer) == 1 for layer in [*found, *([free] if free else [])]) else "; ").join(said)


def _in_any_order(steps: Sequence[int], names: Mapping[int, str] | None, later: Collection[int] = ()) -> str:
    how = {1: "", 2: ", in either order"}.get(len(steps), ", in any order")
    return _named(steps, names, later) + how


def _named(steps: Sequence[int], names: Mapping[int, str] | None, later: Collection[int] = ()) -> str:
    """Name steps, of many the first ones; those of ``later`` with the words "or later"."""
    said = [called(step, names) + (" (or later)" if step in later else "") for step in steps]
    return join_words(said if len(said) <= CHAIN else [*said[: CHAIN - 1], f"{in_words(len(said) - CHAIN + 1)} others"])


def _chain(steps: Sequence[int], names: Mapping[int, str] | None) -> str:
    said = [called(step, names) for step in steps]
    if len(said) <= CHAIN:
        return " before ".join(said)
    first, last = (" before ".join(part) for part in (said[: CHAIN // 2], said[-(CHAIN // 2) :]))
    return f"{first} ... before {last} ({len(said)} in a row)"


def _kept(counts: Sequence[tuple[int, int]], total: int) -> list[str]:
    """Say how many videos agree with needs, of those that have both steps: the weakest need counts.

    Nothing where all seem to, which is the word of one result.
    """
    agree, both = min(counts, key=lambda count: (count[0] / count[1] if count[1] else 0.0, count[1]))
    if agree == both:
        return []
    # Fewer videos may keep to all needs than to the weakest one.
    said, least = ("For any two steps this order holds", "at least ") if len(counts) > 1 else ("This order holds", "")
    if all(count[1] == total for count in counts):
        return [f"{said} in {least}{of_videos(agree, total)}"]
    percent = (100 * agree // both if least else round(100 * agree / both)) if both else 0
    return [f"{said} in {least}{percent} % of the videos that have both"]


def _optional(nodes: Sequence[Node], total: int, names: Mapping[int, str] | None) -> list[str]:
    said = [f"{called(node.key_step, names)}: {of_videos(node.n_videos, total)}" for node in nodes if node.optional]
    return [f"Sometimes {'; '.join(_some(said, 'optional step'))}"] if said else []


def _repeated(nodes: Sequence[Node], names: Mapping[int, str] | None) -> list[str]:
    """Say which key steps repeat, and of a single one how often; of more than a few only how many."""
    found = [node for node in nodes if repeats(node)]
    if not found:
        return []
    if len(found) == 1:
        (one,) = found
        times = round(one.repeat_share * one.n_videos)
        return [
            f"More than once: {called(one.key_step, names)}, in {in_words(times)} of {in_words(one.n_videos)} videos"
        ]
    if len(found) == len(nodes):
        return ["All steps usually come more than once"]
    if len(found) > SOME:
        return [f"{in_words(len(found))} of {in_words(len(nodes))} steps usually come more than once".capitalize()]
    return [f"Usually more than once: {join_words([called(node.key_step, names) for node in found])}"]


def _some(parts: Sequence[str], kind: str) -> list[str]:
    """Return a few parts, and how many there are beyond them."""
    rest = len(parts) - SOME
    return [*parts[:SOME], *([f"{in_words(rest)} more {kind}{'s' if rest > 1 else ''}"] if rest > 0 else [])]
