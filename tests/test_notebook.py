"""The notebook of the documentation, run from its first cell to its last."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

NOTEBOOK = Path(__file__).resolve().parents[1] / "docs/notebook.ipynb"


@pytest.mark.slow
def test_every_cell_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    # Its first cell makes a temporary folder, which goes with this one.
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "outputs are made anew, not kept in the file"
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    pictures = [out for cell in code for out in cell.outputs if "image/png" in out.get("data", {})]
    assert len(pictures) == 4
    tables = [out for cell in code for out in cell.outputs if "text/html" in out.get("data", {})]
    assert len(tables) == 6


def test_what_a_job_complains_of_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = ["".join(cell["source"]) for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]]
    (cell,) = (source for source in cells if "def run(" in source)
    (tmp_path / "features/tea").mkdir(parents=True)
    np.save(tmp_path / "features/tea/a.npy", np.full((9, 4), np.nan))
    (tmp_path / "features/tea/a.csv").write_text("0,4,1 cut\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError, match=r"tea/a.npy: nan at sample 0, channel 0; expected finite numbers"):
        exec(cell, {"os": os, "subprocess": subprocess, "sys": sys, "Path": Path})
