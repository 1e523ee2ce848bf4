"""From an edited file to corrections, and back: nothing of what was edited is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from test_replay import TABLE, results, table

from rgwot.cli import cli
from rgwot.corrections import apply_corrections, read_corrections, write_corrections
from rgwot.corrections.difference import difference, label_of, read_edited, settled
from rgwot.reporting.export.interface import export, videos_of
from rgwot.reporting.names import names_text
from rgwot.runtime.errors import RgwotError

Labelled = list[tuple[str, int, int, str]]


def labelled(segments: pd.DataFrame, names: dict[int, str]) -> pd.DataFrame:
    """Return the segments of key steps, with labels."""
    own = segments[segments["key_step"] > 0]
    return own.assign(label=[label_of(step, names) for step in own["key_step"]])


def wanted(rows: list[tuple[str, float, float, str]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["video", "start_s", "end_s", "label"])


def test_what_somebody_did_by_hand_is_what_the_edits_say() -> None:
    names = {1: "pour", 2: "stir"}

    def kinds(change: Callable[[list[Any]], object]) -> list[str]:
        rows = [[video, start, end, label_of(step, names)] for video, start, end, step in TABLE]
        change(rows)
        target = wanted([tuple(row) for row in rows if row[3]])
        edits = difference(table(TABLE), names, target, {"by": "Ann"})
        replayed = apply_corrections(table(TABLE), edits, names)
        assert replayed.report["holds"].all()
        got = labelled(replayed.segments, replayed.names)
        assert moments(got, table(TABLE)) == moments(target, table(TABLE))
        assert all(edit.by == "Ann" for edit in edits)
        return [edit.edit for edit in edits]

    def all_of(label: str, new: str) -> Callable[[list[Any]], object]:
        return lambda rows: [row.__setitem__(3, new) for row in rows if row[3] == label]

    assert kinds(lambda rows: None) == []
    assert kinds(all_of("stir", "whisk")) == ["rename"]
    assert kinds(all_of("stir", "pour")) == ["merge"]
    assert kinds(all_of("key step 3", "")) == ["background"]
    assert kinds(lambda rows: rows[1].__setitem__(3, "whisk")) == ["assign"]
    assert kinds(lambda rows: rows[1].__setitem__(3, "")) == ["delete"]
    # The border between two segments, and one that leaves a gap.
    assert kinds(lambda rows: (rows[1].__setitem__(2, 6.5), rows[2].__setitem__(1, 6.5))) == ["border"]
    assert kinds(lambda rows: (rows[1].__setitem__(2, 5.5), rows[2].__setitem__(1, 5.5))) == ["border"]
    assert kinds(lambda rows: rows[3].__setitem__(2, 9)) == ["border"]
    assert kinds(lambda rows: rows[1].__setitem__(2, 5.5)) == ["assign"]
    # Rounded to milliseconds it is the same.
    assert kinds(lambda rows: rows[4].__setitem__(2, 3.2504)) == []


def joined(rows: Labelled) -> Labelled:
    found: Labelled = []
    for video, start, end, label in rows:
        if found and found[-1][0] == video and found[-1][2:] == (start, label):
            found[-1] = (video, found[-1][1], end, label)
        else:
            found.append((video, start, end, label))
    return found


@st.composite
def edited(draw: st.DrawFn, found: pd.DataFrame, names: dict[int, str]) -> pd.DataFrame:
    """Draw what a person may make of a result: other borders, labels and gaps, one key step at a time."""
    rows = []
    for video, own in found.groupby("video"):
        end = round(1000 * own["end_s"].max())
        borders = sorted({round(1000 * border) for border in own["end_s"]} | {0})
        moved = [border + draw(st.sampled_from((0, 0, 0, -40, 7, 350))) for border in borders[1:-1]]
        moved += draw(st.lists(st.integers(1, max(1, end - 1)), max_size=2))
        kept = sorted({border for border in moved if 0 < border < end} | {0, end})
        old = own.sort_values("start_s")
        renamed = {
            step: draw(st.sampled_from((label_of(step, names),) * 3 + ("new", "other", ""))) for step in range(1, 5)
        }
        for low, high in zip(kept, kept[1:], strict=False):
            step = int(old[old["start_s"] * 1000 <= low + 1e-6]["key_step"].iloc[-1])
            label = draw(st.sampled_from((renamed.get(step, ""),) * 4 + ("new", "", label_of(1, names))))
            if label:
                rows.append((str(video), low / 1000, high / 1000, label))
        if not any(row[0] == video for row in rows):
            rows.append((str(video), 0.0, end / 1000, "new"))
    return wanted(rows)


def write(folder: Path, content: pd.DataFrame, door: str, names: dict[int, str]) -> list[Path]:
    """Write labelled segments as an export of ours does; new labels have new numbers."""
    own = {label_of(step, names): step for step in range(1, 5)}
    steps = {label: own.get(label, at) for at, label in enumerate(dict.fromkeys(content["label"]), 100)}
    frame = content.assign(key_step=content["label"].map(steps))
    export(door, videos_of(frame, None, {step: label for label, step in steps.items()}), folder)
    return sorted(folder.glob("[!.]*"))


@pytest.mark.parametrize("door", ["elan", "boris", "boris_events", "csv", "praat", "audacity"])
def test_through_other_programs_nothing_is_lost(tmp_path_factory: pytest.TempPathFactory, door: str) -> None:
    @settings(max_examples=40, deadline=None)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        found = data.draw(results())
        names = data.draw(st.dictionaries(st.integers(1, 4), st.sampled_from(("=pour", "stir & <b>")), max_size=1))
        target = data.draw(edited(found, names))
        # A single millisecond is within what counts as rounding.
        assume((target["end_s"] - target["start_s"]).max() > 0.0015)
        folder = tmp_path_factory.mktemp("door")
        # As another program saves it, read, made corrections, kept in a file, replayed, exported, and read again.
        first = read_edited(write(folder / "first", target, door, names), found["video"].unique())
        first = settled(first, [(found, names)])
        edits = difference(found, names, first)
        write_corrections(edits, folder / "tea.yaml")
        replayed = apply_corrections(found, read_corrections(folder / "tea.yaml"), names)
        assert replayed.report["holds"].all()
        got = labelled(replayed.segments, replayed.names)
        again = read_edited(write(folder / "again", got, door, names), found["video"].unique())
        assert moments(again, found) == moments(first, found) == moments(target, found)
        # And then there is no difference any more.
        assert difference(replayed.segments, replayed.names, again) == []

    check()


def moments(content: pd.DataFrame, found: pd.DataFrame) -> Labelled:
    """Return labelled segments in milliseconds, borders of the result where they are meant."""
    near: dict[str, set[int]] = {}
    for video, start_s, end_s in found[["video", "start_s", "end_s"]].itertuples(index=False):
        near.setdefault(video, set()).update((round(1000 * start_s), round(1000 * end_s)))

    def snapped(video: str, seconds: float) -> int:
        at = round(1000 * seconds)
        border = min(near[video], key=lambda border: abs(border - at))
        return border if abs(border - at) <= 1 else at

    rows = sorted(content[["video", "start_s", "end_s", "label"]].itertuples(index=False, name=None))
    whole = [(video, snapped(video, start), snapped(video, end), label) for video, start, end, label in rows]
    return joined([row for row in whole if row[1] < row[2] and row[3]])


def test_files_that_cannot_be_meant_are_refused(tmp_path: Path) -> None:
    rows = [("a", 0.0, 2.0, "x"), ("a", 1.0, 3.0, "y")]
    with pytest.raises(RgwotError, match="'y' at 1 s begins before 'x' has ended; expected one key step at a time"):
        difference(table(TABLE), {}, wanted(rows))
    wanted([("nobody", 0.0, 1.0, "x")]).to_csv(tmp_path / "x.csv", index=False)
    with pytest.raises(RgwotError, match=r"x\.csv: video 'x' is not in the result; expected one of a, b"):
        read_edited([tmp_path / "x.csv"], ["a", "b"])
    for name in ("x.csv", "y.csv"):
        wanted([("a", 0.0, 1.0, "x")]).to_csv(tmp_path / name, index=False)
    with pytest.raises(RgwotError, match="video 'a' is in .*x.csv, too"):
        read_edited([tmp_path / "x.csv", tmp_path / "y.csv"], ["a", "b"])


@pytest.fixture
def result(tmp_path: Path) -> Path:
    folder = tmp_path / "results/keysteps/raw/kmeans/mine/tea/seed0"
    folder.mkdir(parents=True)
    table(TABLE).to_csv(folder / "segments.csv", index=False)
    names = names_text("raw/kmeans/seed0", table(TABLE), {1: "pour", 2: "stir"})
    (folder / "names.yaml").write_text(names)
    return folder


#: The export of that result; key step 3 has no name.
EXPORTED = [
    ["a", 0, 4, 1, "pour"], ["a", 4, 6, 2, "stir"], ["a", 6, 7, 1, "pour"], ["a", 7, 10, 3, "key step 3"],
    ["b", 0, 3.25, 2, "stir"], ["b", 3.25, 8.1, 3, "key step 3"],
]  # fmt: skip


def imported(result: Path, change: Callable[[pd.DataFrame], pd.DataFrame]) -> tuple[str, Labelled]:
    """Import an edited export; return what was said, and the segments of the first video then."""
    columns = ["video", "start_s", "end_s", "key_step", "name"]
    edited, output = result.parent / "segments.csv", result.parent / "tea.yaml"
    change(pd.DataFrame(EXPORTED, columns=columns, dtype=object)).to_csv(edited, index=False)
    command = ["import-corrections", str(output), str(edited), "--keysteps", str(result)]
    said = CliRunner().invoke(cli, [*command, "--names", str(result / "names.yaml")])
    now = apply_corrections(table(TABLE), read_corrections(output), {1: "pour", 2: "stir"})
    return str(said.exception or said.output), [
        row for row in moments(labelled(now.segments, now.names), table(TABLE)) if row[0] == "a"
    ]


def cell(row: int, **values: object) -> Callable[[pd.DataFrame], pd.DataFrame]:
    def change(frame: pd.DataFrame) -> pd.DataFrame:
        for column, value in values.items():
            frame.loc[row, column] = value
        return frame

    return change


BEFORE = [
    ("a", 0, 4000, "pour"),
    ("a", 4000, 6000, "stir"),
    ("a", 6000, 7000, "pour"),
    ("a", 7000, 10000, "key step 3"),
]


@pytest.mark.parametrize(
    ("change", "label"),
    [
        (cell(1, key_step=3), "key step 3"),
        (cell(1, key_step="3.0"), "key step 3"),
        (cell(1, key_step=0), None),
        (cell(1, name="whisk"), "whisk"),
        (cell(1, name="key step 3"), "key step 3"),
        (cell(1, name=""), None),
        (cell(1, key_step=3, name="key step 3"), "key step 3"),
        (cell(1, key_step=4, name="whisk"), "whisk"),
        (cell(1, key_step="", name="whisk"), "whisk"),
        (lambda frame: cell(1, key_step=3)(frame).drop(columns="name"), "key step 3"),
        (lambda frame: cell(1, name="whisk")(frame).drop(columns="key_step"), "whisk"),
    ],
)
def test_of_number_and_name_the_edited_one_counts_also_a_second_time(
    result: Path, change: Callable[[pd.DataFrame], pd.DataFrame], label: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    said, got = imported(result, change)
    assert "1 correction added" in said
    assert not caplog.text
    assert got == [BEFORE[0], *([("a", 4000, 6000, label)] if label else []), *BEFORE[2:]]
    said, again = imported(result, change)
    assert "0 corrections added" in said
    assert again == got


def test_an_edit_that_could_be_that_of_an_earlier_export_is_said(
    result: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for expected in ("", "line 3: found key step 3 and name 'stir', which fits the result before its corrections and"):
        imported(result, cell(1, key_step=3))
        assert bool(caplog.text) == bool(expected)
        assert expected in caplog.text


@pytest.mark.parametrize(
    "values",
    [
        {"key_step": 3, "name": "pour"},
        {"key_step": 3, "name": "whisk"},
        {"key_step": 9},
        {"key_step": "x3"},
        {"key_step": ""},
    ],
)
def test_a_number_and_a_name_that_contradict_each_other_are_refused(result: Path, values: dict[str, object]) -> None:
    said, got = imported(result, cell(1, **values))
    assert "segments.csv: line 3: found key step" in said
    assert "edit one column and delete the other" in said
    assert got == BEFORE


def test_a_name_that_could_not_be_read_again_is_refused_and_what_is_after_the_end_is_said(
    result: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("x" * 81, "a\x07b"):
        said, _ = imported(result, cell(1, name=name))
        assert "edited files: found" in said
        assert not (result.parent / "tea.yaml").exists()
    said, _ = imported(result, cell(3, end_s=20))
    assert "0 corrections added" in said
    assert "video 'a': 'key step 3' from 7 to 20 s goes on after the end at 10 s" in caplog.text


def test_all_of_a_video_is_deleted_by_rows_without_a_name_not_by_none(
    result: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    said, _ = imported(result, lambda frame: frame[frame["video"] == "a"])
    assert "0 corrections added" in said
    assert "videos in none of the files stay as they are: 1, such as 'b'" in caplog.text
    said, _ = imported(result, lambda frame: cell(4, key_step=0, name="")(frame.drop(5)))
    assert "2 corrections added" in said


def test_an_emptied_file_deletes_what_was_there_and_the_verb_adds_to_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "results/keysteps/raw/kmeans/mine/tea/seed0"
    folder.mkdir(parents=True)
    table(TABLE).to_csv(folder / "segments.csv", index=False)
    export("elan", videos_of(table(TABLE)), tmp_path / "exported")
    # The file of b without an annotation.
    videos = videos_of(table([("b", 0, 8.1, 0)]))
    export("elan", videos, tmp_path / "emptied")
    (tmp_path / "emptied/b.eaf").replace(tmp_path / "exported/b.eaf")
    files = [str(tmp_path / "exported" / name) for name in ("a.eaf", "b.eaf")]
    output = tmp_path / "corrections/mine/tea.yaml"
    for expected in (2, 0):
        command = ["import-corrections", str(output), *files, "--keysteps", str(folder), "--by", "Ann"]
        said = CliRunner().invoke(cli, command)
        assert said.exit_code == 0, said.output
        assert f": {expected} corrections added" in said.output
    edits = read_corrections(output)
    assert [edit.edit for edit in edits] == ["delete", "delete"]
    assert all(edit.by == "Ann" and len(edit.when) == 10 for edit in edits)
    replayed = apply_corrections(table(TABLE), edits)
    assert set(replayed.segments.query("video == 'b'")["key_step"]) == {0}
