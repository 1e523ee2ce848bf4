"""What is particular to one dataset stands in its own modules and in the registry, and nowhere else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from rgwot.config.layouts import LAYOUTS
from rgwot.datasets.names import folded
from rgwot.datasets.registry import datasets, tasks_of

PACKAGE = Path(str(files("rgwot")))
REPOSITORY = Path(__file__).resolve().parents[2]
OWN = {
    PACKAGE / "datasets" / "layouts.py",
    *(PACKAGE / "datasets" / f"{layout}.py" for layout in LAYOUTS),
    *(PACKAGE / "synthetic" / "layouts" / f"{layout}.py" for layout in LAYOUTS),
}
FACTS = [row for dataset in datasets() for row in tasks_of(dataset)]
NAMES = {
    folded(name)
    for row in FACTS
    # Names of views are ordinary words too, such as left.
    for name in (row.dataset, row.task, row.folder, row.code, *row.views.values())
    if name
} | set(map(folded, LAYOUTS))
# Also an ordinary word; as a name it could only be compared with.
WORDS = {"folder"}
ELSEWHERE = [
    path for path in sorted(PACKAGE.rglob("*.py")) if path not in OWN and path != PACKAGE / "config/layouts.py"
]


def strings(tree: ast.AST) -> Iterator[tuple[ast.Constant, bool]]:
    """Yield every string that is no documentation, and whether it stands in a comparison."""
    documentation = {
        node.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    compared = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare | ast.MatchValue | ast.MatchMapping)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in documentation:
            yield node, node in compared


def names_in(source: str) -> list[str]:
    """Return every string that is the name of a dataset, task, layout, folder or camera, as ``line: text``."""
    found = []
    for node, is_compared in strings(ast.parse(source)):
        name = folded(str(node.value))
        if name in NAMES and (name not in WORDS or is_compared):
            found.append(f"{node.lineno}: {node.value}")
    return found


def paths_in(source: str) -> list[str]:
    """Return every string that names a place on somebody's disk."""
    place = re.compile(r"(/(home|data|mnt|tmp)/|~/|\./|\.\./|data/|results/)")
    return [f"{node.lineno}: {node.value}" for node, _ in strings(ast.parse(source)) if place.match(str(node.value))]


@pytest.mark.parametrize(
    "line",
    [
        "if dataset == 'procel': pass",
        "if 'EGTEA_Gaze+' in path: pass",
        "K = {'meccano': 17}[dataset]",
        "tasks_of('CrossTask')",
        "def f(layout='procel_csv'): pass",
        "match dataset:\n    case 'epic_tents': pass",
        "if layout != 'folder': pass",
        "Literal['egoprocel', 'other']",
        "drop = ('perform_cpr',)",
        "camera = '7150991'",
    ],
)
def test_the_search_finds_a_branch(line: str) -> None:
    assert names_in(line)


def test_the_search_leaves_words_alone() -> None:
    assert not names_in('"""procel"""\nrow["folder"]\nraise E("no such dataset, like meccano")')
    assert paths_in("open('/data/procel')")
    assert paths_in("root = 'data/egoprocel'")
    assert not paths_in("name + '/'")


@pytest.mark.parametrize("path", ELSEWHERE, ids=[str(path.relative_to(PACKAGE)) for path in ELSEWHERE])
def test_no_other_module_knows_a_dataset_by_name(path: Path) -> None:
    assert names_in(path.read_text(encoding="utf-8")) == []


def test_no_module_of_datasets_names_a_place_on_disk() -> None:
    paths = list((PACKAGE / "datasets").rglob("*.py"))
    assert len(paths) > 20
    found = {path.name: paths_in(path.read_text(encoding="utf-8")) for path in paths}
    assert {name: places for name, places in found.items() if places} == {}


def test_no_rule_of_the_workflow_knows_a_dataset_by_name() -> None:
    known = re.compile(rf"\b({'|'.join(map(re.escape, (*datasets(), *LAYOUTS)))})\b")
    for path in (REPOSITORY / "Snakefile", *(REPOSITORY / "workflow" / "rules").glob("*.smk")):
        text = re.sub(r"#.*|\"\"\".*?\"\"\"", "", path.read_text(encoding="utf-8"))
        assert [word for word in known.findall(text) if word not in WORDS] == [], path.name
