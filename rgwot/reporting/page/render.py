"""Writing a page: one HTML file that contains everything and loads nothing.

Names of files, tasks and key steps are data, never markup: the template escapes all texts, and other data is JSON
without any ``<``. A Content Security Policy allows only the page's script and style sheet, by their digests, the
pictures inside the page, and videos that are local files or on the same server.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import re
from collections.abc import Sequence
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from rgwot import paths
from rgwot.columns import TERMS, readable
from rgwot.keysteps.decode import NAMED
from rgwot.paths import Run, Tree
from rgwot.procedure.facts import join_words
from rgwot.records import read_manifest, read_scores
from rgwot.reporting.figures.style import (
    BACKGROUND_COLOUR,
    DASHES,
    LINE_COLOURS,
    STEP_COLOURS,
    UNMATCHED,
    ink_on,
)
from rgwot.reporting.names import named_order
from rgwot.reporting.page.content import LEADING_SCORES, gather, link
from rgwot.reporting.page.data import Curve
from rgwot.reporting.page.runs import MOST_LINES
from rgwot.runtime.files import write_csv, write_text

#: The module that starts the page, and how modules import each other.
START = "start.js"
_IMPORT = re.compile(r'^import .* from "\./(.+)";\n', re.MULTILINE)
#: Colour of text in charts.
_INK = "#222222"
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def write_page(
    tree: Tree,
    root: str | os.PathLike[str],
    runs: list[Run],
    output_html: str | os.PathLike[str],
    names_yaml: str | os.PathLike[str] | None = None,
    groups: str | None = None,
    study: str | None = None,
) -> None:
    """Write the page of a task, and a table of its ranked procedures beside it.

    The first run is shown first. The page may be anywhere; its links to the videos below ``root`` are relative to it.
    The file of names (`rgwot.reporting.names`) need not exist.
    ``groups`` names the column of groups to show, for runs in which they were compared. If the procedure is that of
    another ``study``, a sentence on it, the page has the names of its videos as the title. The table beside the page
    (``.csv``) has the columns ``method,decoder,seed,rank,order,names,n_videos,share``.
    """
    output = Path(output_html)
    content = gather(tree, Path(root), runs, output.parent, names_yaml, groups, study)
    title = f"{content.data.dataset}/{readable(content.data.task)}"
    if study is not None:
        names = [video.name for video in content.data.videos]
        title = join_words(names) if len(names) <= NAMED else f"{len(names)} videos"
    procedures = [
        run.procedures.assign(
            **asdict(run.run), names=[named_order(str(order), run.names) for order in run.procedures["order"]]
        )
        for run in content.runs
    ]
    columns = ["method", "decoder", "seed", "rank", "order", "names", "n_videos", "share"]
    text = _filled(
        "page.html.j2",
        script=script(),
        title=title,
        pictures=content.pictures,
        most_lines=MOST_LINES,
        comparisons=embedded(content.comparisons),
        curves=curve_picture(content.data.curves) if content.data.curves else "",
        data=embedded(asdict(content.data)),
        groups=content.data.groups is not None,
        runs=[(embedded(run.body), _escaped(run.view)) for run in content.runs],
        strips=content.strips,
    )
    write_text(text, output)
    write_csv(pd.concat(procedures, ignore_index=True)[columns], output.with_suffix(".csv"))


def list_pages(results: Path) -> Path:
    """Write the list of all pages in a tree of results, and return its path."""
    output, listed = paths.at(paths.PAGES, results), None
    # If two jobs write the list at the same time, the later one sees the pages of both.
    while (pages := _pages(results, output.parent)) != listed:
        write_text(_filled("index.html.j2", rows=[_row(page, output.parent) for page in pages]), output)
        listed = pages
    return output


def _pages(results: Path, folder: Path) -> list[Path]:
    """Return the complete pages: those that have a table of procedures beside them and a manifest."""
    pages = sorted(page for page in folder.glob("*/*.html") if page.with_suffix(".csv").is_file())
    return [page for page in pages if Tree(results, page.parent.name, page.stem).at(paths.MANIFEST).is_file()]


def _row(page: Path, folder: Path) -> dict[str, Any]:
    """Return a page's row of the list: facts of its videos, and of the result that it shows first."""
    tree = Tree(page.absolute().parents[2], page.parent.name, page.stem)
    status = read_manifest(tree.at(paths.MANIFEST))["status"]
    skipped = status == "skipped"
    runs = pd.read_csv(page.with_suffix(".csv"))[["method", "decoder", "seed"]].drop_duplicates()
    method, decoder, _ = runs.iloc[0]
    first = runs[(runs["method"] == method) & (runs["decoder"] == decoder)]
    scores = [path for run in first.itertuples(index=False) if (path := tree.at(paths.SCORES, Run(*run))).exists()]
    values = read_scores(scores).query(LEADING_SCORES)["value"].tolist() if scores and (status == "ok").any() else []
    return {
        "dataset": tree.dataset,
        "task": readable(tree.task),
        "link": link(page, folder),
        "videos": int((~skipped).sum()),
        "skipped": int(skipped.sum()),
        "results": len(runs),
        "first": f"{method} / {decoder}",
        "score": f"{100 * float(np.mean(values)):.1f}" if values else "",
    }


def embedded(content: Any) -> str:
    """Return JSON that is safe inside a script element, whatever its texts contain."""
    return _escaped(json.dumps(content, allow_nan=False, separators=(",", ":")))


def _escaped(json_text: str) -> str:
    # JSON has these characters only inside texts, where an escape means the same.
    return json_text.translate(_ESCAPES)


def policy(style: str, script: str = "") -> str:
    """Return the Content Security Policy of a page with one style sheet and one script."""
    rules = {
        "default-src": "'none'",
        "style-src": _digest(style),
        "script-src": _digest(script) if script else "'none'",
        "img-src": "data: blob:",
        "media-src": "'self' file:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def part(name: str) -> str:
    """Return a file of the page as text."""
    return (files(__package__) / "parts" / name).read_text(encoding="utf-8")


def script() -> str:
    """Return the modules of the page as one script, each after the modules that it imports."""
    joined: dict[str, str] = {}

    def add(name: str) -> None:
        text = part(name)
        for imported in _IMPORT.findall(text):
            if imported not in joined:
                add(imported)
        joined[name] = _IMPORT.sub("", text).replace("\nexport ", "\n")

    add(START)
    return '"use strict";\n' + "".join(joined.values())


def style_sheet() -> str:
    """Return the style sheet with a class per colour and pattern of key steps."""
    colours = {"s0": BACKGROUND_COLOUR, "none": UNMATCHED} | {
        f"s{at}": colour for at, colour in enumerate(STEP_COLOURS, 1)
    }
    rules = [f".step.{name}{{background-color:{colour};color:{ink_on(colour)}}}\n" for name, colour in colours.items()]
    return part("page.css") + "".join(rules)


def _filled(template: str, script: str = "", **content: Any) -> str:
    """Render a template, which escapes all text, with a policy for its style and script."""
    loader = PackageLoader("rgwot.reporting.page", "parts")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    style, page = style_sheet(), environment.get_template(template)
    return page.render(style=style, script=script, policy=policy(style, script), **content)


def curve_picture(curves: Sequence[Curve]) -> str:
    """Draw the losses of all trainings as base64 SVG, with a colour per method and a line style per seed."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogFormatter

    methods = list(dict.fromkeys(curve.method for curve in curves))
    seeds = sorted({curve.seed for curve in curves})
    # Narrow enough to be readable on a phone.
    figure = Figure(figsize=(4.2, 8.4), layout="constrained")
    axes = figure.subplots(len(TERMS), sharex=True)
    for axis, (term, title) in zip(axes, TERMS.items(), strict=True):
        for curve in curves:
            colour = LINE_COLOURS[methods.index(curve.method) % len(LINE_COLOURS)]
            dashes, label = DASHES[seeds.index(curve.seed) % len(DASHES)], f"{curve.method}, seed {curve.seed}"
            axis.plot(curve.step, getattr(curve, term), linewidth=1.4, color=colour, linestyle=dashes, label=label)
        # The logarithm of a term that reaches zero does not exist, so the axis is then linear.
        if all(min(getattr(curve, term)) > 0 for curve in curves):
            axis.set_yscale("log")
            # Without mathematical text, which the names of methods could be taken for.
            axis.yaxis.set_major_formatter(LogFormatter())
            axis.yaxis.set_minor_formatter(LogFormatter())
        axis.set_title(title, fontsize=11, loc="left", color=_INK)
        axis.tick_params(labelsize=9, labelcolor=_INK)
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    axes[-1].set_xlabel("iteration", fontsize=10, color=_INK)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", fontsize=10, frameon=False)
    written = io.BytesIO()
    # The same bytes for the same figure.
    with rc_context({"svg.hashsalt": "rgwot", "svg.fonttype": "path", "text.parse_math": False}):
        figure.savefig(written, format="svg", metadata={"Date": None})
    return base64.b64encode(written.getvalue()).decode()
