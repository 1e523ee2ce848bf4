"""The stage from key steps to scores."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from rgwot.evaluation.evaluate import ScoreMore, score_task
from rgwot.records import read_annotations, read_diagnostics, read_manifest, read_segments
from rgwot.runtime.csv_files import write_csv


def evaluate(
    manifest_csv: str | os.PathLike[str],
    annotations_csv: str | os.PathLike[str],
    segments_csv: str | os.PathLike[str],
    diagnostics_json: str | os.PathLike[str],
    output_csv: str | os.PathLike[str],
    identity: Mapping[str, object],
    n_key_steps: int | None,
    stride: int,
    more: ScoreMore | None = None,
    also: str = "none",
) -> pd.DataFrame:
    """Score the key steps of a task and write the table of scores (`rgwot.evaluation.evaluate.score_task`).

    Raises
    ------
    RgwotError
        If no video can be scored, a file cannot be read, or a table does not fit the others.
    """
    manifest, annotations = read_manifest(Path(manifest_csv)), read_annotations(Path(annotations_csv))
    if n_key_steps is None and len(annotations):
        n_key_steps = int(annotations["key_step"].max())
    # Marks are not ground truth, so videos with marks are not scored.
    unscored = manifest.loc[manifest["status"] == "unscored", "video"]
    annotations = annotations[~annotations["video"].isin(unscored)]
    segments, diagnostics = read_segments(Path(segments_csv)), read_diagnostics(diagnostics_json)
    table = score_task(manifest, annotations, segments, diagnostics, identity, n_key_steps, stride, more, also)
    write_csv(table, output_csv)
    return table
