"""What a table is made of: the typed entries of ``workflow/tables.yaml``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import BeforeValidator, Field, field_validator, model_validator

from rgwot.config.settings import defaults
from rgwot.evaluation.protocols import GRAPH, SEGMENTATION
from rgwot.reporting.entries import Beside, DatasetName, Part, Spelled
from rgwot.runtime.errors import RgwotError, nearest

Segmental = Literal[
    "mof", "miou", "precision_sampled", "recall_sampled", "f1_sampled", "f1_10", "f1_25", "f1_50", "edit"
]
Graphical = Literal["edge_precision", "edge_recall", "edge_f1", "consensus_distance", "order_f1", "missing_f1"]
#: Protocols with metrics of their own, which stand beside no others.
OWN: Mapping[str, tuple[str, ...]] = {SEGMENTATION: get_args(Segmental), GRAPH: get_args(Graphical)}
Metric = Literal["f1", "iou", "precision", "recall", "order_distance", Segmental, Graphical]
Background = Literal["with", "without"]


def own_protocol(name: str) -> str | None:
    """Return a protocol if it has metrics of its own, else None."""
    return name if name in OWN else None


ProtocolName = Literal["micro_video", "macro_video", "macro_task", "strict_task", "segmentation", "graph"]
UNKNOWN = "unknown"


def _as_text(value: Any) -> Any:
    """Accept numbers as text; refuse YAML's ``yes`` and ``no``, which are read as booleans."""
    if isinstance(value, bool):
        raise ValueError("expected text; write yes and no in quotes")
    return str(value) if isinstance(value, (int, float)) else value


Text = Annotated[str, BeforeValidator(_as_text)]


class Place(DatasetName):
    """What a group of columns is about: a whole dataset, or one task of it.

    ``task`` is None for a whole dataset; ``reported_tasks`` are the names under which reported numbers know it.
    """

    dataset: str
    task: str | None = None
    reported_tasks: tuple[str, ...] = ("all",)


class AnyRow(Part):
    """A row of any table: the id that names its file, its label in print, and the swept values it stands for."""

    id: str
    label: str
    at: Mapping[str, Any] = {}

    @field_validator("id")
    @classmethod
    def _file_name(cls, text: str) -> str:
        if not re.fullmatch(r"[a-z][a-z0-9_.=+-]*", text, re.IGNORECASE):
            raise ValueError("expected a word like raw_kmeans or alpha=0.3, it names a file")
        return text


class Row(AnyRow, Spelled):
    """A measured row of scores: the experiment it shows, and whether it is an answer that needs no features."""

    method: str
    decoder: str
    trivial: bool = False


class Setting(AnyRow):
    """A row of a table of settings: where our values stand, and the name of the reported one.

    ``key`` is a dotted key of the settings, or ``seeds``. ``constants`` says, by method, which number of the source
    stands in its place, as ``losses/cross_entropy.py:NAME``; without either nothing can be set, and ``note`` says why.
    """

    symbol: str = ""
    key: str | None = None
    constants: Mapping[str, str] = {}
    reported: str | None = None
    note: str = ""

    @model_validator(mode="after")
    def _explained(self) -> Self:
        if self.key is None and not self.constants and not self.note:
            raise ValueError("expected a key, constants, or a note that says why there is none")
        if self.key not in (None, "seeds", *defaults()):
            raise RgwotError(f"row {self.id!r}: unknown setting {self.key!r}; {nearest(str(self.key), defaults())}")
        return self


class TimedRow(AnyRow, Spelled):
    """A row of a table of run times: the method whose training is timed."""

    method: str


class Block(Part):
    """One protocol, with or without background: a group of columns of the printed forms."""

    protocol: ProtocolName
    background: Background


LEADING = (Block(protocol="macro_task", background="with"), Block(protocol="micro_video", background="with"))


class Experiment(Spelled):
    """A method and a decoder, whose scores a claim is about."""

    method: str
    decoder: str


class Claim(AnyRow):
    """A claim that of every pair of experiments the first is above the second, by more than ``-margin``.

    ``metric`` is a metric of the scores where larger is better; ``degenerate``, the share of collapsed runs; or
    ``seconds``, those of an iteration of training, compared by their ratio. ``blocks`` are other protocols than those
    of the table.
    """

    pairs: tuple[tuple[str, str], ...]
    metric: Literal["f1", "iou", "degenerate", "seconds"] = "f1"
    margin: Annotated[float, Field(ge=0)] = 0.0
    blocks: tuple[Block, ...] = ()

    @property
    def experiments(self) -> tuple[str, ...]:
        """The experiments it compares, each once."""
        return tuple(dict.fromkeys(name for pair in self.pairs for name in pair))


class ReportedMethod(Part):
    """A reported row and how its numbers were made; ``unknown`` where no code shows it.

    ``where`` chooses among several rows of one method by the columns of a condition, such as ``K: 7``. ``row`` is the
    measured row it stands beside; with a condition it also gives the reported row its id.
    """

    method: str
    where: Mapping[str, Text] = {}
    row: str | None = None
    at: Mapping[str, Any] = {}
    protocol: ProtocolName | Literal["unknown"] = "unknown"
    background: Background | Literal["unknown"] = "unknown"
    label_rule: Literal["exact", "cnc", "unknown"] = "unknown"

    @property
    def id(self) -> str:
        """What the column ``method`` of the table says."""
        return self.row if self.where and self.row else self.method

    @model_validator(mode="after")
    def _named(self) -> Self:
        if self.where and self.row is None:
            raise ValueError("a condition needs the measured row that it belongs to; expected a key row")
        return self


class Reported(Part):
    """Reported numbers of a table: their file, their rows in order, and what is said about all of them.

    ``source`` keeps only the lines of the file that name this source.
    """

    file: Beside
    methods: tuple[ReportedMethod, ...] = ()
    note: str = ""
    source: str | None = None


class Gain(Part):
    """An average gain among reported methods that is worked out again: of which, over which, on which datasets.

    ``printed`` is what the paper says it is, in percent points.
    """

    of: str
    over: str
    datasets: tuple[str, ...] = ()
    printed: Mapping[Metric, float] = {}


class AnyTable(Part):
    """What every table has: its kind, its id, what it shows, its rows, reported numbers and remarks.

    ``paper`` says whether the named target ``paper`` makes it.
    """

    KIND: ClassVar[str]

    kind: str
    id: str
    title: str
    paper: bool = True
    rows: tuple[AnyRow, ...]
    reported: Reported | None = None
    notes: tuple[str, ...] = ()

    def row(self, row_id: str) -> Any:
        """Return one row by its id, or say which are known."""
        for row in self.rows:
            if row.id == row_id:
                return row
        raise RgwotError(f"table {self.id!r}: no row {row_id!r}; {nearest(row_id, [row.id for row in self.rows])}")

    @model_validator(mode="after")
    def _rows_are_files(self) -> Self:
        if not self.rows:
            raise ValueError("no rows; expected at least one")
        _once("row", [row.id for row in self.rows])
        _once("file of row", [row.id.lower() for row in self.rows])
        if "reported" in (row.id for row in self.rows):
            raise ValueError("row 'reported': this id is taken by the reported numbers; choose another")
        return self


class Table(AnyTable):
    """A table of scores: the ``blocks`` with which the printed forms begin, and what is gained on average.

    ``lines`` says what stands below each other in print: the rows, or (many tasks, few rows) the datasets.
    """

    KIND = "scores"

    datasets: Mapping[str, Place]
    lines: Literal["rows", "datasets"] = "rows"
    metrics: tuple[Metric, ...] = ("f1", "iou")
    rows: tuple[Row, ...]
    blocks: tuple[Block, ...] = LEADING
    gains: tuple[Gain, ...] = ()

    @property
    def own(self) -> str | None:
        """The protocol whose own metrics it shows, or None."""
        return next((name for name, metrics in OWN.items() if set(metrics) & set(self.metrics)), None)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for what, names in (("datasets", self.datasets), ("metrics", self.metrics), ("blocks", self.blocks)):
            if not len(names):
                raise ValueError(f"no {what}; expected at least one")
        for block in self.blocks:
            mixed = self.own is not None and not set(self.metrics) <= set(OWN[self.own])
            if mixed or own_protocol(block.protocol) != self.own:
                listed = "; ".join(f"{', '.join(metrics)} under {name} alone" for name, metrics in OWN.items())
                raise ValueError(
                    f"protocol {block.protocol} beside metrics {', '.join(self.metrics)}; expected {listed}, "
                    "and the others under the other protocols"
                )
        _once("metric", [str(metric) for metric in self.metrics])
        _once("block", [f"{block.protocol} {block.background} background" for block in self.blocks])
        entries = self.reported.methods if self.reported else ()
        _once("reported method", [entry.id for entry in entries])
        for name, place in self.datasets.items():
            if self.reported and place.reported is None:
                raise ValueError(f"dataset {name!r} has no name in the reported numbers; expected a key `reported`")
        for entry in entries:
            _known("reported row", entry.row, [row.id for row in self.rows])
        for gain in self.gains:
            for method in (gain.of, gain.over):
                _known("gain: reported method", method, [entry.id for entry in entries])
            for dataset in gain.datasets:
                _known("gain: dataset", dataset, self.datasets)
        return self


class SettingsTable(AnyTable):
    """A table of hyper-parameters: the resolved values of some methods beside the reported ones."""

    KIND = "settings"

    methods: tuple[str, ...]
    rows: tuple[Setting, ...]


class ClaimsTable(AnyTable):
    """A table of claims about ``experiments``, judged on all its datasets together and on ``groups`` of them."""

    KIND = "claims"

    datasets: Mapping[str, Place]
    groups: Mapping[str, tuple[str, ...]] = {}
    experiments: Mapping[str, Experiment]
    blocks: tuple[Block, ...]
    rows: tuple[Claim, ...]

    @model_validator(mode="after")
    def _named(self) -> Self:
        for claim in self.rows:
            for name in claim.experiments:
                _known(f"claim {claim.id!r}: experiment", name, self.experiments)
        for group, datasets in self.groups.items():
            for dataset in datasets:
                _known(f"group {group!r}: dataset", dataset, self.datasets)
        return self


class RuntimeTable(AnyTable):
    """A table of training times on one task, ``dataset`` and ``task``."""

    KIND = "runtime"

    dataset: str
    task: str
    rows: tuple[TimedRow, ...]


def _once(what: str, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{what} {name!r} stands twice; expected every one once")


def _known(what: str, name: str | None, known: Any) -> None:
    if name is not None and name not in known:
        raise ValueError(f"{what} {name!r} is not there; {nearest(name, known)}")
