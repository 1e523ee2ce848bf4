"""What a figure is: what it is drawn from in a study, and how it is drawn.

A `Plan` has the files that a drawing reads and all else that it shows: the workflow takes its inputs from it, and draws
again when it changes.
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
        """Return where one of its files is, by a template of `rgwot.paths`."""
        return paths.at(template, **vars(self))


def planned_runs(row: Row, tasks: Iterable[tuple[str, str]], seeds: Sequence[int]) -> tuple[PlannedRun, ...]:
    """Return the runs of a row on some tasks (dataset, task) with some seeds."""
    return tuple(
        PlannedRun(row.label, row.method, row.decoder, dataset, task, seed) for dataset, task in tasks for seed in seeds
    )


@dataclass(frozen=True)
class Plan(Generic[Shown]):
    """All that a figure is drawn from: the files that are read, and what it shows.

    ``seeds`` are those shown, ``about`` is one line on data, protocol and seeds, written in the figure and its caption,
    ``data`` are the datasets as they are called in print, ``protocols`` those that a report can filter by.
    """

    shown: Shown
    files: tuple[Path, ...] = field(repr=False)
    seeds: tuple[int, ...]
    about: str
    data: tuple[str, ...]
    protocols: str


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure; a class of them adds what it shows, and says what it needs and how it is drawn.

    Attributes
    ----------
    id, title
        From name and docstring of the function that makes the figure.
    """

    #: What captions say of all figures of a class.
    CAPTION: ClassVar[str]

    id: str = ""
    title: str = ""

    def plan(self, study: Study) -> Plan[Any]:
        """Return what the figure is drawn from in one study.

        Raises RgwotError where the configuration lacks what it needs.
        """
        raise NotImplementedError

    def draw(self, plan: Any) -> Drawn:
        """Draw a plan, in the style of all figures (`rgwot.reporting.figures.style.styled`)."""
        raise NotImplementedError

    def planned(
        self, study: Study, shown: Shown, files: Iterable[Path], places: Iterable[Place], texts: Iterable[str],
        seeds: Sequence[int], protocols: str = "–",
    ) -> Plan[Shown]:  # fmt: skip
        """Return a plan; ``texts`` are what to say of runs and protocol."""
        datasets = {place.dataset: place.label for place in places}
        data = tuple(dict.fromkeys(datasets.values()))
        features = [study.experiments.settings("none", None, name).features for name in datasets]
        seeding = f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
        about = [", ".join(data), *filter(None, texts), seeding]
        if any(extracted.weights == "random" for extracted in features):
            about.append("backbone with random weights: not the paper's numbers")
        if networks := {extracted.backbone for extracted in features} - {"resnet50"}:
            about.append(f"features by {' and '.join(sorted(networks))}: not the paper's numbers")
        return Plan(shown, tuple(dict.fromkeys(files)), tuple(seeds), "; ".join(about), data, protocols)
