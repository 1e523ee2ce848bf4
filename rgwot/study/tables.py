"""Tables, their rows, and figures: which files each is made from."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache, partial
from typing import Any

from rgwot import paths
from rgwot.config.experiments import family_of, value_text
from rgwot.config.methods import EMBEDDING_KINDS
from rgwot.datasets.base import too_few_videos
from rgwot.reporting.figures import interface
from rgwot.reporting.figures.interface import Plan
from rgwot.reporting.figures.kinds import Figures, load_figures
from rgwot.reporting.figures.style import Drawn, styled
from rgwot.reporting.tables.spec import (
    AnyTable,
    RuntimeTable,
    SettingsTable,
    Table,
    find_table,
    load_tables,
)
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.study.datasets import MIN_VIDEOS, known_K, tasks, videos
from rgwot.study.jobs import held_out
from rgwot.study.study import Study


def _canonical(study: Study, method: str, decoder: str | None) -> tuple[str, Any]:
    return study.experiments.method(method), decoder and study.experiments.decoder(decoder, method)


@cache
def all_tables(study: Study) -> dict[str, AnyTable]:
    """Return the tables by id, with canonical experiment ids; raises RgwotError if one is not valid."""
    return load_tables(study.tables_path, partial(_canonical, study))


@cache
def all_figures(study: Study) -> Figures:
    """Return the figures, with canonical experiment ids; raises RgwotError if one is not valid."""
    return load_figures(study.tables_path, partial(_canonical, study))


def any_table(study: Study, table: str) -> AnyTable:
    """Return a table of any kind by its id."""
    return find_table(all_tables(study), table)


def table_with(study: Study, table: str, places: Iterable[str]) -> Table:
    """Return a table of scores that has columns for the places."""
    found = any_table(study, table)
    if not isinstance(found, Table):
        raise RgwotError(f"table {table!r}: is a table of {found.kind}, expected one of scores")
    for place in places:
        if place not in found.datasets:
            raise RgwotError(f"table {table!r}: no dataset {place!r} for a figure; {nearest(place, found.datasets)}")
    return found


def table_content(study: Study, table: str, row: str | None = None) -> str:
    """Return the definition of a table or of one of its rows, as JSON; a change of it makes the file outdated."""
    spec = any_table(study, table)
    if row is None:
        return spec.model_dump_json(exclude={"reported": {"file"}})
    content = spec.model_dump(mode="json", exclude={"rows": True, "reported": {"file", "methods"}})
    content["row"] = spec.row(row).model_dump(mode="json")
    entries = spec.reported.methods if spec.reported else ()
    content["entries"] = [entry.model_dump(mode="json") for entry in entries if entry.row == row]
    return json.dumps(content | {"facts": row_facts(study, table, row)}, sort_keys=True)


def table_caption(study: Study, table: str) -> list[str]:
    """Return the caption of a table in a report: data, seeds, protocols and methods."""
    spec = any_table(study, table)
    seeds = ", ".join(map(str, study.config.seeds))
    lines = [f"{spec.title}.", f"Seeds {seeds}; mean and sample standard deviation over them."]
    if isinstance(spec, Table):
        shown = "; ".join(f"{block.protocol} {block.background} background" for block in spec.blocks)
        lines += [
            f"Data: {', '.join(place.label for place in spec.datasets.values())}.",
            f"Protocols: the printed forms lead with {shown}; the table has every protocol, by both label rules.",
            f"Rows: {'; '.join(f'{row.label} = {row.method}, {row.decoder}' for row in spec.rows)}.",
        ]
        own = [place.dataset for place in spec.datasets.values() if not place.mean]
        used = [study.experiments.settings("none", None, dataset) for dataset in own]
        if any(settings.features.weights == "random" for settings in used):
            lines.append("Backbone with random weights: these are not the paper's numbers.")
    if spec.reported is not None:
        lines.append("Rows of kind `reported` are as papers print them, with the protocol they were made with.")
    return [*lines, *spec.notes]


def table_labels(study: Study, table: str) -> dict[str, str]:
    """Return the labels by which a report filters tables."""
    spec = any_table(study, table)
    places = spec.datasets.values() if isinstance(spec, Table) else ()
    datasets = ", ".join(dict.fromkeys(place.dataset for place in places)) or getattr(spec, "dataset", "none")
    return {"table": spec.id, "kind": spec.kind, "datasets": datasets}


def reported_files(study: Study, table: str, row: str | None = None) -> list[str]:
    """Return the file with the reported numbers of a table or row, if there are any."""
    spec = any_table(study, table)
    if spec.reported is None:
        return []
    entries = [entry for entry in spec.reported.methods if row in (None, entry.row)]
    return [str(spec.reported.file)] if entries or isinstance(spec, SettingsTable) else []


def table_rows(study: Study, table: str) -> list[str]:
    """Return the files of the rows of a table."""
    return [str(paths.at(paths.ROW, table=table, row=row.id)) for row in any_table(study, table).rows]


def row_facts(study: Study, table: str, row: str) -> dict[str, str]:
    """Return what every method resolves the setting of a row to, in a table of settings."""
    spec = any_table(study, table)
    one, facts = spec.row(row), {}
    if isinstance(spec, SettingsTable):
        for method in spec.methods:
            values = {"seeds": list(study.config.seeds)} | interface.settings_of(study.experiments, method, None, "")
            if one.key in values:
                value = values[one.key]
                facts[method] = ", ".join(map(value_text, value if isinstance(value, list) else [value]))
    return facts


def check_table(study: Study, table: str, row: str | None = None) -> None:
    """Raise if a table, or one row of it, cannot be made in this configuration."""
    spec = any_table(study, table)
    for one in spec.rows if row is None else [spec.row(row)]:
        row_inputs(study, table, one.id)


@cache
def row_inputs(study: Study, table: str, row: str) -> tuple[str, ...]:
    """Return the files that one row of a table is made from."""
    spec = any_table(study, table)
    one = spec.row(row)
    if isinstance(spec, Table):
        templates, places = [paths.SCORES], _tasks_of(study, spec)
    elif isinstance(spec, RuntimeTable):
        templates = [paths.TRAINING_TIME, paths.HISTORY, paths.MACHINE]
        places = [(spec.dataset, spec.task)]
    else:
        return ()
    for dataset, task in places:
        check_task(study, dataset, task, one.method)
    files = (
        paths.at(template, **one.model_dump(include={"method", "decoder"}), dataset=dataset, task=task, seed=seed)
        for dataset, task in places
        for seed in study.config.seeds
        for template in templates
    )
    return tuple(dict.fromkeys(map(str, files)))


def _tasks_of(study: Study, table: Table) -> list[tuple[str, str]]:
    """Return the tasks behind the columns of a table that the configuration has."""
    places = [place for place in table.datasets.values() if not place.mean]
    found = [
        (place.dataset, task) for place in places for task in tasks(study, place.dataset) if place.task in (None, task)
    ]
    if not found:
        names = ", ".join(f"{place.dataset}/{place.task}" for place in places)
        raise RgwotError(
            f"table {table.id!r}: none of {names} is configured; name one in datasets.<name>.tasks of config.yaml"
        )
    return list(dict.fromkeys(found))


def check_task(study: Study, dataset: str, task: str, method: str) -> None:
    """Raise if a task has too few videos for a method, to compare them or to hold some out."""
    known = videos(study, dataset, task)
    if EMBEDDING_KINDS[family_of(method).embedding].several and len(known) < MIN_VIDEOS:
        raise RgwotError(too_few_videos(dataset, task, len(known), MIN_VIDEOS, str(study.config.root_of(dataset))))
    held_out(study, dataset, task, method, known)


@cache
def check_result(study: Study, dataset: str, task: str, method: str, decoder: str | None = None) -> None:
    """Raise unless ids are known, spelt in their one way, and a result of theirs can be had of a task."""
    experiments = study.experiments
    spelt = {"method": (method, experiments.method(method))}
    if decoder is not None:
        spelt["decoder"] = decoder, experiments.decoder(decoder, method)
    for what, (written, canonical) in spelt.items():
        if written != canonical:
            raise RgwotError(
                f"{what} {written!r}: found another spelling of {canonical!r}; ask for {canonical!r} in its place"
            )
    check_task(study, dataset, task, method)


def in_print(study: Study, dataset: str) -> str:
    """Return what a dataset is called in print: by its own name, or as what its files are said to be (``subset``)."""
    names, entry = all_figures(study).names, study.config.datasets.get(dataset)
    known = names.get(dataset) or names.get((entry and entry.subset) or "")
    return known.label if known else dataset


@cache
def figure_plan(study: Study, figure: str) -> Plan[Any]:
    """Return what a figure shows, and from which files.

    Raises RgwotError when there is no such figure, or the configuration lacks what it needs.
    """
    facts = interface.Study(
        study.config,
        study.experiments,
        tasks=partial(tasks, study),
        videos=partial(videos, study),
        key_steps=partial(known_K, study),
        check_task=partial(check_task, study),
        table_with=partial(table_with, study),
        check_table=partial(check_table, study),
        in_print=partial(in_print, study),
    )
    return all_figures(study).figure(figure).plan(facts)


def figure_files(study: Study, figure: str) -> list[str]:
    """Return every file that the drawing of a figure reads."""
    return list(map(str, figure_plan(study, figure).files))


def figure_content(study: Study, figure: str) -> str:
    """Return a figure and what it is drawn from, as text; a change of it makes the file outdated."""
    return f"{all_figures(study).figure(figure)!r} {figure_plan(study, figure)!r}"


def figure_caption(study: Study, figure: str) -> list[str]:
    """Return the caption of a figure in a report, paragraph by paragraph."""
    shown = all_figures(study).figure(figure)
    return [f"{shown.title}. {shown.CAPTION}", figure_plan(study, figure).about]


def figure_labels(study: Study, figure: str) -> dict[str, str]:
    """Return the labels by which a report filters figures."""
    plan = figure_plan(study, figure)
    seeds = ", ".join(map(str, plan.seeds))
    return {"figure": figure, "data": ", ".join(plan.data), "protocol": plan.protocols, "seeds": seeds}


def draw_figure(study: Study, figure: str) -> Drawn:
    """Draw a figure from its files."""
    with styled():
        return all_figures(study).figure(figure).draw(figure_plan(study, figure))


def paper_files(study: Study) -> list[str]:
    """Return every table and every figure of the paper."""
    tables = [paths.at(paths.TABLE, table=table.id) for table in all_tables(study).values() if table.paper]
    figures = [paths.at(paths.FIGURE, figure=figure) for figure in all_figures(study).figures]
    return [str(path) for path in (*tables, *figures)]
