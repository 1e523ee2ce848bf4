from __future__ import annotations

import copy
import itertools
import re

import pytest
from table_helpers import FLAT, OURS, PLAIN, SPEC, all_scores, make_table, small_table, write_scores

from rgwot.reporting.tables.forms import escape
from rgwot.reporting.tables.grid import make_grid
from rgwot.reporting.tables.models import Block
from rgwot.reporting.tables.notes import notes
from rgwot.reporting.tables.render import latex, leading_blocks, markdown, markdown_grid, render_table, terminal_table
from rgwot.reporting.tables.spec import load_tables


@pytest.fixture
def table(tmp_path):
    return small_table(tmp_path)


@pytest.fixture
def frame(table, tmp_path):
    return make_table(table, all_scores(tmp_path), tmp_path / "small.csv")


def rows_of(text):
    """The pipe tables of a Markdown text, each as a list of rows of cells."""
    tables, current = [], []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            current.append([cell.strip() for cell in line.strip("|").split("|")])
        elif current:
            tables.append(current)
            current = []
    return tables


def test_markdown_leads_with_macro_task_and_micro_video(table, frame):
    leading = rows_of(markdown(table, frame))[0]
    heads = [head.split("<br>") for head in leading[0][1:]]
    assert [head[0] for head in heads] == ["macro_task"] * 4 + ["micro_video"] * 4
    assert {head[1] for head in heads} == {"with background"}
    assert [head[2] for head in heads[:4]] == ["First_set", "First_set", "Second", "Second"]
    assert [head[3] for head in heads[:2]] == ["F1", "IoU"]
    body = {row[0]: row[1:] for row in leading[2:]}
    # First_set: mean 35.0, sample deviation 18.0 over seeds; Second: 52.0 and 2.6. One seed has none.
    assert body["Ours & theirs"][:4] == [
        "**35.0 ± 18.0 (1/6 X)**", "**17.5 ± 9.0 (1/6 X)**", "52.0 ± 2.6", "26.0 ± 1.3",
    ]  # fmt: skip
    assert body["*One label*"][:4] == ["<ins>30.0</ins>", "<ins>15.0</ins>", "**90.0**", "**45.0**"]
    assert body["Plain"][:4] == ["20.0 ± 0.0", "10.0 ± 0.0", "<ins>60.0 ± 0.0</ins>", "<ins>30.0 ± 0.0</ins>"]


def test_reported_rows_stand_under_their_own_protocol_only(table, frame):
    tables = rows_of(markdown(table, frame))
    body = {row[0]: row[1:] for row in tables[0][2:]}
    assert body["RGWOT (reported)"] == ["–"] * 4 + ["54.4", "38.6", "37.4", "–"]
    assert not any("GPL" in row[0] for other in tables[:-1] for row in other)
    assert tables[-1][2:] == [["GPL (reported)", "30.2"]]
    assert "### Reported, protocol unknown" in markdown(table, frame)


def test_markdown_has_every_protocol_with_and_without_background(table, frame):
    text = markdown(table, frame)
    every = [{tuple(head.split("<br>")[:2]) for head in rows[0][1:]} for rows in rows_of(text)[:-1]]
    assert set().union(*every) == {
        (protocol, f"{background} background")
        for protocol in ("micro_video", "macro_video", "macro_task", "strict_task")
        for background in ("with", "without")
    }
    assert [len(blocks) for blocks in every] == [2, 1, 2, 1, 2]


def test_notes_say_what_must_not_be_compared(table, frame):
    text = "\n".join(notes(table, frame))
    for piece in (
        "macro_task: videos pooled, mean over the key steps",
        "micro_video: per video, all matched frames together",
        "must not be compared",
        "Trivial answers, which look at no picture: One label.",
        "over 1 or 2 or 3 runs: a run is one seed on all tasks",
        "Ours & theirs: First_set 1 of 6.",
        "Ours & theirs: one: 2 of 9 videos skipped; two: 1 of 4 videos without annotation.",
        "Reported rows: other features.",
        "each stands under its own only: micro_video: RGWOT; unknown: GPL.",
        "The reported rows were made with different protocols",
        "A caveat.",
    ):
        assert piece in text
    assert "strict_task" not in "\n".join(notes(table, frame, short=True))


def test_latex_is_booktabs_and_escaped(table, frame):
    text = latex(table, frame)
    for piece in (r"\toprule", r"\bottomrule", r"\label{tab:small}", r"\begin{table*}", r"Ours \& theirs"):
        assert piece in text
    assert r"\multicolumn{4}{c}{macro\_task, with background}" in text
    assert r"\textbf{35.0\,$\pm$\,18.0 (1/6 X)}" in text
    assert r"\underline{30.0}" in text
    assert r"First\_set F1" in text
    rows = [line for line in text.splitlines() if line.endswith(r"\\") and "multicolumn" not in line]
    # Without its escapes every row has nine cells: a label and 2 x 2 x 2 values; two, where a protocol is unknown.
    assert [len(re.split(r"(?<!\\)&", row)) for row in rows] == [9] * 5 + [2] * 2
    assert rows[-1].startswith("GPL (reported) & 30.2")
    assert text.count("{") == text.count("}")
    assert text.isascii()


def test_latex_escapes_every_special_character():
    assert escape(r"a\b & 5% $x_1 #2 {~^}") == (
        r"a\textbackslash{}b \& 5\% \$x\_1 \#2 \{\textasciitilde{}\textasciicircum{}\}"
    )


def test_lower_is_better_for_the_order_distance(tmp_path):
    spec = copy.deepcopy(SPEC)
    spec["tables"]["small"] |= {"metrics": ["f1", "order_distance"], "datasets": ["two"]}
    del spec["tables"]["small"]["reported"]
    table = small_table(tmp_path, spec)
    paths = [
        write_scores(
            tmp_path, (*run, "two", "a", 0), value,
            order_distance=order, n_videos=3,
        )
        for run, value, order in ((FLAT, 0.2, 0.5), (OURS, 0.6, 0.1), (PLAIN, 0.4, 0.3))
    ]  # fmt: skip
    frame = make_table(table, paths, tmp_path / "small.csv")
    leading = rows_of(markdown(table, frame))[0]
    assert leading[0][2].endswith("Order ↓")
    assert leading[4][1:3] == ["<ins>40.0</ins>", "<ins>30.0</ins>"]
    assert leading[3][1:3] == ["**60.0**", "**10.0**"]
    # One dataset needs no name above its columns.
    assert "Second" not in "".join(leading[0])


def test_many_columns_share_a_cell(table, frame):
    block = Block(protocol="macro_task", background="with")
    assert len(make_grid(table, frame, [block]).columns) == 4
    joined = make_grid(table, frame, [block], max_columns=3)
    assert [column.metrics for column in joined.columns] == [("f1", "iou")] * 2
    ours = next(line for line in joined.lines if line.label == "Ours & theirs")
    assert [round(value.mean, 1) for value in ours.cells[0]] == [35.0, 17.5]
    assert "**35.0 ± 18.0 (1/6 X)** / **17.5 ± 9.0 (1/6 X)**" in markdown_grid(joined)


def test_printed_values_are_those_of_the_exact_rule(tmp_path):
    table = small_table(tmp_path)
    paths = [
        write_scores(tmp_path, (*run, dataset, "a", 0), lambda p, b, rule: 0.5 if rule == "exact" else 0.1)
        for run in (FLAT, OURS, PLAIN)
        for dataset in ("one", "two")
    ]
    text = markdown(table, make_table(table, paths, tmp_path / "small.csv"))
    assert "50.0" in text
    assert "10.0" not in text


def test_files_beside_the_csv_and_the_terminal(table, frame, tmp_path):
    md, tex = render_table(table, tmp_path / "small.csv")
    assert (md, tex) == (tmp_path / "small.md", tmp_path / "small.tex")
    assert md.read_text(encoding="utf-8") == markdown(table, frame)
    assert tex.read_text(encoding="utf-8") == latex(table, frame)
    text = terminal_table(table, tmp_path / "small.csv")
    assert text.startswith("A small table\n")
    assert "35.0±18.0 (1/6 X)*" in text
    assert "A caveat." in text
    assert text.index("macro_task") < text.index("micro_video")
    assert max(len(line) for line in text.splitlines() if "±" in line) <= 100


def collapsed_scores(folder, n_collapsed):
    """`ours` on dataset two: four seeds of 0.6, of which some collapsed; `plain` 0.5, never."""
    paths = []
    for seed in range(4):
        flag = int(seed < n_collapsed)
        paths.append(write_scores(folder, (*OURS, "two", "a", seed), 0.6, degenerate=flag))
        paths.append(write_scores(folder, (*PLAIN, "two", "a", seed), 0.5))
    return [*paths, write_scores(folder, (*FLAT, "two", "a", 0), 0.4)]


@pytest.mark.parametrize(
    ("n_collapsed", "ours", "plain"),
    [
        (0, "**60.0 ± 0.0**", "<ins>50.0 ± 0.0</ins>"),
        (1, "**60.0 ± 0.0 (1/4 X)**", "<ins>50.0 ± 0.0</ins>"),
        # From half on the cell is an X as in the papers, its value beside it, and it is not ranked.
        (2, "X (60.0 ± 0.0)", "**50.0 ± 0.0**"),
        (4, "X (60.0 ± 0.0)", "**50.0 ± 0.0**"),
    ],
)
def test_collapsed_runs_are_marked_and_their_value_is_kept(tmp_path, n_collapsed, ours, plain):
    spec = copy.deepcopy(SPEC)
    spec["tables"]["small"]["datasets"] = ["two"]
    table = small_table(tmp_path, spec)
    frame = make_table(table, collapsed_scores(tmp_path, n_collapsed), tmp_path / "small.csv")
    body = {row[0]: row[1:] for row in rows_of(markdown(table, frame))[0][2:]}
    assert (body["Ours & theirs"][0], body["Plain"][0]) == (ours, plain)
    measured = frame[(frame.method == "ours") & (frame.kind == "measured")]
    assert set(measured["two_f1"]) == {0.6}
    assert set(measured["degenerate"]) == {n_collapsed}
    assert set(measured["two_f1_degenerate"].dropna()) == ({0.6} if n_collapsed else set())
    assert ("(1/4 X)" in latex(table, frame)) == (n_collapsed == 1)
    assert ("X: degenerate" in "\n".join(notes(table, frame))) == (n_collapsed > 0)


def test_a_reported_collapse_is_an_x_without_a_number(tmp_path):
    small_table(tmp_path)
    reported = tmp_path / "reported.csv"
    text = reported.read_text()
    assert "37.4,,paper," in text
    reported.write_text(text.replace("37.4,,paper,", ",,paper,degenerate (X)"))
    table = load_tables(tmp_path / "tables.yaml")["small"]
    frame = make_table(table, all_scores(tmp_path), tmp_path / "small.csv")
    body = {row[0]: row[1:] for row in rows_of(markdown(table, frame))[0][2:]}
    assert body["RGWOT (reported)"][-4:] == ["54.4", "38.6", "X", "X"]
    # Where a paper prints no IoU at all it prints no X either.
    reported.write_text("".join(line for line in reported.read_text().splitlines(True) if ",IoU," not in line))
    frame = make_table(table, all_scores(tmp_path), tmp_path / "small.csv")
    body = {row[0]: row[1:] for row in rows_of(markdown(table, frame))[0][2:]}
    assert body["RGWOT (reported)"][-4:] == ["54.4", "–", "X", "–"]


def test_many_datasets_stand_below_each_other(tmp_path):
    spec = copy.deepcopy(SPEC)
    spec["tables"]["small"]["lines"] = "datasets"
    table = small_table(tmp_path, spec)
    frame = make_table(table, all_scores(tmp_path), tmp_path / "small.csv")
    leading = rows_of(markdown(table, frame))[0]
    heads = [head.split("<br>")[2:] for head in leading[0][1:]]
    names = ["One label", "Ours & theirs", "Plain"]
    # The reported row has no value under macro_task, so it has no column there.
    assert heads == [[name, "F1 / IoU"] for name in [*names, "RGWOT (reported)", *names]]
    body = {row[0]: row[1:] for row in leading[2:]}
    assert list(body) == ["First_set", "Second"]
    assert body["Second"][1] == "52.0 ± 2.6 / 26.0 ± 1.3"
    assert body["Second"][0] == "**90.0** / **45.0**"
    assert body["First_set"][3] == "54.4 / 38.6"


def test_as_many_blocks_side_by_side_as_fit(tmp_path):
    spec = copy.deepcopy(SPEC)
    pairs = itertools.product(("macro_task", "micro_video", "macro_video"), ("with", "without"))
    spec["tables"]["small"]["blocks"] = [{"protocol": name, "background": bg} for name, bg in pairs]
    table = small_table(tmp_path, spec)
    assert [len(blocks) for blocks in leading_blocks(table)] == [6]
    wide = table.model_copy(update={"datasets": {f"d{n}": table.datasets["one"] for n in range(5)}})
    assert [len(blocks) for blocks in leading_blocks(wide)] == [2, 2, 2]
    frame = make_table(table, all_scores(tmp_path), tmp_path / "small.csv")
    assert latex(table, frame).count(r"\begin{tabular}") == 2


def test_a_collapsed_run_beside_a_dataset_that_the_configuration_leaves_out(tmp_path):
    spec = copy.deepcopy(SPEC)
    spec["tables"]["small"]["datasets"] = ["one", "two"]
    table = small_table(tmp_path, spec)
    frame = make_table(table, collapsed_scores(tmp_path, 2), tmp_path / "small.csv")
    assert "2 of 4" in markdown(table, frame)
