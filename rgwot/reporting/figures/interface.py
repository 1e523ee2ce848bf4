"""What a kind of figure is: its settings in ``workflow/tables.yaml``, which files it reads, how it is drawn.

A kind is a module of this package with a `Figure` named as the module is, listed in `KINDS`. A `Plan` has all that a
drawing reads besides files: the workflow takes its inputs from it, and draws again when it changes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rgwot import paths
from rgwot.config.configuration import Config
from rgwot.config.experiments import Experiments
from rgwot.config.registry import load
from rgwot.config.settings import flatten
from rgwot.reporting.entries import (
    Canonical,
    DatasetName,
    Part,
    Spelled,
    checked,
    datasets_in_print,
    named,
    read_entries,
)
from rgwot.reporting.figures.style import Drawn, styled
from rgwot.reporting.tables.spec import Place, Table
from rgwot.runtime.errors import RgwotError, nearest

#: Kinds of figures and what captions say of them; kind ``x_y`` is the class ``XY`` of `rgwot.reporting.figures.x_y`.
KINDS: Mapping[str, str] = {
    "teaser": (
        "Two videos of a task as strips of frames in the colours of their true steps with the transport plan "
        "between them, their embedding in two principal directions, and the key steps and orders that were found."
    ),
    "overview": (
        "The method as boxes and arrows: solid for computation, dashed for gradients; the matrices are those of "
        "one pair of videos."
    ),
    "bars": (
        "Key steps over the share of each video: ground truth on top, then one bar per method; a cluster has the "
        "colour of the step it is matched to."
    ),
    "plans": (
        "Cost and transport plans of one pair of videos, by the solver of the public code (parity) and the "
        "converged one, at two radii of the structural prior, with true steps on both axes."
    ),
    "losses": (
        "The terms of the loss over the iterations; without a contrastive term C-IDM is measured and not trained."
    ),
    "tsne": (
        "Backbone features of single videos, averaged over space, from the first frame (light) to the last (dark)."
    ),
    "sweep": (
        "Scores over a parameter: means over seeds as in the tables, bands from the least to the largest seed, "
        "stars as papers report."
    ),
    "growth": (
        "A score over the number of training videos, scored on all videos; horizontal lines need no training, "
        "stars are as papers report."
    ),
    "protocols": (
        "The same predictions scored under every protocol, with background as a class and without it; numbers of "
        "different protocols cannot be compared."
    ),
}


def kind_of(name: str) -> type[Figure]:
    """Return the class of a kind of figure."""
    found: type[Figure] = load(f"rgwot.reporting.figures.{name}:{name.title().replace('_', '')}")
    return found


class Study(Protocol):
    """What figures ask of the study that they are planned in; `rgwot.study` answers."""

    config: Config
    experiments: Experiments

    def tasks(self, dataset: str, /) -> tuple[str, ...]:
        """Return the tasks of a dataset."""

    def videos(self, dataset: str, task: str, /) -> Mapping[str, Any]:
        """Return the videos of a task by their ids."""

    def key_steps(self, dataset: str, task: str) -> int | None:
        """Return K_gt where it is known."""

    def check_task(self, dataset: str, task: str, method: str) -> None:
        """Raise when a task has too few videos for a method."""

    def table_with(self, table: str, places: Iterable[str]) -> Table:
        """Return a table of scores that has columns for the places."""

    def check_table(self, table: str, row: str) -> None:
        """Raise when a row of a table cannot be made."""

    def in_print(self, dataset: str) -> str:
        """Return what a dataset is called in print."""


def settings_of(study: Study, method: str, decoder: str | None, dataset: str) -> dict[str, Any]:
    """Return resolved settings as dotted keys."""
    return flatten(study.experiments.settings(method, decoder, dataset).model_dump(by_alias=True, mode="json"))


def tasks_of(place: Place, study: Study) -> tuple[str, ...]:
    """Return the configured tasks behind the columns of a table."""
    return tuple(task for task in study.tasks(place.dataset) if place.task in (None, task))


class Run(Spelled):
    """A method and a decoder, and what they are called in print."""

    label: str
    method: str
    decoder: str = "graphcut"

    def planned(self, dataset: str, task: str, seed: int) -> PlannedRun:
        """Return this run of one task with one seed."""
        return PlannedRun(self.label, self.method, self.decoder, dataset, task, seed)


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


@dataclass(frozen=True)
class Plan:
    """All that a figure is drawn from besides files; a kind adds what it shows.

    ``seeds`` are those shown, ``about`` is one line on data, protocol and seeds, written in the figure and its caption,
    ``data`` are the datasets as they are called in print, ``protocols`` those that a report can filter by.
    """

    seeds: tuple[int, ...]
    about: str
    data: tuple[str, ...]
    protocols: str


class Figure(Part):
    """A figure of ``workflow/tables.yaml``; a kind adds its settings and says what it needs and how it is drawn."""

    id: str
    kind: str
    title: str

    def plan(self, study: Study) -> Plan:
        """Return what the figure is drawn from in one study."""
        raise NotImplementedError

    def files(self, plan: Any) -> Iterable[Path]:
        """Return the files that the drawing of a plan reads."""
        raise NotImplementedError

    def draw(self, plan: Any) -> Drawn:
        """Draw a plan."""
        raise NotImplementedError

    def styled(self, plan: Plan) -> Drawn:
        """Draw a plan in the style of all figures."""
        with styled():
            return self.draw(plan)

    def caption(self, plan: Plan) -> list[str]:
        """Return what a report says of the figure, paragraph by paragraph."""
        return [f"{self.title}. {KINDS[self.kind]}", plan.about]

    def labels(self, plan: Plan) -> dict[str, str]:
        """Return what a report is filtered by."""
        seeds = ", ".join(map(str, plan.seeds))
        return {"figure": self.id, "data": ", ".join(plan.data), "protocol": plan.protocols, "seeds": seeds}

    def shared(
        self, study: Study, datasets: Mapping[str, str], said: Sequence[str], seeds: Sequence[int], protocols: str = "–"
    ) -> dict[str, Any]:
        """Return the fields that every plan has.

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
        return {"seeds": tuple(seeds), "about": "; ".join(about), "data": data, "protocols": protocols}


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
    """Read and check the figures of the file that defines the tables; without a key ``figures`` there are none.

    ``canonical`` turns the method and decoder of a run, in any spelling, into the one spelling that paths use.

    Raises
    ------
    RgwotError
        One line: the figure and key, what was found, what was expected.
    """
    source = Path(path)
    content, figures = read_entries(source), {}
    context = {"canonical": canonical, "folder": source.parent}
    for name, where, entry in named(content, "figures", source):
        kind = str(entry.get("kind"))
        if kind not in KINDS:
            raise RgwotError(f"{where}: unknown kind {kind!r}; {nearest(kind, KINDS)}")
        figures[name] = checked(kind_of(kind), entry, where, context)
    return Figures(figures, datasets_in_print(content, source))
