"""`rgwot plot` on files that lack something says so in one line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rgwot.cli import main

TABLES = {
    "manifest": "video,name,path,annotation,duration_s,fps,width,height,status,reason\n"
    "0003,a,a.mp4,a.csv,4,30,1,1,ok,\n",
    "annotations": "video,start_s,end_s,key_step,name\n0003,1,2,1,stir\n",
    "segments": "video,scope,start_s,end_s,key_step\n0003,task,0,2,1\n0003,task,2,4,2\n",
}
COLUMNS = [(name, column) for name, text in TABLES.items() for column in text.split("\n", 1)[0].split(",")]


def plot(folder: Path, monkeypatch: pytest.MonkeyPatch, **texts: str) -> Path:
    for name, text in (TABLES | texts).items():
        (folder / f"{name}.csv").write_text(text)
    paths = [f"--{name}={folder / f'{name}.csv'}" for name in ("manifest", "annotations")]
    command = ["rgwot", "plot", *paths, f"--segments=ours={folder / 'segments.csv'}", str(folder / "out.pdf")]
    monkeypatch.setattr(sys, "argv", command)
    main()
    return folder / "out.pdf"


def test_complete_files_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert plot(tmp_path, monkeypatch).with_suffix(".png").stat().st_size > 0


@pytest.mark.parametrize(("name", "column"), COLUMNS)
def test_a_missing_column_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, column: str
) -> None:
    rows = [line.split(",") for line in TABLES[name].splitlines()]
    place = rows[0].index(column)
    text = "".join(",".join(row[:place] + row[place + 1 :]) + "\n" for row in rows)
    with pytest.raises(SystemExit) as ended:
        plot(tmp_path, monkeypatch, **{name: text})
    assert ended.value.code == 1
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 1
    assert told[0].startswith(f"rgwot: {tmp_path / f'{name}.csv'}: no column {column}; expected ")
    assert not (tmp_path / "out.pdf").exists()
