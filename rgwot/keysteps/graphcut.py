"""Fuzzy C-means followed by a graph cut on the temporal chain: the decoder of the paper (methods 5.1)."""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rgwot.diagnostics import Facts
from rgwot.keysteps.collapse import direction_eigenvalue
from rgwot.keysteps.fuzzy_cmeans import auto_fuzzifier, frame_of, fuzzy_cmeans, memberships_in
from rgwot.keysteps.interface import Decoded, Frames, Learned, Predict
from rgwot.keysteps.settings import Graphcut

LabelMetric = Literal["potts", "linear"]
UnaryPer = Literal["second", "sample", "frame_pair"]


def label_distance(K: int, metric: LabelMetric) -> NDArray[np.int64]:
    """Return d (K, K) as whole numbers: [a != b] for ``potts``, |a - b| for ``linear``."""
    steps = np.abs(np.subtract.outer(np.arange(K), np.arange(K)))
    return (steps > 0 if metric == "potts" else steps).astype(np.int64)


def unary_weight(unary: float, per: UnaryPer, features_fps: float, native_fps: float) -> float:
    """Return the weight w_u of one sample of a video.

    With a weight per second, or per two native frames (the public code applies the graph cut to every second frame),
    the smoothing does not depend on how densely a video was sampled. At 30 frames per second, the published 0.2 per two
    frames is 3.0 per second. ``unary`` is the weight per second, sample or pair of frames, as ``per`` says; the rates
    are samples and frames per second of the video, > 0.
    """
    if per == "sample":
        return unary
    return unary / features_fps if per == "second" else unary * native_fps / 2 / features_fps


def edge_weights(lengths: Sequence[int], weight: float, joined: bool) -> NDArray[np.float64]:
    """Return w (T - 1,): ``weight`` between neighbours in one video, 0 between two videos unless ``joined``.

    ``lengths`` are the samples of each video in the order of the chain, at least 1 each.

    Examples
    --------
    >>> edge_weights([2, 3], 0.5, joined=False)
    array([0.5, 0. , 0.5, 0.5])
    """
    weights = np.full(sum(lengths) - 1, float(weight))
    if not joined:
        weights[np.cumsum(lengths)[:-1] - 1] = 0
    return weights


def energy(
    labels: NDArray[np.integer],
    unary: NDArray[np.floating],
    weights: NDArray[np.floating],
    distance: NDArray[np.floating] | NDArray[np.integer],
) -> float:
    """Return E(labels) = sum_t unary[t, l_t] + sum_t weights[t] distance[l_t, l_{t+1}].

    ``labels`` (T,) lie in 0..K-1; the other shapes are (T, K), (T - 1,) and (K, K).
    """
    data = unary[np.arange(len(unary)), labels].sum()
    return float(data + (weights * distance[labels[:-1], labels[1:]]).sum())


def minimise_chain(
    unary: NDArray[np.floating], weights: NDArray[np.floating], metric: LabelMetric
) -> NDArray[np.int64]:
    """Return labels (T,) of smallest energy sum_t unary[t, l_t] + sum_t weights[t] d(l_t, l_{t+1}).

    It computes M_0 = unary_0, M_t[a] = unary_t[a] + min_b (M_{t-1}[b] + w_{t-1} d(b, a)), and goes back from the best
    last label. The inner minimum is taken for all a at once, so the whole costs O(T K). Labels are in 0..K-1; ties go
    to a labelling that switches late and to the smallest label.

    Parameters
    ----------
    unary
        (T, K) finite costs.
    weights
        (T - 1,) edge weights >= 0; 0 cuts the chain (see `edge_weights`).
    metric
        ``potts`` or ``linear``.
    """
    K = unary.shape[1]
    distance = label_distance(K, metric)
    best = np.array(unary, dtype=np.float64)
    for t, weight in enumerate(weights, start=1):
        before = best[t - 1]
        if metric == "potts":
            best[t] += np.minimum(before, before.min() + weight)
        else:
            # The cheapest source at or below each label, then at or above it (a distance transform).
            slopes = weight * np.arange(K)
            below = np.minimum.accumulate(before - slopes) + slopes
            above = np.minimum.accumulate((before + slopes)[::-1])[::-1] - slopes
            best[t] += np.minimum(np.minimum(below, before), above)
    labels = np.empty(len(best), dtype=np.int64)
    labels[-1] = best[-1].argmin()
    for t in range(len(weights) - 1, -1, -1):
        following = labels[t + 1]
        via = best[t] + weights[t] * distance[following]
        cheapest = via.argmin()
        # Staying wins a tie, so that equal costs do not make segments.
        labels[t] = following if via[following] <= via[cheapest] else cheapest
    return labels


# The library aborts the process if any single term exceeds 1e7; a tenth leaves room for its sums in 32 bits.
LARGEST_TERM = 1_000_000
#: The warning if the library is missing and another solver takes its place (``instead_of`` in the facts).
INSTEAD = (
    "graph cut: gco-wrapper is not installed, so graphcut.solver is exact, the minimum on the chain, instead of "
    "expansion; if you may use a library for research only: pip install 'rgwot[gco]' (it needs a C++ compiler)"
)


def expand_labels(unary: NDArray[np.floating], weights: NDArray[np.floating], metric: LabelMetric) -> NDArray[np.int64]:
    """Return labels (T,) that no alpha-expansion move improves.

    It starts from the cheapest label of every sample and minimises sum_t unary[t, l_t] + sum_t weights[t] d(l_t,
    l_{t+1}) by cycles of expansion moves (GCO library): for one label alpha after the other, the best set of samples to
    change to alpha is a minimum cut. With two labels one move is exact; with more the result is a strong local minimum,
    at most twice the optimum for Potts.

    Arguments are the same as for `minimise_chain`. Where a weight is 0, as between two videos, the graph has no edge.

    Notes
    -----
    The library works with whole numbers. Given real numbers, it rounds the label distances by itself, which can break
    the triangle inequality, and then it ends the whole process. Here distances are the whole numbers d(a, b), their
    factor is in the edge weights, and the unary term is scaled to match. Equal edge weights, the only ones a decoder
    makes, are kept exactly, and unary costs to about 1e-5 of a switch. Costs that exceed the cheapest label of their
    sample by more than any pair of switches could save are cut off at this limit: no minimum uses them, and no term is
    too large.
    """
    T, K = unary.shape
    cheapest = np.asarray(unary.argmin(axis=1), dtype=np.int64)
    present = np.flatnonzero(weights > 0)
    if K == 1 or len(present) == 0:
        return cheapest
    distance = label_distance(K, metric)
    largest = int(distance.max())
    unit = LARGEST_TERM // (2 * largest + 1)
    scale = unit / weights.max()
    above = (unary - unary.min(axis=1, keepdims=True)) * scale
    relative = np.rint(np.minimum(above, 2.0 * unit * largest + 1))
    graph = _gco().GCO()
    graph.create_general_graph(T, K)
    try:
        # The library reads the buffer row by row, whatever its strides say.
        graph.set_data_cost(np.ascontiguousarray(relative, dtype=np.intc))
        graph.set_all_neighbors(present, present + 1, np.rint(weights[present] * scale).astype(np.intc))
        graph.set_smooth_cost(distance.astype(np.intc))
        for t, label in enumerate(cheapest):
            graph.init_label_at_site(t, int(label))
        graph.expansion(-1)
        return np.asarray(graph.get_labels(), dtype=np.int64)
    finally:
        graph.destroy_graph()


@dataclass(frozen=True, kw_only=True)
class _FuzzyFacts(Facts):
    """How fuzzy c-means ended: its objective, and whether centres coincide."""

    objective: float
    iterations: int
    converged: bool
    collapsed: bool
    distinct_centres: int


@dataclass(frozen=True, kw_only=True)
class _CutFacts(Facts):
    """The solver of a graph cut, the missing one that it replaces, and its energy beside the exact minimum."""

    solver: str
    instead_of: str | None = None
    metric: str
    energy: float
    exact_energy: float
    relative_gap: float


def decode_graphcut(frames: Frames, K: int, generator: np.random.Generator, settings: Graphcut) -> Decoded:
    """Cluster softly, then cut: the decoder ``graphcut`` (see `rgwot.keysteps.interface.Decode`).

    The exact minimum is always computed as well, in O(T K); the relative gap of the chosen solver goes to the
    facts.
    """
    lambda_1 = direction_eigenvalue(frames.x)
    m = auto_fuzzifier(lambda_1) if settings.m == "auto" else float(settings.m)
    clusters = fuzzy_cmeans(
        frames.x, K, m, generator, settings.max_iterations, settings.tolerance, settings.restarts, settings.start
    )

    labels, facts = _cut(frames, clusters.memberships, settings)
    fuzzy = _FuzzyFacts(
        objective=clusters.objective,
        iterations=clusters.iterations,
        converged=clusters.converged,
        collapsed=clusters.collapsed,
        distinct_centres=clusters.distinct_centres,
    )
    mean, floor = frame_of(frames.x)
    learned = {"centres": clusters.centres, "mean": mean, "floor": np.asarray(floor), "m": np.asarray(m)}
    return Decoded(labels, clusters.memberships, {"m": m, "fuzzy_c_means": fuzzy, "graph_cut": facts}, learned)


def restore_graphcut(learned: Learned, K: int, settings: Graphcut) -> Predict:
    """Return the function that labels other videos: by memberships in the learned clusters, then a cut.

    Raises
    ------
    ValueError
        If the fuzzifier is not finite and above 1.
    """
    mean, floor, m = learned["mean"], float(learned["floor"]), float(learned["m"])
    if not 1 < m < math.inf:
        raise ValueError(f"m {m:g}, expected above 1")

    def predict(others: Frames) -> Decoded:
        u = memberships_in(others.x, learned["centres"], mean, floor, m)
        labels, facts = _cut(others, u, settings)
        return Decoded(labels, u, {"graph_cut": facts})

    return predict


def _cut(frames: Frames, memberships: NDArray[np.float64], cut: Graphcut) -> tuple[NDArray[np.int64], _CutFacts]:
    """Return the labels (T,) of memberships (T, K) after smoothing, and facts about the cut."""
    K = memberships.shape[1]
    per_video = [unary_weight(cut.unary, cut.unary_per, frames.features_fps, rate) for rate in frames.native_fps]
    unary = np.repeat(per_video, frames.lengths)[:, None] * (1 - np.asarray(memberships, dtype=np.float64))
    weights = edge_weights(frames.lengths, cut.pairwise / K, cut.joined)
    distance = label_distance(K, cut.metric)
    exact = minimise_chain(unary, weights, cut.metric)
    solver = cut.solver if has_library() else "exact"
    labels = exact if solver == "exact" else expand_labels(unary, weights, cut.metric)
    minimum, reached = (energy(labels_here, unary, weights, distance) for labels_here in (exact, labels))
    return labels, _CutFacts(
        solver=solver,
        instead_of=None if solver == cut.solver else cut.solver,
        metric=cut.metric,
        energy=reached,
        exact_energy=minimum,
        # A minimum of 0 is a labelling without any cost, which both solvers find.
        relative_gap=(reached - minimum) / minimum if minimum > 0 else 0.0,
    )


def has_library() -> bool:
    """Return whether the graph-cut library is installed."""
    return importlib.util.find_spec("gco") is not None


def _gco() -> Any:
    """Import the graph-cut library without ``numpy.int`` and ``numpy.float``, removed names that it sets."""
    before = {name for name in ("int", "float", "bool") if name in vars(np)}
    module = importlib.import_module("gco")
    for name in {"int", "float", "bool"} - before:
        if name in vars(np):
            delattr(np, name)
    return module
