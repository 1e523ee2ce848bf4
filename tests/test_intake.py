"""Inputs of `discover` in every form, and the recordings made from the inputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from numpy.typing import NDArray

import rgwot
from rgwot.in_memory import doubts_on_features, video_features
from rgwot.intake import handed_over
from rgwot.labels import read_labels
from rgwot.runtime.errors import RgwotError

X = np.arange(12, dtype=np.float64).reshape(6, 2) ** 2
"""Features of six samples, at 2 per second unless a form has other times."""
HALVES = np.arange(6) / 2


def table(**index: Any) -> pd.DataFrame:
    return pd.DataFrame(X, columns=["x", "y"], index=pd.Index(**index) if index else None)


def xarray(dims: tuple[str, ...], coords: dict[str, Any], values: NDArray[Any] = X) -> SimpleNamespace:
    """Return an object with the attributes of `xarray.DataArray` that are read."""
    named = {name: np.asarray(own).view(_Coordinate) for name, own in coords.items()}
    return SimpleNamespace(dims=dims, coords=named, values=values)


class _Coordinate(np.ndarray[Any, Any]):
    @property
    def values(self) -> NDArray[Any]:
        return np.asarray(self)


@pytest.mark.parametrize(
    ("features", "names"),
    [
        ({"a": X, "b": X}, ["a", "b"]),
        ({1: X, np.int64(2): X}, ["1", "2"]),
        ({"a": X, "b": X}.values(), ["0", "1"]),
        ({"a": X, "b": X}.items(), ["a", "b"]),
        ([("a", X), ("b", X)], ["a", "b"]),
        ((X for _ in range(2)), ["0", "1"]),
        (map(np.asarray, [X, X]), ["0", "1"]),
        ((X, X), ["0", "1"]),
        (np.stack([X, X]), ["0", "1"]),
        (torch.tensor(np.stack([X, X])), ["0", "1"]),
        (pd.Series([X, X]), ["0", "1"]),
        (pd.Series([X, X], index=["a", "b"]), ["a", "b"]),
        (pd.Series([X, X], index=[7, 8]), ["7", "8"]),
        (pd.concat([table().assign(video="b"), table().assign(video="a")]), ["b", "a"]),
        (pd.concat([table().assign(video=2), table().assign(video=1)]), ["2", "1"]),
        (pd.concat({"a": table(), "b": table()}).groupby(level=0), ["a", "b"]),
        (pd.concat([table().assign(video=2), table().assign(video=1)]).groupby("video"), ["1", "2"]),
        ([X] * 11, [f"{n:02}" for n in range(11)]),
    ],
)
def test_collections_give_names_and_keep_their_order(features: Any, names: list[str]) -> None:
    handed = handed_over(features, fps=2)
    assert list(handed.features) == names
    for own in handed.features.values():
        np.testing.assert_array_equal(own, X)


@pytest.mark.parametrize(
    "video",
    [
        X.tolist(),
        X.astype(np.int16),
        X.astype(np.uint8),
        X.astype(object),
        torch.tensor(X),
        torch.tensor(X, dtype=torch.int32),
        scipy.sparse.csr_matrix(X),
        table(),
        table().astype("Float64"),
        table().astype("int64"),
        table().astype({"x": "int32"}),
        table().astype(object),
        table().rename(columns={"x": 0}),
        {"x": X[:, 0], "y": X[:, 1]},
        np.rec.fromarrays(X.T, names="x,y"),
        np.ma.array(X, mask=False),
        xarray(("frame", "channel"), {"channel": ["x", "y"]}),
        xarray(("channel", "time"), {}, X.T),
        np.asfortranarray(X),
        torch.tensor(X).requires_grad_(),
    ],
)
def test_one_recording_in_many_forms_is_the_same_numbers(video: Any) -> None:
    handed = handed_over({"a": video}, fps=2)
    made = np.asarray(handed.features["a"])
    assert made.dtype == np.float64
    np.testing.assert_array_equal(made, X)
    assert (handed.times, handed.fps, handed.doubts) == ({}, "2", [])


def test_single_precision_stays_as_it_is() -> None:
    assert np.asarray(handed_over([table().astype(np.float32)], fps=2).features["0"]).dtype == np.float32
    assert handed_over([X.astype(np.float32)], fps=2).features["0"].dtype == np.float32


@pytest.mark.parametrize(
    "video",
    [
        table(data=pd.to_timedelta(HALVES, unit="s")),
        table(data=pd.Timestamp("2024-05-01 12:00", tz="Europe/Berlin") + pd.to_timedelta(HALVES, unit="s")),
        table(data=pd.date_range("2024-05-01", periods=6, freq="500ms")),
        table(data=pd.period_range("2024-05-01", periods=6, freq="500ms")),
        table(data=HALVES, name="time_s"),
        table(data=HALVES, name="Time [s]"),
        table(data=HALVES, name="t"),
        table().assign(time_s=HALVES)[["x", "time_s", "y"]],
        table().assign(seconds=HALVES),
        xarray(("time", "channel"), {"time": HALVES}),
        xarray(("time", "channel"), {"time": np.datetime64("2024-05-01") + (1000 * HALVES).astype("m8[ms]")}),
        xarray(("channel", "time"), {"time": (1000 * HALVES).astype("m8[ms]")}, X.T),
    ],
)
def test_a_table_gives_its_times(video: Any) -> None:
    handed = handed_over({"a": video})
    np.testing.assert_array_equal(handed.features["a"], X)
    np.testing.assert_allclose(handed.times["a"], HALVES)
    assert not handed.timeless
    # A given rate or given times take precedence over the table's.
    assert handed_over({"a": video}, fps=4).times == {}
    np.testing.assert_array_equal(handed_over({"a": video}, times=[np.arange(6)]).times["a"], np.arange(6))


def test_times_beside_another_rate_are_doubted() -> None:
    timed = {"a": table().assign(time_s=HALVES)}
    assert handed_over(timed, fps=2).doubts == []
    assert handed_over(timed, fps=4).doubts == [
        "features['a']: its times have 2 features per second, but fps is 4, which is used; leave fps out to use the "
        "times"
    ]


@pytest.mark.parametrize("index", [{"data": range(6)}, {"data": HALVES}, {"data": range(6), "name": "frame"}])
def test_an_index_without_a_unit_gives_no_times(index: dict[str, Any]) -> None:
    assert handed_over({"a": table(**index)}).timeless


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv", ".parquet", ".mat"])
def test_files_stand_for_their_content(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"monday{suffix}"
    write: dict[str, Callable[[], Any]] = {
        ".npy": lambda: np.save(path, X),
        ".npz": lambda: np.savez(path, features=X, time_s=HALVES),
        ".csv": lambda: table().assign(time_s=HALVES).to_csv(path, index=False),
        ".parquet": lambda: table(data=HALVES, name="time_s").to_parquet(path),
        ".mat": lambda: __import__("scipy.io").io.savemat(path, {"x": X}),
    }
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    write[suffix]()
    timed = suffix in (".npz", ".csv", ".parquet")
    for features in ([path], [str(path)], {"monday": path}):
        handed = handed_over(features, fps=None if timed else 2)
        np.testing.assert_array_equal(handed.features["monday"], X)
        assert handed.times.get("monday", np.array([])).tolist() == (HALVES.tolist() if timed else [])


@pytest.mark.parametrize(
    ("fps", "common", "times"),
    [
        ({"a": 50.0, "b": 50.5}, "101/2", {"a": np.arange(6) / 50, "b": np.arange(6) / 50.5}),
        ([50.0, 50.5], "101/2", {"a": np.arange(6) / 50, "b": np.arange(6) / 50.5}),
        ({"a": 25, "b": "25"}, "25", {}),
        ({"b": "30000/1001", "a": 29.97002997}, "30000/1001", {}),
        (25, "25", {}),
    ],
)
def test_every_recording_may_have_a_rate(fps: Any, common: str, times: dict[str, Any]) -> None:
    handed = handed_over({"a": X, "b": X}, fps=fps)
    assert handed.fps == common
    assert list(handed.times) == list(times)
    for name, own in times.items():
        np.testing.assert_allclose(handed.times[name], own)


def test_recordings_whose_clocks_run_slightly_apart_fit_together() -> None:
    handed = handed_over({"a": X, "b": X}, times=[np.arange(6) / 50, np.arange(6) / 50.5])
    assert handed.fps == "101/2"
    stores = video_features(handed.features, handed.times, handed.fps)
    assert [store.fps for store in stores] == [50.5, 50.5]
    np.testing.assert_allclose(stores[0].time_s, np.arange(6) / 50)
    assert handed_over({"a": X, "b": X}, times=[HALVES, HALVES]).fps is None


def test_samples_with_nan_are_filled_or_left_out() -> None:
    lost = X.copy()
    lost[0, 0] = lost[2:4, 1] = np.nan
    for missing in ("interpolate", "background"):
        handed = handed_over({"a": lost, "b": X}, fps=2, missing=missing)
        filled = X.copy()
        filled[0, 0], filled[2:4, 1] = X[1, 0], X[1, 1] + (X[4, 1] - X[1, 1]) * np.array([1, 2]) / 3
        np.testing.assert_allclose(handed.features["a"], filled)
        assert handed.doubts == [
            "features: 1 of 2 recordings have samples with NaN, up to 50% (features['a']); they are "
            + {"interpolate": "interpolated", "background": "background"}[missing]
        ]
    assert handed.missing["a"].tolist() == [True, False, True, True, False, False]
    assert list(handed.missing) == ["a"]
    assert np.isnan(lost).sum() == 3
    masked = np.ma.array(X, mask=np.isnan(lost))
    np.testing.assert_allclose(handed_over({"a": masked}, fps=2, missing="interpolate").features["a"], filled)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"features": "a.npy"}, "features: found str, expected a mapping of names to arrays, or a sequence"),
        ({"features": {1, 2}}, "features: found set, expected a mapping"),
        ({"features": pd.Series([1.0, 2.0])}, "features: found Series, expected a mapping"),
        ({"features": table()}, "features: found one table with the columns x, y, expected the column video beside"),
        ({"features": xarray(("video", "time", "channel"), {})}, "features: found SimpleNamespace, expected a mapping"),
        ({"features": {1: X, "1": X}}, "features: two recordings are called '1', as a number and as text; rename one"),
        ({"features": pd.Series([X, X], index=["a", "a"])}, "features: two videos are called 'a'"),
        ({"features": [("a", X), ("a", X)]}, "features: two videos are called 'a'; expected different names"),
        ({"features": [["a.npy"]]}, "features['0']: array of <U5, expected numbers"),
        ({"features": ["a.avi"]}, "features['a']: found 'a.avi', expected an array, a feature store (.zarr), or a"),
        ({"features": ["none.npy"]}, "features['none']: 'none.npy': no such file; expected features"),
        ({"features": {"a": X[:, 0]}}, "features['a']: shape (6,), expected (T, C)"),
        ({"features": {"a": pd.Series(X[:, 0])}}, "features['a']: shape (6,), expected (T, C)"),
        (
            {"features": {"a": np.zeros((2, 8, 8, 3), np.uint8)}},
            "features['a']: found integers of the shape (2, 8, 8, 3), ",
        ),
        (
            {"features": {"a": np.ones((6, 5, 2))}},
            "per video; for points give array.reshape(len(array), -1)",
        ),
        ({"features": {"a": X.T, "b": X.T[:, :4]}}, "equal C; if the first axis is not time, give array.T"),
        (
            {"features": {"a": table().assign(label=1)}},
            "features['a']: column 'label' is not a feature by its name",
        ),
        ({"features": "folder"}, "for files give their paths, as by sorted(Path('folder').glob('*.npy'))"),
        ({"features": {"a": X + 1j}}, "features['a']: array of complex128, expected numbers"),
        ({"features": {"a": table().assign(who="me")}}, "column 'who' holds values that are not numbers (could not"),
        ({"features": {"a": table().assign(k=pd.Categorical([1] * 6))}}, "column 'k' holds values that are not"),
        (
            {"features": {"a": table().assign(when=pd.to_timedelta(HALVES, unit="s"))}},
            "features['a']: column 'when' holds times; expected them as the index; give table.set_index('when')",
        ),
        ({"features": {"a": table().assign(time=HALVES)}}, "row numbers; call it time_s if it has seconds, rename it"),
        (
            {"features": {"a": table(data=HALVES, name="time_s").assign(seconds=HALVES)}},
            "found times in the index and in the column 'seconds', expected one of them; drop the other",
        ),
        (
            {"features": {"a": table(data=HALVES[::-1], name="time_s")}},
            "features['a']: times: found 2.5 before 2; expected increasing, finite seconds",
        ),
        (
            {"features": {"a": table(data=HALVES, name="time_s"), "b": X}},
            "features['b']: found no times, but features['a'] has them; expected times of all recordings or of none",
        ),
        ({"features": {"a": {"x": [1, 2], "y": [1]}}}, "features['a']: found a mapping that is not a table (All"),
        ({"features": {"a": pd.DataFrame(index=range(3))}}, "a table without a column of features, expected at least"),
        ({"features": {"a": (X, HALVES)}}, "features['a']: found no array of numbers (setting an array element"),
        ({"features": {"a": xarray(("x", "y", "c", "time"), {})}}, "axes x, y, c, time, expected time first"),
        ({"fps": {"a": 2}}, "fps: found no rate for video 'b', expected one per video, or a single one"),
        ({"fps": {"a": 2, "b": "fast"}}, "fps: video 'b': found 'fast', expected a positive rate like 30"),
        ({"fps": [2]}, "fps: found 1 rates, expected 2, one per video, or a single one"),
        ({"fps": {"a": 50, "b": 100}}, "fps: found 50 for video 'a' and 100 for 'b', expected rates that differ by at"),
        ({"features": {"a": X * np.nan}, "missing": "interpolate"}, "features['a']: channel 0 has no value; expected"),
        ({"features": {"a": X * np.nan}}, "nan in 6 of 6 samples, first in sample 0; expected finite numbers; give mi"),
        ({"missing": "drop"}, "missing: found 'drop'; known: background, interpolate"),
        ({"times": 3}, "times: found 3, expected an array of seconds per video; for a rate, use fps"),
        ({"times": {"a": HALVES}}, "times: found no array for video 'b', expected one array per video"),
        ({"times": [pd.date_range("2024-05-01", periods=6)] * 2}, "expected seconds as numbers: (t - t[0])"),
    ],
)
def test_what_is_not_clear_is_refused_in_one_line(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(RgwotError) as caught:
        handed_over(**{"features": {"a": X, "b": X}, **asked})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_labels_know_recordings_by_number() -> None:
    stores = video_features({"1": X, "2": X}, None, 2)
    steps = np.array([1, 1, 1, 2, 2, 2])
    for labels in ({1: steps}, {"1": steps}, pd.Series([steps], index=[1]), pd.Series([steps, None])):
        assert {name: own.tolist() for name, own in read_labels(labels, ["1", "2"], stores).labels.items()} == {
            "1": steps.tolist()
        }


SEGMENTS = pd.DataFrame({"start_s": [0, 1.5], "end_s": [1.5, 3], "key_step": [1, 2]})


@pytest.mark.parametrize(
    "labels",
    [
        pd.Categorical([1, 1, 1, 2, 2, 2]),
        pd.Series([1, 1, 1, 2, 2, 2], dtype="Int64", index=HALVES),
        list("111222"),
        SEGMENTS,
        SEGMENTS.to_dict("records"),
        SEGMENTS.to_dict("list"),
        SEGMENTS.assign(**{name: pd.to_timedelta(SEGMENTS[name], unit="s") for name in ("start_s", "end_s")}),
    ],
)
def test_labels_of_a_video_in_many_forms(labels: Any) -> None:
    stores = video_features({"1": X}, None, 2)
    for of_videos in ({1: labels}, {1: labels}.items(), [labels]):
        given = read_labels(of_videos, ["1"], stores)
        assert given.labels["1"].tolist() == [1, 1, 1, 2, 2, 2]


def test_numbers_as_text_keep_their_numbers() -> None:
    stores = video_features({"a": X}, None, 2)
    given = read_labels([["2", "2", "1", "0", "-1", ""]], ["a"], stores)
    assert (given.labels["a"].tolist(), given.names) == ([2, 2, 1, 0, -1, -1], {})


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("gone.csv", "labels['a']: gone.csv: "),
        ("a.json", "labels['a']: a.json: suffix '.json'; expected an annotation: one of"),
        (SEGMENTS.assign(start_s=pd.Timestamp("2024-05-01")), "found the time '2024-05-01 00:00:00', expected seconds"),
        (SEGMENTS.assign(start_s="0:01"), "labels['a']: found the time '0:01', expected seconds from the beginning of"),
        ({"start_s": [0], "end_s": [1, 2]}, "found a mapping that is not a table (All arrays must be of the same"),
        (np.eye(2)[[0] * 3 + [1] * 3], "labels['a']: found shape (6, 2) of int64, expected 6 whole numbers or names"),
        ([(0, 1, "cut")], "or unlabelled features; segments are a table with start_s, end_s and label"),
        ([10**9] * 6, "labels: found key step 1000000000, expected at most 9999; number them from 1"),
        ([True] * 6, "labels['a']: found shape (6,) of bool, expected 6 whole numbers or names, one per feature"),
    ],
)
def test_other_labels_are_refused_in_one_line(labels: Any, message: str) -> None:
    with pytest.raises(RgwotError) as caught:
        read_labels({"a": labels}, ["a"], video_features({"a": X}, None, 2))
    assert message in str(caught.value)


def test_key_steps_from_zero_and_transposed_arrays_are_doubted() -> None:
    stores = video_features({"a": X, "b": X + 1}, None, 2)
    counted = read_labels([[0, 0, 1, 1, 2, 2], None], ["a", "b"], stores)
    assert "if key steps are numbered from 0, add 1" in counted.doubts[0]
    # This is also doubted if key step 0 comes first in most recordings, or in tables.
    rows = pd.DataFrame({"start_s": [0, 1, 2], "end_s": [1, 2, 3], "key_step": [0, 1, 2]})
    for zero in ([[0, 0, 1, 1, 2, 2], [1, 1, 0, 0, 2, 2]], [rows, rows]):
        assert "from 0, add 1" in read_labels(zero, ["a", "b"], stores).doubts[0]
    # Background that comes again is usual.
    assert not read_labels([[0, 1, 2, 0, 3, 3], [0, 1, 0, 2, 3, 3]], ["a", "b"], stores).doubts
    for usual in ([[0, 1, 2, 0, 3, 0]] * 2, [[0, 1, 0, 2, 0, 3]] * 2, [[0, 0, 1, 1, 2, 2], [1, 1, 1, 2, 2, 2]]):
        assert read_labels(usual, ["a", "b"], stores).doubts == ()
    for background in ([0, 1, 1, 2, 2, 0], [-1, 0, 1, 1, 2, 2], [1, 1, 0, 2, 2, 2]):
        assert read_labels((one for one in [background, None]), ["a", "b"], stores).doubts == ()
    turned = doubts_on_features(video_features({"a": np.ones((4, 40)).cumsum(axis=1)}, None, 2), 3, False)
    assert (
        turned[0] == "features: 4 samples of 40 channels are few for 3 key steps; is time the second axis? give array.T"
    )
    assert not any("second axis" in line for line in doubts_on_features(stores, 3, False))


def test_lengths_that_cannot_be_meant_and_channels_last_are_doubted() -> None:
    videos = {name: np.random.default_rng(number).normal(size=(40, 3)) for number, name in enumerate("ab")}

    def told(fps: float | None = None, times: dict[str, Any] | None = None) -> list[str]:
        return doubts_on_features(video_features(videos, times, fps), 3, times is not None)

    assert told(2) == told(40) == told(0.01) == []
    assert told(1e9) == [
        "features: recordings last at most 4e-08 s; expected the longest to last 1 s to 24 hours; give times in "
        "seconds, and rates per second"
    ]
    assert "up to 111 hours" in told(1e-4)[0]
    # Times in minutes.
    assert "at most 0.333 s" in told(times=dict.fromkeys("ab", np.arange(40) / 120))[0]
    maps = {name: np.zeros((12, 7, 7, 3), np.float16) for name in "ab"}
    assert "are the channels last?" in doubts_on_features(video_features(maps, None, 2), 3, False)[-1]
    maps = {name: one.transpose(0, 3, 1, 2) for name, one in maps.items()}
    assert not any("last" in line for line in doubts_on_features(video_features(maps, None, 2), 3, False))


def recordings(n: int = 4) -> dict[str, NDArray[np.float64]]:
    rng = np.random.default_rng(0)
    steps = np.repeat(rng.normal(size=(3, 8)), 10, axis=0)
    return {f"v{number}": steps + rng.normal(scale=0.2, size=steps.shape) for number in range(n)}


def test_every_reason_for_doubt_is_in_the_warnings_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    videos = recordings()
    result = rgwot.discover({**videos, "again": videos["v1"]}, K=3, method="raw", decoder="kmeans")
    assert result.warnings[:2] == (
        "features: 'v1', 'again' are the same recording, which counts several times; leave out all but one",
        "features: found neither fps nor times, so 2 features per second are assumed, and seconds are wrong at another "
        "rate; give fps=2, or times={name: seconds}",
    )
    for line in result.warnings:
        assert sum(line in record.getMessage() for record in caplog.records) == 1
    assert rgwot.discover(videos, K=3, method="raw", decoder="kmeans", fps=2).warnings == ()
    one = rgwot.discover({name: own[:, :1] for name, own in videos.items()}, fps=2, K=4, method="raw", decoder="kmeans")
    assert one.warnings[0].startswith("features: a single channel hardly tells 4 key steps apart; add channels")
    same = rgwot.discover([np.ones((9, 3)), np.ones((8, 3))], fps=2, K=3, method="raw", decoder="kmeans")
    assert same.warnings[0].startswith("degenerate: the embedding collapsed")


def test_a_gap_in_times_is_a_reason_for_doubt() -> None:
    clock = np.arange(30) / 2 + np.where(np.arange(30) < 15, 0, 60)
    tables = {name: pd.DataFrame(own, index=pd.Index(clock, name="time_s")) for name, own in recordings().items()}
    result = rgwot.discover(tables, K=3, method="raw", decoder="kmeans")
    pauses = [line for line in result.warnings if "times: no feature from 7 to 67.5 s; this pause counts" in line]
    assert len(pauses) == 4


@pytest.mark.parametrize("method", ["raw", "none", "rgwot-plus"])
def test_an_unknown_device_is_refused_for_every_method(method: str) -> None:
    decoder = "uniform" if method == "none" else None
    with pytest.raises(RgwotError, match="device: found 'gpu', expected auto, cpu or cuda"):
        rgwot.discover(recordings(), fps=2, K=3, method=method, decoder=decoder, device="gpu")


def test_samples_left_out_are_not_reported_as_dead() -> None:
    videos = recordings()
    videos["v0"][20:] = np.nan
    told = [
        rgwot.discover(videos, fps=2, K=3, method="raw", missing=how).warnings for how in ("background", "interpolate")
    ]
    assert [["samples 19 to 29" in line for line in lines if "are equal" in line] for lines in told] == [[], [True]]


def test_samples_left_out_have_no_key_step_and_predict_leaves_them_out() -> None:
    videos = recordings()
    videos["v0"][12:15, 2] = np.nan
    result = rgwot.discover(videos, fps=2, K=3, missing="background", method="whitened", decoder="meanfield")
    assert result.labels["v0"].tolist() == [1] * 10 + [2] * 2 + [0] * 3 + [2] * 5 + [3] * 10
    assert all((result.labels[name] > 0).all() for name in ("v1", "v2", "v3"))
    new = result.predict({"new": videos["v0"] + 0.01}, missing="background")["new"]
    assert new.tolist() == result.labels["v0"].tolist()
    with pytest.raises(RgwotError, match="give missing='interpolate'"):
        result.predict(videos)


def test_a_recording_without_samples_is_refused() -> None:
    rng = np.random.default_rng(0)
    recordings = {"r0": rng.normal(size=(40, 3)), "r1": rng.normal(size=(0, 3))}
    with pytest.raises(RgwotError, match=r"features\['r1'\]: shape \(0, 3\); expected at least one feature"):
        rgwot.discover(recordings, fps=2, K=2)
