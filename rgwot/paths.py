"""All paths below ``results``, as templates with Snakemake's wildcards in braces, which `at` fills in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self

RESULTS = "results"
#: Suffix of Zarr stores: the features of a video, and the embeddings of a task.
STORE = ".zarr"

_TASK = "{dataset}/{task}"
_TRAINED = "{method}/{dataset}/{task}/seed{seed}"
_RUN = "{method}/{decoder}/{dataset}/{task}/seed{seed}"

SYNTHETIC = f"{RESULTS}/synthetic/{{dataset}}"
MANIFEST = f"{RESULTS}/manifest/{_TASK}.csv"
ANNOTATIONS = f"{RESULTS}/annotations/{_TASK}.csv"
FEATURES = f"{RESULTS}/features/{_TASK}/{{video}}{STORE}"
INDEX = f"{RESULTS}/features/{_TASK}/index.csv"
#: A part of an index, for tasks with too many videos for one command.
INDEX_PART = f"{RESULTS}/features/{_TASK}/index.{{part}}.csv"
MODEL = f"{RESULTS}/models/{_TRAINED}/model.pt"
HISTORY = f"{RESULTS}/models/{_TRAINED}/history.csv"
MACHINE = f"{RESULTS}/models/{_TRAINED}/machine.json"
TRAINING_TIME = f"{RESULTS}/benchmarks/train/{_TRAINED}.tsv"
EMBEDDINGS = f"{RESULTS}/embeddings/{_TRAINED}{STORE}"
SEGMENTS = f"{RESULTS}/keysteps/{_RUN}/segments.csv"
ORDER = f"{RESULTS}/keysteps/{_RUN}/order.csv"
PROCEDURES = f"{RESULTS}/keysteps/{_RUN}/procedures.csv"
PROCEDURE = f"{RESULTS}/keysteps/{_RUN}/procedure.json"
DEVIATIONS = f"{RESULTS}/keysteps/{_RUN}/deviations.csv"
DIAGNOSTICS = f"{RESULTS}/keysteps/{_RUN}/diagnostics.json"
#: Names of key steps, in results that were saved from Python or made by a bundle.
NAMES = f"{RESULTS}/keysteps/{_RUN}/names.yaml"
SCORES = f"{RESULTS}/scores/{_RUN}.csv"
TABLE = f"{RESULTS}/tables/{{table}}.csv"
ROW = f"{RESULTS}/tables/{{table}}/{{row}}.csv"
FIGURE = f"{RESULTS}/figures/{{figure}}.pdf"
SEGMENT_BARS = f"{RESULTS}/figures/segments/{_TASK}/seed{{seed}}.pdf"
#: A plot of a task's embeddings, and of the transport between two of its videos; a PDF of the same name is beside it.
EMBEDDING_FIGURE = f"{RESULTS}/figures/embedding/{_TRAINED}.png"
PLAN_FIGURE = f"{RESULTS}/figures/plan/{_TRAINED}.png"
#: The comparison of groups in a column of the table of videos; a figure of the same name is beside it.
GROUPS = f"{RESULTS}/groups/{{column}}/{_RUN}.csv"
STRIPS = f"{RESULTS}/strips/{_TASK}"
VIEW = f"{RESULTS}/views/{_RUN}.json"
BUNDLE = f"{RESULTS}/bundles/{_RUN}.rgwot"
PAGE = f"{RESULTS}/report/{_TASK}.html"
PAGES = f"{RESULTS}/report/index.html"

#: Files written by a decoding.
KEYSTEPS = (SEGMENTS, ORDER, PROCEDURES, PROCEDURE, DEVIATIONS, DIAGNOSTICS)

_TEXT = re.compile(r"(?P<method>[^/]+)/(?P<decoder>[^/]+)/seed(?P<seed>0|[1-9][0-9]*)")


def at(template: str, results: str | Path = RESULTS, **wildcards: object) -> Path:
    """Fill in the wildcards of a template of this module.

    >>> at(SCORES, method="raw", decoder="kmeans", dataset="demo", task="assembly", seed=0).as_posix()
    'results/scores/raw/kmeans/demo/assembly/seed0.csv'
    >>> at(PAGES, "/tmp/elsewhere").as_posix()
    '/tmp/elsewhere/report/index.html'
    """
    return Path(results, template.removeprefix(f"{RESULTS}/").format(**wildcards))


def name_of(template: str) -> str:
    """Return the name of a template's file in its folder.

    >>> name_of(SEGMENTS)
    'segments.csv'
    """
    return template.rpartition("/")[2]


def beside(template: str, suffix: str) -> str:
    """Return a path with another suffix, for another form of a table or figure.

    >>> beside(TABLE, ".md")
    'results/tables/{table}.md'
    """
    return template[: template.rindex(".")] + suffix


@dataclass(frozen=True)
class Run:
    """A result of a task, made by a training (or none) and a decoding: ``method/decoder/seedN``."""

    method: str
    decoder: str
    seed: int

    @classmethod
    def of_text(cls, text: str) -> Self | None:
        """Parse a run such as ``rgwot/graphcut/seed0``; return None for other texts."""
        match = _TEXT.fullmatch(text)
        return match and cls(match["method"], match["decoder"], int(match["seed"]))

    @classmethod
    def of_folder(cls, folder: Path) -> Self | None:
        """Return the run of a folder of key steps, ``METHOD/DECODER/DATASET/TASK/seedN``, or None for other folders."""
        parts = folder.parts
        return cls.of_text("/".join((*parts[-5:-3], parts[-1]))) if len(parts) >= 5 else None

    def __str__(self) -> str:
        return f"{self.method}/{self.decoder}/seed{self.seed}"


@dataclass(frozen=True)
class Tree:
    """The results of one task."""

    results: Path
    dataset: str
    task: str

    @classmethod
    def of_folder(cls, folder: Path) -> Self | None:
        """Return the tree of a folder ``RESULTS/keysteps/METHOD/DECODER/DATASET/TASK/seedN``; None for others."""
        parts = folder.absolute().parts
        there = len(parts) > 7 and parts[-6] == "keysteps" and Run.of_folder(folder) is not None
        return cls(Path(*parts[:-6]), parts[-3], parts[-2]) if there else None

    @classmethod
    def of_annotations(cls, table: Path) -> Self | None:
        """Return the tree of a table ``RESULTS/annotations/DATASET/TASK.csv``, or None for other files."""
        parts = table.absolute().parts
        there = len(parts) > 4 and parts[-3] == "annotations" and table.suffix == ".csv"
        return cls(Path(*parts[:-3]), parts[-2], table.stem) if there else None

    def at(self, template: str, run: Run | None = None) -> Path:
        """Return a path of the task, or of one of its runs."""
        named = {} if run is None else {"method": run.method, "decoder": run.decoder, "seed": run.seed}
        return at(template, self.results, dataset=self.dataset, task=self.task, **named)

    def keysteps(self, run: Run) -> Path:
        """Folder with the key steps of a run."""
        return self.at(SEGMENTS, run).parent

    def figures(self, run: Run) -> dict[str, Path]:
        """Return the figures of a trained result, ``embedding`` and ``plan``, whether they exist or not."""
        return {"embedding": self.at(EMBEDDING_FIGURE, run), "plan": self.at(PLAN_FIGURE, run)}
