"""Paths below ``results`` are spelt in one module, and lead where they are said to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rgwot
from rgwot import paths
from rgwot.paths import Run, Tree, at

LIBRARY = Path(rgwot.__file__).parent
RULES = LIBRARY.parent / "workflow/rules"
SPELT = re.compile(r"""f?["']results/[^"']""")
#: Named targets ask for single files, as a user does on the command line.
TARGETS = RULES / "collect.smk"
ALLOWED = (TARGETS, LIBRARY / "paths.py")


def test_no_other_module_and_no_rule_spells_a_path() -> None:
    places = [path for path in (*LIBRARY.rglob("*.py"), *RULES.glob("*.smk")) if path not in ALLOWED]
    assert len(places) > 200
    assert [path.name for path in places if SPELT.search(path.read_text(encoding="utf-8"))] == []
    assert SPELT.search(TARGETS.read_text(encoding="utf-8"))


def test_every_path_has_the_wildcards_that_rules_know() -> None:
    known = {"dataset", "task", "video", "method", "decoder", "seed", "table", "row", "figure", "digest", "part"}
    templates = {
        name: value for name, value in vars(paths).items() if name.isupper() and str(value).startswith("results/")
    }
    assert len(templates) > 20
    for name, template in templates.items():
        assert set(re.findall(r"{(\w+)}", template)) <= known, name
    assert len(set(templates.values())) == len(templates)


def test_a_tree_is_below_any_folder_of_results() -> None:
    tree, run = Tree(Path("/elsewhere"), "mine", "tea"), Run("rgwot@alpha=0.5", "graphcut", 3)
    assert tree.at(paths.SCORES, run) == Path("/elsewhere/scores/rgwot@alpha=0.5/graphcut/mine/tea/seed3.csv")
    assert tree.manifest == Path("/elsewhere/manifest/mine/tea.csv")
    assert at(paths.PAGES) == Path("results/report/index.html")
    with pytest.raises(KeyError):
        tree.at(paths.SCORES)
