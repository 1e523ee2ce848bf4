"""Every reader of text handles the encodings in which programs and people save files, or refuses them in one line."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rgwot.datasets.annotation_files import read_annotation_file
from rgwot.datasets.arrays import open_array
from rgwot.datasets.base import VideoEntry
from rgwot.datasets.crosstask import read_tasks
from rgwot.datasets.feature_files import native_frames, open_points
from rgwot.datasets.frame_labels import read_annotation, read_label_numbers
from rgwot.datasets.procel import read_video_names
from rgwot.datasets.settings import Options
from rgwot.datasets.text import DataFault, collecting
from rgwot.datasets.video_table import read_groups
from rgwot.names import read_names
from rgwot.reporting.compare import read_coding
from rgwot.runtime.errors import RgwotError
from rgwot.stages.procedure import read_recordings

#: Two words that become equal if undecodable bytes are replaced by the same character.
ONE, OTHER = "fällen", "füllen"
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "cp1252", "utf-16-le")


def labels(path: Path) -> list[str]:
    return list(read_annotation_file(path, fps=1)["label"])


def columns(path: Path) -> list[str]:
    with open_array(path, None) as array:
        return array.columns.split("\n")


def lines_of_frames(path: Path) -> list[str]:
    """Read a file with a label per line; the file that numbers the labels is in UTF-8."""
    (path.parent.parent / "mapping.txt").write_text(f"0 {ONE}\n1 {OTHER}\n", encoding="utf-8")
    entry = VideoEntry("a", "a", "features/a.npy", f"groundTruth/{path.name}")
    return list(read_annotation(path.parent.parent, entry, None, None, Options()).segments["name"])


def project(text: str) -> str:
    observation = {"file": {}, "events": [[0, "", ONE, "", ""], [2, "", ONE, "", ""], [2, "", OTHER, "", ""],
                                          [6, "", OTHER, "", ""]]}  # fmt: skip
    codes = {str(at): {"type": "State event", "code": code} for at, code in enumerate((ONE, OTHER))}
    return json.dumps({"behaviors_conf": codes, "observations": {"a": observation}}, ensure_ascii=False)


ELAN = (
    "{}<ANNOTATION_DOCUMENT VERSION='3.0' xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' "
    "xsi:noNamespaceSchemaLocation='x'><HEADER TIME_UNITS='milliseconds'/><TIME_ORDER>"
    "<TIME_SLOT TIME_SLOT_ID='ts1' TIME_VALUE='0'/><TIME_SLOT TIME_SLOT_ID='ts2' TIME_VALUE='2000'/>"
    "<TIME_SLOT TIME_SLOT_ID='ts3' TIME_VALUE='6000'/></TIME_ORDER><TIER TIER_ID='steps' LINGUISTIC_TYPE_REF='d'>"
    + "".join(
        f"<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID='a{at}' TIME_SLOT_REF1='ts{at}' TIME_SLOT_REF2='ts{at + 1}'>"
        f"<ANNOTATION_VALUE>{word}</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>"
        for at, word in ((1, ONE), (2, OTHER))
    )
    + "</TIER><LINGUISTIC_TYPE LINGUISTIC_TYPE_ID='d' TIME_ALIGNABLE='true' GRAPHIC_REFERENCES='false'/>"
    "</ANNOTATION_DOCUMENT>"
)
BORIS = "Observation id\tMedia file\tSubject\tBehavior\tBehavior type\t"
POINTS = "scorer,s,s,s,s,s,s\nbodyparts,{0},{0},{0},{1},{1},{1}\ncoords,x,y,likelihood,x,y,likelihood\n0,1,2,1,3,4,1\n"


def rates(path: Path) -> list[str]:
    settings: Any = SimpleNamespace(rates=str(path), window=16)
    assert native_frames(Path(f"{OTHER}.npy"), settings) == (25, 10)
    return [ONE, OTHER] if native_frames(Path(f"{ONE}.npy"), settings) == (30, 9) else []


#: File, its text, and how its reader returns the two words.
READERS: dict[str, tuple[str, str, Callable[[Path], list[str]]]] = {
    "table": ("a.csv", f"start_s,end_s,label\n0,2,{ONE}\n2,6,{OTHER}\n", labels),
    "table with semicolons": ("a.csv", f"Start;Stop;Label\r\n0,5;2;{ONE}\r\n2;6,25;{OTHER}\r\n", labels),
    "three columns": ("a.csv", f"0,2,1 {ONE}\n2,6,2 {OTHER}\n", labels),
    "MS-TCN": ("a.txt", f"{ONE}\n{ONE}\n{OTHER}\n", labels),
    "ELAN": ("a.eaf", ELAN.format(""), labels),
    "BORIS, a project": ("a.boris", project(""), labels),
    "BORIS, packed": ("a.boris.gz", project(""), labels),
    "BORIS, intervals": (
        "a.tsv",
        f"{BORIS}Start (s)\tStop (s)\nm\ta.mp4\t\t{ONE}\tSTATE\t0\t2\nm\ta.mp4\t\t{OTHER}\tSTATE\t2\t6\n",
        labels,
    ),
    "BORIS, events": (
        "a.tsv",
        f"{BORIS}Time\n"
        + "".join(f"m\ta.mp4\t\t{word}\t{kind}\t{time}\n" for word, kind, time in (
            (ONE, "START", 0), (ONE, "STOP", 2), (OTHER, "START", 2), (OTHER, "STOP", 6),
        )),
        labels,
    ),
    "a second coder": (
        "a.csv", f"start_s,end_s,label\n0,2,{ONE}\n2,6,{OTHER}\n", lambda path: list(read_coding(path)["label"])
    ),
    "labels of frames": ("groundTruth/a.txt", f"{ONE}\n{ONE}\n{OTHER}\n", lines_of_frames),
    "their numbers": (
        "mapping.txt", f"0 {ONE}\n1 {OTHER}\n", lambda path: list(read_label_numbers(path.parent, Options()))
    ),
    "tasks of CrossTask": (
        "tasks_primary.txt", f"1\nTea\nurl\n2\n{ONE},{OTHER}\n", lambda path: list(read_tasks(path)["1"])
    ),
    "ProceL's readme": (
        "readme.txt",
        f"u\t{ONE}\t0\t1\nu\t{OTHER}\t0\t1\n",
        lambda path: list(read_video_names(path.with_name("data.mat"))),
    ),
    "groups": (
        "videos.csv", f"video;group\na;{ONE}\nb;{OTHER}\n", lambda path: list(read_groups(path, ["a", "b"]).values())
    ),
    "rates of videos": ("rates.csv", f"video;fps;frames\n{ONE};30;9\n{OTHER};25;10\n", rates),
    "a table of sensors": ("a.csv", f"{ONE},{OTHER}\n1.5,2\n2.5,3\n", columns),
    "points of DeepLabCut": (
        "a.csv", POINTS.format(ONE, OTHER), lambda path: open_points(path, "image").columns.split("\n")
    ),
    "a table of points": (
        "a.csv",
        f"{ONE}_x,{ONE}_y,{OTHER}_x,{OTHER}_y\n1,2,3,4\n",
        lambda path: open_points(path, "image").columns.split("\n"),
    ),
    "typed names": (
        "names.yaml",
        f"rgwot/graphcut/seed0:\n  result: 3f2a9c1b7d20\n  names:\n    1: {ONE}\n    2: {OTHER}\n",
        lambda path: list(read_names(path)["rgwot/graphcut/seed0"].names.values()),
    ),
    "a procedure from a table": (
        "a.csv",
        f"video;start_s;end_s;key_step;name\na;0,5;2;1;{ONE}\na;2;6,25;2;{OTHER}\n",
        lambda path: list(read_recordings(path)[1].values()),
    ),
}  # fmt: skip
#: Encodings that a reader refuses, because XML and YAML have their own rules about encodings.
REFUSED = {"ELAN": ("cp1252",), "typed names": ("utf-16", "cp1252")}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("reader", READERS)
def test_two_words_stay_two(reader: str, encoding: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    name, text, read = READERS[reader]
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    data = text.encode(encoding)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    if encoding in (*REFUSED.get(reader, ()), "utf-16-le"):
        with pytest.raises(RgwotError) as caught:
            read(path)
        assert str(caught.value).startswith(str(path))
        assert "\n" not in str(caught.value)
        return
    assert read(path) == [ONE, OTHER]
    warned = [
        line for line in caplog.messages if line.startswith(f"{path}: is not UTF-8, so it is read as Windows-1252")
    ]
    assert len(warned) == (encoding == "cp1252")


def test_elan_that_says_its_encoding(tmp_path: Path) -> None:
    path = tmp_path / "a.eaf"
    path.write_bytes(ELAN.format("<?xml version='1.0' encoding='windows-1252'?>").encode("cp1252"))
    assert labels(path) == [ONE, OTHER]


def test_files_that_are_not_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for data in (b"0,2,1 f\x81llen\n", "0,2,1 fällen\n".encode("utf-32"), b"\xff\xfe1", b"\0\1"):
        path.write_bytes(data)
        with pytest.raises(DataFault, match="; expected UTF-8 text; save the file as UTF-8"):
            labels(path)


def test_the_doctor_reports_an_encoding_and_lost_letters(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "a.csv"
    for data in (b"0,2,1 f\xe4llen\n", "0,2,1 f\ufffdllen\n".encode()):
        path.write_bytes(data)
        with collecting() as complaints:
            labels(path)
        assert [(complaint.severity, complaint.rule, complaint.path) for complaint in complaints] == [
            ("warning", "encoding", path)
        ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("start_s;end_s;label\n0,5;1,250;a\n", [[0.5, 1.25]]),
        ("start_s\tend_s\tlabel\n0,5\t12,250\ta\n", [[0.5, 12.25]]),
        ('start_s,end_s,label\n"0,5","1,25","a, b"\n', [[0.5, 1.25]]),
        ("start_s;end_s;label\n0.5;1.25;a, b\n", [[0.5, 1.25]]),
        # The comma may separate thousands or three decimals.
        ("start_s\tend_s\tlabel\n1,200\t1,300\ta\n", "thousands"),
        ("start_s;end_s;label\n0.5;1,25;a\n", "one decimal sign"),
        ("start_s;end_s;label\n0,5;1.000,25;a\n", "one decimal sign"),
        ("start_s;end_s;label\n0,5;1,2,3;a\n", "as a time"),
    ],
)
def test_decimal_commas_of_a_coder(text: str, expected: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    if isinstance(expected, list):
        assert read_annotation_file(path)[["start_s", "end_s"]].values.tolist() == expected
    else:
        with pytest.raises(DataFault, match=expected) as caught:
            read_annotation_file(path)
        assert "\n" not in str(caught.value)
