"""A skipped video is reported in the manifest, the scores, and beside every number of a table."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from videos import write_video

from rgwot.datasets.manifest import write_manifest
from rgwot.keysteps.settings import OneLabel
from rgwot.reporting.tables.scores import write_table
from rgwot.reporting.targets import load_targets
from rgwot.stages.decode import decode_trivial
from rgwot.stages.evaluate import evaluate

IDENTITY = {"dataset": "demo", "task": "assembly", "method": "none", "decoder": "one_label", "seed": 0}


def rows_with(folder: Path, bad: int) -> pd.DataFrame:
    """Return the demo's table for a task of four videos, of which the first ``bad`` cannot be read."""
    task = folder / "root/assembly"
    task.mkdir(parents=True)
    for number in range(4):
        if number < bad:
            (task / f"v{number}.mp4").write_bytes(b"no video" * 100)
        else:
            write_video(task / f"v{number}.mp4", 48, 24)
        (task / f"v{number}.csv").write_text("0,1,1 pour\n1,2,2 stir\n", encoding="utf-8")
    manifest, segments, output = folder / "m.csv", folder / "s.csv", folder / "demo/one_label.csv"
    write_manifest("demo", "assembly", folder / "root", "folder", {}, manifest, segments, "skip")
    assert pd.read_csv(manifest)["status"].tolist() == ["skipped"] * bad + ["ok"] * (4 - bad)
    decode_trivial(manifest, folder / "keysteps", OneLabel(K=2), 0, 2)
    decoded, diagnostics = folder / "keysteps/segments.csv", folder / "keysteps/diagnostics.json"
    scores = folder / "seed0.csv"
    evaluate(manifest, segments, decoded, diagnostics, scores, IDENTITY, 2, 2)
    write_table(load_targets().table("demo"), [scores], output, "one_label")
    return pd.read_csv(output)


@pytest.mark.parametrize("bad", [0, 2])
def test_tables_count_the_videos_they_rest_on(tmp_path: Path, bad: int) -> None:
    rows = rows_with(tmp_path, bad)
    assert set(rows["n_videos"]) == {4 - bad}
    assert rows["note"].astype(str).str.contains("skipped").all() == (bad > 0)
