"""UnityGraph and GPL: one graph of the clips of all videos of a task (methods 4.8).

Bansal et al., "United we stand, divided we fall: UnityGraph for unsupervised procedure learning from videos", WACV
2024. This is our reading of the abstract, on our features; hyper-parameters and the treatment of background are not
public.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from rgwot.baselines.settings import Graph
from rgwot.embedding.interface import Embedded, EmbedVideo, Fitted, Learned, VideoFeatures, spatial_means, unit_rows
from rgwot.runtime.errors import RgwotError, optional

log = logging.getLogger(__name__)

CLIPS_AT_ONCE = 1024
NEGATIVE = 5


def means_of(values: NDArray[np.floating], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return, for each label 0..m-1, the mean (m, ...) of the values (n, ...) with this label."""
    sums = np.zeros((labels.max() + 1, *values.shape[1:]))
    np.add.at(sums, labels, values)
    counts = np.bincount(labels)
    return np.asarray(sums / counts.reshape(-1, *[1] * (values.ndim - 1)))


@dataclass(frozen=True)
class _Clips:
    """Clips of one video: features (C, F) of norm 1, and the clip (T,) of every sample."""

    features: NDArray[np.float32]
    of_sample: NDArray[np.int64]


def clips_of(times: NDArray[np.float64], means: NDArray[np.float32], clip_s: float) -> _Clips:
    """Cut a video, samples at times (T,) with features (T, F), into clips of equal length, with mean features.

    If ``clip_s`` is shorter than the time between two samples, each sample is a clip.
    """
    # Without the small term, rounding could put a sample on the border of two clips into the earlier one.
    number = np.floor(times / clip_s + 1e-9).astype(np.int64)
    of_sample = np.unique(number, return_inverse=True)[1].astype(np.int64)
    return _Clips(unit_rows(means_of(means, of_sample).astype(np.float32)), of_sample)


def most_similar(
    x: NDArray[np.float32], others: NDArray[np.float32], n: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return, for clips (C, F), the n most similar of others (M, F) by cosine, and the mean of these cosines.

    All features have norm 1. If there are fewer than n others, all are returned.
    """
    n = min(n, len(others))
    nearest, score = np.empty((len(x), n), dtype=np.int64), np.empty(len(x))
    for start in range(0, len(x), CLIPS_AT_ONCE):
        block = slice(start, start + CLIPS_AT_ONCE)
        cosines = x[block] @ others.T
        nearest[block] = np.argpartition(cosines, len(others) - n, axis=1)[:, len(others) - n :]
        score[block] = np.take_along_axis(cosines, nearest[block], axis=1).mean(axis=1)
    return nearest, score


def unity_graph(videos: Sequence[NDArray[np.float32]], neighbours: int) -> tuple[csr_array, NDArray[np.float64]]:
    """Connect the clips of two videos or more, each (C_v, F) of norm 1; nodes are numbered video after video.

    Returns the edges, a symmetric matrix (C, C) of 0 and 1, and the mean cosine (C,) of each clip to its chosen
    neighbours. Temporal edges connect neighbouring clips of a video, spatial edges a clip and the most similar clips
    of other videos.
    """
    x = np.concatenate(videos)
    starts = np.concatenate([[0], np.cumsum([len(video) for video in videos])])
    rows, columns, scores = [], [], []
    for number, video in enumerate(videos):
        samples = np.arange(starts[number], starts[number + 1])
        elsewhere = np.concatenate([np.arange(starts[number]), np.arange(starts[number + 1], len(x))])
        nearest, score = most_similar(video, x[elsewhere], neighbours)
        rows += [samples[:-1], np.repeat(samples, nearest.shape[1])]
        columns += [samples[1:], elsewhere[nearest].ravel()]
        scores.append(score)
    row, column = np.concatenate(rows), np.concatenate(columns)
    both = (np.concatenate([row, column]), np.concatenate([column, row]))
    edges = coo_array((np.ones(len(both[0])), both), shape=(len(x), len(x))).tocsr()
    # Merges the two edges of clips that chose each other, and sorts columns, which makes the graph, and therefore the
    # walks, reproducible.
    edges.sum_duplicates()
    edges.data[:] = 1
    return edges, np.concatenate(scores)


def random_walks(graph: csr_array, walks: int, length: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Return ``walks`` random walks from each of the C nodes, in random order: nodes (C * walks, length).

    With p = q = 1 of Node2Vec (Grover and Leskovec, KDD 2016), the only setting used here, a walk goes to any neighbour
    with equal probability and forgets where it came from. ``graph`` (C, C) has an entry for every edge, and every node
    has edges. ``length`` counts the first node of a walk, too.
    """
    first, degrees = graph.indptr[:-1].astype(np.int64), np.diff(graph.indptr)
    nodes = graph.shape[0]
    paths = np.empty((nodes * walks, length), dtype=np.int64)
    paths[:, 0] = np.concatenate([generator.permutation(nodes) for _ in range(walks)])
    for step in range(1, length):
        current = paths[:, step - 1]
        chosen = (generator.random(len(paths)) * degrees[current]).astype(np.int64)
        paths[:, step] = graph.indices[first[current] + chosen]
    return paths


def node_vectors(paths: NDArray[np.int64], D: int, window: int, epochs: int, seed: int) -> NDArray[np.float32]:
    """Learn a vector for every node from walks (n, length) that visit all nodes 0..C-1: (C, D).

    Skip-gram with negative sampling by gensim, in ``epochs`` passes over the walks: nodes that walks visit together, at
    most ``window`` nodes apart, get vectors that lie close together. With one worker thread, the same seed gives the
    same vectors. node2vec and PecanPy, which make both walks and vectors, are not used: they require NumPy below 2.
    """
    remedy = "pip install 'rgwot[graph]', or set graph.update to mean"
    words = [str(node) for node in range(int(paths.max()) + 1)]
    model = optional("gensim.models", "graph.update node2vec", remedy).Word2Vec(
        [[words[node] for node in path] for path in paths.tolist()],
        vector_size=D,
        window=window,
        epochs=epochs,
        sg=1,
        negative=NEGATIVE,
        # Keep rare nodes, and do not downsample frequent ones.
        min_count=1,
        sample=0,
        workers=1,
        seed=seed,
    )
    nodes = np.array([int(word) for word in model.wv.index_to_key])
    vectors = np.empty((len(nodes), D), dtype=np.float32)
    vectors[nodes] = model.wv.vectors
    return vectors


def node_embeddings(x: NDArray[np.float32], edges: csr_array, settings: Graph, seed: int) -> NDArray[np.float32]:
    """Embed the nodes of a graph with features x (C, F): by Node2Vec, or by the mean of a node and its neighbours.

    The embeddings (C, D) have norm 1 in both cases.
    """
    if settings.update == "mean":
        return unit_rows((x + edges @ x).astype(np.float32))
    generator = np.random.default_rng([seed])
    paths = random_walks(edges, settings.walks, settings.walk_length, generator)
    number = int(generator.integers(1, 2**31 - 1))
    return unit_rows(node_vectors(paths, settings.D, settings.window, settings.epochs, number))


def fit_graph(stores: Sequence[VideoFeatures], seed: int, settings: Graph) -> EmbedVideo:
    """Build the graph of the videos and return the function that embeds them; samples get the embedding of their clip.

    Other videos, such as held-out ones, have no nodes. A clip of such a video would have edges to some clips of the
    graph: with Node2Vec it gets the mean of the embeddings of these clips, otherwise the mean of their features, its
    own features and those of its neighbours in time.

    With ``graph.background`` = b, a share b of the clips is background: the clips with the smallest mean cosine to the
    clips that they chose in other videos, because what no other video shows is not a key step. The resulting limit of
    the cosine also applies to other videos.

    Raises
    ------
    RgwotError
        With fewer than two videos, between which there are no edges.
    """
    if len(stores) < 2:
        raise RgwotError(f"graph: videos with features: found {len(stores)}, expected at least 2 to build it from")
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        clips = {store.video: _clips(store, settings.clip_s) for store in stores}
        features = np.concatenate([video.features for video in clips.values()])
        edges, similarity = unity_graph([video.features for video in clips.values()], settings.neighbours)
        nodes = node_embeddings(features, edges, settings, seed)
    log.info("graph of %d clips of %d videos, %d edges", len(features), len(clips), edges.nnz // 2)
    limit = np.quantile(similarity, settings.background) if settings.background else -np.inf
    ends = np.cumsum([len(video.features) for video in clips.values()])
    rows_of = {
        name: slice(end - len(video.features), end) for (name, video), end in zip(clips.items(), ends, strict=True)
    }

    def embed(store: VideoFeatures) -> Embedded:
        if store.video not in clips:
            return beside(store)
        rows = rows_of[store.video]
        return _of_samples(clips[store.video], nodes[rows], similarity[rows], limit, settings)

    learned = {"clips": features, "nodes": nodes, "limit": np.asarray(limit)}
    beside = restore_graph(learned, settings)
    return Fitted(embed, learned)


def restore_graph(learned: Learned, settings: Graph) -> EmbedVideo:
    """Return the function that embeds the clips of other videos by the nearest clips of the graph."""
    from threadpoolctl import threadpool_limits

    def embed(store: VideoFeatures) -> Embedded:
        video = _clips(store, settings.clip_s)
        with threadpool_limits(limits=1):
            embedding, similarity = _beside(video.features, learned["clips"], learned["nodes"], settings)
        return _of_samples(video, embedding, similarity, learned["limit"], settings)

    return embed


def _of_samples(
    video: _Clips,
    embedding: NDArray[np.float32],
    similarity: NDArray[np.float64],
    limit: float | NDArray[np.float64],
    settings: Graph,
) -> Embedded:
    """Give samples the embedding of their clip (C, D); clips with a similarity (C,) below the limit are background."""
    background = (similarity < limit)[video.of_sample] if settings.background else None
    return Embedded(np.ascontiguousarray(embedding[video.of_sample]), background)


def _clips(store: VideoFeatures, clip_s: float) -> _Clips:
    return clips_of(store.time_s, spatial_means(store), clip_s)


def _beside(
    x: NDArray[np.float32], clips: NDArray[np.float32], nodes: NDArray[np.float32], settings: Graph
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return embeddings of the clips x (C, F) of a new video, and their mean cosine to the nearest ``clips``."""
    nearest, similarity = most_similar(x, clips, settings.neighbours)
    if settings.update == "node2vec":
        return unit_rows(nodes[nearest].mean(axis=1)), similarity
    total = x + clips[nearest].sum(axis=1)
    total[1:] += x[:-1]
    total[:-1] += x[1:]
    return unit_rows(total), similarity
