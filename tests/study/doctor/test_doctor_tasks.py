"""Tasks and releases as a whole: what is left over, missing, or other than published."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from doctor_helpers import FIXTURES, cases, content, crosstask, entry, put, run, said

from rgwot.cli import cli
from rgwot.study.doctor import examine
from rgwot.study.findings import as_json, as_text


def test_both_leftover_lists_and_videos_of_no_task(tea: Path, tmp_path: Path, clip: Path) -> None:
    put(tea / "tea" / "lonely.mp4", clip.read_bytes())
    put(tea / "tea" / "unused.csv", b"1,2,1 boil\n")
    put(tea / "stray.mp4", clip.read_bytes())
    code, out, _ = run(tmp_path, "mine", "--quick", mine=entry(tea))
    assert code == 0
    lonely = "1 videos without annotation, taught by the annotated ones in `rgwot run first`, not scored, such as"
    assert f"note: task tea: {lonely} tea/lonely.mp4" in out
    assert "1 annotations without a video, left out, such as tea/unused.csv" in out
    assert "1 videos belong to no known task and are ignored, such as stray.mp4" in out
    assert run(tmp_path, "mine", "--quick", "--strict", mine=entry(tea))[0] == 1
    # `strict` of the dataset makes them errors, as in the workflow.
    assert run(tmp_path, "mine", "--quick", mine=entry(tea, strict=True))[0] == 1
    # Where nothing at all is annotated, nothing is left over.
    for path in (tea / "stray.mp4", *(tea / "tea").glob("*.csv")):
        path.unlink()
    code, out, _ = run(tmp_path, "mine", "--quick", "--strict", mine=entry(tea))
    assert code == 0
    assert "none of 3 videos is annotated" in out


def test_names_that_differ_only_in_case_are_told(tea: Path) -> None:
    first, second = sorted((tea / "tea").glob("*.csv"))[:2]
    first.write_text("start_s,end_s,label\n0.1,0.3,Boil water\n0.3,0.4,pour\n")
    second.write_text("start_s,end_s,label\n0.1,0.3,boil water\n0.3,0.4,pour\n")
    told = said(examine(content(mine=entry(tea)), "mine", quick=True), rule="key_steps", severity="warning")
    assert told == [
        "steps 'Boil water', 'boil water' count as different; if they are one step, write its name in one way"
    ]


def test_one_video_is_enough_without_training_and_none_is_too_few(tea: Path) -> None:
    first, second = sorted((tea / "tea").glob("*.mp4"))[:2]
    first.write_bytes(b"")
    report = examine(content(mine=entry(tea)), "mine", quick=True)
    assert not said(report, rule="task", severity="error")
    assert "need at least 2" in said(report, rule="task", severity="warning")[0]
    second.write_bytes(b"")
    report = examine(content(mine=entry(tea)), "mine", quick=True)
    assert "0 usable videos in" in said(report, rule="task", severity="error")[0]


def test_a_brace_in_a_file_name_is_an_error_that_names_it(tea: Path) -> None:
    one = next((tea / "tea").glob("*.mp4"))
    one.rename(one.with_name("a{b}.mp4"))
    report = examine(content(mine=entry(tea)), "mine", quick=True)
    assert ["a{b}.mp4" in text and "rename" in text for text in said(report, rule="name", severity="error")] == [True]


@pytest.mark.parametrize(
    ("lengths", "warned", "noted"),
    [
        # One recording of four cut into halves, with names that say so, and with others.
        ({"r0a": 5, "r0b": 5, "r1": 10, "r2": 11, "r3": 9}, ["r0a, r0b"], []),
        ({"GX010007": 6, "GX020007": 3, "GX010008": 10}, ["GX010007, GX020007"], []),
        ({"monday": 5, "tuesday": 10, "friday": 10, "r2": 11, "r3": 9}, [], ["monday"]),
        ({"monday": 20, "tuesday": 10, "friday": 10, "r2": 11, "r3": 9}, [], ["monday"]),
        # Whole takes, and lengths as they come.
        ({"r0a": 10, "r0b": 9, "r1": 10, "r2": 11, "r3": 9}, [], []),
        ({"r0a": 5, "r0b": 9, "r1a": 10, "r1b": 5, "r3a": 7, "r3b": 6}, [], []),
        ({"a": 6, "b": 8, "c": 10, "d": 13, "e": 16, "f": 20}, [], []),
    ],
)
def test_parts_of_recordings_are_told(
    tmp_path: Path, lengths: dict[str, int], warned: list[str], noted: list[str]
) -> None:
    (tmp_path / "tea").mkdir()
    for name, length in lengths.items():
        np.save(tmp_path / f"tea/{name}.npy", np.random.default_rng(length).normal(size=(length, 4)))
    form = {"layout": "features", "root": str(tmp_path), "imported": {"axes": "TC", "fps": 1}}
    report = examine(content(mine=form), "mine")
    assert [text.split(":")[0] for text in said(report, rule="length", severity="warning")] == warned
    assert [text.split(" s: ")[1].split(" (")[0] for text in said(report, rule="length", severity="note")] == noted


def test_without_a_dataset_those_of_the_page_are_checked(tea: Path) -> None:
    (tea / "config.yaml").write_text(
        yaml.safe_dump({**content(mine=entry(tea), others=entry(tea)), "page": {"datasets": ["mine", "others"]}})
    )
    result = CliRunner().invoke(cli, ["doctor", "--quick", "--config", str(tea / "config.yaml")])
    assert "mine: layout folder" in result.stdout
    assert "others: layout folder" in result.stdout


def test_registered_counts_and_steps(tmp_path: Path, clip: Path) -> None:
    for number, rows in (("0003", b"0,1,1 a\n2,3,17 b\n"), ("0004", b"0,1,18 c\n2,3,2 d\n")):
        put(tmp_path / "videos" / "MECCANO" / f"{number}.mp4", clip.read_bytes())
        put(tmp_path / "annotations" / "MECCANO" / f"{number}.csv", rows)
    report = examine(content(meccano=entry(tmp_path, "egoprocel")), "meccano", quick=True)
    assert said(report, rule="task", severity="warning") == [
        "2 annotated videos, published results used 17, so they are not comparable"
    ]
    assert said(report, rule="key_steps")[0].startswith("step 3-16 never occurs: 3 of 17")
    (unknown,) = [one for one in report.findings if one.rule == "step"]
    assert (unknown.file, unknown.line) == ("annotations/MECCANO/0004.csv", 1)


def test_a_registered_task_without_videos(tmp_path: Path, clip: Path) -> None:
    for number in ("07", "08"):
        take = f"S{number}_Eggs_7150991-1"
        put(tmp_path / "videos" / "CMU-MMAC" / f"{take}.avi", clip.read_bytes())
        put(tmp_path / "annotations" / "CMU-MMAC" / f"{take}.csv", b"0,1,9 a\n")
    config = content(cmu_mmac=entry(tmp_path, "egoprocel"))
    report = examine(config, "cmu_mmac", quick=True)
    assert {task.task: len(task.videos) for task in report.tasks}["Eggs"] == 2
    assert {one.task for one in report.findings if one.severity == "error"} == {
        "Brownie", "Sandwich", "Salad", "Pizza",
    }  # fmt: skip
    assert examine(config, "cmu_mmac", ["eggs"], quick=True).exit_code() == 0


def test_a_damaged_list_of_a_release_is_an_error_with_its_line(tmp_path: Path) -> None:
    crosstask(tmp_path, 2)
    put(tmp_path / "crosstask_release" / "tasks_primary.txt", b"990001\nMake it\nhttp://x\n3\npour,stir\n")
    report = examine(content(mine=entry(tmp_path, "crosstask")), "mine", quick=True)
    (one,) = report.findings
    assert (one.file, one.line, one.rule) == ("crosstask_release/tasks_primary.txt", 4, "release")
    assert report.exit_code() == 1
    assert json.loads(json.dumps(as_json(report)))["tasks"] == []
    assert "no task" in as_text(report)


def test_every_list_among_the_fixtures(tmp_path: Path) -> None:
    for case in cases("tasks"):
        root = tmp_path / Path(case["path"]).name
        crosstask(root, 2)
        name = "crosstask_release/tasks_primary.txt"
        put(root / name, (FIXTURES / case["path"]).read_bytes())
        report = examine(content(mine=entry(root, "crosstask")), "mine", quick=True)
        errors = [one for one in report.findings if one.file == name and one.severity == "error"]
        assert bool(errors) == (case["outcome"] == "error"), case["path"]
        assert all(one.line for one in errors)


def test_missing_features_made_elsewhere(tea: Path, tmp_path: Path) -> None:
    put(tmp_path / "features" / "tea" / "one.npy", b"")
    imported = {"folder": str(tmp_path / "features"), "axes": "TC", "fps": 2}
    report = examine(content(mine=entry(tea, imported=imported)), "mine", quick=True)
    assert [(one.rule, one.file) for one in report.findings] == [("features", "tea/two.mp4")]


@pytest.mark.parametrize(
    ("layout", "dataset", "task"), [("folder", "mine", "tea"), ("egoprocel", "meccano", "meccano")]
)
def test_synthetic_trees_are_clean(tmp_path: Path, layout: str, dataset: str, task: str) -> None:
    from synthetic_trees import TreeSettings, write_tree

    from rgwot.config.configuration import SynthSettings
    from rgwot.synthetic.videos import write_dataset

    values = {"layout": layout, "n_videos": 2, "min_s": 4, "max_s": 5, "width": 64, "height": 64}
    if layout == "folder":
        write_dataset(SynthSettings.model_validate({**values, "tasks": (task,)}), tmp_path / "root")
    else:
        write_tree(TreeSettings.model_validate({**values, "tasks": (f"{dataset}/{task}",)}), tmp_path / "root")
    report = examine(content(**{dataset: entry(tmp_path / "root", layout)}), dataset)
    assert report.count("error") == 0
    assert [video.status for video in report.videos] == ["ok", "ok"]
    assert all(video.facts.decoded == 5 for video in report.videos)


@pytest.mark.parametrize(
    ("text", "column", "severity", "expected"),
    [
        ("Video ; Group\n0;a\n1.mp4;b\n", "group", "note", "groups by group: a 1, b 1; 0 of 2 videos have no group"),
        (
            "video,surgeon\n0,Ann\n1,Bo\n",
            "surgeon",
            "note",
            "groups by surgeon: Ann 1, Bo 1; 0 of 2 videos have no group",
        ),
        ("video,group\n0,a\n", "group", "error", "groups by group: a 1; 1 of 2 videos have no group"),
        (
            "video,group\n0,a\n1,b\n9,b\n",
            "group",
            "warning",
            "1 of 3 rows name no video of this task, such as '9'",
        ),
        ("video,surgeon\n0,a\n1,b\n", "group", "warning", "no column 'group', so the page compares .* surgeon"),
        ("name,group\n0,a\n", "group", "error", "no column video; expected it and others"),
    ],
)
def test_the_groups_of_the_videos(tea: Path, text: str, column: str, severity: str, expected: str) -> None:
    for number, video in enumerate(sorted((tea / "tea").glob("*.mp4"))):
        for file in (video, video.with_suffix(".csv")):
            file.rename(file.with_stem(str(number)))
    (tea / "tea/videos.csv").write_text(text)
    report = examine(content(mine=entry(tea, group=column)), "mine", quick=True)
    assert any(re.search(expected, line) for line in said(report, rule="groups", severity=severity))


@pytest.mark.parametrize(
    ("decoder", "settings", "expected"),
    [
        # Videos of 10 s have 21 samples at 2 per second.
        ("consensus@K=10", {}, ""),
        ("consensus@K=11", {}, "rgwot-plus/consensus@K=11: K = 11: a video has 21 samples .* expected K of 10 or less"),
        ("consensus", {"decode": {"K": 500}}, "K = 500: a video has 21 samples"),
        ("consensus", {"decode": {"K": 500}, "features": {"fps": 120}}, ""),
        ("consensus@K=gt", {"decode": {"K": 500}}, ""),
    ],
)
def test_a_number_of_key_steps_with_hardly_a_sample_each_is_questioned(
    tea: Path, decoder: str, settings: dict[str, Any], expected: str
) -> None:
    own = entry(tea, page_methods=[f"rgwot-plus/{decoder}"])
    for block, keys in settings.items():
        own["settings"].setdefault(block, {}).update(keys)
    questions = said(examine(content(mine=own), "mine"), rule="key_steps", severity="warning")
    assert len(questions) == bool(expected)
    assert all(re.search(expected, line) for line in questions)
