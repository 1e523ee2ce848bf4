"""The page of pages: every task that has one, with what it takes to choose."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd

from rgwot.paths import Run, Tree
from rgwot.records import read_manifest, read_scores
from rgwot.reporting.page.render import policy, style_sheet, templates
from rgwot.runtime.files import write_text

#: What the index shows of a task: the score that its tables lead with.
LEADING = {"protocol": "macro_task", "background": "with", "label_rule": "exact", "metric": "f1"}


def write_index(results: str | os.PathLike[str], output_html: str | os.PathLike[str]) -> None:
    """Write the list of all pages below ``results/report``: the stage behind ``rgwot report-index``.

    Parameters
    ----------
    results
        Folder of results.
    output_html
        The list; links are relative to it.
    """
    output = Path(output_html)
    pages = sorted(path for path in (Path(results) / "report").glob("*/*.html"))
    rows = [_row(Path(results), page, output.parent) for page in pages]
    style = style_sheet()
    text = templates().get_template("index.html.j2").render(style=style, policy=policy(style), rows=rows)
    write_text(text, output)


def _row(results: Path, page: Path, folder: Path) -> dict[str, Any]:
    tree = Tree(results, page.parent.name, page.stem)
    link = quote(Path(os.path.relpath(page.absolute(), folder.absolute())).as_posix())
    row: dict[str, Any] = {"dataset": tree.dataset, "task": tree.task, "link": link, "videos": "", "skipped": 0}
    if tree.manifest.exists():
        status = read_manifest(tree.manifest)["status"]
        row |= {"videos": int((status != "skipped").sum()), "skipped": int((status == "skipped").sum())}
    table = page.with_suffix(".csv")
    runs = pd.read_csv(table)[["method", "decoder", "seed"]].drop_duplicates() if table.exists() else pd.DataFrame()
    row["results"] = len(runs)
    row["score"], row["first"] = _leading_score(tree, runs)
    return row


def _leading_score(tree: Tree, runs: pd.DataFrame) -> tuple[str, str]:
    """Return the mean leading score of the method shown first, and its name; nothing where none is scored."""
    if runs.empty:
        return "", ""
    first = runs.iloc[0]
    own = [Run(row["method"], row["decoder"], int(row["seed"])) for row in runs.to_dict("records")]
    own = [run for run in own if (run.method, run.decoder) == (first["method"], first["decoder"])]
    name = f"{first['method']} / {first['decoder']}"
    scored = [tree.scores(run) for run in own if tree.scores(run).exists()]
    if not scored:
        return "", name
    table = read_scores(scored)
    for column, value in LEADING.items():
        table = table[table[column] == value]
    return (f"{100 * table['value'].mean():.1f}" if len(table) else ""), name
