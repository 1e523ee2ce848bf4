"""Scores of task graphs, orders and deviations against annotated ones (methods 9.7).

A graph is a set of edges (before, after) between key steps; START comes before key steps that need nothing, END after
key steps that nothing needs.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

import numpy as np
from scipy.special import betaincinv

from rgwot.evaluation.protocols import Detection, counted, kendall_distance
from rgwot.procedure.interface import END, START

Step = int | str
Edges = AbstractSet[tuple[Step, Step]]
LEVEL = 0.95


def set_scores(true: AbstractSet[Hashable], predicted: AbstractSet[Hashable]) -> Detection:
    """Compare two sets, such as edges of graphs, or pairs (video, key step) that deviate.

    >>> set_scores({1, 2, 3}, {2, 3, 4, 5})
    Detection(precision=0.5, recall=0.6666666666666666, f1=0.5714285714285714)
    """
    return counted(len(true), len(predicted), len(true & predicted))


def needs_of(edges: Iterable[tuple[Step, Step]]) -> set[tuple[Step, Step]]:
    """Return all needs between key steps that follow from edges: the transitive closure without START and END.

    >>> sorted(needs_of({("START", 1), (1, 2), (2, 3), (3, "END")}))
    [(1, 2), (1, 3), (2, 3)]
    """
    # Imported here, because every decoding imports this module for `share_interval` and needs no graph.
    import networkx

    graph: networkx.DiGraph[Step] = networkx.DiGraph(
        (before, after) for before, after in edges if before != START and after != END
    )
    return set(networkx.transitive_closure(graph).edges)


def restricted(edges: Iterable[tuple[Step, Step]], steps: Iterable[Step]) -> set[tuple[Step, Step]]:
    """Return the graph over some of the key steps: the closure of the edges, restricted to them, reduced and completed.

    Two key steps stay ordered if only removed key steps are between them. Key steps without an edge lie between START
    and END. Raises ValueError if the edges have a cycle.

    >>> sorted(restricted({("START", 1), (1, 2), (2, 3), (3, "END")}, [1, 3]), key=str)
    [('START', 1), (1, 3), (3, 'END')]
    """
    import networkx

    nodes = set(steps)
    graph: networkx.DiGraph[Step] = networkx.DiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from((before, after) for before, after in needs_of(edges) if before in nodes and after in nodes)
    if not networkx.is_directed_acyclic_graph(graph):
        raise ValueError(f"edges: found the cycle {networkx.find_cycle(graph)}, expected none")
    reduced = set(networkx.transitive_reduction(graph).edges)
    reduced |= {(START, step) for step in nodes if not graph.in_degree(step)}
    return reduced | {(step, END) for step in nodes if not graph.out_degree(step)}


def edge_scores(
    true: Iterable[tuple[Step, Step]], predicted: Iterable[tuple[Step, Step]], matching: Mapping[int, int] | None = None
) -> Detection:
    """Score the edges of a graph, including START and END, as in the literature (arXiv 2406.01486).

    Parameters
    ----------
    true
        Annotated edges, used without changes.
    predicted
        Learned edges.
    matching
        Annotated key step for each decoded one, each at most once. The learned graph is restricted to matched key
        steps, which are renamed; the edges of missing key steps count as missed. By default, key steps of equal
        number match.
    """
    learned = set(predicted)
    if matching is not None:
        names: dict[Step, Step] = {START: START, END: END}
        for step, name in matching.items():
            names[step] = name
        learned = {(names[before], names[after]) for before, after in restricted(learned, matching)}
    return set_scores(set(true), learned)


def mean_distance(order: Sequence[int], orders: Iterable[Sequence[int]]) -> float:
    """Return the mean normalised Kendall distance of an order from others, 0 to 1; NaN without pairs.

    The pairs of key steps in the other orders count; a pair that ``order`` lacks costs 1/2
    (`rgwot.evaluation.protocols.kendall_distance`).

    >>> mean_distance([1, 2, 3], [[1, 2, 3], [2, 1, 3], [4, 1]])
    0.27777777777777773
    """
    place = {step: (rank, 1) for rank, step in enumerate(order)}
    distances = [kendall_distance({step: (rank, 1) for rank, step in enumerate(other)}, place) for other in orders]
    distances = [distance for distance in distances if not np.isnan(distance)]
    return float(np.mean(distances)) if distances else float("nan")


def share_interval(count: int, of: int) -> tuple[float, float]:
    """Return Jeffreys' interval of a share at 95 %: quantiles of Beta(count + ½, of − count + ½).

    It reaches 0 if ``count`` is 0, and 1 if ``count`` is ``of`` (Brown, Cai, DasGupta, "Interval estimation for a
    binomial proportion", 2001); without data it is (0, 1).

    >>> [round(end, 3) for end in share_interval(10, 10)], share_interval(0, 0)
    ([0.783, 1.0], (0.0, 1.0))
    """
    low, high = (
        float(betaincinv(count + 0.5, of - count + 0.5, level)) for level in ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
    )
    return 0.0 if count == 0 else low, 1.0 if count == of else high
