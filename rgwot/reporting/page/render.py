"""Writing a page: one HTML file that contains everything and loads nothing (`rgwot.reporting.page.shell`)."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd

from rgwot import paths
from rgwot.columns import TERMS, readable
from rgwot.embedding.values import NAMED
from rgwot.names import named_order
from rgwot.paths import Run, Tree
from rgwot.procedure.facts import join_words
from rgwot.records import read_manifest, read_scores
from rgwot.reporting.figures.style import DASHES, LINE_COLOURS
from rgwot.reporting.page.content import LEADING_SCORES, gather, link
from rgwot.reporting.page.data import Curve
from rgwot.reporting.page.runs import MOST_LINES, answer_kind
from rgwot.reporting.page.shell import embedded, escaped, filled, script
from rgwot.runtime.csv_files import write_csv
from rgwot.runtime.files import write_text

#: Colour of text in charts.
_INK = "#222222"


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
    The file of names (`rgwot.names`) need not exist.
    ``groups`` names the column of groups to show, for runs in which they were compared. ``study`` is a sentence on the
    other study that the procedure comes from, if any; the page then has the names of its videos as the title. The table
    beside the page (``.csv``) has the columns ``method,decoder,seed,rank,order,names,n_videos,share``.
    """
    output = Path(output_html)
    content = gather(tree, Path(root), runs, output.parent, names_yaml, groups, study)
    title = readable(content.data.task)
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
    text = filled(
        "page.html.j2",
        script=script(),
        title=title,
        pictures=content.pictures,
        most_lines=MOST_LINES,
        comparisons=embedded(content.comparisons),
        curves=curve_picture(content.data.curves) if content.data.curves else "",
        data=embedded(asdict(content.data)),
        annotated=len(content.data.steps),
        groups=content.data.groups is not None,
        runs=[(embedded(run.body), escaped(run.view)) for run in content.runs],
        strips=content.strips,
    )
    write_text(text, output)
    write_csv(pd.concat(procedures, ignore_index=True)[columns], output.with_suffix(".csv"))


def list_pages(results: Path) -> Path:
    """Write the list of all pages in a tree of results, and return its path."""
    output, listed = paths.at(paths.PAGES, results), None
    # If two jobs write the list at the same time, the later list includes the pages of both.
    while (pages := _pages(results, output.parent)) != listed:
        write_text(filled("index.html.j2", rows=[_row(page, output.parent) for page in pages]), output)
        listed = pages
    return output


def _pages(results: Path, folder: Path) -> list[Path]:
    """Return the complete pages: those that have a table of procedures beside them and a manifest."""
    pages = sorted(page for page in folder.glob("*/*.html") if page.with_suffix(".csv").is_file())
    return [page for page in pages if Tree(results, page.parent.name, page.stem).at(paths.MANIFEST).is_file()]


def _row(page: Path, folder: Path) -> dict[str, object]:
    """Return a page's row of the list: facts of its videos, and of the result that it shows first."""
    tree = Tree(page.absolute().parents[2], page.parent.name, page.stem)
    status = read_manifest(tree.at(paths.MANIFEST))["status"]
    skipped = status == "skipped"
    runs = pd.read_csv(page.with_suffix(".csv"))[["method", "decoder", "seed"]].drop_duplicates()
    method, decoder, _ = runs.iloc[0]
    first = runs[(runs["method"] == method) & (runs["decoder"] == decoder)]
    # As on the page, trivial baselines are results only if there are no others.
    others = sum(answer_kind(Run(*run)) != "trivial" for run in runs.itertuples(index=False))
    scores = [path for run in first.itertuples(index=False) if (path := tree.at(paths.SCORES, Run(*run))).exists()]
    values = read_scores(scores).query(LEADING_SCORES)["value"].tolist() if scores and (status == "ok").any() else []
    return {
        "dataset": tree.dataset,
        "task": readable(tree.task),
        "link": link(page, folder),
        "videos": int((~skipped).sum()),
        "skipped": int(skipped.sum()),
        "results": others or len(runs),
        "first": f"{method} / {decoder}",
        "score": f"{100 * float(np.mean(values)):.1f}" if values else "",
    }


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
            dashes, label = DASHES[seeds.index(curve.seed) % len(DASHES)], f"{curve.method}, try {curve.seed}"
            axis.plot(curve.step, getattr(curve, term), linewidth=1.4, color=colour, linestyle=dashes, label=label)
        # The logarithm of a term that reaches zero does not exist, so the axis is then linear.
        if all(min(getattr(curve, term)) > 0 for curve in curves):
            axis.set_yscale("log")
            # Mathematical text is off, because names of methods could be taken for it.
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
