"""Procedures printed on a terminal."""

import pandas as pd
import pytest
from click.testing import CliRunner

from rgwot.cli.results import show
from rgwot.columns import SEGMENT_COLUMNS
from rgwot.procedure import Event, Recording, deviations, learn
from rgwot.reporting.chosen import result_folder
from rgwot.reporting.show import MOST_DEVIATIONS, deviation_lines, drawn, procedure_lines
from rgwot.runtime.csv_files import write_csv
from rgwot.runtime.errors import RgwotError
from rgwot.stages.procedure import write_procedure


def recordings(*orders: tuple[int, ...]) -> list[Recording]:
    """Return videos a, b, ... with key steps of 2 s, one every 3 s."""
    return [
        Recording(video, tuple(Event(k, 3.0 * at, 3.0 * at + 2) for at, k in enumerate(order)), 30.0)
        for video, order in zip("abcdefghij", orders, strict=False)
    ]


def test_a_procedure_is_its_sentences_and_tables():
    videos = recordings(*[(1, 2, 3, 4), (1, 3, 2, 4)] * 4, (1, 3, 2, 4, 5), (1, 3, 4))
    procedure = learn(videos, "intersection")
    assert drawn(procedure, deviations(procedure, videos), videos, {1: "open the box", 5: "wipe"}) == [
        "The order that best fits the videos is open the box, then step 3 and step 2, found "
        "in either order, then step 4 and wipe (found in 1 of 10), no order known. "
        'Not every "then" is known: see After in the table.',
        "",
        "Key step        Found in  Median time  Share of time  After                               "
        "Next to it in any order  Next to it, order unknown",
        "1 open the box  10 of 10  2 s          7 %",
        "step 3          10 of 10  2 s          7 %            1 open the box (10 of 10)           step 2",
        "step 2          9 of 10   2 s          6 %            1 open the box (9 of 9)             step 3",
        "step 4          10 of 10  2 s          7 %            step 2 (9 of 9), step 3 (10 of 10)   "
        "                        5 wipe",
        "5 wipe          1 of 10   2 s          1 %                                                 "
        "                        step 4",
        "no key step                            73 %",
        "",
        "Video  Key step  Deviation  Time            Sureness  Surprise (bits)",
        "i      5 wipe    added      0:12            perhaps   2.9",
        "j      step 2    left out   due about 0:04  perhaps   2.9",
    ]


def test_only_the_most_surprising_deviations_are_listed():
    rows = [(f"v{at}", "1", "again", "0:05", "sure", "1.0") for at in range(MOST_DEVIATIONS + 3)]
    head, *listed, last = deviation_lines(rows)
    assert head.startswith("Video  Key step")
    assert [line.split()[0] for line in listed] == [row[0] for row in rows[:MOST_DEVIATIONS]]
    assert last == "... and 3 more in deviations.csv"
    assert deviation_lines([]) == ["No deviation was found."]


def test_a_folder_of_key_steps_is_read(tmp_path):
    videos = recordings((1, 2, 3), (1, 2, 3), (1, 3, 2))
    procedure = learn(videos)
    folder = tmp_path / "results/keysteps/raw/kmeans/d/t/seed0"
    folder.mkdir(parents=True)
    rows = [
        (video.video, "task", event.start_s, event.end_s, event.key_step) for video in videos for event in video.events
    ]
    # Background at the end fills each video up to its duration.
    rows += [(video.video, "task", video.events[-1].end_s, video.duration_s, 0) for video in videos]
    write_csv(pd.DataFrame(rows, columns=list(SEGMENT_COLUMNS)), folder / "segments.csv")
    for where, head in ((folder, ["Found by raw/kmeans/seed0."]), (tmp_path, [])):
        (folder / "segments.csv").rename(where / "segments.csv")
        write_procedure(where, procedure, deviations(procedure, videos))
        assert procedure_lines(where) == [*head, *drawn(procedure, deviations(procedure, videos), videos)]


def result(folder, videos):
    """Write a result of whole videos into a folder of key steps."""
    folder.mkdir(parents=True)
    rows = [
        (video.video, "task", event.start_s, event.end_s, event.key_step) for video in videos for event in video.events
    ]
    rows += [(video.video, "task", video.events[-1].end_s, video.duration_s, 0) for video in videos]
    write_csv(pd.DataFrame(rows, columns=list(SEGMENT_COLUMNS)), folder / "segments.csv")
    procedure = learn(videos)
    write_procedure(folder, procedure, deviations(procedure, videos))


def test_key_steps_of_one_name_are_one_and_those_called_minus_are_none(tmp_path):
    result(tmp_path / "kmeans/d/t/seed0", recordings((1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4)))
    folder = tmp_path / "kmeans/d/t/seed0"
    (folder / "names.yaml").write_text(
        "raw/kmeans/seed0:\n  result: '0'\n  names: {1: cut, 2: cut, 3: '-', 4: serve}\n"
        "  segments: {a: 1 2000 2 5000 3 8000 4 11000 0 30000}\n"
    )
    (tmp_path / "raw").mkdir()
    (tmp_path / "kmeans").rename(tmp_path / "raw/kmeans")
    lines = procedure_lines(tmp_path / "raw/kmeans/d/t/seed0")
    assert lines[1].startswith("All 3 videos show cut and serve in this order; ")
    cells = [line.split()[:6] for line in lines if line[:1].isdigit()]
    # Cut is found twice in each of the three videos.
    assert cells == [["1", "cut", "3", "of", "3", "2"], ["4", "serve", "3", "of", "3", "1"]]


def test_a_file_of_a_result_stands_for_its_folder_and_no_argument_for_the_first_result(tmp_path):
    runs = [tmp_path / f"keysteps/raw/{decoder}/d/t/seed0" for decoder in ("kmeans", "graphcut")]
    for folder in runs:
        result(folder, recordings((1, 2), (1, 2)))
    assert result_folder(runs[0] / "order.csv") == runs[0] / "order.csv"
    assert result_folder(runs[0] / "segments.csv") == runs[0]
    assert result_folder(tmp_path) == tmp_path
    with pytest.raises(RgwotError, match="no page that names a result; .* rgwot run first"):
        result_folder(results=tmp_path)
    for task in ("t", "u"):
        (tmp_path / "report/d").mkdir(parents=True, exist_ok=True)
        (tmp_path / f"report/d/{task}.html").touch()
        (tmp_path / f"report/d/{task}.csv").write_text("method,decoder,seed,rank\nraw,graphcut,0,1\nraw,kmeans,0,1\n")
        if task == "t":
            assert result_folder(results=tmp_path) == runs[1]
    with pytest.raises(RgwotError, match="2 pages, so the result is not clear; name one: .*graphcut/d/t/seed0, .*d/u"):
        result_folder(results=tmp_path)
    shown = CliRunner().invoke(show, [str(runs[0] / "segments.csv")]).stdout
    assert shown == "\n".join(procedure_lines(runs[0])) + "\n"
