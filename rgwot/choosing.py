"""What helps to choose K and to trust a result: the tree of key steps, and the answers of several seeds."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rgwot.datasets.names import id_of, stem_of
from rgwot.keysteps.labelling import split_by_video
from rgwot.keysteps.ordering import KeySteps
from rgwot.keysteps.tree import grown
from rgwot.runtime.errors import RgwotError, extras
from rgwot.runtime.progress import mapped, progress_shown
from rgwot.stages.decode import decode_task

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rgwot.embedding.interface import EmbeddedVideo
    from rgwot.result import Discovery

log = logging.getLogger(__name__)


@dataclass(frozen=True, repr=False)
class HowMany:
    """The tree of key steps of a result (`how_many`), which can be cut at any K (methods 5.12).

    Attributes
    ----------
    merges : tuple
        The merges (a, b, share) in order: with n leaves 0..n-1, merge i joins the clusters a and b into cluster n + i,
        and leaves this share of the variance, in [0, 1], unexplained.
    leaves : dict of numpy.ndarray
        The leaf of each feature, (T,) int64, by video.
    """

    merges: tuple[tuple[int, int, float], ...]
    leaves: dict[str, NDArray[np.int64]]

    @property
    def table(self) -> pd.DataFrame:
        """``K, explained, gain``: the share of the variance that K key steps explain, and the gain over K - 1."""
        n = len(self.merges) + 1
        gains = [0.0, *(lost for _, _, lost in reversed(self.merges))]
        return pd.DataFrame({"K": range(1, n + 1), "explained": np.cumsum(gains), "gain": gains})

    def labels(self, K: int) -> dict[str, NDArray[np.int64]]:
        """Cut the tree; return the key steps (T,) int64 of each video, 1 to K in the order of their usual times.

        Parameters
        ----------
        K
            Number of key steps, from 1 to the number of leaves; RgwotError is raised for any other number.
        """
        n = len(self.merges) + 1
        if not _is_integer(K) or not 1 <= K <= n:
            raise RgwotError(f"K: found {K!r}, expected a whole number from 1 to {n}")
        members = {leaf: [leaf] for leaf in range(n)}
        for new, (a, b, _) in enumerate(self.merges[: n - K], start=n):
            members[new] = members.pop(a) + members.pop(b)
        step = np.empty(n, dtype=np.int64)
        # Leaves are numbered by time.
        for number, own in enumerate(sorted(members.values(), key=min), start=1):
            step[own] = number
        return {video: step[leaves] for video, leaves in self.leaves.items()}

    def plot(self, ax: Axes | None = None) -> Figure:
        """Draw the tree, from one key step at the left to a row per leaf at the right; into ``ax``, if given.

        A cut at K crosses the lines of K key steps.
        """
        with extras("plot"):
            from rgwot.reporting.figures.tree import draw_tree

            return draw_tree(self.merges, ax)

    def __repr__(self) -> str:
        return f"<HowMany: {len(self.leaves)} videos, K = 1 to {len(self.merges) + 1}>"


def how_many(found: Discovery) -> HowMany:
    """Grow the tree of key steps, which shows what each K merges and splits, like the tab *How many?* of the page.

    The tree follows from the embeddings and the seed of a result, not from its K.

    Parameters
    ----------
    found
        A result of any K.

    Raises
    ------
    RgwotError
        For a result without embeddings (the method ``none``, or one that was loaded without them).

    Examples
    --------
    >>> import rgwot
    >>> rng = np.random.default_rng(0)
    >>> steps = np.repeat(rng.normal(size=(3, 16)), 20, axis=0)
    >>> videos = [steps + rng.normal(scale=0.3, size=steps.shape) for _ in range(4)]
    >>> tree = how_many(rgwot.discover(videos, fps=2, K=2, decoder="kmeans", method="whitened"))
    >>> tree.labels(3)["0"][::20].tolist()
    [1, 2, 3]
    """
    videos = embeddings_of(found, "how_many")
    tree = grown(videos, found.run.seed)
    leaves = split_by_video(videos, tree.leaves)
    return HowMany(tree.merges, {stem_of(video): own for video, own in leaves.items()})


def embeddings_of(found: Discovery, what: str) -> Mapping[str, EmbeddedVideo]:
    """Return the embedded videos of a result by id; raise RgwotError if the result has no embeddings."""
    embedded = getattr(found, "embedded", None)
    if embedded is None:
        kind = f"a result of {found.run}" if hasattr(found, "run") else type(found).__name__
        raise RgwotError(
            f"{what}: found {kind}, which has no embeddings; expected a result of discover by a method that has them"
        )
    return dict(embedded.videos)


@dataclass(frozen=True, repr=False)
class Stability:
    """The answers of several seeds (`rgwot.Discovery.stability`).

    Attributes
    ----------
    answers
        A result for each seed.
    table : pandas.DataFrame
        (n, n) adjusted Rand index of the key steps of all samples without a label, by seeds: 1 for the same answer, 0
        for chance.
    """

    answers: tuple[Discovery, ...]
    table: pd.DataFrame

    @property
    def mean(self) -> float:
        """Mean adjusted Rand index over the pairs of seeds."""
        return float(self.table.to_numpy()[np.triu_indices(len(self.table), 1)].mean())

    def __repr__(self) -> str:
        return f"<Stability: {len(self.answers)} seeds, mean adjusted Rand index {self.mean:.2f}>"

    def _repr_html_(self) -> str:
        from rgwot.runtime.html import html_table

        rows = [(str(seed), *(f"{value:.2f}" for value in row)) for seed, row in self.table.iterrows()]
        return html_table(repr(self), ("seed", *map(str, self.table)), rows)


def repeated(found: Discovery, n: int, n_jobs: int | None, progress: bool) -> Stability:
    """Decode a result with n seeds; the parameters are those of `rgwot.Discovery.stability`."""
    if not _is_integer(n) or n < 2:
        raise RgwotError(f"n: found {n!r}, expected a whole number, 2 or more")
    embeddings_of(found, "stability")
    if found.key_steps.diagnostics.labelled is not None and found.given is None:
        raise RgwotError("stability: found a loaded result without its labels; expected a result of discover")
    given = {} if found.given is None else found.given.labels
    free = {
        name: given[id_of(name)] < 0 if id_of(name) in given else np.full(len(own), True)
        for name, own in found.labels.items()
    }
    if not any(mask.any() for mask in free.values()):
        raise RgwotError("stability: found labels for all samples, expected some without, since only these can differ")
    with progress_shown(progress):
        seeds = range(found.run.seed + 1, found.run.seed + n)
        decoded = mapped(partial(_decoded, found), seeds, n_jobs, logger=log, title="stability", unit="seed")
    reason = "another seed of stability: learned nothing for other videos"
    answers = [found] + [
        replace(
            found,
            experiment=replace(found.experiment, run=replace(found.run, seed=seed)),
            key_steps=key_steps,
            learned=reason,
            names=found.names if given else {},
        )
        for seed, key_steps in zip(seeds, decoded, strict=True)
    ]
    return Stability(tuple(answers), agreement_table(answers, free))


def _decoded(found: Discovery, seed: int) -> KeySteps:
    assert found.embedded is not None
    decoder = found.experiment.decoder
    kept = None if found.made is None else found.made.kept
    # The doubts of every answer are in its `warnings`; those of the result itself were logged when it was found.
    decoding = logging.getLogger("rgwot.keysteps.decode")
    before, decoding.disabled = decoding.disabled, True
    try:
        return decode_task(found.embedded, decoder, seed, alone=False, given=found.given, kept=kept, check=False)
    finally:
        decoding.disabled = before


def agreement_table(answers: Sequence[Discovery], which: Mapping[str, NDArray[np.bool_]]) -> pd.DataFrame:
    """Return the adjusted Rand index (n, n) of the key steps of results, by their seeds, on ``which`` samples (T,)."""
    from sklearn.metrics import adjusted_rand_score

    labels: list[NDArray[np.integer]] = [
        np.concatenate([answer.labels[name][mask] for name, mask in which.items()]) for answer in answers
    ]
    seeds = pd.Index([answer.run.seed for answer in answers], name="seed")
    values = [[float(adjusted_rand_score(a, b)) for b in labels] for a in labels]
    return pd.DataFrame(values, index=seeds, columns=seeds)


def _is_integer(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
