"""Metrics that stand in a table of their own."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import yaml
from table_helpers import write_scores

from rgwot.reporting.tables.scores import make_row, read_table
from rgwot.reporting.tables.spec import load_tables
from rgwot.runtime.errors import RgwotError

SEGMENTS = """
datasets: {d: {label: D}}
tables:
  segments:
    title: Segments
    datasets: [d]
    metrics: [mof, edit]
    blocks: [{protocol: segmentation, background: without}]
    rows: [{id: raw, label: Raw, method: raw, decoder: kmeans}]
"""


def test_segments_stand_beside_no_other_protocol(tmp_path: Path) -> None:
    (tmp_path / "tables.yaml").write_text(SEGMENTS)
    table = load_tables(tmp_path / "tables.yaml")["segments"]
    path = write_scores(tmp_path, ("raw", "kmeans", "d", "a", 0), 0.5)
    with pytest.raises(RgwotError, match="scores without the protocol segmentation"):
        make_row(table, "raw", [path], tmp_path / "raw.csv", {})
    old = pd.read_csv(path)
    new = old[old["metric"] == "f1"].assign(protocol="segmentation", metric="edit", value=0.7).drop_duplicates()
    pd.concat([old, new]).to_csv(path, index=False)
    make_row(table, "raw", [path], tmp_path / "raw.csv", {})
    found = read_table(table, tmp_path / "raw.csv")
    assert set(found["protocol"]) == {"segmentation"}
    assert found["d_edit"].tolist() == [0.7] * len(found)
    for wrong in ({"metrics": ["mof", "f1"]}, {"blocks": [{"protocol": "macro_task", "background": "with"}]}):
        content = yaml.safe_load(SEGMENTS)
        content["tables"]["segments"] |= wrong
        (tmp_path / "tables.yaml").write_text(yaml.safe_dump(content))
        with pytest.raises(RgwotError, match="protocol (segmentation|macro_task) has the metrics"):
            load_tables(tmp_path / "tables.yaml")
