"""Further methods of `rgwot.ProcedureLearner`, and scikit-learn's checks of estimators."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import numpy as np
import pytest
import sklearn.utils.estimator_checks as checks
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import rgwot
from rgwot.keysteps.labelled import calibrated
from rgwot.runtime.errors import RgwotError

STEPS = np.repeat([1, 2, 3], 15)


def recordings(n: int, seed: int = 0) -> list[NDArray[np.float64]]:
    looks = np.random.default_rng(9).normal(size=(3, 8))
    rng = np.random.default_rng(seed)
    return [looks[STEPS - 1] + rng.normal(scale=0.2, size=(len(STEPS), 8)) for _ in range(n)]


@pytest.fixture(scope="module")
def fitted() -> rgwot.ProcedureLearner:
    return rgwot.ProcedureLearner("whitened", "meanfield", fps=2, K=3).fit(recordings(4))


def test_probabilities_of_other_and_of_fitted_recordings(fitted: rgwot.ProcedureLearner) -> None:
    new = recordings(1, seed=5)
    for videos in (new, recordings(4)):
        for shares, labels in zip(fitted.predict_proba(videos), fitted.predict(videos), strict=True):
            assert shares.shape == (len(STEPS), 4)
            np.testing.assert_allclose(shares.sum(axis=1), 1)
            np.testing.assert_array_equal(shares.argmax(axis=1), labels)
    own = fitted.discovery_.probabilities["2"]
    np.testing.assert_array_equal(fitted.predict_proba({"x": recordings(4)[2]})["x"], own)
    kmeans = rgwot.ProcedureLearner("whitened", "kmeans", fps=2, K=3).fit(recordings(3))
    with pytest.raises(RgwotError, match="predict_proba: found none for whitened/kmeans/seed0; expected a decoder wit"):
        kmeans.predict_proba(new)


def test_columns_are_key_steps_in_the_order_of_the_procedure() -> None:
    videos = recordings(4)
    # Clusters are numbered by the procedure, and so must be the memberships of other recordings.
    taught = rgwot.ProcedureLearner("rgwot-plus", fps=2, K=3, settings={"consensus": {"partitions": 4}}).fit(videos)
    shares = taught.predict_proba(recordings(1, seed=5))[0]
    assert shares.argmax(axis=1).tolist() == taught.predict(recordings(1, seed=5))[0].tolist()
    assert taught.predict(recordings(1, seed=5))[0][::15].tolist() == [1, 2, 3]


def test_labels_calibrate_probabilities() -> None:
    turned = np.array([0, 3, 1, 2])[STEPS]
    learner = rgwot.ProcedureLearner("whitened", fps=2).fit(recordings(4), [turned, None, None, None])
    shares = learner.discovery_.key_steps.probabilities
    assert shares is not None
    np.testing.assert_array_equal(learner.discovery_.probabilities["3"], calibrated(shares["3"]))
    assert learner.predict_proba(recordings(1, seed=5))[0].argmax(axis=1).tolist() == turned.tolist()
    # Annotated samples have memberships close to 1.
    own = learner.discovery_.probabilities["0"]
    assert own.argmax(axis=1).tolist() == turned.tolist()
    assert own.max(axis=1).min() > 0.9


def test_transform_returns_the_embeddings(fitted: rgwot.ProcedureLearner) -> None:
    embedded = fitted.transform(recordings(4))
    np.testing.assert_allclose(embedded[1], fitted.discovery_.embeddings["1"])
    assert fitted.transform({"x": recordings(1, seed=5)[0]})["x"].shape == embedded[0].shape


def test_a_score_matches_key_steps_or_compares_names(fitted: rgwot.ProcedureLearner) -> None:
    videos, turned = recordings(2, seed=5), np.array([0, 3, 1, 2])[STEPS]
    assert fitted.score(videos, [turned, None]) == 1
    half = turned.copy()
    half[:15] = -1
    half[-1] = 0
    # One of 30 labelled samples is labelled as background, but predicted as a key step.
    assert fitted.score(videos, [None, half]) == pytest.approx(29 / 30)
    # In one recording, two key steps are exchanged.
    assert fitted.score(videos, [turned, np.array([0, 1, 3, 2])[STEPS]]) == pytest.approx(2 / 3)
    names = np.array(["", "cut", "stir", "pour"])[STEPS]
    taught = clone(fitted).set_params(decoder=None).fit(recordings(4), [names, None, None, None])
    assert taught.score(videos, [names, None]) == 1
    other = np.array(["", "pour", "stir", "wash"])[STEPS]
    assert taught.score({"a": videos[0]}, {"a": other}) == pytest.approx(1 / 3)
    with pytest.raises(RgwotError, match="score: found no labels, expected them for some videos; give y"):
        fitted.score(videos)
    with pytest.raises(NotFittedError):
        clone(fitted).score(videos, [turned, None])


def test_a_random_state_draws_the_seed() -> None:
    learner = rgwot.ProcedureLearner("whitened", "kmeans", fps=2, K=3, random_state=np.random.RandomState(7))
    seeds = [learner.fit(recordings(2)).discovery_.run.seed for _ in range(2)]
    assert seeds == np.random.RandomState(7).randint(2**31 - 1, size=2).tolist()
    np.random.seed(7)  # noqa: NPY002
    assert learner.set_params(random_state=None).fit(recordings(2)).discovery_.run.seed == seeds[0]


class OfArrays(rgwot.ProcedureLearner):
    """A learner for the arrays (n, C) of scikit-learn's checks, which it splits into three recordings."""

    def fit(self, X: Any, y: Any = None) -> Any:
        super().fit(np.array_split(np.asarray(X), 3))
        self.labels_ = np.concatenate(self.labels_)
        return self

    def predict(self, X: Any) -> Any:
        return np.concatenate(super().predict(np.array_split(np.asarray(X), 3)))

    def transform(self, X: Any) -> Any:
        return np.concatenate(super().transform(np.array_split(np.asarray(X), 3)))

    def predict_proba(self, X: Any) -> Any:
        return np.concatenate(super().predict_proba(np.array_split(np.asarray(X), 3)))

    def score(self, X: Any, y: Any = None) -> float:
        return super().score(np.array_split(np.asarray(X), 3), np.array_split(np.asarray(y) + 1, 3))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        return tags


#: The checks that cannot apply; docs/api.md says why.
CANNOT_APPLY = {
    "check_clustering", "check_estimator_sparse_array", "check_estimator_sparse_matrix", "check_estimator_sparse_tag",
    "check_fit2d_1sample", "check_methods_sample_order_invariance", "check_methods_subset_invariance",
}  # fmt: skip
#: The checks on cloning, parameters, pickling, `NotFittedError`, repr, idempotent fits and tags.
MUST_HOLD = {
    "check_dict_unchanged", "check_do_not_raise_errors_in_init_or_set_params", "check_dont_overwrite_parameters",
    "check_estimator_cloneable", "check_estimator_repr", "check_estimator_tags_renamed", "check_estimators_pickle",
    "check_estimators_overwrite_params", "check_estimators_unfitted", "check_fit_check_is_fitted",
    "check_fit_idempotent", "check_get_params_invariance", "check_mixin_order", "check_no_attributes_set_in_init",
    "check_parameters_default_constructible", "check_set_params", "check_valid_tag_types",
}  # fmt: skip


def test_the_checks_of_scikit_learn_hold() -> None:
    if not hasattr(checks, "check_estimator_cloneable"):
        pytest.skip("scikit-learn before 1.6 does not tell which checks failed")
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            learner = OfArrays("whitened", "meanfield", K=2, fps=2)
            results = checks.check_estimator(learner, on_fail=None, on_skip=None)
    finally:
        logging.disable(logging.NOTSET)
    passed = {result["check_name"] for result in results if result["status"] == "passed"}
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert passed >= MUST_HOLD
    assert set(failed) == CANNOT_APPLY, failed
    assert len(passed) >= 30
