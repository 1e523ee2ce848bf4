"""Figures: planning in a study, and drawing.

A `Plan` has the files and all other content of a drawing: the workflow takes its inputs from the plan, and draws again
if the plan changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from rgwot import paths
from rgwot.reporting.figures.style import Drawn
from rgwot.reporting.tables.table import Place, Row
from rgwot.study.study import Study

Shown = TypeVar("Shown")


@dataclass(frozen=True)
class PlannedRun:
    """A run of a task with a seed."""

    label: str
    method: str
    decoder: str
    dataset: str
    task: str
    seed: int

    def at(self, template: str) -> Path:
        """Return the path of one of its files, by a template of `rgwot.paths`."""
        return paths.at(template, **vars(self))


def planned_runs(row: Row, tasks: Iterable[tuple[str, str]], seeds: Sequence[int]) -> tuple[PlannedRun, ...]:
    """Return the runs of a row on some tasks (dataset, task) with some seeds."""
    return tuple(
        PlannedRun(row.label, row.method, row.decoder, dataset, task, seed) for dataset, task in tasks for seed in seeds
    )


@dataclass(frozen=True)
class Plan(Generic[Shown]):
    """The plan of a figure: the files that it reads, and its content.

    ``about`` is a line on data, protocol and seeds for the figure and its caption, ``data`` are the printed names of
    the datasets, and ``protocols`` are those by which a report can filter.
    """

    shown: Shown
    files: tuple[Path, ...] = field(repr=False)
    seeds: tuple[int, ...]
    about: str
    data: tuple[str, ...]
    protocols: str


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Base of all figures; each class adds its content, its needs (`plan`) and its drawing (`draw`).

    Attributes
    ----------
    id, title
        The name and docstring of the function that makes the figure.
    """

    #: The part of the caption that is the same for all figures of a class.
    CAPTION: ClassVar[str]

    id: str = ""
    title: str = ""

    def plan(self, study: Study) -> Plan[Any]:
        """Return the plan of the figure in a study.

        Raises RgwotError if the configuration lacks something that the figure needs.
        """
        raise NotImplementedError

    def draw(self, plan: Any) -> Drawn:
        """Draw a plan, in the common style (`rgwot.reporting.figures.style.styled`)."""
        raise NotImplementedError

    def planned(
        self, study: Study, content: Shown, files: Iterable[Path], places: Iterable[Place], texts: Iterable[str],
        seeds: Sequence[int], protocols: str = "–",
    ) -> Plan[Shown]:  # fmt: skip
        """Return a plan; ``texts`` describe runs and protocol."""
        datasets = {place.dataset: place.label for place in places}
        data = tuple(dict.fromkeys(datasets.values()))
        features = [study.experiments.settings("none", None, name).features for name in datasets]
        seeding = f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
        caption = [", ".join(data), *filter(None, texts), seeding]
        if any(extracted.weights == "random" for extracted in features):
            caption.append("backbone with random weights: not the paper's numbers")
        if networks := {extracted.backbone for extracted in features} - {"resnet50"}:
            caption.append(f"features by {' and '.join(sorted(networks))}: not the paper's numbers")
        return Plan(content, tuple(dict.fromkeys(files)), tuple(seeds), "; ".join(caption), data, protocols)
