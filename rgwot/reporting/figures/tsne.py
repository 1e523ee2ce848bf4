"""Backbone features of single videos in two dimensions, coloured by time, and how concentrated they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rgwot import paths
from rgwot.reporting.figures.drawing import Drawing, drawing
from rgwot.reporting.figures.style import LINE_COLOURS, Axes, Drawn, line_style, sheet, short, tell
from rgwot.reporting.figures.videos import evenly
from rgwot.reporting.tables.table import Place
from rgwot.runtime.errors import RgwotError
from rgwot.study.datasets import tasks, videos
from rgwot.study.study import Study, Task

if TYPE_CHECKING:
    from matplotlib.colors import Colormap

    from rgwot.embedding.interface import EmbeddedVideo
    from rgwot.features.store import FeatureStore

#: Colours of time, from light to dark, so that the order is also seen in grey.
TIME = ("#C7E9C0", "#74C476", "#238B45", "#00341A")
PERPLEXITY, COMPONENTS, MAX_FRAMES, SEED = 30.0, 50, 1500, 0
#: Fewer frames than this have no neighbourhoods to draw.
LEAST = 5
#: Largest number of characters of a name above a panel.
LONGEST_TITLE = 26
BLOCK = 256


def feature_tsne(study: Study, panels: Sequence[Place]) -> Drawing:
    """Return a figure of backbone features of single videos in two dimensions, coloured by time, one per panel.

    If panels of a dataset name no task, they show one video of each of its tasks in turn, then further videos.
    """
    n_taken: Counter[str] = Counter()
    shown, files = [], []
    for panel in panels:
        names, turn = tasks(study, panel.dataset), n_taken[panel.dataset]
        task = panel.task if panel.task in names else names[turn % len(names)]
        names_of_videos = list(videos(Task(study, panel.dataset, task)))
        if not names_of_videos:
            raise RgwotError(f"{panel.dataset}/{task}: found no video, expected one to draw; see docs/datasets.md")
        video = names_of_videos[turn // len(names) % len(names_of_videos)]
        n_taken[panel.dataset] += 1
        name = "" if task == panel.dataset else f"\n{short(task, LONGEST_TITLE)}"
        shown.append(f"{panel.label}{name}\n{short(video, LONGEST_TITLE)}")
        files.append(paths.at(paths.FEATURES, dataset=panel.dataset, task=task, video=video))
    caption = (
        "Backbone features of single videos, averaged over space, from the first frame (light) to the last (dark)."
    )
    return drawing(
        study, _draw, (tuple(shown), tuple(files)), files, caption=caption, places=panels,
        notes=["no training, t-SNE"], seeds=[SEED],
    )  # fmt: skip


def _draw(title: str, about: str, names: Sequence[str], files: Sequence[Path]) -> Drawn:
    """Draw every video in a panel of its own."""
    from rgwot.features.store import open_store

    columns = min(4, len(names))
    rows = -(-len(names) // columns)
    drawn, axes = sheet(rows, columns, height=2.25 * rows + 0.65)
    used = []
    for axis, name, features in zip(axes.flat, names, files, strict=False):
        used.append(_panel(axis, open_store(features)))
        axis.set_title(name, fontsize=7)
    for axis in axes.flat[len(names) :]:
        axis.set_axis_off()
    _time_bar(drawn, axes)
    least = min(used)
    less = f" (down to {least:.0f} for short videos)" if least < PERPLEXITY else ""
    how = f"PCA to {COMPONENTS}, t-SNE of perplexity {PERPLEXITY:g}{less}, started from PCA"
    tell(
        drawn,
        title,
        f"{about}; features averaged over space, {how}; axes have no unit; d: mean pairwise cosine distance, "
        "er: effective rank of the covariance",
    )
    return drawn


def _panel(axis: Axes, store: FeatureStore) -> float:
    """Draw one video and return the perplexity used, or the requested one if there are too few frames to draw."""
    from rgwot.keysteps.collapse import mean_pairwise_cosine

    _bare(axis)
    x, time_s = pooled_features(store)
    if len(x) < LEAST:
        note = store.reason or f"{len(x)} frames, too few"
        axis.text(0.5, 0.5, note, ha="center", va="center", wrap=True, transform=axis.transAxes, fontsize=7)
        return PERPLEXITY
    points, perplexity = embed_2d(x, SEED)
    _scatter(axis, points, time_s)
    distance, rank = 1 - mean_pairwise_cosine(x), effective_rank(x)
    axis.set_xlabel(f"d = {distance:.3f}, er = {rank:.1f}, {len(x)} frames", fontsize=7)
    return perplexity


def _scatter(axis: Axes, points: NDArray[Any], time: NDArray[np.float64]) -> None:
    """Draw points (n, 2) in the colours of their times (n,)."""
    size = 7 if len(points) > 300 else 14
    axis.scatter(points[:, 0], points[:, 1], c=time, cmap=_colours(), s=size, linewidths=0.15, edgecolors="#00341A")
    _bare(axis)
    axis.margins(0.06)


def _bare(axis: Axes) -> None:
    axis.set(xticks=[], yticks=[])
    axis.spines[:].set_visible(True)


def _colours() -> Colormap:
    """Return the colours of time."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("time", TIME)


def _time_bar(drawn: Drawn, axes: Any) -> None:
    """Explain the colours of time below some axes."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    bar = drawn.colorbar(
        ScalarMappable(Normalize(0, 1), _colours()), ax=axes, location="bottom", aspect=60, shrink=0.5, pad=0.02,
        ticks=[0, 1],
    )  # fmt: skip
    bar.ax.set_xticklabels(["first frame", "last frame"])
    bar.outline.set_visible(False)  # type: ignore[operator]


def draw_embedding(embedded: Mapping[str, EmbeddedVideo], names: Mapping[str, str], title: str, seed: int) -> Drawn:
    """Draw the embeddings of the videos of a task together in two dimensions, coloured by time and by video.

    ``names`` are the names of the videos. At most about `MAX_FRAMES` samples are drawn, in proportion to the lengths of
    the videos. Raises RgwotError if there are fewer than `LEAST` samples.
    """
    total = sum(len(video.time_s) for video in embedded.values())
    share = min(1.0, MAX_FRAMES / max(total, 1))
    chosen = {name: evenly(len(video.time_s), round(share * len(video.time_s))) for name, video in embedded.items()}
    x = np.concatenate([video.embedding[chosen[name]] for name, video in embedded.items()])
    if len(x) < LEAST:
        raise RgwotError(f"{title}: found {len(x)} samples, expected at least {LEAST} to draw; features.fps is too low")
    time = np.concatenate([video.time_s[chosen[name]] / video.duration_s for name, video in embedded.items()])
    points, perplexity = embed_2d(x.astype(np.float64), seed)
    drawn, axes = sheet(1, 2, height=3.9)
    by_time, by_video = axes[0]
    _scatter(by_time, points, time)
    by_time.set_title("by time, as a share of the video")
    start = 0
    for number, (name, frames) in enumerate(chosen.items()):
        part = points[start : start + len(frames)]
        start += len(frames)
        look = line_style(number) | {"linestyle": "none", "markersize": 3, "markeredgewidth": 0}
        by_video.plot(part[:, 0], part[:, 1], label=short(names[name], LONGEST_TITLE), **look)
    _bare(by_video)
    by_video.margins(0.06)
    by_video.set_title("by video")
    if len(chosen) <= len(LINE_COLOURS):
        by_video.legend(loc="upper left", bbox_to_anchor=(0, 0), ncols=2, handletextpad=0.1)
    _time_bar(drawn, by_time)
    videos = f"{len(chosen)} videos" if len(chosen) > 1 else "1 video"
    how = f"PCA to {COMPONENTS}, t-SNE of perplexity {perplexity:.3g}, started from PCA; axes have no unit"
    tell(drawn, title, f"embeddings of {len(x)} samples of {videos}, {how}")
    return drawn


def effective_rank(x: NDArray[Any]) -> float:
    r"""Return the effective rank of the covariance of x (T, D): the exponential of the entropy of its spectrum.

    .. math:: \exp\left(-\sum_i p_i \ln p_i\right), \qquad p_i = \lambda_i / \sum_j \lambda_j

    with the eigenvalues of the covariance (O. Roy, M. Vetterli, "The effective rank", EUSIPCO 2007, there with singular
    values). The rank is 1 if everything lies on a line or nothing varies, and D if all directions vary alike.
    """
    samples = np.asarray(x, dtype=np.float64)
    # Singular values of the centred samples, squared, are the eigenvalues times T - 1, which cancels.
    spectrum = np.linalg.svd(samples - samples.mean(axis=0), compute_uv=False) ** 2
    if spectrum.sum() == 0:
        return 1.0
    shares = spectrum[spectrum > 0] / spectrum.sum()
    return float(np.exp(-np.sum(shares * np.log(shares))))


def pooled_features(
    store: FeatureStore, max_frames: int = MAX_FRAMES
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Average the maps of at most ``max_frames`` frames over space; the frames are spread evenly over the video.

    Returns features (n, C) as they enter the model, and times (n,) in seconds.
    """
    chosen = evenly(len(store), min(len(store), max_frames))
    blocks = [chosen[start : start + BLOCK] for start in range(0, len(chosen), BLOCK)]
    pooled = [store.frames(block).astype(np.float64).mean(axis=(2, 3)) for block in blocks]
    return np.concatenate([np.empty((0, store.shape[1])), *pooled]), store.time_s[chosen]


def embed_2d(x: NDArray[np.float64], seed: int) -> tuple[NDArray[Any], float]:
    """Reduce x (n, D) by PCA to `COMPONENTS`, then by t-SNE to (n, 2); also return the perplexity that n allows.

    The perplexity is `PERPLEXITY`, or (n - 1) / 3 if that is less: in a video with few frames, all frames would
    otherwise be neighbours.
    """
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    perplexity = min(PERPLEXITY, (len(x) - 1) / 3)
    reduced = PCA(min(COMPONENTS, *x.shape), svd_solver="full").fit_transform(x)
    # t-SNE also starts from PCA; if features do not vary, there are no directions, and the start is random.
    start = "pca" if np.ptp(reduced, axis=0).max() > 0 else "random"
    method = TSNE(2, perplexity=perplexity, init=start, max_iter=1000, random_state=seed, n_jobs=1)
    return method.fit_transform(reduced), perplexity
