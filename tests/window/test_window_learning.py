"""Answers of the server equal results of the workflow."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from page_tree import STEPS, make_task
from page_tree import Task as TaskFolder

from rgwot import paths
from rgwot.datasets.manifest import write_manifest
from rgwot.paths import Run
from rgwot.stages.decode import decode, write_keysteps
from rgwot.study.jobs import decoder_for
from rgwot.study.pages import names_file
from rgwot.study.study import Study, Task
from rgwot.window.learning import JUST_LEARNED, Learner
from rgwot.window.saving import Saving
from rgwot.window.study_files import contents

CONFIG = {
    "datasets": {"mine": {"layout": "folder", "root": "videos"}}, "seeds": [0],
    "page": {"datasets": ["mine"], "methods": ["raw/meanfield"]},
}  # fmt: skip
RUN = Run("raw", "labelled", 0)
MARKS = "start_s,end_s,label\n0.8,,{}\n2.8,,{}\n4.6,,{}\n".format(*STEPS)
SEGMENTS = "start_s,end_s,label\n0,1.7,{}\n1.7,3.4,{}\n3.4,6,-\n".format(*STEPS)


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> TaskFolder:
    """Return a study of three videos, of which the first is annotated, with embeddings that show the true steps."""
    return make_task(tmp_path_factory.mktemp("study"), learned=1)


@pytest.fixture(autouse=True)
def there(task: TaskFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(task.folder)


def by_the_workflow(folder: Path) -> bytes:
    """Return segments.csv as the jobs `manifest` and `decode` write it."""
    study = Study.of(CONFIG)
    write_manifest("mine", "tea", "videos", "folder", {}, folder / "m.csv", folder / "a.csv", "fail")
    decoder = decoder_for(Task(study, "mine", "tea"), RUN.method, RUN.decoder)
    store = paths.at(paths.EMBEDDINGS, method="raw", dataset="mine", task="tea", seed=0)
    decode(store, folder / "found", decoder, 0, annotations_csv=folder / "a.csv")
    return (folder / "found" / "segments.csv").read_bytes()


def test_segments_are_equal_to_the_byte_also_after_more_labels(task: TaskFolder, tmp_path: Path) -> None:
    learner, root = Learner("mine", "tea"), task.root / "tea"
    for name, text in (("", ""), ("second", MARKS), ("second", SEGMENTS), ("third", MARKS)):
        if name:
            (root / f"{name}.csv").write_text(text)
        study = Study.of(CONFIG)
        assert learner.labelled_run(study) == RUN
        write_keysteps(tmp_path / "here", learner.key_steps(study, RUN))
        assert (tmp_path / "here" / "segments.csv").read_bytes() == by_the_workflow(tmp_path)


def test_an_answer_has_what_the_page_shows(task: TaskFolder) -> None:
    answer = Learner("mine", "tea").learned(Study.of(CONFIG))
    assert answer is not None
    assert answer["facts"]["id"] == str(RUN)
    assert "first" in answer["facts"]["given"]
    assert set(answer["body"]["segments"]) == {"0", "1", "2"}
    assert list(answer["steps"].values()) == list(STEPS)
    assert answer["status"][0] == ["ok", ""]
    assert len(answer["truth"]) == 3
    assert 'class="procedure"' in answer["picture"]
    assert answer["facts"]["folder"] == "results/keysteps/raw/labelled/mine/tea/seed0"


def test_changes_are_reported_by_name_and_settle(task: TaskFolder) -> None:
    for other in ("second", "third"):
        (task.root / "tea" / f"{other}.csv").unlink(missing_ok=True)
    learner, study = Learner("mine", "tea"), Study.of(CONFIG)
    first = learner.learned(study)
    assert first is not None
    assert (first["changed"], first["share"], first["settled"]) == ({}, None, False)
    again = [learner.learned(study) for _ in range(3)]
    assert [one and (one["changed"], one["share"], one["settled"]) for one in again] == [
        ({}, 0.0, False), ({}, 0.0, False), ({}, 0.0, True)
    ]  # fmt: skip
    # Another name for a step is another label, and only its samples change.
    own = task.root / "tea" / "first.csv"
    before = own.read_text()
    own.write_text(before.replace(f"1 {STEPS[0]}", "1 fill the pot"))
    renamed = learner.learned(Study.of(CONFIG))
    own.write_text(before)
    assert renamed is not None
    assert renamed["settled"] is False
    assert renamed["changed"]["first"][0] == pytest.approx([500, 1700], abs=200)


def test_questions_are_about_samples_without_a_label(task: TaskFolder) -> None:
    for other in ("second", "third"):
        (task.root / "tea" / f"{other}.csv").unlink(missing_ok=True)
    asked = Learner("mine", "tea").question(Study.of(CONFIG), 2)
    assert len(asked) == 2
    assert {one["video"] for one in asked} <= {"second", "third"}
    assert all(0 <= one["time_s"] <= 6 for one in asked)


def test_without_labels_there_is_no_answer_but_questions_and_numbers(task: TaskFolder) -> None:
    own = task.root / "tea" / "first.csv"
    text = own.read_text()
    own.unlink()
    try:
        study, learner = Study.of(CONFIG), Learner("mine", "tea")
        assert learner.learned(study) is None
        assert len(learner.question(study, 1)) == 1
        three, four = (learner.with_K(study, K) for K in (3, 4))
        assert (three["facts"]["K"], four["facts"]["K"]) == (3, 4)
        assert learner.with_K(study, 3)["facts"]["result"] == three["facts"]["result"]
        # Key steps are cached; names typed meanwhile are read from the file.
        names = Path(names_file(Task(study, "mine", "tea")))
        names.parent.mkdir(parents=True)
        names.write_text(f'raw/meanfield/seed0: {{result: "{three["facts"]["result"]}", names: {{2: stir}}}}\n')
        assert learner.with_K(study, 3)["facts"]["names"] == {"2": "stir"}
    finally:
        own.write_text(text)
        os.utime(own)


def test_deviations_are_not_stated_as_sure_before_a_run_decided_on_them(task: TaskFolder, tmp_path: Path) -> None:
    for other in ("second", "third"):
        (task.root / "tea" / f"{other}.csv").unlink(missing_ok=True)
    learner, study = Learner("mine", "tea"), Study.of(CONFIG)
    answer = learner.learned(study)
    assert answer is not None
    told = answer["picture"].count('class="deviation')
    assert answer["picture"].count("not checked</span>") == told
    assert answer["picture"].count("nothing found yet") + (told > 0) > 0
    # The files of a run are shown if they were made from the present labels, but not after a label is added.
    by_the_workflow(tmp_path)
    shutil.rmtree(task.tree.keysteps(RUN))
    shutil.copytree(tmp_path / "found", task.tree.keysteps(RUN))
    decided = learner.written(study)
    assert decided is not None
    assert "not checked" not in decided["picture"]
    assert decided["body"] == answer["body"]
    (task.root / "tea" / "second.csv").write_text(SEGMENTS)
    try:
        learner.learned(study)
        assert learner.written(study) is None
    finally:
        (task.root / "tea" / "second.csv").unlink()


def test_until_a_run_has_checked_labels_what_was_known_before_them_is_told(task: TaskFolder, tmp_path: Path) -> None:
    def warnings() -> list[str]:
        answer = Learner("mine", "tea").learned(Study.of(CONFIG))
        assert answer is not None
        told: list[str] = answer["facts"]["warnings"]
        return told

    by_the_workflow(tmp_path)
    written = task.tree.keysteps(RUN)
    shutil.rmtree(written, ignore_errors=True)
    assert warnings()[0] == JUST_LEARNED
    shutil.copytree(tmp_path / "found", written)
    file = written / "diagnostics.json"
    left_out = {"videos": ["first", "second", "third"], "frames_right": 0.85, "shares": [0.7, 0.9, 0.95]}
    file.write_text(json.dumps(json.loads(file.read_text()) | {"left_out": left_out}))
    assert warnings()[0] == JUST_LEARNED
    assert "85 of 100 frames" in warnings()[1]


def test_a_table_of_groups_is_given_as_it_is(task: TaskFolder) -> None:
    table, study = task.root / "tea" / "videos.csv", Study.of(CONFIG)

    def group_table() -> dict[str, Any]:
        content: dict[str, Any] = contents(study, Saving(), "", "mine", "tea", "groups")["groups"]["content"]
        return content

    empty = {"column": "group", "columns": ["video", "group"], "rows": [], "row_of": {}}
    assert group_table() == empty
    table.write_text("video;age;task\nsecond.mp4;30;tea\nfirst;40;coffee\n")
    try:
        given = group_table()
    finally:
        table.unlink()
    assert given["columns"] == ["video", "age", "task", "group"]
    assert given["rows"] == [["second.mp4", "30", "tea", ""], ["first", "40", "coffee", ""]]
    # A row of another task does not belong to the video of this name.
    assert given["row_of"] == {"second": 0}


def test_a_video_with_marks_is_not_called_annotated(task: TaskFolder) -> None:
    (task.root / "tea" / "third.csv").unlink(missing_ok=True)
    (task.root / "tea" / "second.csv").write_text(MARKS)
    answer = Learner("mine", "tea").learned(Study.of(CONFIG))
    assert answer is not None
    assert answer["facts"]["given"] == ["first", "second"]
    badges = dict(re.findall(r"<h3>(\w+)(.*?)</h3>", answer["picture"]))
    assert ["annotated" in badges[video] for video in ("first", "second", "third")] == [True, False, False]
