"""Finding out which runs and files a figure needs in one configuration."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rgwot.config.experiments import SYMBOLS, split_id
from rgwot.config.methods import FAMILIES
from rgwot.config.settings import flatten
from rgwot.reporting.figures.plan import READS, Plan, PlannedRow, PlannedRun, PlannedSweep, PlannedTask, PlannedVideo
from rgwot.reporting.figures.spec import (
    Figure,
    Growth,
    Losses,
    OfTasks,
    Protocols,
    Run,
    Sweep,
    SweepPanel,
    Tsne,
    runs_of,
)
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.study.figure_words import about_text, datasets_of, settings_text

if TYPE_CHECKING:
    from rgwot.reporting.tables.models import Row, Table
    from rgwot.study.figures import FigureCatalogue as Catalogue


#: Settings that drawings read, besides those of the transport; a change of any other redraws nothing.
SETTINGS = ("loss.tau", "cidm.beta", "train.N")


class Shared(NamedTuple):
    """What the rows of one line of a sweep share: whether they are trained, their decoder, all other settings."""

    trained: bool
    decoder: str
    settings: str


def plan_figure(figure: Figure, facts: Catalogue) -> Plan:
    """Find out which runs and files a figure needs in one configuration.

    Parameters
    ----------
    figure
        What is to be drawn.
    facts
        The catalogue of the workflow: datasets, tasks, experiments and tables.

    Raises
    ------
    RgwotError
        When a dataset is not configured, has no such table, or too few videos.
    """
    seeds = facts.config.seeds
    parts: dict[str, Any] = {}
    if isinstance(figure, OfTasks):
        parts["tasks"] = tuple(_tasks(figure, facts))
    elif isinstance(figure, Tsne):
        parts["videos"] = tuple(_footage(figure, facts))
    elif isinstance(figure, (Sweep, Growth)):
        panels = (figure.panel,) if isinstance(figure, Growth) else figure.panels
        parts["sweeps"] = tuple(_sweep(panel, facts, several=isinstance(figure, Growth)) for panel in panels)
        if isinstance(figure, Growth):
            parts["levels"] = tuple(_levels(figure, facts))
    elif isinstance(figure, Protocols):
        table = _table(figure.table, figure.datasets, facts)
        rows = [table.row(row) for row in figure.rows] or table.rows
        parts["rows"] = {row.id: row.label for row in rows}
        parts["trivial"] = tuple(row.id for row in rows if row.trivial)
        parts["places"] = {place: table.datasets[place].label for place in figure.datasets}
    if isinstance(figure, OfTasks) and not isinstance(figure, Losses):
        seeds = seeds[:1]
    elif isinstance(figure, Tsne):
        seeds = (figure.seed,)
    made = Plan.model_validate({"figure": figure, "seeds": seeds, "about": "", **parts})
    labels = datasets_of(made, facts)
    told = {"about": about_text(made, labels, facts), "settings": settings_text(made, facts)}
    return made.model_copy(update={**told, "data": tuple(dict.fromkeys(labels.values()))})


def _label(dataset: str, facts: Catalogue) -> str:
    names = facts.figures.names
    return names[dataset].label if dataset in names else dataset


def _tasks(figure: OfTasks, facts: Catalogue) -> Iterable[PlannedTask]:
    configured = facts.tasks(figure.dataset)
    wanted = [task for task in figure.tasks if task in configured]
    chosen = [*wanted, *(task for task in configured if task not in wanted)][: figure.n_tasks]
    for task in chosen:
        videos = facts.videos(figure.dataset, task)
        asked = runs_of(figure)
        for run in asked:
            _check_run(figure, run)
            facts.check_task(figure.dataset, task, run.method)
        every = facts.config.seeds if isinstance(figure, Losses) else facts.config.seeds[:1]
        yield PlannedTask(
            dataset=figure.dataset,
            label=_label(figure.dataset, facts),
            task=task,
            key_steps=facts.key_steps(figure.dataset, task),
            videos=tuple(video for video in figure.videos if video in videos),
            runs=tuple(_planned(run, figure.dataset, task, seed) for run in asked for seed in every),
            settings=_settings(asked[0].method, figure.dataset, facts),
        )


def _check_run(figure: OfTasks, run: Run) -> None:
    """Raise when a method has nothing of what a figure shows."""
    family = FAMILIES[split_id(run.method)[0]]
    needed = READS[type(figure)][1]
    if ("history" in needed and not family.trained) or ("embeddings" in needed and family.embedding == "none"):
        raise RgwotError(
            f"figure {figure.id!r}: run {run.label!r}: {family.name} {family.description}: expected a method with "
            f"{'a training' if 'history' in needed else 'an embedding'}"
        )


def _planned(run: Run, dataset: str, task: str, seed: int) -> PlannedRun:
    return PlannedRun(label=run.label, method=run.method, decoder=run.decoder, dataset=dataset, task=task, seed=seed)


def _settings(method: str, dataset: str, facts: Catalogue) -> dict[str, Any]:
    settings = flatten(facts.experiments.settings(method, None, dataset).model_dump(by_alias=True, mode="json"))
    return {key: value for key, value in settings.items() if key.startswith("ot.") or key in SETTINGS}


def _footage(figure: Tsne, facts: Catalogue) -> Iterable[PlannedVideo]:
    taken: Counter[str] = Counter()
    for panel in figure.panels:
        tasks = facts.tasks(panel.dataset)
        # Panels of one dataset that name no task of it go through its tasks, then through the videos of those.
        turn = taken[panel.dataset]
        task = panel.task if panel.task in tasks else tasks[turn % len(tasks)]
        videos = list(facts.videos(panel.dataset, str(task)))
        if not videos:
            raise RgwotError(f"{panel.dataset}/{task}: found no video, expected one to draw; see docs/datasets.md")
        video = panel.video if panel.video in videos else videos[turn // len(tasks) % len(videos)]
        taken[panel.dataset] += 1
        yield PlannedVideo(label=_label(panel.dataset, facts), dataset=panel.dataset, task=str(task), video=str(video))


def _table(table_id: str, places: Iterable[str], facts: Catalogue) -> Table:
    """Return a table of scores that has columns for the places."""
    table = facts.table(table_id)
    for place in places:
        if place not in table.datasets:
            raise RgwotError(f"table {table_id!r}: no dataset {place!r} for a figure; {nearest(place, table.datasets)}")
    return table


def _sweep(panel: SweepPanel, facts: Catalogue, several: bool) -> PlannedSweep:
    """Find the rows of a swept table and the value of each; rows that differ in other keys are lines of their own."""
    table = _table(panel.table, [panel.dataset], facts)
    place = table.datasets[panel.dataset]
    tasks = facts.tasks(place.dataset) if place.task is None else (place.task,)
    key = SYMBOLS.get(panel.key, panel.key)
    found: list[tuple[Row, Shared, float]] = []
    for row in table.rows:
        settings = flatten(facts.experiments.settings(row.method, row.decoder, place.dataset).model_dump(by_alias=True))
        value = _number(key, settings.pop(key), place.dataset, tasks, facts)
        if value is not None:
            trained = FAMILIES[split_id(row.method)[0]].trained
            rest = json.dumps(settings, sort_keys=True, default=str)
            found.append((row, Shared(trained, split_id(row.decoder)[0], rest), value))
    lines = _lines(found, several)
    rows = tuple(
        PlannedRow(
            id=row.id,
            line=lines[other],
            trained=other.trained,
            value=value,
            runs=_scored(panel, row, place.dataset, tasks, facts),
        )
        for row, other, value in found
        if other in lines
    )
    if not rows:
        raise RgwotError(f"table {table.id!r}: no row is trained with a {panel.key}; a figure expects at least one")
    first = facts.experiments.settings(table.row(rows[0].id).method, None, place.dataset)
    return PlannedSweep(
        table=table.id,
        place=panel.dataset,
        dataset=place.dataset,
        label=place.label if place.task is None else f"{_label(place.dataset, facts)}: {place.label}",
        reported=place.reported,
        reported_tasks=place.reported_tasks,
        rows=tuple(sorted(rows, key=lambda row: row.value)),
        left_out=tuple(row.id for row, other, _ in found if other.trained and other not in lines),
        frames=first.train.N + (first.ot.virtual == "cost"),
        epsilon=first.ot.epsilon,
        classes=_classes(place.dataset, tasks, facts),
    )


def _lines(found: Sequence[tuple[Row, Shared, float]], several: bool) -> dict[Shared, str]:
    """Name the lines of a sweep: of trained methods the longest one, or all where several are wanted.

    Answers that need no training are lines, too, where the parameter means something to them.
    """
    sizes = Counter(shared for _, shared, _ in found)
    longest = next((shared for shared, _ in sizes.most_common() if shared.trained), None)
    values: dict[Shared, set[float]] = {}
    for _, shared, value in found:
        values.setdefault(shared, set()).add(value)
    names: dict[Shared, str] = {}
    for row, shared, _ in found:
        wanted = shared == longest or (shared.trained if several else not shared.trained and len(values[shared]) > 1)
        if wanted and shared not in names:
            base = split_id(row.method)[0] if shared.trained else split_id(row.decoder)[0]
            names[shared] = base if base not in names.values() else f"{base}: {row.label}"
    return names


def _number(key: str, value: Any, dataset: str, tasks: Sequence[str], facts: Catalogue) -> float | None:
    """Return a swept value as a number; what stands for all videos or for the annotated steps is looked up."""
    if key == "data.n_train" and value is None:
        return float(max(len(facts.videos(dataset, task)) for task in tasks))
    if key == "decode.K" and isinstance(value, str):
        classes = _classes(dataset, tasks, facts)
        return None if classes is None else float(classes - (value == "gt"))
    return float(value) if isinstance(value, (int, float)) else None


def _classes(dataset: str, tasks: Sequence[str], facts: Catalogue) -> int | None:
    """Return K_gt + 1 where it is known and the same for all tasks."""
    found = {facts.key_steps(dataset, task) for task in tasks}
    steps = found.pop() if len(found) == 1 else None
    return None if steps is None else steps + 1


def _scored(
    panel: SweepPanel, row: Row, dataset: str, tasks: Sequence[str], facts: Catalogue
) -> tuple[PlannedRun, ...]:
    """Return the runs behind a row, as the table itself lists them."""
    runs = []
    for path in facts.score_files(panel.table, row.id):
        *_, method, decoder, of, task, file = Path(path).parts
        if of == dataset and task in tasks:
            seed = int(file.removeprefix("seed").removesuffix(".csv"))
            runs.append(_planned(Run(label=row.label, method=method, decoder=decoder), dataset, task, seed))
    return tuple(runs)


def _levels(figure: Growth, facts: Catalogue) -> Iterable[PlannedRun]:
    place = _table(figure.panel.table, [figure.panel.dataset], facts).datasets[figure.panel.dataset]
    for run in figure.levels:
        for task in facts.tasks(place.dataset) if place.task is None else (place.task,):
            for seed in facts.config.seeds:
                yield _planned(run, place.dataset, task, seed)
