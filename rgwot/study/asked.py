"""Calls of library functions for rules, with the study, the task and the wildcards of a job as arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from inspect import signature
from typing import TypeVar

from rgwot.paths import Run
from rgwot.runtime.errors import RgwotError
from rgwot.study.datasets import batch
from rgwot.study.study import Study, Task

Answer = TypeVar("Answer")


def answer(study: Study, wildcards: Mapping[str, str], function: Callable[..., Answer]) -> Answer:
    """Call a function with the arguments that its parameters name.

    Parameters
    ----------
    study
        Passed as ``study``.
    wildcards
        Passed by their names, ``seed`` as a number. Dataset and task are also passed as ``task``
        (`rgwot.study.study.Task`), method, decoder and seed as ``run`` (`rgwot.paths.Run`), and the videos of a job
        (those of the batch ``part``, or the single ``video``) as ``chosen``.
    function
        The function. Its other parameters need defaults, and keep them.

    >>> answer(Study.of({}), {"method": "raw", "seed": "1"}, lambda method, seed, row=None: (method, seed, row))
    ('raw', 1, None)
    """
    wanted = signature(function).parameters
    given: dict[str, object] = {**wildcards, "study": study}
    if "seed" in wildcards:
        given["seed"] = int(wildcards["seed"])
        if "decoder" in wildcards:
            given["run"] = Run(wildcards["method"], wildcards["decoder"], int(wildcards["seed"]))
    if "task" in wildcards:
        task = Task(study, wildcards["dataset"], wildcards["task"])
        given["task"] = task
        if "chosen" in wanted and "video" in wildcards:
            given["chosen"] = [wildcards["video"]]
        elif "chosen" in wanted and "part" in wildcards:
            given["chosen"] = batch(task, wildcards["part"])
    return function(**{name: given[name] for name in wanted if name in given})


@contextmanager
def mistakes_in_one_line() -> Iterator[None]:
    """End the run with one line after a user's mistake, for which Snakemake would print a traceback."""
    try:
        yield
    except RgwotError as error:
        raise SystemExit(f"rgwot: {error}") from None
