"""Import of features of any size, also from text and MATLAB files, with given times, and of whole folders."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io
import torch
import zarr
from import_helpers import npy, run

from rgwot.datasets.settings import ImportSettings
from rgwot.features.importing import import_features
from rgwot.features.index import check_stores, open_stores, write_index
from rgwot.features.store import CONV4C, open_store
from rgwot.runtime.errors import RgwotError

T, D = 12, 5
VECTORS = np.random.default_rng(1).normal(size=(T, D))
TIMES = np.arange(T) / 4 + 0.25
HALF = VECTORS.astype(np.float16)


def write_mat(path: Path, **arrays: np.ndarray) -> None:
    scipy.io.savemat(path, arrays)


def write_mat_73(path: Path, **arrays: np.ndarray) -> None:
    """Write arrays as MATLAB does in version 7.3: HDF5 behind a header, with the order of axes reversed."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in arrays.items():
            file[name] = np.asarray(array).T
            file[name].attrs["MATLAB_class"] = np.bytes_("double")
        file["#refs#/a"] = np.zeros(3)
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")


def write_csv(path: Path, names: str | None = None, sign: str = ",", **arrays: np.ndarray) -> None:
    table = np.column_stack([*([arrays["when"]] if "when" in arrays else []), arrays["feats"]])
    header = [] if names is None else [names]
    lines = header + [sign.join(repr(float(value)) for value in row) for row in table]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_vectors_are_kept_as_vectors_and_maps_as_maps(tmp_path: Path) -> None:
    output, found = run(npy(tmp_path, VECTORS), "TC", duration_s=T / 2)
    array = zarr.open_group(output, mode="r")["features"]
    assert (array.shape, array.chunks, array.shards) == ((T, D), (min(T, 64), D), None)  # type: ignore[union-attr]
    store = open_store(output)
    assert (store.vectors, store.shape, found["layer"], found["backbone"]) == (True, (T, D, 1, 1), *["imported"] * 2)
    assert np.array_equal(store.frames([3, 1])[..., 0, 0], HALF[[3, 1]])
    maps = np.random.default_rng(2).normal(size=(T, 3, 4, 2)).astype(np.float32)
    output, _ = run(npy(tmp_path, maps), "TCHW", duration_s=T / 2)
    assert np.array_equal(open_store(output).read(), maps.astype(np.float16))
    assert not open_store(output).vectors
    # Maps that another program made with the paper's backbone equal those of the workflow.
    conv4c = np.repeat(maps, 342, axis=1)[:, :1024]
    output, _ = run(npy(tmp_path, conv4c), "TCHW", duration_s=T / 2, layer="conv4c", backbone="resnet50")
    assert CONV4C in zarr.open_group(output, mode="r")


def test_a_task_may_have_files_of_several_precisions(tmp_path: Path) -> None:
    form = ImportSettings.model_validate({"axes": "TC", "fps": "2"})
    for dtype in ("float16", "float32", "float64"):
        np.save(tmp_path / f"{dtype}.npy", HALF.astype(dtype))
        import_features(tmp_path / f"{dtype}.npy", tmp_path / f"{dtype}.zarr", form)
    write_index(sorted(tmp_path.glob("*.zarr")), tmp_path / "index.csv")
    first, *others = open_stores(tmp_path / "index.csv", tmp_path)
    assert all(np.array_equal(store.read(), first.read()) for store in others)


@pytest.mark.parametrize("write", [write_mat, write_mat_73])
def test_matlab_arrays_have_the_axes_that_matlab_shows(tmp_path: Path, write: object) -> None:
    path = tmp_path / "a.mat"
    write(path, feats=VECTORS.T)  # type: ignore[operator]
    output, found = run(path, "CT", duration_s=T / 2)
    assert np.array_equal(open_store(output).read()[..., 0, 0], HALF)
    assert found["source_shape"] == [D, T]
    write(path, feats=VECTORS, other=VECTORS)  # type: ignore[operator]
    with pytest.raises(RgwotError, match=r"holds 2 arrays \(feats, other\); name one of them as key"):
        run(path, "TC", duration_s=T / 2)
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")] == []


def test_matlab_cells_and_files_of_another_kind_are_refused(tmp_path: Path) -> None:
    cell = np.empty(2, dtype=object)
    cell[:] = [VECTORS, VECTORS]
    write_mat(tmp_path / "a.mat", feats=cell)
    with pytest.raises(RgwotError, match="'feats' is a cell; expected a plain array of numbers"):
        run(tmp_path / "a.mat", "TC")
    (tmp_path / "b.mat").write_bytes(b"hello")
    with pytest.raises(RgwotError, match=r"b\.mat: cannot be read \(.*expected a MATLAB file"):
        run(tmp_path / "b.mat", "TC")


@pytest.mark.parametrize("sign", [",", ";", "\t", " "])
@pytest.mark.parametrize("name", ["f{}", "{}", None])
def test_tables_of_text(tmp_path: Path, sign: str, name: str | None) -> None:
    # pandas writes numbers as column names.
    names = sign.join(name.format(number) for number in range(D)) if name else None
    write_csv(tmp_path / "a.csv", names, sign, feats=VECTORS)
    output, _ = run(tmp_path / "a.csv", "TC", duration_s=T / 2)
    assert np.array_equal(open_store(output).read()[..., 0, 0], HALF)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("x,z,y", "column 2 is 'z', not 'y'"),
        ("x,y,w", "no column 'z', but column 'w'"),
        ("x,y", "no column 'z'"),
        ("x,y,w,z", "column 'w' too many"),
        # Names may be in capitals, or have a common prefix.
        ("X,Z,Y", "column 2 is 'z', not 'y'"),
        ("p1_z,p1_y,p1_x", "column 1 is 'z', not 'x'"),
    ],
)
def test_columns_of_another_order_are_refused_by_name(tmp_path: Path, header: str, message: str) -> None:
    form = ImportSettings.model_validate({"axes": "TC", "fps": "2"})
    # The order of columns is unknown if they have no names or names that differ between videos.
    for name, names in {"a": None, "b": "x,y,z", "c": "when, x,y,z", "d": header, "e": "p,q,r"}.items():
        width, times = len((names or "x,y,z").replace("when,", "").split(",")), {"when": TIMES} if name == "c" else {}
        write_csv(tmp_path / f"{name}.csv", names, feats=VECTORS[:, :width], **times)
        own = form.model_copy(update={"times": "when", "fps": None}) if times else form
        import_features(tmp_path / f"{name}.csv", tmp_path / f"{name}.zarr", own)
    stores = [tmp_path / f"{name}.zarr" for name in "abd"]
    assert open_store(tmp_path / "c.zarr").columns.splitlines() == ["x", "y", "z"]
    write_index([*stores[:2], tmp_path / "e.zarr"], tmp_path / "index.csv")
    open_stores(tmp_path / "index.csv", tmp_path)
    with pytest.raises(RgwotError) as caught:
        check_stores(map(open_store, stores))
    expected = f"expected the columns of {tmp_path / 'b.zarr'} in the same order; correct the table"
    assert str(caught.value) == f"{tmp_path / 'd.zarr'}: {message}; {expected}"
    # Tables with another number of columns are refused earlier, because of this number.
    if header.count(",") == 2:
        write_index(stores, tmp_path / "index.csv")
        with pytest.raises(RgwotError, match=f"d.zarr: {message}; expected the columns of"):
            open_stores(tmp_path / "index.csv", tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "frame,f0\n0,1.5\n1,2.5\n",
            "column 'frame' seems to hold times or row numbers; set `times` to its name if it has seconds",
        ),
        ("0.0,3.0,1 cut\n3.0,9.0,2 stir\n", "looks like an annotation (start,end,number name), expected features"),
        ("f0,f1\n1.5,\n2.5,3\n", "nan at sample 0, channel 1; expected finite numbers"),
        ("1.5,2\n2.5,cat\n", "line 2: 'cat', expected numbers"),
        ("1.5,2\n2.5,3,4\n", "line 2 has 3 cells, and the one before 2"),
    ],
)
def test_tables_that_hold_something_else(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(RgwotError, match="a.csv: ") as caught:
        run(tmp_path / "a.csv", "TC", duration_s=1)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "a.zarr").exists()


PRESSURE = 1013 + 0.1 * VECTORS


@pytest.mark.parametrize(
    "vectors",
    [
        PRESSURE,
        1e-8 * VECTORS,
        np.column_stack([VECTORS, PRESSURE[:, 0]]),
        np.column_stack([VECTORS, 1e-8 * VECTORS[:, 0]]),
        1e5 + VECTORS,
    ],
)
def test_vectors_that_float16_spoils_are_float32(tmp_path: Path, vectors: np.ndarray) -> None:
    output, found = run(npy(tmp_path, vectors), "TC", duration_s=T / 2)
    store = open_store(output)
    assert (store.dtype, found["stored"], store.read().dtype) == ("float32", "float32", np.float32)
    assert np.array_equal(store.read()[..., 0, 0], vectors.astype(np.float32))


@pytest.mark.parametrize(
    "vectors",
    [
        VECTORS,
        np.column_stack([VECTORS, np.full(T, 0.3) * (1 + 1e-7 * VECTORS[:, 0])]),
        np.column_stack([VECTORS, 1e-15 * VECTORS[:, 0], np.arange(T) + 1024.0]),
        5 + VECTORS,
    ],
)
def test_other_vectors_stay_float16(tmp_path: Path, vectors: np.ndarray) -> None:
    output, found = run(npy(tmp_path, vectors), "TC", duration_s=T / 2)
    assert (open_store(output).dtype, "stored" in found) == ("float16", False)
    with pytest.raises(RgwotError, match=r"2e\+15 at sample 0, channel 0; expected at most 1e\+15 \(float32\)"):
        run(npy(tmp_path, vectors * 0 + 2e15), "TC", duration_s=T / 2)


@pytest.mark.parametrize(
    "name",
    ["Time (s)", "Timestamp [s]", "time_ms", "Zeit", "Temps[ms]", "PacketCounter", "SAMPLE", "t (s)", "Frame (#)"],
)
def test_clocks_and_counters_are_not_features(tmp_path: Path, name: str) -> None:
    write_csv(tmp_path / "a.csv", f"{name},x", feats=VECTORS[:, :2])
    with pytest.raises(RgwotError) as caught:
        run(tmp_path / "a.csv", "TC", duration_s=T / 2)
    assert f"a.csv: column {name!r} seems to hold times or row numbers; set `times` to its name" in str(caught.value)
    # If `times` names the column, it is read as times.
    write_csv(tmp_path / "a.csv", f"{name},x", feats=VECTORS[:, 1:2], when=TIMES)
    assert open_store(run(tmp_path / "a.csv", "TC", None, duration_s=3.3, times=name)[0]).columns == "x"


@pytest.mark.parametrize("name", ["T (C)", "acc_x (m/s)", "time of flight", "indexfinger", "acc s"])
def test_other_columns_are_features(tmp_path: Path, name: str) -> None:
    write_csv(tmp_path / "a.csv", f"{name},x", feats=VECTORS[:, :2])
    assert open_store(run(tmp_path / "a.csv", "TC", duration_s=T / 2)[0]).shape[1] == 2


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".h5", ".pt", ".csv", ".mat"])
def test_times_of_their_own(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    if suffix == ".npy":
        np.save(path, VECTORS)
        np.save(tmp_path / "a.times.npy", TIMES)
    elif suffix == ".npz":
        np.savez(path, feats=VECTORS, when=TIMES)
    elif suffix == ".h5":
        with h5py.File(path, "w") as file:
            file["feats"], file["when"] = VECTORS, TIMES
    elif suffix == ".pt":
        torch.save({"feats": torch.from_numpy(VECTORS), "when": torch.from_numpy(TIMES)}, path)
    elif suffix == ".csv":
        write_csv(path, ",".join(["when", *(f"f{number}" for number in range(D))]), feats=VECTORS, when=TIMES)
    else:
        write_mat(path, feats=VECTORS, when=TIMES)
    output, found = run(path, "TC", None, duration_s=3.3, times="when")
    store = open_store(output)
    assert store.time_s.tolist() == TIMES.tolist()
    assert np.array_equal(store.read()[..., 0, 0], HALF)
    assert (found["fps"], found["fps_exact"], found["source_times"]) == (4.0, "4", "when")


@pytest.mark.parametrize(
    ("times", "told", "message"),
    [
        (TIMES[:-1], {}, "11 times and 12 features"),
        (TIMES[::-1], {}, "times: found 3 before 2.75; expected increasing, finite seconds, 0 or above"),
        (
            np.floor(TIMES),
            {},
            "0 or above; these are whole seconds of several samples each: leave the times out, and give fps",
        ),
        (TIMES - 1, {}, "times: found -0.75; expected increasing, finite seconds"),
        (TIMES, {"fps": 30}, "times of 4 features per second, but fps is 30"),
        (TIMES / 2, {}, "features with times up to 1.50 s, but the video lasts 3.30 s"),
    ],
)
def test_times_that_do_not_fit(tmp_path: Path, times: np.ndarray, told: dict[str, int], message: str) -> None:
    np.savez(tmp_path / "a.npz", feats=VECTORS, when=times)
    with pytest.raises(RgwotError) as caught:
        run(tmp_path / "a.npz", "TC", told.get("fps"), duration_s=3.3, times="when")
    assert message in str(caught.value)


def test_a_clock_of_its_own_is_refused_without_a_video(tmp_path: Path) -> None:
    # In a video of 1003.3 s, these are the last seconds.
    np.savez(tmp_path / "a.npz", feats=VECTORS, when=1000 + TIMES)
    output, _ = run(tmp_path / "a.npz", "TC", None, duration_s=1003.3, times="when")
    assert open_store(output).time_s[0] == 1000.25
    form = ImportSettings.model_validate({"axes": "TC", "key": "feats", "times": "when"})
    with pytest.raises(
        RgwotError, match=r"times: found 1000.25 to 1003 s for features without a video, .*; subtract the first time"
    ):
        import_features(tmp_path / "a.npz", tmp_path / "b.zarr", form)
    assert not (tmp_path / "b.zarr").exists()


def test_values_in_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.bin").write_bytes(VECTORS.tobytes())
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset(
            "feats", (T, D), np.float64, external=[(str(tmp_path / "secret.bin"), 0, h5py.h5f.UNLIMITED)]
        )
    with pytest.raises(RgwotError, match="the values of 'feats' are in other files"):
        run(tmp_path / "a.h5", "TC")
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file["feats"] = VECTORS
    layout = h5py.VirtualLayout((T, D), np.float64)
    layout[:] = h5py.VirtualSource(str(tmp_path / "b.h5"), "feats", (T, D))
    with h5py.File(tmp_path / "c.h5", "w") as file:
        file.create_virtual_dataset("feats", layout)
    with pytest.raises(RgwotError, match="the values of 'feats' are in other files"):
        run(tmp_path / "c.h5", "TC")
