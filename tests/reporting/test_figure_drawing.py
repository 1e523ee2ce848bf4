"""Every figure drawn from the files of its plan has its texts, is legible, and is a valid file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from figure_tree import Tree, study
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.text import Text

from rgwot import paths
from rgwot.reporting import targets
from rgwot.reporting.figures.drawing import Drawing
from rgwot.reporting.figures.plans import draw_plan
from rgwot.reporting.figures.style import PAGE, SMALLEST, save
from rgwot.reporting.figures.tsne import draw_embedding
from rgwot.reporting.figures.videos import TaskLabels, settings_behind
from rgwot.runtime.errors import RgwotError
from rgwot.stages.embed import read_embeddings

FACTS = study(seeds=(0, 1, 2))
#: Texts that each figure must show, besides its title and caption.
READ = {
    "teaser": ("(a) align the frames of two videos", "X found", "Y true", "order X", "background"),
    "overview": ("shared", "plan T*", "C-IDM(X), β = 0.03125", "soft matches P", "(no gradient)"),
    "degenerate": ("ground truth", "VAOT", "cosine", "labels", "not degenerate"),
    "qualitative": ("ground truth", "CnC", "OPEL", "RGWOT", "A", "B", "segments"),
    "training_videos": ("CnC", "RGWOT", "one label", "RGWOT, reported 59.5", "OPEL, reported 39.2", "17"),
    "sensitivity": ("temperature ε/(1−α)", "active radius a, frames", "prior off", "reported peak", "Precision", "IoU"),
    "k_score": ("PC Assembly", "PC Disassembly", "K_gt + 1 = 10: P = R", "uniform answer without training, F1"),
    "transport_plan": ("T*, parity", "T*, converged", "a = 3: prior acts", "a = 0: prior off", "left unmatched"),
    "losses": ("alignment loss", "total loss", "ln 32: all frames alike", "RGWOT", "VAOT"),
    "tsne_egoprocel": ("CMU-MMAC", "Brownie", "first frame", "last frame", "er ="),
    "tsne_procel": ("ProceL", "make_coffee", "first frame", "d ="),
}  # fmt: skip


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return Tree(tmp_path_factory.mktemp("results"), FACTS)


@pytest.fixture
def folder(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tree.folder)
    yield tree.folder
    plt.close("all")


def planned(tree: Tree, name: str) -> Drawing:
    tree.fill(name)
    return targets.figure(FACTS, name)


def shown(figure: Figure) -> list[Text]:
    """Return every text that is drawn."""
    return [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]


def test_every_figure_is_looked_at_here() -> None:
    assert set(READ) == set(targets.targets(FACTS).figures)


@pytest.mark.parametrize("name", READ)
def test_a_figure_says_what_it_shows_and_can_be_read(tree: Tree, folder: Path, name: str) -> None:
    plan = planned(tree, name)
    figure = targets.figure(FACTS, name).drawn()
    size = figure.get_size_inches()
    figure.canvas.draw()
    texts = shown(figure)
    everything = "\n".join(text.get_text() for text in texts)
    flat = " ".join(everything.split())
    for said in READ[name]:
        assert said in everything, said
    assert targets.figure(FACTS, name).title in flat
    # The line on data, protocol and seeds may be broken anywhere between words.
    assert " ".join(plan.about.split()) in flat
    # The printed figure is no wider than a page, has no letters below 7 points, and is not cut off at an edge.
    assert size[0] <= PAGE
    assert min(text.get_fontsize() for text in texts) >= SMALLEST
    drawn = figure.get_tightbbox()
    assert min(drawn.x0, drawn.y0) >= -0.02
    assert drawn.x1 <= size[0] + 0.02
    assert drawn.y1 <= size[1] + 0.02

    save(figure, folder / f"{name}.pdf")
    vector = (folder / f"{name}.pdf").read_bytes()
    assert vector.startswith(b"%PDF")
    assert vector.rstrip().endswith(b"%%EOF")
    # Fonts are embedded as TrueType, none as Type 3, and lines stay lines.
    assert b"/FontFile2" in vector
    assert b"/Type3" not in vector
    assert plt.imread(folder / f"{name}.png").shape[1::-1] == tuple(round(200 * inches) for inches in size)


def test_the_same_plan_gives_the_same_bytes(tree: Tree, folder: Path) -> None:
    planned(tree, "tsne_procel")
    for name in ("one", "two"):
        save(targets.figure(FACTS, "tsne_procel").drawn(), folder / f"{name}.pdf")
    for suffix in (".pdf", ".png"):
        assert (folder / f"one{suffix}").read_bytes() == (folder / f"two{suffix}").read_bytes()


def test_curves_are_those_of_the_scores_and_reported_peaks_lie_at_their_parameter(tree: Tree, folder: Path) -> None:
    planned(tree, "sensitivity")
    figure = targets.figure(FACTS, "sensitivity").drawn()
    axis = figure.axes[0]
    by_colour = {line.get_color(): line for line in axis.get_lines() if len(line.get_xdata()) == 8}
    # The made-up scores are 0.50, 0.60, 0.55 and 0.35 plus 0.02 per seed, of seeds 0, 1 and 2.
    assert sorted(float(line.get_ydata()[0]) for line in by_colour.values()) == pytest.approx([37, 52, 57, 62])
    for line in by_colour.values():
        assert list(line.get_xdata()) == [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9]
    bands = [band.get_paths()[0].get_extents() for band in axis.collections if isinstance(band, PolyCollection)]
    assert len(bands) == 4
    assert sorted(band.y0 for band in bands) == pytest.approx([35, 50, 55, 60])
    assert all(band.height == pytest.approx(4) for band in bands)
    stars = {
        axis.get_xlabel()[0]: {
            (float(line.get_xdata()[0]), round(float(line.get_ydata()[0]), 1))
            for line in axis.get_lines()
            if line.get_marker() == "*" and len(line.get_xdata())
        }
        for axis in figure.axes[:4]
    }
    peaks = {"α": 0.3, "r": 0.02, "ρ": 0.35, "λ": 2.0}
    assert stars == {symbol: {(x, y) for y in (48.0, 43.6, 28.0)} for symbol, x in peaks.items()}


def test_a_degenerate_run_is_drawn_open(tree: Tree, folder: Path) -> None:
    plan = planned(tree, "sensitivity")
    path = plan.shown[0][0].curve[0.1][0]
    text = path.read_text()
    try:
        path.write_text(text.replace(",degenerate,0", ",degenerate,1"))
        figure = targets.figure(FACTS, "sensitivity").drawn()
    finally:
        path.write_text(text)
    assert "open: a run behind it is degenerate" in "\n".join(text.get_text() for text in shown(figure))
    open_markers = [line for line in figure.axes[0].get_lines() if line.get_markerfacecolor() == "#FFFFFF"]
    # The other open marker is the star of the legend, which has no points.
    assert {tuple(line.get_xdata()) for line in open_markers} == {(0.1,), ()}


def test_figures_of_a_result_show_its_videos_and_the_transport_of_two(tree: Tree, folder: Path) -> None:
    tree.fill("transport_plan")
    task, run = paths.Tree(Path("results"), "pc_assembly", "pc_assembly"), paths.Run("rgwot", "graphcut", 0)
    embedded = read_embeddings(task.at(paths.EMBEDDINGS, run)).videos
    names = {video: f"called {video}" for video in embedded}
    drawn = draw_embedding(embedded, names, "rgwot on d/t, seed 0", 0)
    said = "\n".join(text.get_text() for text in shown(drawn))
    assert all(name in said for name in ("rgwot on d/t, seed 0", "3 videos", *names.values()))
    by_time, by_video = drawn.axes[:2]
    samples = sum(len(video.time_s) for video in embedded.values())
    assert len(by_time.collections[0].get_offsets()) == samples
    assert [len(line.get_xdata()) for line in by_video.get_lines()] == [len(one.time_s) for one in embedded.values()]

    settings = settings_behind(FACTS, "rgwot", "pc_assembly")
    drawn = draw_plan(embedded, TaskLabels.of(task, None), settings, "rgwot on d/t, seed 0")
    said = "\n".join(text.get_text() for text in shown(drawn))
    assert all(name in said for name in ("X = ", "Y = ", "cost C", "T*, converged", "left unmatched", "step 3"))
    # The cost, and the plan of the converged solver at r = 0.02, are the same as in the figure of the paper.
    of_paper = targets.figure(FACTS, "transport_plan").drawn()
    for here, there in ((0, 0), (1, 2)):
        pictures = [figure.axes[at].images[0].get_array() for figure, at in ((drawn, here), (of_paper, there))]
        assert (pictures[0] == pictures[1]).all()
    with pytest.raises(RgwotError, match="found 1 video, expected two"):
        draw_plan(dict(list(embedded.items())[:1]), TaskLabels.of(task, None), settings, "x")
