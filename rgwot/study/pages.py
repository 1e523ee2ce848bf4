"""Pages and bundles: the results that they show or keep, and the files from which they are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path

from rgwot import paths
from rgwot.config.experiments import decoder_of, family_of
from rgwot.keysteps.settings import LABELLED
from rgwot.paths import Run, Tree
from rgwot.runtime.errors import RgwotError
from rgwot.study.datasets import annotated, annotated_videos, dated_path, page_column, scored_videos, tasks, videos
from rgwot.study.jobs import check_task, learns_from_labels, scored
from rgwot.study.study import Study

RESULTS_FOLDER = Path(paths.RESULTS)


@cache
def page_runs(study: Study, dataset: str, task: str) -> tuple[Run, ...]:
    """Return the results on the page of a task: those of the dataset or ``page.methods``, with every seed.

    Without annotations, trivial baselines are left out, because they are only needed to compare scores, and so are
    decoders that learn from annotations.

    Raises RgwotError if the configuration names a method or decoder that is unknown or not possible for the task.
    """
    runs = _page_runs(study, dataset, task, study.config.seeds)
    if not runs:
        raise RgwotError(
            f"{dataset}/{task}: the page has nothing to show, because no video is annotated; add a method that "
            "looks at the videos, such as whitened/meanfield, to page.methods (or the dataset's page_methods)"
        )
    return runs


def _page_runs(study: Study, dataset: str, task: str, seeds: Sequence[int]) -> tuple[Run, ...]:
    chosen = study.config.dataset(dataset).page_methods
    if chosen is not None:
        return _runs_of(study, f"datasets.{dataset}.page_methods", chosen, dataset, task, seeds)
    return _runs_of(study, "page.methods", study.config.page.methods, dataset, task, seeds)


def _runs_of(
    study: Study, key: str, methods: Sequence[str], dataset: str, task: str, seeds: Sequence[int]
) -> tuple[Run, ...]:
    """Return the results that a key of the configuration names and that the task can have.

    Those that learned from annotated videos come first. If some videos are annotated and some are not, or only
    in part, the first method is among these, with the first seed.
    """
    runs: dict[Run, None] = {}
    for text in methods:
        method, _, decoder = text.partition("/")
        try:
            method = study.experiments.method(method)
            decoder = study.experiments.decoder(decoder, method)
        except RgwotError as error:
            raise RgwotError(f"{key}: {text!r}: {error}") from None
        if (_trivial(decoder) or learns_from_labels(decoder)) and not annotated(study, dataset, task):
            continue
        check_task(study, dataset, task, method)
        runs |= dict.fromkeys(Run(method, decoder, seed) for seed in seeds)
    taught = [run for run in runs if learns_from_labels(run.decoder)]
    first = next((run for run in runs if not _trivial(run.decoder)), None)
    if first is not None and not taught and _leaves_something_to_learn(study, dataset, task):
        taught = [replace(first, decoder=LABELLED)]
    return tuple(dict.fromkeys([*taught, *runs]))


def _leaves_something_to_learn(study: Study, dataset: str, task: str) -> bool:
    """Return whether annotated videos can teach: others that are not annotated, or themselves if labelled in part."""
    chosen = annotated_videos(study, dataset, task)
    if len(chosen) < len(videos(study, dataset, task)):
        return bool(chosen)
    return len(scored_videos(study, dataset, task)) < len(chosen)


def page_shown(study: Study, dataset: str, task: str) -> dict[str, object]:
    """Return the results on the page of a task as texts, and the column of groups that it compares."""
    runs = [str(run) for run in page_runs(study, dataset, task)]
    return {"runs": runs, "groups": page_column(study, dataset, task)}


def page_files(study: Study, dataset: str, task: str) -> list[str]:
    """Return the files from which the page of a task is made, including the names of key steps, if any."""
    tree, column = Tree(RESULTS_FOLDER, dataset, task), page_column(study, dataset, task)
    files: dict[Path, None] = dict.fromkeys(
        (tree.at(paths.MANIFEST), tree.at(paths.ANNOTATIONS), tree.at(paths.STRIPS))
    )
    for run in page_runs(study, dataset, task):
        files |= dict.fromkeys(tree.at(template, run) for template in paths.KEYSTEPS)
        if scored(study, dataset, task, run.method, run.decoder):
            files[tree.at(paths.SCORES, run)] = None
        if family_of(run.method).trained:
            files[tree.at(paths.HISTORY, run)] = None
        # A detailed view takes a while, so only the first seed has one.
        if not _trivial(run.decoder) and run.seed == study.config.seeds[0]:
            files[tree.at(paths.VIEW, run)] = None
            if column is not None:
                files[paths.at(paths.GROUPS, column=column, dataset=dataset, task=task, **asdict(run))] = None
    return [str(path) for path in files] + told_by_people(study, dataset, task)


def bars(study: Study, dataset: str, task: str, seed: int) -> list[str]:
    """Return the key steps for the bars of a task: of results on its page that look at the videos, with one seed."""
    tree, runs = Tree(RESULTS_FOLDER, dataset, task), _page_runs(study, dataset, task, (seed,))
    return [str(tree.at(paths.SEGMENTS, run)) for run in runs if not _trivial(run.decoder)]


def names_file(study: Study, dataset: str, task: str) -> str:
    """Return the path of the file with the names of a task's key steps, which need not exist."""
    return str(Path(study.config.page.names) / dataset / f"{task}.yaml")


def told_by_people(study: Study, dataset: str, task: str) -> list[str]:
    """Return the files that people write for the page of a task, if they exist: names, and what they expect.

    Raises RgwotError if Snakemake would stop because of the time of one.
    """
    return [*names_there(study, dataset, task), *expected_there(study, dataset, task)]


def expected_there(study: Study, dataset: str, task: str) -> list[str]:
    """Return the file of the procedure that a dataset expects, if it exists."""
    name = study.config.dataset(dataset).expected
    path = None if name is None else name.replace("{task}", task)
    return [dated_path(path)] if path is not None and Path(path).is_file() else []


def names_there(study: Study, dataset: str, task: str) -> list[str]:
    """Return the file with the names of a task's key steps, if it exists."""
    path = names_file(study, dataset, task)
    return [dated_path(path)] if Path(path).exists() else []


def index_pages(study: Study) -> list[str]:
    """Return the pages of all tasks of ``page.datasets``, which the list of pages links to."""
    return [
        str(paths.at(paths.PAGE, dataset=dataset, task=task))
        for dataset in study.config.page_datasets
        for task in tasks(study, dataset)
    ]


def key_step_tables(study: Study) -> list[str]:
    """Return the tables of key steps of ``page.methods``, with the first seed, for all tasks of ``page.datasets``.

    Trivial baselines are left out, and so are methods that a dataset has only on its own page.
    """
    templates = (paths.SEGMENTS, paths.ORDER, paths.PROCEDURES, paths.PROCEDURE, paths.DEVIATIONS)
    return [
        str(Tree(RESULTS_FOLDER, dataset, task).at(template, run))
        for dataset in study.config.page_datasets
        for task in tasks(study, dataset)
        for run in _runs_of(study, "page.methods", study.config.page.methods, dataset, task, study.config.seeds[:1])
        if not _trivial(run.decoder)
        for template in templates
    ]


def _trivial(decoder: str) -> bool:
    return decoder_of(decoder).TRIVIAL
