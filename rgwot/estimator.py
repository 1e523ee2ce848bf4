"""`rgwot.ProcedureLearner`: `rgwot.discover` as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from rgwot.discovery import discover
from rgwot.intake import Rates, Times, Videos
from rgwot.labels import Labels

KeyStepLabels = dict[str, NDArray[np.int64]] | list[NDArray[np.int64]]
"""The key steps (T,) of all features: by name if the videos have names, otherwise in their order."""


class ProcedureLearner(ClusterMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Find key steps and their order from the features of a task's videos, and label new videos.

    A sample is a whole video: features (T, C) or (T, C, h, w), where T may differ. Fitted estimators can be cloned,
    pickled and stored with joblib.

    Parameters
    ----------
    method, decoder, K, fps, missing, settings, seed, device
        The parameters of `rgwot.discover`.

    Attributes
    ----------
    discovery_ : rgwot.Discovery
        The result: segments, the procedure and deviations of the fitted videos, and ``bundle``.
    labels_ : dict or list of numpy.ndarray
        The key steps (T,) of these videos, int64 from 1, 0 for background: by name if the videos were given by name,
        otherwise in their order.

    Notes
    -----
    `predict` labels each video separately, with fixed clusters; fitted videos keep their labels.

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
        decoder: str | None = None,
        *,
        K: int | str | None = None,
        fps: Rates | None = None,
        missing: str | None = None,
        settings: Mapping[str, Mapping[str, Any]] | None = None,
        seed: int = 0,
        device: str = "auto",
    ) -> None:
        self.method = method
        self.decoder = decoder
        self.K = K
        self.fps = fps
        self.missing = missing
        self.settings = settings
        self.seed = seed
        self.device = device

    def fit(self, X: Videos, y: Labels | None = None, *, times: Times | None = None) -> Self:
        """Find the key steps of videos, and learn to label others.

        Parameters
        ----------
        X
            Features (T, C) or (T, C, h, w) of every video, as `rgwot.discover` takes them.
        y
            Labels of some of the videos, as ``labels`` of `rgwot.discover`: by name, or in the order of the videos,
            with None, or -1 for all features, for a video without labels.
        times
            As in `rgwot.discover`, instead of ``fps``.

        Raises
        ------
        RgwotError
            As `rgwot.discover`.
        """
        self.discovery_ = discover(X, labels=y, times=times, **self.get_params())
        self.labels_ = _as_given(X, self.discovery_.labels)
        return self

    def predict(self, X: Videos, *, times: Times | None = None) -> KeyStepLabels:
        """Label videos without learning from them.

        Parameters
        ----------
        X
            Features of any number of videos, of the same kind as the fitted ones.
        times
            As in `fit`; required if, and only if, times were given there.

        Returns
        -------
        dict or list of numpy.ndarray
            The key steps (T,), as in ``labels_``.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        RgwotError
            For features of another kind, or if the decoder or the embedding has no rule for other videos.
        """
        check_is_fitted(self)
        return _as_given(X, self.discovery_.predict(X, times=times, missing=self.missing))


def _as_given(X: Videos, labels: dict[str, NDArray[np.int64]]) -> KeyStepLabels:
    """Return labels by name, or in the order of the videos if these have no names."""
    return labels if isinstance(X, Mapping) else list(labels.values())
