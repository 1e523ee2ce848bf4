"""`rgwot doctor`: every fault of a dataset with its place, whatever else is wrong, and an exit code."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from videos import truncate, write_video

from rgwot.cli import cli
from rgwot.doctor import as_json, as_text, examine
from rgwot.doctor.findings import RULES, escaped
from rgwot.doctor.machine import IMAGENET_FILE, feature_bytes, torch_cache
from rgwot.doctor.video import sample_positions, stated_frames
from rgwot.video import READERS, VideoInfo

FIXTURES = Path(__file__).parent / "fixtures" / "annotations"


def entry(root: Path | str, layout: str = "folder", **more: Any) -> dict[str, Any]:
    return {"layout": layout, "root": str(root), "settings": {"features": {"weights": "random"}}, **more}


def content(**datasets: dict[str, Any]) -> dict[str, Any]:
    return {"device": "cpu", "datasets": datasets}


def run(folder: Path, *arguments: str, **datasets: dict[str, Any]) -> tuple[int, str, str]:
    (folder / "config.yaml").write_text(yaml.safe_dump(content(**datasets)), encoding="utf-8")
    result = CliRunner().invoke(cli, ["doctor", *arguments, "--config", str(folder / "config.yaml"), "--jobs", "2"])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def said(report: Any, **wanted: Any) -> list[str]:
    """Return the messages of the findings with these attributes."""
    return [
        one.message for one in report.all_findings if all(getattr(one, key) == value for key, value in wanted.items())
    ]


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a video of 10 s at 30 frames per second."""
    return write_video(tmp_path_factory.mktemp("clip") / "clip.mp4", frames=300, fps=30, size=(32, 32))


@pytest.fixture
def tea(tmp_path: Path, clip: Path) -> Path:
    """Return a folder of two sound videos of one task."""
    for name in ("one", "two"):
        put(tmp_path / "root" / "tea" / f"{name}.mp4", clip.read_bytes())
        put(tmp_path / "root" / "tea" / f"{name}.csv", b"1,2,1 boil\n3,4.5,2 pour\n")
    return tmp_path / "root"


def put(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def cases(kind: str) -> list[dict[str, str]]:
    with (FIXTURES / "cases.csv").open(encoding="utf-8", newline="") as stream:
        return [case for case in csv.DictReader(stream) if case["kind"] == kind and "malformed" in case["path"]]


def test_a_sound_dataset_is_clean(tea: Path, tmp_path: Path) -> None:
    code, out, _ = run(tmp_path, "mine", "--json", str(tmp_path / "report.json"), mine=entry(tea))
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert code == 0
    assert report["findings"] == []
    (task,) = report["tasks"]
    assert (task["videos"], task["annotated"], task["skipped"]) == (2, 2, 0)
    assert task["fps"] == {"30": 2}
    assert task["seconds"] == pytest.approx(20, abs=0.1)
    assert task["step_ids"] == [1, 2]
    video = report["videos"][0]
    assert (video["width"], video["height"], video["frames"], video["decoded"]) == (32, 32, 300, 5)
    row = next(line.split() for line in out.splitlines() if line.startswith("tea"))
    assert row == ["tea", "2", "2", "0", "0.01", "30", "2/-", "0", "0"]


def check_outcomes(report: Any, kind: str, file_of: Callable[[str], str]) -> None:
    """Compare the findings with the expected outcome of every fixture: nothing hides anything else."""
    for case in cases(kind):
        file = file_of(Path(case["path"]).stem)
        errors = [one for one in report.all_findings if one.file == file and one.severity == "error"]
        warnings = [one for one in report.all_findings if one.file == file and one.severity == "warning"]
        assert bool(errors) == (case["outcome"] == "error"), (file, errors)
        if case["outcome"] != "error":
            assert bool(warnings) == (case["outcome"] in ("ok_warn", "skip")), (file, warnings)
        elif file.endswith("utf16.csv"):
            assert errors[0].rule == "encoding"
        else:
            assert all(error.line is not None for error in errors), errors
    assert all(one.rule in RULES for one in report.all_findings)


def test_every_malformed_file_is_reported_with_its_line(tmp_path: Path, clip: Path) -> None:
    annotations = tmp_path / "annotations" / "EGTEA_Gaze+" / "GreekSalad"
    videos = tmp_path / "videos" / "EGTEA_Gaze+" / "GreekSalad"
    for case in cases("ego"):
        # The task has four steps and the clip 300 frames at 30 per second, as the fixtures ask for.
        assert (case["fps"], case["n_frames"], case["K"]) == ("30", "300", "4")
        name = Path(case["path"]).stem
        put(annotations / f"{name}.csv", (FIXTURES / case["path"]).read_bytes())
        put(videos / f"{name}.mp4", clip.read_bytes())
    report = examine(content(egtea_gaze=entry(tmp_path, "egoprocel")), "EGTEA-Gaze", ["greek_salad"], jobs=2)
    check_outcomes(report, "ego", lambda name: f"annotations/EGTEA_Gaze+/GreekSalad/{name}.csv")
    status = {video.entry.name: video.status for video in report.videos}
    assert (status["crlf"], status["empty"], status["header"]) == ("ok", "unscored", "faulty")


def test_every_malformed_file_of_crosstask(tmp_path: Path) -> None:
    crosstask(tmp_path, 0, steps="a,b,c,d")
    for case in cases("ct"):
        name = Path(case["path"]).stem
        put(tmp_path / "videos" / "990001" / f"{name}.mp4", b"not opened")
        data = (FIXTURES / case["path"]).read_bytes()
        put(tmp_path / "crosstask_release" / "annotations" / f"990001_{name}.csv", data)
    report = examine(content(mine=entry(tmp_path, "crosstask")), "mine", quick=True)
    check_outcomes(report, "ct", lambda name: f"crosstask_release/annotations/990001_{name}.csv")
    assert "segments overlap" in said(report, rule="overlap", severity="note")[0]


def test_all_faults_of_a_file_not_only_the_first(tea: Path) -> None:
    rows = b"1,2\n3,2,1 a\n5,6,0 b\n-1,2,3 c\nx,y,2 d\n1,2,2 fine\n500,600,2 late\n7,7,2 short\n"
    put(tea / "tea" / "one.csv", rows)
    report = examine(content(mine=entry(tea)), "mine")
    found = [(one.line, one.rule, one.severity) for one in report.all_findings if one.file == "tea/one.csv"]
    assert sorted(found) == [
        (1, "columns", "error"),
        (2, "time_order", "error"),
        (3, "step", "error"),
        (4, "time", "error"),
        (5, "time", "error"),
        (7, "past_end", "error"),
        (8, "short", "warning"),
    ]


def test_quick_opens_no_video_and_still_reads_annotations(tea: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tea / "tea" / "one.csv", b"1,2,one boil\n500,600,2 late\n")
    monkeypatch.setattr("rgwot.video.probe", lambda *_: pytest.fail("a video was opened"))
    report = examine(content(mine=entry(tea)), "mine", quick=True)
    assert [(one.file, one.line, one.rule) for one in report.all_findings] == [("tea/one.csv", 1, "columns")]
    assert "no video was opened" in as_text(report)


def test_bad_videos_do_not_stop_the_others(tea: Path, clip: Path) -> None:
    folder = tea / "tea"
    truncate(clip, folder / "cut.mp4", 0.6)
    put(folder / "zero.mp4", b"")
    put(folder / "noise.mp4", b"\x00\x01noise" * 500)
    (folder / "link.mp4").symlink_to("nowhere.mp4")
    for name in ("cut", "zero", "noise", "link"):
        put(folder / f"{name}.csv", b"1,2,1 boil\n")
    report = examine(content(mine=entry(tea)), "mine", jobs=2)
    assert {video.entry.name: video.status for video in report.videos} == {
        "one": "ok", "two": "ok", "cut": "ok", "zero": "skipped", "noise": "skipped", "link": "skipped",
    }  # fmt: skip
    (early,) = said(report, file="tea/cut.mp4")
    assert "ffmpeg -i IN -map 0:v:0" in early
    # The last sample lies a second before the end of 10 s.
    assert re.search(r"no frame decodes at .*9\.\d\d s of 10\.\d\d s", early)
    assert "0 bytes" in said(report, file="tea/zero.mp4")[0]
    assert said(report, file="tea/noise.mp4", rule="video")
    assert said(report, file="tea/link.mp4", rule="video")
    assert report.exit_code() == 1
    quick = examine(content(mine=entry(tea)), "mine", quick=True)
    assert {video.entry.name for video in quick.videos if not video.usable} == {"zero", "link"}


def test_both_leftover_lists_and_videos_of_no_task(tea: Path, tmp_path: Path, clip: Path) -> None:
    put(tea / "tea" / "lonely.mp4", clip.read_bytes())
    put(tea / "tea" / "unused.csv", b"1,2,1 boil\n")
    put(tea / "stray.mp4", clip.read_bytes())
    code, out, _ = run(tmp_path, "mine", "--quick", mine=entry(tea))
    assert code == 0
    assert "tea: videos without annotation (1):\n  tea/lonely.mp4" in out
    assert "tea: annotations without a video (1):\n  tea/unused.csv" in out
    assert "videos of no known task (1):\n  stray.mp4" in out
    assert run(tmp_path, "mine", "--quick", "--strict", mine=entry(tea))[0] == 1
    # `strict` of the dataset makes them errors, as in the workflow.
    assert run(tmp_path, "mine", "--quick", mine=entry(tea, strict=True))[0] == 1


def test_own_videos_without_any_annotation_are_fine(tea: Path, tmp_path: Path) -> None:
    for path in (tea / "tea").glob("*.csv"):
        path.unlink()
    code, out, _ = run(tmp_path, "mine", "--quick", "--strict", mine=entry(tea))
    assert code == 0
    assert "none of 2 videos is annotated; everything but scoring works" in out


def test_one_video_is_too_few(tea: Path) -> None:
    (tea / "tea" / "two.mp4").write_bytes(b"")
    report = examine(content(mine=entry(tea)), "mine", quick=True)
    assert "1 usable video in" in said(report, rule="task", severity="error")[0]


def test_requests_that_cannot_be_met(tea: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def refused(*arguments: str, **datasets: dict[str, Any]) -> str:
        code, out, err = run(tmp_path, *arguments, **datasets)
        assert (code, out) == (2, "")
        assert err.startswith("rgwot: ")
        assert err.count("\n") == 1
        return err

    assert "did you mean 'mine'?" in refused("mime", mine=entry(tea))
    assert "did you mean 'tea'?" in refused("mine", "--task", "teaa", mine=entry(tea))
    assert "no folder" in refused("mine", mine=entry(tmp_path / "nowhere"))
    assert "rgwot synth" in refused("demo", demo=entry("results/synthetic/demo", synth={}))
    assert "layout 'foldr'" in refused("mine", mine=entry(tea, "foldr"))
    assert "unknown key" in refused("mine", mine=entry(tea, colour="red"))
    for text, clue in (("a: [", "no YAML"), ("- a", "expected keys")):
        bad = put(tmp_path / "bad.yaml", text.encode())
        assert clue in refused("mine", "--config", str(bad), mine=entry(tea))
    assert "cannot be read" in refused("mine", "--config", str(tmp_path / "none.yaml"), mine=entry(tea))


def test_later_configurations_change_single_keys(tea: Path, tmp_path: Path) -> None:
    first = put(tmp_path / "first.yaml", yaml.safe_dump(content(mine=entry("elsewhere"))).encode())
    second = put(tmp_path / "second.yaml", yaml.safe_dump({"datasets": {"mine": {"root": str(tea)}}}).encode())
    arguments = ["doctor", "mine", "--quick", "--config", str(first), "--config", str(second)]
    assert CliRunner().invoke(cli, arguments).exit_code == 0


def test_registered_counts_and_steps(tmp_path: Path, clip: Path) -> None:
    for number, rows in (("0003", b"0,1,1 a\n2,3,17 b\n"), ("0004", b"0,1,18 c\n2,3,2 d\n")):
        put(tmp_path / "videos" / "MECCANO" / f"{number}.mp4", clip.read_bytes())
        put(tmp_path / "annotations" / "MECCANO" / f"{number}.csv", rows)
    report = examine(content(meccano=entry(tmp_path, "egoprocel")), "meccano", quick=True)
    assert said(report, rule="task", severity="warning") == [
        "2 annotated videos, published were 17; results are not comparable as they are"
    ]
    assert said(report, rule="key_steps")[0].startswith("step 3-16 never occurs: 3 of 17")
    (unknown,) = [one for one in report.all_findings if one.rule == "step"]
    assert (unknown.file, unknown.line) == ("annotations/MECCANO/0004.csv", 1)


def test_a_registered_task_without_videos(tmp_path: Path, clip: Path) -> None:
    for number in ("07", "08"):
        take = f"S{number}_Eggs_7150991-1"
        put(tmp_path / "videos" / "CMU-MMAC" / f"{take}.avi", clip.read_bytes())
        put(tmp_path / "annotations" / "CMU-MMAC" / f"{take}.csv", b"0,1,9 a\n")
    config = content(cmu_mmac=entry(tmp_path, "egoprocel"))
    report = examine(config, "cmu_mmac", quick=True)
    assert {task.task: len(task.videos) for task in report.tasks}["Eggs"] == 2
    assert {one.task for one in report.all_findings if one.severity == "error"} == {
        "Brownie", "Sandwich", "Salad", "Pizza",
    }  # fmt: skip
    assert examine(config, "cmu_mmac", ["eggs"], quick=True).exit_code() == 0


def test_procel_faults_name_the_video(tmp_path: Path) -> None:
    tree = FIXTURES / "malformed" / "procel" / "ProceL_dataset"
    listed = {"end_before_start": 2, "no_steps": 2, "one_row_too_many": 3, "not_a_mat": 2}
    for task in listed:
        for name in ("readme.txt", "data.mat"):
            put(tmp_path / task / name, (tree / task / name).read_bytes())
        for line in (tree / task / "readme.txt").read_text(encoding="utf-8").splitlines():
            put(tmp_path / task / f"{line.split(chr(9))[1]}.mp4", b"\x00")
    report = examine(content(mine=entry(tmp_path, "procel")), "mine", quick=True)
    errors = {(one.task, one.rule) for one in report.all_findings if one.severity == "error"}
    assert errors == {
        ("end_before_start", "time_order"),
        ("one_row_too_many", "release"),
        ("not_a_mat", "release"),
    }
    # A file shared by the videos of a task complains once.
    assert len(said(report, task="one_row_too_many", severity="error")) == 1
    assert len(said(report, task="no_steps", rule="no_rows")) == 1
    (reversed_,) = [one for one in report.all_findings if one.rule == "time_order"]
    assert reversed_.where.startswith("video ")


def crosstask(root: Path, n_videos: int, steps: str = "pour,stir") -> None:
    block = f"990001\nMake it\nhttp://x\n{steps.count(',') + 1}\n{steps}\n"
    put(root / "crosstask_release" / "tasks_primary.txt", block.encode())
    for number in range(n_videos):
        name = f"{number:011d}"
        put(root / "videos" / "990001" / f"{name}.mp4", b"")
        put(root / "crosstask_release" / "annotations" / f"990001_{name}.csv", b"1,0.5,2\n2,2,3.5\n1,4,5\n")


def test_a_damaged_list_of_a_release_is_an_error_with_its_line(tmp_path: Path) -> None:
    crosstask(tmp_path, 2)
    put(tmp_path / "crosstask_release" / "tasks_primary.txt", b"990001\nMake it\nhttp://x\n3\npour,stir\n")
    report = examine(content(mine=entry(tmp_path, "crosstask")), "mine", quick=True)
    (one,) = report.all_findings
    assert (one.file, one.line, one.rule) == ("crosstask_release/tasks_primary.txt", 4, "release")
    assert report.exit_code() == 1
    assert json.loads(json.dumps(as_json(report)))["tasks"] == []
    assert "no task" in as_text(report)


def test_the_size_of_crosstask_takes_seconds(tmp_path: Path) -> None:
    crosstask(tmp_path, 2750)
    start = time.process_time()
    report = examine(content(mine=entry(tmp_path, "crosstask")), "mine", quick=True, jobs=4)
    taken = time.process_time() - start
    assert len(report.videos) == 2750
    assert report.count("error") == 2751
    assert taken < 20


def test_hostile_names_are_escaped_on_one_line(tea: Path, tmp_path: Path, clip: Path) -> None:
    for name in (b"evil\n\x1b[31m.mp4", b"caf\xe9.mp4", "\u202egnp.mp4".encode()):
        put(Path(os.fsdecode(os.path.join(os.fsencode(tea), b"tea", name))), clip.read_bytes())
    code, out, _ = run(tmp_path, "mine", "--quick", mine=entry(tea))
    assert code == 1
    assert r"tea/evil\n\x1b[31m.mp4:" in out
    assert r"tea/caf\udce9.mp4:" in out
    assert r"\u202egnp" in out
    assert not {"\x1b", "\u202e"} & set(out)
    code, out, _ = run(tmp_path, "mine", "--quick", "--json", "-", mine=entry(tea))
    names = {one["file"] for one in json.loads(out)["findings"] if one["rule"] == "name"}
    assert names == {"tea/evil\n\x1b[31m.mp4", "tea/caf\udce9.mp4"}
    # The rest of the task is examined as if they were not there.
    assert json.loads(out)["tasks"][0]["annotated"] == 2


def test_escaped_leaves_letters_alone() -> None:
    assert escaped("Ärger 火\t\x00") == r"Ärger 火\t\x00"


def test_long_lists_are_cut_for_people_only(tea: Path) -> None:
    put(tea / "tea" / "one.csv", b"1;2;1 a\n" * 40)
    for number in range(25):
        put(tea / "tea" / f"unused{number:02d}.csv", b"")
    report = examine(content(mine=entry(tea)), "mine", quick=True)
    text, values = as_text(report), as_json(report)
    assert "  and 30 more (--json lists all)" in text
    assert "  and 5 more (--json lists all)" in text
    assert len([one for one in values["findings"] if one["rule"] == "columns"]) == 40
    assert len(values["tasks"][0]["annotations_without_video"]) == 25


def test_missing_features_made_elsewhere(tea: Path, tmp_path: Path) -> None:
    put(tmp_path / "features" / "tea" / "one.npy", b"")
    imported = {"folder": str(tmp_path / "features"), "axes": "TC", "fps": 2}
    report = examine(content(mine=entry(tea, imported=imported)), "mine", quick=True)
    assert [(one.rule, one.file) for one in report.all_findings] == [("features", "tea/two.mp4")]


def test_weights_and_disk_space(tea: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rgwot.settings import FeatureSettings

    # Two videos of 10 s at 2 per second, 11 x 11 maps of 1024 channels, two bytes each.
    assert feature_bytes([10.0, 10.0], FeatureSettings()) == 40 * 1024 * 11 * 11 * 2
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1000}))
    weights = {"features": {"weights": str(tmp_path / "none.pth")}}
    report = examine(content(mine=entry(tea) | {"settings": weights}), "mine")
    assert "none.pth" in said(report, rule="machine", severity="error")[0]
    assert "are free" in said(report, rule="machine", severity="warning")[0]
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    default = content(mine={"layout": "folder", "root": str(tea)})
    assert "downloads" in said(examine(default, "mine", quick=True), rule="machine", severity="note")[0]
    put(tmp_path / "hub" / "checkpoints" / IMAGENET_FILE, b"")
    assert not examine(default, "mine", quick=True).all_findings


def test_the_cache_of_weights_is_torchs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import torch.hub
    from torchvision.models import ResNet50_Weights

    assert ResNet50_Weights.IMAGENET1K_V1.url.endswith(f"/{IMAGENET_FILE}")
    for variable in ("TORCH_HOME", "XDG_CACHE_HOME"):
        assert torch_cache() == Path(torch.hub.get_dir()) / "checkpoints"
        monkeypatch.setenv(variable, str(tmp_path / variable))
    assert torch_cache() == Path(torch.hub.get_dir()) / "checkpoints"


def test_keys_of_the_json_are_stable(tea: Path) -> None:
    """Programs rely on them; whoever changes one raises `rgwot.doctor.report.SCHEMA`."""
    values = as_json(examine(content(mine=entry(tea, synth=None)), "mine", quick=True))
    put(tea / "tea" / "one.csv", b"1,2\n")
    finding = as_json(examine(content(mine=entry(tea)), "mine", quick=True))["findings"][0]
    assert values["schema"] == 1
    assert list(values) == [
        "schema", "rgwot", "dataset", "layout", "root", "searched", "quick", "exit_code", "errors", "warnings", "notes",
        "tasks", "videos", "unassigned", "machine", "rules", "findings",
    ]  # fmt: skip
    assert list(values["tasks"][0]) == [
        "task", "problem", "videos", "annotated", "skipped", "published", "seconds", "fps", "K_registered", "K_found",
        "step_ids", "never", "segments", "overlaps", "overlap_s", "videos_without_annotation",
        "annotations_without_video", "errors", "warnings",
    ]  # fmt: skip
    assert list(values["videos"][0]) == [
        "task", "video", "name", "path", "annotation", "status", "size_bytes", "duration_s", "fps", "width", "height",
        "rotation", "codec", "frames", "samples", "decoded", "reader", "segments", "step_ids",
    ]  # fmt: skip
    assert list(finding) == ["severity", "rule", "task", "file", "line", "where", "message"]
    assert (finding["file"], finding["line"]) == ("tea/one.csv", 1)


def test_the_order_of_the_report_does_not_depend_on_threads(tea: Path, clip: Path) -> None:
    for number in range(8):
        put(tea / "tea" / f"v{number}.mp4", clip.read_bytes() if number == 3 else b"")
        put(tea / "tea" / f"v{number}.csv", b"1,2\n3,4\n")
    config = content(mine=entry(tea))
    one_by_one, together = (as_json(examine(config, "mine", jobs=jobs)) for jobs in (1, 4))
    for values in (one_by_one, together):
        del values["machine"]["free_bytes"]
    assert one_by_one == together


@pytest.mark.parametrize(
    ("layout", "dataset", "task"), [("folder", "mine", "tea"), ("egoprocel", "meccano", "meccano")]
)
def test_synthetic_trees_are_clean(tmp_path: Path, layout: str, dataset: str, task: str) -> None:
    from rgwot.synthetic.settings import SynthSettings
    from rgwot.synthetic.write import write_dataset

    written = task if layout == "folder" else f"{dataset}/{task}"
    told = {"layout": layout, "tasks": (written,), "n_videos": 2, "min_s": 4, "max_s": 5, "width": 64, "height": 64}
    write_dataset(SynthSettings.model_validate(told), tmp_path / "root")
    report = examine(content(**{dataset: entry(tmp_path / "root", layout)}), dataset)
    assert report.count("error") == 0
    assert [video.status for video in report.videos] == ["ok", "ok"]
    assert all(video.facts.decoded == 5 for video in report.videos)


@pytest.mark.parametrize(("frames", "faulty"), [(300, False), (271, False), (331, True), (260, True), (None, False)])
def test_stated_frames_agree_with_the_duration(frames: int | None, faulty: bool) -> None:
    """Within one second of 10 s at 30 per second: 270 to 330 frames."""
    info = VideoInfo(10.0, Fraction(30), 32, 32, frames, 0, "h264")
    found = stated_frames("one.mp4", "tea", info)
    assert [one.rule for one in found] == ["frames"] * faulty
    assert all("ffmpeg -i IN" in one.message for one in found)


def test_samples_reach_as_far_as_the_rule_asks() -> None:
    """The last sample leaves 1 s, or 1 % where that is more; half of the shortest videos."""
    assert sample_positions(10.0).tolist() == pytest.approx([0, 2.25, 4.5, 6.75, 9.0])
    assert sample_positions(1000.0)[-1] == pytest.approx(990.0)
    assert sample_positions(0.1)[-1] == pytest.approx(0.05)


def test_the_second_reader_is_a_note(tea: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rgwot.doctor.video._FIRST", "nothing_like_it")
    monkeypatch.setitem(READERS, "nothing_like_it", "numpy")
    report = examine(content(mine=entry(tea)), "mine")
    notes = said(report, rule="frames", severity="note")
    assert len(notes) == 2
    assert notes[0].startswith("read by pyav because of nothing_like_it: the decoder died")
    assert report.exit_code(strict=True) == 0
    assert {(video.facts.reader, video.facts.decoded) for video in report.videos} == {("pyav", 5)}


def test_stored_frames(tmp_path: Path) -> None:
    for name in ("one", "two"):
        path = tmp_path / "root" / "tea" / f"{name}.h5"
        path.parent.mkdir(parents=True, exist_ok=True)
        with h5py.File(path, "w") as file:
            file["images"] = np.zeros((40, 8, 8, 3), np.uint8)
    report = examine(content(mine=entry(tmp_path / "root", frames_fps=10)), "mine")
    assert report.count("error") == 0
    assert {(video.facts.duration_s, video.facts.decoded) for video in report.videos} == {(4.0, 5)}


def test_letters_a_terminal_lacks(tea: Path, tmp_path: Path, clip: Path) -> None:
    put(tea / "tea" / "grün.mp4", clip.read_bytes())
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(content(mine=entry(tea))), encoding="utf-8")
    command = [sys.executable, "-m", "rgwot.cli", "doctor", "mine", "--quick"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert done.returncode == 0
    assert rb"tea/gr\xfcn.mp4" in done.stdout
    assert b"Traceback" not in done.stderr
