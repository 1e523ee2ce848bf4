"""Refusals of results before any job runs."""

from __future__ import annotations

from functools import cache

from rgwot.config.experiments import decoder_of, family_of
from rgwot.datasets.base import too_few_videos
from rgwot.datasets.split import held_out
from rgwot.paths import DIAGNOSTICS, KEYSTEPS, Run, name_of
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.provenance import unedited
from rgwot.study.datasets import MIN_VIDEOS, videos
from rgwot.study.jobs import subjects
from rgwot.study.study import Task


def check_trained(method: str) -> None:
    """Raise RgwotError for a method that trains no encoder and therefore has no model."""
    family = family_of(method)
    if not family.trained:
        raise RgwotError(
            f"method {method!r}: found no encoder to train, expected a method that trains one, such as rgwot"
        )


def check_rule(decoder: str) -> None:
    """Raise RgwotError for a decoder that cannot label other videos."""
    kind = decoder_of(decoder)
    if not kind.RESTORE:
        why = "does not look at videos" if kind.TRIVIAL else "cannot label other videos"
        raise RgwotError(
            f"decoder {kind.NAME!r}: {why}; expected a decoder that can label other videos, such as graphcut"
        )


def check_unedited(task: Task, run: Run) -> None:
    """Raise RgwotError for a result with an edited file of key steps, which a new decoding would overwrite."""
    folder = task.tree.keysteps(run)
    written = folder / name_of(DIAGNOSTICS)
    for path in (folder / name_of(file) for file in KEYSTEPS):
        # Diagnostics are written last, so a file that is newer was changed later.
        if path.is_file() and written.is_file() and path.stat().st_mtime_ns > written.stat().st_mtime_ns:
            unedited(path)


def check_task(task: Task, method: str) -> None:
    """Raise RgwotError if a task has too few videos for a method that compares videos, or to hold some out."""
    videos_of_task = videos(task)
    if family_of(method).embedding.SEVERAL and len(videos_of_task) < MIN_VIDEOS:
        raise RgwotError(too_few_videos(task.dataset, task.name, len(videos_of_task), MIN_VIDEOS, str(task.root)))
    data = task.study.experiments.embedding(method, task.dataset).data
    held_out(data, videos_of_task, subjects(task, data), str(task))


@cache
def check_result(task: Task, method: str, decoder: str | None = None) -> None:
    """Raise RgwotError unless ids are known and spelt canonically, and the task can have such a result."""
    experiments = task.study.experiments
    spelt = {"method": (method, experiments.method(method))}
    if decoder is not None:
        spelt["decoder"] = decoder, experiments.decoder(decoder, method)
    for what, (written, canonical) in spelt.items():
        if written != canonical:
            raise RgwotError(f"{what} {written!r}: found another spelling of {canonical!r}; use {canonical!r} instead")
    check_task(task, method)
