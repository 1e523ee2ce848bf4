"""Pages and bundles: the results that they show or keep, and the files from which they are made."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path

from rgwot import paths
from rgwot.config.experiments import decoder_of, family_of
from rgwot.config.methods import method_pattern
from rgwot.keysteps.settings import LABELLED
from rgwot.paths import Run
from rgwot.runtime.errors import RgwotError, errors_of
from rgwot.study.datasets import annotated, annotated_videos, dated_path, page_column, scored_videos, tasks, videos
from rgwot.study.jobs import learns_from_labels, long_trainings, replaced, scored
from rgwot.study.refusals import check_rule, check_task
from rgwot.study.study import Study, Task


@cache
def page_runs(task: Task) -> tuple[Run, ...]:
    """Return the results on the page of a task: those of the dataset or ``page.methods``, with every seed.

    Without annotations, trivial baselines are left out, because they are only needed to compare scores, and so are
    decoders that learn from annotations.

    Raises RgwotError if the configuration names a method or decoder that is unknown or not possible for the task.
    """
    runs = _page_runs(task, task.study.config.seeds)
    if not runs:
        raise RgwotError(
            f"{task}: the page has nothing to show, because no video is annotated; add a method that "
            "looks at the videos, such as whitened/meanfield, to page.methods (or the dataset's page_methods)"
        )
    return runs


def _page_runs(task: Task, seeds: Sequence[int]) -> tuple[Run, ...]:
    chosen = task.entry.page_methods
    if chosen is not None:
        return _runs_of(task, f"datasets.{task.dataset}.page_methods", chosen, seeds)
    return _runs_of(task, "page.methods", task.study.config.page.methods, seeds)


def _runs_of(task: Task, key: str, methods: Sequence[str], seeds: Sequence[int]) -> tuple[Run, ...]:
    """Return the results that a key of the configuration names and that the task can have.

    Results that learned from annotated videos come first. If there is something to learn and no such result is named,
    the first method gets one, with the first seed.
    """
    runs: dict[Run, None] = {}
    for text in methods:
        method, _, decoder = text.partition("/")
        with errors_of(f"{key}: {text!r}"):
            method = task.study.experiments.method(method)
            decoder = task.study.experiments.decoder(decoder, method)
        if (decoder_of(decoder).TRIVIAL or learns_from_labels(decoder)) and not annotated(task):
            continue
        check_task(task, method)
        runs |= dict.fromkeys(Run(method, decoder, seed) for seed in seeds)
    taught = [run for run in runs if learns_from_labels(run.decoder)]
    first = next((run for run in runs if not decoder_of(run.decoder).TRIVIAL), None)
    if first is not None and not taught and _leaves_something_to_learn(task):
        taught = [replace(first, decoder=LABELLED)]
    return tuple(dict.fromkeys([*taught, *runs]))


def _leaves_something_to_learn(task: Task) -> bool:
    """Return whether there is something to learn: videos that are not annotated, or that are labelled only in part."""
    chosen = annotated_videos(task)
    if len(chosen) < len(videos(task)):
        return bool(chosen)
    return len(scored_videos(task)) < len(chosen)


def page_shown(task: Task) -> dict[str, object]:
    """Return the results on the page of a task as texts, and the column of groups that it compares."""
    runs = [str(run) for run in page_runs(task)]
    return {"runs": runs, "groups": page_column(task)}


def page_files(task: Task) -> list[str]:
    """Return the files from which the page of a task is made, including the names of key steps, if any."""
    tree, column = task.tree, page_column(task)
    files: dict[Path, None] = dict.fromkeys(
        (tree.at(paths.MANIFEST), tree.at(paths.ANNOTATIONS), tree.at(paths.STRIPS))
    )
    for run in page_runs(task):
        files |= dict.fromkeys(tree.at(template, run) for template in paths.KEYSTEPS)
        if scored(task, run):
            files[tree.at(paths.SCORES, run)] = None
        if family_of(run.method).trained:
            files[tree.at(paths.HISTORY, run)] = None
        # A detailed view takes a while, so only the first seed has one.
        if not decoder_of(run.decoder).TRIVIAL and run.seed == task.study.config.seeds[0]:
            files[tree.at(paths.VIEW, run)] = None
            if column is not None:
                files[paths.at(paths.GROUPS, column=column, dataset=task.dataset, task=task.name, **asdict(run))] = None
    return [str(path) for path in files] + told_by_people(task)


def bars(task: Task, seed: int) -> list[str]:
    """Return the key steps for the bars of a task: of results on its page that look at the videos, with one seed."""
    tree, runs = task.tree, _page_runs(task, (seed,))
    return [str(tree.at(paths.SEGMENTS, run)) for run in runs if not decoder_of(run.decoder).TRIVIAL]


def names_file(task: Task) -> str:
    """Return the path of the file with the names of a task's key steps, which need not exist."""
    return str(Path(task.study.config.page.names) / task.dataset / f"{task.name}.yaml")


def told_by_people(task: Task) -> list[str]:
    """Return the files that people write for the page of a task, if they exist: names, and the expected procedure.

    Raises RgwotError if one of them was modified in the future, at which Snakemake would stop.
    """
    return [*names_there(task), *expected_there(task)]


def expected_there(task: Task) -> list[str]:
    """Return the file of the procedure that a dataset expects, if it exists."""
    name = task.entry.expected
    path = None if name is None else name.replace("{task}", task.name)
    return [dated_path(path)] if path is not None and Path(path).is_file() else []


def expected_by(task: Task, decoder: str) -> list[str]:
    """Return the file of the procedure that a dataset expects, if labels name the key steps of a result."""
    return expected_there(task) if learns_from_labels(decoder) else []


def names_there(task: Task) -> list[str]:
    """Return the file with the names of a task's key steps, if it exists."""
    path = names_file(task)
    return [dated_path(path)] if Path(path).exists() else []


def page_tasks(study: Study) -> list[Task]:
    """Return all tasks of ``page.datasets``."""
    return [Task(study, dataset, name) for dataset in study.config.page_datasets for name in tasks(study, dataset)]


def model_behind(task: Task, run: Run) -> list[str]:
    """Return the model behind a bundle, if any; raise RgwotError for a decoder that cannot label other videos."""
    check_rule(run.decoder)
    return [str(task.tree.at(paths.MODEL, run))] if family_of(run.method).trained else []


def index_pages(study: Study) -> list[str]:
    """Return the pages of all tasks of ``page.datasets``, which the list of pages links to."""
    return [str(task.tree.at(paths.PAGE)) for task in page_tasks(study)]


def key_step_tables(study: Study) -> list[str]:
    """Return the tables of key steps of ``page.methods``, with the first seed, for all tasks of ``page.datasets``.

    Trivial baselines are left out, and so are methods that a dataset has only on its own page.
    """
    templates = (paths.SEGMENTS, paths.ORDER, paths.PROCEDURES, paths.PROCEDURE, paths.DEVIATIONS)
    return [
        str(task.tree.at(template, run))
        for task in page_tasks(study)
        for run in _runs_of(task, "page.methods", study.config.page.methods, study.config.seeds[:1])
        if not decoder_of(run.decoder).TRIVIAL
        for template in templates
    ]


def trainings_to_come(study: Study, words: Iterable[str] = ()) -> list[tuple[str, str]]:
    """Return method and dataset of each training that has no model yet.

    These are the trainings of results by trained methods among ``words``, if any, or else of the pages of
    ``page.datasets``.
    """
    trained = method_pattern(lambda family: family.trained)
    pattern = re.compile(rf"{paths.RESULTS}/.+/({trained})/(?:[^/]+/)?([^/]+)/([^/]+)/seed([0-9]+)(?:[./]|$)")
    runs = [
        (Task(study, dataset, task), Run(method, "", int(seed)))
        for method, dataset, task, seed in (match.groups() for match in map(pattern.match, words) if match)
    ]
    # Errors of the pages are not reported here, because the run may be of other results.
    with suppress(RgwotError, OSError):
        runs = runs or [(task, run) for task in page_tasks(study) for run in _page_runs(task, study.config.seeds)]
    models = {task.tree.at(paths.MODEL, run): (run.method, task.dataset) for task, run in runs}
    return [told for model, told in models.items() if family_of(told[0]).trained and not model.exists()]


def notes(study: Study, words: Iterable[str] = ()) -> list[str]:
    """Return lines to print before the first job: settings that methods replace, and hours of `trainings_to_come`."""
    trainings = long_trainings(study, trainings_to_come(study, words))
    return [*replaced(study, [Path("config.yaml")]), *([trainings] if trainings else [])]


def made_since(time_s: float) -> list[Path]:
    """Return the pages of tasks that were written after a time in seconds."""
    return sorted(page for page in Path(paths.RESULTS, "report").glob("*/*.html") if page.stat().st_mtime >= time_s)
