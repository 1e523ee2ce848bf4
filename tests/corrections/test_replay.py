"""Corrections on results worked by hand, on another seed and another K, and on all that can be drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rgwot.corrections import apply_corrections, parse_edits, read_corrections, reference, write_corrections
from rgwot.runtime.errors import RgwotError

#: Two videos: key steps 1, 2, 1, 3, and 2, 3.
TABLE = [("a", 0, 4, 1), ("a", 4, 6, 2), ("a", 6, 7, 1), ("a", 7, 10, 3), ("b", 0, 3.25, 2), ("b", 3.25, 8.1, 3)]
ONE = [["a", 0, 4], ["a", 6, 7]]
TWO = [["a", 4, 6], ["b", 0, 3.25]]
THREE = [["a", 7, 10], ["b", 3.25, 8.1]]


def table(rows: list[tuple[str, float, float, int]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["video", "start_s", "end_s", "key_step"])
    return frame.assign(scope="task")[["video", "scope", "start_s", "end_s", "key_step"]].astype(
        {"start_s": float, "end_s": float}
    )


def replayed(*edits: dict[str, Any], rows: Any = TABLE, names: Any = None) -> tuple[list[Any], list[str], Any]:
    found = apply_corrections(table(rows), parse_edits(list(edits), numbers=True), names)
    return (
        found.segments.drop(columns="scope").to_numpy().tolist(),
        [row.reason if not row.holds else "" for row in found.report.itertuples()],
        found.names,
    )


def test_every_kind_of_edit_by_hand() -> None:
    rows, (why,), names = replayed({"edit": "merge", "step": ONE, "into": TWO}, names={1: "pour"})
    assert rows == [["a", 0, 7, 2], ["a", 7, 10, 3], ["b", 0, 3.25, 2], ["b", 3.25, 8.1, 3]]
    assert not why
    assert names == {2: "pour"}
    rows, (why,), names = replayed({"edit": "split", "step": THREE, "part": [["b", 3, 5]], "name": "rinse"})
    assert rows[-2:] == [["b", 3.25, 5, 4], ["b", 5, 8.1, 3]]
    assert rows[3] == ["a", 7, 10, 3]
    assert not why
    assert names == {4: "rinse"}
    assert replayed({"edit": "background", "step": ONE})[0][:3] == [["a", 0, 4, 0], ["a", 4, 6, 2], ["a", 6, 7, 0]]
    # A segment that is meant need not be hit exactly.
    assert replayed({"edit": "delete", "segment": ["a", 4.4, 6]})[0][1] == ["a", 4, 6, 0]
    assert replayed({"edit": "border", "segment": ["a", 4, 6], "end": 6.5})[0][1:3] == [
        ["a", 4, 6.5, 2],
        ["a", 6.5, 7, 1],
    ]
    assert replayed({"edit": "border", "segment": ["a", 4, 6], "end": 5})[0][1:3] == [["a", 4, 5, 2], ["a", 5, 7, 1]]
    assert replayed({"edit": "border", "segment": ["a", 4, 6], "start": 4.5})[0][:2] == [
        ["a", 0, 4.5, 1],
        ["a", 4.5, 6, 2],
    ]
    # At the ends of a video what is given up is background, and there is nothing beyond.
    assert replayed({"edit": "border", "segment": ["a", 7, 10], "end": 9})[0][3:5] == [["a", 7, 9, 3], ["a", 9, 10, 0]]
    assert replayed({"edit": "border", "segment": ["a", 7, 10], "end": 12}) == (replayed()[0], [""], {})
    assert replayed({"edit": "assign", "segment": ["a", 1, 2], "step": THREE})[0][:3] == [
        ["a", 0, 1, 1],
        ["a", 1, 2, 3],
        ["a", 2, 4, 1],
    ]
    rows, why, names = replayed(
        {"edit": "assign", "segment": ["a", 1, 2], "name": "x"}, {"edit": "assign", "segment": ["b", 1, 2], "name": "x"}
    )
    assert rows[1] == ["a", 1, 2, 4]
    assert ["b", 1, 2, 4] in rows
    assert names == {4: "x"}
    assert replayed({"edit": "assign", "segment": ["a", 5, 20]})[0][-3] == ["a", 5, 10, 0]


def test_equal_names_merge() -> None:
    rows, why, names = replayed(
        {"edit": "rename", "step": ONE, "name": "pour"}, {"edit": "rename", "step": THREE, "name": "pour"}
    )
    assert rows == [["a", 0, 4, 1], ["a", 4, 6, 2], ["a", 6, 10, 1], ["b", 0, 3.25, 2], ["b", 3.25, 8.1, 1]]
    assert why == ["", ""]
    assert names == {1: "pour"}
    assert replayed({"edit": "rename", "step": 2, "name": "pour"}, names={3: "pour"})[2] == {3: "pour"}


def test_on_another_seed_the_numbers_change_and_the_corrections_hold() -> None:
    shuffled = [
        ("a", 0, 4.3, 7),
        ("a", 4.3, 6, 5),
        ("a", 6, 6.8, 7),
        ("a", 6.8, 10, 2),
        ("b", 0, 3, 5),
        ("b", 3, 8.1, 2),
    ]
    rows, why, names = replayed(
        {"edit": "merge", "step": ONE, "into": TWO},
        {"edit": "rename", "step": THREE, "name": "drink"},
        {"edit": "border", "segment": ["a", 7, 10], "start": 7.5},
        rows=shuffled,
    )
    assert why == ["", "", ""]
    assert names == {2: "drink"}
    assert rows == [["a", 0, 7.5, 5], ["a", 7.5, 10, 2], ["b", 0, 3, 5], ["b", 3, 8.1, 2]]


def test_on_another_K_what_is_so_already_holds_and_the_rest_is_listed() -> None:
    # Key steps 2 and 3 are one here.
    fewer = [("a", 0, 4, 1), ("a", 4, 6, 2), ("a", 6, 7, 1), ("a", 7, 10, 2), ("b", 0, 8.1, 2)]
    rows, why, names = replayed(
        {"edit": "merge", "step": TWO, "into": THREE},
        {"edit": "rename", "step": TWO, "name": "stir"},
        {"edit": "rename", "step": ONE, "name": "pour"},
        {"edit": "delete", "segment": ["b", 0, 3.25]},
        rows=fewer,
    )
    assert rows == table(fewer).drop(columns="scope").to_numpy().tolist()
    assert [bool(one) for one in why] == [False, True, False, True]
    assert names == {1: "pour"}
    # And here the part that somebody split off is a key step of its own, whether it is most of it or not.
    for part, number in (([["b", 0, 3.25]], 5), ([["a", 4, 6]], 2)):
        more = [*TABLE[:4], ("b", 0, 3.25, 5), TABLE[5]]
        edit = {"edit": "split", "step": TWO, "part": part, "name": "rinse"}
        rows, why, names = replayed(edit, {"edit": "split", "step": ONE, "part": [["b", 1, 2]]}, rows=more)
        assert rows == table(more).drop(columns="scope").to_numpy().tolist()
        assert why == ["", "nothing of the part is in this key step"]
        assert names == {number: "rinse"}


def test_one_key_step_for_everything_is_not_renamed_by_what_was_said_of_a_part() -> None:
    one = [("a", 0, 10, 1), ("b", 0, 8.1, 1)]
    _, (why,), names = replayed({"edit": "rename", "step": ONE, "name": "x"}, rows=one)
    assert why
    assert names == {}


def test_a_new_key_step_takes_no_number_that_has_a_name() -> None:
    rows, _, names = replayed(
        {"edit": "assign", "segment": ["a", 0, 1], "name": "pour"},
        {"edit": "assign", "segment": ["b", 0, 2], "name": "stir"},
        rows=[("a", 0, 1, 0), ("b", 0, 2, 0)],
        names={1: "pour"},
    )
    assert rows == [["a", 0, 1, 1], ["b", 0, 2, 2]]
    assert names == {1: "pour", 2: "stir"}


def test_videos_that_are_not_there_are_said() -> None:
    _, why, _ = replayed(
        {"edit": "rename", "step": [["c", 0, 1]], "name": "x"}, {"edit": "delete", "segment": ["c", 0, 1]},
        {"edit": "assign", "segment": ["c", 0, 1]}, {"edit": "assign", "segment": ["a", 11, 12]},
    )  # fmt: skip
    assert why == [
        "none of its videos is in this result", "its video is not in this result", "its video is not in this result",
        "the video has ended by then",
    ]  # fmt: skip


def test_nothing_else_moves() -> None:
    exact = table([("a", 0, 1 / 3, 1), ("a", 1 / 3, 2 / 3, 2), ("a", 2 / 3, 1, 1)])
    others = exact.assign(scope="video", key_step=9)
    both = pd.concat([exact, others], ignore_index=True)
    pd.testing.assert_frame_equal(apply_corrections(both, []).segments, both)
    found = apply_corrections(both, parse_edits([{"edit": "background", "step": [["a", 0.333, 0.667]]}])).segments
    assert found["end_s"].tolist()[:3] == [1 / 3, 2 / 3, 1]
    assert found["key_step"].tolist() == [1, 0, 1, 9, 9, 9]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{edit: mrege, step: [[a, 0, 1]]}", r"edit 1: unknown edit 'mrege'; .*merge"),
        ("{edit: merge, step: [[a, 0, 1]]}", "merge: found step, expected into, step"),
        ("{edit: border, segment: [a, 0, 1]}", "border: found segment, expected segment, and end or start"),
        ("{edit: delete, segment: [a, 2, 1]}", "segment: found 2 to 1 s of 'a', expected an end after the start"),
        ("{edit: background, step: 3}", "step: found '3', expected a list of segments"),
        ("{edit: rename, step: [[a, 0, 1]], name: 12}", "name: found 12, expected a name; put it in quotes"),
    ],
)
def test_a_wrong_line_is_refused_with_its_place(tmp_path: Any, line: str, message: str) -> None:
    (tmp_path / "tea.yaml").write_text(f"- {line}\n")
    with pytest.raises(RgwotError, match=message):
        read_corrections(tmp_path / "tea.yaml")
    assert read_corrections(tmp_path / "none.yaml") == read_corrections(None) == []


#: Videos of whole milliseconds, cut into segments of a few key steps.
VIDEOS = st.lists(st.tuples(st.integers(1, 4000), st.integers(0, 4)), min_size=1, max_size=8)


@st.composite
def results(draw: st.DrawFn) -> pd.DataFrame:
    rows: list[tuple[str, float, float, int]] = []
    for video in ("a", "b")[: draw(st.integers(1, 2))]:
        start, before = 0, -1
        for length, step in draw(VIDEOS):
            if step != before:
                rows.append((video, start / 1000, (start + length) / 1000, step))
                start, before = start + length, step
    return table(rows)


@st.composite
def edits_of(draw: st.DrawFn, found: pd.DataFrame) -> list[dict[str, Any]]:
    """Draw edits that mean something in a result, and some that do not."""
    segments = found[found["key_step"] > 0].to_dict("records")
    made = []
    for _ in range(draw(st.integers(0, 6)) if segments else 0):
        at, other = draw(st.sampled_from(segments)), draw(st.sampled_from(segments))
        step, into = (list(map(list, reference(found, one["key_step"]))) for one in (at, other))
        segment = [at["video"], at["start_s"], at["end_s"]]
        time_s, name = draw(st.integers(0, 20000)) / 1000, draw(st.text("ab", min_size=1, max_size=2))
        made.append(
            draw(
                st.sampled_from(
                    [
                        {"edit": "merge", "step": step, "into": into},
                        {"edit": "rename", "step": step, "name": name},
                        {"edit": "split", "step": step, "part": [segment]},
                        {"edit": "background", "step": step},
                        {"edit": "delete", "segment": segment},
                        {"edit": "border", "segment": segment, "end": time_s},
                        {"edit": "border", "segment": segment, "start": time_s},
                        {"edit": "assign", "segment": [at["video"], time_s, time_s + 1], "name": name},
                        {"edit": "assign", "segment": segment, "step": into, "why": "é \" '\\ # : \u2028"},
                    ]  # fmt: skip
                )
            )
        )
    return made


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_whatever_is_corrected_every_video_stays_covered_and_a_file_loses_nothing(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    found = data.draw(results())
    edits = parse_edits(data.draw(edits_of(found)))
    file = tmp_path_factory.mktemp("file") / "tea.yaml"
    write_corrections(edits, file)
    assert len(file.read_text(encoding="utf-8").split("\n")) == len(edits) + 2
    assert read_corrections(file) == edits
    corrected = apply_corrections(found, edits)
    for video, own in corrected.segments.groupby("video"):
        assert own["start_s"].iloc[0] == 0
        assert own["start_s"].tolist()[1:] == own["end_s"].tolist()[:-1]
        assert own["end_s"].iloc[-1] == found[found["video"] == video]["end_s"].max()
        assert (np.diff(own["key_step"]) != 0).all()
    assert len(corrected.report) == len(edits)


@settings(max_examples=60, deadline=None)
@given(results(), st.permutations([1, 2, 3, 4]))
def test_numbers_do_not_matter(found: pd.DataFrame, numbers: list[int]) -> None:
    other = found.assign(key_step=[0 if step == 0 else numbers[step - 1] + 10 for step in found["key_step"]])
    for step in set(found["key_step"]) - {0}:
        edit = parse_edits([{"edit": "rename", "step": list(reference(found, step)), "name": "x"}])
        assert apply_corrections(other, edit).names == {numbers[step - 1] + 10: "x"}
