"""`rgwot.ProcedureLearner`: `rgwot.discover` as a scikit-learn estimator."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from rgwot.bundles.apply import check_kind, import_form, label_each, restore
from rgwot.bundles.file import MODEL, bundle_bytes, parse_bundle
from rgwot.bundles.make import bundle_of
from rgwot.config.configuration import ImportSettings
from rgwot.config.settings import validated
from rgwot.datasets.arrays import column_names
from rgwot.datasets.names import id_of
from rgwot.discovery import Findings, Times, Videos, array_of, find, named_videos, store_at, times_of
from rgwot.embedding.interface import embedded_video
from rgwot.features.importing import store_of_array
from rgwot.features.store import FeatureStore
from rgwot.labels import Labels
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.limits import threads_kept
from rgwot.study.jobs import check_rule

KeyStepLabels = dict[str, NDArray[np.int64]] | list[NDArray[np.int64]]
"""The key steps (T,) of all features: by name if the videos have names, otherwise in their order."""


class ProcedureLearner(ClusterMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Find key steps and their order from the features of a task's videos, and label new videos.

    A sample is a whole video: features (T, C) or (T, C, h, w), where T may differ. Fitted estimators can be cloned,
    pickled and stored with joblib.

    Parameters
    ----------
    method, decoder, K, fps, settings, seed, device
        The parameters of `rgwot.discover`.

    Attributes
    ----------
    discovery_ : rgwot.Discovery
        Segments, orders, the procedure, deviations and diagnostics of the fitted videos.
    labels_ : dict or list of numpy.ndarray
        The key steps (T,) of these videos, int64 from 1, 0 for background: by name if the videos were given by name,
        otherwise in their order.
    bundle_ : bytes or None
        The learned parameters. Written to a file ``NAME.rgwot``, they are a bundle for ``rgwot apply``. None if the
        decoder or the embedding has no rule for other videos; `predict` then raises an error with the reason.

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
        options = (self.method, self.decoder, self.K, self.settings, self.seed)
        findings = find(X, *options, fps=self.fps, times=times, device=self.device, labels=y)
        self.bundle_: bytes | None = None
        self._no_rule = ""
        try:
            self.bundle_ = _bundle(findings, X, times)
        except RgwotError as error:
            self._no_rule = str(error)
        result = findings.discovery
        self.discovery_ = result
        self.labels_: KeyStepLabels = result.labels if isinstance(X, Mapping) else list(result.labels.values())
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
        if self.bundle_ is None:
            raise RgwotError(f"predict: {self._no_rule}")
        bundle = parse_bundle(self.bundle_, Path("what was fitted"))
        stores = _stores_of(X, times, lambda _: import_form(bundle))
        for store in stores:
            check_kind(bundle, store)
        with_frames = [store for store in stores if len(store)]
        with threads_kept() if MODEL in bundle.parts else nullcontext():
            result = restore(bundle)
            videos = {store.video: embedded_video(store, result.embed) for store in with_frames}
        steps, _ = label_each(bundle, result, with_frames, videos)
        empty = np.empty(0, dtype=np.int64)
        labels = [steps.get(store.video, empty) for store in stores]
        return dict(zip(X, labels, strict=True)) if isinstance(X, Mapping) else labels


def _stores_of(X: Videos, times: Times | None, form: Callable[[str], ImportSettings]) -> list[FeatureStore]:
    """Return the features of videos as stores, in the given order; ``form`` returns the form for given axes."""
    named, stores = named_videos(X), []
    when = times_of(times, list(named))
    for name, video in named.items():
        what = f"features[{name!r}]"
        if isinstance(video, (str, os.PathLike)):
            stores.append(store_at(what, video, id_of(name)))
        else:
            array = array_of(what, video)
            columns = column_names(getattr(video, "columns", ()))
            axes = "TC" if array.ndim == 2 else "TCHW"
            stores.append(store_of_array(name, array, form(axes), when.get(name), columns))
    return stores


def _bundle(findings: Findings, X: Videos, times: Times | None) -> bytes:
    """Return the bundle of a result; raise RgwotError if the decoder or the embedding has no rule for other videos."""
    result, embedded = findings.discovery, findings.embedded
    check_rule(result.run.decoder)
    # Only the results of trivial decoders lack what is asserted here, and `check_rule` refuses these decoders.
    assert embedded is not None
    assert findings.embedder is not None
    when = {"times": "times"} if findings.rate is None else {"fps": str(findings.rate)}
    stores = _stores_of(X, times, lambda axes: validated(ImportSettings, {"axes": axes, **when}, "features"))
    model = None
    if findings.model is not None:
        from rgwot.stages.train import model_bytes

        model = model_bytes(findings.model)
    facts, parts = bundle_of(
        run=result.run,
        dataset="arrays",
        task="task",
        settings=result.settings,
        blocks=result.settings.model_dump(by_alias=True, mode="json"),
        stores=sorted((store for store in stores if len(store)), key=lambda store: store.video),
        embedded=embedded,
        embedding=findings.embedder.embed,
        model=model,
        key_steps=findings.key_steps,
        names=result.names,
    )
    return bundle_bytes(facts, parts)
