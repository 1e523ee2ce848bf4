"""The result of a figure function: the inputs of the figure, its facts for a report, and how to draw it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rgwot.features.settings import FeatureSettings
from rgwot.reporting.figures.style import Drawn, styled
from rgwot.reporting.tables.table import Place
from rgwot.study.study import Study


@dataclass(frozen=True)
class Drawing:
    """A figure before it is drawn.

    Attributes
    ----------
    draw
        The function that draws: ``draw(title, about, *shown)``. It runs in a job, when all ``files`` exist.
    shown
        The content; if its text changes, the figure is outdated.
    files
        Every file that is read.
    caption, about
        What the figure shows, and a line on data, protocol and seeds.
    seeds, data, protocols
        What a report can filter by; ``data`` are the printed names of datasets.
    """

    draw: Callable[..., Drawn] = field(repr=False)
    shown: tuple[object, ...]
    files: tuple[Path, ...]
    caption: str
    about: str
    seeds: tuple[int, ...]
    data: tuple[str, ...]
    protocols: str
    title: str = ""  #: from the docstring of the function that makes it

    @property
    def content(self) -> str:
        """The content as text; if it changes, the figure is outdated."""
        return f"{self.title} {self.about} {self.shown!r}"

    def drawn(self) -> Drawn:
        """Draw it from its files."""
        with styled():
            return self.draw(self.title, self.about, *self.shown)


def drawing(
    study: Study, draw: Callable[..., Drawn], shown: tuple[object, ...], files: Iterable[Path], *, caption: str,
    places: Iterable[Place], notes: Iterable[str], seeds: Sequence[int], protocols: str = "–",
) -> Drawing:  # fmt: skip
    """Return a figure of some datasets; ``notes`` describe runs and protocol."""
    datasets = {place.dataset: place.label for place in places}
    data = tuple(dict.fromkeys(datasets.values()))
    features = [study.experiments.common(FeatureSettings, name) for name in datasets]
    seeding = f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
    about = [", ".join(data), *filter(None, notes), seeding]
    if any(extracted.weights == "random" for extracted in features):
        about.append("backbone with random weights: not the paper's numbers")
    if networks := {extracted.backbone for extracted in features} - {"resnet50"}:
        about.append(f"features by {' and '.join(sorted(networks))}: not the paper's numbers")
    return Drawing(draw, shown, tuple(dict.fromkeys(files)), caption, "; ".join(about), tuple(seeds), data, protocols)
