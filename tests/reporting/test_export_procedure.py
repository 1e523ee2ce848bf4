"""Exports of the procedure as a graph and as an event log, read back by independent parsers."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
from datetime import datetime
from pathlib import Path

import pytest

from rgwot.procedure import Event, Procedure, Recording, deviations, learn
from rgwot.procedure.known import told
from rgwot.reporting.export import ExportedVideo, LabelledSegment, export, export_keysteps, read_graph
from rgwot.runtime.errors import RgwotError
from rgwot.stages.procedure import write_procedure

NAME = 'pour <b>"oil"</b> & stir\\'
#: The orders of eight videos, three of which have key step 4.
ORDERS = [(1, 2, 3), (1, 2, 4, 3), (1, 2, 3), (1, 2, 3, 4), (1, 2, 3), (1, 2, 4, 3), (1, 2, 3), (1, 2, 3)]
RECORDINGS = [
    Recording(f"v{n}", tuple(Event(step, 3.0 * at, 3.0 * at + 2) for at, step in enumerate(steps)), 20.0)
    for n, steps in enumerate(ORDERS)
]
SEGMENTS = "video,scope,start_s,end_s,key_step\nv0,task,0,2,1\nv0,task,2,4,0\nv0,task,4,5,2\nv0,video,0,5,1\n"


@pytest.fixture
def procedure() -> Procedure:
    return learn(RECORDINGS, "intersection")


@pytest.fixture
def keysteps(tmp_path: Path, procedure: Procedure) -> Path:
    folder = tmp_path / "results/keysteps/raw/kmeans/d/t/seed0"
    folder.mkdir(parents=True)
    (folder / "segments.csv").write_text(SEGMENTS)
    write_procedure(folder, procedure, deviations(procedure, RECORDINGS))
    manifest = tmp_path / "results/manifest/d/t.csv"
    manifest.parent.mkdir(parents=True)
    manifest.write_text(
        "video,name,path,annotation,duration_s,fps,width,height,status,reason\nv0,v0,v0.mp4,,5.0,30,64,48,ok,\n"
    )
    return folder


@pytest.fixture
def names(tmp_path: Path, keysteps: Path) -> Path:
    from rgwot.names import result_id
    from rgwot.records import read_segments

    path = tmp_path / "names.yaml"
    result = result_id(read_segments(keysteps / "segments.csv"))
    path.write_text(f"raw/kmeans/seed0:\n  result: '{result}'\n  names:\n    2: '{NAME}'\n")
    return path


def test_dot_has_every_node_and_edge(tmp_path: Path, keysteps: Path, names: Path, procedure: Procedure) -> None:
    export_keysteps("dot", keysteps, tmp_path / "out", names=names)
    text = (tmp_path / "out/procedure.dot").read_text(encoding="utf-8")
    edges = set(re.findall(r"^  (\w+) -> (\w+)(?: \[label=\"\d+/\d+\"\])?;$", text, re.M))
    assert edges == {(str(edge.before), str(edge.after)) for edge in told(procedure).edges}
    labels = dict(re.findall(r"^  (\d) \[label=\"((?:[^\"\\]|\\.)*)\"", text, re.M))
    assert set(labels) == {"1", "2", "3", "4"}
    assert labels["2"] == r"pour <b>\"oil\"</b> & stir\\\n8 of 8 videos"
    assert re.findall(r"^  (\d) .*dashed", text, re.M) == ["4"]


@pytest.mark.skipif(shutil.which("dot") is None, reason="no Graphviz on this machine")
def test_graphviz_reads_the_dot_file(tmp_path: Path, keysteps: Path, names: Path, procedure: Procedure) -> None:
    export_keysteps("dot", keysteps, tmp_path / "out", names=names)
    command = ["dot", "-Tplain", str(tmp_path / "out/procedure.dot")]
    plain = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    drawn = {tuple(line.split()[1:3]) for line in plain if line.startswith("edge ")}
    assert drawn == {(str(edge.before), str(edge.after)) for edge in told(procedure).edges}


VIDEOS = [
    ExportedVideo(
        "a",
        Path("a.mp4"),
        12.0,
        30.0,
        (64, 48),
        (LabelledSegment(0.5, 2.0, 1, NAME), LabelledSegment(2.0, 3.25, 2, "key step 2")),
    ),
    ExportedVideo("b", Path("b.mp4"), 5.0, 25.0, (64, 48), ()),
]


def seconds(date: str) -> float:
    return datetime.fromisoformat(date).timestamp()


def test_the_event_log_has_the_columns_of_process_mining(tmp_path: Path, keysteps: Path) -> None:
    export_keysteps("eventlog", keysteps, tmp_path / "read")
    # Background is not an event.
    assert [line.split(",")[-2:] for line in (tmp_path / "read/eventlog.csv").read_text().splitlines()] == [
        ["key_step", "counts"], ["1", "True"], ["2", "True"],
    ]  # fmt: skip
    export("eventlog", VIDEOS, tmp_path / "out")
    with (tmp_path / "out/eventlog.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["case:concept:name"], row["concept:name"], row["key_step"]) for row in rows] == [
        ("a", NAME, "1"), ("a", "key step 2", "2"),
    ]  # fmt: skip
    assert [(seconds(row["start_timestamp"]), seconds(row["time:timestamp"])) for row in rows] == [(0.5, 2), (2, 3.25)]


def test_a_procedure_of_nothing_is_still_a_graph(tmp_path: Path) -> None:
    graph = learn([Recording("v", (), 5.0)]).graph
    export("dot", graph, tmp_path / "dot")
    text = (tmp_path / "dot/procedure.dot").read_text()
    assert set(re.findall(r"^  (START|END|\d+) \[", text, re.M)) == {"START", "END"}


def test_what_is_missing_is_reported_in_one_line(tmp_path: Path, keysteps: Path) -> None:
    with pytest.raises(RgwotError, match="expected a folder such as results/keysteps"):
        read_graph(tmp_path)
    (keysteps / "procedure.json").write_text("[]")
    with pytest.raises(RgwotError, match=r"procedure\.json: found list, expected an object"):
        read_graph(keysteps)
