"""Datasets of LeRobot in v3 (several episodes per MP4) and v2.1 (one episode per MP4), and export of subtasks."""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

import av
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from videos import number, picture, together, write_audio, write_video

from rgwot.datasets.annotation_files import read_annotation_file
from rgwot.datasets.finding import find
from rgwot.datasets.lerobot import import_episodes, read_parquet
from rgwot.reporting.export import ExportedVideo, LabelledSegment, export
from rgwot.runtime.errors import RgwotError
from rgwot.video import probe

FPS, CAMERA = 30, "observation.images.top"
#: Frames of the episodes; the first two share a file, the third is in another.
LENGTHS = (40, 35, 50)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the folder of a dataset in the layout of LeRobot."""
    pytest.importorskip("pyarrow")
    root = tmp_path / "dataset"
    chunk = "chunk-000/file-{:03d}"
    for name in (f"videos/{CAMERA}", "data", "meta/episodes"):
        (root / name / "chunk-000").mkdir(parents=True)
    features = {
        CAMERA: {"dtype": "video", "shape": [64, 96, 3], "names": None},
        "timestamp": {"dtype": "float32", "shape": [1], "names": None},
    }
    info = {
        "codebase_version": "v3.0", "fps": FPS, "features": features, "total_episodes": 3,
        "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
        "video_path": "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4",
    }  # fmt: skip
    (root / "meta/info.json").write_text(json.dumps(info))
    pd.DataFrame({"task_index": [0]}, index=pd.Index(["pick up: cup"], name="task")).to_parquet(
        root / "meta/tasks.parquet"
    )
    rows, frames, begin = [], {0: [], 1: []}, {0: 0, 1: 0}
    for episode, length in enumerate(LENGTHS):
        file = int(episode == 2)
        first, key = begin[file], f"videos/{CAMERA}"
        begin[file] += length
        rows.append(
            {
                "episode_index": episode, "tasks": ["pick up: cup"], "length": length,
                "dataset_from_index": sum(LENGTHS[:episode]), "dataset_to_index": sum(LENGTHS[: episode + 1]),
                "data/chunk_index": 0, "data/file_index": file, f"{key}/chunk_index": 0, f"{key}/file_index": file,
                f"{key}/from_timestamp": first / FPS, f"{key}/to_timestamp": (first + length) / FPS,
            }
        )  # fmt: skip
        frames[file].append(
            pd.DataFrame(
                {
                    "timestamp": (np.arange(length) / FPS).astype(np.float32), "frame_index": np.arange(length),
                    "episode_index": episode, "index": sum(LENGTHS[:episode]) + np.arange(length), "task_index": 0,
                }
            )
        )  # fmt: skip
    pd.DataFrame(rows).to_parquet(root / "meta/episodes" / f"{chunk.format(0)}.parquet")
    for file, parts in frames.items():
        pd.concat(parts).to_parquet(root / "data" / f"{chunk.format(file)}.parquet", index=False)
        write_video(root / f"videos/{CAMERA}" / f"{chunk.format(file)}.mp4", begin[file], FPS, gop=17)
    return root


def numbers(path: Path) -> list[int]:
    with av.open(str(path)) as video:
        assert video.streams.video[0].average_rate == FPS
        return [number(frame.to_ndarray(format="rgb24")) for frame in video.decode(video=0)]


def test_episodes_are_cut_at_their_frames(root: Path, tmp_path: Path) -> None:
    assert import_episodes(root, tmp_path / "out") == 3
    # Frames carry their number in the file.
    assert numbers(tmp_path / "out/pick_up_cup/episode_000000.mp4") == list(range(40))
    assert numbers(tmp_path / "out/pick_up_cup/episode_000001.mp4") == list(range(40, 75))
    assert numbers(tmp_path / "out/pick_up_cup/episode_000002.mp4") == list(range(50))
    found = find("robot", "folder", tmp_path / "out").of("pick_up_cup")
    assert [(one.name, one.annotation) for one in found] == [(f"episode_00000{at}", None) for at in range(3)]


def test_only_episodes_as_they_were_cut_are_replaced(root: Path, tmp_path: Path) -> None:
    for _ in range(2):
        import_episodes(root, tmp_path / "out")
    coded = tmp_path / "out/pick_up_cup/episode_000000.txt"
    coded.write_text("mine")
    with pytest.raises(RgwotError, match=r"out: found pick_up_cup/episode_000000\.txt, which rgwot did not write"):
        import_episodes(root, tmp_path / "out")
    assert coded.read_text() == "mine"


def results(out: Path) -> list[ExportedVideo]:
    """Return a result with two key steps in the first episode (each after background), and one in the second."""
    segments = (
        (LabelledSegment(4 / FPS, 10 / FPS, 1, "reach"), LabelledSegment(12 / FPS, 40 / FPS, 2, "grasp")),
        (LabelledSegment(0, 35 / FPS, 2, "grasp"),),
    )
    return [
        ExportedVideo(
            f"episode_00000{at}", out / f"pick_up_cup/episode_00000{at}.mp4", LENGTHS[at] / FPS, FPS, (96, 64), own
        )
        for at, own in enumerate(segments)
    ]


def copied_over(root: Path, made: Path) -> None:
    for path in made.rglob("*"):
        if path.is_file():
            (root / path.relative_to(made)).write_bytes(path.read_bytes())


READ_BACK = [["episode_000000", 4 / FPS, 10 / FPS, "reach"], ["episode_000000", 12 / FPS, 40 / FPS, "grasp"]]


def subtasks_read(folder: Path) -> None:
    table = read_annotation_file(folder / "pick_up_cup/episode_000000.csv")
    assert table[["video", "label"]].values.tolist() == [[row[0], row[3]] for row in READ_BACK]
    assert np.allclose(table[["start_s", "end_s"]], [row[1:3] for row in READ_BACK], atol=1e-6)
    assert not (folder / "pick_up_cup/episode_000002.csv").exists()
    found = find("robot", "folder", folder).of("pick_up_cup")
    assert [one.annotation is None for one in found] == [False, False, True]


def test_subtasks_go_out_and_come_back(root: Path, tmp_path: Path) -> None:
    import_episodes(root, tmp_path / "out")
    said = export("lerobot", results(tmp_path / "out"), tmp_path / "made")
    assert "wrote data/chunk-000/file-000.parquet, data/chunk-000/file-001.parquet, meta/episodes" in said
    copied_over(root, tmp_path / "made")
    import_episodes(root, tmp_path / "again")
    subtasks_read(tmp_path / "again")


def test_subtasks_of_older_datasets_are_read(root: Path, tmp_path: Path) -> None:
    names = pd.DataFrame({"subtask_index": range(3)}, index=pd.Index(["background", "reach", "grasp"], name="subtask"))
    names.to_parquet(root / "meta/subtasks.parquet")
    for file in (0, 1):
        path = root / f"data/chunk-000/file-00{file}.parquet"
        table = pd.read_parquet(path)
        index = [0] * 4 + [1] * 6 + [0] * 2 + [2] * 28 + [2] * 35 if file == 0 else [0] * 50
        table.assign(subtask_index=index).to_parquet(path, index=False)
    info = json.loads((root / "meta/info.json").read_text())
    info["features"]["subtask_index"] = {"dtype": "int64", "shape": [1], "names": None}
    (root / "meta/info.json").write_text(json.dumps(info))
    import_episodes(root, tmp_path / "out")
    subtasks_read(tmp_path / "out")


SARM = {
    "sparse_subtask_names": ["reach", "grasp"],
    "sparse_subtask_start_times": [4 / FPS, 12 / FPS],
    "sparse_subtask_end_times": [10 / FPS, 40 / FPS],
    "sparse_subtask_start_frames": [4, 12],
    "sparse_subtask_end_frames": [10, 40],
}


def test_episodes_have_the_columns_of_sarm(root: Path, tmp_path: Path) -> None:
    import_episodes(root, tmp_path / "out")
    # An earlier export is removed: the second run replaces the first.
    for _ in range(2):
        export("lerobot", results(tmp_path / "out"), tmp_path / "made")
        copied_over(root, tmp_path / "made")
    before = pd.read_parquet(root / "meta/episodes")
    for name, values in SARM.items():
        assert before[name][0].tolist() == pytest.approx(values) if "names" not in name else values
        assert before[name][2] is None
    assert before["sparse_subtask_names"][1].tolist() == ["grasp"]
    assert before["sparse_subtask_end_frames"][1].tolist() == [35]
    shares = json.loads((root / "meta/temporal_proportions_sparse.json").read_text())
    # reach has 6 of 34 frames of the first episode; grasp has the other 28, and all 35 of the second.
    reach, grasp = 6 / 34, (28 / 34 + 1) / 2
    assert shares == pytest.approx({"reach": reach / (reach + grasp), "grasp": grasp / (reach + grasp)})


def test_a_file_that_is_not_where_the_template_says_is_found(root: Path, tmp_path: Path) -> None:
    (root / "videos").rename(root / "video")
    assert import_episodes(root, tmp_path / "out") == 3
    assert numbers(tmp_path / "out/pick_up_cup/episode_000001.mp4") == list(range(40, 75))
    # Two files with this name are ambiguous.
    copytree(root / "video", root / "more")
    with pytest.raises(RgwotError, match="no such file, and 2 files observation.images.top/chunk-000/file-000.mp4"):
        import_episodes(root, tmp_path / "twice")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Return the folder of a dataset of version 2.1, with a file per episode and two episodes per chunk."""
    pytest.importorskip("pyarrow")
    root = tmp_path / "old"
    features = {CAMERA: {"dtype": "video", "shape": [64, 96, 3], "names": None}}
    info = {
        "codebase_version": "v2.1", "fps": FPS, "features": features, "total_episodes": 3, "chunks_size": 2,
        "data_path": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
        "video_path": "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4",
    }  # fmt: skip
    lines = []
    for episode, length in enumerate(LENGTHS):
        chunk, name = f"chunk-00{episode // 2}", f"episode_{episode:06d}"
        (root / "data" / chunk).mkdir(parents=True, exist_ok=True)
        (root / "videos" / chunk / CAMERA).mkdir(parents=True, exist_ok=True)
        frames = pd.DataFrame({"timestamp": (np.arange(length) / FPS).astype(np.float32)})
        frames = frames.assign(frame_index=np.arange(length), episode_index=episode)
        frames.to_parquet(root / "data" / chunk / f"{name}.parquet", index=False)
        write_video(root / "videos" / chunk / CAMERA / f"{name}.mp4", length, FPS)
        lines.append(json.dumps({"episode_index": episode, "tasks": ["pick up: cup"], "length": length}))
    (root / "meta").mkdir()
    (root / "meta/info.json").write_text(json.dumps(info))
    (root / "meta/episodes.jsonl").write_text("\n".join([*lines, ""]))
    return root


def test_version_2_has_a_file_per_episode(old: Path, tmp_path: Path) -> None:
    assert import_episodes(old, tmp_path / "out") == 3
    video = old / f"videos/chunk-001/{CAMERA}/episode_000002.mp4"
    copy = tmp_path / "out/pick_up_cup/episode_000002.mp4"
    # Browsers can play the file, so it is copied without encoding it again.
    assert copy.read_bytes() == video.read_bytes()
    said = export("lerobot", results(tmp_path / "out"), tmp_path / "made")
    assert "data/chunk-000/episode_000000.parquet" in said
    copied_over(old, tmp_path / "made")
    import_episodes(old, tmp_path / "again")
    subtasks_read(tmp_path / "again")
    first, _, last = (json.loads(line) for line in (old / "meta/episodes.jsonl").read_text().splitlines())
    assert {name: first[name] for name in SARM} == {
        name: values if "times" not in name else pytest.approx(values) for name, values in SARM.items()
    }
    assert last == {"episode_index": 2, "tasks": ["pick up: cup"], "length": 50}


def test_episodes_without_a_file_are_refused_or_left_out(
    old: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (old / f"videos/chunk-000/{CAMERA}/episode_000001.mp4").unlink()
    with pytest.raises(RgwotError, match="episode_000001.mp4: no such file; expected episode 1; download the file"):
        import_episodes(old, tmp_path / "out")
    assert import_episodes(old, tmp_path / "out", on_bad_video="skip") == 2
    assert "1 of 3 episodes are left out" in caplog.text
    for video in old.rglob("*.mp4"):
        video.unlink()
    with pytest.raises(RgwotError, match="found no file of any episode"):
        import_episodes(old, tmp_path / "none", on_bad_video="skip")


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("form", ["old", "root"])
def test_of_several_picture_tracks_the_one_that_is_read_everywhere_is_cut(
    form: str, first: bool, request: pytest.FixtureRequest, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    dataset: Path = request.getfixturevalue(form)
    videos = sorted(dataset.rglob("*.mp4"))
    still = write_video(tmp_path / "still.mp4", 1, FPS, (320, 200))
    for video in videos:
        film = video.rename(tmp_path / "film.mp4")
        together(video, *([still, film] if first else [film, still]))
    assert import_episodes(dataset, tmp_path / "out") == 3
    starts = [0, 0, 0] if form == "old" else [0, LENGTHS[0], 0]
    for episode, (start, length) in enumerate(zip(starts, LENGTHS, strict=True)):
        path = tmp_path / f"out/pick_up_cup/episode_00000{episode}.mp4"
        assert numbers(path) == list(range(start, start + length))
        # The copy has no other track that a browser could show.
        assert probe(path).remark == ""
    warned = [line for line in caplog.messages if f"2 picture tracks; track {int(first)} (96x64) is read" in line]
    assert [line.split(": ")[0] for line in warned] == [str(video) for video in videos]


def test_of_two_cameras_in_a_file_the_one_that_is_read_everywhere_is_cut(old: Path, tmp_path: Path) -> None:
    for swapped, video in enumerate(sorted(old.rglob("*.mp4"))[:2]):
        length = LENGTHS[swapped]
        other = write_video(
            tmp_path / "b.mp4", length, FPS, (192, 128), drawn=lambda frame: picture(60 + frame, 192, 128)
        )
        film = video.rename(tmp_path / "film.mp4")
        together(video, *([other, film] if swapped else [film, other]))
        base = 60 if probe(video).width == 192 else 0
        import_episodes(old, tmp_path / "out")
        made = tmp_path / f"out/pick_up_cup/episode_00000{swapped}.mp4"
        assert numbers(made) == list(range(base, base + length))


def test_an_episode_of_sound_alone_is_refused(old: Path, tmp_path: Path) -> None:
    write_audio(tmp_path / "s.m4a").rename(old / f"videos/chunk-000/{CAMERA}/episode_000001.mp4")
    with pytest.raises(RgwotError, match="episode_000001.mp4: cannot be read .found no pictures"):
        import_episodes(old, tmp_path / "out")


def test_a_copy_with_other_frames_is_refused(old: Path, tmp_path: Path) -> None:
    write_video(old / f"videos/chunk-000/{CAMERA}/episode_000001.mp4", 30, FPS)
    with pytest.raises(RgwotError, match="episode 1 has 30 frames from 0.000 to 1.167 s; expected 35"):
        import_episodes(old, tmp_path / "out")
    for lines, clue in (
        ("{}\n", "no column episode_index; expected the episodes"),
        ("[]\n1\n", "cannot be read .*; expected an episode per line"),
        (
            '{"episode_index": 0, "tasks": ["a"], "length": "many"}',
            "length is 'many'; expected a whole number, 1 or above",
        ),
        (
            '{"episode_index": 0, "tasks": ["a"], "length": 40}\n' * 2,
            "found episode 0 twice; expected every episode once",
        ),
    ):
        (old / "meta/episodes.jsonl").write_text(lines)
        with pytest.raises(RgwotError, match=rf"episodes.jsonl: {clue}"):
            import_episodes(old, tmp_path / "out")


def test_a_video_of_another_rate_is_refused(old: Path, tmp_path: Path) -> None:
    # The file has as many frames as the episode, but 15 per second, so subtasks would belong to other frames.
    write_video(old / f"videos/chunk-000/{CAMERA}/episode_000001.mp4", 35, 15)
    with pytest.raises(RgwotError, match="episode 1 has 18 frames from 0.000 to 1.167 s; expected 35"):
        import_episodes(old, tmp_path / "out")


def test_tasks_that_no_folder_can_be_called_stay_apart(old: Path, tmp_path: Path) -> None:
    # U+2028, which some programs take for the end of a line, may occur in JSON.
    rows = [{"episode_index": at, "tasks": [text], "length": LENGTHS[at]} for at, text in enumerate("茶杯\u2028")]
    (old / "meta/episodes.jsonl").write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), "utf-8")
    import_episodes(old, tmp_path / "out")
    assert sorted(path.parent.name for path in (tmp_path / "out").rglob("*.mp4")) == ["task", "task_2", "task_3"]


def test_the_present_form(root: Path, tmp_path: Path) -> None:
    from pyarrow import parquet

    import_episodes(root, tmp_path / "out")
    export("lerobot", results(tmp_path / "out"), tmp_path / "made")
    path = "data/chunk-000/file-000.parquet"
    before, after = parquet.read_table(root / path), parquet.read_table(tmp_path / "made" / path)
    assert after.drop_columns(["language_persistent"]).equals(before.replace_schema_metadata(None))
    frames = after.to_pylist()
    first = frames[0]["language_persistent"]
    # Every frame has all rows of its episode, including those of background; a row has the time of its first frame.
    starts = ((0, "background"), (4, "reach"), (10, "background"), (12, "grasp"))
    assert [(row["timestamp"], row["content"]) for row in first] == [
        (frames[at]["timestamp"], name) for at, name in starts
    ]
    empty = {"role": "assistant", "style": "subtask", "camera": None, "tool_calls": None}
    assert all({key: row[key] for key in empty} == empty for row in first)
    assert all(frame["language_persistent"] == first for frame in frames[:40])
    assert [len(frame["language_persistent"]) for frame in frames[40:]] == [1] * 35
    info = json.loads((tmp_path / "made/meta/info.json").read_text())
    assert info["features"]["language_persistent"] == {"dtype": "language", "shape": [1], "names": None}
    assert info["features"][CAMERA]["dtype"] == "video"
    # Annotations in another style are kept; subtasks are replaced.
    copied_over(root, tmp_path / "made")
    table = parquet.read_table(root / path).to_pandas()
    plan = {**first[0], "style": "plan", "content": "tidy up", "timestamp": 0.0}
    table["language_persistent"] = [[plan, *first]] * 40 + [[]] * 35
    table.to_parquet(root / path, index=False)
    export("lerobot", results(tmp_path / "out"), tmp_path / "more")
    rows = parquet.read_table(tmp_path / "more" / path).to_pylist()[0]["language_persistent"]
    assert [row["content"] for row in rows] == ["tidy up", "background", "reach", "background", "grasp"]


def test_frames_and_videos_are_in_files_of_their_own_numbers(root: Path, tmp_path: Path) -> None:
    # Put all frames into one table; the same number may mean different subtasks in the two video files.
    import_episodes(root, tmp_path / "out")
    export("lerobot", results(tmp_path / "out"), tmp_path / "made")
    copied_over(root, tmp_path / "made")
    first, second = sorted((root / "data").rglob("*.parquet"))
    pd.concat([pd.read_parquet(one) for one in (first, second)]).to_parquet(first, index=False)
    second.unlink()
    table = root / "meta/episodes/chunk-000/file-000.parquet"
    pd.read_parquet(table).assign(**{"data/file_index": 0}).to_parquet(table)
    import_episodes(root, tmp_path / "again")
    assert numbers(tmp_path / "again/pick_up_cup/episode_000002.mp4") == list(range(50))
    subtasks_read(tmp_path / "again")


def test_what_cannot_be_meant_ends_in_one_line(root: Path, tmp_path: Path) -> None:
    def refused(clue: str, **told: Any) -> None:
        with pytest.raises(RgwotError, match=clue) as caught:
            import_episodes(root, tmp_path / "out", **told)
        assert "\n" not in str(caught.value)
        assert not (tmp_path / "out").exists()

    refused("camera 'side', expected one of the dataset's .*; known: observation.images.top", camera="side")
    path = root / "meta/info.json"
    info = json.loads(path.read_text())
    for change, clue in (
        (
            {"features": {"observation.image": {"dtype": "image"}, "action": {"dtype": "float32"}}},
            r"found pictures \(observation.image\), and no video; expected",
        ),
        ({"codebase_version": "v1.6"}, "version v1.6; expected v2.1 or v3.0"),
        ({"video_path": "../{video_key}.mp4"}, "video_path: found .*, expected a path inside the dataset"),
    ):
        path.write_text(json.dumps(info | change))
        refused(clue)
    path.write_text("{")
    refused("info.json: cannot be read .*; expected a dataset of LeRobot")
    path.write_text(json.dumps(info))
    write_video(root / f"videos/{CAMERA}/chunk-000/file-000.mp4", 60, FPS)
    refused("file-000.mp4: has 60 frames; expected the 75 of its episodes")
    (root / "meta/episodes/chunk-000/file-000.parquet").write_bytes(b"no table")
    refused("file-000.parquet: cannot be read .*; expected parquet of LeRobot")
    with pytest.raises(RgwotError, match=r"lerobot.json: no such file; .*--root"):
        export("lerobot", results(tmp_path / "elsewhere"), tmp_path / "made")


def test_without_pyarrow_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "a.parquet").write_bytes(b"")
    with pytest.raises(RgwotError, match=r"needs pyarrow, which is not installed; pip install 'rgwot\[lerobot\]'"):
        read_parquet(tmp_path / "a.parquet")


def test_a_damaged_video_ends_in_one_line(root: Path, old: Path, tmp_path: Path) -> None:
    for dataset in (root, old):
        video = next(iter(sorted((dataset / "videos").rglob("*.mp4"))))
        video.write_bytes(video.read_bytes()[:100])
        with pytest.raises(RgwotError, match=r"\.mp4: cannot be read .*; expected the video of episode 0") as caught:
            import_episodes(dataset, tmp_path / "out")
        assert "\n" not in str(caught.value)


#: Three episodes in one file, and the numbers of their subtasks.
NUMBERS = ([0] * 3 + [1] * 5, [1] * 6, [-1] * 2 + [0] * 4 + [1])
NAMES = ["reach", "grasp"]
FIRST = [0, 8, 14]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("pyarrow")
    root, key = tmp_path_factory.mktemp("small") / "dataset", f"videos/{CAMERA}"
    for name in ("data/chunk-000", "meta/episodes/chunk-000", f"{key}/chunk-000"):
        (root / name).mkdir(parents=True)
    info = {
        "codebase_version": "v3.0", "fps": FPS,
        "features": {CAMERA: {"dtype": "video"}, "subtask_index": {"dtype": "int64"}},
        "data_path": "data/chunk-000/file-000.parquet", "video_path": f"{key}/chunk-000/file-000.mp4",
    }  # fmt: skip
    (root / "meta/info.json").write_text(json.dumps(info))
    lengths = [len(own) for own in NUMBERS]
    place = {name: 0 for part in ("data", key) for name in (f"{part}/chunk_index", f"{part}/file_index")}
    rows = [
        {"episode_index": at, "tasks": ["pick"], "length": length, f"{key}/from_timestamp": FIRST[at] / FPS, **place}
        for at, length in enumerate(lengths)
    ]
    pd.DataFrame(rows).to_parquet(root / TABLES["episodes"])
    frames = pd.DataFrame({"episode_index": np.repeat(range(3), lengths), "subtask_index": np.concatenate(NUMBERS)})
    frames["frame_index"] = frames.groupby("episode_index").cumcount()
    frames["timestamp"] = (frames["frame_index"] / FPS).astype(np.float32)
    frames.to_parquet(root / TABLES["frames"])
    names = pd.DataFrame({"subtask_index": range(2)}, index=pd.Index(NAMES, name="subtask"))
    names.to_parquet(root / TABLES["names"])
    write_video(root / key / "chunk-000/file-000.mp4", sum(lengths), FPS)
    return root


TABLES = {
    "episodes": "meta/episodes/chunk-000/file-000.parquet",
    "frames": "data/chunk-000/file-000.parquet",
    "names": "meta/subtasks.parquet",
}
SHIFTED = {"episodes": [f"videos/{CAMERA}/from_timestamp", "length"], "frames": ["timestamp", "frame_index"]}


def damaged(table: pd.DataFrame, name: str, data: st.DataObject) -> pd.DataFrame:
    """Shift, drop, repeat or exchange rows of a table."""
    kind = data.draw(st.sampled_from(["shift", "drop", "repeat", "exchange"]))
    first, other = (data.draw(st.integers(0, len(table) - 1)) for _ in range(2))
    order = list(range(len(table)))
    if kind == "drop":
        order.remove(first)
    elif kind == "repeat":
        order.insert(other, first)
    elif kind == "exchange":
        order[first], order[other] = order[other], order[first]
    elif name in SHIFTED:
        column = data.draw(st.sampled_from(SHIFTED[name]))
        by = data.draw(st.sampled_from([-1.0, -1 / FPS, -0.3 / FPS, 0.3 / FPS, 1 / FPS, 1.0, 5.0, 1.7e9]))
        # Shift only this row, or this row and all later rows.
        rows = slice(first, first + 1 if data.draw(st.booleans()) else None)
        values = table[column].astype(float).to_numpy().copy()
        values[rows] += by
        return table.assign(**{column: values})
    return table.iloc[order]


@given(data=st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_dataset_is_refused_or_right(small: Path, tmp_path: Path, data: st.DataObject) -> None:
    root, out = tmp_path / "dataset", tmp_path / "out"
    for folder in (root, out):
        rmtree(folder, ignore_errors=True)
    copytree(small, root)
    name = data.draw(st.sampled_from(sorted(TABLES)))
    damaged(pd.read_parquet(root / TABLES[name]), name, data).to_parquet(root / TABLES[name])
    try:
        import_episodes(root, out)
    except RgwotError as error:
        told = str(error)
    else:
        for at, own in enumerate(NUMBERS):
            if not (video := out / f"pick/episode_00000{at}.mp4").exists():
                continue
            assert numbers(video) == list(range(FIRST[at], FIRST[at] + len(own)))
            borders = [0, *(np.flatnonzero(np.diff(own)) + 1), len(own)]
            spans = [(start / FPS, end / FPS, NAMES[own[start]]) for start, end in pairwise(borders) if own[start] >= 0]
            table = read_annotation_file(video.with_suffix(".csv"))
            assert table["label"].tolist() == [label for *_, label in spans]
            assert np.allclose(table[["start_s", "end_s"]], [span[:2] for span in spans], atol=1e-6)
        return
    assert "\n" not in told
    assert "expected" in told


START = f"videos/{CAMERA}/from_timestamp"


@pytest.mark.parametrize(
    ("name", "column", "row", "value", "clue"),
    [
        ("episodes", START, 1, 0.0, "episode 1 starts at 0.000 s of .*; expected 0.267, after 8 frames"),
        ("episodes", START, 2, 14 / FPS + 1, "episode 2 starts at 1.467 s of .*; expected 0.467"),
        ("episodes", "episode_index", 2, 1, "found episode 1 twice; expected every episode once"),
        ("episodes", "length", 2, 5, "has 21 frames; expected the 19 of its episodes"),
        ("frames", "subtask_index", 3, 5, "subtask_index 5; expected -1 .none. to 1, the last row of meta/subtasks"),
        ("frames", "episode_index", 13, 2, "episode 1 has 5 rows; expected frame_index 0 to 5 in order"),
        ("frames", "timestamp", 9, 1.7e9, r"episode 1: timestamp 1700000000.0 of frame 1; expected 0.0333333"),
    ],
)
def test_what_was_silently_wrong(
    small: Path, tmp_path: Path, name: str, column: str, row: int, value: Any, clue: str
) -> None:
    root = Path(copytree(small, tmp_path / "dataset"))
    table = pd.read_parquet(root / TABLES[name]).astype({column: type(value)})
    table.iloc[row, table.columns.get_loc(column)] = value
    table.to_parquet(root / TABLES[name])
    with pytest.raises(RgwotError, match=clue) as caught:
        import_episodes(root, tmp_path / "out")
    assert "\n" not in str(caught.value)


def test_key_steps_are_not_written_beside_other_frames(root: Path, tmp_path: Path) -> None:
    import_episodes(root, tmp_path / "out")
    path = root / "data/chunk-000/file-000.parquet"
    table = pd.read_parquet(path)
    table.assign(timestamp=table["timestamp"].astype(float) + 1.7e9).to_parquet(path)
    with pytest.raises(RgwotError, match="episode 0: timestamp .* of frame 0; expected 0, seconds"):
        export("lerobot", results(tmp_path / "out"), tmp_path / "made")
    table.drop(index=5).to_parquet(path)
    with pytest.raises(RgwotError, match="episode 0 has 39 rows; expected frame_index 0 to 39 in order"):
        export("lerobot", results(tmp_path / "out"), tmp_path / "made")
