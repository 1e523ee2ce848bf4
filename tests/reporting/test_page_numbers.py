"""A page with results of several numbers of key steps: what is shown follows the chosen result."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pandas as pd
import pytest
from chromium import WHERE, WITHOUT, Browser
from page_tree import embedded_data
from procedure_tree import RUN, make_tree

from rgwot import paths
from rgwot.names import result_id
from rgwot.paths import Run, Tree
from rgwot.records import read_segments
from rgwot.reporting.page.render import write_page

#: The result with more key steps; the numbers of its steps are not those of their order.
FINER = Run(RUN.method, f"{RUN.decoder}@K=5", RUN.seed)
ORDER = [4, 1, 5, 2, 3]
OWN = ".procedure:not([hidden])"


def write_results(folder: Path) -> Tree:
    """Write a result in which every video has three key steps, and one with five, one of which two videos lack."""
    tree = make_tree(folder / "page", "usual", [(1, 1, 2, 2, 3)] * 8)
    finer = make_tree(folder / "finer", "usual", [tuple(ORDER)] * 6 + [(4, 1, 5, 3)] * 2)
    shutil.copytree(finer.keysteps(RUN), tree.keysteps(FINER))
    for run in (RUN, FINER):
        view = {
            "result": result_id(read_segments(tree.at(paths.SEGMENTS, run))), "tree": None, "typical": [],
            "next": ["video 01", "video 02"],
        }  # fmt: skip
        tree.at(paths.VIEW, run).parent.mkdir(parents=True, exist_ok=True)
        tree.at(paths.VIEW, run).write_text(json.dumps(view))
    write_page(tree, tree.results, [RUN, FINER], tree.at(paths.PAGE))
    return tree


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return write_results(tmp_path)


def test_every_result_has_the_order_of_its_procedure_and_its_own_export(tree: Tree) -> None:
    data = embedded_data(tree.at(paths.PAGE))
    assert [facts["order"] for facts in data["runs"]] == [[1, 2, 3], ORDER]
    assert [facts["steps"] for facts in data["runs"]] == [[1, 2, 3], [1, 2, 3, 4, 5]]
    for run in (RUN, FINER):
        assert shlex.split(data["next"]["commands"][str(run)])[3] == tree.keysteps(run).as_posix()


def test_a_result_without_deviations_names_the_one_that_tells_most(tree: Tree) -> None:
    said = "With 3 key steps, no deviation was found; the result with 5 key steps on this page (under Result) tells {}."
    page = tree.at(paths.PAGE).read_text(encoding="utf-8")
    deviations = pd.read_csv(tree.at(paths.DEVIATIONS, FINER))
    assert len(deviations) == deviations["video"].nunique() == 2
    assert page.count("on this page (under Result)") == 1
    assert said.format("2 in 2 videos") in page
    # Doubtful ones do not count, and results that tell as many are not named.
    deviations.assign(sureness=[0.5, 0.1]).to_csv(tree.at(paths.DEVIATIONS, FINER), index=False)
    write_page(tree, tree.results, [RUN, FINER], tree.at(paths.PAGE))
    assert said.format("1 in 1 video") in tree.at(paths.PAGE).read_text(encoding="utf-8")
    deviations.assign(sureness=0.1).to_csv(tree.at(paths.DEVIATIONS, FINER), index=False)
    write_page(tree, tree.results, [RUN, FINER], tree.at(paths.PAGE))
    assert "on this page (under Result)" not in tree.at(paths.PAGE).read_text(encoding="utf-8")


@pytest.mark.skipif(WHERE is None, reason=WITHOUT)
def test_commands_and_lists_follow_the_chosen_result(tree: Tree, browser: Browser, tmp_path: Path) -> None:
    window = browser.window()
    window.open(tree.at(paths.PAGE))
    for place, run in enumerate((RUN, FINER)):
        window.run(f"chooseRun({place})")
        assert f"elan {tree.keysteps(run).as_posix()} " in window.get("byId('commands').textContent")
    # The numbers of key steps mean something else in every result, so its files have its name.
    window.run(f"document.querySelector('{OWN} .budget').open = true")
    window.wait_for(f"document.querySelector('{OWN} .budget button') !== null")
    times = window.download(f"{OWN} .budget button", tmp_path)
    assert times.name == "usual_meanfield@K=5_times.csv"
    assert pd.read_csv(times)["key_step"][:5].tolist() == ORDER
    assert window.download(f"{OWN} .save", tmp_path).name == "usual_meanfield@K=5_deviations.csv"
    table = window.get(f"[...document.querySelectorAll('{OWN} .steptable tbody tr')].map((e) => e.cells[0].innerText)")
    assert table == [str(step) for step in ORDER]
    window.run("show('videos')")
    assert window.get("[...byId('legend').children].map((e) => e.innerText)") == [f"key step {step}" for step in ORDER]
    window.run("show('steps')")
    assert window.get("[...byId('rows').children].map((e) => Number(e.dataset.step))") == ORDER
    assert window.errors == []
