"""The page of a small task as a file: its content, also when an input is missing or has changed."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pandas as pd
import pytest
import yaml
from page_tree import STEPS, Task, embedded_data, make_task

from rgwot import paths
from rgwot.keysteps.ordering import first_order, rank_procedures
from rgwot.keysteps.settings import Annotations
from rgwot.names import result_id
from rgwot.paths import Run
from rgwot.procedure import recordings_from_segments
from rgwot.records import read_segments
from rgwot.reporting.page import render
from rgwot.reporting.page.render import list_pages, write_page
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.provenance import record_path
from rgwot.stages.decode import decode_trivial

FIRST = Run("rgwot", "graphcut", 0)


@pytest.fixture(scope="module")
def page_task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return make_task(tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def data(page_task: Task) -> dict[str, object]:
    return embedded_data(page_task.page())


@pytest.fixture
def without_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make pages without training curves, which take most of the time."""
    monkeypatch.setattr(render, "curve_picture", lambda curves: "")


def copied(page_task: Task, folder: Path, runs: list[Run]) -> Task:
    """Copy the results of a task, so that a test may change them; its videos stay where they are."""
    shutil.copytree(page_task.folder / "results", folder / "results")
    return Task(folder, page_task.task, runs)


class Outside(HTMLParser):
    """Everything in a page from which a browser could load something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            assert not name.startswith("on"), (tag, name)
            assert name != "style", tag
            if name in ("src", "href", "srcset", "action", "poster", "data"):
                self.addresses.append(str(value))


def test_one_file_without_anything_outside(page_task: Task) -> None:
    text = page_task.page().read_text(encoding="utf-8")
    outside = Outside(text)
    assert all(address.startswith(("data:", "#")) for address in outside.addresses)
    assert not {"iframe", "object", "embed", "base", "form"} & set(outside.tags)
    head = text[: text.index("<style")]
    assert head.index("Content-Security-Policy") < head.index("<title")
    assert len(text) < 1_000_000
    # The same results give the same bytes.
    before = page_task.tree.at(paths.PAGE).read_bytes()
    assert page_task.page().read_bytes() == before


def test_everything_that_was_found_is_in_it(page_task: Task, data: dict[str, object]) -> None:
    assert [run["id"] for run in data["runs"]] == list(map(str, page_task.runs))  # type: ignore[attr-defined]
    assert [run["kind"] for run in data["runs"]] == ["trained"] * 2 + ["untrained"] * 2 + ["trivial"] * 2  # type: ignore[attr-defined]
    assert [run["view"] for run in data["runs"]] == [True, False, True, False, False, False]  # type: ignore[attr-defined]
    assert data["steps"] == {str(at): name for at, name in enumerate(STEPS, 1)}
    for at, run in enumerate(page_task.runs):
        body = embedded_data(page_task.tree.at(paths.PAGE), f"run-{at}")
        segments = page_task.segments(run)
        table = read_segments(page_task.tree.keysteps(run) / "segments.csv")
        # An order begins with the step that is done first, as readers expect; it does not follow mean times.
        orders = {one.video: first_order(one.events) for one in recordings_from_segments(table)}
        for place, video in enumerate(data["videos"]):  # type: ignore[arg-type,var-annotated]
            own = segments[segments["video"] == video["id"]]
            actual = body["segments"][str(place)]  # type: ignore[index]
            assert actual["steps"] == own["key_step"].tolist()
            assert actual["ends"] == pytest.approx((own["end_s"] * 1000).tolist(), abs=0.5)
            assert tuple(body["orders"][str(place)]) == orders[video["id"]]  # type: ignore[index]
        procedures = rank_procedures(orders)
        shown = [(">".join(map(str, one["order"])), one["n"]) for one in body["procedures"]]  # type: ignore[attr-defined]
        assert shown == list(zip(procedures["order"], procedures["n_videos"], strict=True))
    # Annotated orders are those of the annotation: 1 2 3 twice, 1 3 2 once.
    assert data["true_procedures"] == [{"order": [1, 2, 3], "n": 2}, {"order": [1, 3, 2], "n": 1}]


def test_scores_stand_side_by_side_under_every_protocol(page_task: Task, data: dict[str, object]) -> None:
    scores = data["scores"]
    assert scores["protocols"] == ["micro_video", "macro_video", "macro_task", "strict_task"]  # type: ignore[index]
    rows = {(row["method"], row["decoder"]): row for row in scores["rows"]}  # type: ignore[index]
    assert list(rows) == [("rgwot", "graphcut"), ("raw", "kmeans"), ("none", "one_label"), ("none", "random")]
    for (method, decoder), row in rows.items():
        runs = [run for run in page_task.runs if (run.method, run.decoder) == (method, decoder)]
        assert row["n"] == len(runs) == len(row["seeds"])
        table = pd.concat([pd.read_csv(page_task.tree.at(paths.SCORES, run)) for run in runs])
        own = table[table["metric"].isin(["f1", "iou", "precision", "recall", "order_distance"])]
        for cell, values in own.groupby(["protocol", "background", "label_rule", "metric"])["value"]:
            key = " ".join(cell)
            if values.notna().all():
                assert row["mean"][key] == pytest.approx(values.mean(), abs=1e-5)
                if len(values) > 1:
                    assert row["sd"][key] == pytest.approx(values.std(), abs=1e-5)


def test_losses_are_thinned_and_drawn(page_task: Task, data: dict[str, object]) -> None:
    assert [(curve["method"], curve["seed"]) for curve in data["curves"]] == [("rgwot", 0), ("rgwot", 1)]  # type: ignore[attr-defined]
    history = pd.read_csv(page_task.tree.at(paths.HISTORY, FIRST))
    curve = data["curves"][0]  # type: ignore[index]
    assert len(curve["loss"]) == 200
    assert curve["loss"][0] == pytest.approx(history["loss"][:2].mean())
    assert curve["step"][-1] == pytest.approx(399.5)
    assert page_task.tree.at(paths.PAGE).read_text().count("data:image/svg+xml;base64,") == 1


@pytest.mark.usefixtures("without_curves")
def test_links_lead_to_the_videos_from_where_the_page_lies(page_task: Task, tmp_path: Path) -> None:
    for page in (page_task.tree.at(paths.PAGE), page_task.folder / "elsewhere" / "deep" / "page.html"):
        write_page(page_task.tree, page_task.root, [FIRST], page)
        for video in embedded_data(page)["videos"]:  # type: ignore[attr-defined]
            assert (page.parent / unquote(video["file"])).resolve() == (page_task.root / video["path"]).resolve()
    # Stored frames have no link.
    task = copied(page_task, tmp_path, [FIRST])
    manifest = task.tree.at(paths.MANIFEST)
    manifest.write_text(manifest.read_text().replace("first.mp4", "first.h5"))
    assert embedded_data(task.page())["videos"][0]["file"] is None  # type: ignore[index]


@pytest.mark.usefixtures("without_curves")
def test_figures_of_a_result_are_linked_where_they_exist(page_task: Task, tmp_path: Path) -> None:
    task = copied(page_task, tmp_path, [FIRST])
    assert embedded_data(task.page())["runs"][0]["figures"] == {}  # type: ignore[index]
    figure = task.tree.figures(FIRST)["plan"]
    figure.parent.mkdir(parents=True)
    figure.touch()
    links = embedded_data(task.page())["runs"][0]["figures"]  # type: ignore[index]
    assert list(links) == ["plan"]
    assert (task.tree.at(paths.PAGE).parent / unquote(links["plan"])).resolve() == figure.resolve()


@pytest.mark.usefixtures("without_curves")
def test_scores_of_a_task_whose_annotations_are_gone_are_not_shown(page_task: Task, tmp_path: Path) -> None:
    task = copied(page_task, tmp_path, [FIRST])
    assert embedded_data(task.page())["scores"] is not None
    annotations, manifest = task.tree.at(paths.ANNOTATIONS), task.tree.at(paths.MANIFEST)
    annotations.write_text(annotations.read_text(encoding="utf-8").splitlines(keepends=True)[0], encoding="utf-8")
    manifest.write_text(manifest.read_text(encoding="utf-8").replace(",ok,", ",unscored,"), encoding="utf-8")
    assert embedded_data(task.page())["scores"] is None
    assert "<td>not scored</td>" in list_pages(task.tree.results).read_text()


@pytest.mark.usefixtures("without_curves")
def test_a_view_or_names_of_another_result_are_not_shown(page_task: Task, tmp_path: Path) -> None:
    task = copied(page_task, tmp_path / "page", [FIRST])
    names = tmp_path / "tea.yaml"
    result = result_id(pd.read_csv(task.tree.keysteps(FIRST) / "segments.csv"))
    names.write_text(f"{FIRST}: {{result: {result!r}, names: {{1: one, 3: '<b>three'}}}}")
    facts = embedded_data(task.page(names))["runs"][0]  # type: ignore[index]
    assert (facts["view"], facts["names"], facts["lost"]) == (True, {"1": "one", "3": "<b>three"}, "")
    procedures = pd.read_csv(task.tree.at(paths.PAGE).with_suffix(".csv"))
    assert list(procedures.columns) == ["method", "decoder", "seed", "rank", "order", "names", "n_videos", "share"]
    called = {"1": "one", "3": "<b>three"}
    for row in procedures.to_dict("records"):
        assert row["names"] == " > ".join(called.get(step, step) for step in row["order"].split(">"))

    segments = task.tree.keysteps(FIRST) / "segments.csv"
    table = pd.read_csv(segments)
    table["key_step"] = table["key_step"].map(lambda step: {1: 2, 2: 1}.get(step, step))
    table.to_csv(segments, index=False)
    record_path(segments).unlink()
    facts = embedded_data(task.page(names))["runs"][0]  # type: ignore[index]
    assert (facts["view"], facts["names"]) == (False, {})
    assert "could not be given to its key steps: one, <b>three;" in facts["lost"]
    # Typed names are not lost: the page includes them in the next download.
    assert embedded_data(task.tree.at(paths.PAGE))["typed"] == {
        str(FIRST): {"result": result, "names": called, "segments": {}}
    }


@pytest.mark.usefixtures("without_curves")
def test_a_task_without_annotation_has_a_page_without_scores(tmp_path: Path) -> None:
    task = make_task(tmp_path, ("one", "two"), annotated=False)
    content = embedded_data(task.page())
    assert content["scores"] is None
    for run in content["runs"]:  # type: ignore[attr-defined]
        assert run["soundness"]["Collapsed"] == "no"
    assert (content["steps"], content["true_procedures"]) == ({}, [])
    assert content["truth"] == [[], []]
    assert {video["status"] for video in content["videos"]} == {"unscored"}  # type: ignore[attr-defined]
    assert all(run["match"] == {} for run in content["runs"])  # type: ignore[attr-defined]
    assert json.loads(task.tree.at(paths.VIEW, FIRST).read_text())["typical"][0]["frames"][0]["picture"]


def test_what_is_missing_is_reported_in_one_line(page_task: Task, tmp_path: Path) -> None:
    with pytest.raises(RgwotError, match=r"seed7/segments\.csv.*cannot be read"):
        write_page(page_task.tree, page_task.root, [Run("rgwot", "graphcut", 7)], tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
    with pytest.raises(RgwotError, match="no run to show"):
        write_page(page_task.tree, page_task.root, [], tmp_path / "page.html")


@pytest.mark.usefixtures("without_curves")
def test_the_list_of_pages(page_task: Task, tmp_path: Path) -> None:
    page_task.page()
    # Copy the page and the files that are read for it, under a name that would do harm as markup.
    results = copied(page_task, tmp_path, []).folder / "results"
    for path in [path for path in results.rglob("tea*") if path.relative_to(results).parts[0] != "keysteps"]:
        copy = path.with_name(path.name.replace("tea", "<b>other"))
        shutil.copytree(path, copy) if path.is_dir() else shutil.copy(path, copy)
    assert list_pages(results) == results / "report" / "index.html"
    text = (results / "report" / "index.html").read_text()
    outside = Outside(text)
    links = [unquote(address) for address in outside.addresses if not address.startswith("data:")]
    assert links == ["mine/<b>other.html", "mine/tea.html"]
    assert all((results / "report" / link).exists() for link in links)
    assert "b" not in outside.tags
    runs = [run for run in page_task.runs if run.method == "rgwot"]
    table = pd.concat([pd.read_csv(page_task.tree.at(paths.SCORES, run)) for run in runs])
    leading = table.query(
        "protocol == 'macro_task' and background == 'with' and label_rule == 'exact' and metric == 'f1'"
    )
    assert re.search(rf"rgwot / graphcut</td><td>{100 * leading['value'].mean():.1f}</td>", text)
    # An empty page, or one without its table, is not listed.
    (results / "report/mine/tea.csv").unlink()
    (results / "report/mine/other.html").write_text("")
    (results / "report/mine/other.csv").write_text("")
    list_pages(results)
    assert 'href="mine/' in (left := (results / "report/index.html").read_text())
    assert "tea.html" not in left
    assert "mine/other.html" not in left
    assert "No task has a page yet" in list_pages(tmp_path / "empty").read_text()


@pytest.mark.usefixtures("without_curves")
def test_names_are_used_by_figures_and_on_the_terminal(page_task: Task, tmp_path: Path) -> None:
    import matplotlib.pyplot as plt

    from rgwot.names import names_in
    from rgwot.records import read_annotations, read_manifest
    from rgwot.reporting.figures.segments import segment_bars
    from rgwot.reporting.figures.style import save
    from rgwot.reporting.show import procedure_lines
    from rgwot.stages.procedure import read_procedure

    folder = page_task.tree.keysteps(FIRST)
    table = pd.read_csv(folder / "segments.csv")
    steps = sorted(page_task.segments(FIRST)["key_step"].unique())
    called = {int(step): f"name $\\frac {step}" for step in steps}
    path = tmp_path / "tea.yaml"
    path.write_text(yaml.safe_dump({str(FIRST): {"result": result_id(table), "names": called}}))
    own = names_in(folder, path)
    assert own == called
    tables = (
        read_manifest(page_task.tree.at(paths.MANIFEST)),
        read_annotations(page_task.tree.at(paths.ANNOTATIONS)),
        {"ours": table},
    )
    figure = segment_bars(*tables, "title $", names={"ours": own})
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    match = embedded_data(page_task.page())["runs"][0]["match"]  # type: ignore[index]
    for cluster, step in match.items():
        assert not step or f"step {step}: {called[int(cluster)]}" in legend
    save(figure, tmp_path / "bars.pdf")
    plt.close(figure)
    order = read_procedure(folder / "procedure.json").order
    named, numbered = ([line.split("  ")[0] for line in procedure_lines(folder, names)] for names in (path, None))
    assert set(numbered) >= {str(step) for step in order}
    assert set(named) >= {f"{step} {called[step]}" for step in order}


def test_the_annotations_as_a_result_have_their_names(page_task: Task, tmp_path: Path) -> None:
    tree, run = page_task.tree, Run("none", "annotated", 0)
    annotations = tree.at(paths.ANNOTATIONS)
    decode_trivial(tree.at(paths.MANIFEST), tree.keysteps(run), Annotations(), 0, 2, annotations_csv=annotations)
    write_page(tree, page_task.root, [run], tmp_path / "page.html")
    [facts] = embedded_data(tmp_path / "page.html")["runs"]  # type: ignore[misc]
    assert facts["names"] == {str(step): name for step, name in enumerate(STEPS, 1)}
