"""Task graphs, orders and deviations scored against annotated ones (methods 9.7): pure functions of sets and orders.

A graph is a set of edges (before, after) between key steps; START precedes what needs nothing, END follows what
nothing needs.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

import numpy as np
from scipy.special import betaincinv

from rgwot.evaluation.protocols import Detection, counted, kendall_distance

START, END = "START", "END"
Step = int | str
Edges = AbstractSet[tuple[Step, Step]]
LEVEL = 0.95


def set_scores(true: AbstractSet[Hashable], predicted: AbstractSet[Hashable]) -> Detection:
    """Compare two sets: edges of graphs, (video, key step) that deviate, videos that do.

    >>> set_scores({1, 2, 3}, {2, 3, 4, 5})
    Detection(precision=0.5, recall=0.6666666666666666, f1=0.5714285714285714)
    """
    return counted(len(true), len(predicted), len(true & predicted))


def needs_of(edges: Iterable[tuple[Step, Step]]) -> set[tuple[Step, Step]]:
    """Return all needs between key steps that follow from edges: the transitive closure without START and END.

    >>> sorted(needs_of({("START", 1), (1, 2), (2, 3), (3, "END")}))
    [(1, 2), (1, 3), (2, 3)]
    """
    # Not at the top: every decoding takes `share_interval` from here, and no graph.
    import networkx

    graph: networkx.DiGraph[Step] = networkx.DiGraph(
        (before, after) for before, after in edges if before != START and after != END
    )
    return set(networkx.transitive_closure(graph).edges)


def restricted(edges: Iterable[tuple[Step, Step]], steps: Iterable[Step]) -> set[tuple[Step, Step]]:
    """Return the graph over some of the key steps: the closure of the edges restricted to them, reduced, completed.

    Two kept steps stay ordered where only steps left out lie between them. Steps that no edge names are free: START
    precedes and END follows them. Raises ValueError where the edges run in a circle.

    >>> sorted(restricted({("START", 1), (1, 2), (2, 3), (3, "END")}, [1, 3]), key=str)
    [('START', 1), (1, 3), (3, 'END')]
    """
    import networkx

    nodes = set(steps)
    graph: networkx.DiGraph[Step] = networkx.DiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from((before, after) for before, after in needs_of(edges) if before in nodes and after in nodes)
    if not networkx.is_directed_acyclic_graph(graph):
        raise ValueError(f"edges: found the circle {networkx.find_cycle(graph)}, expected none")
    reduced = set(networkx.transitive_reduction(graph).edges)
    reduced |= {(START, step) for step in nodes if not graph.in_degree(step)}
    return reduced | {(step, END) for step in nodes if not graph.out_degree(step)}


def edge_scores(
    true: Iterable[tuple[Step, Step]], predicted: Iterable[tuple[Step, Step]], matching: Mapping[int, int] | None = None
) -> Detection:
    """Score the edges of a graph, START and END included, as the literature does (arXiv 2406.01486).

    Parameters
    ----------
    true
        Edges as annotated, taken as they are.
    predicted
        Edges as learned.
    matching
        From found key steps to annotated ones, each at most once. The found graph is restricted to those that are
        matched and renamed; what is not found then counts as missed edges. Default: they have the same numbers.
    """
    learned = set(predicted)
    if matching is not None:
        names: dict[Step, Step] = {START: START, END: END}
        for step, name in matching.items():
            names[step] = name
        learned = {(names[before], names[after]) for before, after in restricted(learned, matching)}
    return set_scores(set(true), learned)


def mean_distance(order: Sequence[int], orders: Iterable[Sequence[int]]) -> float:
    """Return the mean normalised Kendall distance of an order from others, 0 to 1; NaN where there is no pair.

    The others say which pairs count; a pair that ``order`` does not have costs 1/2
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

    It reaches 0 where nothing is counted and 1 where everything is (Brown, Cai, DasGupta, "Interval estimation for a
    binomial proportion", 2001); without data it is (0, 1).

    >>> [round(end, 3) for end in share_interval(10, 10)], share_interval(0, 0)
    ([0.783, 1.0], (0.0, 1.0))
    """
    low, high = (
        float(betaincinv(count + 0.5, of - count + 0.5, level)) for level in ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
    )
    return 0.0 if count == 0 else low, 1.0 if count == of else high
