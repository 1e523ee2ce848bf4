"""Rules for annotations that the fixtures do not cover: hostile text, several complaints, names and renumbering."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rgwot.datasets.annotations import Annotation, read_step_first, read_three_columns
from rgwot.datasets.manifest import segment_table
from rgwot.runtime.errors import RgwotError
from rgwot.timing import VideoInfo

CLOCK = VideoInfo(10.0, Fraction(30))


def write(folder: Path, content: str | bytes) -> Path:
    path = folder / "video.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.one_of(st.binary(max_size=60), st.text("0123456789.,;:\"'\t\r\n abe-", max_size=60).map(str.encode)))
def test_any_bytes_load_or_end_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = write(tmp_path, content)
    for read in (read_three_columns, read_step_first):
        message, segments = "", None
        try:
            segments = read(path, (1, 2, 3), CLOCK).segments
        except RgwotError as error:
            message = str(error)
        if segments is None:
            assert message.startswith(str(path))
            assert "\n" not in message
        else:
            assert segments["step_id"].isin([1, 2, 3]).all()
            assert (segments["start_s"] <= segments["end_s"]).all()
            assert segments["end_s"].between(0, CLOCK.duration_s).all()


def test_one_warning_per_kind_names_every_line(tmp_path: Path) -> None:
    path = write(tmp_path, "1,2,1\n3,4,2\n5,6,3\n6,10.5,3 end\n")
    warnings = read_three_columns(path, None, CLOCK).warnings
    assert len(warnings) == 2
    assert f"{path}: line 1, line 2, line 3: " in warnings[0]
    assert "line 4: ends after the video" in warnings[1]


@pytest.mark.parametrize(("beyond_s", "n_warnings"), [(0.0003, 0), (0.03, 0), (0.034, 1), (0.9, 1)])
def test_rounding_past_the_end_warns_from_a_frame_on(tmp_path: Path, beyond_s: float, n_warnings: int) -> None:
    annotation = read_three_columns(write(tmp_path, f"1,2,1 begin\n6,{10 + beyond_s},2 end\n"), None, CLOCK)
    assert len(annotation.warnings) == n_warnings
    assert annotation.segments["end_s"].max() == CLOCK.duration_s


def test_overlap_is_counted_and_measured(tmp_path: Path) -> None:
    annotation = read_step_first(write(tmp_path, "1,0,4\n2,3,5\n3,3.5,3.75\n"), None)
    assert (annotation.overlaps, annotation.overlap_s) == (2, 1.25)
    assert annotation.warnings == ()
    touching = read_step_first(write(tmp_path, "1,0,4\n2,4,5\n"), None)
    assert (touching.overlaps, touching.overlap_s) == (0, 0.0)


def test_line_number_counts_blank_lines_and_quoted_line_ends(tmp_path: Path) -> None:
    path = write(tmp_path, '\n1,2,"1 a\nb"\n\n4,3,1 c\n')
    with pytest.raises(RgwotError, match="line 5: end 3 before start 4"):
        read_three_columns(path, None)


@pytest.mark.parametrize(
    ("content", "clue"),
    [
        ('1,2,"1 a\n', "line 1: .*check the quotes"),
        ("1_0,20,1 a", "line 1: '1_0' as a time"),
        ("1,2,\u0661 a", "line 1: label"),
        ("1e999,2,1 a", "line 1: '1e999' as a time"),
        ("1,2," + "9" * 5000 + " a", "line 1: label"),
        ("1,2,-0 a", "step id 0"),
        (b"\x00\x01\x02", "NUL bytes"),
        (b"1\xe9,2,1 a", "line 1: .* as a time"),
    ],
)
def test_refused(tmp_path: Path, content: str | bytes, clue: str) -> None:
    with pytest.raises(RgwotError, match=clue):
        read_three_columns(write(tmp_path, content), None)


def annotation(*rows: tuple[int, str]) -> Annotation:
    return Annotation(
        pd.DataFrame(
            {
                "start_s": [float(i) for i in range(len(rows))],
                "end_s": [i + 1.0 for i in range(len(rows))],
                "step_id": [step for step, _ in rows],
                "name": [name for _, name in rows],
            }
        )
    )


def test_holes_close_over_the_videos_together() -> None:
    table = segment_table({"b": annotation((7, "c")), "a": annotation((9, "a"), (1, "b")), "c": annotation()})
    assert table[["video", "key_step", "name"]].values.tolist() == [["a", 3, "a"], ["a", 1, "b"], ["b", 2, "c"]]


def test_the_commonest_spelling_wins_and_the_first_among_equals() -> None:
    first = annotation((1, "Pour"), (1, "pour"), (2, ""), (3, "Cut"))
    second = annotation((1, "pour"), (2, "stir"), (3, "cut"), (4, ""))
    table = segment_table({"a": first, "b": second})
    assert dict(zip(table["key_step"], table["name"], strict=True)) == {1: "pour", 2: "stir", 3: "Cut", 4: ""}
