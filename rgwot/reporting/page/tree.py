"""Where the results of a task lie, and what a run is called."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from rgwot.runtime.errors import RgwotError

_RUN = re.compile(r"(?P<method>[^/]+)/(?P<decoder>[^/]+)/seed(?P<seed>0|[1-9][0-9]*)")


@dataclass(frozen=True)
class Run:
    """One training (or none) and one decoding: ``method/decoder/seedN``."""

    method: str
    decoder: str
    seed: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``rgwot/graphcut/seed0``."""
        found = _RUN.fullmatch(text)
        if found is None:
            raise RgwotError(f"run {text!r}: expected METHOD/DECODER/seedN, such as rgwot/graphcut/seed0")
        return cls(found["method"], found["decoder"], int(found["seed"]))

    @classmethod
    def of_folder(cls, folder: Path) -> Self | None:
        """Return the run whose key steps lie in a folder ``METHOD/DECODER/DATASET/TASK/seedN``, None elsewhere."""
        parts = folder.parts
        if len(parts) < 5 or _RUN.fullmatch("/".join((*parts[-5:-3], parts[-1]))) is None:
            return None
        return cls.parse("/".join((*parts[-5:-3], parts[-1])))

    def __str__(self) -> str:
        """Return ``method/decoder/seedN``."""
        return f"{self.method}/{self.decoder}/seed{self.seed}"


@dataclass(frozen=True)
class Tree:
    """Paths of one task below the folder of results."""

    results: Path
    dataset: str
    task: str

    @property
    def manifest(self) -> Path:
        """Videos of the task."""
        return self.results / "manifest" / self.dataset / f"{self.task}.csv"

    @property
    def annotations(self) -> Path:
        """Annotated segments of the task."""
        return self.results / "annotations" / self.dataset / f"{self.task}.csv"

    @property
    def strips(self) -> Path:
        """Folder with one strip of pictures per video."""
        return self.results / "strips" / self.dataset / self.task

    @property
    def page(self) -> Path:
        """The page of the task."""
        return self.results / "report" / self.dataset / f"{self.task}.html"

    def keysteps(self, run: Run) -> Path:
        """Folder with the key steps of a run."""
        return self.results / "keysteps" / run.method / run.decoder / self.dataset / self.task / f"seed{run.seed}"

    def scores(self, run: Run) -> Path:
        """Scores of a run."""
        folder = self.results / "scores" / run.method / run.decoder / self.dataset / self.task
        return folder / f"seed{run.seed}.csv"

    def view(self, run: Run) -> Path:
        """What the page shows of a run's embeddings."""
        folder = self.results / "views" / run.method / run.decoder / self.dataset / self.task
        return folder / f"seed{run.seed}.json"

    def history(self, run: Run) -> Path:
        """Losses of the training behind a run."""
        folder = self.results / "models" / run.method / self.dataset / self.task / f"seed{run.seed}"
        return folder / "history.csv"

    def files(self, runs: Iterable[Run]) -> list[Path]:
        """Return the files that a page of some runs is made from, those that are there."""
        files = [self.manifest, self.annotations]
        for run in runs:
            folder = self.keysteps(run)
            files += [folder / name for name in ("segments.csv", "order.csv", "procedures.csv", "diagnostics.json")]
            files += [self.scores(run), self.view(run), self.history(run)]
        return [path for path in files if path.is_file()]

    def runs(self) -> list[Run]:
        """Return every run that has key steps on disk, sorted by name and number."""
        own = f"{glob.escape(self.dataset)}/{glob.escape(self.task)}/seed*/segments.csv"
        found = (Run.of_folder(path.parent) for path in (self.results / "keysteps").glob(f"*/*/{own}"))
        return sorted((run for run in found if run is not None), key=lambda run: (run.method, run.decoder, run.seed))
