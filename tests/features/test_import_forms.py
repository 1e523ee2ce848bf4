"""Features made elsewhere become the same store from every form of file."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from import_helpers import ARRAYS, FRAMES, NTSC, TCHW, WRITERS, npy, run

from rgwot.config.importing import ImportSettings
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


def test_the_attributes_tell_the_true_source(tmp_path: Path) -> None:
    path = npy(tmp_path, TCHW.astype(">f8"))
    _, found = run(path, fps="30000/1001", backbone="resnet50", weights="my finetuning")
    assert found.pop("rgwot_version") == found.pop("decoder_version")
    assert found == {
        "backbone": "resnet50",
        "weights": "my finetuning",
        "weights_sha256": "",
        "seed": None,
        "layer": "imported",
        "transform": "imported",
        "size": None,
        "precision": "float64",
        "fps": float(NTSC),
        "fps_exact": "30000/1001",
        "start_s": 0.0,
        "settings": ImportSettings.model_validate(
            {"axes": "TCHW", "fps": "30000/1001", "backbone": "resnet50", "weights": "my finetuning"}
        ).model_dump(mode="json"),
        "source": "a.npy",
        "source_mtime_ns": path.stat().st_mtime_ns,
        "source_bytes": path.stat().st_size,
        "source_sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "source_key": "",
        "source_axes": "TCHW",
        "source_shape": [FRAMES, 1024, 2, 3],
        "decoder": "import",
        "duration_s": FRAMES / float(NTSC),
        "native_fps": "30000/1001",
        "width": 0,
        "height": 0,
        "status": "ok",
        "reason": "",
        "complete": True,
    }


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
@pytest.mark.parametrize("suffix", [".npy", ".npz", ".h5", ".pt"])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, suffix: str) -> None:
    """An array of 200 MB is read in pieces; what a process takes for itself is its anonymous memory."""
    path = tmp_path / f"a{suffix}"
    array = np.lib.format.open_memmap(tmp_path / "big.npy", "w+", np.float32, (1024, 1024, 7, 7))
    if suffix == ".npy":
        path = tmp_path / "big.npy"
    elif suffix == ".npz":
        np.savez(path, feats=array)
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
        f"with open_array(Path({str(path)!r}), None, Path({str(tmp_path)!r})) as array:\n"
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
