"""Embedding and labelling other videos, each separately, by what a result learned."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rgwot.bundles.learned import LearnedResult
from rgwot.datasets.names import id_of
from rgwot.embedding.interface import embedded_video
from rgwot.features.store import FeatureStore
from rgwot.in_memory import stores_of, without_missing
from rgwot.intake import Intake, Times, Videos, handed_over
from rgwot.labels import Labels, read_labels
from rgwot.runtime.limits import threads_kept
from rgwot.runtime.progress import mapped, progress_shown

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _OtherVideo:
    """A video that a result labels.

    Attributes
    ----------
    source
        The SHA-256 of its features.
    embedding, key_steps
        Its embedding (T, D), and its key steps (T,).
    probabilities
        Memberships (T, K + 1), background first; None if the decoder has none.
    """

    source: str
    embedding: NDArray[np.float64]
    key_steps: NDArray[np.int64]
    probabilities: NDArray[np.float64] | None


def labelled_others(
    learned: LearnedResult, videos: Videos, times: Times | None, missing: str | None, n_jobs: int | None, progress: bool
) -> dict[str, _OtherVideo]:
    """Embed and label videos by what was learned; the parameters are those of `rgwot.Discovery.predict`.

    Raises RgwotError for features of another kind; warns of a video that does not look like those learned from, or is
    far longer or shorter.
    """
    handed, stores = _read(learned, videos, times, missing)
    # Running an encoder sets PyTorch's number of threads, which is restored for the caller.
    with progress_shown(progress), nullcontext() if learned.model is None else threads_kept():
        work = partial(_labelled, learned, handed.missing)
        others = mapped(work, stores, n_jobs, logger=log, title="label videos", unit="video")
    for store in stores:
        if len(store) and learned.answer(store) is None:
            for line in filter(None, (learned.unlike(store), learned.unusual_length(store))):
                log.warning("%s: %s", store.path, line)
    return dict(zip(handed.features, others, strict=True))


def labelled_samples(
    learned: LearnedResult,
    videos: Videos,
    labels: Labels,
    times: Times | None,
    missing: str | None,
    names: Mapping[int, str],
) -> dict[str, NDArray[np.int64]]:
    """Return the labels (T,) of some of the videos in the key steps of a result with these ``names``.

    0 is background, -1 a sample without a label. Without names, numbers are those of the labels; a name that the result
    lacks gets a number above all numbers of the result.
    """
    handed, stores = _read(learned, videos, times, missing)
    given = read_labels(labels, list(handed.features), stores)
    numbers = np.arange(given.K + 1)
    by_name, further = {name: step for step, name in names.items()}, max(names, default=0)
    for step, name in given.names.items() if names else ():
        numbers[step] = by_name.get(name, further + step)
    named = {name: given.labels.get(id_of(name)) for name in handed.features}
    return {name: np.where(own < 0, -1, numbers[own]) for name, own in named.items() if own is not None}


def _read(
    learned: LearnedResult, videos: Videos, times: Times | None, missing: str | None
) -> tuple[Intake, list[FeatureStore]]:
    """Return videos as stores; raise RgwotError if they differ in kind from the videos learned from."""
    clocks = times is None and bool(learned.features.attributes.get("source_times"))
    handed = handed_over(videos, times, missing=missing, clocks=clocks)
    stores = stores_of(handed.features, handed.times, lambda _: learned.import_form())
    for store in stores:
        learned.check_kind(store)
    return handed, stores


def _labelled(learned: LearnedResult, missing: Mapping[str, NDArray[np.bool_]], store: FeatureStore) -> _OtherVideo:
    source = str(store.attributes.get("source_sha256"))
    if not len(store):
        return _OtherVideo(source, np.empty((0, 0)), np.empty(0, dtype=np.int64), np.empty((0, learned.K + 1)))
    embed, predict = learned.rules()
    video = without_missing({store.video: embedded_video(store, embed)}, missing)[store.video]
    found, answer = learned.labelling(predict, video), learned.answer(store)
    return _OtherVideo(source, video.embedding, found.labels + 1 if answer is None else answer, found.probabilities)
