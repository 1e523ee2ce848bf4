"""Pages: the results that each shows, and the files it is made from."""

from __future__ import annotations

import json
import shlex
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
        """Return the results that the page of a task asks for.

        Those of ``page.methods`` with every seed, or for a first answer those of ``page.first`` with the first seed. A
        task without annotations leaves out the trivial answers, which serve as a comparison of scores.

        Raises RgwotError if the configuration names an unknown method or decoder, one that the task cannot have, or one
        under ``page.first`` that trains an encoder.
        """
        runs: dict[Run, None] = {}
        page, seeds = self.config.page, self.config.seeds
        key, texts = "page.methods", page.methods
        if self.first_answer:
            key, texts, seeds = "page.first", page.first, seeds[:1]
        for text in texts:
            method, _, decoder = text.partition("/")
            try:
                method = self.experiments.method(method)
                decoder = self.experiments.decoder(decoder, method)
            except RgwotError as error:
                raise RgwotError(f"{key}: {text!r}: {error}") from None
            if self.first_answer and family_of(method).trained:
                raise RgwotError(
                    f"{key}: {text!r}: {method} trains an encoder, which {FIRST!r} never does; name it "
                    "under page.methods"
                )
            if _trivial(decoder) and not self._annotated(dataset, task):
                continue
            self.check_task(dataset, task, method)
            runs |= dict.fromkeys(Run(method, decoder, seed) for seed in seeds)
        if not runs:
            raise RgwotError(
                f"{key}: nothing to show of {dataset}/{task}, which has no annotation; name a method that looks "
                "at the videos, such as whitened/meanfield"
            )
        return tuple(runs)

    def page_others(self, dataset: str, task: str) -> tuple[Run, ...]:
        """Return the results of a task that exist without being among `page_runs`."""
        asked = set(self.page_runs(dataset, task))
        return tuple(run for run in self._tree(dataset, task).runs() if run not in asked)

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
            # A detailed view takes a while, so there is one for the first seed alone; others can be asked for.
            if not _trivial(run.decoder) and run.seed == self.config.seeds[0]:
                files[tree.at(paths.VIEW, run)] = None
        if annotated:
            files |= dict.fromkeys(tree.at(paths.SCORES, run) for run in self._viewed(dataset, task))
        return [str(path) for path in files] + self.names_there(dataset, task)

    def _viewed(self, dataset: str, task: str) -> list[Run]:
        """Return the results of `page_others` whose view was asked for, so that they are scored like those above.

        Results of another configuration are left out, and in a first answer those that need training.
        """
        tree = self._tree(dataset, task)
        return [
            run
            for run in self.page_others(dataset, task)
            if tree.at(paths.VIEW, run).exists() and self._made_here(tree, run)
        ]

    def _made_here(self, tree: Tree, run: Run) -> bool:
        """Whether this configuration could make a result under the name it has."""
        try:
            method = self.experiments.method(run.method)
            self.check_task(tree.dataset, tree.task, method)
            named = (run.method, run.decoder) == (method, self.experiments.decoder(run.decoder, method))
        except RgwotError:
            return False
        return named and not (self.first_answer and family_of(method).trained)

    def page_options(self, dataset: str, task: str) -> str:
        """Return the options of ``rgwot report`` for a task, quoted for a shell."""
        runs = [*self.page_runs(dataset, task), *self.page_others(dataset, task)]
        options = ["--root", self.dataset_root(dataset), "--names", self.names_file(dataset, task)]
        return shlex.join([*options, *(part for run in runs for part in ("--run", str(run)))])

    def page_views(self, dataset: str, task: str) -> str:
        """Return the views of a task that exist without being among `page_files`, as JSON."""
        tree, asked = self._tree(dataset, task), self.page_files(dataset, task)
        runs = (*self.page_runs(dataset, task), *self.page_others(dataset, task))
        views = [str(tree.at(paths.VIEW, run)) for run in runs if tree.at(paths.VIEW, run).exists()]
        return json.dumps([view for view in views if view not in asked])

    def names_file(self, dataset: str, task: str) -> str:
        """Return the path of the file with the names of a task's key steps, which need not exist."""
        return str(Path(self.config.page.names) / dataset / f"{task}.yaml")

    def names_option(self, dataset: str, task: str) -> str:
        """Return the option with the file of names, quoted for a shell."""
        return shlex.join(["--names", self.names_file(dataset, task)])

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

    def other_pages(self) -> list[str]:
        """Return the pages that exist without being in `index_pages`."""
        asked = set(self.index_pages())
        return [page for page in map(str, paths.pages()) if page not in asked]

    def _annotated(self, dataset: str, task: str) -> bool:
        """Whether a task has an annotation file; synthetic ones have."""
        return any(entry is None or entry.annotation for entry in self.videos(dataset, task).values())

    @staticmethod
    def _tree(dataset: str, task: str) -> Tree:
        return Tree(RESULTS, dataset, task)


def _trivial(decoder: str) -> bool:
    return DECODERS[split_id(decoder)[0]].trivial
