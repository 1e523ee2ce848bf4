"""The page of a task where a few annotated videos taught the others."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest
import yaml
from chromium import WHERE, WITHOUT
from page_tree import STEPS, TAUGHT, embedded_data, make_task
from page_window import tab

from rgwot import paths
from rgwot.datasets.annotation_files import read_annotation_file
from rgwot.datasets.names import stem_of
from rgwot.keysteps.left_out import left_out_sentence
from rgwot.names import read_names
from rgwot.paths import Run
from rgwot.procedure.facts import join_words
from rgwot.records import read_diagnostics
from rgwot.reporting.show import moment_suggestion, procedure_lines, suggestion
from rgwot.runtime.errors import RgwotError

if TYPE_CHECKING:
    from chromium import Browser
    from page_tree import Task

RUN = Run("raw", TAUGHT, 0)
NAMES = ("first", "second", "third", "fourth one", "fifth")


@pytest.fixture(scope="module")
def page_task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return make_task(tmp_path_factory.mktemp("taught"), NAMES, learned=2)


def test_the_page_knows_who_taught_and_who_should_be_next(page_task: Task) -> None:
    data = embedded_data(page_task.page())
    [facts] = data["runs"]
    assert facts["given"] == ["first", "second"]
    assert facts["names"] == {str(step): name for step, name in enumerate(STEPS, 1)}
    assert "first and second" in facts["learned_from"]
    assert facts["match"] == {"1": 1, "2": 2, "3": 3}
    # The suggestion is the same as on a terminal: videos without an annotation.
    names = [stem_of(video) for video in data["next"]["videos"]]
    said, command = f"Annotate next: {join_words(names)}", data["next"]["commands"][str(RUN)]
    terminal = suggestion(page_task.tree.keysteps(RUN))
    assert terminal[0].startswith(said)
    assert terminal[1].strip() == command
    words = shlex.split(command)
    chosen = [word for before, word in zip(words, words[1:], strict=False) if before == "--videos"]
    assert len(set(chosen)) == 3
    assert set(chosen) == {"third", "fourth one", "fifth"}


def test_what_taught_is_not_scored_and_says_how_well_it_labels_itself(tmp_path: Path) -> None:
    task = make_task(tmp_path, NAMES[:4], learned=3)
    [facts] = embedded_data(task.page())["runs"]
    assert facts["score_file"] == ""
    left_out = read_diagnostics(task.tree.at(paths.DIAGNOSTICS, RUN)).left_out
    right = left_out_sentence(left_out, 3)
    assert f"about {100 * left_out.frames_right:.0f} of 100 frames right" in right
    assert facts["learned_from"].endswith(right)
    assert procedure_lines(task.tree.keysteps(RUN))[1] == right
    # An annotated video that did not teach can be scored.
    manifest = task.tree.at(paths.MANIFEST)
    table = pd.read_csv(manifest)
    table["status"] = "ok"
    table.to_csv(manifest, index=False)
    [facts] = embedded_data(task.page())["runs"]
    assert facts["score_file"] == task.tree.at(paths.SCORES, RUN).as_posix()


def test_videos_annotated_since_are_not_suggested(page_task: Task, tmp_path: Path) -> None:
    manifest = page_task.tree.at(paths.MANIFEST)
    before = manifest.read_bytes()
    table = pd.read_csv(manifest)
    try:
        table.loc[table["video"] != "fifth", "status"] = "ok"
        table.to_csv(manifest, index=False)
        assert embedded_data(page_task.page())["next"]["commands"][str(RUN)].endswith(
            "to_annotate_fifth --videos fifth"
        )
        table["status"] = "ok"
        table.to_csv(manifest, index=False)
        assert embedded_data(page_task.page())["next"] is None
    finally:
        manifest.write_bytes(before)


@pytest.mark.skipif(WHERE is None, reason=WITHOUT)
def test_given_videos_are_marked_and_names_come_from_labels(browser: Browser, page_task: Task, tmp_path: Path) -> None:
    window = browser.window()
    page = page_task.page()
    window.open(page)
    assert "annotated videos" in window.get("byId('learned-from').textContent")
    assert "--videos" in window.get("byId('commands').textContent")
    heads = ".procedure .line h3"
    marked = (
        "[...document.querySelectorAll('{}')].filter((one) => one.innerText.includes('annotated'))"
        ".map((one) => one.firstChild.data.trim())"
    )
    assert window.get(marked.format(heads)) == ["first", "second"]
    assert sorted(window.get("[...document.querySelectorAll('.node .name')].map((one) => one.textContent)")) == sorted(
        STEPS
    )
    # The number of key steps is that of the labels, and no other can be asked for.
    tab(window, "tree")
    assert window.get("byId('cut').value") == str(len(STEPS))
    window.run("byId('cut').value = '2'; byId('cut').dispatchEvent(new Event('input'))")
    assert window.get("byId('cut-next').hidden")
    tab(window, "scores")
    said = window.get("byId('score-table').innerText")
    assert said.startswith(f"{RUN} has no score, because it learned from every annotated video. Learned from 2")
    assert "rgwot run" not in said
    window.run("DATA.runs[0].score_file = 'x.csv'; drawScores()")
    assert window.get("byId('score-table').innerText").endswith(f"for this page: {RUN}: rgwot run x.csv")
    # The result that learned from annotations is scored on other videos, so it is not ranked with other results.
    row = "{{ method: 'raw', decoder: '{}', kind: 'untrained', n: 1, mean: {{ '{}': {} }}, sd: {{}}, seeds: [] }}"
    key = "macro_task without exact f1"
    axes = "protocols: ['macro_task'], backgrounds: ['without'], rules: ['exact'], metrics: ['f1']"
    rows = f"{row.format(TAUGHT, key, 0.9)}, {row.format('kmeans', key, 0.5)}"
    window.run(f"DATA.videos[2].status = 'ok'; DATA.scores = {{ {axes}, rows: [{rows}] }}; startScores(); drawScores()")
    titles = window.get("[...document.querySelectorAll('.scores tbody th')].map((one) => one.textContent)")
    assert titles == [f"raw / {TAUGHT}, on 1 video that did not teach it", "raw / kmeans"]
    assert window.get("document.querySelector('.scores .best').textContent") == "50.0"
    tab(window, "videos")
    assert window.get(marked.format(".card h3")) == ["first", "second"]
    # Key steps are the annotated ones, so there is nothing to match.
    legend = window.get("[...byId('legend').children].map((one) => one.innerText)")
    assert sorted(text for text in legend if "background" not in text) == sorted(STEPS)
    assert window.get("[1, 2, 3].map((step) => lookOf(0, step).join() === lookOf(-1, step).join())") == [True] * 3
    # A typed name replaces that of the label, and the file has only typed names; once cleared, the label's is back.
    assert yaml.safe_load(window.get("namesFile()")) is None
    window.run("rename(0, 2, 'whisk'); namesChanged()")
    assert window.get("[nameOf(0, 2), nameOf(0, 1)]") == ["whisk", STEPS[0]]
    file = tmp_path / "tea.yaml"
    file.write_text(window.get("namesFile()"), encoding="utf-8")
    assert read_names(file)[str(RUN)].names == {2: "whisk"}
    assert embedded_data(page_task.page(file))["runs"][0]["names"]["2"] == "whisk"
    window.run("rename(0, 2, ''); namesChanged()")
    assert window.get("nameOf(0, 2)") == STEPS[1]
    assert window.errors == []
    window.run("localStorage.clear()")


def test_moments_are_a_table_whose_answers_are_marks(page_task: Task, tmp_path: Path) -> None:
    table = tmp_path / "moments.csv"
    lines = moment_suggestion(page_task.tree.keysteps(RUN), 4, table)
    assert lines[0].split() == ["video", "time_s", "label"]
    rows = pd.read_csv(table, keep_default_na=False)
    assert list(rows.columns) == ["video", "time_s", "label"]
    # Annotated videos have files of their own, which would take precedence.
    assert set(rows["video"]) <= {"third", "fourth one", "fifth"}
    assert [line.rsplit(maxsplit=1) for line in lines[1:5]] == [
        [video, f"{time_s:.3f}"] for video, time_s in zip(rows["video"], rows["time_s"], strict=True)
    ]
    assert len(read_annotation_file(table, marks=True)) == 0
    rows.loc[[0, 2], "label"] = ["pour", "-"]
    rows.to_csv(table, index=False)
    read = read_annotation_file(table, marks=True)
    assert read[["video", "label"]].to_numpy().tolist() == [
        [rows["video"][0], "pour"],
        [rows["video"][2], "background"],
    ]
    assert (read["start_s"] == read["end_s"]).all()
    assert read["start_s"].tolist() == rows["time_s"][[0, 2]].tolist()
    with pytest.raises(RgwotError, match=r"moments\.csv: exists, and may have answers"):
        moment_suggestion(page_task.tree.keysteps(RUN), 4, table)


def test_moments_of_a_result_that_was_deleted_are_refused_in_one_line(page_task: Task) -> None:
    gone = page_task.tree.keysteps(Run("raw", TAUGHT, 7))
    with pytest.raises(RgwotError, match="found no key steps, expected a folder such as") as error:
        moment_suggestion(gone, 10)
    assert "\n" not in str(error.value)
    with pytest.raises(RgwotError, match="moments: found 100000, expected at most"):
        moment_suggestion(page_task.tree.keysteps(RUN), 100_000)
