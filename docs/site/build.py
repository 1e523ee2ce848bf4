"""Make the site: the pages of docs/, README and changelog as they are, the verbs from click, and the files they cite.

``python docs/site/build.py`` (`make docs`) writes ``build/docs/index.html``; a warning is an error. Pages keep the
relative links that work on GitHub. Here they are laid out side by side first, and links are made to fit: to the page of
that file where there is one, else to the file itself, shown with its lines numbered.
"""

from __future__ import annotations

import argparse
import json
import os
import posixpath
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from commands import commands_page
from notebook import notebook_page
from sphinx.cmd.build import main as sphinx

SITE = Path(__file__).resolve().parent
REPOSITORY = SITE.parents[1]
#: The page of the demo, which the site carries where it has been made.
EXAMPLE = "results/report/demo/assembly.html"
#: Pages that stand elsewhere than in docs/, by their name here.
ELSEWHERE = {"README.md": "index", "CHANGELOG.md": "changelog", "CONTRIBUTING.md": "contributing"}
#: What the sidebar lists, and how. A page that is not there (`notebook`, `example`) is left out.
CONTENTS = {
    "Start": {
        "install": "Install",
        "guide": "Guide: from videos to a page",
        "example": "Example: the demo's page",
        "notebook": "Notebook",
        "datasets": "Datasets",
        "troubleshooting": "Troubleshooting",
    },
    "Reference": {
        "commands": "Commands",
        "options": "Options",
        "files": "File formats",
        "tables": "Tables",
        "figures": "Figures",
        "cluster": "Clusters",
        "planning": "What a study costs",
        "faults": "When something goes wrong",
    },
    "Method": {"methods": "Methods and equations", "tour": "A tour of the code", "architecture": "Architecture"},
    "Results": {
        "comparison": "All methods compared",
        "claims": "The paper's claims",
        "better": "Better answers",
        "performance": "Performance",
    },
    "Project": {"changelog": "Changelog", "contributing": "Contributing"},
}
LANGUAGES = {".py": "python", ".smk": "python", ".yaml": "yaml", ".toml": "toml", ".sh": "bash"}

_FENCE = re.compile(r"^((?:```|~~~).*?^(?:```|~~~)\s*$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?(?=\))")


def lay_out(folder: Path) -> None:
    """Write everything that Sphinx reads into a folder."""
    pages = {f"docs/{path.name}": path.stem for path in (REPOSITORY / "docs").glob("*.md")}
    pages |= {name: page for name, page in ELSEWHERE.items() if (REPOSITORY / name).exists()}
    shutil.copytree(REPOSITORY / "docs" / "images", folder / "docs" / "images")
    cited: set[str] = set()
    for name, page in pages.items():
        text = _with_links(name, (REPOSITORY / name).read_text(encoding="utf-8"), pages, cited)
        _write(folder, page, text)
    _write(folder, "commands", commands_page())
    if (REPOSITORY / "docs" / "notebook.ipynb").exists():
        content = json.loads((REPOSITORY / "docs" / "notebook.ipynb").read_text(encoding="utf-8"))
        _write(folder, "notebook", _with_links("docs/notebook.ipynb", notebook_page(content, folder), pages, cited))
    if (REPOSITORY / EXAMPLE).exists():
        (folder / "files" / "example").mkdir(parents=True)
        shutil.copyfile(REPOSITORY / EXAMPLE, folder / "files" / "example" / "assembly.html")
        _write(folder, "example", (SITE / "example.md").read_text(encoding="utf-8"))
    for name in cited:
        _write(folder, f"source/{name}", _shown(REPOSITORY / name, name))
    with (folder / "index.md").open("a", encoding="utf-8") as index:
        index.write("\n".join(_contents(folder)))


def _with_links(name: str, text: str, pages: dict[str, str], cited: set[str]) -> str:
    """Return a page whose links lead to where its neighbours are here; add what else it cites to `cited`."""

    def here(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(name), found[1]))
        if target in pages:
            return f"/{pages[target]}.md{found[2] or ''}"
        if target.startswith("docs/images/"):
            return f"/{target}"
        if not (REPOSITORY / target).exists() or target.startswith(".."):
            sys.exit(f"{name}: {found[1]}: no such file in the repository")
        cited.add(target)
        return f"/source/{target}.md"

    return "".join(part if _FENCE.match(part) else _LINK.sub(here, part) for part in _FENCE.split(text))


def _shown(path: Path, name: str) -> str:
    """Return the page of a file, or of a folder."""
    if path.is_dir():
        body = "\n".join(f"- `{one.name}`" for one in sorted(path.glob("[!_.]*")))
    else:
        language = LANGUAGES.get(path.suffix, "text")
        body = f"`````{{code-block}} {language}\n:linenos:\n\n{path.read_text(encoding='utf-8')}`````"
    return f"---\norphan: true\nno-search: true\n---\n\n# `{name}`\n\n{body}\n"


def _contents(folder: Path) -> Iterator[str]:
    for caption, names in CONTENTS.items():
        there = [f"{title} <{name}>" for name, title in names.items() if (folder / f"{name}.md").exists()]
        yield "\n".join(["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *there, "```", ""])


def _write(folder: Path, page: str, text: str) -> None:
    path = folder / f"{page}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main() -> int:
    """Make the site in a folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=REPOSITORY / "build" / "docs", help="folder of the site")
    output = parser.parse_args().output
    pages = output.with_name(f"{output.name}-pages")
    for folder in (output, pages):
        shutil.rmtree(folder, ignore_errors=True)
    pages.mkdir(parents=True)
    lay_out(pages)
    # Files that are copied as they are: none without the page of the demo.
    extra = ["-D", f"html_extra_path={pages / 'files'}"] if (pages / "files").exists() else []
    options = ["-W", "--keep-going", "-q", "-b", "html", "-c", str(SITE), "-d", str(pages / ".doctrees"), *extra]
    failed = sphinx([*options, str(pages), str(output)])
    if not failed:
        print(f"the site is {os.path.relpath(output / 'index.html')}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
