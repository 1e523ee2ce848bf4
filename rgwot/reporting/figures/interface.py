"""What a kind of figure is: its settings in ``workflow/tables.yaml``, what it is drawn from, how it is drawn.

A `Plan` has the files that a drawing reads and all else that it shows: the workflow takes its inputs from it, and draws
again when it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from rgwot import paths
from rgwot.config.configuration import Config
from rgwot.config.experiments import Experiments
from rgwot.config.settings import flatten
from rgwot.reporting.entries import Part, Spelled
from rgwot.reporting.figures.style import Drawn
from rgwot.reporting.tables.spec import Table

Shown = TypeVar("Shown")


@dataclass(frozen=True)
class Study:
    """What figures ask of the study that they are planned in; the functions are those of `rgwot.study`."""

    config: Config
    experiments: Experiments
    tasks: Callable[[str], tuple[str, ...]]
    videos: Callable[[str, str], Mapping[str, Any]]
    key_steps: Callable[[str, str], int | None]
    check_task: Callable[[str, str, str], None]
    table_with: Callable[[str, Iterable[str]], Table]
    check_table: Callable[[str, str], None]
    in_print: Callable[[str], str]


def settings_of(experiments: Experiments, method: str, decoder: str | None, dataset: str) -> dict[str, Any]:
    """Return resolved settings as dotted keys."""
    return flatten(experiments.settings(method, decoder, dataset).model_dump(by_alias=True, mode="json"))


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


class Run(Spelled):
    """A method and a decoder, and what they are called in print."""

    label: str
    method: str
    decoder: str = "graphcut"

    def planned(self, dataset: str, tasks: Iterable[str], seeds: Sequence[int]) -> tuple[PlannedRun, ...]:
        """Return this run of some tasks of a dataset with some seeds."""
        return tuple(
            PlannedRun(self.label, self.method, self.decoder, dataset, task, seed) for task in tasks for seed in seeds
        )


@dataclass(frozen=True)
class Plan(Generic[Shown]):
    """All that a figure is drawn from: the files that are read, and what its kind shows.

    ``seeds`` are those shown, ``about`` is one line on data, protocol and seeds, written in the figure and its caption,
    ``data`` are the datasets as they are called in print, ``protocols`` those that a report can filter by.
    """

    shown: Shown
    files: tuple[Path, ...]
    seeds: tuple[int, ...]
    about: str
    data: tuple[str, ...]
    protocols: str


class Figure(Part):
    """A figure of ``workflow/tables.yaml``; a kind adds its settings and says what it needs and how it is drawn."""

    #: What captions say of figures of this kind.
    CAPTION: ClassVar[str]

    id: str
    kind: str
    title: str

    def plan(self, study: Study) -> Plan[Any]:
        """Return what the figure is drawn from in one study."""
        raise NotImplementedError

    def draw(self, plan: Any) -> Drawn:
        """Draw a plan, in the style of all figures (`rgwot.reporting.figures.style.styled`)."""
        raise NotImplementedError

    def planned(
        self, study: Study, shown: Shown, files: Iterable[Path], datasets: Mapping[str, str], said: Iterable[str],
        seeds: Sequence[int], protocols: str = "–",
    ) -> Plan[Shown]:  # fmt: skip
        """Return a plan.

        ``datasets`` gives what the datasets shown are called in print, ``said`` what to say of runs and protocol.
        """
        data = tuple(dict.fromkeys(datasets.values()))
        features = [study.experiments.settings("none", None, one).features for one in datasets]
        seeding = f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
        about = [", ".join(data), *filter(None, said), seeding]
        if any(one.weights == "random" for one in features):
            about.append("backbone with random weights: not the paper's numbers")
        if networks := {one.backbone for one in features} - {"resnet50"}:
            about.append(f"features by {' and '.join(sorted(networks))}: not the paper's numbers")
        return Plan(shown, tuple(dict.fromkeys(files)), tuple(seeds), "; ".join(about), data, protocols)
