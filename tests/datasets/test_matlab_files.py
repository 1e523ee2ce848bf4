"""MATLAB files of ProceL, valid and damaged."""

from __future__ import annotations

import os
import struct
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.io

from rgwot.datasets.annotations import Annotation
from rgwot.datasets.arrays import read_mat
from rgwot.datasets.base import VideoEntry
from rgwot.datasets.procel import read_annotation, read_video_names
from rgwot.datasets.registry import facts
from rgwot.datasets.settings import Options
from rgwot.runtime.errors import RgwotError
from rgwot.timing import VideoInfo

FOLDER = Path(__file__).parents[1] / "fixtures/annotations/good/procel/ProceL_dataset/fold_boat"
DATA = FOLDER / "data.mat"
CLOCK = VideoInfo(10.0, Fraction(30))

STEPS = ["fold half", "press crease"]
TIMES = [
    [np.array([[1.5, 3.25]]), np.zeros((0, 0))],
    [np.array([[4.0, 5.0], [6.0, 7.0]]), np.array([[0.5, 2.0]])],
]
SUPERFRAMES = [np.array([[0.0, 5.0], [5.0, 10.0]])] * 2


def read(path: Path, part: int, clock: VideoInfo | None = CLOCK, task: str | None = None) -> Annotation:
    entry = VideoEntry(f"boat_{part}", f"boat_{part}", f"boat_{part}.mp4", path.name, part)
    return read_annotation(path.parent, entry, None if task is None else facts("procel", task), clock, Options())


def cell(items: list[Any]) -> np.ndarray:
    column = np.empty((len(items), 1), dtype=object)
    for row, item in enumerate(items):
        column[row, 0] = item
    return column


def write_list(path: Path) -> None:
    path.with_name("readme.txt").write_text("u\tboat_0\nu\tboat_1\n")


def write_data(path: Path) -> None:
    content = {
        "grammar": cell(STEPS),
        "key_steps_time": cell([cell(steps) for steps in TIMES]),
        "superframe_time": cell(SUPERFRAMES),
    }
    # Compress as MATLAB does: checksums of compressed variables reveal damage before SciPy reads sizes and types.
    scipy.io.savemat(path, content, do_compression=True)


def test_segments_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "data.mat"
    write_list(path)
    write_data(path)
    first, second = (read(path, part).segments for part in (0, 1))
    assert first.to_dict("records") == [{"start_s": 1.5, "end_s": 3.25, "step_id": 1, "name": "fold half"}]
    expected = pd.DataFrame(
        [(4.0, 5.0, 1, "fold half"), (6.0, 7.0, 1, "fold half"), (0.5, 2.0, 2, "press crease")],
        columns=["start_s", "end_s", "step_id", "name"],
    )
    pd.testing.assert_frame_equal(second, expected, check_dtype=False)


def test_a_damaged_file_ends_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "data.mat"
    write_list(path)
    write_data(path)
    whole = path.read_bytes()
    generator = np.random.default_rng(0)
    messages = []
    for attempt in range(8):
        data = bytearray(whole[: generator.integers(20, len(whole))] if attempt % 2 else whole)
        for position in generator.integers(20, len(data), 8):
            data[position] = generator.integers(256)
        path.write_bytes(data)
        os.utime(path, ns=(attempt, attempt))
        try:
            read(path, 0)
        except RgwotError as error:
            messages.append(str(error))
    assert len(messages) >= 4
    assert all(message.startswith(str(path)) and "\n" not in message for message in messages)


def test_a_file_that_states_more_than_it_can_hold_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "data.mat"
    scipy.io.savemat(path, {"grammar": np.ones((7, 9)), "other": np.ones(2)})
    # The shape is stored as its type, its number of bytes, and its two numbers.
    before, after = struct.pack("<4i", 5, 8, 7, 9), struct.pack("<4i", 5, 8, 2**30, 2**8)
    assert path.read_bytes().count(before) == 1
    path.write_bytes(path.read_bytes().replace(before, after))
    with pytest.raises(RgwotError, match=r"'grammar' has the shape \(1073741824, 256\); expected at most 134217728"):
        read_mat(path, ["grammar"])
    assert read_mat(path, ["other", "none"]).keys() == {"other"}


def test_an_untrimmed_video_is_refused() -> None:
    assert not read(DATA, 0, VideoInfo(14.9, Fraction(30))).segments.empty
    with pytest.raises(RgwotError, match=r"lasts 15\.5 s, its last superframe ends at 10 s; expected the trimmed"):
        read(DATA, 0, VideoInfo(15.5, Fraction(30)))


def test_registered_number_of_steps_must_fit() -> None:
    with pytest.raises(RgwotError, match="names 4 steps; expected 16"):
        read(DATA, 0, None, "assemble_clarinet")


@pytest.mark.parametrize(
    ("content", "clue"),
    [
        ("u\tboat_1\nu\tboat_1\n", "line 2: .*new video name"),
        ("u boat_1 0 1\n", "line 1: .*tabs"),
        ("u\t\t0\n", "line 1"),
    ],
)
def test_damaged_list(tmp_path: Path, content: str, clue: str) -> None:
    (tmp_path / "readme.txt").write_text(content)
    with pytest.raises(RgwotError, match=clue):
        read_video_names(tmp_path / "data.mat")
