"""Annotations in files of other programs, made by libraries of these programs or written out in the same form."""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pympi import Eaf
from scipy.io import savemat
from videos import write_video

from rgwot.datasets.annotation_files import ANNOTATION_READERS, read_annotation, read_annotation_file
from rgwot.datasets.finding import find, layout_module
from rgwot.datasets.manifest import write_manifest
from rgwot.datasets.settings import Options
from rgwot.records import read_annotations
from rgwot.runtime.errors import RgwotError
from rgwot.study.doctor import examine

Rows = list[list[Any]]


def rows(path: Path, **hints: Any) -> Rows:
    table = read_annotation_file(path, **hints)
    assert list(table.columns) == ["video", "start_s", "end_s", "label"]
    return table.values.tolist()


def elan(path: Path, tiers: dict[str, list[tuple[int, int, str]]], media: str | None = "/films/cup of tea.mp4") -> Path:
    document = Eaf(author="somebody")
    document.remove_tier("default")
    for name, segments in tiers.items():
        document.add_tier(name)
        for segment in segments:
            document.add_annotation(name, *segment)
    if media:
        document.add_linked_file(media, relpath="./a.mp4", mimetype="video/mp4")
    document.to_file(path)
    return path


STEPS = [(500, 2000, "pour  water"), (2000, 2600, ""), (3000, 4250, "stir")]


def test_elan(tmp_path: Path) -> None:
    expected = [["cup of tea", 0.5, 2.0, "pour water"], ["cup of tea", 3.0, 4.25, "stir"]]
    assert rows(elan(tmp_path / "a.eaf", {"steps": STEPS})) == expected
    alone = rows(elan(tmp_path / "b.eaf", {"steps": STEPS, "notes": []}, media=None))
    assert alone == [["b", *row[1:]] for row in expected]
    both = elan(tmp_path / "c.eaf", {"steps": STEPS, "notes": [(0, 900, "dark")]})
    assert rows(both, tier="notes") == [["cup of tea", 0.0, 0.9, "dark"]]
    with pytest.raises(RgwotError, match=r"found 'steps', 'notes'; expected one tier to read; set tier"):
        rows(both)
    with pytest.raises(RgwotError, match="no tier 'step'; found 'steps', 'notes'"):
        rows(both, tier="step")
    assert rows(elan(tmp_path / "d.eaf", {"notes": [(0, 900, "dark")], "key steps": STEPS})) == expected


CHILDREN = """<ANNOTATION_DOCUMENT AUTHOR="" DATE="" FORMAT="3.0" VERSION="3.0">
<HEADER MEDIA_FILE="" TIME_UNITS="milliseconds"/>
<TIME_ORDER><TIME_SLOT TIME_SLOT_ID="ts1" TIME_VALUE="1000"/><TIME_SLOT TIME_SLOT_ID="ts2"/>
<TIME_SLOT TIME_SLOT_ID="ts3"/><TIME_SLOT TIME_SLOT_ID="ts4" TIME_VALUE="4000"/>
<TIME_SLOT TIME_SLOT_ID="ts5" TIME_VALUE="6000"/></TIME_ORDER>
<TIER TIER_ID="segment" LINGUISTIC_TYPE_REF="t">{segments}</TIER>
<TIER TIER_ID="label" LINGUISTIC_TYPE_REF="t" PARENT_REF="segment">{labels}</TIER>
<TIER TIER_ID="parts" LINGUISTIC_TYPE_REF="t" PARENT_REF="segment">{parts}</TIER>
<TIER TIER_ID="halves" LINGUISTIC_TYPE_REF="t" PARENT_REF="segment">{halves}</TIER>
</ANNOTATION_DOCUMENT>"""


def aligned(ident: str, start: int, end: int, value: str) -> str:
    times = f'TIME_SLOT_REF1="ts{start}" TIME_SLOT_REF2="ts{end}"'
    return _annotation("ALIGNABLE", ident, times, value)


def dependent(ident: str, parent: str, value: str, previous: str = "") -> str:
    more = f' PREVIOUS_ANNOTATION="{previous}"' if previous else ""
    return _annotation("REF", ident, f'ANNOTATION_REF="{parent}"{more}', value)


def _annotation(kind: str, ident: str, attributes: str, value: str) -> str:
    inside = f"<ANNOTATION_VALUE>{value}</ANNOTATION_VALUE></{kind}_ANNOTATION>"
    return f'<ANNOTATION><{kind}_ANNOTATION ANNOTATION_ID="{ident}" {attributes}>{inside}</ANNOTATION>'


def test_tiers_of_elan_that_depend_on_others_have_the_times_that_elan_shows(tmp_path: Path) -> None:
    """Tiers of a file without a schema have an annotation per parent, or divide parents in time or in order."""
    path = tmp_path / "a.eaf"
    content = {
        "segments": aligned("a1", 1, 4, "1") + aligned("a2", 4, 5, "2"),
        "labels": dependent("a3", "a1", "pour") + dependent("a4", "a2", "stir"),
        "parts": aligned("a5", 1, 2, "x") + aligned("a6", 2, 3, "y") + aligned("a7", 3, 4, "z"),
        "halves": dependent("a8", "a2", "lift") + dependent("a9", "a2", "lower", "a8"),
    }
    path.write_text(CHILDREN.format(**content))
    assert rows(path, tier="label") == [["a", 1.0, 4.0, "pour"], ["a", 4.0, 6.0, "stir"]]
    assert rows(path, tier="parts") == [["a", 1.0, 2.0, "x"], ["a", 2.0, 3.0, "y"], ["a", 3.0, 4.0, "z"]]
    assert rows(path, tier="halves") == [["a", 4.0, 5.0, "lift"], ["a", 5.0, 6.0, "lower"]]
    path.write_text(CHILDREN.format(**{**content, "parts": ""}))
    with pytest.raises(RgwotError, match="tier 'segment' has only numbers; tiers below it: 'label'.*; set tier"):
        rows(path)


def test_without_their_parser_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = elan(tmp_path / "a.eaf", {"steps": [(0, 900, "pour")]})
    monkeypatch.setitem(sys.modules, "pympi", None)
    with pytest.raises(RgwotError, match="^.*/a[.]eaf: needs pympi, which is not installed; pip install pympi-ling$"):
        rows(path)


def project(*events: list[Any], files: list[str] | None = None) -> dict[str, Any]:
    behaviour = {"key": "", "description": "", "category": "", "modifiers": {}, "excluded": "", "coding map": ""}
    return {
        "time_format": "hh:mm:ss", "project_date": "2026-01-01T10:00:00", "project_name": "tea",
        "project_description": "", "project_format_version": "7.0", "subjects_conf": {},
        "behaviors_conf": {
            "0": {"type": "State event", "code": "pour", **behaviour},
            "1": {"type": "State event", "code": "stir", **behaviour},
            "2": {"type": "Point event", "code": "sip", **behaviour},
        },
        "observations": {
            "monday 1": {
                "date": "2026-01-01T10:00:00", "description": "", "type": "MEDIA", "time offset": 0.0,
                "file": {"1": ["C:\\films\\cup of tea.mp4"] if files is None else files, "2": ["side.mp4"]},
                "independent_variables": {}, "events": list(events),
                "media_info": {"length": {}, "fps": {}, "hasVideo": {}, "hasAudio": {}, "offset": {"1": 0}},
            }
        },
        "behavioral_categories": [], "independent_variables": {}, "coding_map": {}, "behaviors_coding_map": [],
        "behavioral_categories_config": {}, "converters": {},
    }  # fmt: skip


EVENTS: Rows = [
    [0.5, "", "pour", "", "", 15],
    [1.0, "", "sip", "", "", 30],
    # A pour of another subject begins and ends within the pour of the first subject.
    [1.2, "Ann", "pour", "", "", 36],
    [1.5, "Ann", "pour", "", "", 45],
    [2.0, "", "pour", "", "", 60],
    [3.0, "", "stir", "fast|left", "", 90],
    [4.25, "", "stir", "fast|left", "", 127],
]
SEGMENTS = [
    ["cup of tea", 0.5, 2.0, "pour"],
    ["cup of tea", 1.2, 1.5, "pour"],
    ["cup of tea", 3.0, 4.25, "stir"],
]


def test_boris_project(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    text = json.dumps(project(*EVENTS))
    (tmp_path / "a.boris").write_text(text)
    (tmp_path / "b.boris.gz").write_bytes(gzip.compress(text.encode()))
    assert rows(tmp_path / "a.boris") == SEGMENTS == rows(tmp_path / "b.boris.gz")
    assert "a.boris: 1 events without length are left out" in caplog.text
    # Old files have no frame index, and live observations have no media file.
    (tmp_path / "c.boris").write_text(json.dumps(project(*(event[:5] for event in EVENTS), files=[])))
    assert rows(tmp_path / "c.boris") == [["monday 1", *row[1:]] for row in SEGMENTS]


def test_boris_projects_that_cannot_be_meant(tmp_path: Path) -> None:
    path = tmp_path / "a.boris"
    for content, clue in (
        (project(*EVENTS[:-1]), "observation 'monday 1' at 3.0 s: 'stir' starts and never stops"),
        (project(*EVENTS, files=["a.mp4", "b.mp4"]), "2 media files in sequence"),
        (
            {"observations": {}},
            "cannot be read .KeyError: 'behaviors_conf'.; expected a project or",
        ),
        (project(["0:30", "", "pour", "", ""]), "cannot be read .ValueError: .*0:30"),
    ):
        path.write_text(json.dumps(content))
        with pytest.raises(RgwotError, match=clue) as caught:
            rows(path)
        assert "\n" not in str(caught.value)
    twice = project(*EVENTS)
    twice["observations"]["again"] = twice["observations"]["monday 1"]
    path.write_text(json.dumps(twice))
    with pytest.raises(RgwotError, match="is of 'cup of tea', like observation 'monday 1'; expected one observation"):
        rows(path)


TABULAR = (
    "Observation id\tObservation date\tDescription\tObservation duration\tObservation type\tSource\tTime offset (s)\t"
    "Media duration (s)\tFPS\tgroup\tSubject\tBehavior\tBehavioral category\tModifier #1\tModifier #2\t"
    "Behavior type\tTime\tMedia file name\tImage index\tImage file path\tComment\n"
)
AGGREGATED = (
    "Observation id\tObservation date\tDescription\tObservation type\tSource\tTime offset (s)\tCoding duration\t"
    "Media duration (s)\tFPS (frame/s)\tSubject\tObservation duration by subject by observation\tBehavior\t"
    "Behavioral category\tModifier #1\tBehavior type\tStart (s)\tStop (s)\tDuration (s)\tMedia file name\t"
    "Image index start\tImage index stop\tImage file path start\tImage file path stop\tComment start\tComment stop\n"
)


def tabular(events: Rows) -> str:
    before = "monday 1\t2026-01-01 10:00:00\t\t6.5\tMedia file(s)\tplayer #1:films/cup of tea.mp4\t0\t6.5\t30\tyoung"
    started: set[Any] = set()
    lines = []
    for time_s, subject, code, modifiers, _, frame in events:
        one = (subject, code, modifiers)
        kind = "POINT" if code == "sip" else "STOP" if one in started else "START"
        started.symmetric_difference_update({one})
        first, _, second = modifiers.partition("|")
        lines.append(
            f"{before}\t{subject or 'No focal subject'}\t{code}\t\t{first}\t{second}\t{kind}\t{time_s:.3f}\t"
            f"films/cup of tea.mp4\t{frame}\tNA\t\n"
        )
    return TABULAR + "".join(lines)


def aggregated() -> str:
    before = "monday 1\t2026-01-01 10:00:00\t\tMedia file(s)\tplayer #1:films/cup of tea.mp4\t0\t4\t6.5\t30\tAnn\t6.5"
    after = "films/cup of tea.mp4\t15\t60\tNA\tNA\t\t\n"
    lines = [f"{before}\t{label}\t\tfast\tSTATE\t{start}\t{stop}\t1\t{after}" for _, start, stop, label in SEGMENTS]
    return AGGREGATED + "".join([*lines, f"{before}\tsip\t\t\tPOINT\t1.0\t1.0\tNA\t{after}"])


def test_boris_tables(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(tabular(EVENTS))
    (tmp_path / "b.tsv").write_text(aggregated())
    (tmp_path / "c.csv").write_text(aggregated().replace("\t", ","))
    assert rows(tmp_path / "a.tsv") == SEGMENTS
    assert rows(tmp_path / "b.tsv") == SEGMENTS == rows(tmp_path / "c.csv")
    (tmp_path / "a.tsv").write_text(tabular(EVENTS[:-1]))
    with pytest.raises(RgwotError, match="a.tsv: line 7: 'stir' starts and never stops"):
        rows(tmp_path / "a.tsv")
    (tmp_path / "b.tsv").write_text(aggregated().replace("4.25", "NA"))
    with pytest.raises(RgwotError, match="b.tsv: line 4: 'NA' as a time; expected seconds"):
        rows(tmp_path / "b.tsv")


def test_boris_tables_of_old_versions(tmp_path: Path) -> None:
    head = "Observation id\tmonday 1\t\t\n\t\t\t\nMedia file(s)\t\t\t\nTime offset (s)\t0.0\t\t\n\t\t\t\n"
    columns = "Time\tMedia file path\tTotal length\tFPS\tSubject\tBehavior\tBehavioral category\tComment\tStatus\n"
    row = "{}\tfilms/cup of tea.mp4\t6.5\t25.0\tAnn\t{}\t\t\t{}\n"
    events = row.format(0.5, "pour", "START") + row.format(1, "sip", "POINT") + row.format(2, "pour", "STOP")
    (tmp_path / "a.tsv").write_text(head + columns + events)
    assert rows(tmp_path / "a.tsv") == [["cup of tea", 0.5, 2.0, "pour"]]
    (tmp_path / "a.tsv").write_text(head + columns + events.replace("2\tfilms", "two\tfilms"))
    with pytest.raises(RgwotError, match="a.tsv: line 9: 'two' as a time"):
        rows(tmp_path / "a.tsv")
    old = "Observation id\tMedia file\tSubject\tBehavior\tModifiers\tBehavior type\tStart (s)\tStop (s)\n"
    states = "monday 1\ta.mp4\t\tpour\t\tSTATE\t0.5\t2\n"
    (tmp_path / "b.tsv").write_text(old + states)
    assert rows(tmp_path / "b.tsv") == [["a", 0.5, 2.0, "pour"]]
    # Both players show the same file (simba#390).
    (tmp_path / "b.tsv").write_text(old + states.replace("a.mp4", "a.mp4;a.mp4"))
    assert rows(tmp_path / "b.tsv") == [["a", 0.5, 2.0, "pour"]]
    # Times count from the beginning of the first video.
    (tmp_path / "b.tsv").write_text(old + states + states.replace("a.mp4", "b.mp4"))
    with pytest.raises(RgwotError, match="line 3: 'a' and 'b' in sequence in observation 'monday 1'"):
        rows(tmp_path / "b.tsv")


SHORT = "Observation id\tMedia file name\tBehavior\tBehavior type\tTime\tSubject\tModifier #1\n"


def events_of(observation: str, *events: str) -> str:
    """Return rows of BORIS from words like ``pour START 1``."""
    split = (event.split() for event in events)
    return "".join(f"{observation}\tc.mp4\t{code}\t{kind}\t{time}\t\t\n" for code, kind, time in split)


def test_two_observers_of_one_file_are_refused(tmp_path: Path) -> None:
    both = [events_of("coder1", "pour START 1", "pour STOP 5"), events_of("coder2", "pour START 1.4", "pour STOP 5.6")]
    (tmp_path / "a.tsv").write_text(SHORT + "".join(both))
    one, two = aggregated().rstrip("\n"), aggregated().removeprefix(AGGREGATED).replace("monday 1", "tuesday")
    (tmp_path / "b.tsv").write_text(f"{one}\n{two}")
    lines = {"a.tsv": 4, "b.tsv": 6}
    for name, line in lines.items():
        with pytest.raises(RgwotError, match=rf"{name}: line {line}: .*like observation .*; expected one observation"):
            rows(tmp_path / name)
    for number, text in enumerate(both):
        (tmp_path / f"{number}.tsv").write_text(SHORT + text)
        assert rows(tmp_path / f"{number}.tsv") == [["c", *[(1.0, 5.0), (1.4, 5.6)][number], "pour"]]


@pytest.mark.parametrize(
    ("events", "line", "message"),
    [
        (["pour START 1", "pour START 5"], 3, "START of 'pour', which has run since 1 s (line 2)"),
        (["pour STOP 1", "pour STOP 5"], 2, "STOP of 'pour', which does not run"),
        (["pour STOP 1", "pour START 5"], 2, "STOP of 'pour', which does not run"),
        (["pour start 1", "pour stop 2", "pour stop 3", "pour start 4"], 4, "STOP of 'pour', which does not run"),
    ],
)
def test_boris_starts_and_stops_must_take_turns(tmp_path: Path, events: list[str], line: int, message: str) -> None:
    (tmp_path / "a.tsv").write_text(SHORT + events_of("m", *events))
    with pytest.raises(RgwotError) as error:
        rows(tmp_path / "a.tsv")
    assert f"a.tsv: line {line}: {message}" in str(error.value)


def test_boris_events_at_one_time_are_put_in_order(tmp_path: Path) -> None:
    # BORIS may write events with equal times in any order.
    events = ["pour START 1", "pour START 5", "pour STOP 5", "stir START 5", "pour STOP 8", "stir STOP 6"]
    (tmp_path / "a.tsv").write_text(SHORT + events_of("m", *events))
    assert rows(tmp_path / "a.tsv") == [["c", 1.0, 5.0, "pour"], ["c", 5.0, 8.0, "pour"], ["c", 5.0, 6.0, "stir"]]


def test_observations_whose_clock_is_not_that_of_the_video(tmp_path: Path) -> None:
    shifted = project(*EVENTS)
    shifted["observations"]["monday 1"]["time offset"] = 5.0
    (tmp_path / "a.boris").write_text(json.dumps(shifted))
    (tmp_path / "a.tsv").write_text(aggregated().replace("cup of tea.mp4\t0\t4", "cup of tea.mp4\t5\t4"))
    shifted = project(*EVENTS)
    shifted["observations"]["monday 1"]["media_info"]["offset"]["1"] = 5
    (tmp_path / "b.boris").write_text(json.dumps(shifted))
    for name in ("a.boris", "a.tsv", "b.boris"):
        with pytest.raises(RgwotError, match=r"time offset 5(.0)? s; expected 0"):
            rows(tmp_path / name)


def test_elan_whose_clock_is_not_that_of_the_video(tmp_path: Path) -> None:
    path = elan(tmp_path / "a.eaf", {"steps": STEPS})
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("<MEDIA_DESCRIPTOR ", '<MEDIA_DESCRIPTOR TIME_ORIGIN="0" '), encoding="utf-8")
    assert len(rows(path)) == 2
    path.write_text(text.replace("<MEDIA_DESCRIPTOR ", '<MEDIA_DESCRIPTOR TIME_ORIGIN="1000" '), encoding="utf-8")
    with pytest.raises(RgwotError, match="time offset 1000 ms; expected 0"):
        rows(path)


@pytest.mark.parametrize("sound", ["mic.wav", "a.wav", "/films/mic.mp3"])
def test_elan_with_sound_first_is_of_the_video(tmp_path: Path, sound: str) -> None:
    path = elan(tmp_path / "a.eaf", {"steps": STEPS}, media=sound)
    text = path.read_text(encoding="utf-8").replace('MIME_TYPE="video/mp4"', 'MIME_TYPE="audio/x-wav"')
    film = '<MEDIA_DESCRIPTOR MEDIA_URL="file:///films/tea.mp4" MIME_TYPE="video/mp4" {}/>'
    for origin in ("", 'TIME_ORIGIN="0"', 'TIME_ORIGIN="3000"'):
        path.write_text(text.replace("</HEADER>", film.format(origin) + "</HEADER>"), encoding="utf-8")
        if "3000" in origin:
            with pytest.raises(RgwotError, match="its medium 'tea': time offset 3000 ms; expected 0"):
                rows(path)
        else:
            assert [row[:3] for row in rows(path)] == [["tea", 0.5, 2.0], ["tea", 3.0, 4.25]]
    # The offset of the sound does not matter.
    sound_late = text.replace("<MEDIA_DESCRIPTOR ", '<MEDIA_DESCRIPTOR TIME_ORIGIN="900" ', 1)
    path.write_text(sound_late.replace("</HEADER>", film.format("") + "</HEADER>"), encoding="utf-8")
    assert len(rows(path)) == 2


@pytest.mark.parametrize(("units", "second"), [("PAL-frames", 1 / 25), ("NTSC-frames", 1001 / 30000)])
def test_elan_that_counts_frames(tmp_path: Path, units: str, second: float) -> None:
    path = elan(tmp_path / "a.eaf", {"steps": STEPS})
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("<HEADER", f'<HEADER TIME_UNITS="{units}"'), encoding="utf-8")
    assert [row[1:3] for row in rows(path)] == [
        pytest.approx([500 * second, 2000 * second]),
        pytest.approx([3000 * second, 4250 * second]),
    ]
    path.write_text(text.replace("<HEADER", '<HEADER TIME_UNITS="hours"'), encoding="utf-8")
    with pytest.raises(RgwotError, match="TIME_UNITS 'hours'; expected one of milliseconds"):
        rows(path)


def test_links_are_only_names(tmp_path: Path) -> None:
    (found, *_) = rows(elan(tmp_path / "a.eaf", {"steps": STEPS}, media="../../films/cup of tea.mp4"))
    assert found[0] == "cup of tea"
    (tmp_path / "b.boris").write_text(json.dumps(project(*EVENTS, files=["../.."])))
    for path in (elan(tmp_path / "a.eaf", {"steps": STEPS}, media="films/.."), tmp_path / "b.boris"):
        with pytest.raises(RgwotError, match="the link to its video names no file"):
            rows(path)


def test_boris_tables_without_a_media_file_in_a_row(tmp_path: Path) -> None:
    # BORIS writes "not found" if an event is at 0 s.
    events = [[0, *EVENTS[0][1:]], *EVENTS[1:]]
    (tmp_path / "a.tsv").write_text(tabular(events).replace("films/cup of tea.mp4\t15", "not found\t15"))
    assert rows(tmp_path / "a.tsv") == [["cup of tea", 0.0, 2.0, "pour"], *SEGMENTS[1:]]
    (tmp_path / "b.tsv").write_text(aggregated().replace("films/cup of tea.mp4\t15", "not found\t15"))
    assert rows(tmp_path / "b.tsv") == [["monday 1", *row[1:]] for row in SEGMENTS]


def test_boris_events_of_the_oldest_form(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        "Time,Media file path,FPS,Subject,Behavior,Status\n0.5,films/v.mp4,30,,rear,START\n2,films/v.mp4,30,,rear,STOP"
    )
    assert rows(path) == [["v", 0.5, 2.0, "rear"]]


def test_mstcn(tmp_path: Path) -> None:
    (tmp_path / "01.tent.gopro.txt").write_text("background\n" * 2 + "pour\n" * 3 + "SIL\n" + "stir\n" * 2 + "\n")
    # If the rate is not a whole number, borders are still at frames.
    assert rows(tmp_path / "01.tent.gopro.txt", fps="30000/1001") == [
        ["01.tent.gopro", 2 * 1001 / 30000, 5 * 1001 / 30000, "pour"],
        ["01.tent.gopro", 6 * 1001 / 30000, 8 * 1001 / 30000, "stir"],
    ]
    (tmp_path / "b.txt").write_text("pour\n\npour\n")
    with pytest.raises(RgwotError, match="b.txt: line 2: '' ?; expected one label per line"):
        rows(tmp_path / "b.txt", fps=15)


def test_tables(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("video,start_s,end_s,key_step,name\nv,1,2.5,3,pour\nw,0,1,0,\nw,1,2,2,stir\n")
    assert rows(tmp_path / "a.csv") == [["v", 1.0, 2.5, "pour"], ["w", 1.0, 2.0, "stir"]]
    (tmp_path / "b.csv").write_text("Start;Stop;Label\r\n1;2.5;pour\r\n")
    assert rows(tmp_path / "b.csv") == [["b", 1.0, 2.5, "pour"]]
    (tmp_path / "c.csv").write_text("1,2.5,3 pour water\n4,5,4\n")
    assert rows(tmp_path / "c.csv") == [["c", 1.0, 2.5, "pour water"], ["c", 4.0, 5.0, "key step 4"]]
    # The columns are those of CreateML (label-studio-sdk#385).
    (tmp_path / "f.csv").write_text("video, label, start, end\nclips/v 1.mov,pour,01:03.14,05:01:03\nv1.2,stir,1,2\n")
    assert rows(tmp_path / "f.csv") == [["v 1", 63.14, 18063.0, "pour"], ["v1.2", 1.0, 2.0, "stir"]]
    (tmp_path / "e.csv").write_text("start;end;label\n0:01,5;1:02:03;pour\n")
    assert rows(tmp_path / "e.csv") == [["e", 1.5, 3723.0, "pour"]]
    for text, clue in (
        ("start_s,end_s,label\n1,2\n", "line 2: 2 fields; expected 3"),
        ("start_s,end_s,label\n1,0:75,x\n", "line 2: '0:75' as a time"),
        ("start_s,end_s,label\ns,s,-\n1,2,x\n", "line 2: 's' as a time; .* if this is a row of units"),
        ("onset,offset,trial_type\n1,2,x\n", "columns onset, offset, trial_type; expected start_s .* rename them"),
        # Tables with a row per frame (deepethogram#11), and with times in frames (lossless-cut#1024).
        (",background,groom,rear\n0,1,0,0\n1,0,1,0\n", "columns , background, groom, rear; expected start_s"),
        ("Start Frame,End Frame,Label\n0,30,a\n", "columns Start Frame, End Frame, Label; expected start_s"),
        ("start_ms;end_ms;label\n1;2;x\n", "columns start_ms, end_ms, label; expected start_s .* in seconds"),
        ("# exported\nstart_s,end_s,label\n1,2,x\n", "header in line 2, expected it in line 1; delete the lines"),
        ("start_s,end_s,label\n3,2,x\n", "line 2: 'x' from 3 to 2 s; expected 0 <= start <= end"),
        ("start_s,end_s,label\n-1,2,x\n", "line 2: 'x' from -1 to 2 s"),
    ):
        (tmp_path / "d.csv").write_text(text)
        with pytest.raises(RgwotError, match=clue):
            rows(tmp_path / "d.csv")


def test_annotations_of_every_kind_beside_videos(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    task = tmp_path / "root/tea"
    task.mkdir(parents=True)
    for name in ("cup of tea", "eaf", "grid", "numbers", "frames", "nobody"):
        write_video(task / f"{name}.mp4", 150)
    elan(task / "eaf.eaf", {"steps": STEPS, "notes": [(0, 900, "dark")]})
    (task / "grid.csv").write_text("start_s,end_s,label\n1,2,step 10\n")
    (task / "frames.txt").write_text("background\n" * 30 + "stir\n" * 60)
    (task / "numbers.csv").write_text("1,2.5,3 pour water\n")
    # A file whose name is that of no video annotates all videos that have no annotation of their own.
    (task / "coding.boris").write_text(json.dumps(project(*EVENTS)))
    options = {"tier": "steps", "labels_fps": 30}
    out = tmp_path / "manifest.csv", tmp_path / "annotations.csv"
    write_manifest("mine", "tea", tmp_path / "root", "folder", options, *out, "fail")
    status = pd.read_csv(out[0]).set_index("name")["status"]
    assert dict(status) == {name: "unscored" if name == "nobody" else "ok" for name in status.index}
    table = read_annotations(out[1])
    # Steps with ids come first, and rows with their names get these ids; then come other names, as they first occur.
    numbers = {"pour water": 1, "pour": 2, "stir": 3, "step 10": 4}
    assert dict(zip(table["name"], table["key_step"], strict=True)) == numbers
    assert table.loc[table["video"] == "eaf", ["start_s", "end_s"]].values.tolist() == [[0.5, 2.0], [3.0, 4.25]]
    assert table.loc[table["video"] == "frames", ["start_s", "end_s"]].values.tolist() == [[1.0, 3.0]]
    assert "at 1.0 s: a point event inside a segment of another step; left out" in caplog.text
    # Without a rate, a text file is not an annotation; two files for many videos are refused.
    frames = next(one for one in find("mine", "folder", tmp_path / "root").of("tea") if one.name == "frames")
    assert frames.annotation == "tea/coding.boris"
    (task / "more.tsv").write_text(aggregated())
    with pytest.raises(RgwotError, match="coding.boris and tea/more.tsv both annotate several videos; expected one"):
        find("mine", "folder", tmp_path / "root").of("tea")


def test_marks_and_silence_of_tables(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("start_s,end_s,time_s,label\n0.5,2,,pour\n,,2.5,stir\n3,,,0\n")
    assert rows(path) == [["a", 0.5, 2.0, "pour"]]
    assert rows(path, marks=True) == [["a", 0.5, 2.0, "pour"], ["a", 2.5, 2.5, "stir"], ["a", 3.0, 3.0, "background"]]
    path.write_text("time_s;label\n2,5;stir\n")
    assert rows(path, marks=True) == [["a", 2.5, 2.5, "stir"]]
    path.write_text("start_s,end_s,time_s,label\n0.5,2,1,pour\n")
    with pytest.raises(
        RgwotError, match="a.csv: line 2: time_s '1' beside '0.5'; expected time_s for a mark, or start"
    ):
        rows(path)


def manifest(folder: Path, options: dict[str, Any] | None = None) -> tuple[dict[str, str], pd.DataFrame]:
    """Return why videos are not scored, by video, and the table of annotations with background."""
    out = folder / "manifest.csv", folder / "annotations.csv"
    write_manifest("mine", "tea", folder / "root", "folder", options or {}, *out, "fail")
    table = pd.read_csv(out[0], keep_default_na=False)
    unscored = table[table["status"] == "unscored"]
    return dict(zip(unscored["name"], unscored["reason"], strict=True)), read_annotations(out[1], background=True)


def test_videos_with_marks_are_kept_and_not_scored(tmp_path: Path) -> None:
    task = tmp_path / "root/tea"
    task.mkdir(parents=True)
    for name in ("marks", "mixed", "own", "point", "segments", "until", "zero"):
        write_video(task / f"{name}.mp4", 180)
    (task / "marks.csv").write_text("time_s,label\n1,pour\n2.5,stir\n4,background\n")
    (task / "mixed.csv").write_text("start_s,end_s,time_s,label\n0,2,,pour\n,,3,stir\n")
    # A mark inside a segment of its own step is redundant.
    (task / "own.csv").write_text("start_s,end_s,time_s,label\n0,2,,pour\n,,1,pour\n")
    (task / "segments.csv").write_text("start_s,end_s,label\n0,2,pour\n")
    (task / "until.csv").write_text("start_s,end_s,label,silence\n0,2,pour,until\n")
    (task / "zero.csv").write_text("time_s,label\n1,background\n")
    # BORIS codes several behaviours at a time: the point event at 1 s, inside a segment of pour, is left out.
    (task / "point.tsv").write_text(tabular([*EVENTS, [5.0, "", "sip", "", "", 1]]).replace("cup of tea", "point"))
    unscored, table = manifest(tmp_path)
    alone, part = "only marks, which give no borders", "marks beside segments, so labelled in part"
    until = "silence: until, so labelled in part"
    assert unscored == {"marks": alone, "mixed": part, "until": until, "zero": alone, "point": part}
    of_video = {video: part[["start_s", "end_s", "name"]].values.tolist() for video, part in table.groupby("video")}
    assert of_video == {
        "marks": [[4.0, 4.0, ""], [1.0, 1.0, "pour"], [2.5, 2.5, "stir"]],
        "mixed": [[0.0, 2.0, "pour"], [3.0, 3.0, "stir"]],
        "own": [[0.0, 2.0, "pour"]],
        "point": [[0.5, 2.0, "pour"], [1.2, 1.5, "pour"], [3.0, 4.25, "stir"], [5.0, 5.0, "sip"]],
        "segments": [[0.0, 2.0, "pour"]],
        "until": [[0.0, 2.0, "pour"]],
        "zero": [[1.0, 1.0, ""]],
    }
    # The column `silence` wins over the setting.
    words = dict(zip(table["video"], table["silence"], strict=True))
    assert words == dict.fromkeys(words, "") | {"until": "until"}
    _, table = manifest(tmp_path, {"silence": "only"})
    words = dict(zip(table["video"], table["silence"], strict=True))
    assert words == dict.fromkeys(words, "only") | {"until": "until"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "start_s,end_s,time_s,label\n0,2,,pour\n,,1,stir\n",
            "line 3: mark of 'stir' at 1 s, inside a segment of 'pour'; expected one step per moment",
        ),
        (
            "start_s,end_s,time_s,label\n0,2,,-\n,,1,stir\n",
            "line 3: mark of 'stir' at 1 s, inside a segment of 'background'",
        ),
        ("time_s,label\n1,pour\n1,stir\n", "line 3: marks of 'pour' and 'stir' at 1 s; expected one step per moment"),
        ("time_s,label\n6,pour\n", "line 2: mark of 'pour' at 6 s of a video of 5 s; expected it inside the video"),
        ("time_s,label\n-1,pour\n", "line 2: 'pour' from -1 to -1 s; expected 0 <= start"),
        ("time_s,label,silence\n1,pour,never\n", "line 2: silence 'never'; expected one of throughout, until, only"),
        ("time_s,label,silence\n1,a,only\n2,a,until\n", "silence only and until; expected one word per video"),
    ],
)
def test_marks_that_cannot_be_meant_are_refused_in_one_line(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "root/tea").mkdir(parents=True)
    write_video(tmp_path / "root/tea/a.mp4", 150)
    (tmp_path / "root/tea/a.csv").write_text(text)
    with pytest.raises(RgwotError, match=f"a.csv: {message}") as error:
        manifest(tmp_path)
    assert "\n" not in str(error.value)


def test_annotations_of_features_without_videos(tmp_path: Path) -> None:
    (tmp_path / "tea").mkdir()
    np.save(tmp_path / "tea/a.npy", np.zeros((10, 3), np.float32))
    elan(tmp_path / "tea/a.eaf", {"steps": STEPS})
    (entry,) = find("mine", "features", tmp_path).of("tea")
    assert (entry.path, entry.annotation) == ("tea/a.npy", "tea/a.eaf")
    read = layout_module("features").read_annotation(tmp_path, entry, None, None, Options())
    assert read.segments[["start_s", "end_s", "name"]].values.tolist() == [
        [0.5, 2.0, "pour water"],
        [3.0, 4.25, "stir"],
    ]


def test_a_table_annotates_features_that_are_not_tables(tmp_path: Path) -> None:
    for task in ("one", "mat", "text"):
        (tmp_path / task).mkdir()
    rows = "start_s,end_s,label\n0.5,2,pour\n"
    np.save(tmp_path / "one/a.npy", np.zeros((10, 3), np.float32))
    (tmp_path / "one/all.csv").write_text(rows.replace("start_s", "video,start_s").replace("0.5", "a,0.5"))
    savemat(tmp_path / "mat/a.mat", {"x": np.zeros((10, 3))})
    (tmp_path / "mat/a.csv").write_text(rows)
    (tmp_path / "text/a.csv").write_text("1.5,2.5\n")
    found = {task: find("mine", "features", tmp_path).of(task) for task in ("one", "mat", "text")}
    assert {task: [(entry.path, entry.annotation) for entry in own] for task, own in found.items()} == {
        "one": [("one/a.npy", "one/all.csv")],
        "mat": [("mat/a.mat", "mat/a.csv")],
        "text": [("text/a.csv", None)],
    }


@pytest.mark.parametrize(
    "name",
    sorted(
        {f"a{suffix}" for about in ANNOTATION_READERS.values() for suffix in about.suffixes} | {"a.doc", "gone.eaf"}
    ),
)
@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02\xff", b"[1]", "é".encode("latin-1")])
def test_files_without_annotations_end_in_one_line(tmp_path: Path, name: str, content: bytes) -> None:
    if not name.startswith("gone"):
        (tmp_path / name).write_bytes(content)
    if content == b"" and name in ("a.csv", "a.tsv", "a.txt"):
        assert rows(tmp_path / name) == []
        return
    if name == "a.txt" and content != b"\x00\x01\x02\xff":
        # Any text can be read as labels.
        assert len(rows(tmp_path / name, fps=30)) == 1
        return
    with pytest.raises(RgwotError) as caught:
        rows(tmp_path / name, fps=30)
    assert str(caught.value).startswith(f"{tmp_path / name}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("start_s,end_s,label,label\n1,5,pour,stir\n", "line 1: two columns 'label'; expected every column once"),
        ("start,start_s,end_s,label\n9,1,5,pour\n", "line 2: times in both start_s and start; expected one of them"),
        ("coder,start_s,end_s,label\nA,1,5,pour\nB,1.4,5.6,pour\n", "line 3: is by 'B', but others are by 'A'"),
        ("video,rater,start_s,end_s,label\na,A,1,5,x\nb,B,1,4,x\nb,A,1,4,x\n", "line 4: is by 'A', but others"),
        (
            "Observation id,Behavior,Behavior type,Image index,Subject\na,pour,START,10,\n",
            "line 2: codes pictures, which have no times",
        ),
    ],
)
def test_tables_in_which_something_is_twice_or_missing(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    with pytest.raises(RgwotError, match=re.escape(message)):
        rows(tmp_path / "a.csv")


def test_tables_of_several_annotators_of_different_videos_and_of_subtitles(tmp_path: Path) -> None:
    path = tmp_path / "all.csv"
    path.write_text("video,coder,start_s,end_s,label\na,A,1,5,x\nb,B,1,4,x\n", encoding="utf-8")
    assert rows(path) == [["a", 1.0, 5.0, "x"], ["b", 1.0, 4.0, "x"]]
    path.write_text("start\tend\tlabel\n00:00:01,500\t00:00:05,000\tx\n", encoding="utf-8")
    assert rows(path) == [["all", 1.5, 5.0, "x"]]


def test_frame_numbers_are_not_labels(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("0 pour\n1 pour\n2 stir\n", encoding="utf-8")
    with pytest.raises(RgwotError, match="line 1: '0 pour'; expected one label per line"):
        rows(path, fps=10)
    path.write_text("1 pour\n1 pour\n2 stir\n", encoding="utf-8")
    assert rows(path, fps=10) == [["a", 0.0, 0.2, "1 pour"], ["a", 0.2, 0.3, "2 stir"]]


def test_offsets_of_other_media_count_if_they_may_be_the_video(tmp_path: Path) -> None:
    def linked(*offsets: int | None) -> Path:
        path = elan(tmp_path / "c.eaf", {"steps": STEPS}, media=None)
        document = Eaf(path)
        for number, offset in enumerate(offsets):
            document.add_linked_file(f"cam{number}.mp4", mimetype="video/mp4", time_origin=offset)
        document.to_file(path)
        return path

    assert rows(linked(None, 0))[0][:2] == ["cam0", 0.5]
    with pytest.raises(RgwotError, match="its medium 'cam1': time offset 3000 ms"):
        rows(linked(None, 3000))
    two = project([1.0, "", "pour", "", ""], [5.0, "", "pour", "", ""])
    observation = next(iter(two["observations"].values()))
    observation["file"] = {"1": ["front.mp4"], "2": ["side.mp4"]}
    observation["media_info"] = {"offset": {"1": 0, "2": 3.0}}
    for name, wrong in (("front", False), ("side", True)):
        (tmp_path / f"{name}.boris").write_text(json.dumps(two), encoding="utf-8")
        if wrong:
            with pytest.raises(RgwotError, match="time offset 3.0 s"):
                rows(tmp_path / f"{name}.boris")
        else:
            assert rows(tmp_path / f"{name}.boris")[0][1:3] == [1.0, 5.0]


@pytest.mark.parametrize(
    ("lengths", "where"),
    [
        (("4", "3.5"), []),
        (("4,0", "3,6"), []),
        (("4000", "3500"), []),  # milliseconds
        (("100", "100"), []),  # length of the video
        (("", "3.5"), []),
        (("2", "3.5"), ["line 2"]),
        (("0:08", "7"), ["line 2, line 3"]),
    ],
)
def test_lengths_that_contradict_the_times_are_reported(tmp_path: Path, lengths: list[str], where: list[str]) -> None:
    path = tmp_path / "a.tsv"
    rows = "".join(
        f"{start}\t{end}\t{length}\t{label}\n"
        for start, end, length, label in zip((1, 5), (5, 8.5), lengths, "xy", strict=True)
    )
    path.write_text(f"start\tend\tDuration\tlabel\n{rows}", encoding="utf-8")
    read = read_annotation(path, ["a"], Options(), None)
    line = "the duration is not the time from start to end; which of them is right? start and end are used"
    assert read.segments["end_s"].tolist() == [5.0, 8.5]
    assert list(read.warnings) == [f"{path}: {places}: {line}" for places in where]


def test_rows_of_no_video_and_without_a_label_are_reported(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / "tea").mkdir(exist_ok=True)
        np.save(tmp_path / f"tea/{name}.npy", np.random.default_rng(0).normal(size=(100, 3)))
    table = tmp_path / "tea/all.csv"
    table.write_text("video,start_s,end_s,label\na,1,9,x\nB,1,9,x\nc,1,9,x\nc,2,3,y\n", encoding="utf-8")
    form = {"layout": "features", "root": str(tmp_path), "imported": {"axes": "TC", "fps": 10}}

    def told(rule: str) -> list[tuple[str | None, str]]:
        report = examine({"datasets": {"own": form}}, "own")
        return [
            (finding.file, finding.message)
            for finding in report.findings
            if finding.rule == rule and finding.severity == "warning"
        ]

    (found,) = told("pairing")
    assert found[0] == "tea/all.csv"
    assert found[1].startswith("2 of the 3 videos in it are not in this task, such as 'B'; their rows are left out")
    table.write_text("video,start_s,end_s,label\na,1,5,\na,5,9,x\nb,1,9,x\n", encoding="utf-8")
    assert told("pairing") == []
    assert told("label") == [("tea/all.csv", "a segment without a label; left out")]
    # This file has the name of a video, but rows of two other videos.
    table.rename(tmp_path / "tea/a.csv")
    (tmp_path / "tea/a.csv").write_text("video,start_s,end_s,label\nc,1,5,x\nd,5,9,x\n", encoding="utf-8")
    report = examine({"datasets": {"own": form}}, "own")
    assert any("has rows of 'c', 'd', but none of this video" in finding.message for finding in report.findings)
