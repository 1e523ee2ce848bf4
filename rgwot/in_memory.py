"""Recordings in memory as feature stores, and reasons to doubt their features."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rgwot.blocks import validated
from rgwot.datasets.arrays import column_names
from rgwot.datasets.names import id_of, stem_of
from rgwot.datasets.settings import ImportSettings
from rgwot.datasets.text import tell
from rgwot.embedding.interface import EmbeddedVideo
from rgwot.embedding.values import FEWEST, LONG_S, NAMED, unlikely_lengths, unusual, values_of
from rgwot.features.importing import store_of_array
from rgwot.features.index import check_stores
from rgwot.features.store import FeatureStore, open_store
from rgwot.intake import array_of
from rgwot.paths import STORE
from rgwot.runtime.errors import RgwotError
from rgwot.timing import CONTRADICTS, parse_rate, short_rate

BRIEF = 5
"""Recordings with fewer samples than channels, and fewer than this per key step, may be transposed."""


def video_features(
    features: Mapping[str, object], times: Mapping[str, ArrayLike] | None, fps: float | str | Fraction | None
) -> list[FeatureStore]:
    """Return the features of a task's videos as stores, in the given order.

    Raises RgwotError for values that are neither an array nor a feature store, two videos with the same name, times
    that do not fit the videos, or features of different sizes.
    """
    try:
        rate = None if fps is None else parse_rate(fps)
    except ValueError:
        raise RgwotError(f"fps: expected a positive rate like 30 or 30000/1001, found {str(fps)!r}") from None
    when = {**({"times": "times"} if times or rate is None else {}), **({} if rate is None else {"fps": str(fps)})}
    stores = stores_of(features, times, lambda axes: validated(ImportSettings, {"axes": axes, **when}, "features"))
    check_stores(stores)
    return stores


def stores_of(
    features: Mapping[str, object], times: Mapping[str, ArrayLike] | None, form: Callable[[str], ImportSettings]
) -> list[FeatureStore]:
    """Return the features of videos as stores, in the given order; ``form`` returns the form of arrays with given axes.

    Raises RgwotError for values that are neither an array nor a feature store, two videos with the same name, or times
    that do not fit the videos.
    """
    stores, when = [], times or {}
    for name, video in features.items():
        what = f"features[{name!r}]"
        if isinstance(video, (str, os.PathLike)):
            stores.append(store_at(what, video, id_of(name)))
            continue
        array, columns = array_of(what, video), column_names(getattr(video, "columns", ()))
        stores.append(store_of_array(name, array, form("TC" if array.ndim == 2 else "TCHW"), when.get(name), columns))
        if isinstance(video, pd.DataFrame) and (doubt := _other_clock(video.index, stores[-1].fps)):
            tell("features", Path(what), doubt)
    return stores


def _other_clock(index: pd.Index[Any], fps: float) -> str:
    """Return a line if the index of a table is a clock whose rate differs from ``fps``, otherwise an empty text."""
    if isinstance(index, (pd.DatetimeIndex, pd.TimedeltaIndex)):
        seconds, units = np.asarray(pd.TimedeltaIndex(index - index[0]).total_seconds()), [1]
    elif pd.api.types.is_float_dtype(index) and not (index == np.round(index)).all():
        seconds, units = index.to_numpy(dtype=np.float64), [1, 10**3, 10**6, 10**9]
    else:
        return ""
    if len(seconds) < 2 or not (step := float(np.median(np.diff(seconds)))) > 0:
        return ""
    if any(abs(unit / step - fps) <= CONTRADICTS * fps for unit in units):
        return ""
    rate = float(short_rate(1 / step))
    return f"its index has {rate:g} rows per second, but fps is {fps:g}; expected the same; give fps={rate:g}"


def store_at(what: str, path: str | os.PathLike[str], ident: str) -> FeatureStore:
    """Open the feature store at ``path`` for the video with the id ``ident``; raise RgwotError if there is none."""
    store_path = Path(path).absolute()
    if store_path.suffix != STORE or not store_path.is_dir():
        raise RgwotError(f"{what}: found {str(path)!r}, expected an array, or a feature store ({STORE})")
    return replace(open_store(store_path), called=ident)


def without_missing(
    videos: Mapping[str, EmbeddedVideo], missing: Mapping[str, NDArray[np.bool_]]
) -> dict[str, EmbeddedVideo]:
    """Return embedded videos with the ``missing`` samples (T,), by name, as background."""
    masks = {id_of(name): mask for name, mask in missing.items()}
    return {
        video: replace(one, background=masks[video] if one.background is None else one.background | masks[video])
        if video in masks
        else one
        for video, one in videos.items()
    }


def doubts_on_features(
    videos: Sequence[FeatureStore], K: int | str, timed: bool, filled: Collection[str] = ()
) -> list[str]:
    """Return reasons to doubt the features: recordings that occur twice, too few channels, unusual values and pauses.

    ``timed`` says whether times were given. ``filled`` names videos with samples that will not count; stretches of
    equal samples are not reported for them.
    """
    doubts, same = [], dict[str, list[str]]()
    for video in videos:
        if digest := video.attributes.get("source_sha256"):
            same.setdefault(str(digest), []).append(stem_of(video.video))
    for names in same.values():
        if len(names) > 1:
            some = ", ".join(map(repr, names[:NAMED])) + " and more" * (len(names) > NAMED)
            doubts.append(f"features: {some} are the same recording, which counts several times; leave out all but one")
    vectors = [video.shape[:2] for video in videos if video.vectors and len(video)]
    if vectors and isinstance(K, int) and all(T < C and T < BRIEF * K for T, C in vectors):
        T, C = vectors[0]
        doubts.append(
            f"features: {T} samples of {C} channels are few for {K} key steps; is time the second axis? give array.T"
        )
    alone = all(video.vectors and video.shape[1] == 1 for video in videos if len(video))
    if alone and isinstance(K, int) and K > 2:
        doubts.append(
            f"features: a single channel hardly tells {K} key steps apart; add channels, such as its slope or its "
            "spread in a window"
        )
    if (maps := [video.shape for video in videos if not video.vectors and len(video)]) and all(
        height == width != depth for _, height, width, depth in (shape[:4] for shape in maps)
    ):
        doubts.append(
            f"features: maps of the shape {tuple(maps[0])} are read as (T, C, h, w); are the channels last? give "
            "array.transpose(0, 3, 1, 2)"
        )
    # Times of more than a day are reported elsewhere, when they are read.
    lengths = [video.duration_s for video in videos if len(video) >= FEWEST]
    if line := unlikely_lengths([length for length in lengths if not timed or length < LONG_S]):
        doubts.append(f"features: {line}")
    by_path = {str(store.path): store for store in videos if store.vectors and len(store)}
    values = {path: values_of(store.read()[:, :, 0, 0]) for path, store in by_path.items()}
    for path, store in by_path.items():
        if stem_of(store.video) in filled:
            values[path] = values[path]._replace(still=(0, 0), still_channels=())
    odd = unusual(
        values,
        {name: store.time_s for name, store in by_path.items()} if timed else {},
        next((store.columns.split("\n") for store in by_path.values() if store.columns), []),
    )
    return doubts + [f"{name or 'features'}: {line}" for name, lines in odd.items() for line in lines]
