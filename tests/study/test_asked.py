"""Functions of the library that rules call, and paths in rules."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rgwot import paths
from rgwot.runtime.errors import RgwotError
from rgwot.study.asked import answer, mistakes_in_one_line
from rgwot.study.study import Study, Task

RULES = Path(__file__).resolve().parents[2] / "workflow/rules"
IDS = {"dataset": "mine", "task": "tea"}


@pytest.fixture
def study(tmp_path: Path) -> Study:
    for name in "abc":
        video = tmp_path / f"tea/{name}.mp4"
        video.parent.mkdir(exist_ok=True)
        video.touch()
    return Study.of({"datasets": {"mine": {"layout": "folder", "root": str(tmp_path)}}})


def test_parameters_are_what_wildcards_name(study: Study) -> None:
    values = answer(
        study, {**IDS, "seed": "3", "column": "who"}, lambda task, seed, column, row="all": (task, seed, column, row)
    )
    assert values == (Task(study, "mine", "tea"), 3, "who", "all")
    run = {"method": "raw", "decoder": "kmeans", "seed": "1"}
    assert answer(study, {**IDS, **run}, lambda task, run: f"{task} {run}") == "mine/tea raw/kmeans/seed1"
    assert answer(study, {**IDS, "part": "0"}, lambda chosen: list(chosen)) == ["a", "b", "c"]
    assert answer(study, {**IDS, "video": "b"}, lambda chosen: chosen) == ["b"]
    assert answer(study, IDS, lambda chosen=None: chosen) is None
    assert answer(study, IDS, lambda study, dataset: study.config.dataset(dataset).layout) == "folder"


def test_a_mistake_ends_the_run_with_one_line() -> None:
    with pytest.raises(SystemExit, match="^rgwot: a.mp4: no such file$"), mistakes_in_one_line():
        raise RgwotError("a.mp4: no such file")


def test_no_script_reads_the_configuration() -> None:
    scripts = {path.name: path.read_text(encoding="utf-8") for path in (RULES.parent / "scripts").glob("*.py")}
    assert len(scripts) > 15
    assert not [name for name, text in scripts.items() if re.search(r"snakemake\.config|rgwot\.study\.study", text)]


def test_every_path_of_a_rule_is_one_of_the_library_or_another_form_of_it() -> None:
    known = {value for name, value in vars(paths).items() if name.isupper() and str(value).startswith("results/")}
    written: dict[str, str] = {}
    for file in sorted(RULES.glob("*.smk")):
        # Only the workflow knows paths of logs; the demo names its results.
        text = file.read_text(encoding="utf-8")
        found = re.findall(r'"(results/[^"]*\{[^"]*)"', text)
        written |= {path: file.name for path in found if not path.startswith("results/logs/")}
    forms = {path.rpartition(".")[0] for path in known}
    folders = {path.rpartition("/")[0] + "/" for path in known}
    strange = {
        path: file
        for path, file in written.items()
        if path not in known and path.rpartition(".")[0] not in forms and path not in folders | forms
    }
    assert not strange
    assert len(written) > 25
