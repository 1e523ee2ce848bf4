"""Key steps of arrays, compared with the results that scripts of the workflow write for the same features."""

from __future__ import annotations

import dataclasses
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from click.testing import CliRunner
from numpy.typing import NDArray
from scripted import run_script
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import rgwot
from rgwot.cli import cli
from rgwot.config.methods import FAMILIES
from rgwot.datasets.names import video_id
from rgwot.datasets.settings import ImportSettings
from rgwot.features.importing import import_features
from rgwot.features.index import write_index
from rgwot.paths import HISTORY, KEYSTEPS, MACHINE, MODEL, name_of
from rgwot.records import read_segments
from rgwot.runtime.errors import RgwotError
from rgwot.timing import predicted_labels

SMALL: dict[str, Any] = {
    "encoder": {"channels": 8, "hidden": 8, "D": 8},
    "train": {"N": 6, "iterations": 12, "lr": 1e-3, "threads": 1},
    "whiten": {"D": 6, "smooth": 0.1},
    "regression": {"epochs": 2, "E": 4},
    "graph": {"clip_s": 0.2, "neighbours": 3, "walks": 2, "walk_length": 6, "D": 6, "epochs": 1},
    "consensus": {"partitions": 4},
    "graphcut": {"pairwise": 0.1, "restarts": 2},
    "decode": {"K": 3},
}
FPS = "4"


def maps(videos: int = 4, channels: int = 12) -> dict[str, NDArray[np.float32]]:
    """Return maps (T, C, 3, 3) of videos in three steps, of different lengths, one with a space in its name."""
    generator = np.random.default_rng(3)
    steps = generator.normal(size=(3, channels, 3, 3))
    made = {}
    for number in range(videos):
        order = generator.permutation(3) if number == 1 else np.arange(3)
        labels = np.repeat(order, generator.integers(10, 16, size=3))
        noise = generator.normal(scale=0.4, size=(len(labels), channels, 3, 3))
        made[f"take {number}"] = (steps[labels] + noise).astype(np.float32)
    return made


def of_the_workflow(folder: Path, videos: dict[str, NDArray[Any]], method: str, decoder: str, seed: int) -> Path:
    """Write arrays as files and run the scripts of the workflow on them; return the folder of key steps."""
    form = ImportSettings(axes="TCHW" if next(iter(videos.values())).ndim == 4 else "TC", fps=FPS)
    for name, array in videos.items():
        np.save(folder / f"{name}.npy", array)
        import_features(folder / f"{name}.npy", folder / "stores" / f"{video_id(name)}.zarr", form)
    write_index(sorted((folder / "stores").glob("*.zarr")), folder / "stores/index.csv")
    files: dict[str, object] = {"index": folder / "stores/index.csv"}
    ids = {"method": method, "decoder": decoder, "seed": seed}
    how: dict[str, Any] = {"wildcards": ids, "config": {"device": "cpu", **SMALL}}
    if FAMILIES[method].trained:
        made = {name_of(file).split(".")[0]: folder / "model" / name_of(file) for file in (MODEL, HISTORY, MACHINE)}
        run_script("train", input=files, output=made, **how)
        files["model"] = made["model"]
    embeddings = folder / "embeddings.zarr"
    run_script("embed", input=files, output=[embeddings], **how)
    result = {name_of(file).split(".")[0]: folder / "keysteps" / name_of(file) for file in KEYSTEPS}
    run_script(
        "decode",
        input={"embeddings": embeddings, "annotations": []},
        output=result,
        params={"alone": False, "expected": []},
        **how,
    )
    return folder / "keysteps"


@pytest.mark.parametrize(
    ("method", "decoder", "seed"),
    [("whitened", "meanfield", 0), ("raw", "kmeans", 1), ("rgwot", "graphcut", 2), ("rgwot-plus", "consensus", 0)],
)
def test_the_workflow_writes_the_same(method: str, decoder: str, seed: int, tmp_path: Path) -> None:
    videos = maps()
    expected = of_the_workflow(tmp_path, videos, method, decoder, seed)
    threads = torch.get_num_threads()
    result = rgwot.discover(videos, fps=FPS, method=method, decoder=decoder, settings=SMALL, seed=seed, device="cpu")
    assert torch.get_num_threads() == threads
    saved = result.save(tmp_path / "saved")
    assert {path.name for path in saved.glob("[!.]*")} == {path.name for path in expected.glob("[!.]*")}
    for path in saved.glob("[!.]*"):
        texts = [(folder / path.name).read_text() for folder in (saved, expected)]
        one, other = (re.sub(r'"decoding_cpu_s": [0-9.]+', "", text) for text in texts)
        assert one == other, path.name
    segments = result.segments
    assert set(segments["scope"]) == {"task"}
    assert segments["key_step"].nunique() > 1, "one label everywhere would make every comparison pass"
    assert list(result.labels) == list(videos)
    for name, video in videos.items():
        own = segments[segments["video"] == name]
        assert result.times[name].tolist() == [n / int(FPS) for n in range(len(video))]
        labels = predicted_labels(own["start_s"], own["end_s"], own["key_step"], result.times[name])
        np.testing.assert_array_equal(labels, result.labels[name])
    assert {one.video for one in result.procedure.videos} == set(result.deviations["video"]) | set(videos)
    assert result.samples.shape == (sum(map(len, videos.values())), 3)
    counted = segments[(segments["video"] == "take 0") & segments["counts"]].sort_values("start_s")["shows"]
    assert result.orders["take 0"] == tuple(dict.fromkeys(counted))
    assert repr(result).startswith(f"<Discovery by {method}/{decoder}/seed{seed}: 4 videos, K = 3, ")


def test_stores_of_the_workflow_stand_for_arrays(tmp_path: Path) -> None:
    videos = {"a": maps()["take 0"].mean(axis=(2, 3)), "b": maps()["take 1"].mean(axis=(2, 3))}
    expected = of_the_workflow(tmp_path, videos, "raw", "kmeans", 0)
    stores = sorted((tmp_path / "stores").glob("*.zarr"))
    result = rgwot.discover(stores, method="raw", decoder="kmeans", settings=SMALL)
    pd.testing.assert_frame_equal(result.segments, read_segments(expected / "segments.csv"))
    assert list(result.labels) == ["a", "b"]
    assert result.embeddings["a"].shape == (len(videos["a"]), 12)
    assert list(rgwot.discover({"a b": stores[0]}, method="raw", decoder="kmeans", K=3).labels) == ["a b"]


@pytest.mark.parametrize(
    "method", dict.fromkeys(family.embedding.NAME for family in FAMILIES.values() if not family.trained)
)
def test_every_embedding_can_be_asked_for(method: str) -> None:
    decoder = "uniform" if method == "none" else "kmeans"
    result = rgwot.discover(maps(), fps=FPS, method=method, decoder=decoder, settings=SMALL, device="cpu")
    assert set(np.concatenate(list(result.labels.values())).tolist()) == {1, 2, 3}
    assert result.diagnostics["method"] == method
    assert bool(result.embeddings) == (method != "none")


def test_ids_settings_and_K_are_resolved_as_in_the_workflow() -> None:
    videos = list(maps().values())
    by_id = rgwot.discover(videos, fps=FPS, method="whitened@whiten.D=4", decoder="kmeans@K=2", seed=1)
    by_settings = rgwot.discover(
        videos, fps=FPS, method="whitened", decoder="kmeans", settings={"whiten": {"D": 4}}, K=2, seed=1
    )
    assert by_id.run.method == "whitened@D=4"
    assert by_id.K == by_settings.K == 2
    pd.testing.assert_frame_equal(by_id.segments, by_settings.segments)
    assert list(by_id.labels) == ["0", "1", "2", "3"]
    split = rgwot.discover(videos, fps=FPS, method="whitened@data.split=holdout", decoder="meanfield", K=3)
    assert split.diagnostics["split"]["test"]
    with pytest.raises(RgwotError, match="decode.K: .*found 'auto'"):
        rgwot.discover(videos, fps=FPS, decoder="meanfield", K="auto", settings=SMALL)


def test_times_take_the_place_of_a_rate() -> None:
    videos = maps()
    times = {name: 1 + np.arange(len(video)) / 4 for name, video in videos.items()}
    result = rgwot.discover(videos, times=times, settings=SMALL)
    np.testing.assert_array_equal(result.times["take 2"], times["take 2"])
    assert result.segments["end_s"].max() == max(float(own[-1]) for own in times.values()) + 0.25


@pytest.mark.parametrize("first", [1028.0, 1.7e9])
def test_a_clock_that_began_long_before_the_recording_is_refused(first: float) -> None:
    videos = {"a": flat(60, 4), "b": flat(60, 4)}
    times = {"a": np.arange(60) * 5.0, "b": first + np.arange(60) * 5.0}
    with pytest.raises(
        RgwotError, match=r"^features\['b'\]: times: found .* s for features without a video, .*; subtract the first"
    ):
        rgwot.discover(videos, times=times, K=3)
    # Times may begin up to a tenth of a recording late, if its beginning has no features.
    result = rgwot.discover(videos, times={**times, "b": 29 + times["a"]}, K=3)
    assert result.segments.groupby("video")["start_s"].min().tolist() == [0, 0]


def test_times_that_are_hardly_seconds_are_doubted(caplog: pytest.LogCaptureFixture) -> None:
    rgwot.discover([flat(60, 4)], times=[np.arange(60) * 200], K=3)
    line = "features['0']: times: 0.005 features per second over 3.3 hours, expected seconds; are these milliseconds?"
    assert line in caplog.text
    caplog.clear()
    # Times that a person would write are not doubted: times with decimals, whole seconds, and uneven times.
    for times in (np.arange(60) * 2.5, np.arange(60.0), np.cumsum([0.0, *[3, 5] * 30])[:60]):
        result = rgwot.discover([flat(60, 4)], times=[times], K=3)
        assert "milliseconds" not in caplog.text
        assert not result.warnings or "milliseconds" not in " ".join(result.warnings)


@pytest.mark.parametrize("clock", [np.arange(97) * 10, np.cumsum([0, *[8, 8, 9] * 32]), np.arange(1500) * 1.25])
def test_milliseconds_at_any_rate_are_doubted(clock: NDArray[np.float64]) -> None:
    result = rgwot.discover([flat(len(clock), 4)], times=[clock], K=3)
    (told,) = [line for line in result.warnings if "milliseconds" in line]
    assert told.startswith("features['0']: times: ")


def test_a_table_whose_index_is_another_clock_is_reported() -> None:
    def told(index: Any, **when: Any) -> list[str]:
        frame = pd.DataFrame(flat(60, 4), index=index)
        return [line for line in rgwot.discover({"a": frame}, K=3, **when).warnings if "its index" in line]

    hundred = np.arange(60) / 100
    (line,) = told(hundred)
    assert line == "features['a']: its index has 100 rows per second, but fps is 2; expected the same; give fps=100"
    (line,) = told(pd.to_timedelta(hundred, unit="s"), fps=25)
    assert "100 rows per second, but fps is 25" in line
    dates = pd.Timestamp("2026-01-01") + pd.to_timedelta(hundred, unit="s")
    (line,) = told(dates, fps=25)
    assert "100 rows per second" in line
    # Without a rate, the times follow from the dates.
    assert told(dates) == []
    # An index that is the clock, in seconds or milliseconds, or has row numbers, is not reported.
    for index in (hundred, hundred * 1000, range(60), np.arange(60) + 7, np.arange(60) * 5, list(map(str, range(60)))):
        assert told(index, fps=100) == []


def test_labels_in_minutes_are_reported() -> None:
    videos = {name: flat(200, 4) for name in ("r0", "r1", "r2")}
    table = pd.DataFrame({"start_s": [0, 40], "end_s": [40, 98.0], "label": ["a", "b"]})
    minutes = table.assign(start_s=table["start_s"] / 60, end_s=table["end_s"] / 60)
    (line,) = [line for line in rgwot.discover(videos, labels={"r0": minutes}).warnings if "minutes" in line]
    assert line.startswith(
        "labels['r0']: its last segment ends at 1.63333 of 100 s; expected seconds; are these minutes"
    )
    assert not [line for line in rgwot.discover(videos, labels={"r0": table}).warnings if "minutes" in line]


def flat(*shape: int) -> NDArray[np.float32]:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"features": []}, "features: found no video, expected at least one"),
        ({"features": 3}, "features: found int, expected a mapping of names to arrays, or a sequence of arrays"),
        ({"features": flat(9, 4)}, r"features['0']: shape (4,), expected (T, C) or (T, C, h, w), one array per video"),
        ({"features": {"a": np.ones((4, 2), complex)}}, "features['a']: array of complex128, expected numbers"),
        (
            {"features": {"a": flat(9, 4), "b": flat(9, 5)}},
            "features['b']: shape (9, 5), and (9, 4) of features['a']; expected (T, C) with equal C",
        ),
        (
            {"features": {"a": np.ma.masked_greater(np.array([[1.0, 2.0], [3.0, 4.0]]), 2.5)}},
            "features['a']: found masked values",
        ),
        ({"features": {"a": [[1.0, 2.0], [3.0]]}}, "features['a']: found no array of numbers (setting an array"),
        ({"features": {"a": np.full((9, 4), np.inf)}}, "features['a']: inf at sample 0, channel 0; expected finite"),
        ({"features": {"a": np.ones((0, 3))}}, "features['a']: shape (0, 3); expected at least one feature"),
        ({"features": {"a": "a.npy"}}, "features['a']: 'a.npy': no such file; expected features, one file per video"),
        ({"features": {1.5: flat(9, 4)}}, "features: found the name 1.5, expected a text that is not empty"),
        ({"features": {"a" * 300: flat(9, 4)}}, "300 characters, expected at most 200"),
        ({"features": ["x/a.zarr", "y/a.zarr"]}, "features: two videos are called 'a'; expected different names"),
        ({"fps": 0}, "fps: expected a positive rate like 30 or 30000/1001, found '0'"),
        ({"fps": 2, "times": [np.arange(9)]}, "fps and times are both given; expected at most one of the two"),
        ({"times": 5}, "times: found 5, expected an array of seconds per video"),
        ({"settings": [1]}, "settings: found [1], expected blocks such as"),
        ({"times": [np.arange(9)] * 2}, "times: found arrays of 2 videos, expected 1, one array per video"),
        ({"features": {"a": flat(9, 4)}, "times": {"b": np.arange(9)}}, "times: found no array for video 'a'"),
        (
            {
                "features": {"a b": flat(9, 4), "c/d": flat(9, 4)},
                "times": {"a b": np.arange(9.0), "c/d": np.arange(9) / 2},
            },
            "features['c/d']: vectors of 4 at 2 per second, expected vectors of 4 at 1 per second as in "
            "features['a b']; ",
        ),
        ({"times": [np.arange(9).astype("M8[s]")]}, "features['0']: times are datetime64[s]; expected seconds as numb"),
        ({"times": [np.arange(9).astype("m8[ms]")]}, "features['0']: times are timedelta64[ms]; expected seconds as"),
        (
            {"times": [["noon"] * 9]},
            "features['0']: times: found values that are not numbers (could not convert string to float",
        ),
        ({"times": [np.arange(8.0)]}, "features['0']: 8 times and 9 features in shape (9, 4)"),
        ({"method": "rgwot"}, "features: videos: found 1, expected at least 2 for the method 'rgwot'"),
        ({"method": "whitend"}, "method 'whitend': unknown base 'whitend'; did you mean 'whitened'?"),
        ({"decoder": "uniform"}, "decoder 'uniform': does not fit method 'rgwot-plus'"),
        (
            {"method": "none", "decoder": "annotated", "K": 2},
            "decoder 'annotated': found no annotations to copy; expected",
        ),
        ({"K": "gt"}, "K=gt depends on the number of annotated steps, but no video of the task is annotated"),
        ({"seed": -1}, "seed: found -1, expected a whole number, 0 or more"),
        ({"settings": {"datasets": {}}}, "settings: unknown key 'datasets'"),
        ({"settings": {"decode": 3}}, "settings: decode: found 3, expected keys and values"),
        ({"settings": {"whiten": {"d": 3}}}, "settings: unknown key 'whiten.d'; did you mean 'D'?"),
        ({"settings": {"decode": {"time": 0.1}}}, "decode.time: found 0.1, but rgwot-plus sets it to auto"),
        ({"K": 1}, "decode.K: found 1, expected 2 to"),
        ({"K": 500}, "decode.K: found 500, expected 2 to"),
    ],
)
def test_a_mistake_is_refused_in_one_line(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(RgwotError) as caught:
        rgwot.discover(**{"features": [flat(9, 4)], **asked})
    assert message in str(caught.value)
    assert "/tmp" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_too_many_key_steps_are_refused_before_the_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rgwot.stages.train.fit_encoder", None)
    with pytest.raises(RgwotError, match="decode.K: found 500, expected 2 to 18: .* needs one of 18 samples"):
        rgwot.discover([flat(9, 4), flat(9, 4)], method="rgwot", decoder="kmeans", K=500)


def test_an_estimator_behaves_like_those_of_scikit_learn() -> None:
    videos = maps(6)
    later = {name: videos.pop(name) for name in ("take 4", "take 5")}
    learner = rgwot.ProcedureLearner(fps=FPS, settings=SMALL, random_state=3)
    assert learner.get_params()["random_state"] == 3
    assert repr(learner).startswith("ProcedureLearner(")
    with pytest.raises(NotFittedError):
        learner.predict(videos)
    actual = learner.fit_predict(videos)
    expected = rgwot.discover(videos, fps=FPS, settings=SMALL, seed=3)
    for name in videos:
        np.testing.assert_array_equal(actual[name], expected.labels[name])
        np.testing.assert_array_equal(learner.predict(videos)[name], actual[name])
    new = learner.predict(later)
    assert list(new) == list(later)
    again = pickle.loads(pickle.dumps(learner))
    for name, video in later.items():
        assert new[name].shape == (len(video),)
        # Three steps in one order make two changes; a few more are allowed for samples that are not recognised.
        assert (np.diff(new[name]) != 0).sum() <= 4
        np.testing.assert_array_equal(again.predict([video])[0], new[name])
    other = clone(learner).set_params(method="raw", decoder="kmeans")
    with pytest.raises(NotFittedError):
        other.predict(later)
    labels = other.fit(list(videos.values())).labels_
    assert isinstance(labels, list)
    assert learner.set_params(K=2).fit(videos).discovery_.K == 2


@pytest.mark.parametrize(("method", "decoder"), [("rgwot", "kmeans"), ("cte", "kmeans"), ("whitened", "subset")])
def test_the_random_state_of_pytorch_is_left_as_it_was(method: str, decoder: str) -> None:
    videos = maps()
    before = torch.random.get_rng_state()
    rgwot.ProcedureLearner(method, decoder, fps=FPS, settings=SMALL, device="cpu").fit(videos).predict(videos)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_what_was_learned_is_written_as_a_bundle(tmp_path: Path) -> None:
    videos = {name: video.mean(axis=(2, 3)) for name, video in maps(5).items()}
    later = videos.pop("take 4")
    learner = rgwot.ProcedureLearner("rgwot", "graphcut", fps=FPS, settings=SMALL, device="cpu").fit(videos)
    threads = torch.get_num_threads()
    (labels,) = learner.predict([later])
    assert torch.get_num_threads() == threads
    # Features are stored as float16, so float64 input gives the same labels.
    np.testing.assert_array_equal(learner.predict([later.astype(np.float64)])[0], labels)
    assert learner.discovery_.bundle(tmp_path / "fitted.rgwot") == tmp_path / "fitted.rgwot"
    np.save(tmp_path / "later.npy", later)
    words = ["apply", tmp_path / "fitted.rgwot", tmp_path / "later.npy", "--output", tmp_path / "found"]
    assert CliRunner().invoke(cli, list(map(str, words))).exit_code == 0
    segments = read_segments(tmp_path / "found/segments.csv")
    times = np.arange(len(later)) / int(FPS)
    parts = [segments[column] for column in ("start_s", "end_s", "key_step")]
    np.testing.assert_array_equal(predicted_labels(*parts, times), labels)


@pytest.mark.parametrize("method", ["whitened", "rgwot", "rgwot@encoder.input_norm=channel"])
def test_an_offset_or_a_unit_that_float16_would_spoil_changes_nothing(method: str) -> None:
    videos = {name: video.mean(axis=(2, 3)).astype(np.float64) for name, video in maps(4).items()}
    # Two videos are moved, so that the task has both types; all are moved for `channel`, which scales whole tasks.
    moved = {**videos, "take 0": 1013 + 0.1 * videos["take 0"], "take 1": 1e-8 * videos["take 1"]}
    if method.endswith("channel"):
        moved = {name: 1013 + 0.1 * video for name, video in videos.items()}
    learner = rgwot.ProcedureLearner(method, "kmeans", fps=FPS, K=3, settings=SMALL, device="cpu")
    plain, other = (np.concatenate(list(learner.fit(given).predict(given).values())) for given in (videos, moved))
    assert np.mean(plain == other) > 0.9
    assert len(np.unique(plain)) == 3


def test_columns_of_a_table_keep_their_order() -> None:
    names = list("pqrsouvwxyza")
    tables = {name: pd.DataFrame(video.mean(axis=(2, 3)), columns=names) for name, video in maps().items()}
    turned = {**tables, "take 2": tables["take 2"][names[::-1]]}
    learner = rgwot.ProcedureLearner("raw", "kmeans", fps=FPS, K=3)
    with pytest.raises(RgwotError, match=r"^features\['take 2'\]: column 1 is 'a', not 'p'; expected the columns of f"):
        learner.fit(turned)
    with pytest.raises(RgwotError, match=r"^features\['take 2'\]: no column 'r'; expected the columns of features"):
        rgwot.discover({**tables, "take 2": tables["take 2"].drop(columns="r")}, fps=FPS)
    clocked = {name: table.rename(columns={"p": "Time (s)"}) for name, table in tables.items()}
    with pytest.raises(RgwotError, match=r"^features\['take 0'\]: times: found"):
        rgwot.discover(clocked, fps=FPS)
    learner.fit(tables)
    with pytest.raises(
        RgwotError, match=r"^features\['take 2'\]: column 1 is 'a', not 'p'; expected the columns of what"
    ):
        learner.predict(turned)
    plain = {name: table.to_numpy() for name, table in tables.items()}
    for name, labels in learner.predict(plain).items():
        np.testing.assert_array_equal(labels, learner.labels_[name])


def test_predict_refuses_what_it_cannot_predict() -> None:
    videos = maps()
    learner = rgwot.ProcedureLearner("none", "uniform", fps=FPS, K=3).fit(videos)
    with pytest.raises(RgwotError, match="decoder 'uniform': does not look at videos"):
        learner.predict(videos)
    with pytest.raises(RgwotError, match="decoder 'uniform': does not look at videos"):
        learner.discovery_.bundle("none.rgwot")
    fitted = rgwot.ProcedureLearner(fps=FPS, settings=SMALL).fit(videos)
    with pytest.raises(RgwotError, match="expected 4 axes, since `axes` is TCHW"):
        fitted.predict([flat(9, 12)])
    with pytest.raises(RgwotError, match=r"^features\['a b'\]: features of 12 x 2 x 2, expected 12 x 3 x 3 as in what"):
        fitted.predict({"a b": flat(9, 12, 2, 2)})
    times = {name: np.arange(len(video)) / int(FPS) for name, video in videos.items()}
    with pytest.raises(RgwotError, match=r"^features\['take 0'\]: found no times, expected the times of its features"):
        rgwot.ProcedureLearner("raw", "kmeans", K=3).fit(videos, times=times).predict(videos)


def test_importing_the_package_imports_nothing_else() -> None:
    code = (
        "import sys, rgwot; before = {name for name in sys.modules if name.partition('.')[0] in ('numpy', 'rgwot')};"
        "print(*before, 'discover' in dir(rgwot)); print(rgwot.discover.__name__, 'sklearn.base' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert first == "rgwot True"
    assert second.startswith("discover")
    with pytest.raises(AttributeError, match="module 'rgwot' has no attribute 'discovered'"):
        rgwot.discovered  # noqa: B018


@pytest.fixture(scope="module")
def result() -> rgwot.Discovery:
    rng = np.random.default_rng(0)
    looks = rng.normal(size=(3, 16))
    videos = {}
    for at in range(10):
        shown = np.repeat(looks, (20, 22 if at >= 5 else 12, 20), axis=0)
        videos[f"v {at}"] = shown + rng.normal(scale=0.3, size=shown.shape)
    return rgwot.discover(videos, fps=2, K=3, method="whitened", decoder="kmeans")


def test_a_saved_result_is_one_of_the_workflow(result: rgwot.Discovery, tmp_path: Path) -> None:
    named = dataclasses.replace(result, names={1: "cut"})
    folder = named.save(tmp_path / "results", "mine", "tea")
    assert folder == tmp_path / "results/keysteps/whitened/kmeans/mine/tea/seed0"
    assert read_segments(folder / "segments.csv")["video"].unique().tolist()[0] == "v%200"
    for command in (["show", folder], ["compare", folder, folder], ["export", "elan", folder, tmp_path / "elan"]):
        done = CliRunner().invoke(cli, list(map(str, command)))
        assert done.exception is None, done.exception
        assert "cut" in done.output or command[0] == "export"
    assert result.compare(folder).agreement.kappa == 1


def test_pictures_exports_and_comparisons(result: rgwot.Discovery, tmp_path: Path) -> None:
    assert len(result.plot(videos=3).axes) == 3
    with pytest.raises(RgwotError, match="videos: found 0, expected an integer ≥ 1"):
        result.plot(videos=0)
    for wrong in ("x.png", 2.0, True):
        with pytest.raises(
            RgwotError,
            match="videos: found .*, expected an integer ≥ 1 or a list of names; to save the figure, use plot",
        ):
            result.plot(wrong)
    assert result.plot(2)._suptitle.get_text().endswith(f", seed 0, 2 of {len(result.times)} videos")
    assert result.plot(len(result.times))._suptitle.get_text().endswith(", seed 0")
    named = dataclasses.replace(result, names={1: "cut", 2: "stir", 3: "pour"})
    named.export("csv", tmp_path / "csv")
    coded = pd.read_csv(tmp_path / "csv/segments.csv")
    assert set(coded["name"]) == {"cut", "stir", "pour"}
    named.export("dot", tmp_path / "graph")
    assert "cut" in (tmp_path / "graph/procedure.dot").read_text()
    named.export("elan", tmp_path / "elan")
    same = result.compare(tmp_path / "elan/v 3.eaf")
    assert (same.common, same.agreement.kappa, same.agreement.segments_f1) == (("v%203",), 1, 1)
    assert {same.names[number] for number in same.agreement.matched.values()} == {"cut", "stir", "pour"}
    everyone = result.compare(tmp_path / "elan")
    assert (len(everyone.common), everyone.agreement.kappa) == (10, 1)
    assert repr(everyone) == "<Comparison: 10 videos, kappa 1.00, F1 of segments 100.0>"
    with pytest.raises(RgwotError, match="nowhere: no such file or folder"):
        result.compare(tmp_path / "nowhere")
    assert result.compare(result).agreement.adjusted_rand == 1
    table = result.compare_groups({f"v {at}": "slow" if at >= 5 else "fast" for at in range(10)})
    starred = table[(table["star"] == "*") & (table["measure"] == "duration")]
    assert len(starred) == 1
    assert starred["mean_slow"].item() > starred["mean_fast"].item() + 3
    other = rgwot.discover([maps()["take 0"]], fps="5/2", method="raw", decoder="kmeans", K=3)
    assert "wrote segments.csv" in other.export("csv", tmp_path / "of a rate that is no whole number")
    with pytest.raises(RgwotError, match="found no common video"):
        result.compare(other)


def test_with_clusters_of_background_two_answers_are_compared_too() -> None:
    decoder = "consensus@decode.surplus=2"
    result = rgwot.discover(maps(), method="rgwot-plus", decoder=decoder, fps=FPS, settings=SMALL, device="cpu")
    assert 0 <= result.diagnostics["task"]["seeds_differ"] < 1
