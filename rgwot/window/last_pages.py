"""The pages of tasks as the window shows them: the last ones while a run makes the next, with the files as they are."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from rgwot import paths
from rgwot.names import RunNames, names_of
from rgwot.paths import RESULTS, Tree
from rgwot.reporting.page.shell import embedded, in_window
from rgwot.runtime.files import replacing
from rgwot.window.saving import OWN

#: Copies of the pages that a run may replace: the workflow removes a page when its job begins, and leaves none if the
#: job fails.
KEPT = OWN / "pages"
_DATA = '<script type="application/json" id="{}">'


def keep_pages() -> None:
    """Copy all pages with their times."""
    for page in Path(RESULTS, "report").glob("*/*.html"):
        kept = KEPT / page.parent.name / page.name
        if not kept.exists() or kept.stat().st_mtime_ns != page.stat().st_mtime_ns:
            with suppress(FileNotFoundError), replacing(kept) as temporary:
                shutil.copy2(page, temporary)


class _LastPage(NamedTuple):
    """The text of a page, and the time at which it was made (ns)."""

    text: str
    made: int


def last_page(dataset: str, task: str) -> _LastPage | None:
    """Return the page of a task, or its copy if a run has removed it; None if there has never been one."""
    for file in _files(dataset, task):
        with suppress(FileNotFoundError):
            return _LastPage(file.read_text(encoding="utf-8"), file.stat().st_mtime_ns)
    return None


def last_made(dataset: str, task: str) -> str:
    """Return the time of `last_page` as a text; empty without a page."""
    for file in _files(dataset, task):
        with suppress(FileNotFoundError):
            return str(file.stat().st_mtime_ns)
    return ""


def _files(dataset: str, task: str) -> tuple[Path, Path]:
    page = Tree(Path(RESULTS), dataset, task).at(paths.PAGE)
    return page, KEPT / dataset / page.name


def as_window(page: _LastPage, files: Mapping[str, object], now: Mapping[str, object]) -> str:
    """Return a page with the time at which it was made, by which its script knows that it has a server.

    ``files`` are those that it may save (`rgwot.window.study_files.contents`). ``now`` replaces the data of the page
    that are older than the labels; it is empty while a run writes the files that are needed for it.
    """
    text = in_window(page.text).replace('<html lang="en">', f'<html lang="en" data-window="{page.made}">', 1)
    first = _DATA.format("data")
    blocks = [f"{_DATA.format(name)}{embedded(data)}</script>\n" for name, data in (("files", files), ("now", now))]
    return text.replace(first, f"{''.join(blocks)}{first}", 1)


def names_on(page: str, typed: Mapping[str, RunNames]) -> dict[str, dict[str, Any]]:
    """Return for every result on a page its id ``result`` and its ``names``, from names that people typed."""
    found: dict[str, dict[str, Any]] = {}
    data = _block(page, "data") if page and typed else {"runs": []}
    for at, facts in enumerate(data["runs"]):
        rows = []
        for video, bars in _block(page, f"run-{at}")["segments"].items():
            ends = bars.get("ends", [])
            for start, end, step in zip([0, *ends[:-1]], ends, bars.get("steps", []), strict=True):
                rows.append(("task", data["videos"][int(video)]["id"], start / 1000, end / 1000, step))
        segments = pd.DataFrame(rows, columns=["scope", "video", "start_s", "end_s", "key_step"])
        found[facts["id"]] = {"result": facts["result"], "names": names_of(typed, facts["id"], segments).names}
    return found


def _block(text: str, name: str) -> Any:
    _, _, rest = text.partition(_DATA.format(name))
    return json.loads(rest.partition("</script>")[0])
