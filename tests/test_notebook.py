"""The notebooks of the documentation, each run from its first cell to its last."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

NOTEBOOKS = Path(__file__).resolve().parents[1] / "docs/notebooks"


def every_notebook() -> Iterator[Any]:
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        # It runs the workflow three times and trains.
        yield pytest.param(path, id=path.stem, marks=[pytest.mark.long] if path.stem == "reproduce" else [])


@pytest.mark.parametrize("path", [*every_notebook()])
def test_every_cell_gives_what_is_stored(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    def kinds(notebook: Any) -> list[set[str]]:
        """Of every cell the kinds of its outputs; numbers differ between machines."""
        outputs = (cell.get("outputs", []) for cell in notebook.cells)
        return [{kind for out in own for kind in out.get("data", {"text": ""})} for own in outputs]

    notebook = nbformat.read(path, as_version=4)
    stored = kinds(notebook)
    assert any("image/png" in own for own in stored)
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    assert kinds(notebook) == stored


def test_what_a_job_complains_of_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = json.loads((NOTEBOOKS / "reproduce.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"]]
    (cell,) = (source for source in cells if "def run(" in source)
    (tmp_path / "features/tea").mkdir(parents=True)
    np.save(tmp_path / "features/tea/a.npy", np.full((9, 4), np.nan))
    (tmp_path / "features/tea/a.csv").write_text("0,4,1 cut\n")
    monkeypatch.chdir(tmp_path)
    names = {"os": os, "subprocess": subprocess, "sys": sys, "Path": Path}
    with pytest.raises(AssertionError, match=r"tea/a.npy: nan at sample 0, channel 0; expected finite numbers"):
        exec(cell + "\nrun('results/keysteps/whitened/meanfield/mine/tea/seed0/segments.csv')", names)
