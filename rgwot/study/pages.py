"""Pages: the results that each shows, and the files it is made from."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from rgwot import paths
from rgwot.config.experiments import family_of, split_id
from rgwot.config.methods import DECODERS
from rgwot.paths import Run, Tree
from rgwot.runtime.errors import RgwotError
from rgwot.study.tables import TableCatalogue

RESULTS = Path(paths.RESULTS)

#: Target that makes the pages of ``page.datasets`` from results that need no training.
FIRST = "first"


class PageCatalogue(TableCatalogue):
    """The pages of a configuration."""

    #: Whether pages ask for ``page.first`` alone, which trains nothing: those of the target `FIRST`.
    first_answer = False

    def page_runs(self, dataset: str, task: str) -> tuple[Run, ...]:
        """Return the results that the page of a task shows.

        Those of ``page.methods`` with every seed, or for a first answer those of ``page.first`` with the first seed. A
        task without annotations leaves out the trivial answers, which serve as a comparison of scores.

        Raises RgwotError if the configuration names an unknown method or decoder, one that the task cannot have, or one
        under ``page.first`` that trains an encoder.
        """
        seeds = self.config.seeds
        if self.first_answer:
            runs = self.first_runs(dataset, task, seeds[0])
        else:
            runs = self._runs_of("page.methods", self.config.page.methods, dataset, task, seeds)
        if not runs:
            raise RgwotError(
                f"{dataset}/{task}: nothing to show on its page: it has no annotation; name a method that looks "
                f"at the videos, such as whitened/meanfield, under page.{'first' if self.first_answer else 'methods'}"
            )
        return runs

    def first_runs(self, dataset: str, task: str, seed: int) -> tuple[Run, ...]:
        """Return the results of ``page.first`` with one seed, which train nothing."""
        return self._runs_of("page.first", self.config.page.first, dataset, task, (seed,), trained=False)

    def _runs_of(
        self, key: str, texts: Sequence[str], dataset: str, task: str, seeds: Sequence[int], *, trained: bool = True
    ) -> tuple[Run, ...]:
        """Return the results that a key of the configuration names, as far as the task can have them."""
        runs: dict[Run, None] = {}
        for text in texts:
            method, _, decoder = text.partition("/")
            try:
                method = self.experiments.method(method)
                decoder = self.experiments.decoder(decoder, method)
            except RgwotError as error:
                raise RgwotError(f"{key}: {text!r}: {error}") from None
            if not trained and family_of(method).trained:
                raise RgwotError(
                    f"{key}: {text!r}: {method} trains an encoder, which {FIRST!r} never does; name it "
                    "under page.methods"
                )
            if _trivial(decoder) and not self._annotated(dataset, task):
                continue
            self.check_task(dataset, task, method)
            runs |= dict.fromkeys(Run(method, decoder, seed) for seed in seeds)
        return tuple(runs)

    def bar_segments(self, dataset: str, task: str, seed: str) -> list[str]:
        """Return the key steps that the bars of a task show: those of ``page.first``, which train nothing."""
        tree = self._tree(dataset, task)
        return [str(tree.at(paths.SEGMENTS, run)) for run in self.first_runs(dataset, task, int(seed))]

    def bar_options(self, dataset: str, task: str, seed: str) -> str:
        """Return the options of ``rgwot plot`` for `bar_segments`, quoted for a shell."""
        runs, files = self.first_runs(dataset, task, int(seed)), self.bar_segments(dataset, task, seed)
        bars = [f"{run.method}/{run.decoder}={file}" for run, file in zip(runs, files, strict=True)]
        return shlex.join(
            [*(part for bar in bars for part in ("--segments", bar)), "--names", self.names_file(dataset, task)]
        )

    def page_files(self, dataset: str, task: str) -> list[str]:
        """Return the files behind the page of a task, including the names of key steps if there are any."""
        tree = self._tree(dataset, task)
        runs = self.page_runs(dataset, task)
        files: dict[Path, None] = dict.fromkeys(
            (tree.at(paths.MANIFEST), tree.at(paths.ANNOTATIONS), tree.at(paths.STRIPS))
        )
        annotated = self._annotated(dataset, task)
        for run in runs:
            files |= dict.fromkeys(tree.at(template, run) for template in paths.KEYSTEPS)
            if annotated:
                files[tree.at(paths.SCORES, run)] = None
            if family_of(run.method).trained:
                files[tree.at(paths.HISTORY, run)] = None
            # A detailed view takes a while, so the page has it of the first seed alone.
            if not _trivial(run.decoder) and run.seed == self.config.seeds[0]:
                files[tree.at(paths.VIEW, run)] = None
        return [str(path) for path in files] + self.names_there(dataset, task)

    def page_options(self, dataset: str, task: str) -> str:
        """Return the options of ``rgwot report`` for a task, quoted for a shell."""
        runs = self.page_runs(dataset, task)
        options = ["--root", self.dataset_root(dataset), "--names", self.names_file(dataset, task)]
        return shlex.join([*options, *(part for run in runs for part in ("--run", str(run)))])

    def names_file(self, dataset: str, task: str) -> str:
        """Return the path of the file with the names of a task's key steps, which need not exist."""
        return str(Path(self.config.page.names) / dataset / f"{task}.yaml")

    def names_there(self, dataset: str, task: str) -> list[str]:
        """Return the file with the names of a task's key steps if it exists."""
        path = self.names_file(dataset, task)
        return [path] if Path(path).exists() else []

    def task_videos(self, dataset: str, task: str) -> list[str]:
        """Return the video files of a task, or the folder of the synthetic dataset that holds them."""
        return list(dict.fromkeys(self.video_file(dataset, task, video) for video in self.videos(dataset, task)))

    def index_pages(self) -> list[str]:
        """Return the pages of all tasks of ``page.datasets``, which the list of pages leads to."""
        return [
            str(self._tree(dataset, task).at(paths.PAGE))
            for dataset in self.config.page.datasets
            for task in self.tasks(dataset)
        ]

    def first_files(self) -> list[str]:
        """Return the files of the target `FIRST`: the pages of `index_pages`, and the key steps on them as tables."""
        return self.index_pages() + [
            str(self._tree(dataset, task).at(template, run))
            for dataset in self.config.page.datasets
            for task in self.tasks(dataset)
            for run in self.page_runs(dataset, task)
            for template in (paths.SEGMENTS, paths.ORDER, paths.PROCEDURES, paths.PROCEDURE, paths.DEVIATIONS)
        ]

    def _annotated(self, dataset: str, task: str) -> bool:
        """Whether a task has an annotation file; synthetic ones have."""
        return any(entry is None or entry.annotation for entry in self.videos(dataset, task).values())

    @staticmethod
    def _tree(dataset: str, task: str) -> Tree:
        return Tree(RESULTS, dataset, task)


def _trivial(decoder: str) -> bool:
    return DECODERS[split_id(decoder)[0]].trivial
