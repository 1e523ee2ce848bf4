"""Import of features from files or arrays into the same stores that extraction writes."""

from __future__ import annotations

import io
import logging
import math
import os
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rgwot import __version__
from rgwot.datasets.arrays import ARRAY_ERRORS, ArraySource, check_times, holding_file
from rgwot.datasets.feature_files import (
    FileFacts,
    doubted_times,
    in_place_of_video,
    measure,
    native_frames,
    open_features,
    step_of,
)
from rgwot.datasets.names import id_of
from rgwot.datasets.settings import IMPORTED, ImportSettings
from rgwot.datasets.text import tell
from rgwot.embedding.arrays import Spread, checked_as, resolution
from rgwot.embedding.values import check_first_row
from rgwot.features.store import (
    CHUNK,
    IMPORTER,
    FeatureStore,
    StoreWriter,
    is_current,
    source_facts,
    video_facts,
    write_skipped,
)
from rgwot.runtime.errors import RgwotError, first_line
from rgwot.runtime.files import replacing
from rgwot.runtime.progress import with_progress
from rgwot.timing import VideoInfo

log = logging.getLogger(__name__)

SPOILT = 0.01
"""Largest rounding error of float16 for vectors, as a share of a channel's standard deviation."""


def import_video(
    video: str | os.PathLike[str],
    source: str | os.PathLike[str],
    output: str | os.PathLike[str],
    settings: ImportSettings,
    *,
    on_bad_video: Literal["fail", "skip"] = "fail",
    frames_fps: Fraction | None = None,
) -> None:
    """Write the feature store of a video, using its length, rate and size; see `import_features`.

    For features without a video, ``video`` is the same path as ``source``. If the video cannot be opened or, without a
    video, the features cannot be used, ``on_bad_video`` says whether to ``fail``, or to ``skip`` the recording and
    write a store without frames. ``frames_fps`` is the rate of stored frames if their file does not contain it.
    """
    if Path(video).absolute() == Path(source).absolute():
        try:
            import_features(source, output, settings)
        except RgwotError as error:
            if on_bad_video == "fail" or not holding_file(Path(source)).is_file():
                raise
            log.warning("%s; left out", error)
            _write_skipped(Path(source), Path(output), settings, str(error))
        return
    from rgwot.video import VideoError, probe

    try:
        info = probe(Path(video), frames_fps)
    except VideoError as error:
        if on_bad_video == "fail":
            raise
        import_features(source, output, settings, None, error.reason)
    else:
        import_features(source, output, settings, info)


def import_features(
    source: str | os.PathLike[str],
    output: str | os.PathLike[str],
    settings: ImportSettings,
    footage: VideoInfo | None = None,
    reason: str = "",
) -> None:
    """Write the feature store of a video from imported features.

    The source is a file that `rgwot.datasets.arrays` opens, with an array of floating-point numbers: maps or vectors of
    any number of channels. Feature i is at ``start_s + i / fps``, or at the time in the file. Memory holds 64 frames at
    a time, unless the file is text or packed. The store is a folder ``{video}.zarr``; an existing store is replaced
    when the new store is complete. Without footage there is no video, and its length is taken from the features. With a
    ``reason`` why the video cannot be used, the store has no frames.

    An existing store is kept if it was made from the same file, for the same video, with the same settings.

    Raises RgwotError if the file cannot be read, has another shape than the settings say, has values that are not
    finite or too large, or if the number or times of its features do not fit the duration.
    """
    source, output = Path(source), Path(output)
    expect: dict[str, object] = {"settings": settings.model_dump(mode="json")}
    skipped = bool(reason)
    if footage is not None or skipped:
        expect |= {key: value for key, value in video_facts(footage, "", "").items() if key not in ("status", "reason")}
    if frames_and_rate := native_frames(source, settings):
        expect["source_frames"] = [str(frames_and_rate[0]), frames_and_rate[1]]
    elif settings.rates is not None:
        expect["source_step"] = step_of(source, settings)
    if holding_file(source).is_file() and is_current(output, source, expect, "skip" if skipped else "fail"):
        log.info("%s: kept, because it was made from this file with these settings", output)
        return
    with open_features(source, settings) as array:
        if skipped:
            measured, count, status = measure(source, array, settings), 0, "skipped"
            log.warning("%s: %s", source, reason)
        else:
            measured, footage, count, reason = fitted(source, array, settings, footage)
            status = "partial" if reason else "ok"
        sizes = measured.sizes
        side = tuple(sizes[axis] for axis in "HW" if axis in settings.axes)
        read = partial(read_maps, source, array, settings.axes)
        dtype = stored_type(read, count, bool(side), array.dtype)
        with replacing(output) as temporary:
            store = StoreWriter(
                temporary, measured.time_s(count), side, channels=sizes["C"], layer=settings.layer, dtype=dtype
            )
            # The spread of maps is not measured: channels of a network that are rarely active have small values, which
            # does no harm.
            spread = None if side else Spread(dtype)
            for chunk in with_progress(log, source.name, range(-(-count // CHUNK)), "chunk"):
                start = chunk * CHUNK
                maps = read(start, min(start + CHUNK, count), dtype)
                if not side and start == 0:
                    check_first_row(source, maps[:, :, 0, 0])
                store.write(chunk, maps)
                if spread is not None:
                    spread.add(maps)
            facts = described(array, measured, settings, source_facts(source))
            facts |= {key: value for key, value in expect.items() if key in ("source_frames", "source_step")}
            if spread is not None:
                facts |= _numbers_of(spread.ratio, dtype)
            store.finish(count, {**facts, **video_facts(footage, status, reason)})


def _write_skipped(source: Path, output: Path, settings: ImportSettings, reason: str) -> None:
    """Write a store without frames for features that cannot be used."""
    nothing = {"source_key": settings.key or "", "source_axes": settings.axes, "fps_exact": settings.fps}
    facts = {**_origin(settings, source_facts(source)), **nothing, "fps": 0.0, "precision": ""}
    write_skipped(output, (settings.channels or 1,), facts, reason)


def fitted(
    source: Path, array: ArraySource, settings: ImportSettings, footage: VideoInfo | None
) -> tuple[FileFacts, VideoInfo, int, str]:
    """Compare an open array with the settings and with its video (None without one); warn about doubtful values.

    Returns the facts of the file, the facts of the video (or their substitute), and the results of `count_kept`.

    Raises RgwotError as `measure`, `in_place_of_video` and `count_kept` do.
    """
    measured = measure(source, array, settings)
    if array.note:
        tell("features", source, array.note, "note")
    if doubt := doubted_times(measured, settings):
        tell("features", source, doubt)
    footage = footage or in_place_of_video(source, measured)
    count, reason = count_kept(source, measured, settings, footage)
    if reason:
        tell("features", source, reason)
    return measured, footage, count, reason


def count_kept(source: Path, measured: FileFacts, settings: ImportSettings, footage: VideoInfo) -> tuple[int, str]:
    """Return the number of features to keep, and why the video is partial (empty if it is complete).

    Raises RgwotError if the features do not fit the video and must not be trimmed.
    """
    n_features, fps = measured.count, measured.fps
    if measured.times is not None:
        # A feature that begins before the end of the video belongs to it; the gap after the last feature may be as long
        # as any other.
        expected = int((measured.times < footage.duration_s).sum())
        longest = float(np.diff(measured.times).max(initial=float(1 / fps)))
        surplus, lacking = n_features > expected, measured.times[-1] + 2 * longest <= footage.duration_s
        clause = (
            f"{n_features} features with times up to {measured.times[-1]:.2f} s, but the video lasts "
            f"{footage.duration_s:.2f} s"
        )
        remedy = "expected times up to its end; correct the times"
    else:
        # A difference below one sample is rounding.
        samples = (Fraction(footage.duration_s) - Fraction(settings.start_s)) * fps
        expected = max(math.ceil(samples), 0)
        surplus, lacking = n_features - samples >= 1, samples - n_features >= 1
        clause = (
            f"{n_features} features at {fps} per second from {settings.start_s:g} s reach to "
            f"{measured.footage.duration_s:.2f} s, but the video lasts {footage.duration_s:.2f} s"
        )
        remedy = f"expected about {expected}; correct fps, or give the rate of each file in `rates`"
    if not (surplus or lacking):
        return n_features, ""
    if settings.on_mismatch == "error" or not expected:
        raise RgwotError(
            f"{source}: {clause}; {remedy} (use on_mismatch: trim only if the features begin when the video begins)"
        )
    if surplus:
        tell("features", source, f"{clause}; the last {n_features - expected} are dropped")
        return expected, ""
    return n_features, clause


def stored_type(read: Callable[[int, int, str], NDArray[np.floating]], count: int, maps: bool, dtype: str) -> str:
    """Return the type in which to store features of a ``dtype``: float16, or float32 for vectors that float16 spoils.

    float16 spoils vectors if it cannot hold a value, or its rounding error is large for a channel that varies.

    ``read(start, end, dtype)`` returns features ``start`` to ``end`` (n, C, h, w) of the ``count`` features.
    """
    # Maps are stored as float16 without this test: a network may have channels that fail it, because their values are
    # small, or large in a single place.
    if maps or dtype == "float16" or not count:
        return "float16"
    spread, lost = Spread("float32"), np.zeros(1)
    for start in range(0, count, CHUNK):
        block = read(start, min(start + CHUNK, count), "float32")
        spread.add(block)
        with np.errstate(over="ignore"):
            lost = lost + np.square(block - block.astype(np.float16).astype(np.float64)).sum(axis=(0, 2, 3))
    errors, (deviations, squares) = np.sqrt(lost / count), spread.deviations()
    varies = deviations > resolution(squares, "float32")
    spoilt = (varies & (errors > SPOILT * deviations)) | ~np.isfinite(errors)
    return "float32" if spoilt.any() else "float16"


def _numbers_of(scales: float, dtype: str) -> dict[str, object]:
    """Return a store's attributes on its numbers: how far the scales of channels differ, and any type but float16."""
    return {"scales": scales, **({} if dtype == "float16" else {"stored": dtype})}


def read_maps(
    source: Path, array: ArraySource, axes: str, start: int, end: int, dtype: str
) -> NDArray[np.floating[Any]]:
    """Return the features of some frames, ``(n, C, h, w)`` of type ``dtype``; vectors have h = w = 1."""
    try:
        part = array.read(tuple(slice(start, end) if axis == "T" else slice(None) for axis in axes))
    except RgwotError:
        raise
    except ARRAY_ERRORS as error:
        raise RgwotError(f"{source}: features {start} to {end - 1} cannot be read ({error}); copy it again") from error
    part = part.transpose([axes.index(axis) for axis in "TCHW" if axis in axes])
    part = part.reshape(part.shape + (1,) * (4 - part.ndim))
    return checked_as(source, part, dtype, start)


def described(
    array: ArraySource, measured: FileFacts, settings: ImportSettings, source: Mapping[str, object]
) -> dict[str, object]:
    """Return the attributes of a store of imported features, without those about its video.

    ``source`` are the attributes of their file (`rgwot.features.store.source_facts`).
    """
    timed = {} if settings.times is None else {"source_times": settings.times}
    named = {"columns": measured.columns} if measured.columns else {}
    return {
        **_origin(settings, source),
        "precision": array.dtype,
        "fps": float(measured.fps),
        "fps_exact": str(measured.fps),
        "start_s": settings.start_s,
        "source_key": array.key,
        "source_axes": settings.axes,
        **timed,
        **named,
        "source_shape": list(array.shape),
    }


def _origin(settings: ImportSettings, source: Mapping[str, object]) -> dict[str, object]:
    return {
        "backbone": settings.backbone,
        "weights": settings.weights,
        "weights_sha256": "",
        "seed": None,
        "layer": settings.layer,
        "transform": IMPORTED,
        "size": None,
        **source,
        "settings": settings.model_dump(mode="json"),
        "decoder": IMPORTER,
        "decoder_version": __version__,
        "rgwot_version": __version__,
    }


def store_of_array(
    name: str, features: ArrayLike, settings: ImportSettings, times: ArrayLike | None, columns: str = ""
) -> FeatureStore:
    """Return the features of a video as the store that `import_features` would write.

    Parameters
    ----------
    name
        Name of the video.
    features
        (T, C) or (T, C, h, w), of any floating-point type; kept as float16, or float32 where float16 would spoil
        vectors.
    settings
        Form of the features: ``axes`` is ``TC`` or ``TCHW``, and ``times`` is set if, and only if, ``times`` is given.
    times
        (T,) in seconds.
    columns
        Names of the channels, one per line, if they have names.

    Raises
    ------
    RgwotError
        If the type or shape is different, a value is not finite or too large, or times do not fit.
    """
    label, array, video = Path(f"features[{name!r}]"), np.asarray(features), id_of(name)
    when = None if times is None else seconds(str(label), times)
    if array.dtype.kind != "f":
        raise RgwotError(f"{label}: array of {array.dtype}, expected floating-point numbers")
    if when is None and settings.fps is None:
        raise RgwotError(f"{label}: found no times, expected the times of its features in seconds; give times")
    if when is not None and len(when) != len(array):
        raise RgwotError(
            f"{label}: {len(when)} times and {len(array)} features in shape {array.shape}; expected one time per "
            "feature; correct `times`"
        )
    source = ArraySource("", array.shape, array.dtype.name, lambda slices: array[slices], when, columns=columns)
    measured = measure(label, source, settings)
    footage = in_place_of_video(label, measured)
    if array.ndim == 2:
        check_first_row(label, array[:CHUNK])
    if doubt := doubted_times(measured, settings):
        tell("features", label, doubt)

    def read(start: int, end: int, dtype: str) -> NDArray[np.floating[Any]]:
        part = array[start:end]
        return checked_as(label, part.reshape(part.shape + (1,) * (4 - part.ndim)), dtype, start)

    dtype = stored_type(read, len(array), array.ndim == 4, array.dtype.name)
    x, spread = np.empty(array.shape, dtype=dtype), Spread(dtype)
    for start in range(0, len(array), CHUNK):
        maps = read(start, min(start + CHUNK, len(array)), dtype)
        spread.add(maps)
        x[start : start + CHUNK] = maps.reshape(-1, *array.shape[1:])
    attributes = {**described(source, measured, settings, _facts(name, array)), **video_facts(footage, "ok", "")}
    if array.ndim == 2:
        attributes |= _numbers_of(spread.ratio, dtype)
    return FeatureStore(label, attributes, measured.time_s(len(array)), x, video)


def seconds(where: str, times: ArrayLike) -> NDArray[np.float64]:
    """Return the times of features in seconds (T,); raise RgwotError for other values, such as dates and durations."""
    try:
        values = np.asarray(times)
        # Converted to numbers, dates would become nanoseconds.
        values = values if values.dtype.kind in "mM" else values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise RgwotError(
            f"{where}: times: found values that are not numbers ({first_line(error)}); expected seconds"
        ) from None
    return check_times(Path(where), values)


def _facts(name: str, array: NDArray[np.floating]) -> Mapping[str, object]:
    """Return name, size and SHA-256 of the array as an ``.npy`` file; bundles recognise a video by these."""
    values, head = np.ascontiguousarray(array), io.BytesIO()
    np.lib.format.write_array_header_1_0(head, np.lib.format.header_data_from_array_1_0(values))
    digest = sha256(head.getvalue())
    # Hashed without a copy, because maps of a long video fill much of the memory.
    digest.update(values.reshape(-1).view(np.uint8).data)
    size = head.tell() + values.nbytes
    return {"source": f"{name}.npy", "source_bytes": size, "source_sha256": digest.hexdigest()}
