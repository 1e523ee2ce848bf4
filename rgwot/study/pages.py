"""Pages: which results each shows, and the files it is made from."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from rgwot import paths
from rgwot.config.experiments import split_id
from rgwot.config.methods import DECODERS, FAMILIES
from rgwot.paths import Run, Tree
from rgwot.runtime.errors import RgwotError
from rgwot.study.figures import FigureCatalogue

RESULTS = Path(paths.RESULTS)

#: Target that makes the pages of ``page.datasets`` of what needs no training.
FIRST = "first"


class PageCatalogue(FigureCatalogue):
    """The pages of a configuration; parameters as of `TableCatalogue`.

    Attributes
    ----------
    first_answer
        Whether pages are to ask for ``page.first`` alone, which trains nothing; True where the target `FIRST` is made.
    """

    first_answer = False

    def page_runs(self, dataset: str, task: str) -> tuple[Run, ...]:
        """Return the results that the page of a task asks for: every configured method with every seed.

        Those of ``page.methods``; for a first answer those of ``page.first``, with the first seed. Trivial answers are
        there to be compared with; a task without any annotation has no use for them.

        Raises
        ------
        RgwotError
            When the configuration names a method or decoder that does not exist, or one that the task cannot have; or
            a method under ``page.first`` that trains an encoder.
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
            if self.first_answer and FAMILIES[split_id(method)[0]].trained:
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
        """Return the results of a task that nobody asked for here and that are there all the same."""
        asked = set(self.page_runs(dataset, task))
        return tuple(run for run in self._tree(dataset, task).runs() if run not in asked)

    def page_files(self, dataset: str, task: str) -> list[str]:
        """Return the files behind the page of a task, names of key steps among them once there are some."""
        tree = self._tree(dataset, task)
        runs = self.page_runs(dataset, task)
        files: dict[Path, None] = dict.fromkeys((tree.manifest, tree.annotations, tree.strips))
        annotated = self._annotated(dataset, task)
        for run in runs:
            folder = tree.keysteps(run)
            names = ("segments.csv", "order.csv", "procedures.csv", "diagnostics.json")
            files |= dict.fromkeys(folder / name for name in names)
            if annotated:
                files[tree.scores(run)] = None
            if FAMILIES[split_id(run.method)[0]].trained:
                files[tree.history(run)] = None
            # Looking at a result in detail takes a while, so one seed of every method is; any other can be asked for.
            if not _trivial(run.decoder) and run.seed == self.config.seeds[0]:
                files[tree.view(run)] = None
        return [str(path) for path in files] + self.names_there(dataset, task)

    def page_options(self, dataset: str, task: str) -> str:
        """Return the options of ``rgwot report`` for a task, quoted for a shell."""
        runs = [*self.page_runs(dataset, task), *self.page_others(dataset, task)]
        told = ["--root", str(self.root(dataset)), "--names", self.names_file(dataset, task)]
        return shlex.join([*told, *(part for run in runs for part in ("--run", str(run)))])

    def page_views(self, dataset: str, task: str) -> str:
        """Return the results of a task that were looked at in detail without being asked for here, as JSON."""
        tree, asked = self._tree(dataset, task), self.page_files(dataset, task)
        runs = (*self.page_runs(dataset, task), *self.page_others(dataset, task))
        views = [str(tree.view(run)) for run in runs if tree.view(run).exists()]
        return json.dumps([view for view in views if view not in asked])

    def names_file(self, dataset: str, task: str) -> str:
        """Return where the names of a task's key steps are kept; the file need not exist."""
        return str(Path(self.config.page.names) / dataset / f"{task}.yaml")

    def names_option(self, dataset: str, task: str) -> str:
        """Return the option with the file of names, quoted for a shell."""
        return shlex.join(["--names", self.names_file(dataset, task)])

    def names_there(self, dataset: str, task: str) -> list[str]:
        """Return the file of names of a task, once there is one."""
        path = self.names_file(dataset, task)
        return [path] if Path(path).exists() else []

    def task_videos(self, dataset: str, task: str) -> list[str]:
        """Return the video files of a task, or the folder of the synthetic dataset that holds them."""
        return list(dict.fromkeys(self.video_file(dataset, task, video) for video in self.videos(dataset, task)))

    def index_pages(self) -> list[str]:
        """Return the pages that the list of pages leads to: those of all tasks of ``page.datasets``."""
        return [
            str(self._tree(dataset, task).page) for dataset in self.config.page.datasets for task in self.tasks(dataset)
        ]

    def first_files(self) -> list[str]:
        """Return what the target `FIRST` is for: the pages of `index_pages`, and what was found for them as tables."""
        files = self.index_pages()
        for dataset in self.config.page.datasets:
            for task in self.tasks(dataset):
                tree = self._tree(dataset, task)
                for run in self.page_runs(dataset, task):
                    files += [
                        str(tree.keysteps(run) / name) for name in ("segments.csv", "order.csv", "procedures.csv")
                    ]
        return files

    def other_pages(self) -> list[str]:
        """Return the pages that are there without being in `index_pages`."""
        asked = set(self.index_pages())
        return sorted(str(page) for page in (RESULTS / "report").glob("*/*.html") if str(page) not in asked)

    def _annotated(self, dataset: str, task: str) -> bool:
        """Whether a task has an annotation, as far as file names tell; synthetic ones have."""
        return any(entry is None or entry.annotation for entry in self.videos(dataset, task).values())

    @staticmethod
    def _tree(dataset: str, task: str) -> Tree:
        return Tree(RESULTS, dataset, task)


def _trivial(decoder: str) -> bool:
    return DECODERS[split_id(decoder)[0]].trivial
