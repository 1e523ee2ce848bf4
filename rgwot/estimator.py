"""`rgwot.ProcedureLearner`: `rgwot.discover` as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self, TypeAlias, TypeVar, overload

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rgwot.discovery import discover
from rgwot.intake import Rates, Times, Video, Videos
from rgwot.labels import Labels
from rgwot.runtime.errors import RgwotError

_Array = TypeVar("_Array", bound=NDArray[Any])
Named: TypeAlias = Mapping[Any, Video]
Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]


# scikit-learn has no types.
class ProcedureLearner(TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Find key steps and their order from the features of a task's videos, and label new videos.

    A sample is a whole video: features (T, C) or (T, C, h, w), where T may differ. Fitted estimators can be cloned,
    pickled and stored with joblib.

    Parameters
    ----------
    method, decoder, K, fps, missing, settings, device, progress
        The parameters of `rgwot.discover`.
    random_state
        The ``seed`` of `rgwot.discover`, or a `numpy.random.RandomState` that draws it; None draws it from NumPy's
        global state.
    n_jobs
        Number of threads that find the key steps, and of processes in which other videos are labelled, as in
        scikit-learn.

    Attributes
    ----------
    discovery_ : rgwot.Discovery
        The result: segments, the procedure and deviations of the fitted videos, and ``bundle``.
    labels_ : dict or list of numpy.ndarray
        The key steps (T,) of these videos, int64 from 1, 0 for background: by name if the videos were given by name,
        otherwise in their order.

    Notes
    -----
    If videos are given by name, every method returns results by name; if they are given in a sequence, it returns a
    list. Each video is labelled separately, with fixed clusters; fitted videos keep their labels.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> steps = np.repeat(rng.normal(size=(3, 16)), 20, axis=0)
    >>> videos = [steps + rng.normal(scale=0.3, size=steps.shape) for _ in range(5)]
    >>> learner = ProcedureLearner(fps=2, K=3).fit(videos[:4])
    >>> learner.score(videos[4:], [np.repeat([1, 2, 3], 20)]) > 0.9
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
        random_state: int | RandomState | None = 0,
        device: str = "auto",
        n_jobs: int | None = None,
        progress: bool = True,
    ) -> None:
        self.method = method
        self.decoder = decoder
        self.K = K
        self.fps = fps
        self.missing = missing
        self.settings = settings
        self.random_state = random_state
        self.device = device
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(self, X: Videos, y: Labels | None = None, *, times: Times | None = None) -> Self:
        """Find the key steps of videos, and learn to label others.

        Parameters
        ----------
        X
            Features (T, C) or (T, C, h, w) of every video, as `rgwot.discover` takes them.
        y
            Labels of some of the videos, as ``labels`` of `rgwot.discover`: by name, or in the order of the videos. A
            video without labels then has None, or -1 for all features.
        times
            As in `rgwot.discover`, instead of ``fps``.

        Raises
        ------
        RgwotError
            As from `rgwot.discover`.
        """
        about = self.get_params(deep=False)
        seed = about.pop("random_state")
        if seed is None or isinstance(seed, RandomState):
            seed = int(check_random_state(seed).randint(2**31 - 1))
        self.discovery_ = discover(X, labels=y, times=times, seed=seed, **about)
        self.labels_ = _as_given(X, self.discovery_.labels)
        return self

    # A mapping is iterable, too; the first overload that fits holds.
    @overload
    def predict(self, X: Named, *, times: Times | None = None) -> dict[str, Ints]: ...  # type: ignore[overload-overlap]

    @overload
    def predict(self, X: Iterable[Any], *, times: Times | None = None) -> list[Ints]: ...

    def predict(self, X: Videos, *, times: Times | None = None) -> Any:
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
        return _as_given(X, self.discovery_.predict(X, **self._how(times)))

    @overload
    def predict_proba(self, X: Named, *, times: Times | None = None) -> dict[str, Floats]: ...  # type: ignore[overload-overlap]

    @overload
    def predict_proba(self, X: Iterable[Any], *, times: Times | None = None) -> list[Floats]: ...

    def predict_proba(self, X: Videos, *, times: Times | None = None) -> Any:
        """Return the probability of every key step.

        Parameters
        ----------
        X, times
            As in `predict`.

        Returns
        -------
        dict or list of numpy.ndarray
            Probabilities (T, K + 1): background, then key steps 1 to K. They are calibrated if `fit` had labels, and
            otherwise far too sure (`rgwot.Discovery.probabilities`).

        Raises
        ------
        sklearn.exceptions.NotFittedError, RgwotError
            As from `predict`, and for a decoder without memberships.
        """
        check_is_fitted(self)
        return _as_given(X, self.discovery_.predict_proba(X, **self._how(times)))

    @overload
    def transform(self, X: Named, *, times: Times | None = None) -> dict[str, Floats]: ...  # type: ignore[overload-overlap]

    @overload
    def transform(self, X: Iterable[Any], *, times: Times | None = None) -> list[Floats]: ...

    def transform(self, X: Videos, *, times: Times | None = None) -> Any:
        """Embed videos without learning from them.

        Parameters
        ----------
        X, times
            As in `predict`.

        Returns
        -------
        dict or list of numpy.ndarray
            The embeddings (T, D) that are clustered.

        Raises
        ------
        sklearn.exceptions.NotFittedError, RgwotError
            As from `predict`.
        """
        check_is_fitted(self)
        return _as_given(X, self.discovery_.embed(X, **self._how(times)))

    def score(self, X: Videos, y: Labels | None = None, *, times: Times | None = None) -> float:
        """Return the share of the labelled samples that get their label, 0 to 1.

        Key steps that were fitted without labels are first matched with those of ``y``, one to one, so that most
        samples agree. Background is matched with background. The score of fitted videos means little if `fit` had their
        labels.

        Parameters
        ----------
        X, times
            As in `predict`.
        y
            Labels of some of these videos, as in `fit`; required, because no score without labels shows whether
            clusters are steps.

        Raises
        ------
        sklearn.exceptions.NotFittedError, RgwotError
            As from `predict`, and if no sample is labelled.
        """
        check_is_fitted(self)
        if y is None:
            raise RgwotError("score: found no labels, expected them for some videos; give y; to choose K, see how_many")
        return self.discovery_.score(X, y, **self._how(times))

    def _how(self, times: Times | None) -> dict[str, Any]:
        return {"times": times, "missing": self.missing, "n_jobs": self.n_jobs, "progress": self.progress}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.input_tags.dict = True
        tags.input_tags.allow_nan = self.missing is not None
        tags.non_deterministic = self.random_state is None
        tags.no_validation = True
        return tags


def _as_given(X: Videos, results: dict[str, _Array]) -> dict[str, _Array] | list[_Array]:
    """Return results by name, or in the order of the videos if these have no names."""
    return results if isinstance(X, Mapping) else list(results.values())
