"""Features made elsewhere that are not as told are refused in one line."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from import_helpers import ARRAYS, FRAMES, npy, run

from rgwot.features.store import open_store
from rgwot.runtime.errors import RgwotError


@pytest.mark.parametrize(
    ("axes", "shape", "said"),
    [
        ("TC", (9, 2048), r"9 features at 2 per second from 0 s reach to 4.50 s, but the video lasts 65.00 s"),
        ("CT", (9, 1024), "1024 features at 2 per second"),
        ("TCHW", (0, 1024, 2, 2), "expected at least one feature"),
        ("TCHW", (9, 1024), "expected 4 axes, since `axes` is TCHW"),
        ("TC", (9, 1024, 2, 2), "expected 2 axes"),
        ("TC", (0, 1024), "expected at least one feature"),
    ],
)
def test_another_shape_is_refused(tmp_path: Path, axes: str, shape: tuple[int, ...], said: str) -> None:
    with pytest.raises(RgwotError, match=said) as caught:
        run(npy(tmp_path, np.zeros(shape, np.float32)), axes)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "a.zarr").exists()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (np.nan, "nan in channel 5 of feature 100; expected finite"),
        (-np.inf, "-inf in channel 5 of feature 100"),
        (1e5, r"100000 in channel 5 of feature 100; expected at most 65504 \(float16\)"),
    ],
)
def test_values_that_a_store_cannot_hold_are_refused(tmp_path: Path, value: float, said: str) -> None:
    array = ARRAYS["TC"].copy()
    array[100, 5] = value
    with pytest.raises(RgwotError, match=said):
        run(npy(tmp_path, array), "TC")
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.npy"]


@pytest.mark.parametrize(("axes", "shape"), [("TC", (FRAMES, 2048)), ("CT", (9, FRAMES)), ("THWC", (FRAMES, 4, 2, 2))])
def test_other_channels_than_told_are_refused(tmp_path: Path, axes: str, shape: tuple[int, ...]) -> None:
    path = npy(tmp_path, np.zeros(shape, np.float32))
    with pytest.raises(RgwotError, match=rf"channels in shape .* read as {axes}; expected 1024, as `channels` says"):
        run(path, axes, channels=1024)
    run(path, axes)


class Bomb:
    """Something that unpickling would execute."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("exploded"),))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("missing.npy", "no such file"),
        ("a.dat", "found the suffix '.dat'; expected one of .npy"),
        ("text.npy", "cannot be read"),
        ("text.npz", "cannot be read"),
        ("text.h5", "cannot be read"),
        ("text.pt", "cannot be read"),
        ("objects.npy", "cannot be read"),
        ("objects.npz", "cannot be read"),
        ("objects.pt", "cannot be read"),
        ("list.pt", "holds a list"),
        ("frames.npy", "array of uint8; expected features in floating point"),
    ],
)
def test_bad_files_are_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / name
    objects = np.array([Bomb()], dtype=object)
    if name.startswith("text") or name == "a.dat":
        path.write_text("not an array\n" * 9)
    elif name == "objects.npy":
        np.save(path, objects, allow_pickle=True)
    elif name == "objects.npz":
        np.savez(path, feats=objects)
    elif name == "objects.pt":
        path.write_bytes(pickle.dumps(Bomb(), protocol=2))
    elif name == "list.pt":
        torch.save([1, 2], path)
    elif name == "frames.npy":
        np.save(path, np.zeros((3, 1024), np.uint8))
    with pytest.raises(RgwotError) as caught:
        run(path, "TC")
    assert said in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize("samples", [129.001, 129.5, 130, 130.5, 130.999])
def test_rounding_either_way_is_no_mismatch(tmp_path: Path, samples: float) -> None:
    _, found = run(npy(tmp_path, ARRAYS["TC"]), "TC", duration_s=samples / 2)
    assert (found["status"], found["duration_s"]) == ("ok", samples / 2)


def test_too_many_features(tmp_path: Path) -> None:
    path = npy(tmp_path, ARRAYS["TC"])
    with pytest.raises(
        RgwotError, match=r"130 features at 2 per second from 0 s reach to 65.00 s, but the video lasts"
    ):
        run(path, "TC", duration_s=64.5)
    output, found = run(path, "TC", duration_s=50.2, on_mismatch="trim")
    assert open_store(output).time_s.tolist() == [i / 2 for i in range(101)]
    assert (found["status"], found["reason"], found["source_shape"]) == ("ok", "", [FRAMES, 1024])


def test_too_few_features(tmp_path: Path) -> None:
    path = npy(tmp_path, ARRAYS["TC"])
    with pytest.raises(RgwotError, match="but the video lasts 65.50 s; expected about 131; correct fps or set on_mism"):
        run(path, "TC", duration_s=65.5)
    output, found = run(path, "TC", duration_s=80.0, on_mismatch="trim")
    assert (len(open_store(output)), found["status"], found["duration_s"]) == (FRAMES, "partial", 80.0)
    assert "reach to 65.00 s, but the video lasts 80.00 s" in found["reason"]


def test_a_start_after_the_end_and_no_duration_are_refused(tmp_path: Path) -> None:
    path = npy(tmp_path, ARRAYS["TC"])
    with pytest.raises(RgwotError, match="expected about 0"):
        run(path, "TC", duration_s=60.0, start_s=99.0, on_mismatch="trim")
    for duration in (0.0, -1.0, float("nan")):
        with pytest.raises(RgwotError, match="expected a positive number of seconds"):
            run(path, "TC", duration_s=duration)
