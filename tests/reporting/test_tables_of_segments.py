"""Metrics of segments, which have their own tables."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from table_helpers import write_scores

from rgwot.reporting.tables.scores import read_table, write_table
from rgwot.reporting.tables.table import Place, Row, Table
from rgwot.runtime.errors import RgwotError


def test_segments_stand_beside_no_other_protocol(tmp_path: Path) -> None:
    table = Table(
        id="segments",
        datasets=[Place("d", "D")],
        metrics=["edit"],
        blocks=[("segmentation", "without")],
        rows=[Row("raw", "Raw", "raw", "kmeans")],
    )
    path = write_scores(tmp_path, ("raw", "kmeans", "d", "a", 0), 0.5)
    with pytest.raises(RgwotError, match="scores without the protocol segmentation"):
        write_table(table, [path], tmp_path / "raw.csv")
    old = pd.read_csv(path)
    new = old[old["metric"] == "f1"].assign(protocol="segmentation", metric="edit", value=0.7).drop_duplicates()
    pd.concat([old, new]).to_csv(path, index=False)
    write_table(table, [path], tmp_path / "raw.csv")
    found = read_table(table, tmp_path / "raw.csv")
    assert set(found["protocol"]) == {"segmentation"}
    assert found["d_edit"].tolist() == [0.7] * len(found)
