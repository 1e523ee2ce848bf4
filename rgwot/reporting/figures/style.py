"""The style of all figures: sizes and type for print, colours that every reader can distinguish, and writing to files.

Key steps have the same colours in every figure and page.
"""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from rgwot.runtime.files import replacing

#: Okabe and Ito's colours, but with a brown instead of black, and eight more that are about as far from all others to
#: readers with any colour vision; further steps have the same colours with a pattern.
STEP_COLOURS = (
    "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#8C1D04",
    "#704058", "#B8E8B8", "#4010E8", "#A05840", "#5888E8", "#404088", "#88B8A0", "#B8B870",
)  # fmt: skip
BACKGROUND_COLOUR = "#D9D9D9"
UNMATCHED = "#FFFFFF"


def ink_on(colour: str) -> str:
    """Return black or white, whichever reads better on one of the colours."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    luminance = sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    # The limit is the luminance at which white and black have the same contrast to it (WCAG 2).
    return "#FFFFFF" if (luminance + 0.05) ** 2 < 1.05 * 0.05 else "#000000"


if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure

    Axes: TypeAlias = matplotlib.axes.Axes
    Drawn: TypeAlias = matplotlib.figure.Figure
else:
    # Only for type annotations: planning imports all modules of figures, and should not import matplotlib.
    Axes = Drawn = Any

GREY = "#6E6E6E"
#: Colour, marker, dash and hatch of the k-th line or bar; each of them alone distinguishes it.
LINE_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C8C8C")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)), (0, (3, 1, 1, 1, 1, 1)))
HATCHES = ("", "///", "...", "\\\\\\", "xx", "--", "o", "++")
#: Width of a page of the usual two-column paper, inches.
PAGE = 6.9
SMALLEST = 7.0

_RC = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": SMALLEST,
    "ytick.labelsize": SMALLEST,
    "legend.fontsize": SMALLEST,
    "figure.titlesize": 9,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "lines.linewidth": 1.2,
    "lines.markersize": 4,
    "hatch.linewidth": 0.5,
    "legend.frameon": False,
    # Names of videos may contain dollar signs that do not mean mathematics.
    "text.parse_math": False,
    # Fonts are embedded as outlines that can be searched and edited (TrueType), never as Type 3.
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    # A fixed salt, so that a figure has the same bytes every time it is drawn.
    "svg.hashsalt": "rgwot",
}


def _pyplot() -> Any:
    """Return pyplot, which is imported only here, because this takes long and planning does not need it."""
    import matplotlib

    if "matplotlib.pyplot" not in sys.modules:
        # If pyplot is loaded already, its backend stays, so that a notebook that draws keeps showing its figures.
        matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


@contextmanager
def styled() -> Iterator[None]:
    """Apply the style of all figures to everything that is drawn inside."""
    with _pyplot().rc_context(_RC):
        yield


def save(figure: Drawn, path: str | os.PathLike[str]) -> None:
    """Write a figure as PDF and as PNG next to it (``path`` may carry either suffix), in its own size."""
    target = Path(path)
    # Without a date and the name of the software, a figure has the same bytes every time.
    for suffix, metadata in ((".pdf", {"CreationDate": None}), (".png", {"Software": None})):
        with replacing(target.with_suffix(suffix)) as temporary, styled():
            figure.savefig(temporary, dpi=200, metadata=metadata)
    _pyplot().close(figure)


def sheet(rows: int = 1, columns: int = 1, *, height: float, **options: Any) -> tuple[Drawn, Any]:
    """Return a figure of a page's width and some height (inches) and its axes (rows, columns)."""
    look = {"figsize": (PAGE, height), "squeeze": False, "layout": "constrained"}
    drawn: tuple[Drawn, Any] = _pyplot().subplots(rows, columns, **look, **options)
    return drawn


def tell(figure: Drawn, title: str, caption: str) -> None:
    """Write a figure's title above it, then its data, protocol, seeds and settings."""
    characters = int(figure.get_figwidth() * 17)
    lines = [line for text in (title, caption) for line in textwrap.wrap(text, characters)]
    figure.suptitle("\n".join(lines), x=0.01, ha="left", fontsize=SMALLEST + 0.5)


def short(name: str, most: int) -> str:
    """Return a name, cut in the middle if it is longer than ``most`` characters.

    >>> short("a_very_long_name", 9)
    'a_ve…name'
    """
    half = (most - 1) // 2
    return name if len(name) <= most else f"{name[: most - 1 - half]}…{name[len(name) - half :]}"


def step_style(step: int) -> dict[str, Any]:
    """Colour and hatch of a step; 0 is background, negative steps are clusters without a partner."""
    if step == 0:
        return {"facecolor": BACKGROUND_COLOUR}
    if step < 0:
        return {"facecolor": UNMATCHED, "edgecolor": "#777777", "hatch": "////", "linewidth": 0.0}
    colour = STEP_COLOURS[(step - 1) % len(STEP_COLOURS)]
    hatch = ("", "////", "....")[min(2, (step - 1) // len(STEP_COLOURS))]
    return {"facecolor": colour, "edgecolor": "#FFFFFF" if hatch else colour, "hatch": hatch, "linewidth": 0.0}


def number_step(axis: Axes, x: float, y: float, step: int) -> None:
    """Write the number of a step on its colour; its hatch is kept away from the digits."""
    colour = str(step_style(step)["facecolor"])
    axis.text(
        x, y, str(step), ha="center", va="center_baseline", fontsize=SMALLEST, color=ink_on(colour),
        bbox={"facecolor": colour, "edgecolor": "none", "pad": 0.6},
    )  # fmt: skip


def step_legend(
    figure: Drawn, steps: Sequence[int], *, unmatched: bool, columns: int = 8, names: Mapping[int, str] | None = None
) -> None:
    """Say below a figure which colour is which step, with the names of steps that have one."""
    from matplotlib.patches import Patch

    called = {step: f"step {step}: {name}" for step, name in (names or {}).items()}
    handles = [Patch(label=called.get(step, f"step {step}"), **step_style(step)) for step in steps if step > 0]
    handles.append(Patch(label="background", facecolor=BACKGROUND_COLOUR))
    if unmatched:
        handles.append(Patch(label="matched to no step", **step_style(-1)))
    # Rows of about equal length.
    rows = -(-len(handles) // columns)
    figure.legend(handles=handles, loc="outside lower center", ncols=-(-len(handles) // rows))


def line_style(number: int) -> dict[str, Any]:
    """Colour, marker and dash of the ``number``-th line."""
    return {
        "color": LINE_COLOURS[number % len(LINE_COLOURS)],
        "marker": MARKERS[number % len(MARKERS)],
        "linestyle": DASHES[number % len(DASHES)],
    }
