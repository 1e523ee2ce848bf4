"""Features made elsewhere become the same store from every form of file; others are refused in one line."""

from __future__ import annotations

import hashlib
import pickle
import subprocess
import sys
import tracemalloc
from fractions import Fraction
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from import_helpers import ARRAYS, FRAMES, NTSC, TCHW, WRITERS, npy, run

from rgwot.datasets.settings import ImportSettings
from rgwot.features.importing import store_of_array
from rgwot.features.store import open_store
from rgwot.runtime.errors import RgwotError


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("axes", ARRAYS)
def test_every_form_in_every_layout_becomes_the_same_store(tmp_path: Path, suffix: str, axes: str) -> None:
    path = tmp_path / f"S01_Eggs{suffix}"
    WRITERS[suffix](path, ARRAYS[axes])
    output, _ = run(path, axes)
    store = open_store(output)
    expected = TCHW if len(axes) == 4 else TCHW[..., :1, :1]
    assert np.array_equal(store.read(), expected.astype(np.float16))
    assert store.time_s.tolist() == [i / 2 for i in range(FRAMES)]
    assert (store.video, store.status, store.reason, store.duration_s) == ("S01_Eggs", "ok", "", FRAMES / 2)
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")] == []


def test_the_attributes_name_the_true_source(tmp_path: Path) -> None:
    path = npy(tmp_path, TCHW.astype(">f8"))
    _, found = run(path, fps="30000/1001", backbone="resnet50", weights="my finetuning")
    assert found.pop("rgwot_version") == found.pop("decoder_version")
    expected = {
        "backbone": "resnet50",
        "weights": "my finetuning",
        "layer": "imported",
        "precision": "float64",
        "fps_exact": "30000/1001",
        "source": "a.npy",
        "source_sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "source_axes": "TCHW",
        "source_shape": [FRAMES, 1024, 2, 3],
        "duration_s": FRAMES / float(NTSC),
        "native_fps": "30000/1001",
    }
    assert found.items() >= expected.items()


@pytest.mark.parametrize("dtype", ["<f4", ">f8", "f2"])
def test_an_array_has_the_checksum_of_its_file_and_is_not_copied_for_it(tmp_path: Path, dtype: str) -> None:
    array = np.ones((4096, 64, 2, 2), dtype)
    path = npy(tmp_path, array)
    settings = ImportSettings.model_validate({"axes": "TCHW", "fps": 2})
    tracemalloc.start()
    found = store_of_array("a", array, settings, None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    content = path.read_bytes()
    assert found.attributes["source_sha256"] == hashlib.sha256(content).hexdigest()
    assert found.attributes["source_bytes"] == len(content)
    # Memory is needed for the features as float16, and for a block of 64 frames.
    assert peak < 3 * array.size


def test_times_are_exact_and_may_start_late(tmp_path: Path) -> None:
    path = npy(tmp_path, ARRAYS["TC"])
    output, _ = run(path, "TC", "30000/1001", duration_s=FRAMES / float(NTSC) + 0.25, start_s=0.25)
    expected = [float(Fraction(1, 4) + Fraction(i) / NTSC) for i in range(FRAMES)]
    np.testing.assert_allclose(open_store(output).time_s, expected, rtol=0, atol=1e-15)


def test_half_precision_of_torch_is_kept(tmp_path: Path) -> None:
    tensor = torch.from_numpy(ARRAYS["TC"]).to(torch.bfloat16)
    torch.save({"feats": tensor.requires_grad_(), "note": "x"}, tmp_path / "a.pt")
    output, found = run(tmp_path / "a.pt", "TC")
    assert np.array_equal(open_store(output).read()[..., 0, 0], tensor.detach().half().numpy())
    assert (found["precision"], found["source_key"]) == ("bfloat16", "feats")


def test_files_of_old_torch(tmp_path: Path) -> None:
    torch.save(torch.from_numpy(ARRAYS["TC"]), tmp_path / "a.pt", _use_new_zipfile_serialization=False)
    assert len(open_store(run(tmp_path / "a.pt", "TC")[0])) == FRAMES


@pytest.mark.parametrize("suffix", [".npz", ".h5", ".pt"])
def test_several_arrays_need_a_key(tmp_path: Path, suffix: str) -> None:
    path, other = tmp_path / f"a{suffix}", np.zeros((FRAMES, 1024), np.float32)
    if suffix == ".npz":
        np.savez(path, flow=other, rgb=ARRAYS["TC"])
    elif suffix == ".h5":
        with h5py.File(path, "w") as file:
            file["flow"], file["rgb"] = other, ARRAYS["TC"]
    else:
        torch.save({"flow": torch.from_numpy(other), "rgb": torch.from_numpy(ARRAYS["TC"])}, path)
    with pytest.raises(RgwotError, match=r"holds 2 arrays \(flow, rgb\); name one of them as key"):
        run(path, "TC")
    with pytest.raises(RgwotError, match="no array 'rbg'; did you mean 'rgb'"):
        run(path, "TC", key="rbg")
    assert np.array_equal(open_store(run(path, "TC", key="rgb")[0]).read()[..., 0, 0], ARRAYS["TC"].astype(np.float16))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="tells anonymous memory by /proc")
@pytest.mark.parametrize("suffix", [".npy", ".h5", ".pt"])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, suffix: str) -> None:
    """An array of 200 MB is read in pieces; only anonymous memory, which a process allocates for itself, is counted."""
    path = tmp_path / f"a{suffix}"
    array = np.lib.format.open_memmap(tmp_path / "big.npy", "w+", np.float32, (1024, 1024, 7, 7))
    if suffix == ".npy":
        path = tmp_path / "big.npy"
    elif suffix == ".h5":
        with h5py.File(path, "w") as file:
            file.create_dataset("feats", array.shape, np.float32, chunks=(1, 1024, 7, 7))
    else:
        torch.save(torch.from_numpy(array), path)
    script = (
        "from pathlib import Path\nfrom rgwot.datasets.arrays import open_array\n"
        "def anonymous():\n"
        "    line = next(l for l in open('/proc/self/status') if l.startswith('RssAnon'))\n"
        "    return int(line.split()[1]) // 1024\n"
        f"with open_array(Path({str(path)!r}), None) as array:\n"
        "    before, most, total = anonymous(), 0, 0\n"
        "    for start in range(0, array.shape[0], 64):\n"
        "        part = array.read((slice(start, start + 64), slice(None), slice(None), slice(None)))\n"
        "        most, total = max(most, anonymous()), total + len(part)\n"
        "    print(total, most - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    total, growth_mib = map(int, done.stdout.split())
    assert total == 1024
    assert growth_mib < 60


@pytest.mark.parametrize(
    ("axes", "shape", "message"),
    [
        ("CT", (9, 1024), "1024 features at 2 per second"),
        ("TCHW", (0, 1024, 2, 2), "expected at least one feature"),
        ("TCHW", (9, 1024), "expected 4 axes, since `axes` is TCHW"),
    ],
)
def test_another_shape_is_refused(tmp_path: Path, axes: str, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(RgwotError, match=message) as caught:
        run(npy(tmp_path, np.zeros(shape, np.float32)), axes)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "a.zarr").exists()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, "nan at sample 100, channel 5; expected finite"),
        (-np.inf, "-inf at sample 100, channel 5"),
        (1e5, r"100000 at sample 100, channel 5; expected at most 65504 \(float16\)"),
    ],
)
def test_values_that_a_store_cannot_hold_are_refused(tmp_path: Path, value: float, message: str) -> None:
    array = ARRAYS["TCHW"].copy()
    array[100, 5] = value
    with pytest.raises(RgwotError, match=message):
        run(npy(tmp_path, array), "TCHW")
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.npy"]


@pytest.mark.parametrize(("axes", "shape"), [("TC", (FRAMES, 2048)), ("CT", (9, FRAMES)), ("THWC", (FRAMES, 4, 2, 2))])
def test_channels_other_than_stated_are_refused(tmp_path: Path, axes: str, shape: tuple[int, ...]) -> None:
    path = npy(tmp_path, np.zeros(shape, np.float32))
    with pytest.raises(RgwotError, match=rf"channels in shape .* read as {axes}; expected 1024, as `channels` says"):
        run(path, axes, channels=1024)
    run(path, axes)


class Bomb:
    """An object that runs code when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("exploded"),))


@pytest.mark.parametrize(
    ("name", "message"),
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
        ("frames.npy", "array of uint8 (3, 1024); expected features in floating point"),
    ],
)
def test_bad_files_are_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, message: str
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
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize("samples", [129.001, 130.999])
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
    with pytest.raises(RgwotError, match="but the video lasts 65.50 s; expected about 131; correct fps.*on_mism"):
        run(path, "TC", duration_s=65.5)
    output, found = run(path, "TC", duration_s=80.0, on_mismatch="trim")
    assert (len(open_store(output)), found["status"], found["duration_s"]) == (FRAMES, "partial", 80.0)
    assert "reach to 65.00 s, but the video lasts 80.00 s" in found["reason"]


def test_a_start_after_the_end_and_no_duration_are_refused(tmp_path: Path) -> None:
    path = npy(tmp_path, ARRAYS["TC"])
    with pytest.raises(RgwotError, match="expected about 0"):
        run(path, "TC", duration_s=60.0, start_s=99.0, on_mismatch="trim")
    with pytest.raises(RgwotError, match="expected about 0"):
        run(path, "TC", duration_s=0.0)
