"""Paths below ``results`` are as documented, and no two are the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from rgwot import paths
from rgwot.paths import Run, Tree, at


def test_every_path_has_the_wildcards_that_rules_know_and_is_unique() -> None:
    wildcards = (
        "dataset", "task", "video", "method", "decoder", "seed", "table", "row", "figure", "part", "column",
    )  # fmt: skip
    templates = [value for name, value in vars(paths).items() if name.isupper() and str(value).startswith("results/")]
    filled = {at(template, **{name: f"<{name}>" for name in wildcards}) for template in templates}
    assert len(filled) == len(templates) > 20


def test_a_tree_is_below_any_folder_of_results() -> None:
    tree, run = Tree(Path("/elsewhere"), "mine", "tea"), Run("rgwot@alpha=0.5", "graphcut", 3)
    assert tree.at(paths.SCORES, run) == Path("/elsewhere/scores/rgwot@alpha=0.5/graphcut/mine/tea/seed3.csv")
    assert tree.at(paths.MANIFEST) == Path("/elsewhere/manifest/mine/tea.csv")
    assert at(paths.PAGES) == Path("results/report/index.html")
    with pytest.raises(KeyError):
        tree.at(paths.SCORES)
