"""The figures as data: what each one draws, read from the key ``figures`` of the file that also defines the tables.

A kind of figure is a class here, a function in `rgwot.reporting.figures` that draws it, and a line in
`rgwot.reporting.figures.plan` that says which runs it needs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BaseModel, Field, ValidationError

from rgwot.reporting.tables.models import Background, DatasetName, Metric, Part, ProtocolName
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.runtime.yaml_text import read_yaml

Count = Annotated[int, Field(ge=1)]
Canonical = Callable[[str, str], tuple[str, str]]


class Run(Part):
    """A method and a decoder, and what they are called in print."""

    label: str
    method: str
    decoder: str = "graphcut"


class Footage(Part):
    """One video, of the first task and the first of its videos where nothing else is said."""

    dataset: str
    task: str | None = None
    video: str | None = None


class ReportedCurve(Part):
    """Reported numbers beside a curve.

    ``file`` lies beside the tables; of its rows those that match ``where`` (column to value) are taken. ``x`` is the
    column that holds the parameter, or the value that all of them were made with. ``mark`` is written beside it.
    """

    file: Path
    where: Mapping[str, str] = {}
    x: str | float
    mark: str = "reported"


class SweepPanel(Part):
    """One panel of curves: a table whose rows differ in one key, drawn over that key.

    ``above`` annotates the axis with what the key comes to: ``radius`` the active radius a = floor(n r) in frames,
    ``temperature`` epsilon / (1 - alpha). ``classes`` marks K_gt + 1, the number of classes with background.
    """

    table: str
    key: str
    label: str
    dataset: str
    scale: Literal["linear", "log"] = "linear"
    above: Literal["radius", "temperature"] | None = None
    classes: bool = False
    reported: ReportedCurve | None = None


class Figure(Part):
    """What every figure has; ``SHOWS`` is what a caption says of its kind."""

    SHOWS: ClassVar[str]

    id: str
    title: str


class OfTasks(Figure):
    """A figure of single videos: ``tasks`` names those wanted, of which the configured ones are drawn.

    Where a task is not in the configuration, the first ones that are take its place; ``videos`` likewise, else the
    first scored ones.
    """

    dataset: str
    tasks: tuple[str, ...] = ()
    n_tasks: Count = 1
    videos: tuple[str, ...] = ()
    n_videos: Count = 1


class Scored(Figure):
    """A figure of scores, and the protocol they are of."""

    protocol: ProtocolName = "micro_video"
    background: Background = "with"
    label_rule: Literal["exact", "cnc"] = "exact"


class Teaser(OfTasks):
    """Two videos as strips of frames, the plan between them, their embedding, their key steps and the order found."""

    SHOWS = (
        "Two videos of a task as strips of frames in the colours of their true steps with the transport plan "
        "between them, their embedding in two principal directions, and the key steps and orders that were found."
    )
    kind: Literal["teaser"]
    run: Run
    n_videos: Literal[2] = 2
    frames: Annotated[int, Field(ge=4, le=40)] = 18


class Overview(OfTasks):
    """The method as boxes and arrows, with the matrices of one pair of videos in the boxes."""

    SHOWS = (
        "The method as boxes and arrows: solid for computation, dashed for gradients; the matrices are those of "
        "one pair of videos."
    )
    kind: Literal["overview"]
    run: Run
    n_videos: Literal[2] = 2


class Bars(OfTasks):
    """Key steps over time: ground truth, and one bar per run; beside them collapse diagnostics or scores."""

    SHOWS = (
        "Key steps over the share of each video: ground truth on top, then one bar per method; a cluster has the "
        "colour of the step it is matched to."
    )
    kind: Literal["bars"]
    runs: Annotated[tuple[Run, ...], Field(min_length=1)]
    beside: Literal["collapse", "scores"]


class TransportPlans(OfTasks):
    """Cost and transport plans of one pair of videos, by both solvers and at two radii."""

    SHOWS = (
        "Cost and transport plans of one pair of videos, by the solver of the public code (parity) and the "
        "converged one, at two radii of the structural prior, with true steps on both axes."
    )
    kind: Literal["plans"]
    run: Run
    n_videos: Literal[2] = 2
    radii: tuple[Annotated[float, Field(gt=0, le=1)], Annotated[float, Field(gt=0, le=1)]] = (0.02, 0.1)


class Losses(OfTasks):
    """Loss terms over the training, one line per run."""

    SHOWS = "The terms of the loss over the iterations; without a contrastive term C-IDM is measured and not trained."
    kind: Literal["losses"]
    runs: Annotated[tuple[Run, ...], Field(min_length=1)]
    n_videos: Literal[1] = 1


class Tsne(Figure):
    """Backbone features of single videos in two dimensions, coloured by time."""

    SHOWS = "Backbone features of single videos, averaged over space, from the first frame (light) to the last (dark)."
    kind: Literal["tsne"]
    panels: Annotated[tuple[Footage, ...], Field(min_length=1, max_length=8)]
    perplexity: Annotated[float, Field(gt=1)] = 30.0
    components: Count = 50
    max_frames: Count = 1500
    seed: Annotated[int, Field(ge=0)] = 0


class Sweep(Scored):
    """Scores over a parameter, one panel per sweep; ``collapse`` adds a panel with what tells collapse."""

    SHOWS = (
        "Scores over a parameter: means over seeds as in the tables, bands from the least to the largest seed, "
        "stars as papers report."
    )
    kind: Literal["sweep"]
    panels: Annotated[tuple[SweepPanel, ...], Field(min_length=1, max_length=4)]
    metrics: Annotated[tuple[Metric, ...], Field(min_length=1, max_length=4)] = ("precision", "recall", "f1", "iou")
    collapse: bool = False


class Growth(Scored):
    """A score over the number of training videos, one line per method, with answers that need none as levels.

    ``names`` says what methods are called in print.
    """

    SHOWS = (
        "A score over the number of training videos, scored on all videos; horizontal lines need no training, "
        "stars are as papers report."
    )
    kind: Literal["growth"]
    panel: SweepPanel
    metric: Metric = "f1"
    names: Mapping[str, str] = {}
    levels: tuple[Run, ...] = ()
    reported_methods: tuple[str, ...] = ()


class Protocols(Figure):
    """The same predictions under every protocol: groups of bars."""

    SHOWS = (
        "The same predictions scored under every protocol, with background as a class and without it; numbers of "
        "different protocols cannot be compared."
    )
    kind: Literal["protocols"]
    table: str
    datasets: Annotated[tuple[str, ...], Field(min_length=1, max_length=4)]
    rows: tuple[str, ...] = ()
    metric: Metric = "f1"
    label_rule: Literal["exact", "cnc"] = "exact"


AnyFigure = Annotated[
    Teaser | Overview | Bars | TransportPlans | Losses | Tsne | Sweep | Growth | Protocols, Field(discriminator="kind")
]
KINDS: Mapping[str, type[Figure]] = {
    get_args(model.model_fields["kind"].annotation)[0]: model
    for model in (Teaser, Overview, Bars, TransportPlans, Losses, Tsne, Sweep, Growth, Protocols)
}


def runs_of(figure: OfTasks) -> tuple[Run, ...]:
    """Return the runs of a figure of single videos."""
    return figure.runs if isinstance(figure, (Bars, Losses)) else (figure.run,)  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Figures:
    """All figures by id, and what the datasets are called in print."""

    figures: Mapping[str, Figure]
    names: Mapping[str, DatasetName]

    def figure(self, figure_id: str) -> Figure:
        """Return one figure by its id, or say which are known."""
        if figure_id not in self.figures:
            raise RgwotError(f"figure {figure_id!r}: not among the figures; {nearest(figure_id, self.figures)}")
        return self.figures[figure_id]


def load_figures(path: str | os.PathLike[str], canonical: Canonical | None = None) -> Figures:
    """Read and check the figures.

    Parameters
    ----------
    path
        The YAML file that defines tables and figures; without a key ``figures`` there are none. Files of reported
        numbers are looked up beside it.
    canonical
        Turns the method and decoder of a run, in any spelling, into the one spelling that paths use.

    Raises
    ------
    RgwotError
        One line: the figure and key, what was found, what was expected.
    """
    source = Path(path)
    content = read_yaml(source)
    parts = content if isinstance(content, dict) else {"figures": content}
    for key in ("figures", "datasets"):
        if not isinstance(parts.get(key, {}), dict):
            raise RgwotError(f"{source}: {key}: found {type(parts[key]).__name__}, expected names with their entries")
    names = {}
    for name, entry in parts.get("datasets", {}).items():
        try:
            names[str(name)] = DatasetName.model_validate(entry)
        except ValidationError as error:
            raise RgwotError(f"{source}: dataset {str(name)!r}: {_described(error, DatasetName)}") from None
    figures = {
        str(name): _figure(str(name), entry, source, canonical) for name, entry in parts.get("figures", {}).items()
    }
    return Figures(figures, names)


def _figure(figure_id: str, entry: Any, source: Path, canonical: Canonical | None) -> Figure:
    where = f"{source}: figure {figure_id!r}"
    if not re.fullmatch(r"[a-z][a-z0-9_]*", figure_id):
        raise RgwotError(f"{where}: expected a lower-case word like teaser, it names a file")
    if not isinstance(entry, dict) or "kind" not in entry:
        raise RgwotError(f"{where}: found no kind, expected kind: one of {', '.join(KINDS)}")
    kind = str(entry["kind"])
    if kind not in KINDS:
        raise RgwotError(f"{where}: unknown kind {kind!r}; {nearest(kind, KINDS)}")
    try:
        figure = KINDS[kind].model_validate({**entry, "id": figure_id})
    except ValidationError as error:
        raise RgwotError(f"{where}: {_described(error, KINDS[kind])}") from None
    made: Figure = _resolved(figure, where, source.parent, canonical)
    return made


def _described(error: ValidationError, model: type[BaseModel]) -> str:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        inner: Mapping[str, type[BaseModel]] = {
            "run": Run, "runs": Run, "levels": Run, "panel": SweepPanel, "reported": ReportedCurve,
            "panels": Footage if model is Tsne else SweepPanel,
        }  # fmt: skip
        named = [inner[part] for part in first["loc"][:-1] if isinstance(part, str) and part in inner]
        known = (named[-1] if named else model).model_fields
        return f"unknown key {place!r}; {nearest(str(first['loc'][-1]), known)}"
    message = first["msg"].removeprefix("Value error, ")
    found = "" if first["type"] == "missing" else f", found {first['input']!r}"
    return f"{place}: {message[0].lower()}{message[1:]}{found}"


def _resolved(part: Any, where: str, folder: Path, canonical: Canonical | None) -> Any:
    """Return a figure, or a part of one, with every experiment in its one spelling and every file where it lies."""
    if isinstance(part, tuple):
        return tuple(_resolved(one, where, folder, canonical) for one in part)
    if not isinstance(part, Part):
        return part
    changes = {name: _resolved(getattr(part, name), where, folder, canonical) for name in type(part).model_fields}
    if isinstance(part, Run) and canonical is not None:
        try:
            changes["method"], changes["decoder"] = canonical(part.method, part.decoder)
        except RgwotError as error:
            raise RgwotError(f"{where}: run {part.label!r}: {error}") from None
    if isinstance(part, ReportedCurve):
        changes["file"] = folder / part.file
    return part.model_copy(update=changes)
