"""The notebook of the documentation, run from its first cell to its last."""

from __future__ import annotations

from pathlib import Path

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
