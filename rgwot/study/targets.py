"""Checking the target paths of a run."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path

from rgwot import paths
from rgwot.config.experiments import family_of
from rgwot.paths import Run
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.study.datasets import groups_file, videos
from rgwot.study.study import Study
from rgwot.study.tables import check_table, check_task, figure_plan

#: Paths of one task, each with everything below it.
_OF_TASK = (
    paths.MANIFEST, paths.ANNOTATIONS, paths.YARDSTICKS, paths.FEATURES, paths.MODEL, paths.EMBEDDINGS, paths.SEGMENTS,
    paths.SCORES, paths.VIEW, paths.BUNDLE, paths.CHOICE_CURVES, paths.SEGMENT_BARS, paths.PAGE,
    paths.GROUPS,
)  # fmt: skip
#: Figures that have rules of their own, one per task or result; all others are data (`rgwot.study.tables.all_figures`).
_MADE_FIGURES = {Path(template).parts[2]: template for template in (paths.SEGMENT_BARS, paths.CHOICE_CURVES)}


def _pattern(template: str) -> str:
    """Return a path as a regular expression, with its wildcards as groups."""
    return re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+?)", re.escape(template))


#: Targets that are no paths: rules of workflow/rules/collect.smk and of the Snakefile.
_WORDS = ("first", "key_steps", "demo", "paper", "all")
#: Options in front of a target: short ones that take a value, long ones that take none.
_VALUED = ("-d", "-s", "-j", "-c")
_FLAGS = ("--", "--dry-run", "--dryrun", "--keep-going", "--printshellcmds", "--forceall", "--force")
#: Folders of results, and files in a folder of key steps.
_FOLDERS = {Path(template).parts[1] for template in (*_OF_TASK, paths.TABLE, paths.FIGURE, paths.STRIPS)}
_KEYSTEPS = {paths.name_of(path) for path in paths.KEYSTEPS}

_TASK_TARGETS = {
    template: re.compile(_pattern(template[: template.index("{task}") + len("{task}")]) + r"(?:/.+|\.[a-z]+)")
    for template in _OF_TASK
}
_TABLE = re.compile(_pattern(paths.beside(paths.TABLE, "")) + r"(?:/(?P<row>[^/]+))?\.(?:csv|md|tex)")
_FIGURE = re.compile(_pattern(paths.beside(paths.FIGURE, "")) + r"\.(?:pdf|png)")
_OTHER_FIGURE = re.compile(_pattern(str(Path(paths.FIGURE).parent / "{kind}")) + "/.+")


def check_targets(study: Study, arguments: Sequence[str]) -> None:
    """Check the target paths among command line arguments before anything is planned.

    Raises RgwotError if a path names an unknown dataset, task, method, decoder, table or figure, spells an
    experiment in another than its canonical way; and for a word that is nearly a target.
    """
    for before, argument in pairwise(("", *arguments)):
        if not (before in _VALUED or (before.startswith("--") and before not in _FLAGS)):
            _check_word(argument)
        # As Snakemake reads a target: ./results/x and results//x are results/x.
        target = os.path.normpath(argument)
        if found := _TABLE.fullmatch(target):
            check_table(study, found["table"], found["row"])
        elif found := _FIGURE.fullmatch(target):
            figure_plan(study, found["figure"])
        else:
            _check_task_target(study, argument, target)


def _check_word(word: str) -> None:
    """Refuse what is nearly one of the words that are targets: Snakemake takes it for a file that no rule makes."""
    close = get_close_matches(word, _WORDS, 1, 0.75)
    if close and word not in _WORDS:
        raise RgwotError(
            f"target {word!r}: not known; did you mean {close[0]!r}? Targets are {', '.join(_WORDS)} and paths of "
            "results, such as results/tables/demo.csv"
        )


def _check_task_target(study: Study, argument: str, target: str) -> None:
    """Check a path of a task or of one of its results; ignore any other path."""
    template, found = next(
        ((one, found) for one, pattern in _TASK_TARGETS.items() if (found := pattern.fullmatch(target))),
        (None, None),
    )
    if found is None:
        if other := _OTHER_FIGURE.fullmatch(target):
            raise RgwotError(f"{argument}: {_expected_figure(other['kind'])}")
        top, folder, *rest = (*Path(target).parts, "", "")
        if top == paths.RESULTS and (near := _nearly(folder, _FOLDERS)):
            raise RgwotError(f"{argument}: no folder of results; did you mean {'/'.join((top, near, *rest[:-2]))}?")
        return
    if template == paths.SEGMENTS:
        if Run.of_folder(Path(target).absolute()) is not None:
            raise RgwotError(f"{argument}: found a folder, expected a file in it; ask for {target}/segments.csv")
        if near := _nearly(Path(target).name, _KEYSTEPS):
            raise RgwotError(f"{argument}: no file of key steps; did you mean {Path(target).with_name(near)}?")
    part = found.groupdict()
    method = part.get("method")
    if method is not None:
        _check_spelling(argument, method, study.experiments.method(method))
        if "decoder" in part:
            _check_spelling(argument, part["decoder"], study.experiments.decoder(part["decoder"], method))
    videos(study, part["dataset"], part["task"])
    if method is not None:
        check_task(study, part["dataset"], part["task"], method)
    if template == paths.GROUPS:
        groups_file(study, part["dataset"], part["task"], part["column"])
    if template == paths.BUNDLE and family_of(part["method"]).embedding == "none":
        raise RgwotError(
            f"{argument}: {part['decoder']} looks at no video and learns nothing; ask for the bundle of a result that "
            "does, such as rgwot/graphcut"
        )


def _nearly(name: str, known: Collection[str]) -> str | None:
    """Return the known name that another one was meant to be; names far from all are of rules of the user's own."""
    return None if name in known else next(iter(get_close_matches(name, known, 1, 0.85)), None)


def _check_spelling(target: str, written: str, canonical: str) -> None:
    if written != canonical:
        raise RgwotError(
            f"{target}: {written!r} is the experiment {canonical!r}; ask for {target.replace(written, canonical)}"
        )


def _expected_figure(kind: str) -> str:
    """Say what a path below the figures should have been."""
    if kind not in _MADE_FIGURES:
        return f"unknown figure {kind!r}; {nearest(kind, _MADE_FIGURES)}"
    words = {"method": "METHOD", "decoder": "DECODER", "dataset": "DATASET", "task": "TASK", "seed": "N"}
    what = "one result" if "{method}" in _MADE_FIGURES[kind] else "one task"
    return f"a figure of {what}, expected {_MADE_FIGURES[kind].format(**words)}"
