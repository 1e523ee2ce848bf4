"""The labels that `rgwot.discover` takes: arrays, tables of segments and marks, and one table of all videos."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rgwot
from rgwot.in_memory import video_features
from rgwot.keysteps.interface import Given
from rgwot.labels import read_labels
from rgwot.runtime.errors import RgwotError

T = 8
NAMES = ["take 1", "take 2", "take 3"]
VIDEOS = video_features({name: np.ones((T, 3), np.float32) for name in NAMES}, None, 1)


def read(labels: Any, silence: str | None = None) -> Given:
    return read_labels(labels, NAMES, VIDEOS, silence)


def of_first(labels: Any, silence: str | None = None) -> list[int]:
    return read({"take 1": labels}, silence).labels["take%201"].tolist()


@pytest.mark.parametrize(
    "labels",
    [
        [1, 1, 2, 2, 0, 0, -1, -1],
        np.array([1, 1, 2, 2, 0, 0, np.nan, -1.0]),
        pd.Series([1, 1, 2, 2, 0, 0, None, -1]),
        pd.Series([1, 1, 2, 2, 0, 0, None, None], dtype="Int64"),
        ["pour", "pour", "stir", "stir", "background", "-", None, -1],
        ["pour", "pour", "stir", "stir", "bg", "0", np.nan, ""],
        np.array(["pour", "pour", "stir", "stir", "sil", "sil", "", "-1"]),
        pd.Categorical(["pour", "pour", "stir", "stir", "background", "background", None, None]),
        pd.Series(["pour", "pour", "stir", "stir", "-", "-", None, None], dtype="category"),
    ],
    ids=lambda labels: type(labels).__name__ + str(getattr(labels, "dtype", "")),
)
def test_labels_of_features_as_numbers_or_names(labels: Any) -> None:
    given = read({"take 1": labels})
    assert given.labels["take%201"].tolist() == [1, 1, 2, 2, 0, 0, -1, -1]
    assert given.names == ({1: "pour", 2: "stir"} if "pour" in str(list(labels)) else {})
    assert (given.K, dict(given.marks), dict(given.silence)) == (2, {}, {})


def test_names_of_features_are_those_of_tables() -> None:
    table = pd.DataFrame({"start_s": [0.0], "end_s": [4.0], "key_step": [2], "label": ["stir"]})
    given = read({"take 1": ["stir"] * 4 + ["pour"] * 4, "take 2": table})
    assert given.labels["take%201"].tolist() == [2] * 4 + [3] * 4
    assert given.names == {2: "stir", 3: "pour"}


@pytest.mark.parametrize("sink", ["csv", "elan", "boris"])
def test_annotation_files_are_read_like_tables(sink: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    steps = np.repeat([1, 2, 3], 10)
    features = rng.normal(size=(3, 8))[steps - 1]
    videos = {name: features + rng.normal(scale=0.2, size=(30, 8)) for name in ("a", "b b", "c")}
    table = pd.DataFrame({"start_s": [0, 5, 10.0], "end_s": [5, 10, 15.0], "label": ["pour", "stir", "serve"]})
    taught = rgwot.discover(videos, fps=2, method="whitened", labels={"b b": table})
    taught.export(sink, tmp_path / "out")
    path = next(file for file in sorted((tmp_path / "out").iterdir()) if file.suffix in (".csv", ".eaf", ".boris"))
    if sink == "elan":
        path = tmp_path / "out" / "b b.eaf"
    # A file given for a video labels only this video, with its own rows if the file has rows of many videos.
    again = taught.learn({"b b": path})
    assert again.segments.equals(taught.segments)
    assert again.names == taught.names
    assert taught.compare(path).agreement.kappa == 1 if sink != "elan" else True
    assert taught.score(videos, {"b b": str(path)}) == 1


def test_files_without_header_with_marks_numbers_and_silence(tmp_path: Path) -> None:
    def labels(text: str, name: str = "any.csv") -> Given:
        (tmp_path / name).write_text(text)
        return read({"take 1": tmp_path / name})

    given = labels("0,2,1 pour\n2,4,2 stir\n")
    assert (given.labels["take%201"].tolist(), given.names) == ([1, 1, 2, 2, *[-1] * 4], {1: "pour", 2: "stir"})
    given = labels("start_s,end_s,key_step\n0,2,3\n2,4,0\n4,6,1\n")
    assert (given.labels["take%201"].tolist(), given.names) == ([3, 3, 0, 0, 1, 1, -1, -1], {})
    given = labels("time_s,label\n1,pour\n5,stir\n6,-\n")
    assert given.labels["take%201"].tolist() == [-1, 1, -1, -1, -1, 2, 0, -1]
    assert given.marks["take%201"].sum() == 3
    given = labels("start_s,end_s,label,silence\n2,4,pour,throughout\n4,6,stir,throughout\n")
    assert given.labels["take%201"].tolist() == [0, 0, 1, 1, 2, 2, 0, 0]
    many = "video,start_s,end_s,label\ntake 1,0,2,pour\ntake 2,0,2,stir\n"
    assert labels(many).names == {1: "pour"}
    with pytest.raises(RgwotError, match=r"labels\['take 1'\]: .*any.csv: found no row of this video; did you mean"):
        labels(many.replace("take 1", "take 9"))


def test_single_labelled_features_are_marks() -> None:
    given = read({"take 1": [1, -1, 2, 2, -1, 0, -1, 3]})
    assert given.labels["take%201"].tolist() == [1, -1, 2, 2, -1, 0, -1, 3]
    assert np.flatnonzero(given.marks["take%201"]).tolist() == [0, 5, 7]


def test_marks_in_tables() -> None:
    marks = pd.DataFrame({"time_s": [1.2, 5.0], "label": ["pour", "background"]})
    given = read({"take 1": marks})
    assert given.labels["take%201"].tolist() == [-1, 1, -1, -1, -1, 0, -1, -1]
    assert np.flatnonzero(given.marks["take%201"]).tolist() == [1, 5]
    mixed = pd.DataFrame(
        {"start_s": [2.0, None, 7.0], "end_s": [4.0, None, None], "time_s": [None, 0.0, None], "label": ["a", "b", "c"]}
    )
    given = read({"take 1": mixed})
    assert given.labels["take%201"].tolist() == [1, -1, 2, 2, -1, -1, -1, 3]
    assert given.names == {1: "b", 2: "a", 3: "c"}


def test_one_table_of_all_videos() -> None:
    table = pd.DataFrame(
        {
            "video": ["take 1", "take 1", "take%202", "take 1"],
            "scope": ["task", "task", "task", "video"],
            "start_s": [0.0, 4.0, 2.0, 0.0], "end_s": [4.0, 8.0, 6.0, 8.0], "key_step": [2, 1, 1, 3],
        }
    )  # fmt: skip
    given = read(table)
    assert {name: labels.tolist() for name, labels in given.labels.items()} == {
        "take%201": [2, 2, 2, 2, 1, 1, 1, 1],
        "take%202": [-1, -1, 1, 1, 1, 1, -1, -1],
    }
    with pytest.raises(RgwotError, match="labels: found one table with the columns .*, expected the column video"):
        read(table.drop(columns="video"))
    with pytest.raises(RgwotError, match=r"labels\['take 9'\]: no video of this name"):
        read(table.assign(video="take 9"))


SEGMENTS = pd.DataFrame({"start_s": [1.0, 5.0], "end_s": [3.0, 6.0], "label": ["a", "b"]})


def test_silence_is_an_argument_or_a_column_which_wins(caplog: pytest.LogCaptureFixture) -> None:
    between, until = [-1, 1, 1, 0, 0, 2, -1, -1], [0, 1, 1, 0, 0, 2, -1, -1]
    assert of_first(SEGMENTS) == between
    assert of_first(SEGMENTS, "until") == until == of_first(SEGMENTS.assign(silence="until"), "throughout")
    # An empty column has no effect.
    assert of_first(SEGMENTS.assign(silence=["", None]), "only") == [0, 1, 1, 0, 0, 2, 0, 0]
    assert dict(read({"take 1": SEGMENTS}).silence) == {"take%201": "between"}
    assert of_first(SEGMENTS[:1]) == [0, 1, 1, 0, 0, 0, 0, 0]
    assert "silence: only one key step is annotated" in caplog.text


def test_found_segments_are_labels(caplog: pytest.LogCaptureFixture) -> None:
    x = np.repeat(np.eye(3, 8, dtype=np.float32), 10, axis=0)
    videos = {
        f"take {v}": x + 0.01 * np.random.default_rng(v).normal(size=x.shape).astype(np.float32) for v in range(3)
    }
    result = rgwot.discover(videos, fps=2, K=3)
    some = result.segments[result.segments["video"] != "take 2"]
    assert "beside labels" not in caplog.text
    again = rgwot.discover(videos, fps=2, labels=some, K=5)
    assert "K: found 5 beside labels, which give the number of key steps, so it is ignored" in caplog.text
    assert again.K == 3
    assert all((again.labels[name] == result.labels[name]).all() for name in ("take 0", "take 1"))
    assert set(again.diagnostics["labelled"]["silence"].values()) == {"between"}
    with pytest.raises(RgwotError, match="silence: found 'only' without labels"):
        rgwot.discover(videos, fps=2, K=3, silence="only")


def test_names_that_look_equal_are_reported() -> None:
    names = SEGMENTS.drop(columns=[c for c in ("key_step", "label") if c in SEGMENTS])
    given = read({"take 1": names.assign(label=["wash up", "pour"]), "take 2": names.assign(label=["wash_up", "Pour"])})
    assert given.doubts == (
        "labels: key steps 'Pour', 'pour' count as different; if they are one step, spell them alike",
        "labels: key steps 'wash up', 'wash_up' count as different; if they are one step, spell them alike",
    )


@pytest.mark.parametrize(
    ("labels", "silence", "message"),
    [
        ({"take 1": [True] * T}, None, r"labels\['take 1'\]: found shape \(8,\) of bool, expected 8 whole numbers"),
        ({"take 1": [1.5] * T}, None, r"found shape \(8,\) of float64"),
        ({"take 1": [np.inf] * T}, None, r"found shape \(8,\) of float64"),
        ({"take 1": ["a"] * (T - 1)}, None, r"found shape \(7,\)"),
        ({"take 1": ["a", (1, 2), *["a"] * (T - 2)]}, None, "label: found \\(1, 2\\), expected whole numbers"),
        ("take 1", None, "labels: found str, expected labels by the name of a video"),
        (3, None, "labels: found int, expected labels by the name of a video"),
        ({"take 1": SEGMENTS}, "sometimes", "silence: found 'sometimes', expected one of throughout, until, only"),
        ({"take 1": SEGMENTS.assign(silence="never")}, None, "silence: found 'never', expected one of"),
        ({"take 1": SEGMENTS.assign(silence=["only", "until"])}, None, "found only and until, expected one word"),
        ({"take 1": SEGMENTS.assign(end_s=[5.5, 6.0])}, None, "segments of key steps 1 and 2 overlap from 5 to 5.5 s"),
        ({"take 1": SEGMENTS.assign(end_s=[0.5, 6.0])}, None, "found a segment from 1 to 0.5 s, expected 0 <= start"),
        ({"take 1": SEGMENTS.assign(start_s=[-1, 5.0])}, None, "found a segment from -1 to 3 s, expected 0 <= start"),
        ({"take 1": SEGMENTS.assign(rater=["A", "B"])}, None, "found rows by 2 in the column 'rater', expected one"),
        ({"take 1": pd.concat([SEGMENTS, SEGMENTS], axis=1)}, None, "found two columns 'start_s', expected every"),
        ({"take 1": SEGMENTS.assign(time_s=[2.0, None])}, None, "a row with time_s 2.0 and start_s 1.0, expected"),
        ({"take 1": pd.DataFrame({"time_s": [9.0], "label": ["a"]})}, None, "found a mark at 9 s of a video of 8 s"),
        ({"take 1": pd.DataFrame({"time_s": [2.0, 2.0], "label": ["a", "b"]})}, None, "marks of key steps 1 and 2"),
        ({"take 1": pd.DataFrame({"time_s": ["x"], "label": ["a"]})}, None, "found the time 'x', expected seconds"),
        ({"take 1": pd.DataFrame({"time_s": [2.0], "label": ["-"]})}, None, "found marks of background alone"),
        ({"take 1": [-1, 0, -1, -1, -1, -1, -1, -1]}, None, "found marks of background alone"),
    ],
)  # fmt: skip
def test_labels_that_cannot_be_meant_are_refused_in_one_line(labels: Any, silence: str | None, message: str) -> None:
    with pytest.raises(RgwotError, match=message) as error:
        read(labels, silence)
    assert "\n" not in str(error.value)


def test_segments_that_overlap_by_rounding_are_taken(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        assert of_first(SEGMENTS.assign(start_s=[1.0, 2.9995])) == [-1, 1, 1, 2, 2, 2, -1, -1]
    assert "background, and time outside is unknown" in caplog.text
