from __future__ import annotations

import hashlib
import pickle
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
import zarr
from videos import write_video

from rgwot.catalogue import Catalogue
from rgwot.config import load_config
from rgwot.embedding import embed
from rgwot.errors import RgwotError
from rgwot.features.import_settings import ImportSettings
from rgwot.features.importing import Footage, import_features, import_video
from rgwot.features.index import write_index
from rgwot.features.store import open_store
from rgwot.video import probe

ROOT = Path(__file__).parents[2]
NTSC = Fraction(30000, 1001)
FRAMES = 130  # three shards, the last one short
TCHW = np.random.default_rng(0).normal(size=(FRAMES, 1024, 2, 3)).astype(np.float32)
ARRAYS = {"TCHW": TCHW, "THWC": TCHW.transpose(0, 2, 3, 1), "TC": TCHW[..., 0, 0], "CT": TCHW[..., 0, 0].T}


def write_h5(path: Path, array: np.ndarray, key: str = "group/feats") -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset(key, data=array, chunks=True, compression="lzf")


WRITERS: dict[str, Callable[[Path, np.ndarray], Any]] = {
    ".npy": np.save,
    ".npz": lambda path, array: np.savez_compressed(path, feats=array),
    ".h5": write_h5,
    ".hdf5": write_h5,
    ".pt": lambda path, array: torch.save(torch.from_numpy(array), path),
}


def run(
    source: Path, axes: str = "TCHW", fps: Any = 2, duration_s: float | None = None, **told: Any
) -> tuple[Path, dict[str, Any]]:
    settings = ImportSettings.model_validate({"axes": axes, "fps": fps, **told})
    output = source.with_suffix(".zarr")
    length = FRAMES / float(Fraction(settings.fps)) if duration_s is None else duration_s
    import_features(source, output, settings, Footage(length, NTSC))
    return output, dict(open_store(output).attributes)


def npy(folder: Path, array: np.ndarray) -> Path:
    np.save(folder / "a.npy", array)
    return folder / "a.npy"


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
        "source": "a.npy",
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


# --- refusals ---


@pytest.mark.parametrize(
    ("axes", "shape", "said"),
    [
        ("TC", (9, 2048), r"2048 channels in shape \(9, 2048\) read as TC; expected 1024"),
        ("TC", (1024, 9), r"9 channels in shape \(1024, 9\) read as TC; expected 1024"),
        ("CT", (9, 1024), "9 channels"),
        ("THWC", (9, 1024, 2, 2), "2 channels"),
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


class Bomb:
    """Something that unpickling would execute."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("exploded"),))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("missing.npy", "no such file"),
        ("a.txt", "found the suffix '.txt'; expected one of .npy"),
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
    if name.startswith("text") or name == "a.txt":
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


# --- length against duration ---


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
        "from pathlib import Path\nfrom rgwot.features.sources import open_array\n"
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


# --- with the video at hand, the command and the workflow ---


def test_the_video_knows_its_length(tmp_path: Path) -> None:
    path, settings = npy(tmp_path, TCHW), ImportSettings(axes="TCHW", fps=2)
    count = len(np.load(path))
    footage = write_video(tmp_path / "a b.mp4", frames=round(30 * count / 2))
    import_video(footage, path, tmp_path / "a%20b.zarr", settings)
    store = open_store(tmp_path / "a%20b.zarr")
    assert (store.duration_s, store.native_fps) == (pytest.approx(count / 2), 30)
    assert (store.attributes["width"], store.attributes["height"]) == (probe(footage).width, probe(footage).height)


def test_a_video_that_cannot_be_opened(tmp_path: Path) -> None:
    path, settings = npy(tmp_path, TCHW), ImportSettings(axes="TCHW", fps=2)
    (tmp_path / "bad.mp4").write_bytes(b"")
    with pytest.raises(RgwotError, match="bad.mp4"):
        import_video(tmp_path / "bad.mp4", path, tmp_path / "s.zarr", settings)
    import_video(tmp_path / "bad.mp4", path, tmp_path / "s.zarr", settings, on_bad_video="skip")
    skipped = open_store(tmp_path / "s.zarr")
    assert (skipped.shape, skipped.status) == ((0, 1024, 2, 3), "skipped")
    assert skipped.reason


def test_pooled_features_go_through_the_stages(tmp_path: Path) -> None:
    stores = []
    for name in ("a", "b"):
        np.save(tmp_path / f"{name}.npy", ARRAYS["TC"])
        stores.append(run(tmp_path / f"{name}.npy", "TC")[0])
    write_index(stores, tmp_path / "index.csv")
    embed(tmp_path / "index.csv", tmp_path, None, tmp_path / "e.zarr")
    found = np.asarray(zarr.open_group(tmp_path / "e.zarr", mode="r")["a/embedding"][:])  # type: ignore[index]
    expected = ARRAYS["TC"].astype(np.float16).astype(np.float32)
    np.testing.assert_allclose(found, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-6)


def rgwot(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rgwot.cli", "import-features", *arguments], cwd=folder, capture_output=True, text=True
    )


def test_the_command(tmp_path: Path) -> None:
    npy(tmp_path, ARRAYS["CT"])
    told = ["out/a.zarr", "--source", "a.npy", "--axes", "CT", "--fps", "30000/1001"]
    done = rgwot(*told, "--duration", str(FRAMES / float(NTSC)), "--native-fps", "60000/1001", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    store = open_store(tmp_path / "out/a.zarr")
    assert (len(store), store.native_fps) == (FRAMES, 2 * NTSC)
    for wrong, said in (
        ([], "expected either --duration or --footage"),
        (["--duration", "3", "--footage", "a.mp4"], "expected either --duration or --footage"),
        (["--duration", "3", "--fps", "fast"], "import-features: fps: expected a positive rate"),
        (["--duration", "3", "--native-fps", "0"], "--native-fps"),
        (["--duration", "3"], "expected about 90"),
    ):
        done = rgwot(*told, *wrong, folder=tmp_path)
        assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr
        assert said in done.stderr


def catalogue(root: Path, **imported: Any) -> Catalogue:
    entry = {
        "layout": "folder",
        "root": str(root / "videos"),
        "imported": {"folder": "feats", "axes": "TC", **imported},
    }
    content = {"roots": {"feats": str(root / "features")}, "datasets": {"mine": entry}}
    return Catalogue(content, ROOT / "workflow/tables.yaml")


def test_the_workflow_finds_the_file_of_each_video(tmp_path: Path) -> None:
    for path in ("videos/tea/a b.mp4", "videos/tea/c.mp4", "videos/tea/d.mp4", "features/tea/a b.h5", "features/c.npy"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    found = catalogue(tmp_path, fps=29.97002997, key="a 'b'", on_mismatch="trim")
    assert found.datasets_imported() == ["mine"]
    assert found.feature_file("mine", "tea", "a%20b") == str(tmp_path / "features/tea/a b.h5")
    assert found.feature_file("mine", "tea", "c") == str(tmp_path / "features/c.npy")
    assert found.import_options("mine") == ("""--axes=TC --fps=30000/1001 '--key=a '"'"'b'"'"'' --on-mismatch=trim""")
    with pytest.raises(
        RgwotError, match=r"tea/d: no features; expected one file .*features/tea/d or .*features/d with"
    ):
        found.feature_file("mine", "tea", "d")
    (tmp_path / "features/tea/c.pt").touch()
    with pytest.raises(RgwotError, match=r"tea/c: features in .*c.pt and .*c.npy; expected one"):
        found.feature_file("mine", "tea", "c")
    with pytest.raises(RgwotError, match="no such video"):
        found.feature_file("mine", "tea", "e")


@pytest.mark.parametrize(
    ("imported", "said"),
    [
        ({"folder": "f", "fps": 2}, r"imported.axes: Field required"),
        ({"folder": "f", "axes": "TC"}, r"imported.fps: Field required"),
        ({"folder": "f", "axes": "TC", "fps": "2/0"}, r"imported.fps: expected a positive rate"),
        ({"folder": "f", "axes": "TD", "fps": 2}, r"imported.axes"),
        ({"folder": "f", "axes": "TC", "fps": 2, "on_mismach": "trim"}, r"did you mean 'on_mismatch'"),
    ],
)
def test_mistakes_in_the_configuration(imported: dict[str, Any], said: str) -> None:
    with pytest.raises(RgwotError, match=said):
        load_config({"datasets": {"mine": {"layout": "folder", "root": "r", "imported": imported}}})
