"""Comparison of groups, from the folder of a result to table, figure and printed lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from rgwot.cli import cli
from rgwot.names import names_text
from rgwot.procedure import deviations, learn, recordings_from_segments
from rgwot.records import read_segments
from rgwot.reporting.groups import read_group_table
from rgwot.stages.procedure import write_procedure


@pytest.fixture
def result(tmp_path: Path) -> Path:
    """Return a result of twelve videos with three key steps; the second step takes longer in the last six videos."""
    rng, rows = np.random.default_rng(0), []
    for video in range(12):
        lengths = rng.uniform(4, 6, 3) + [0, 5 * (video >= 6), 0]
        ends = np.cumsum(lengths)
        rows += [
            (f"v{video}", "task", end - length, end, step)
            for step, end, length in zip((1, 2, 3), ends, lengths, strict=True)
        ]
    segments = pd.DataFrame(rows, columns=["video", "scope", "start_s", "end_s", "key_step"])
    folder = tmp_path / "seed0"
    folder.mkdir()
    segments.to_csv(folder / "segments.csv", index=False)
    recordings = recordings_from_segments(segments)
    learned = learn(recordings)
    write_procedure(folder, learned, deviations(learned, recordings))
    return folder


def compared(result: Path, groups: str, *more: str) -> tuple[str, Path]:
    videos, output = result.parent / "videos.csv", result.parent / "out" / "groups.csv"
    videos.write_text("video,group\n" + "".join(f"v{at},{group}\n" for at, group in enumerate(groups) if group != "-"))
    done = CliRunner().invoke(cli, ["compare-groups", str(output), str(result), "--videos", str(videos), *more])
    assert done.exception is None, done.exception
    return done.output, output


def test_videos_that_taught_are_distinguished(result: Path) -> None:
    assert "taught" not in compared(result, "aaaaaabbbbbb")[0]
    (result / "diagnostics.json").write_text('{"K": 3, "labelled": {"videos": ["v0", "v7"]}}')
    assert compared(result, "aaaaaabbbbbb")[0].startswith(
        "Key steps are annotated in the 2 videos that this result learned from, and found in the others."
    )


def test_table_figure_and_words(result: Path) -> None:
    said, output = compared(result, "aaaaaabbbbbb")
    assert "a (n = 6), b (n = 6); the unit is the video. Kruskal-Wallis by 10,000 permutations" in said
    assert "* key step 2, duration" in said
    assert "Warning" not in said
    assert "No difference is significant" not in said
    table = read_group_table(output)
    assert len(table) == 3 * 6
    starred = table[table["star"] == "*"]
    assert (2, "duration") in set(zip(starred["key_step"], starred["measure"], strict=True))
    assert starred["n_a"].eq(6).all()
    assert output.with_suffix(".png").stat().st_size > 10_000
    assert output.with_suffix(".pdf").exists()


def test_few_videos_and_three_groups(result: Path, caplog: pytest.LogCaptureFixture) -> None:
    said, output = compared(result, "aaabbbcccc--")
    assert "Warning: fewer than 5 videos in a group" in said
    assert "a has 3, b has 3, c has 4" in said
    assert "left out: v10, v11" in caplog.text
    compared(result, "aaabbbcccc--aa")
    assert "videos.csv: 2 rows name no video of the result, such as 'v12'" in caplog.text
    table = read_group_table(output)
    barred = int(table.loc[table["group_a"] == "", "p_adjusted"].isna().sum())
    assert f"With 3, 3 and 4 videos, {barred} of 18 comparisons cannot be significant" in said
    assert set(table["test"].str.split(",").str[0]) == {"Kruskal-Wallis", "Dunn"}
    assert len(table) == 3 * 6 * 4


def test_names_of_key_steps_in_the_table(result: Path) -> None:
    folder = result.parent / "keysteps" / "raw" / "kmeans" / "demo" / "assembly" / "seed0"
    folder.parent.mkdir(parents=True)
    result.rename(folder)
    plain = read_group_table(compared(folder, "aaaaaabbbbbb")[1])
    names = folder / "names.yaml"
    names.write_text(names_text("raw/kmeans/seed0", read_segments(folder / "segments.csv"), {2: "pour"}))
    table = read_group_table(compared(folder, "aaaaaabbbbbb", "--names", str(names))[1])
    assert set(zip(table["key_step"], table["name"], strict=True)) == {(1, ""), (2, "pour"), (3, "")}
    pd.testing.assert_frame_equal(table.drop(columns="name"), plain)
