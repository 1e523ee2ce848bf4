"""What a kind of figure is: its settings in ``workflow/tables.yaml``, what it needs of a study, how it is drawn.

A kind is a module of this package with a `Figure` named as the module is, listed in `KINDS`. The workflow hands its
plan on as JSON, so a drawing reads exactly the files that were planned for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol

from pydantic import BeforeValidator, SerializeAsAny, ValidationError
from pydantic_core import from_json

from rgwot import paths
from rgwot.config.configuration import Config
from rgwot.config.experiments import Experiments, family_of, split_id
from rgwot.config.settings import flatten
from rgwot.reporting.entries import Part, Spelled
from rgwot.reporting.figures.style import Drawn, styled
from rgwot.reporting.tables.spec import Table
from rgwot.runtime.arguments import argument, unpacked
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.runtime.lazy import load

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
#: Settings that a caption gives, and what they are called there.
SAID = {
    "ot.alpha": "α", "ot.epsilon": "ε", "ot.rho": "ρ", "ot.r": "r", "ot.zeta": "ζ", "ot.solver": "solver",
    "loss.tau": "τ", "cidm.beta": "β", "cidm.lambda": "λ", "cidm.sigma": "σ", "train.N": "N",
    "train.iterations": "iterations", "decode.K": "K", "features.fps": "features per second",
    "features.weights": "backbone weights",
}  # fmt: skip


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

    def table(self, table: str) -> Table:
        """Return a table of scores."""

    def check_table(self, table: str, row: str) -> None:
        """Raise when a row of a table cannot be made."""

    def in_print(self, dataset: str) -> str:
        """Return what a dataset is called in print."""


def settings_of(study: Study, method: str, decoder: str | None, dataset: str) -> dict[str, Any]:
    """Return resolved settings as dotted keys."""
    return flatten(study.experiments.settings(method, decoder, dataset).model_dump(by_alias=True, mode="json"))


def seeding(seeds: Sequence[int]) -> str:
    """Say which seeds are shown."""
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"


class Run(Spelled):
    """A method and a decoder, and what they are called in print."""

    label: str
    method: str
    decoder: str = "graphcut"

    def planned(self, dataset: str, task: str, seed: int) -> PlannedRun:
        """Return this run of one task with one seed."""
        return PlannedRun(**dict(self), dataset=dataset, task=task, seed=seed)


class PlannedRun(Part):
    """A run of a task with a seed."""

    label: str
    method: str
    decoder: str
    dataset: str
    task: str
    seed: int

    def at(self, template: str) -> Path:
        """Return where one of its files lies, by a template of `rgwot.paths`."""
        return paths.at(template, **dict(self))


class Figure(Part):
    """A figure of ``workflow/tables.yaml``; a kind adds its settings and says what it needs and how it is drawn."""

    PLAN: ClassVar[type[Plan]]
    if TYPE_CHECKING:
        # Every kind has it after the settings that it shares with others: the order of fields is that of the plan.
        kind: str

    id: str
    title: str

    def plan(self, study: Study) -> Plan:
        """Return everything that the figure is drawn from in one study, put together by `planned`."""
        raise NotImplementedError

    def files(self, plan: Any) -> Iterable[Path]:
        """Return the files that the drawing of a plan reads."""
        raise NotImplementedError

    def draw(self, plan: Any) -> Drawn:
        """Draw a plan."""
        raise NotImplementedError

    @property
    def protocols(self) -> str:
        """By which protocols a report can filter."""
        return "–"

    def planned(
        self,
        study: Study,
        datasets: Mapping[str, str],
        said: Sequence[str],
        seeds: tuple[int, ...],
        runs: Sequence[PlannedRun] = (),
        varied: Collection[str] = (),
        **parts: Any,
    ) -> Plan:
        """Put a plan together.

        ``datasets`` gives what the datasets shown are called in print, ``said`` what to say of data, protocol and
        seeds. The caption gives the settings of the first trained one of ``runs``, but for the keys ``varied`` between
        them. ``parts`` are what the plan of this kind has besides.
        """
        about = [part for part in said if part]
        if any(study.experiments.settings("none", None, one).features.weights == "random" for one in datasets):
            about.append("backbone with random weights: not the paper's numbers")
        networks = {study.experiments.settings("none", None, one).features.backbone for one in datasets} - {"resnet50"}
        if networks:
            about.append(f"features by {' and '.join(sorted(networks))}: not the paper's numbers")
        settings = ""
        trained = [run for run in runs if family_of(run.method).trained]
        if trained:
            # Of a sweep the run with the fewest keys: all others differ from it in what the figure shows.
            run = min(trained, key=lambda one: len(split_id(one.method)[1]))
            values = settings_of(study, run.method, None, run.dataset)
            texts = {key: f"{value:g}" if isinstance(value, float) else str(value) for key, value in values.items()}
            shown = [f"{symbol} = {texts[key]}" for key, symbol in SAID.items() if key not in varied]
            settings = f"Settings of {run.method} on {run.dataset}: {', '.join(shown)}"
        data = tuple(dict.fromkeys(datasets.values()))
        return self.PLAN(figure=self, seeds=seeds, about="; ".join(about), settings=settings, data=data, **parts)


def _of_its_kind(content: Any) -> Any:
    if not isinstance(content, dict) or "kind" not in content:
        return content
    if content["kind"] not in KINDS:
        raise ValueError(f"unknown kind {content['kind']!r}; {nearest(str(content['kind']), KINDS)}")
    return kind_of(content["kind"]).model_validate(content)


class Plan(Part):
    """A figure with everything it is drawn from; kinds add what they need.

    ``about`` is one line on data, protocol and seeds that stands in the figure and in its caption; ``settings`` is one
    on settings that stands in the caption; ``data`` are the datasets as they are called in print.
    """

    figure: Annotated[SerializeAsAny[Figure], BeforeValidator(_of_its_kind)]
    seeds: tuple[int, ...]
    about: str
    settings: str = ""
    data: tuple[str, ...] = ()

    def draw(self) -> Drawn:
        """Draw the figure from the files that the plan names."""
        with styled():
            return self.figure.draw(self)

    def files(self) -> list[str]:
        """Return every file the drawing reads."""
        return list(dict.fromkeys(map(str, self.figure.files(self))))

    def caption(self) -> list[str]:
        """Return what a report says of the figure, paragraph by paragraph."""
        shown = f"{self.figure.title}. {KINDS[self.figure.kind]}"
        return [shown, self.about, *([self.settings] if self.settings else [])]

    def labels(self) -> dict[str, str]:
        """Return what a report is filtered by."""
        seeds = ", ".join(map(str, self.seeds))
        protocols = self.figure.protocols
        return {"figure": self.figure.id, "data": ", ".join(self.data), "protocol": protocols, "seeds": seeds}

    def text(self) -> str:
        """Return the plan as the argument of a command, JSON or packed JSON (`argument`)."""
        return argument(self.model_dump_json(exclude_defaults=True), f"plan of figure {self.figure.id!r}")


def read_plan(text: str) -> Plan:
    """Read a plan from the JSON that the workflow hands on, packed where it is long (`Plan.text`)."""
    try:
        content = from_json(unpacked(text))
        figure = content.get("figure") if isinstance(content, dict) else None
        kind = str(figure.get("kind")) if isinstance(figure, dict) else ""
        return (kind_of(kind).PLAN if kind in KINDS else Plan).model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        why = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise RgwotError(f"--plan: {why}; expected the plan that a log of the workflow shows") from None
    except ValueError as error:
        raise RgwotError(f"--plan: {error}; expected the plan that a log of the workflow shows, all of it") from None
