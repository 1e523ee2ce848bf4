"""Backbone features of single videos in two dimensions, coloured by time, and how concentrated they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rgwot import paths
from rgwot.reporting.figures.figure import Figure, Plan
from rgwot.reporting.figures.style import Axes, Drawn, sheet, short, tell
from rgwot.reporting.figures.videos import evenly
from rgwot.reporting.tables.table import Place
from rgwot.runtime.errors import RgwotError
from rgwot.study.datasets import tasks, videos
from rgwot.study.study import Study

if TYPE_CHECKING:
    from matplotlib.colors import Colormap

    from rgwot.features.store import FeatureStore

#: Colours of time, from light to dark, so that the order is also seen in grey.
TIME = ("#C7E9C0", "#74C476", "#238B45", "#00341A")
#: Fewer frames than this have no neighbourhoods to draw.
LEAST = 5
#: Largest number of characters of a name above a panel.
LONGEST_TITLE = 26
BLOCK = 256


@dataclass(frozen=True)
class PlannedVideo:
    """One video whose features are drawn."""

    label: str
    dataset: str
    task: str
    video: str


@dataclass(frozen=True, kw_only=True)
class Tsne(Figure):
    """Backbone features of single videos in two dimensions, coloured by time; ``panels`` show a video each."""

    CAPTION: ClassVar = (
        "Backbone features of single videos, averaged over space, from the first frame (light) to the last (dark)."
    )

    panels: Sequence[Place]
    perplexity: float = 30.0
    components: int = 50
    max_frames: int = 1500
    seed: int = 0

    def plan(self, study: Study) -> Plan[tuple[PlannedVideo, ...]]:
        """Return one video per panel."""
        n_taken: Counter[str] = Counter()
        plans = []
        for panel in self.panels:
            names = tasks(study, panel.dataset)
            # Panels of a dataset that name no task show its tasks in turn, then further videos of these tasks.
            turn = n_taken[panel.dataset]
            task = panel.task if panel.task in names else names[turn % len(names)]
            names_of_videos = list(videos(study, panel.dataset, task))
            if not names_of_videos:
                raise RgwotError(f"{panel.dataset}/{task}: found no video, expected one to draw; see docs/datasets.md")
            video = names_of_videos[turn // len(names) % len(names_of_videos)]
            n_taken[panel.dataset] += 1
            plans.append(PlannedVideo(panel.label, panel.dataset, task, video))
        files = [paths.at(paths.FEATURES, **vars(video)) for video in plans]
        return self.planned(study, tuple(plans), files, self.panels, ["no training, t-SNE"], (self.seed,))

    def draw(self, plan: Plan[tuple[PlannedVideo, ...]]) -> Drawn:
        """Draw every planned video in a panel of its own."""
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import LinearSegmentedColormap, Normalize

        from rgwot.features.store import open_store

        colours = LinearSegmentedColormap.from_list("time", TIME)
        columns = min(4, len(plan.shown))
        rows = -(-len(plan.shown) // columns)
        drawn, axes = sheet(rows, columns, height=2.25 * rows + 0.65)
        used = []
        for axis, video, features in zip(axes.flat, plan.shown, plan.files, strict=False):
            used.append(self._panel(axis, open_store(features), colours))
            task = "" if video.task == video.dataset else f"\n{short(video.task, LONGEST_TITLE)}"
            axis.set_title(f"{video.label}{task}\n{short(video.video, LONGEST_TITLE)}", fontsize=7)
        for axis in axes.flat[len(plan.shown) :]:
            axis.set_axis_off()
        bar = drawn.colorbar(
            ScalarMappable(Normalize(0, 1), colours), ax=axes, location="bottom", aspect=60, shrink=0.5, pad=0.02,
            ticks=[0, 1],
        )  # fmt: skip
        bar.ax.set_xticklabels(["first frame", "last frame"])
        bar.outline.set_visible(False)  # type: ignore[operator]
        least = min(used)
        less = f" (down to {least:.0f} for short videos)" if least < self.perplexity else ""
        how = f"PCA to {self.components}, t-SNE of perplexity {self.perplexity:g}{less}, started from PCA"
        tell(
            drawn,
            self.title,
            f"{plan.about}; features averaged over space, {how}; axes have no unit; d: mean pairwise cosine distance, "
            "er: effective rank of the covariance",
        )
        return drawn

    def _panel(self, axis: Axes, store: FeatureStore, colours: Colormap) -> float:
        """Draw one video and return the perplexity used, or the requested one if there are too few frames to draw."""
        from rgwot.keysteps.collapse import mean_pairwise_cosine

        axis.set(xticks=[], yticks=[])
        axis.spines[:].set_visible(True)
        x, time_s = pooled_features(store, self.max_frames)
        if len(x) < LEAST:
            note = store.reason or f"{len(x)} frames, too few"
            axis.text(0.5, 0.5, note, ha="center", va="center", wrap=True, transform=axis.transAxes, fontsize=7)
            return self.perplexity
        points, perplexity = embed_2d(x, self.perplexity, self.components, self.seed)
        size = 7 if len(x) > 300 else 14
        axis.scatter(points[:, 0], points[:, 1], c=time_s, cmap=colours, s=size, linewidths=0.15, edgecolors="#00341A")
        axis.margins(0.06)
        distance, rank = 1 - mean_pairwise_cosine(x), effective_rank(x)
        axis.set_xlabel(f"d = {distance:.3f}, er = {rank:.1f}, {len(x)} frames", fontsize=7)
        return perplexity


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


def pooled_features(store: FeatureStore, max_frames: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Average the maps of at most ``max_frames`` frames over space; the frames are spread evenly over the video.

    Returns features (n, C) as they enter the model, and times (n,) in seconds.
    """
    chosen = evenly(len(store), min(len(store), max_frames))
    blocks = [chosen[start : start + BLOCK] for start in range(0, len(chosen), BLOCK)]
    pooled = [store.frames(block).astype(np.float64).mean(axis=(2, 3)) for block in blocks]
    return np.concatenate([np.empty((0, store.shape[1])), *pooled]), store.time_s[chosen]


def embed_2d(
    x: NDArray[np.float64], perplexity: float = 30.0, components: int = 50, seed: int = 0, iterations: int = 1000
) -> tuple[NDArray[Any], float]:
    """Reduce x (n, D) by PCA to some components, then by t-SNE to (n, 2); also return the perplexity that n allows.

    The perplexity is the requested one, or (n - 1) / 3 if that is less: with fewer frames every frame would be the
    neighbour of every other.
    """
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    perplexity = min(perplexity, (len(x) - 1) / 3)
    reduced = PCA(min(components, *x.shape), svd_solver="full").fit_transform(x)
    # t-SNE starts from PCA, too; features that do not vary have no directions, and a random start.
    start = "pca" if np.ptp(reduced, axis=0).max() > 0 else "random"
    method = TSNE(2, perplexity=perplexity, init=start, max_iter=iterations, random_state=seed, n_jobs=1)
    return method.fit_transform(reduced), perplexity
