"""Node2Vec: nodes of a graph that random walks visit together get vectors that lie close together.

With p = q = 1, the only setting used here, a walk goes to any neighbour with equal probability and forgets where it
came from (Grover and Leskovec, "node2vec", KDD 2016); the vectors are those of skip-gram with negative sampling,
computed by gensim. The packages that do both parts, node2vec and PecanPy, ask for a numpy below 2.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

NEGATIVE = 5


def random_walks(graph: csr_array, walks: int, length: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Return walks from every node, in random order.

    Parameters
    ----------
    graph
        (C, C), an entry for every edge; a node without any stays where it is.
    walks, length
        Walks per node, and nodes of each, the first included.
    generator
        Source of chance.

    Returns
    -------
    NDArray[np.int64]
        (C walks, length) nodes.
    """
    first, degrees = graph.indptr[:-1].astype(np.int64), np.diff(graph.indptr)
    nodes = graph.shape[0]
    paths = np.empty((nodes * walks, length), dtype=np.int64)
    paths[:, 0] = np.concatenate([generator.permutation(nodes) for _ in range(walks)])
    for step in range(1, length):
        here = paths[:, step - 1]
        chosen = (generator.random(len(paths)) * degrees[here]).astype(np.int64)
        # A node without edges has nothing to choose; its place among the edges may be past their end.
        place = np.minimum(first[here] + chosen, max(len(graph.indices) - 1, 0))
        paths[:, step] = np.where(degrees[here] > 0, graph.indices[place] if len(graph.indices) else here, here)
    return paths


class _Sentences:
    """Walks as lists of words, as often as they are asked for."""

    def __init__(self, paths: NDArray[np.int64]) -> None:
        self.paths = paths
        self.words = [str(node) for node in range(int(paths.max()) + 1)]

    def __iter__(self) -> Iterator[list[str]]:
        for path in self.paths:
            yield [self.words[node] for node in path]


def node_vectors(paths: NDArray[np.int64], D: int, window: int, epochs: int, seed: int) -> NDArray[np.float32]:
    """Learn a vector for every node from walks that visit all nodes 0..C-1.

    Parameters
    ----------
    paths
        (n, length) nodes.
    D, window, epochs
        Dimensions; nodes on either side that predict each other; passes over the walks.
    seed
        In one worker thread the same seed gives the same vectors.

    Returns
    -------
    NDArray[np.float32]
        (C, D).
    """
    from gensim.models import Word2Vec

    model = Word2Vec(
        _Sentences(paths),
        vector_size=D,
        window=window,
        epochs=epochs,
        sg=1,
        negative=NEGATIVE,
        # Every node counts, and none is so frequent that it says nothing.
        min_count=1,
        sample=0,
        workers=1,
        seed=seed,
    )
    nodes = np.array([int(word) for word in model.wv.index_to_key])
    vectors = np.empty((len(nodes), D), dtype=np.float32)
    vectors[nodes] = model.wv.vectors
    return vectors
