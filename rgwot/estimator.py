"""`rgwot.discover` in the manner of scikit-learn: `rgwot.ProcedureLearner`."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from rgwot.bundles.apply import find_key_steps, restore
from rgwot.bundles.file import MODEL as MODEL_PART
from rgwot.bundles.file import read_bundle
from rgwot.bundles.inputs import How, read_inputs
from rgwot.bundles.make import make_bundle
from rgwot.discovery import (
    Times,
    Videos,
    as_many_threads,
    discover_in,
    named_plainly,
    resolve,
    tree_in,
    write_arrays,
)
from rgwot.paths import BUNDLE, EMBEDDINGS, INDEX, MODEL, SEGMENTS
from rgwot.runtime.errors import RgwotError

Labels = dict[str, NDArray[np.int64]] | list[NDArray[np.int64]]
"""The key step (T,) of every feature, by video where the videos have names, else in the order of the videos."""


class ProcedureLearner(ClusterMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Key steps and their order from the features of the videos of a task; labels videos that come later, too.

    A sample is a whole video, features (T, C) or (T, C, h, w); T may differ. Fitted estimators can be cloned, pickled
    and kept with joblib.

    Parameters
    ----------
    method, decoder, K, fps, settings, seed, device
        As of `rgwot.discover`.

    Attributes
    ----------
    discovery_ : rgwot.Discovery
        Segments, orders, the procedure, deviations and diagnostics of the videos that were fitted.
    labels_ : dict or list of numpy.ndarray
        The key step (T,) of every feature of these videos, int64 from 1, 0 for background: by name where videos were
        given by name, else in their order.
    bundle_ : bytes or None
        What was learnt. Written to a file ``NAME.rgwot``, it is a bundle for ``rgwot apply``. None where decoder or
        embedding have no rule for other videos; `predict` then says why.

    Notes
    -----
    `predict` labels each video by itself, by clusters that stay as they are; a video that was fitted gets the labels it
    has. To have that rule at hand, `fit` lets the decoder, and an embedding that is no encoder, learn a second time;
    `rgwot.discover` does not.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> steps = np.repeat(rng.normal(size=(3, 16)), 20, axis=0)
    >>> videos = [steps + rng.normal(scale=0.3, size=steps.shape) for _ in range(5)]
    >>> learner = ProcedureLearner(fps=2, K=3).fit(videos[:4])
    >>> bool((learner.predict(videos[4:])[0] == learner.labels_[0]).mean() > 0.9)
    True
    """

    def __init__(
        self,
        method: str = "rgwot-plus",
        decoder: str = "consensus",
        *,
        K: int | str | None = None,
        fps: float | str | Fraction | None = None,
        settings: Mapping[str, Mapping[str, Any]] | None = None,
        seed: int = 0,
        device: str = "auto",
    ) -> None:
        self.method = method
        self.decoder = decoder
        self.K = K
        self.fps = fps
        self.settings = settings
        self.seed = seed
        self.device = device

    def fit(self, X: Videos, y: None = None, *, times: Times | None = None) -> Self:
        """Find the key steps of videos, and what is needed to label others.

        Parameters
        ----------
        X
            Features (T, C) or (T, C, h, w) of every video, as `rgwot.discover` takes them.
        y
            Not used; there for the conventions of scikit-learn.
        times
            As of `rgwot.discover`, instead of ``fps``.

        Raises
        ------
        RgwotError
            As `rgwot.discover`.
        """
        experiment = resolve(self.method, self.decoder, self.K, self.settings, self.seed)
        run = experiment.run
        with TemporaryDirectory(prefix="rgwot-") as name:
            folder = Path(name)
            found = discover_in(folder, X, experiment, fps=self.fps, times=times, device=self.device)
            tree = tree_in(folder)
            model, bundle = tree.at(MODEL, run), tree.at(BUNDLE, run)
            self.bundle_: bytes | None = None
            self._no_rule = ""
            try:
                with named_plainly(folder), as_many_threads(model.exists()):
                    make_bundle(
                        bundle,
                        index_csv=tree.at(INDEX),
                        embeddings_zarr=tree.at(EMBEDDINGS, run),
                        segments_csv=tree.at(SEGMENTS, run),
                        model_path=model if model.exists() else None,
                        run=run,
                        dataset=tree.dataset,
                        task=tree.task,
                        settings=found.settings,
                        blocks=found.settings.model_dump(by_alias=True, mode="json"),
                    )
                self.bundle_ = bundle.read_bytes()
            except RgwotError as error:
                self._no_rule = str(error)
        self.discovery_ = found
        self.labels_: Labels = found.labels if isinstance(X, Mapping) else list(found.labels.values())
        return self

    def predict(self, X: Videos, *, times: Times | None = None) -> Labels:
        """Label videos by what was learnt, without learning from them.

        Parameters
        ----------
        X
            Features of the kind that was fitted, of any number of videos.
        times
            As of `fit`; needed where times were given there, and only there.

        Returns
        -------
        dict or list of numpy.ndarray
            The key step (T,) of every feature, as in ``labels_``.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        RgwotError
            For features of another kind, or where decoder or embedding have no rule for other videos.
        """
        check_is_fitted(self)
        if self.bundle_ is None:
            raise RgwotError(f"predict: {self._no_rule}")
        with TemporaryDirectory(prefix="rgwot-") as name, named_plainly(Path(name)):
            folder = Path(name)
            path = folder / "what was fitted"
            path.write_bytes(self.bundle_)
            bundle = read_bundle(path)
            sources = write_arrays(X, times, folder)
            with as_many_threads(MODEL_PART in bundle.parts):
                result = restore(bundle)
                inputs = read_inputs(bundle, list(sources.values()), folder / "features", How())
                found = find_key_steps(bundle, result, [one.store for one in inputs], folder / "embeddings.zarr")
        empty = np.empty(0, dtype=np.int64)
        by_source = {one.source: found.steps.get(one.store.video, empty) for one in inputs}
        labels = [by_source[path] for path in sources.values()]
        return dict(zip(X, labels, strict=True)) if isinstance(X, Mapping) else labels
