"""Count methods, decoders, settings, formats, commands and lines of code, as measures of the size of the project.

python benchmarks/counts.py [--names]
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

HOUSE = Path(__file__).resolve().parents[1]
LIBRARY = HOUSE / "rgwot"


def lines(pattern: str, below: Path) -> tuple[int, int]:
    """Return the number of files that match a pattern, and of their lines."""
    files = [path for path in below.rglob(pattern) if "__pycache__" not in path.parts]
    return len(files), sum(len(path.read_bytes().splitlines()) for path in files)


def doubled_names() -> dict[str, list[str]]:
    """Return the public names that several modules define, with the modules.

    Functions, classes and constants at the level of a module count, but not methods, imports, and commands, which
    have the names of the functions that they call.
    """
    modules: dict[str, set[str]] = defaultdict(set)
    for path in LIBRARY.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                verb = any(".command(" in ast.unparse(decorator) for decorator in node.decorator_list)
                names = [] if verb else [node.name]
            for name in names:
                if not name.startswith("_"):
                    modules[name].add(path.relative_to(LIBRARY).as_posix())
    return {name: sorted(where) for name, where in sorted(modules.items()) if len(where) > 1}


#: Patterns: the command line in use, and private names of Snakemake, such as `DefaultStreamHandler` or `workflow._x`.
FORBIDDEN = {
    "uses of sys.argv": r"\bsys\.argv\b",
    "uses of Snakemake's private names": r"\b(?:snakemake|workflow|rules|dag|logger)\._\w+|DefaultStreamHandler"
    r"|\bfrom snakemake\.(?!io\b|utils\b|logging import logger\b|script\b)\S+ import",
}


def uses(pattern: str) -> int:
    """Return how often a pattern occurs in the library and in the workflow."""
    files = (
        path for folder in (LIBRARY, HOUSE / "workflow") for path in folder.rglob("*") if path.suffix in (".py", ".smk")
    )
    texts = [path.read_text(encoding="utf-8") for path in (*files, HOUSE / "Snakefile", HOUSE / "workflow/Snakefile")]
    return sum(len(re.findall(pattern, text)) for text in texts)


def counts() -> dict[str, object]:
    """Return every count by name."""
    from rgwot.cli import VERBS
    from rgwot.config.methods import DECODERS, FAMILIES
    from rgwot.config.settings import defaults
    from rgwot.datasets.annotation_files import ANNOTATION_READERS
    from rgwot.reporting.export import FORMATS

    page = (LIBRARY / "reporting/page/parts/page.html.j2").read_text(encoding="utf-8")
    rules = [path.read_text(encoding="utf-8") for path in (HOUSE / "workflow" / "rules").glob("*.smk")]
    bodies = [body for text in rules for body in re.findall(r"^(?:use )?rule .*\n(?:[ \n].*\n?|\n)*", text, flags=re.M)]
    scripts = (HOUSE / "workflow" / "scripts").glob("*.py")
    python, web = lines("*.py", LIBRARY), [lines(pattern, LIBRARY) for pattern in ("*.js", "*.css", "*.j2")]
    return {
        "methods": len(FAMILIES),
        "decoders": len(DECODERS),
        "settings": len(defaults()),
        "export formats": len(FORMATS),
        "annotation readers": len(ANNOTATION_READERS),
        "tabs": len(re.findall(r'role="tabpanel"', page)),
        "verbs": len(VERBS),
        "rules": len(bodies),
        "lines of the longest rule": max(len(body.strip().splitlines()) for body in bodies),
        "public names with two meanings": len(doubled_names()),
        "lines of the longest script": max(len(path.read_text().splitlines()) for path in scripts),
        **{name: uses(pattern) for name, pattern in FORBIDDEN.items()},
        "files of rgwot/": python[0],
        "lines of rgwot/": python[1],
        "lines of the page's parts": sum(count for _, count in web),
        "lines of tests": lines("*.py", HOUSE / "tests")[1],
    }


if __name__ == "__main__":
    if sys.argv[1:] == ["--names"]:
        for name, modules in doubled_names().items():
            print(name, *modules)
    else:
        for name, count in counts().items():
            print(f"{count:>7}  {name}")
