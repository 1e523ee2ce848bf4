"""UnityGraph and GPL: one graph of the clips of all videos of a task (methods 4.9).

Bansal et al., "United we stand, divided we fall: UnityGraph for unsupervised procedure learning from videos", WACV
2024. Our reading of the abstract, on our features: its hyper-parameters and its treatment of background are not
public.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from rgwot.config.settings import GraphSettings, Settings
from rgwot.embedding.interface import Embedded, EmbedVideo
from rgwot.embedding.pooled import spatial_means, unit
from rgwot.embedding.walks import node_vectors, random_walks
from rgwot.features.store import FeatureStore
from rgwot.runtime.errors import RgwotError

ABOUT = {
    "description": "a graph of the clips of all videos",
    "source": "Bansal et al., WACV 2024; our reading of the abstract",
    "reads": ("graph",),
    "several": True,
    "place": 4,
}

logger = logging.getLogger(__name__)

BLOCK = 1024


@dataclass(frozen=True)
class Clips:
    """Clips of one video: features (C, 1024) of norm 1, and the clip (T,) of every sample."""

    features: NDArray[np.float32]
    of_sample: NDArray[np.int64]


def clips_of(times: NDArray[np.float64], means: NDArray[np.float32], clip_s: float) -> Clips:
    """Cut a video into clips of equal length and average over each.

    Parameters
    ----------
    times
        (T,) sample times in seconds.
    means
        (T, 1024) features of the samples.
    clip_s
        Seconds. Where it is shorter than the distance of samples, each sample is a clip.
    """
    # The small term keeps a sample on a border from falling to either side by rounding.
    number = np.floor(times / clip_s + 1e-9).astype(np.int64)
    _, of_sample, counts = np.unique(number, return_inverse=True, return_counts=True)
    sums = np.zeros((len(counts), means.shape[1]))
    np.add.at(sums, of_sample, means)
    return Clips(unit((sums / counts[:, None]).astype(np.float32)), of_sample.astype(np.int64))


def most_similar(
    x: NDArray[np.float32], others: NDArray[np.float32], n: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return, for clips (C, F), the n most similar of others (M, F) by cosine, and the mean of these cosines.

    All features have norm 1. With fewer others than n, all of them.
    """
    n = min(n, len(others))
    nearest, score = np.empty((len(x), n), dtype=np.int64), np.empty(len(x))
    for start in range(0, len(x), BLOCK):
        block = slice(start, start + BLOCK)
        cosines = x[block] @ others.T
        nearest[block] = np.argpartition(cosines, len(others) - n, axis=1)[:, len(others) - n :]
        score[block] = np.take_along_axis(cosines, nearest[block], axis=1).mean(axis=1)
    return nearest, score


@dataclass(frozen=True)
class UnityGraph:
    """The graph of a task.

    Attributes
    ----------
    edges
        (C, C) symmetric, 1 for an edge: temporal ones between neighbouring clips of a video, spatial ones between a
        clip and the most similar clips of other videos.
    similarity
        (C,) mean cosine of each clip to those it chose.
    """

    edges: csr_array
    similarity: NDArray[np.float64]


def unity_graph(videos: Sequence[NDArray[np.float32]], neighbours: int) -> UnityGraph:
    """Connect the clips of two videos or more, each (C_v, F) of norm 1; nodes are numbered video after video."""
    x = np.concatenate(videos)
    starts = np.concatenate([[0], np.cumsum([len(video) for video in videos])])
    rows, columns, scores = [], [], []
    for number, video in enumerate(videos):
        own = np.arange(starts[number], starts[number + 1])
        elsewhere = np.concatenate([np.arange(starts[number]), np.arange(starts[number + 1], len(x))])
        nearest, score = most_similar(video, x[elsewhere], neighbours)
        rows += [own[:-1], np.repeat(own, nearest.shape[1])]
        columns += [own[1:], elsewhere[nearest].ravel()]
        scores.append(score)
    row, column = np.concatenate(rows), np.concatenate(columns)
    both = (np.concatenate([row, column]), np.concatenate([column, row]))
    edges = coo_array((np.ones(len(both[0])), both), shape=(len(x), len(x))).tocsr()
    # A pair of clips may have chosen each other; sorted columns make the graph, and so the walks, one thing.
    edges.sum_duplicates()
    edges.data[:] = 1
    return UnityGraph(edges, np.concatenate(scores))


def node_embeddings(
    x: NDArray[np.float32], graph: UnityGraph, settings: GraphSettings, seed: int
) -> NDArray[np.float32]:
    """Embed the nodes of a graph with features x (C, F): by Node2Vec, or by the mean of a node and its neighbours.

    Both are scaled to norm 1.
    """
    if settings.update == "mean":
        return unit((x + graph.edges @ x).astype(np.float32))
    generator = np.random.default_rng([seed])
    paths = random_walks(graph.edges, settings.walks, settings.walk_length, generator)
    number = int(generator.integers(1, 2**31 - 1))
    return unit(node_vectors(paths, settings.D, settings.window, settings.epochs, number))


def fit_graph(stores: Sequence[FeatureStore], settings: Settings, seed: int) -> EmbedVideo:
    """Build the graph of the videos given; all samples of a clip get the embedding of its node.

    A graph knows its own nodes only. A clip of another video, one that was held out, is put beside the clips it would
    have an edge to: with Node2Vec it gets the mean of their embeddings, else the mean of their features, its own and
    that of its neighbours in time.

    With ``graph.background`` = b, the share b of the clips with the smallest mean cosine to the clips they chose in
    other videos is background: what no other video shows is no key step. For other videos the same limit holds.

    Raises
    ------
    RgwotError
        With fewer than two videos, between which there are no edges.
    """
    if len(stores) < 2:
        raise RgwotError(f"graph: found {len(stores)} video with features to build it from, expected at least 2")
    from threadpoolctl import threadpool_limits

    block = settings.graph
    with threadpool_limits(limits=1):
        clips = {store.video: _clips(store, block.clip_s) for store in stores}
        known = np.concatenate([video.features for video in clips.values()])
        graph = unity_graph([video.features for video in clips.values()], block.neighbours)
        nodes = node_embeddings(known, graph, block, seed)
    logger.info("graph of %d clips of %d videos, %d edges", len(known), len(clips), graph.edges.nnz // 2)
    limit = np.quantile(graph.similarity, block.background) if block.background else -np.inf
    ends = np.cumsum([len(video.features) for video in clips.values()])
    own = {name: slice(end - len(video.features), end) for (name, video), end in zip(clips.items(), ends, strict=True)}

    def embed(store: FeatureStore) -> Embedded:
        if store.video in clips:
            video, rows = clips[store.video], own[store.video]
            embedding, similarity = nodes[rows], graph.similarity[rows]
        else:
            video = _clips(store, block.clip_s)
            with threadpool_limits(limits=1):
                embedding, similarity = _beside(video.features, known, nodes, block)
        background = (similarity < limit)[video.of_sample] if block.background else None
        return Embedded(np.ascontiguousarray(embedding[video.of_sample]), background)

    return embed


def _clips(store: FeatureStore, clip_s: float) -> Clips:
    return clips_of(store.time_s, spatial_means(store), clip_s)


def _beside(
    x: NDArray[np.float32], known: NDArray[np.float32], nodes: NDArray[np.float32], settings: GraphSettings
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return embeddings of the clips x (C, F) of a new video, and their mean cosine to the clips beside them."""
    nearest, similarity = most_similar(x, known, settings.neighbours)
    if settings.update == "node2vec":
        return unit(nodes[nearest].mean(axis=1)), similarity
    total = x + known[nearest].sum(axis=1)
    total[1:] += x[:-1]
    total[:-1] += x[1:]
    return unit(total), similarity
