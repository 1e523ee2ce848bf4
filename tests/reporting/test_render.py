"""Tables in Markdown and LaTeX: values by protocol, marks and notes."""

from __future__ import annotations

import re
from dataclasses import replace

import pandas as pd
import pytest
from table_helpers import FLAT, ONE, OURS, PLAIN, TWO, all_scores, small_table, write_scores

from rgwot.reporting.tables.printed import (
    MARKDOWN,
    escape,
    latex,
    make_grid,
    markdown,
    notes,
    render_table,
    terminal_table,
)
from rgwot.reporting.tables.scores import write_table


@pytest.fixture
def table(tmp_path):
    return small_table(tmp_path)


@pytest.fixture
def frame(table, tmp_path):
    return write_table(table, all_scores(tmp_path), tmp_path / "small.csv")


def panels(text):
    """Return the rows of cells of every pipe table in a Markdown text, by the title above the table."""
    found, title = {}, ""
    for line in text.splitlines():
        if line.startswith("### "):
            title = line.removeprefix("### ")
        elif line.startswith("|"):
            found.setdefault(title, []).append([cell.strip() for cell in line.strip("|").split("|")])
    return found


def body(text, title="macro_task, with background"):
    return {row[0]: row[1:] for row in panels(text)[title][2:]}


def test_measured_rows_stand_beside_hieros_by_its_label_rule(table, frame):
    """The published means of HiERO were made by the rule `cnc`; all other protocols are printed by `exact`."""
    here = frame[frame["kind"] == "measured"].copy()
    here["one_f1"] = here["label_rule"].map({"exact": 0.1, "cnc": 0.2})
    here["one_f1_sd"] = float("nan")
    own = here[here["protocol"] == "macro_video"].assign(protocol="hiero")
    both = pd.concat([here, own])
    for protocol, expected in (("macro_video", "10.0"), ("hiero", "20.0")):
        grid = make_grid(table, both, (protocol, "with"))
        assert all(line[0].startswith(expected) for line in grid.texts(MARKDOWN))
    blocks = (*table.blocks, ("hiero", "with"))
    (told,) = (note for note in notes(replace(table, blocks=blocks), both) if note.startswith("Labels"))
    assert told.startswith("Labels by the rule `exact`, of hiero by `cnc`;")


def test_markdown_leads_with_macro_task_and_micro_video_and_has_all_others(table, frame):
    found = panels(markdown(table, frame))
    assert list(found)[:2] == ["macro_task, with background", "micro_video, with background"]
    assert len(found) == 8 + 1
    assert found["macro_task, with background"][0][1:] == [
        "First_set<br>F1", "First_set<br>IoU", "Second<br>F1", "Second<br>IoU"
    ]  # fmt: skip
    leading = body(markdown(table, frame))
    # First_set has a mean of 35.0 and a sample deviation of 18.0 over seeds, Second 52.0 and 2.6. A single seed has no
    # deviation.
    assert leading["Ours & theirs"] == [
        "**35.0 ± 18.0 (1/6 X)**", "**17.5 ± 9.0 (1/6 X)**", "52.0 ± 2.6", "26.0 ± 1.3",
    ]  # fmt: skip
    assert leading["*One label*"] == ["30.0", "15.0", "**90.0**", "**45.0**"]


def test_reported_rows_are_under_their_own_protocol_only(table, frame):
    text = markdown(table, frame)
    assert body(text, "micro_video, with background")["RGWOT (reported)"] == ["54.4", "38.6", "37.4", "–"]
    assert body(text, "Reported, protocol unknown") == {"GPL (reported)": ["30.2"]}
    assert text.count("| RGWOT (reported)") == text.count("| GPL (reported)") == 1


def test_notes_say_what_must_not_be_compared(table, frame):
    text = "\n".join(notes(table, frame))
    for piece in (
        "must not be compared",
        "which do not look at the videos: One label.",
        "Ours & theirs: First_set 1 of 6.",
        "Ours & theirs: one: 2 of 9 videos skipped; two: 1 of 4 videos without annotation.",
        "under their own protocol: micro_video: RGWOT; unknown: GPL.",
        "The reported rows use different protocols",
        "A caveat.",
    ):
        assert piece in text
    assert "strict_task" not in "\n".join(notes(table, frame, short=True))


def test_latex_is_booktabs_and_escaped(table, frame):
    text = latex(table, frame)
    for piece in (r"\toprule", r"\label{tab:small}", r"Ours \& theirs", r"\textbf{35.0\,$\pm$\,18.0 (1/6 X)}"):
        assert piece in text
    rows = [line for line in text.splitlines() if line.endswith(r"\\") and "&" in line]
    # A label and 2 x 2 values in both leading blocks; two cells where the protocol is unknown.
    assert [len(re.split(r"(?<!\\)&", row)) for row in rows] == [5] * (4 + 5) + [2] * 2
    assert text.isascii()
    assert escape(r"a\b & 5% $x_1 #2 {~^}") == (
        r"a\textbackslash{}b \& 5\% \$x\_1 \#2 \{\textasciitilde{}\textasciicircum{}\}"
    )


def test_lower_is_better_for_the_order_distance(tmp_path):
    table = small_table(tmp_path, metrics=["f1", "order_distance"], datasets=[TWO], reported=None)
    paths = [
        write_scores(tmp_path, (*run, "two", "a", 0), value, order_distance=order)
        for run, value, order in ((FLAT, 0.2, 0.5), (OURS, 0.6, 0.1), (PLAIN, 0.4, 0.3))
    ]
    text = markdown(table, write_table(table, paths, tmp_path / "small.csv"))
    # One dataset needs no name above its columns.
    assert panels(text)["macro_task, with background"][0] == ["", "F1", "Order ↓"]
    assert body(text) == {
        "*One label*": ["20.0", "50.0"], "Ours & theirs": ["**60.0**", "**10.0**"], "Plain": ["40.0", "30.0"]
    }  # fmt: skip


def test_files_beside_the_csv_and_the_terminal(table, frame, tmp_path):
    render_table(table, tmp_path / "small.csv")
    assert (tmp_path / "small.md").read_text(encoding="utf-8") == markdown(table, frame)
    assert (tmp_path / "small.tex").read_text(encoding="utf-8") == latex(table, frame)
    text = terminal_table(table, tmp_path / "small.csv")
    assert "35.0±18.0 (1/6 X)*" in text
    assert "A caveat." in text
    assert text.index("macro_task") < text.index("micro_video")
    assert max(len(line) for line in text.splitlines() if "±" in line) <= 100


def collapsed_scores(folder, n_collapsed):
    """Write scores on dataset two: `ours` has 0.6 with four seeds, some of which collapsed; `plain` has 0.5."""
    paths = []
    for seed in range(4):
        flag = int(seed < n_collapsed)
        paths.append(write_scores(folder, (*OURS, "two", "a", seed), 0.6, degenerate=flag))
        paths.append(write_scores(folder, (*PLAIN, "two", "a", seed), 0.5))
    return [*paths, write_scores(folder, (*FLAT, "two", "a", 0), 0.4)]


@pytest.mark.parametrize(
    ("n_collapsed", "ours", "plain"),
    [
        (0, "**60.0 ± 0.0**", "50.0 ± 0.0"),
        (1, "**60.0 ± 0.0 (1/4 X)**", "50.0 ± 0.0"),
        # If half of the runs or more collapsed, the cell is an X as in the papers, with its value, and another cell is
        # the best.
        (2, "X (60.0 ± 0.0)", "**50.0 ± 0.0**"),
        (4, "X (60.0 ± 0.0)", "**50.0 ± 0.0**"),
    ],
)
@pytest.mark.parametrize("datasets", [[TWO], [ONE, TWO]])
def test_collapsed_runs_are_marked_and_their_value_is_kept(tmp_path, n_collapsed, ours, plain, datasets):
    # With both datasets, the first one has no runs at all.
    table = small_table(tmp_path, datasets=datasets)
    frame = write_table(table, collapsed_scores(tmp_path, n_collapsed), tmp_path / "small.csv")
    found = body(markdown(table, frame))
    assert (found["Ours & theirs"][0], found["Plain"][0]) == (ours, plain)
    measured = frame[(frame.method == "ours") & (frame.kind == "measured")]
    assert set(measured["two_f1"]) == {0.6}
    assert set(measured["degenerate"]) == {n_collapsed}
    assert set(measured["two_f1_degenerate"].dropna()) == ({0.6} if n_collapsed else set())
    assert (f"Second {n_collapsed} of 4" in "\n".join(notes(table, frame))) == (n_collapsed > 0)


def test_a_reported_collapse_is_an_x_without_a_number(tmp_path):
    table = small_table(tmp_path)
    reported = tmp_path / "reported.csv"
    reported.write_text(reported.read_text().replace("37.4,,paper,", ",,paper,degenerate (X)"))

    def row():
        text = markdown(table, write_table(table, all_scores(tmp_path), tmp_path / "small.csv"))
        return body(text, "micro_video, with background")["RGWOT (reported)"]

    assert row() == ["54.4", "38.6", "X", "X"]
    # If a paper prints no IoU at all, it prints no X for IoU, either.
    reported.write_text("".join(line for line in reported.read_text().splitlines(True) if ",IoU," not in line))
    assert row() == ["54.4", "–", "X", "–"]


def test_datasets_may_be_lines(tmp_path):
    table = small_table(tmp_path, lines="datasets")
    text = markdown(table, write_table(table, all_scores(tmp_path), tmp_path / "small.csv"))
    heads = [f"{name}<br>F1 / IoU" for name in ("One label", "Ours & theirs", "Plain")]
    assert panels(text)["macro_task, with background"][0][1:] == heads
    assert body(text)["Second"] == ["**90.0** / **45.0**", "52.0 ± 2.6 / 26.0 ± 1.3", "60.0 ± 0.0 / 30.0 ± 0.0"]
    assert body(text, "micro_video, with background")["First_set"][0] == "54.4 / 38.6"
