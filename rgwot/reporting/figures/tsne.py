"""Backbone features of single videos in two dimensions, coloured by time, and how concentrated they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

from rgwot.keysteps.collapse import mean_pairwise_cosine
from rgwot.reporting.figures.labels import evenly
from rgwot.reporting.figures.plan import Plan
from rgwot.reporting.figures.spec import Tsne
from rgwot.reporting.figures.style import TIME, sheet, short, styled, tell

if TYPE_CHECKING:
    from rgwot.features.store import FeatureStore

#: Fewer frames than this have no neighbourhoods to draw.
LEAST = 5
#: Characters of a name above a panel at most.
NAME = 26
BLOCK = 256


@dataclass(frozen=True)
class Concentration:
    """How spread out features (T, D) are.

    Attributes
    ----------
    cosine_distance
        Mean over all pairs of different frames, in [0, 2].
    effective_rank
        Of the covariance, in [1, min(T - 1, D)].
    """

    cosine_distance: float
    effective_rank: float


def effective_rank(x: NDArray[Any]) -> float:
    r"""Return the effective rank of the covariance of x (T, D): the exponential of the entropy of its spectrum.

    .. math:: \exp\left(-\sum_i p_i \ln p_i\right), \qquad p_i = \lambda_i / \sum_j \lambda_j

    with the eigenvalues of the covariance (O. Roy, M. Vetterli, "The effective rank", EUSIPCO 2007, there with
    singular values). 1 where everything lies on a line, and where nothing varies; D where all directions vary alike.
    """
    samples = np.asarray(x, dtype=np.float64)
    # Singular values of the centred samples, squared, are the eigenvalues times T - 1, which cancels.
    spectrum = np.linalg.svd(samples - samples.mean(axis=0), compute_uv=False) ** 2
    if spectrum.sum() == 0:
        return 1.0
    shares = spectrum[spectrum > 0] / spectrum.sum()
    return float(np.exp(-np.sum(shares * np.log(shares))))


def concentration(x: NDArray[Any]) -> Concentration:
    """Measure how spread out features (T, D), T >= 2, are."""
    return Concentration(1 - mean_pairwise_cosine(x), effective_rank(x))


def pooled_features(store: FeatureStore, max_frames: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Average the maps of a video over space.

    Parameters
    ----------
    store
        The features of a video of T frames.
    max_frames
        At most so many frames, spread evenly over the video.

    Returns
    -------
    (n, 1024) features as they enter the model, and (n,) times in seconds.
    """
    chosen = np.arange(len(store)) if len(store) <= max_frames else evenly(len(store), max_frames)
    blocks = [chosen[start : start + BLOCK] for start in range(0, len(chosen), BLOCK)]
    pooled = [store.frames(block).astype(np.float64).mean(axis=(2, 3)) for block in blocks]
    return np.concatenate([np.empty((0, store.shape[1])), *pooled]), store.time_s[chosen]


def embed_2d(x: NDArray[np.float64], figure: Tsne) -> tuple[NDArray[np.float64], float]:
    """Reduce features (n, D) by PCA and t-SNE to (n, 2); also return the perplexity that n frames allow.

    The perplexity is the wanted one, or (n - 1) / 3 where that is less: with fewer frames every frame would be the
    neighbour of every other.
    """
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    perplexity = min(figure.perplexity, (len(x) - 1) / 3)
    parts = min(figure.components, *x.shape)
    reduced = PCA(parts, svd_solver="full").fit_transform(x)
    # PCA is the start of t-SNE, too; features that do not vary have no directions to start from.
    start = "pca" if np.ptp(reduced, axis=0).max() > 0 else "random"
    drawn = TSNE(2, perplexity=perplexity, init=start, random_state=figure.seed).fit_transform(reduced)
    return np.asarray(drawn, dtype=np.float64), perplexity


def draw_tsne(plan: Plan) -> Figure:
    """Draw every planned video in a panel of its own."""
    from rgwot.features.store import open_store

    figure = plan.figure
    assert isinstance(figure, Tsne)
    columns = min(4, len(plan.videos))
    rows = -(-len(plan.videos) // columns)
    with styled():
        drawn, axes = sheet(rows, columns, height=2.25 * rows + 0.65)
        perplexities = []
        for axis, video in zip(axes.flat, plan.videos, strict=False):
            perplexities.append(_panel(axis, open_store(video.features), figure))
            task = "" if video.task == video.dataset else f"\n{short(video.task, NAME)}"
            axis.set_title(f"{video.label}{task}\n{short(video.video, NAME)}", fontsize=7)
        for axis in axes.flat[len(plan.videos) :]:
            axis.set_axis_off()
        bar = drawn.colorbar(
            ScalarMappable(Normalize(0, 1), TIME), ax=axes, location="bottom", aspect=60, shrink=0.5, pad=0.02,
            ticks=[0, 1],
        )  # fmt: skip
        bar.ax.set_xticklabels(["first frame", "last frame"])
        bar.outline.set_visible(False)  # type: ignore[operator]
        used = [value for value in perplexities if value is not None]
        less = f" (down to {min(used):.0f} for short videos)" if used and min(used) < figure.perplexity else ""
        how = f"PCA to {figure.components}, t-SNE of perplexity {figure.perplexity:g}{less}, started from PCA"
        tell(
            drawn,
            figure.title,
            f"{plan.about}; conv4c averaged over space, {how}; axes have no unit; d: mean pairwise cosine distance, "
            "er: effective rank of the covariance",
        )
    return drawn


def _panel(axis: Axes, store: FeatureStore, figure: Tsne) -> float | None:
    """Draw one video; return the perplexity, or None where there are too few frames."""
    axis.set_xticks([])
    axis.set_yticks([])
    x, time_s = pooled_features(store, figure.max_frames)
    if len(x) < LEAST:
        said = store.reason or f"{len(x)} frames, too few"
        axis.text(0.5, 0.5, said, ha="center", va="center", wrap=True, transform=axis.transAxes, fontsize=7)
        return None
    points, perplexity = embed_2d(x, figure)
    axis.scatter(
        points[:, 0],
        points[:, 1],
        c=time_s,
        cmap=TIME,
        s=7 if len(x) > 300 else 14,
        linewidths=0.15,
        edgecolors="#00341A",
    )
    axis.margins(0.06)
    told = concentration(x)
    axis.set_xlabel(f"d = {told.cosine_distance:.3f}, er = {told.effective_rank:.1f}, {len(x)} frames", fontsize=7)
    return perplexity
