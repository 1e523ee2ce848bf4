"""Procedures as lines of a terminal."""

import pandas as pd
from click.testing import CliRunner

from rgwot.cli.results import show
from rgwot.columns import SEGMENT_COLUMNS
from rgwot.procedure import Event, Recording, deviations, learn
from rgwot.reporting.show import MOST_DEVIATIONS, deviation_lines, drawn, procedure_lines
from rgwot.runtime.files import write_csv
from rgwot.stages.procedure import write_procedure


def recordings(*orders: tuple[int, ...]) -> list[Recording]:
    """Videos a, b, ... with key steps of 2 s, one every 3 s."""
    return [
        Recording(video, tuple(Event(k, 3.0 * at, 3.0 * at + 2) for at, k in enumerate(order)), 30.0)
        for video, order in zip("abcde", orders, strict=False)
    ]


def test_a_procedure_is_its_sentences_and_tables():
    videos = recordings((1, 2, 3, 4), (1, 3, 2, 4), (1, 2, 3, 4), (1, 3, 2, 4, 5), (1, 3, 4))
    procedure = learn(videos, "intersection")
    assert drawn(procedure, deviations(procedure, videos), videos, {1: "open the box", 5: "wipe"}) == [
        "The order that best fits the videos is open the box, then step 3 and step 2 in either order, then step 4, "
        "then wipe (found in 1 of 5 videos).",
        "",
        "Key step        Found in  Times per video  Median time  Share of time  After            In any order with",
        "1 open the box  5 of 5    1                2 s          7 %",
        "step 3          5 of 5    1                2 s          7 %            1 open the box   step 2",
        "step 2          4 of 5    1                2 s          5 %            1 open the box   step 3",
        "step 4          5 of 5    1                2 s          7 %            step 2, step 3",
        "5 wipe          1 of 5    1                2 s          1 %            step 4 (1 of 1)",
        "background                                              73 %",
        "",
        "Video  Key step  Deviation                   Time            Sureness  Surprise (bits)",
        "d      5 wipe    added                       0:12            unknown   2.0",
        "e      step 2    left out or not recognised  due about 0:02  unknown   2.0",
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
    rows = [(one.video, "task", event.start_s, event.end_s, event.key_step) for one in videos for event in one.events]
    # The background at the end makes each video as long as it is.
    rows += [(one.video, "task", one.events[-1].end_s, one.duration_s, 0) for one in videos]
    write_csv(pd.DataFrame(rows, columns=list(SEGMENT_COLUMNS)), folder / "segments.csv")
    for where, head in ((folder, ["Found by raw/kmeans/seed0."]), (tmp_path, [])):
        (folder / "segments.csv").rename(where / "segments.csv")
        write_procedure(where, procedure, deviations(procedure, videos))
        assert procedure_lines(where) == [*head, *drawn(procedure, deviations(procedure, videos), videos)]


def test_a_file_of_key_steps_is_shown_by_its_folder(tmp_path):
    for name in ("order.csv", "procedure.json"):
        (tmp_path / name).touch()
    told = CliRunner().invoke(show, [str(tmp_path / "order.csv")]).exception
    assert str(told).endswith(f"found a file of key steps, expected their folder; run `rgwot show {tmp_path}`")
