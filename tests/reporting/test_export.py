"""Exports of results to other programs, read back by independent parsers if there are any."""

from __future__ import annotations

import json
import math
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import av
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image
from pympi import Eaf
from videos import write_video

from rgwot.cli import cli
from rgwot.datasets.annotation_files import read_annotation_file
from rgwot.datasets.manifest import write_manifest
from rgwot.datasets.names import video_id
from rgwot.names import as_named, names_text
from rgwot.procedure import Deviation
from rgwot.reporting.export import (
    ExportedVideo,
    LabelledSegment,
    export,
    export_keysteps,
    read_videos,
    texts,
    videos_of,
)
from rgwot.reporting.export.texts import clock
from rgwot.runtime.errors import RgwotError
from rgwot.video.frames import cut

NAME = 'pour <b>"oil"</b> & stir'
VIDEOS = [
    ExportedVideo(
        "a",
        Path("films/a.mp4"),
        12.0,
        30.0,
        (64, 48),
        (
            LabelledSegment(0.5, 2.0, 1, NAME),
            LabelledSegment(2.0, 3.25, 2, "key step 2"),
            LabelledSegment(4.0, 12.0004, 1, NAME),
        ),
    ),
    ExportedVideo("b", Path("films/b.mp4"), 5.0, 25.0, (64, 48), ()),
]


def test_elan(tmp_path: Path) -> None:
    export("elan", VIDEOS, tmp_path / "out")
    document = Eaf(tmp_path / "out/a.eaf")
    found = sorted(document.get_annotation_data_for_tier("key steps"))
    assert found == [(500, 2000, NAME), (2000, 3250, "key step 2"), (4000, 12000, NAME)]
    (media,) = document.get_linked_files()
    assert (media["MEDIA_URL"], media["MIME_TYPE"]) == ("films/a.mp4", "video/mp4")
    # The vocabulary of the tier has the names of key steps in all videos.
    _, entries, _ = document.controlled_vocabularies["key steps"]
    assert sorted(values[0][0] for values, _ in entries.values()) == ["key step 2", NAME]
    # Annotations refer to entries of the vocabulary, so renaming an entry in ELAN renames them, too.
    names = {entry: values[0][0] for entry, (values, _) in entries.items()}
    for annotation in ElementTree.parse(tmp_path / "out/a.eaf").iter("ALIGNABLE_ANNOTATION"):
        assert names[annotation.attrib["CVE_REF"]] == annotation.findtext("ANNOTATION_VALUE")
    kind = document.get_parameters_for_tier("key steps")["LINGUISTIC_TYPE_REF"]
    assert document.get_parameters_for_linguistic_type(kind)["CONTROLLED_VOCABULARY_REF"] == "key steps"
    assert Eaf(tmp_path / "out/b.eaf").get_annotation_data_for_tier("key steps") == []
    # Features without a video are not linked as a video.
    alone = replace(VIDEOS[0], path=Path("features/a.npy"), size=(math.nan, math.nan))
    export("elan", [alone], tmp_path / "alone")
    document = Eaf(tmp_path / "alone/a.eaf")
    assert document.get_linked_files() == []
    assert len(document.get_annotation_data_for_tier("key steps")) == 3


def test_one_video_is_exported_with_all_key_steps_of_the_result(tmp_path: Path) -> None:
    rows = [("a", 0.0, 1.0, 1), ("b", 0.0, 1.0, 2), ("b", 1.0, 2.0, 3)]
    videos = videos_of(pd.DataFrame(rows, columns=["video", "start_s", "end_s", "key_step"]), names={2: "pour", 3: "-"})
    export("elan", videos[:1], tmp_path / "elan")
    _, entries, _ = Eaf(tmp_path / "elan/a.eaf").controlled_vocabularies["key steps"]
    # The names are in the order of the key steps.
    assert [values[0][0] for values, _ in entries.values()] == ["key step 1", "pour"]
    export("boris", videos[:1], tmp_path / "boris")
    project = json.loads((tmp_path / "boris/project.boris").read_text(encoding="utf-8"))
    assert [behaviour["code"] for behaviour in project["behaviors_conf"].values()] == ["key step 1", "pour"]


def test_an_export_from_a_study_links_its_videos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study, films = tmp_path / "study", tmp_path / "films"
    folder = study / "results/keysteps/raw/kmeans/d/t/seed0"
    folder.mkdir(parents=True)
    (folder / "segments.csv").write_text("video,scope,start_s,end_s,key_step\nv,task,0,1,1\n", encoding="utf-8")
    manifest = study / "results/manifest/d/t.csv"
    manifest.parent.mkdir(parents=True)
    manifest.write_text(
        "video,name,path,annotation,duration_s,fps,width,height,status,reason\nv,v,t/v.mp4,,2.0,30,64,48,ok,\n"
    )
    (study / "config.yaml").write_text("datasets:\n  d: {layout: folder, root: ../films}\n", encoding="utf-8")
    monkeypatch.chdir(study)

    def linked(place: Path, output: str) -> str:
        # A video may be named by its file.
        words = ["export", "elan", str(place), str(tmp_path / output), "--videos", "v.mp4"]
        done = CliRunner().invoke(cli, words, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        (media,) = Eaf(tmp_path / output / "v.eaf").get_linked_files()
        return str(media["MEDIA_URL"])

    assert linked(folder, "ours") == f"file://{films}/t/v.mp4"
    # A result of another folder is not a result of this study.
    shutil.copytree(study / "results", tmp_path / "other")
    assert linked(tmp_path / "other/keysteps/raw/kmeans/d/t/seed0", "theirs") == "t/v.mp4"


def test_without_its_writer_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pympi", None)
    with pytest.raises(RgwotError, match="format elan: needs pympi, which is not installed; pip install pympi-ling"):
        export("elan", VIDEOS, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_elan_links_videos_by_their_real_names_from_its_own_folder(tmp_path: Path) -> None:
    named = replace(VIDEOS[0], name=video_id("cup of tea"), path=tmp_path / "films/tea/cup of tea.mp4")
    said = export("elan", [named], tmp_path / "a/b/out")
    (file,) = (tmp_path / "a/b/out").glob("[!.]*")
    assert file.name == "cup of tea.eaf"
    assert said == f"{tmp_path}/a/b/out: wrote cup of tea.eaf (annotations of ELAN)"
    (media,) = Eaf(file).get_linked_files()
    assert media["MEDIA_URL"] == f"file://{named.path}"
    assert (file.parent / media["RELATIVE_MEDIA_URL"]).resolve() == named.path.resolve()


def test_boris(tmp_path: Path) -> None:
    export("boris", VIDEOS, tmp_path / "out")
    project = json.loads((tmp_path / "out/project.boris").read_text(encoding="utf-8"))
    behaviours = {one["code"]: one["type"] for one in project["behaviors_conf"].values()}
    assert behaviours == {NAME: "State event", "key step 2": "State event"}
    # State events come in pairs, of which the first starts and the second stops.
    events = project["observations"]["a"]["events"]
    assert [(time, code) for time, _, code, _, _, _ in events] == [
        (0.5, NAME), (2.0, NAME), (2.0, "key step 2"), (3.25, "key step 2"), (4.0, NAME), (12.0, NAME),
    ]  # fmt: skip
    assert project["observations"]["a"]["media_info"]["length"] == {"films/a.mp4": 12.0}


@pytest.mark.parametrize("name", ["elan", "boris", "csv"])
@given(data=st.data())
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read_back(name: str, data: st.DataObject, tmp_path: Path) -> None:
    # Borders are on frames at 25 per second, that is, on whole milliseconds, which no format rounds.
    frames = data.draw(st.lists(st.integers(0, 500), min_size=2, max_size=9, unique=True).map(sorted))
    labels = data.draw(st.lists(st.sampled_from(['say "cheese"', "b & <c>", "é"]), min_size=9, max_size=9))
    gaps = data.draw(st.lists(st.booleans(), min_size=9, max_size=9))
    numbers = {label: number for number, label in enumerate(sorted(set(labels)), 1)}
    segments = tuple(
        LabelledSegment(start / 25, end / 25, numbers[label], label)
        for start, end, label, gap in zip(frames, frames[1:], labels, gaps, strict=False)
        if not gap
    )
    video = ExportedVideo(video_id("cup of tea"), tmp_path / "cup of tea.mp4", 20.0, 25.0, (64, 48), segments)
    export(name, [video], tmp_path / name)
    file = next(path for path in sorted((tmp_path / name).glob("[!.]*")) if path.suffix != ".xml")
    table = read_annotation_file(file)
    assert set(table["video"]) <= {"cup of tea", video.name}
    found = [tuple(row) for row in table[["start_s", "end_s", "label"]].itertuples(index=False)]
    assert found == [(start_s, end_s, label) for start_s, end_s, _, label, *_ in segments]


MARKED = (
    LabelledSegment(0.0, 0.4, 0, "background"),
    LabelledSegment(0.52, 0.52, 1, NAME),
    LabelledSegment(0.56, 0.56, 2, "=stir"),
    LabelledSegment(1.0, 1.6, 1, NAME),
    LabelledSegment(1.88, 1.88, 0, "background"),
    LabelledSegment(2.0, 2.0, 2, "=stir"),
)


def annotated_tree(folder: Path, videos: Sequence[ExportedVideo]) -> tuple[Path, Path]:
    """Write videos of 2 s with annotations, and their manifest; return the root and the table of annotations."""
    root, table = folder / "root", folder / "results/annotations/mine/tea.csv"
    (root / "tea").mkdir(parents=True)
    for video in videos:
        write_video(root / "tea" / f"{video.name}.mp4", 50, fps=25)
        lines = [
            ",".join(
                [video.name, str(start), "" if start == end else str(end), texts.cell(f'"{label}"'), video.silence]
            )
            for start, end, _, label, *_ in video.segments
        ]
        text = "\n".join(["video,start_s,end_s,label,silence", *lines, ""]).replace(
            '"pour <b>"oil"', '"pour <b>""oil""'
        )
        (root / "tea" / f"{video.name}.csv").write_text(text, encoding="utf-8")
    (folder / "results/manifest/mine").mkdir(parents=True)
    table.parent.mkdir(parents=True)
    write_manifest("mine", "tea", root, "folder", {}, folder / "results/manifest/mine/tea.csv", table, "fail")
    return root, table


@pytest.mark.parametrize("name", ["csv", "elan", "boris"])
def test_annotations_come_back_with_their_marks(name: str, tmp_path: Path) -> None:
    videos = [replace(VIDEOS[0], name="a", segments=MARKED), replace(VIDEOS[0], name="b", segments=MARKED[1:3])]
    root, table = annotated_tree(tmp_path, videos)
    before = pd.read_csv(table).sort_values(["video", "start_s"], ignore_index=True)
    assert (before["start_s"] == before["end_s"]).sum() == 6
    done = CliRunner().invoke(cli, ["export", name, str(table), str(tmp_path / "out"), "--root", str(root)])
    assert done.exit_code == 0, done.output
    # Replace the annotations with the exported files.
    for path in (root / "tea").glob("*.csv"):
        path.unlink()
    for path in (tmp_path / "out").glob("[!.]*"):
        shutil.copy(path, root / "tea" / path.name)
    write_manifest("mine", "tea", root, "folder", {}, tmp_path / "m.csv", tmp_path / "a.csv", "fail")
    after = pd.read_csv(tmp_path / "a.csv").sort_values(["video", "start_s"], ignore_index=True)
    pd.testing.assert_frame_equal(after, before)


def test_silence_is_exported_in_tables(tmp_path: Path) -> None:
    videos = [replace(VIDEOS[0], name="a", segments=MARKED, silence="until")]
    _, table = annotated_tree(tmp_path, videos)
    export_keysteps("csv", table, tmp_path / "out")
    assert set(pd.read_csv(tmp_path / "out/segments.csv")["silence"]) == {"until"}
    with pytest.raises(RgwotError, match=r"tea\.csv: found annotations and --names"):
        export_keysteps("csv", table, tmp_path / "more", names=tmp_path / "names.yaml")
    with pytest.raises(RgwotError, match=r"videos\.csv: found no annotations of a task, expected a table such as"):
        export_keysteps("csv", tmp_path / "videos.csv", tmp_path / "more")


def test_marks_in_other_programs(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    marked = replace(VIDEOS[0], duration_s=2.0, fps=25.0, segments=MARKED)
    export("elan", [marked], tmp_path / "elan")
    # A mark becomes one frame long, but ends before the next mark, because annotations of a tier cannot overlap.
    spans = Eaf(tmp_path / "elan/a.eaf").get_annotation_data_for_tier("key step marks")
    assert sorted(spans) == [(520, 560, NAME), (560, 600, "=stir"), (1880, 1920, "background"), (2000, 2040, "=stir")]
    export("elan", [replace(marked, fps=10.0, segments=MARKED[1:3])], tmp_path / "slow")
    assert sorted(Eaf(tmp_path / "slow/a.eaf").get_annotation_data_for_tier("key step marks"))[0] == (520, 560, NAME)
    export("boris", [marked], tmp_path / "boris")
    project = json.loads((tmp_path / "boris/project.boris").read_text(encoding="utf-8"))
    kinds = {one["code"]: one["type"] for one in project["behaviors_conf"].values()}
    assert kinds[NAME] == "State event"
    assert kinds[f"{NAME} (mark)"] == "Point event"
    assert [(event[0], event[2]) for event in project["observations"]["a"]["events"] if "(mark)" in event[2]] == [
        (0.52, f"{NAME} (mark)"), (0.56, "'=stir (mark)"), (1.88, "background (mark)"), (2.0, "'=stir (mark)"),
    ]  # fmt: skip
    export("webvtt", [marked], tmp_path / "webvtt")
    cues = (tmp_path / "webvtt/a.vtt").read_text(encoding="utf-8")
    assert "00:00:00.560 --> 00:00:01.560\n<c.mark>=stir</c>\n" in cues
    export("eventlog", [marked], tmp_path / "eventlog")
    log = pd.read_csv(tmp_path / "eventlog/eventlog.csv")
    assert (log["start_timestamp"] == log["time:timestamp"]).sum() == 4
    with pytest.raises(RgwotError, match="no such video"):
        export("clips", [marked], tmp_path / "clips")
    assert "format clips: has no place for moments, so 4 marks are left out" in caplog.text


@given(frames=st.integers(1, 400), fps=st.floats(1, 240), data=st.data())
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_nothing_ends_after_its_video(frames: int, fps: float, data: st.DataObject, tmp_path: Path) -> None:
    duration = frames / fps
    border = data.draw(st.floats(0, duration))
    late = data.draw(st.sampled_from([0, 1e-9, 0.0004, 3.0]))
    segments = (LabelledSegment(0, border, 1, "one"), LabelledSegment(border, duration + late, 2, "=two"))
    video = ExportedVideo("a", tmp_path / "a.mp4", duration, fps, (64, 48), segments)
    for name in ("boris", "elan", "webvtt", "csv", "eventlog"):
        export(name, [video], tmp_path / name)
    events = json.loads((tmp_path / "boris/project.boris").read_text())["observations"]["a"]["events"]
    # Events of a step come in pairs, and no event in BORIS may be after the end of the media file.
    assert all(sum(event[2] == code for event in events) in (0, 2) for code in ("one", "'=two"))
    assert all(time <= duration and 0 <= frame < frames for time, *_, frame in events)
    spans = Eaf(tmp_path / "elan/a.eaf").get_annotation_data_for_tier("key steps")
    assert all(start < end <= 1000 * duration for start, end, _ in spans)
    assert pd.read_csv(tmp_path / "csv/segments.csv")["end_s"].max() <= duration
    log = pd.to_datetime(pd.read_csv(tmp_path / "eventlog/eventlog.csv")["time:timestamp"])
    assert (log.astype("int64") <= duration * {"ns": 1e9, "us": 1e6}[log.dt.unit]).all()
    cues = re.findall(r"--> (\d+):(\d+):([\d.]+)", (tmp_path / "webvtt/a.vtt").read_text())
    assert all(3600 * int(h) + 60 * int(m) + float(s) <= duration for h, m, s in cues)


def test_the_last_frame_of_forty_four(tmp_path: Path) -> None:
    video = ExportedVideo("a", Path("a.mp4"), 44 / 7, 7.0, (64, 48), (LabelledSegment(3.0, 44 / 7, 1, "one"),))
    export("boris", [video], tmp_path / "boris")
    start, stop = json.loads((tmp_path / "boris/project.boris").read_text())["observations"]["a"]["events"]
    assert (start[0], start[-1], stop[0], stop[-1]) == (3.0, 21, 6.285, 43)


def test_names_that_are_formulas_are_guarded_in_boris_and_come_back(tmp_path: Path) -> None:
    for name in ("=cmd|'c calc'!A0", "+a", "@x"):
        video = ExportedVideo(
            video_id(name), Path(f"{name}.mp4"), 5.0, 25.0, (64, 48), (LabelledSegment(1, 2, 1, name),)
        )
        export("boris", [video], tmp_path / "boris")
        path = tmp_path / "boris/project.boris"
        ((known, observation),) = json.loads(path.read_text())["observations"].items()
        assert not {known[0], observation["events"][0][2][0], observation["file"]["1"][0][0]} & set("=+@")
        assert read_annotation_file(path)[["video", "label"]].values.tolist() == [[Path(f"{name}.mp4").stem, name]]


def test_a_table_of_segments_is_enough(tmp_path: Path) -> None:
    table = pd.DataFrame(
        {"video": ["a", "a", "b"], "start_s": [1, 0, 2.0], "end_s": [2, 1, 3.0], "key_step": [1, 0, 2]}
    )
    first, second = videos_of(table, names={2: "stir"})
    assert (first.path, first.duration_s, first.filmed, first.segments) == (
        Path("a"), 2.0, False, (LabelledSegment(1.0, 2.0, 1, "key step 1"),),
    )  # fmt: skip
    assert second.segments == (LabelledSegment(2.0, 3.0, 2, "stir"),)
    assert "wrote a.eaf, b.eaf" in export("elan", [first, second], tmp_path / "out")


def test_labels_and_subtitles(tmp_path: Path) -> None:
    for name in ("webvtt", "csv"):
        export(name, VIDEOS, tmp_path / name)
    cues = (tmp_path / "webvtt/a.vtt").read_text(encoding="utf-8")
    assert cues.startswith("WEBVTT\n\n00:00:00.500 --> 00:00:02.000\npour &lt;b&gt;")
    table = pd.read_csv(tmp_path / "csv/segments.csv")
    assert table[["video", "start_s", "key_step"]].values.tolist() == [["a", 0.5, 1], ["a", 2.0, 2], ["a", 4.0, 1]]
    assert clock(90_061_000) == "25:01:01.000"


def grey(path: Path) -> list[NDArray[np.float64]]:
    """Return the frames of a video as grey values."""
    with av.open(str(path)) as source:
        return [frame.to_ndarray(format="gray").astype(float) for frame in source.decode(video=0)]


def test_clips_have_the_frames_of_the_video_and_every_step_has_a_sheet(tmp_path: Path) -> None:
    write_video(tmp_path / "a.mp4", 150)
    video = ExportedVideo(
        "a",
        tmp_path / "a.mp4",
        5.0,
        30.0,
        (64, 48),
        (LabelledSegment(1.0, 2.0, 1, "one"), LabelledSegment(2.0, 5.0, 2, "two")),
    )
    export("clips", [video], tmp_path / "out")
    (clip,) = (tmp_path / "out/key_step_01").iterdir()
    assert clip.name == "a_0001.000.mp4"
    frames, true = grey(clip), grey(video.path)
    assert len(frames) == 30
    # The clip has the frames of the video from 1 s on, encoded again.
    error = [np.abs(frames[at] - true[30 + at]).mean() for at in (0, 29)]
    other = np.abs(frames[0] - true[100]).mean()
    assert max(error) < 3 < other
    with Image.open(tmp_path / "out/key_step_02.jpg") as sheet:
        assert sheet.height == 120
    with pytest.raises(RgwotError, match=r"no such video; .*--root"):
        export("clips", VIDEOS, tmp_path / "more")
    assert not (tmp_path / "more").exists()
    stored = tmp_path / "frames.h5"
    stored.write_bytes(b"")
    with pytest.raises(RgwotError, match="frames stored one by one"):
        export("clips", [replace(video, path=stored)], tmp_path / "more")


def test_an_interrupted_export_of_clips_leaves_the_earlier_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rgwot.reporting.export import clips
    from rgwot.runtime.provenance import differences

    write_video(tmp_path / "a.mp4", 150)
    segments = tuple(LabelledSegment(at, at + 1.0, 1 + at % 2, "x") for at in range(4))
    video, out = ExportedVideo("a", tmp_path / "a.mp4", 5.0, 30.0, (64, 48), segments), tmp_path / "out"
    export("clips", [video], out)
    assert len(list(out.rglob("*.mp4"))) == 4
    assert differences(out) == (6, [])
    fewer = replace(video, segments=segments[:1])

    def interrupted(*_: Any) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(clips, "cut", interrupted)
        with pytest.raises(KeyboardInterrupt):
            export("clips", [fewer], out)
    assert differences(out) == (6, [])
    assert {path.name for path in tmp_path.iterdir()} == {"a.mp4", "out"}
    export("clips", [fewer], out)
    assert {path.name for path in out.rglob("*.mp4")} == {"a_0000.000.mp4"}
    # Changed files are not overwritten.
    (out / "key_step_01/a_0000.000.mp4").write_bytes(b"trimmed")
    with pytest.raises(RgwotError, match=r"a_0000\.000\.mp4, which rgwot did not write"):
        export("clips", [fewer], out)


def test_clips_of_a_video_that_starts_late_count_from_its_first_frame(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_video(tmp_path / "a.mp4", 150)
    with av.open(str(tmp_path / "a.mp4")) as source, av.open(str(tmp_path / "late.mkv"), "w") as target:
        copied = target.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(source.streams.video[0]):
            if packet.dts is not None:
                packet.pts, packet.dts = (stamp + int(3 / packet.time_base) for stamp in (packet.pts, packet.dts))
                packet.stream = copied
                target.mux(packet)
    assert cut(tmp_path / "late.mkv", 3.0, 4.0, tmp_path / "clip.mp4") == 30
    frames, true = grey(tmp_path / "clip.mp4"), grey(tmp_path / "a.mp4")
    assert len(frames) == 30
    error, other = (np.abs(frames[0] - true[at]).mean() for at in (90, 0))
    assert error < 3 < other
    assert cut(tmp_path / "late.mkv", 7.0, 8.0, tmp_path / "none.mp4") == 0
    assert not (tmp_path / "none.mp4").exists()
    segments = (LabelledSegment(3.0, 4.0, 1, "one"), LabelledSegment(7.0, 8.0, 1, "one"))
    export("clips", [ExportedVideo("a", tmp_path / "late.mkv", 9.0, 30.0, (64, 48), segments)], tmp_path / "out")
    assert [clip.name for clip in (tmp_path / "out/key_step_01").iterdir()] == ["a_0003.000.mp4"]
    assert "no frame from 7 to 8 s" in caplog.text


@pytest.mark.parametrize("name", ["elan", "webvtt"])
def test_a_name_that_is_a_path_leads_nowhere_else(tmp_path: Path, name: str) -> None:
    export(name, [replace(VIDEOS[0], name="..%2Fa")], tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert "..%2Fa" in [path.stem for path in (tmp_path / "out").iterdir()]


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(RgwotError, match=r"format .eaf.: unknown; .*elan"):
        export("eaf", VIDEOS, "nowhere")


def test_a_result_is_read_by_scope_and_with_its_names(tmp_path: Path) -> None:
    folder = tmp_path / "results/keysteps/raw/kmeans/d/t/seed0"
    folder.mkdir(parents=True)
    (folder / "segments.csv").write_text(
        "video,scope,start_s,end_s,key_step\nv,task,1,2,3\nv,task,0,1,0\nv,task,0.5,1,1\nv,video,0,2,2\n"
    )
    manifest = tmp_path / "results/manifest/d/t.csv"
    manifest.parent.mkdir(parents=True)
    manifest.write_text(
        "video,name,path,annotation,duration_s,fps,width,height,status,reason\nv,v,v.mp4,,2.0,30,64,48,ok,\n"
        "gone,gone,gone.mp4,,,,,,skipped,broken\n"
    )
    (video,) = read_videos(folder)
    assert [(start, step, label) for start, _, step, label, *_ in video.segments] == [
        (0.5, 1, "key step 1"), (1.0, 3, "key step 3"),
    ]  # fmt: skip
    # Links contain no detour through another folder, and lead only into the folder of the videos.
    assert read_videos(folder, root=tmp_path / "a/../films")[0].path == tmp_path / "films/v.mp4"
    manifest.write_text(manifest.read_text().replace("v.mp4", "../v.mp4"))
    with pytest.raises(RgwotError, match=r"found the path \.\./v\.mp4, expected one inside the folder of videos"):
        read_videos(folder, root=tmp_path / "films")
    with pytest.raises(RgwotError, match="found no key steps, expected .* results/keysteps"):
        read_videos(tmp_path)


def test_a_result_saved_in_any_folder_has_its_names(tmp_path: Path) -> None:
    file = tmp_path / "segments.csv"
    file.write_text("video,scope,start_s,end_s,key_step\na%20b,task,0,1,2\na%20b,task,1,4,0\n")
    names = names_text("raw/kmeans/seed3", pd.read_csv(file), {2: "pour"})
    (tmp_path / "names.yaml").write_text(names)
    (video,) = read_videos(tmp_path)
    assert (video.stem, video.duration_s, video.filmed) == ("a b", 4.0, False)
    assert [segment.label for segment in video.segments] == ["pour"]


def test_key_steps_of_one_name_are_one_and_a_dash_is_background() -> None:
    rows = [("a", at, at + 1, step) for at, step in enumerate((1, 3, 4, 2, 3))] + [("b", 0, 2, 3), ("b", 2, 3, 2)]
    segments = pd.DataFrame(rows, columns=["video", "start_s", "end_s", "key_step"])
    named = as_named(segments, {1: "stir", 3: "stir", 2: "-"})
    assert named.to_numpy().tolist() == [
        ["a", 0, 2, 1], ["a", 2, 3, 4], ["a", 3, 4, 0], ["a", 4, 5, 1], ["b", 0, 2, 1], ["b", 2, 3, 0],
    ]  # fmt: skip
    assert as_named(segments, {1: "stir"}).equals(segments)
    videos = videos_of(segments, names={1: "stir", 3: "stir", 2: "-"})
    assert [[(segment.start_s, segment.end_s, segment.label) for segment in video.segments] for video in videos] == [
        [(0, 2, "stir"), (2, 3, "key step 4"), (4, 5, "stir")], [(0, 2, "stir")],
    ]  # fmt: skip


def test_missing_videos_are_reported_if_files_name_them(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    here = replace(VIDEOS[1], path=tmp_path / "b.mp4")
    here.path.touch()
    export("boris", [VIDEOS[0], here], tmp_path / "out")
    assert "1 of 2 linked videos do not exist, such as films/a.mp4" in caplog.text
    caplog.clear()
    export("elan", [here], tmp_path / "out")
    export("csv", VIDEOS, tmp_path / "out")
    assert not caplog.text


@pytest.mark.parametrize("name", ["thesis.txt", "a.eaf", "deep/a.mp4", ".git", "link"])
def test_what_is_not_an_unchanged_export_is_kept(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    # An export may go into an empty folder, and replace an unchanged export.
    for form in ("elan", "csv", "elan"):
        export(form, VIDEOS, folder)
    (folder / ".snakemake_timestamp").touch()
    (folder / name).parent.mkdir(exist_ok=True)
    if name == "link":
        (folder / name).symlink_to(tmp_path)
    else:
        (folder / name).write_text("mine")
    before = sorted(folder.rglob("*"))
    for form in ("elan", "csv"):
        with pytest.raises(
            RgwotError, match=rf"^{folder}: found {name}, which rgwot did not write, .*; name a new folder$"
        ):
            export(form, VIDEOS, folder)
    assert sorted(folder.rglob("*")) == before
    assert list(tmp_path.iterdir()) == [folder]


def test_a_file_added_while_an_export_is_made_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "out"
    export("csv", VIDEOS, folder)
    monkeypatch.setattr(texts, "export_webvtt", lambda videos, made: (folder / "thesis.txt").touch())
    with pytest.raises(RgwotError, match=r"found thesis\.txt"):
        export("webvtt", VIDEOS, folder)
    assert (folder / "thesis.txt").exists()
    assert (folder / "segments.csv").exists()


def test_an_export_does_not_replace_the_current_folder_or_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").mkdir()
    monkeypatch.chdir(tmp_path / "in")
    for place in (".", "..", tmp_path):
        with pytest.raises(RgwotError, match="found the current folder"):
            export("csv", VIDEOS, place)
    Path("thesis.txt").write_text("mine")
    with pytest.raises(RgwotError, match=r"thesis\.txt: found a file, expected a folder"):
        export("csv", VIDEOS, "thesis.txt")
    assert Path("thesis.txt").read_text() == "mine"


def test_segments_that_do_not_count_are_marked_and_deviations_are_exported(tmp_path: Path) -> None:
    columns = ["video", "start_s", "end_s", "key_step", "shows", "counts"]
    rows = [("v", 0.0, 4.0, 1, 1, True), ("v", 4.0, 4.4, 2, 2, False), ("v", 4.4, 8.0, 3, 1, True)]
    told = [
        Deviation("v", "missing", 2, 3.0, 3.0, 2.0, 0.9),
        Deviation("v", "repeated", 1, 4.4, 8.0, 1.5, 0.5),
        Deviation("v", "too_late", 3, 4.4, 6.0, 1.0, 0.8),
        Deviation("v", "added", 3, 4.4, 8.0, 3.0, 0.1),
    ]
    names = {1: "pour", 2: "stir"}
    videos = videos_of(pd.DataFrame(rows, columns=columns), names=names, deviations=told)
    export("csv", videos, tmp_path / "csv")
    table = pd.read_csv(tmp_path / "csv/segments.csv", keep_default_na=False)
    assert table["counts"].tolist() == [True, False, True]
    assert table["shows"].tolist() == ["", "", "pour"]
    export("deviations", videos, tmp_path / "deviations")
    table = pd.read_csv(tmp_path / "deviations/deviations.csv")
    assert table["name"].tolist() == ["stir", "pour", "key step 3", "key step 3"]
    assert table["deviation"].tolist() == [
        "perhaps hardly recognised here (0.4 s) or left out",
        "perhaps again",
        "too late, by a second reading alone",
        "doubtful: added, by a second reading alone",
    ]
    # The number of the first is as low as its word.
    assert table["sureness"].tolist() == [0.5, 0.5, 0.8, 0.1]
    export("elan", videos, tmp_path / "elan")
    document = Eaf(tmp_path / "elan/v.eaf")
    assert len(document.get_annotation_data_for_tier("key steps")) == 3
    assert sorted(document.get_annotation_data_for_tier("does not count")) == [
        (4000, 4400, "does not count"), (4400, 8000, "looks like pour"),
    ]  # fmt: skip
    # The doubtful deviation is left out; deviations with the same start are one annotation.
    assert sorted(document.get_annotation_data_for_tier("deviations")) == [
        (3000, 3040, "stir perhaps hardly recognised here (0.4 s) or left out"),
        (4400, 8000, "pour perhaps again; key step 3 too late, by a second reading alone"),
    ]  # fmt: skip
    export("boris", videos, tmp_path / "boris")
    events = json.loads((tmp_path / "boris/project.boris").read_text())["observations"]["v"]["events"]
    assert [(time, code, comment) for time, _, code, _, comment, _ in events if code.startswith("deviation")] == [
        (3.0, "deviation: stir hardly recognised here or left out", "perhaps"),
        (4.4, "deviation: key step 3 too late, by a second reading alone", "sure"),
        (4.4, "deviation: pour again", "perhaps"),
    ]
    assert [comment for _, _, code, _, comment, _ in events if code == "stir"] == ["does not count"] * 2
    # Deviations are not read as labels when the project is imported again.
    assert set(read_annotation_file(tmp_path / "boris/project.boris")["label"]) == {"pour", "stir", "key step 3"}
    export("sheets", videos, tmp_path / "sheets")
    page = (tmp_path / "sheets/v.html").read_text(encoding="utf-8")
    assert "perhaps again" in page
    assert "1 doubtful deviations are left out" in page
    assert "<script" not in page
