"""The target paths that may be asked for."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from rgwot.runtime.errors import RgwotError, nearest
from rgwot.study.pages import FIRST, PageCatalogue

#: Figures of one task and seed, which the workflow makes for every task; all others are data (`Catalogue.figures`).
TASK_FIGURES = ("segments",)
#: Figures of one result, which the workflow makes for every method and decoder.
RESULT_FIGURES = ("choices",)

_TARGET = re.compile(
    r"results/(?:"
    r"(?:manifest|annotations|yardsticks)/(?P<d1>[^/]+)/(?P<t1>[^/]+)\.(?:csv|json)"
    r"|features/(?P<d2>[^/]+)/(?P<t2>[^/]+)/.+"
    r"|(?:models|embeddings)/(?P<m3>[^/]+)/(?P<d3>[^/]+)/(?P<t3>[^/]+)/.+"
    rf"|(?:keysteps|scores|views|figures/(?:{'|'.join(RESULT_FIGURES)}))"
    r"/(?P<m4>[^/]+)/(?P<e4>[^/]+)/(?P<d4>[^/]+)/(?P<t4>[^/]+)/.+"
    r"|tables/(?P<table>[^/]+?)(?:/(?P<row>[^/]+))?\.(?:csv|md|tex)"
    r"|figures/(?P<figure>[^/]+?)\.(?:pdf|png)"
    r"|figures/(?P<of_task>[^/]+)/(?P<d5>[^/]+)/(?P<t5>[^/]+)/.+"
    r"|report/(?P<d6>[^/]+)/(?P<t6>[^/]+)\.(?:html|csv)"
    r")"
)


class Catalogue(PageCatalogue):
    """The configuration, the datasets and the experiments behind one run of the workflow, and its targets."""

    def check_targets(self, arguments: Sequence[str]) -> None:
        """Check the target paths among command line arguments before anything is planned.

        Where the target `FIRST` is among them, pages of this run show what needs no training.

        Raises
        ------
        RgwotError
            When a path names a dataset, task, method, decoder, table or figure that does not exist, or spells an
            experiment in another way than its canonical one, or a page is asked for beside `FIRST`.
        """
        self.first_answer = FIRST in arguments
        for argument in arguments:
            # As Snakemake reads a target: ./results/x and results//x are results/x.
            match = _TARGET.fullmatch(os.path.normpath(argument))
            if match is None:
                continue
            group = {name: value for name, value in match.groupdict().items() if value is not None}
            if self.first_answer and "d6" in group:
                raise RgwotError(
                    f"{argument}: asked for beside {FIRST!r}, which makes less of it; ask for one, then the other"
                )
            if "table" in group:
                self.check_table(group["table"], group.get("row"))
                continue
            if "figure" in group:
                self.figure_plan(group["figure"])
                continue
            of_task = group.pop("of_task", TASK_FIGURES[0])
            if of_task in RESULT_FIGURES:
                raise RgwotError(
                    f"{argument}: a figure of one result, expected "
                    f"results/figures/{of_task}/METHOD/DECODER/DATASET/TASK/seedN.pdf"
                )
            if of_task not in TASK_FIGURES:
                raise RgwotError(
                    f"{argument}: unknown figure {of_task!r}; {nearest(of_task, (*TASK_FIGURES, *RESULT_FIGURES))}"
                )
            part = {name[0]: value for name, value in group.items()}
            method = part.get("m")
            if method is not None:
                self._check_spelling(argument, method, self.experiments.method(method))
                if "e" in part:
                    self._check_spelling(argument, part["e"], self.experiments.decoder(part["e"], method))
            self.videos(part["d"], part["t"])
            if method is not None:
                self.check_task(part["d"], part["t"], method)

    @staticmethod
    def _check_spelling(target: str, written: str, canonical: str) -> None:
        if written != canonical:
            raise RgwotError(
                f"{target}: {written!r} is the experiment {canonical!r}; ask for {target.replace(written, canonical)}"
            )
