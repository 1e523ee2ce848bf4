"""The notebooks of the documentation run from the first cell to the last, and their text agrees with the outputs."""

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


#: Statements in the text of a notebook about its outputs; run as a last cell.
FACTS = {
    "find": """
assert found.warnings == ()
told = {(row.video, row.kind, row.key_step): row.sureness for row in found.deviations.itertuples()}
assert told == {
    ("r04", "too_early", 5): 0.5, ("r11", "missing", 5): 0.5, ("r02", "repeated", 3): 0.5,
    ("r09", "too_early", 2): 0.1, ("r06", "missing", 3): 0.1, ("r04", "repeated", 5): 0.1,
}
edge = found.procedure.graph.edges[4, 5]
assert (edge["agree"], edge["both"]) == (10, 11)
assert found.compare(folder / "to_elan" / "r00.eaf").agreement.kappa == 1
assert found.procedure.order == (1, 2, 3, 4, 5, 6)
""",
    "table": """
assert len(found.warnings) == 1 and "interpolated" in found.warnings[0]
assert all((again.labels[name] == found.labels[name]).all() for name in dated)
assert {name: len(own) for name, own in found.labels.items()} == table.groupby("video").size().to_dict()
""",
    "annotate": """
gain = tree.table.set_index("K")["gain"]
assert gain[8] < 0.6 * gain[7] and all(gain[K] > 0.8 * gain[K - 1] for K in range(3, 8))
assert six.stability(2).mean > 0.95
assert sorted(learned.names.values()) == sorted(set(annotated[teachers[0]]["label"]))
assert learned.score(others, truth) > 0.95 > six.score(others, truth) + 0.1
assert not any((own == 0).any() for own in six.labels.values())
""",
    "deviations": """
told = judged(found)
wrong = told[~told["true"]]
assert (wrong["video"] + wrong["step"] + wrong["kind"]).tolist() == ["r04tasterepeated"]
right = told[told["true"]]
assert sorted(right["video"]) == ["r02", "r04", "r06", "r09", "r11"]
assert sorted(right["video"][right["sureness"] > 0.3]) == ["r02", "r04", "r11"] and (wrong["sureness"] < 0.3).all()
assert sorted(judged(learned)["video"]) == ["r02", "r04", "r06", "r09", "r11"] and judged(learned)["true"].all()
assert (judged(learned)["sureness"] > 0.7).all()
""",
}


def every_notebook() -> Iterator[Any]:
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        # The notebook `reproduce` runs the workflow three times and trains.
        yield pytest.param(path, id=path.stem, marks=[pytest.mark.long] if path.stem == "reproduce" else [])


@pytest.mark.parametrize("path", [*every_notebook()])
def test_every_cell_gives_what_is_stored(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("TQDM_DISABLE", "1")

    def kinds(notebook: Any) -> list[set[str]]:
        """Return the types of the outputs of every cell; numbers differ between machines."""
        outputs = (cell.get("outputs", []) for cell in notebook.cells)
        return [{kind for out in own for kind in out.get("data", {"text": ""})} for own in outputs]

    notebook = nbformat.read(path, as_version=4)
    stored = kinds(notebook)
    assert any("image/png" in own for own in stored)
    notebook.cells.append(nbformat.v4.new_code_cell(FACTS.get(path.stem, "")))
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    assert kinds(notebook)[:-1] == stored


def test_errors_of_a_job_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
