"""How much there is to learn: methods, decoders, settings, formats, verbs, and lines, counted from the code itself.

python benchmarks/counts.py
"""

from __future__ import annotations

import re
from pathlib import Path

HOUSE = Path(__file__).resolve().parents[1]
LIBRARY = HOUSE / "rgwot"


def lines(pattern: str, below: Path) -> tuple[int, int]:
    """Return how many files match a pattern, and their lines."""
    files = [path for path in below.rglob(pattern) if "__pycache__" not in path.parts]
    return len(files), sum(len(path.read_bytes().splitlines()) for path in files)


def counts() -> dict[str, object]:
    """Return every count by name."""
    from rgwot.cli import VERBS
    from rgwot.config.methods import DECODERS, FAMILIES
    from rgwot.config.settings import defaults
    from rgwot.datasets.annotation_files.interface import READERS
    from rgwot.reporting.export.interface import FORMATS

    page = (LIBRARY / "reporting/page/parts/page.html.j2").read_text(encoding="utf-8")
    rules = [path.read_text(encoding="utf-8") for path in (HOUSE / "workflow" / "rules").glob("*.smk")]
    bodies = [body for text in rules for body in re.split(r"^(?:use )?rule ", text, flags=re.M)[1:]]
    python, web = lines("*.py", LIBRARY), [lines(pattern, LIBRARY) for pattern in ("*.js", "*.css", "*.j2")]
    return {
        "methods": len(FAMILIES),
        "decoders": len(DECODERS),
        "settings": len(defaults()),
        "export formats": len(FORMATS),
        "annotation readers": len(READERS),
        "tabs": len(re.findall(r'role="tabpanel"', page)),
        "verbs": len(VERBS),
        "rules": len(bodies),
        "lines of the longest rule": max(len(body.strip().splitlines()) for body in bodies),
        "files of rgwot/": python[0],
        "lines of rgwot/": python[1],
        "lines of the page's parts": sum(count for _, count in web),
        "lines of tests": lines("*.py", HOUSE / "tests")[1],
    }


if __name__ == "__main__":
    for name, count in counts().items():
        print(f"{count:>7}  {name}")
