"""Writing a page: one HTML file that holds everything and asks for nothing.

What users called their files, tasks and key steps is data, never markup: texts go through a template that escapes
them, and everything else travels as JSON in which no ``<`` is left. A Content Security Policy lets run only the one
script and the one style sheet of the page, by their digests, and lets load nothing but pictures inside the page and
the videos beside it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from rgwot.paths import Run, Tree
from rgwot.reporting.names import named_order, read_names
from rgwot.reporting.page.charts import chart
from rgwot.reporting.page.content import Content, gather
from rgwot.reporting.page.curves import curve_pictures
from rgwot.reporting.palette import BACKGROUND, STEP_COLOURS, UNMATCHED, ink_on
from rgwot.runtime.files import write_csv, write_text

#: The script of a page, in the order in which its parts build on each other.
SCRIPTS = (
    "core.js",
    "names.js",
    "popup.js",
    "player.js",
    "videos.js",
    "steps.js",
    "alignment.js",
    "embedding.js",
    "scores.js",
    "start.js",
)
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def write_page(
    tree: Tree,
    root: str | os.PathLike[str],
    runs: list[Run],
    output_html: str | os.PathLike[str],
    names_yaml: str | os.PathLike[str] | None = None,
) -> None:
    """Write the page of a task, and its ranked procedures as a table beside it: the stage behind ``rgwot report``.

    Parameters
    ----------
    tree
        Where the results of the task lie; the page may be written elsewhere, links to videos start from its own place.
    root
        Folder of the videos.
    runs
        Which runs, the one shown first at the front.
    output_html
        The page. Beside it ``.csv``: ``method,decoder,seed,rank,order,names,n_videos,share``.
    names_yaml
        Typed names of key steps, see `rgwot.reporting.names`; the file need not exist.

    Raises
    ------
    RgwotError
        When there is no run, or a file is missing or cannot be read.
    """
    output = Path(output_html)
    told = None if names_yaml is None else Path(names_yaml).as_posix()
    content = gather(tree, Path(root), runs, read_names(names_yaml), output.parent, told)
    write_text(page_text(content), output)
    write_csv(procedure_table(content), output.with_suffix(".csv"))


def page_text(content: Content) -> str:
    """Return the page as HTML."""
    style, script = style_sheet(), "".join(part(name) for name in SCRIPTS)
    return (
        templates()
        .get_template("page.html.j2")
        .render(
            title=f"{content.data['dataset']}/{content.data['task']}",
            policy=policy(style, script),
            style=style,
            script=script,
            choices=[
                (place, run.run, run.choices.why, [(curve.words, chart(curve)) for curve in run.choices.curves])
                for place, run in enumerate(content.runs)
                if run.choices
            ],
            curves=curve_pictures(content.data["curves"]),
            data=embedded(content.data),
            runs=[(embedded(run.body), embedded_text(run.view)) for run in content.runs],
            strips=content.strips,
        )
    )


def procedure_table(content: Content) -> pd.DataFrame:
    """Return the ranked procedures of every run, key steps by number and by name."""
    parts = [
        run.procedures.assign(
            method=run.run.method,
            decoder=run.run.decoder,
            seed=run.run.seed,
            names=[named_order(str(order), run.names) for order in run.procedures["order"]],
        )
        for run in content.runs
    ]
    columns = ["method", "decoder", "seed", "rank", "order", "names", "n_videos", "share"]
    return pd.concat(parts, ignore_index=True)[columns]


def embedded(content: Any) -> str:
    """Return JSON that may stand inside a script element whatever its texts hold."""
    return embedded_text(json.dumps(content, allow_nan=False, separators=(",", ":")))


def embedded_text(text: str) -> str:
    """Escape JSON for a script element: outside of texts JSON has none of these letters."""
    for letter, escape in _ESCAPES.items():
        text = text.replace(letter, escape)
    return text


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


def style_sheet() -> str:
    """Return the style sheet, with a class per colour and pattern of key steps."""
    rules = [f".step.s0{{background-color:{BACKGROUND};color:#000000}}"]
    rules.append(f".step.none{{background-color:{UNMATCHED};color:#000000}}")
    rules += [
        f".step.s{at}{{background-color:{colour};color:{ink_on(colour)}}}" for at, colour in enumerate(STEP_COLOURS, 1)
    ]
    return part("page.css") + "\n".join(rules) + "\n"


@lru_cache(maxsize=1)
def templates() -> Environment:
    """Return the templates, which escape every text."""
    return Environment(
        loader=PackageLoader("rgwot.reporting.page", "parts"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
