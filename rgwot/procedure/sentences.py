"""Sentences that describe a procedure and the deviations of a video, and the key steps in layers.

The terminal and the page share these functions of a `Procedure`. ``names`` maps key steps to their names; a key step
without a name is written as its number.
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
#: How many parts a sentence names before it counts the others: stages, and steps of a stage or chain (`CHAIN`); groups,
#: optional steps and deviations (`SOME`).
CHAIN, SOME = 8, 4
#: Words for deviations in sentences.
DEVIATION_WORDS = {
    "missing": "left out", "added": "added", "repeated": "again", "too_early": "too early", "too_late": "too late",
}  # fmt: skip


#: A deviation is stated as a fact if its sureness is at least `SURE`, and with "perhaps" if it is at least `PERHAPS`.
SURE, PERHAPS = 0.7, 0.25
#: The texts for a video without deviations, and for one whose deviations are all too doubtful to report.
NOTHING, DOUBTFUL = "nothing unusual found", "only doubtful deviations"


def in_words(count: int) -> str:
    """Write a count up to twelve as a word, a larger one in digits.

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
    """Return the name of a key step in a sentence; if other key steps have names, a number is written as "step 3".

    >>> called(3), called(3, {3: "pour water"}), called(3, {1: "open the box"})
    ('3', 'pour water', 'step 3')
    """
    return f"step {key_step}" if names and key_step not in names else call(key_step, names)


def of_videos(count: int, total: int) -> str:
    """Write a number of videos and their total.

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
    """Join parts with commas and "and".

    >>> join_words(["1", "2", "5"]), join_words(["4"])
    ('1, 2 and 5', '4')
    """
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else "".join(parts)


def need_layers(procedure: Procedure) -> list[list[int]]:
    """Return the key steps in layers, so that each lies below all key steps that it needs.

    The layer of a key step is the length of the longest chain of needs that leads to it. Within a layer key steps are
    in the consensus order; START and END are left out.
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
    """Return the longest chain of key steps that are not optional and each need the one before.

    Ties go to the chain that more videos agree with. All needs count, not only those of the reduced graph, because a
    step can need another by way of an optional one. If no two usual steps need each other, optional ones take part.
    """
    steps = _usual_steps(procedure)
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(step for step in procedure.order if step in steps)
    for need in procedure.needs:
        if need.before in steps and need.after in steps:
            share = need.agree / need.both if need.both else 0.0
            graph.add_edge(need.before, need.after, weight=1 + share / (1 + len(steps)))
    return list(nx.dag_longest_path(graph)) if steps else []


def _usual_steps(procedure: Procedure) -> set[int]:
    """Return the key steps that are not optional, or all if no two of those need each other."""
    usual = {node.key_step for node in procedure.nodes if not node.optional}
    return usual if any({need.before, need.after} <= usual for need in procedure.needs) else set(procedure.order)


def sentence(procedure: Procedure, names: Mapping[int, str] | None = None, doubt: str = "") -> str:
    """Describe the procedure from start to end in a few sentences.

    They give the number of key steps, the stages (`stages`), a ``doubt``, how many videos keep to this order (unless
    all do), and the optional and repeated key steps: "With four key steps, the order found is 1, 2, 6, 4. Found
    more than once: 6, in six of ten videos." A key step that may also come after a later stage gets the words "or
    later". If this holds for more than half of the key steps that have a later stage, stages would say little; the
    sentence then gives `longest_chain` and the groups: "With six key steps, the order found is: 1 before 3 before 4; 2
    and 5 in either order."
    """
    if not procedure.nodes:
        return "No key step was found: everything is background."
    # Key steps are named in the consensus order, which readers expect.
    place = {step: at for at, step in enumerate(procedure.order)}
    nodes = sorted(procedure.nodes, key=lambda node: place[node.key_step])
    order, *agreement = _order(procedure, names)
    sentences = [
        order,
        *([doubt] if doubt else []),
        *agreement,
        *_optional(nodes, procedure.n_videos, names),
        *_repeated(nodes, names),
    ]
    return " ".join(f"{text}." for text in sentences)


def stages(procedure: Procedure) -> tuple[list[list[int]], list[int], set[int]]:
    """Return the usual key steps in layers, those without any need, and those that may also come later.

    A key step may come later than its layer unless every key step of the later layers needs it. If no two usual key
    steps need each other, optional ones take part, as in `longest_chain`.
    """
    steps = _usual_steps(procedure)
    pairs = {(need.before, need.after) for need in procedure.needs}
    free = steps - {step for pair in pairs for step in pair}
    layers = [[step for step in layer if step in steps - free] for layer in need_layers(procedure)]
    layers = [layer for layer in layers if layer]
    later = {
        step
        for at, layer in enumerate(layers)
        for step in layer
        if any((step, other) not in pairs for below in layers[at + 1 :] for other in below)
    }
    return layers, [step for step in procedure.order if step in free], later


def deviations_in_words(deviations: Sequence[Deviation], names: Mapping[int, str] | None = None) -> str:
    """Return the deviations of a video in a line, the most surprising first; at most `SOME` are named.

    >>> deviations_in_words([])
    'nothing unusual found'
    """
    texts = [
        deviation_in_words(deviation, names)
        for deviation in sorted(
            deviations, key=lambda deviation: (-deviation.surprise, deviation.start_s, deviation.key_step)
        )
        if doubt_of(deviation) is not None
    ]
    n_more = len(texts) - SOME
    text = ", ".join([*texts[:SOME], *([f"and {in_words(n_more)} more"] if n_more > 0 else [])])
    return text or (DOUBTFUL if deviations else NOTHING)


def doubt_of(deviation: Deviation) -> str | None:
    """Return the word before a deviation: "" if it is sure, "perhaps" if not, None if it is too doubtful to report."""
    sureness = deviation.sureness
    if sureness is None or sureness >= SURE:
        return ""
    return "perhaps" if sureness >= PERHAPS else None


def deviation_in_words(deviation: Deviation, names: Mapping[int, str] | None = None) -> str:
    """Return a deviation as text, with its time unless a step is missing, such as "perhaps 3 too early (0:12)"."""
    perhaps = "" if doubt_of(deviation) == "" else "perhaps "
    when = "" if deviation.kind == "missing" else f" ({moment(deviation.start_s)})"
    return f"{perhaps}{call(deviation.key_step, names)} {DEVIATION_WORDS[deviation.kind]}{when}"


def _order(procedure: Procedure, names: Mapping[int, str] | None) -> list[str]:
    """Return sentences on the number of key steps, their order, and how many videos keep to it."""
    layers, free, later = stages(procedure)
    if len(procedure.nodes) == 1:
        return [f"One key step: {called(procedure.order[0], names)}"]
    count = f"With {in_words(len(procedure.nodes))} key steps"
    if not procedure.needs:
        return [f"{count}, there is no fixed order: {_named(procedure.order, names)}"]
    if len(later) <= sum(map(len, layers[:-1])) / 2:
        steps = {step for layer in layers for step in layer}
        row = [called(layer[0], names) for layer in layers]
        all_named = len(steps) + len(free) == len(procedure.nodes)
        # 80 %: `rgwot.procedure.learning.OPTIONAL_BELOW`.
        order = "the order found" if all_named else "the order of those found in at least 80 % of the videos"
        if len(steps) == len(row) <= CHAIN and not free:
            sentences = [f"{count}, {order} is {', '.join(row)}"]
        else:
            sentences = [f"{count}, {order} is: {_stages(layers, free, later, names)}"]
    else:
        line = longest_chain(procedure)
        steps = set(line)
        groups = [_in_any_order(group, names) for group in procedure.groups]
        sentences = [f"{count}, the order found is: {'; '.join([_chain(line, names), *_some(groups, 'group')])}"]
    counts = [(need.agree, need.both) for need in procedure.needs if {need.before, need.after} <= steps]
    return [*sentences, *_agreement(counts, procedure.n_videos)]


def _stages(
    layers: Sequence[Sequence[int]], free: Sequence[int], later: set[int], names: Mapping[int, str] | None
) -> str:
    """Put stages into words (if there are many, only those at both ends), and key steps that may come at any time."""
    parts = [_in_any_order(layer, names, later) for layer in layers]
    texts = [f"{'last' if at == len(parts) - 1 > 1 else 'then' if at else 'first'} {p}" for at, p in enumerate(parts)]
    # Nine layers are all named, because "then one more" would not be shorter.
    if len(texts) > CHAIN + 1:
        between = sum(map(len, layers[CHAIN // 2 : -CHAIN // 2]))
        texts = [*texts[: CHAIN // 2], f"then {in_words(between)} more", *texts[-CHAIN // 2 :]]
    texts += [f"at any time {_named(free, names)}"] if free else []
    return (", " if all(len(layer) == 1 for layer in [*layers, *([free] if free else [])]) else "; ").join(texts)


def _in_any_order(steps: Sequence[int], names: Mapping[int, str] | None, later: Collection[int] = ()) -> str:
    how = {1: "", 2: ", in either order"}.get(len(steps), ", in any order")
    return _named(steps, names, later) + how


def _named(steps: Sequence[int], names: Mapping[int, str] | None, later: Collection[int] = ()) -> str:
    """Name steps, or the first of many; those of ``later`` get the words "or later"."""
    texts = [called(step, names) + (" (or later)" if step in later else "") for step in steps]
    return join_words(
        texts if len(texts) <= CHAIN else [*texts[: CHAIN - 1], f"{in_words(len(texts) - CHAIN + 1)} others"]
    )


def _chain(steps: Sequence[int], names: Mapping[int, str] | None) -> str:
    texts = [called(step, names) for step in steps]
    if len(texts) <= CHAIN:
        return " before ".join(texts)
    first, last = (" before ".join(part) for part in (texts[: CHAIN // 2], texts[-(CHAIN // 2) :]))
    return f"{first} ... before {last} ({len(texts)} in a row)"


def _agreement(counts: Sequence[tuple[int, int]], total: int) -> list[str]:
    """Return a sentence on how many of the videos with both key steps of the weakest need agree with it.

    Return nothing if all agree, because another decoding might find videos that do not.
    """
    agree, both = min(counts, key=lambda count: (count[0] / count[1] if count[1] else 0.0, count[1]))
    if agree == both:
        return []
    # Fewer videos may agree with all needs at once than with the weakest one, so the sentence is about any two steps.
    start, least = ("For any two steps this order holds", "at least ") if len(counts) > 1 else ("This order holds", "")
    if all(count[1] == total for count in counts):
        return [f"{start} in {least}{of_videos(agree, total)}"]
    percent = (100 * agree // both if least else round(100 * agree / both)) if both else 0
    return [f"{start} in {least}{percent} % of the videos where both were found"]


def _optional(nodes: Sequence[Node], total: int, names: Mapping[int, str] | None) -> list[str]:
    texts = [f"{called(node.key_step, names)}, in {of_videos(node.n_videos, total)}" for node in nodes if node.optional]
    return [f"Found in some videos only: {'; '.join(_some(texts, 'key step'))}"] if texts else []


def _repeated(nodes: Sequence[Node], names: Mapping[int, str] | None) -> list[str]:
    """Return a sentence on repeated key steps: for one, how often it repeats; for several, their names or number."""
    repeated = [node for node in nodes if repeats(node)]
    if not repeated:
        return []
    if len(repeated) == 1:
        (node,) = repeated
        times = round(node.repeat_share * node.n_videos)
        return [
            f"Found more than once: {called(node.key_step, names)}, "
            f"in {in_words(times)} of {in_words(node.n_videos)} videos"
        ]
    if len(repeated) == len(nodes):
        return ["All steps usually come more than once"]
    if len(repeated) > SOME:
        return [f"{in_words(len(repeated))} of {in_words(len(nodes))} steps usually come more than once".capitalize()]
    return [f"Usually more than once: {join_words([called(node.key_step, names) for node in repeated])}"]


def _some(parts: Sequence[str], kind: str) -> list[str]:
    """Return the first parts, and the number of the others."""
    n_more = len(parts) - SOME
    return [*parts[:SOME], *([f"{in_words(n_more)} more {kind}{'s' if n_more > 1 else ''}"] if n_more > 0 else [])]
