"""Published features in the form of their downloads: every form gives the planted timelines; faults are reported."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from mock_downloads import (
    ACTIVITIES,
    CROSSTASK,
    EGOPROCEL,
    HIERO,
    PC_RATE,
    RATES,
    THIRD_PERSON,
    Take,
    annotations,
    asot,
    egoprocel_takes,
    runs,
    take,
    unpack,
    vectors,
    write,
)

from rgwot.config.configuration import load_config, read_files
from rgwot.datasets.feature_files import measure_file
from rgwot.datasets.fetch import fetch, sources
from rgwot.datasets.finding import find
from rgwot.datasets.manifest import write_manifest
from rgwot.datasets.settings import ImportSettings
from rgwot.features.importing import import_features, import_video
from rgwot.features.store import open_store
from rgwot.records import read_annotations
from rgwot.runtime.errors import RgwotError
from rgwot.study import datasets as planning
from rgwot.study.doctor import examine
from rgwot.study.study import Study

REPOSITORY = Path(__file__).parents[2]
ENTRIES = read_files([REPOSITORY / "workflow/published_features.yaml"])["datasets"]
SETS = {"breakfast": "breakfast", "fifty_salads": "50salads", "gtea": "gtea", "youtube_instructions": "YTI"}
STUDY = Study(load_config({"datasets": ENTRIES}))


@pytest.fixture(scope="module")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published")
    write(folder / "downloads")
    unpack(folder / "downloads", folder / "data")
    return folder


@pytest.fixture
def data(downloads: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder data/ of the current folder; tests must not change it."""
    monkeypatch.chdir(downloads)
    return downloads / "data"


def planted(dataset: str) -> tuple[str, dict[str, Take]]:
    """Return the task of an entry that the mock has, and its first-person recordings by the names of their files."""
    entry = ENTRIES[dataset]
    if dataset == "crosstask_features":
        return "40567", {name: take(number) for number, name in enumerate(CROSSTASK)}
    if "subset" in entry:
        (task,) = (task for task in EGOPROCEL if task.startswith(f"{entry['subset']}/"))
        takes = {name: one for name, one in egoprocel_takes()[task].items() if name not in THIRD_PERSON}
        ending = ".egoprocel.ann" if dataset in ("epic_tents_omnivore", "epic_tents_egovlp") else ""
        return task.split("/")[1], {name + ending: one for name, one in takes.items()}
    names = ACTIVITIES[SETS.get(dataset, dataset)]
    tasks = {"breakfast": "cereals", "gtea": "Cheese", "youtube_instructions": "changing_tire"}
    return tasks.get(dataset, dataset), {name: take(number) for number, name in enumerate(names)}


def expected(dataset: str, one: Take) -> tuple[np.ndarray, np.ndarray, list[tuple[float, float, int]]]:
    """Return the times and the labels of the features of a recording, and its annotated segments."""
    entry = ENTRIES[dataset]
    if entry["layout"] == "packed":
        truth = one.labels(10)
        index = np.floor(10 * np.arange(0, len(truth) / 10, 0.25) + 1e-6).astype(int)
        index = index[index < len(truth)]
        times = index / 10 if dataset.endswith("fact") else np.arange(len(index)) / 4
        return times, truth[index], [(a / 10, b / 10, step) for a, b, step in runs(truth) if step]
    if "window" in entry["imported"]:
        rate = Fraction(RATES.get(entry["subset"], PC_RATE))
        frames = one.labels(rate)
        labels = frames[8 : len(frames) // 16 * 16 : 16]
        return (16 * np.arange(len(labels)) + 8) / float(rate), labels, list(one.segments)
    if dataset == "crosstask_features":
        labels = one.labels(30)[15::30]
        return np.arange(len(labels)) + 0.5, labels, list(one.segments)
    fps, every = entry["imported"]["fps"], entry["imported"].get("every", 1)
    truth = one.labels(fps)
    # The mock of desktop assembly has no background, so 0 is a step, too.
    return (
        np.arange(0, len(truth), every) / fps,
        truth[::every],
        [(a / fps, b / fps, step) for a, b, step in runs(truth) if step or dataset == "desktop_assembly"],
    )


@pytest.mark.parametrize("dataset", ENTRIES)
def test_every_form_is_read_to_its_timelines(dataset: str, data: Path, tmp_path: Path) -> None:
    task, takes = planted(dataset)
    entry = STUDY.config.dataset(dataset)
    form = planning.manifest_entry(STUDY, dataset)
    root = STUDY.config.root_of(dataset)
    out = tmp_path / "m.csv", tmp_path / "a.csv", "fail"
    write_manifest(dataset, task, root, entry.layout, form["options"], *out, form["imported"])
    manifest = pd.read_csv(tmp_path / "m.csv", dtype=str)
    # An apostrophe keeps spreadsheets from taking a name that begins with a sign for a formula.
    manifest["name"] = manifest["name"].str.removeprefix("'")
    assert dict(zip(manifest["name"], manifest["status"], strict=True)) == dict.fromkeys(takes, "ok")
    annotated = read_annotations(tmp_path / "a.csv")
    for number, (name, one) in enumerate(takes.items()):
        times, labels, segments = expected(dataset, one)
        row = manifest[manifest["name"] == name].iloc[0]
        actual = annotated[annotated["video"] == row["video"]]
        # Steps are numbered in their order within the task, in which all seven occur.
        shift = dataset == "desktop_assembly"
        steps = [step + shift for *_, step in segments]
        assert actual["key_step"].tolist() == steps
        longest = float(row["duration_s"])
        assert np.allclose(actual["start_s"], [start for start, *_ in segments])
        assert np.allclose(actual["end_s"], [min(end, longest) for _, end, _ in segments])
        if number:
            continue
        place = root / row["path"]
        settings = STUDY.config.dataset(dataset).imported
        assert settings is not None
        import_video(place, place, tmp_path / f"{number}.zarr", settings)
        store = open_store(tmp_path / f"{number}.zarr")
        assert np.allclose(store.time_s, times)
        D = settings.channels or 64
        rows = vectors(labels, D, number)
        if dataset in SETS and entry.imported and entry.imported.every > 1:
            rows = vectors(one.labels(30), D, number)[::2]
        close = 2e-3 if dataset == "youtube_instructions" else 0
        assert np.allclose(store.read()[..., 0, 0], rows.astype(np.float16), atol=close)
        assert store.vectors


@pytest.mark.parametrize("dataset", ENTRIES)
def test_the_doctor_has_no_error(dataset: str, data: Path) -> None:
    task, takes = planted(dataset)
    report = examine({"datasets": ENTRIES}, dataset, [task])
    findings = report.findings
    assert [finding for finding in findings if finding.severity == "error"] == []
    assert len(report.videos) == len(takes)
    # An archive holds six datasets; files of the other five are not reported as leftovers.
    assert not report.files.unassigned


def test_an_error_about_a_view_names_the_cameras_that_exist(data: Path) -> None:
    options = {"subset": "cmu_mmac", "view": "back"}
    with pytest.raises(RgwotError, match=r"view 6510211; files of cameras: 7150991: 3, 7151062: 2"):
        find("mine", "packed", Path("data/egoprocel_fact"), options).of("Brownie")
    right = find("mine", "packed", Path("data/egoprocel_fact"), {**options, "view": "right"}).of("Brownie")
    assert [entry.name for entry in right] == list(THIRD_PERSON)


def test_an_archive_is_fetched_and_checked_against_its_list(downloads: Path, tmp_path: Path) -> None:
    fetch(sources("egoprocel_vjepa"), tmp_path, (downloads / "downloads").as_uri())
    folder = tmp_path / "egoprocel_vjepa"
    assert {"LICENSE.md", "SHA256SUMS", "manifest.json"} <= {path.name for path in folder.iterdir()}
    (digest, place), *_ = (line.split() for line in (folder / "SHA256SUMS").read_text().splitlines())
    assert (folder / place).with_name(f".{Path(place).name}.fetched").read_text().startswith(digest)
    # The table gives all of these videos the task disassembly.
    rows = pd.read_csv(folder / "egoprocel_annotations/egoprocel_segments.csv")
    assert set(rows["task_name"][rows["video_path"].str.startswith("Head_")]) == {"pc_disassembly::pc_disassembly"}
    for task in ("pc_assembly", "pc_disassembly"):
        files = find("mine", "packed", folder, {"subset": task})
        assert {entry.name for entry in files.of(task)} == set(EGOPROCEL[f"{task}/{task}"])


@pytest.mark.parametrize(("split", "count"), [("train", 2), ("test", 1)])
def test_splits_choose_videos(data: Path, split: str, count: int) -> None:
    packed = find("mine", "packed", Path("data/egoprocel_fact"), {"subset": "meccano", "split": split})
    assert len(packed.of("meccano")) == count
    lines = find("mine", "frame_labels", Path("data/fact/egoprocel"), {"subset": "meccano", "split": f"split1.{split}"})
    assert len(lines.of("meccano")) == count
    gtea = {"split": f"splits/{split}.split1.bundle"}
    assert len(find("mine", "frame_labels", Path("data/ms_tcn/data/gtea"), gtea).of("mine")) == count


def test_a_video_that_no_task_has_is_listed(tmp_path: Path) -> None:
    archive(tmp_path, paths=["0003.pt", "holiday.pt"])
    files = find("mine", "packed", tmp_path, {"subset": "meccano"})
    assert [entry.name for entry in files.of("meccano")] == ["0003"]
    assert files.unassigned == ("a.pt/holiday.pt",)


@pytest.mark.parametrize(
    ("dataset", "lost"),
    [("egtea_gaze", "EGTEA/holiday"), ("cmu_mmac", "CMU_Kitchens/S08_Brwnie_odd"), ("pc_assembly", "PC/Head_99")],
)
def test_features_of_no_task_are_listed_beside_those_of_other_datasets(dataset: str, lost: str, tmp_path: Path) -> None:
    for task, takes in egoprocel_takes().items():
        place = tmp_path / "egovlp" / HIERO[task.split("/")[0]]
        place.mkdir(parents=True, exist_ok=True)
        for name in takes:
            (place / f"{name}.pt").touch()
    annotations(tmp_path)
    (tmp_path / f"egovlp/{lost}.pt").touch()
    files = find("mine", "egoprocel", tmp_path, {"subset": dataset, "features_alone": True})
    assert files.unassigned == (f"egovlp/{lost}.pt",)
    (task,) = (task for task in EGOPROCEL if task.startswith(dataset))
    assert {entry.name for entry in files.of(task.split("/")[1])} == set(EGOPROCEL[task])
    # A file in the folder of another dataset, which has its registered name, is not reported.
    (tmp_path / "egovlp/MECCANO/holiday.pt").touch()
    assert len(find("mine", "egoprocel", tmp_path, {"subset": dataset, "features_alone": True}).unassigned) == 1


FORM: dict[str, Any] = {
    "layout": "packed",
    "imported": {"axes": "TC", "key": "tokens", "times": "times", "fps": 4, "channels": 3},
}
FEATURES = ImportSettings(**FORM["imported"])


def make_manifest(folder: Path, layout: str, options: dict[str, Any], form: dict[str, Any], task: str = "mine") -> None:
    write_manifest("mine", task, folder, layout, options, folder / "m.csv", folder / "a.csv", "fail", form)


def archive(folder: Path, **changed: Any) -> Path:
    """Write an archive of two videos of five features each, with changed entries, and its table; return the table."""
    times = torch.tensor([0, 0.2, 0.5, 0.7, 1.0])
    content: dict[str, Any] = {
        "paths": ["0003.pt", "0004.pt"],
        "tokens": torch.arange(30.0).reshape(10, 3),
        "times": torch.cat([times, times]),
        "offsets": torch.tensor([0, 5, 10]),
    }
    torch.save({key: value for key, value in {**content, **changed}.items() if value is not None}, folder / "a.pt")
    table = folder / "a_segments.csv"
    rows = [
        f"{path},train,{step},{step}.0,{step + 1}.0\n" for path in {**content, **changed}["paths"] for step in (0, 1)
    ]
    table.write_text("video_path,official_split,fact_step_id,start_sec,end_sec\n" + "".join(rows))
    return table


def truncated(folder: Path) -> None:
    archive(folder)
    whole = (folder / "a.pt").read_bytes()
    (folder / "a.pt").write_bytes(whole[: len(whole) // 2])


def pickled(folder: Path) -> None:
    archive(folder)
    torch.save({"paths": Path("0003.pt"), "tokens": print}, folder / "a.pt")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (truncated, "are truncated, damaged or not a file of tensors"),
        (pickled, "has pickled Python objects"),
        ({"tokens": torch.zeros(10, 4)}, "4 channels in shape (5, 4) read as TC; expected 3"),
        (
            {"times": torch.tensor([0, 0.2, 0.5, 0.4, 1.0] * 2)},
            "times: found 0.5 before 0.4; expected increasing",
        ),
        ({"times": torch.arange(10.0) * 3}, "times of 0.333333 features per second, but fps is 4"),
        ({"times": torch.arange(10).bfloat16()}, "cannot be read (Got unsupported ScalarType BFloat16)"),
        ({"times": torch.arange(9.0)}, "times (9,) and 10 rows of tokens; expected one time per row"),
        ({"paths": ["0003.pt", "../../0004.pt"]}, "path '../../0004.pt' leaves the folder"),
        ({"paths": ["0003.pt", "/etc/passwd"]}, "path '/etc/passwd' leaves the folder"),
        ({"paths": ["0003.pt", "0003.mp4"]}, "1 paths occur twice; expected every video once"),
        (
            {"offsets": torch.tensor([0, 6, 5])},
            "2 paths, and offsets of shape (3,) with the ends [0, 5]; expected 3 whole numbers that rise from 0",
        ),
        ({"offsets": torch.tensor([0.0, 5, 10])}, "offsets of shape (3,) with the ends []; expected 3 whole numbers"),
        ({"times": torch.arange(10.0)[:, None]}, "times (10, 1) and 10 rows of tokens; expected one time per row"),
        (
            {"times": None},
            "holds offsets, paths, tokens; expected the list paths, and the dense tensors offsets, tokens and times",
        ),
        ({"paths": ["0004.pt", "0005.pt"]}, "no video '0003.pt' in it"),
    ],
)
def test_a_wrong_archive_is_refused_in_one_line(
    spoil: dict[str, Any] | Callable[[Path], None], message: str, tmp_path: Path
) -> None:
    if isinstance(spoil, dict):
        archive(tmp_path, **spoil)
    else:
        spoil(tmp_path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(RgwotError) as caught:
        import_features(tmp_path / "a.pt/0003.pt", tmp_path / "0003.zarr", FEATURES)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("fact_step_id", "id", "lacks fact_step_id; expected the table of the release"),
        ("0003.pt", "../0003.pt", "path '../0003.pt' leaves the folder"),
        (",1,1.0,2.0", ",1,nan,2.0", "start_sec nan, end_sec 2.0, fact_step_id 1; expected seconds and a whole number"),
        (",1,1.0,2.0", ",one,1.0,2.0", "fact_step_id one; expected"),
        (",1,1.0,2.0", ",1,1.0,9.0", "segment 1-9 s of a video of 1.25 s"),
    ],
)
def test_a_wrong_table_is_refused_in_one_line(old: str, new: str, message: str, tmp_path: Path) -> None:
    table = archive(tmp_path)
    table.write_text(table.read_text().replace(old, new))
    with pytest.raises(RgwotError) as caught:
        make_manifest(tmp_path, "packed", {"subset": "meccano"}, FORM["imported"], "meccano")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "m.csv").exists()


def test_times_that_alternate_have_the_rate_of_their_mean(tmp_path: Path) -> None:
    archive(tmp_path)
    source = tmp_path / "a.pt/0004.pt"
    import_features(source, tmp_path / "b.zarr", FEATURES)
    store = open_store(tmp_path / "b.zarr")
    assert np.allclose(store.time_s, [0, 0.2, 0.5, 0.7, 1.0])
    assert (store.attributes["fps"], store.duration_s) == (4.0, pytest.approx(1.25))
    assert np.array_equal(store.read()[..., 0, 0], np.arange(15, 30).reshape(5, 3))
    written = (tmp_path / "b.zarr/zarr.json").stat().st_mtime_ns
    import_features(source, tmp_path / "b.zarr", FEATURES)
    assert (tmp_path / "b.zarr/zarr.json").stat().st_mtime_ns == written


@pytest.mark.parametrize(
    ("rate", "native", "found"),
    [(4, 10, 4), (4, 60000 / 1001, 4), (8, 30, 8), (30000 / 1001, 30000 / 1001, 30)],
)
def test_the_rate_follows_from_times_if_none_is_stated(rate: float, native: float, found: int, tmp_path: Path) -> None:
    form = ImportSettings.model_validate({**ENTRIES["egtea_gaze_vjepa"]["imported"], "channels": 3})
    for count in (40, 51, 333):
        # The times are those of decoded frames, so their differences alternate.
        times = np.floor(np.arange(count) * native / rate + 1e-6) / native
        for breaks in (0, 7):
            times[count // 2 :] += breaks
            one = {"paths": ["0003.pt"], "tokens": torch.zeros(count, 3), "offsets": torch.tensor([0, count])}
            archive(tmp_path, **one, times=torch.from_numpy(times.astype(np.float32)))
            measured = measure_file(tmp_path / "a.pt/0003.pt", form)
            assert float(measured.fps) == found
            assert np.allclose(measured.time_s(count), times)


@pytest.mark.parametrize(
    ("rates", "message"),
    [
        (None, "no such file; expected the table `rates`, a CSV with the columns video, fps and frames"),
        ("video,fps,frames\nHead_6,25,100\n", "no row for video 'Head_5'"),
        ("video,fps,frames\nHead_5,fast,100\n", "expected fps and frames, or duration_s, as numbers"),
        ("video,fps,frames\nHead_5,25,999\n", "6 features of 16 frames, but"),
    ],
)
def test_rates_that_do_not_fit(rates: str | None, message: str, tmp_path: Path) -> None:
    torch.save(torch.zeros(6, 2), tmp_path / "Head_5.pt")
    if rates is not None:
        (tmp_path / "videos.csv").write_text(rates)
    settings = ImportSettings(axes="TC", window=16, rates=str(tmp_path / "videos.csv"))
    with pytest.raises(RgwotError) as caught:
        import_features(tmp_path / "Head_5.pt", tmp_path / "a.zarr", settings)
    assert message in str(caught.value)
    assert not (tmp_path / "a.zarr").exists()


def test_files_may_have_rates_of_their_own(tmp_path: Path) -> None:
    table = tmp_path / "rates.csv"
    settings = ImportSettings(axes="TC", fps="25", rates=str(table))
    table.write_text("video,fps\nslow,25\nfast,200\nodd,60\n")
    for name, rate in (("slow", 25), ("fast", 200), ("odd", 60)):
        np.save(tmp_path / f"{name}.npy", np.arange(4 * rate)[:, None] / rate)
    for name in ("slow", "fast"):
        import_features(tmp_path / f"{name}.npy", tmp_path / f"{name}.zarr", settings)
        store = open_store(tmp_path / f"{name}.zarr")
        # The value of each feature is its time.
        assert np.allclose(store.time_s, np.arange(100) / 25)
        assert np.allclose(store.read()[:, 0].ravel(), store.time_s, atol=2e-3)
        assert (store.attributes["fps"], store.duration_s) == (25.0, pytest.approx(4.0))
    with pytest.raises(RgwotError, match="says 60 per second; expected a multiple of 25"):
        import_features(tmp_path / "odd.npy", tmp_path / "odd.zarr", settings)
    # If the row of a file changes, its store is made again.
    table.write_text("video,fps\nfast,100\n")
    import_features(tmp_path / "fast.npy", tmp_path / "fast.zarr", settings)
    assert open_store(tmp_path / "fast.zarr").duration_s == pytest.approx(8.0)


def test_other_rates_make_the_store_again(tmp_path: Path) -> None:
    torch.save(torch.zeros(6, 2), tmp_path / "Head_5.pt")
    settings = ImportSettings(axes="TC", window=16, rates=str(tmp_path / "videos.csv"))
    for text, fps, length in (("fps,frames\nHead_5,25,100", 25, 4.0), ("fps,duration_s\nHead_5,50,2.1", 50, 2.1)):
        (tmp_path / "videos.csv").write_text(f"video,{text}\n")
        import_features(tmp_path / "Head_5.pt", tmp_path / "a.zarr", settings)
        store = open_store(tmp_path / "a.zarr")
        assert np.allclose(store.time_s, (16 * np.arange(6) + 8) / fps)
        assert (store.native_fps, store.duration_s) == (fps, pytest.approx(length))


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("mapping/mapping.txt", "1 step_1", "one step_1", "expected a whole number, a blank and a new name"),
        ("mapping/mapping.txt", "1 step_1", "1 other", "'step_1' is not a name in mapping.txt"),
        ("groundTruth/changing_tire_0001", "step_1", "step_1\nstep_1", "wrong rate, axes or file?"),
    ],
)
def test_lines_that_do_not_fit(file: str, old: str, new: str, message: str, tmp_path: Path) -> None:
    asot(tmp_path, "YTI", 4, True, "bg")
    path = tmp_path / "YTI" / file
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(RgwotError, match=r"YTI") as caught:
        make_manifest(tmp_path, "frame_labels", {}, {"axes": "TC", "fps": 30})
    assert message in str(caught.value)
    assert not (tmp_path / "m.csv").exists()


@pytest.mark.parametrize(("lines", "scored_s"), [(960, 96.0), (999, 99.9), (1000, 100.0), (1040, 100.0)])
def test_only_what_has_features_and_a_line_is_scored(lines: int, scored_s: float, tmp_path: Path) -> None:
    asot(tmp_path, "YTI", 4, False, "bg")
    np.save(tmp_path / "YTI/features/changing_tire/changing_tire_0001.npy", np.zeros((1000, 4), np.float32))
    (tmp_path / "YTI/groundTruth/changing_tire_0001").write_text("bg\n" * (lines - 100) + "step_1\n" * 100)
    make_manifest(tmp_path, "frame_labels", {}, {"axes": "TC", "fps": 10})
    manifest = pd.read_csv(tmp_path / "m.csv").set_index("video")
    annotated = read_annotations(tmp_path / "a.csv").set_index("video")
    assert manifest.loc["changing_tire_0001", "duration_s"] == scored_s
    assert annotated.loc["changing_tire_0001", "end_s"] == scored_s


def test_the_background_of_an_entry_is_a_name_of_the_set(tmp_path: Path) -> None:
    asot(tmp_path, "desktop_assembly", 4, False, "nothing")
    with pytest.raises(RgwotError, match=r"mapping.txt: no name 'SIL', which the dataset sets as `background`"):
        make_manifest(tmp_path, "frame_labels", {"background": ["SIL"]}, {"axes": "TC", "fps": 30})


def test_a_pattern_that_fits_no_video_is_refused(tmp_path: Path) -> None:
    asot(tmp_path, "YTI", 4, False, "bg")
    with pytest.raises(RgwotError, match=r"pattern 'tire' fits none of 3 videos; .* such as changing_tire_0001$"):
        find("mine", "frame_labels", tmp_path / "YTI", {"pattern": "tire"})


def test_two_downloads_in_one_folder_are_distinguished(tmp_path: Path) -> None:
    archive(tmp_path)
    shutil.copy(tmp_path / "a.pt", tmp_path / "b.pt")
    with pytest.raises(
        RgwotError, match=r"found a.pt, b.pt, a_segments.csv in .*put every download into a folder of its own"
    ):
        find("mine", "packed", tmp_path)
    for name in ("one", "two"):
        asot(tmp_path / name, "YTI", 4, False, "bg")
    with pytest.raises(
        RgwotError, match=r"found one/YTI/groundTruth and two/YTI/groundTruth .*set `root` to the folder of one"
    ):
        find("mine", "frame_labels", tmp_path)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"layout": "packed"}, "imported: Field required in the layout packed"),
        ({"layout": "egoprocel", "imported": {"axes": "TC", "window": 16}}, "native_fps: Field required with window"),
        ({"layout": "folder", "imported": {"axes": "TC", "fps": 2}}, "imported.folder: Field required"),
        (
            {"layout": "featurs", "imported": {"axes": "TC", "fps": 2}},
            "mine: layout 'featurs': not known; did you mean",
        ),
    ],
)
def test_entries_that_lack_something(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(RgwotError) as caught:
        load_config({"datasets": {"mine": {"root": "data", **entry}}})
    assert message in str(caught.value)
