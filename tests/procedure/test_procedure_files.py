"""Files of procedures and deviations, and procedures learned from tables of segments of other programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from planted import recordings

from rgwot.cli import cli
from rgwot.columns import DEVIATION_COLUMNS
from rgwot.columns import LEARNER_NAMES as NAMES
from rgwot.keysteps.settings import ProcedureSettings
from rgwot.procedure import LEARNERS, Event, deviations, learn
from rgwot.procedure.learning import LEARNER
from rgwot.runtime.errors import RgwotError
from rgwot.stages.procedure import read_deviation_list, read_procedure, read_recordings, write_procedure

RECORDINGS = recordings((1, 2, 3), (1, 3, 2), (1, 2, 3), (2, 1, 3, 1), (1, 3))


def table(path: Path, rows: str, header: str = "video,start_s,end_s,key_step") -> Path:
    path.write_text(f"{header}\n{rows}", encoding="utf-8")
    return path


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    procedure = learn(RECORDINGS)
    found = deviations(procedure, RECORDINGS)
    assert found
    write_procedure(tmp_path, procedure, found)
    assert read_procedure(tmp_path / "procedure.json") == procedure
    assert read_deviation_list(tmp_path / "deviations.csv") == found
    assert (tmp_path / "deviations.csv").read_text().splitlines()[0] == ",".join(DEVIATION_COLUMNS)
    assert json.loads((tmp_path / "procedure.json").read_text())["version"] == 1
    write_procedure(tmp_path, procedure, [])
    assert read_deviation_list(tmp_path / "deviations.csv") == []


def test_the_settings_name_every_learner_and_the_same_default() -> None:
    assert set(NAMES) == set(LEARNERS)
    assert ProcedureSettings().learner == LEARNER == next(iter(NAMES))


def test_a_table_made_elsewhere_is_learned_from_and_printed(tmp_path: Path) -> None:
    segments = table(
        tmp_path / "mine.csv",
        "a,0,1,1,open\na,1,2,2,\na,2,3,0,\nb,0,1,1,\nb,1,2,2,close\nc,4,5,2,\nc,6,7,1,again\n",
        "video,start_s,end_s,key_step,name",
    )
    done = CliRunner().invoke(cli, ["procedure", str(segments), "--output", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "no order is known with fewer than 5 videos" in done.output
    brought, names = read_recordings(segments)
    assert names == {1: "open", 2: "close"}
    assert [one.events for one in brought] == [
        (Event(1, 0, 1), Event(2, 1, 2)), (Event(1, 0, 1), Event(2, 1, 2)), (Event(2, 4, 5), Event(1, 6, 7)),
    ]  # fmt: skip
    assert [one.duration_s for one in brought] == [3, 2, 7]
    assert read_procedure(tmp_path / "out/procedure.json") == learn(brought)
    chain = [*map(str, ("procedure", segments, "--output", tmp_path / "out", "--learner", "chain"))]
    assert CliRunner().invoke(cli, chain).exit_code == 0
    assert read_procedure(tmp_path / "out/procedure.json") == learn(brought, "chain")


def test_of_a_result_the_rows_of_scope_task_are_read(tmp_path: Path) -> None:
    header = "video,scope,start_s,end_s,key_step"
    segments = table(tmp_path / "segments.csv", "a,task,0,1,1\na,task,1,2,2\na,video,0,2,7\n", header)
    assert [event.key_step for event in read_recordings(segments)[0][0].events] == [1, 2]
    segments = table(tmp_path / "segments.csv", "a,video,0,2,7\n", header)
    with pytest.raises(RgwotError, match="found no row of scope task"):
        read_recordings(segments)


@pytest.mark.parametrize(
    ("rows", "header", "words"),
    [
        ("a,0,1\n", "video,start_s,end_s", r"no column key_step; expected video,start_s,end_s,key_step$"),
        ("a,0,1,pour\n", "video,start_s,end_s,key_step", r"row 2: found key_step 'pour', expected a whole number$"),
        ("a,0,1,1\na,-1,1,1\n", "video,start_s,end_s,key_step", r"row 3: found start_s -1, expected 0 or above$"),
        ("a,5,1,1\n", "video,start_s,end_s,key_step", r"row 2: found end_s 1, expected start_s 5 or above$"),
        ("a,0,1,-2\n", "video,start_s,end_s,key_step", r"row 2: found key_step -2, expected 0 or above$"),
        (",0,1,2\n", "video,start_s,end_s,key_step", r"row 2: found no video$"),
        ("a,0,nan,2\n", "video,start_s,end_s,key_step", r"row 2: found end_s 'nan', expected a number$"),
        ("a,0,1,0\nb,0,1,0\n", "video,start_s,end_s,key_step", r"found no key step in 2 rows"),
        ("", "video,start_s,end_s,key_step", r"found no row, expected at least one, with the columns video"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, rows: str, header: str, words: str) -> None:
    segments = table(tmp_path / "mine.csv", rows, header)
    with pytest.raises(RgwotError, match=words) as caught:
        read_recordings(segments)
    assert "\n" not in str(caught.value)
    assert "mine.csv" in str(caught.value)
    done = CliRunner().invoke(cli, ["procedure", str(segments), "--output", str(tmp_path / "out")])
    assert done.exit_code != 0
    assert not (tmp_path / "out").exists()


def test_little_input_is_reported_and_still_answered(tmp_path: Path) -> None:
    segments = table(tmp_path / "mine.csv", "a,0,1,1\na,1,2,2\n")
    done = CliRunner().invoke(cli, ["procedure", str(segments), "--output", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "Reliability: one video only" in done.output
    assert (tmp_path / "out/procedure.json").is_file()
