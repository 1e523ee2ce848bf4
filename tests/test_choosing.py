"""Results in Python: probabilities, stability, the tree of key steps, pictures, tables, saving and loading."""

from __future__ import annotations

import pickle
import re
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot as plt
from numpy.typing import NDArray

import rgwot
from rgwot.choosing import HowMany
from rgwot.procedure.interface import END, START, Edge, Node
from rgwot.reporting.figures.procedure import draw_procedure, layers
from rgwot.reporting.page.view import tree_of
from rgwot.result import Discovery
from rgwot.runtime.errors import RgwotError

STEPS = np.repeat([1, 2, 3], 10)
NAMES = ("a", "b b", "c", "d")


def recordings() -> dict[str, NDArray[np.float64]]:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(3, 8))
    return {name: centres[STEPS - 1] + rng.normal(scale=0.2, size=(30, 8)) for name in NAMES}


def reseeded(result: Discovery, seed: int) -> Discovery:
    run = replace(result.run, seed=seed)
    return replace(result, experiment=replace(result.experiment, run=run))


@pytest.fixture(scope="module")
def result() -> rgwot.Discovery:
    return rgwot.discover(recordings(), fps=2, K=3, method="whitened", decoder="meanfield")


def test_probabilities_add_up_and_name_the_key_steps(result: rgwot.Discovery) -> None:
    assert list(result.probabilities) == list(NAMES)
    for name, shares in result.probabilities.items():
        assert shares.shape == (30, 4)
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        # This decoder takes the largest membership.
        np.testing.assert_array_equal(shares.argmax(axis=1), result.labels[name])
    kmeans = rgwot.discover(recordings(), fps=2, K=3, method="raw", decoder="kmeans")
    with pytest.raises(RgwotError, match="probabilities: found none for raw/kmeans/seed0; expected a decoder with me"):
        _ = kmeans.probabilities


def test_probabilities_of_background_and_of_labelled_videos() -> None:
    videos = recordings()
    videos["a"][4:6, 0] = np.nan
    gaps = rgwot.discover(videos, fps=2, K=3, method="whitened", decoder="meanfield", missing="background")
    assert gaps.probabilities["a"][4:6].tolist() == [[1, 0, 0, 0]] * 2
    assert np.flatnonzero(gaps.probabilities["a"][:, 0] > 1e-9).tolist() == [4, 5]
    # Key steps keep the numbers of the labels, whatever their order.
    turned = np.array([0, 3, 1, 2])[STEPS]
    taught = rgwot.discover(recordings(), fps=2, method="whitened", labels={"a": turned})
    for shares in taught.probabilities.values():
        np.testing.assert_array_equal(shares.argmax(axis=1), turned)


def test_held_out_videos_have_probabilities_too() -> None:
    split = "whitened@data.split=holdout"
    held_out = rgwot.discover(recordings(), fps=2, K=3, method=split, decoder="meanfield")
    assert held_out.diagnostics["split"]["test"]
    for name, shares in held_out.probabilities.items():
        np.testing.assert_array_equal(shares.argmax(axis=1), held_out.labels[name])


def test_stability_compares_the_answers_of_seeds(result: rgwot.Discovery) -> None:
    stability = result.stability(3)
    assert [answer.run.seed for answer in stability.answers] == [0, 1, 2]
    assert stability.answers[0] is result
    again = rgwot.discover(recordings(), fps=2, K=3, method="whitened", decoder="meanfield", seed=2)
    for name in NAMES:
        np.testing.assert_array_equal(stability.answers[2].labels[name], again.labels[name])
    assert stability.table.to_numpy().tolist() == np.ones((3, 3)).tolist()
    assert (stability.table.index.tolist(), stability.mean) == ([0, 1, 2], 1.0)
    other = reseeded(result, 9)
    np.testing.assert_array_equal(np.diag(other.stability(2).table), 1)
    with pytest.raises(RgwotError, match="n: found 1, expected a whole number, 2 or more"):
        result.stability(1)
    with pytest.raises(RgwotError, match="stability: found a result of none/uniform/seed0, which has no embeddings"):
        rgwot.discover(recordings(), fps=2, K=3, method="none", decoder="uniform").stability()


def test_processes_change_nothing(result: rgwot.Discovery) -> None:
    one, two = result.stability(3), result.stability(3, n_jobs=2, progress=False)
    for alone, beside in zip(one.answers, two.answers, strict=True):
        assert all(np.array_equal(alone.labels[name], beside.labels[name]) for name in NAMES)
    new = {"x": recordings()["a"] + 0.01, "y": recordings()["c"] - 0.01}
    alone, beside = result.predict(new), result.predict(new, n_jobs=2)
    assert list(beside) == ["x", "y"]
    assert all(np.array_equal(alone[name], beside[name]) for name in new)
    with pytest.raises(RgwotError, match="n_jobs: found 0, expected a number of processes, or -1 for all"):
        result.predict(new, n_jobs=0)


def test_stability_of_a_taught_result_is_over_samples_without_labels(tmp_path: Path) -> None:
    turned = np.array([0, 3, 1, 2])[STEPS]
    taught = rgwot.discover(recordings(), fps=2, method="whitened", labels={"a": turned})
    stability = taught.stability(2)
    again = rgwot.discover(recordings(), fps=2, method="whitened", labels={"a": turned}, seed=1)
    np.testing.assert_array_equal(stability.answers[1].labels["c"], again.labels["c"])
    assert stability.mean == 1
    everything = taught.learn(dict.fromkeys(NAMES, turned))
    with pytest.raises(RgwotError, match="stability: found labels for all samples, expected some without"):
        everything.stability(2)
    taught.save(tmp_path)
    with pytest.raises(RgwotError, match="stability: found a loaded result without its labels"):
        rgwot.load(tmp_path).stability(2)


def test_the_tree_is_that_of_the_page_and_is_cut_at_any_number(result: rgwot.Discovery) -> None:
    tree = rgwot.how_many(result)
    assert result.embedded is not None
    assert [[a, b, round(lost, 5)] for a, b, lost in tree.merges] == tree_of(result.embedded.videos, 0)["merges"]
    for name in NAMES:
        assert tree.labels(3)[name].tolist() == STEPS.tolist()
    assert set(tree.labels(1)["a"]) == {1}
    assert tree.table["K"].tolist() == list(range(1, len(tree.merges) + 2))
    assert tree.table["explained"].is_monotonic_increasing
    # The third key step explains more than twice as much as any later one.
    assert tree.table["gain"][2] > 2 * tree.table["gain"][3:].max()
    for wrong in (0, 99, True, "3"):
        with pytest.raises(RgwotError, match="K: found .*, expected a whole number from 1 to"):
            tree.labels(wrong)  # type: ignore[arg-type]
    with pytest.raises(RgwotError, match="how_many: found dict, which has no embeddings; expected a result"):
        rgwot.how_many({})  # type: ignore[arg-type]


def test_a_small_tree_is_cut_and_drawn_by_hand() -> None:
    tree = HowMany(((1, 2, 0.1), (0, 3, 0.6)), {"v": np.array([0, 1, 2, 2])})
    assert tree.table.to_numpy().tolist() == [[1, 0, 0], [2, 0.6, 0.6], [3, 0.7, 0.1]]
    assert [tree.labels(K)["v"].tolist() for K in (1, 2, 3)] == [[1, 1, 1, 1], [1, 2, 2, 2], [1, 2, 3, 3]]
    figure, axes = plt.subplots()
    assert tree.plot(axes) is figure
    for K in (1, 2, 3):
        horizontal = [line.get_xdata() for line in axes.lines if len(set(line.get_ydata())) == 1]
        assert sum(x[0] <= K < x[1] for x in horizontal) == K
    plt.close(figure)


def test_pictures_show_the_videos_that_are_named(result: rgwot.Discovery) -> None:
    figure = result.plot(videos=["c", "b b"])
    assert [axis.get_title(loc="left") for axis in figure.axes] == ["c", "b b"]
    own, axes = plt.subplots()
    assert result.plot(videos=3, ax=axes) is own
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b b", "c"]
    for asked, message in ((["e"], "videos: no video 'e'"), ([], "videos: found no name"), (0, "videos: found 0, exp")):
        with pytest.raises(RgwotError, match=message):
            result.plot(videos=asked)
    plt.close("all")


def test_the_picture_of_a_procedure(result: rgwot.Discovery) -> None:
    figure = replace(result, names={2: "stir"}).plot_procedure()
    texts = [text.get_text() for text in figure.axes[0].texts if text.get_text()]
    assert texts == ["start", "step 1\n4 of 4", "stir\n4 of 4", "step 3\n4 of 4", "end"]
    own, axes = plt.subplots()
    assert result.plot_procedure(axes) is own
    plt.close("all")
    # The order is 1, then 2 and 3 in either order, then 4, which also needs 1.
    needs = [(START, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, END)]
    edges = tuple(Edge(before, after, 0.5, 2, 3, (0.1, 0.9)) for before, after in needs)
    nodes = tuple(Node(step, 3, 1.0, step == 2, 1.0, 0.0, 0.5, 1.0) for step in (1, 2, 3, 4))
    procedure = replace(result.procedure, nodes=nodes, edges=edges, order=(1, 3, 2, 4), groups=((2, 3),), n_videos=3)
    assert layers(procedure) == {START: (0, 0), 1: (1, 0), 3: (2, 0), 2: (2, 1), 4: (3, 0), END: (4, 0)}
    figure = draw_procedure(procedure)
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts.count("2 of 3") == len(edges)
    assert texts[-1] == "in either order: 2, 3"
    plt.close("all")


def test_tables_for_notebooks_escape_names(result: rgwot.Discovery) -> None:
    html = replace(result, names={1: "<b>pour</b>"})._repr_html_()
    assert "&lt;b&gt;pour&lt;/b&gt;" in html
    assert "<b>" not in html
    assert html.count("<tr>") == 1 + 3
    procedure = result.procedure._repr_html_()
    assert procedure.count("<tr>") == 1 + 3
    assert "<tr><td>2</td><td>4 of 4</td>" in procedure
    # Four videos are too few for a need.
    assert procedure.endswith("<td></td></tr></table>")


def test_a_page_without_pictures(result: rgwot.Discovery, tmp_path: Path) -> None:
    named = replace(result, names={2: "stir"})
    assert named.page(tmp_path / "tea.html") == tmp_path / "tea.html"
    assert [path.name for path in tmp_path.iterdir()] == ["tea.html"]
    page = (tmp_path / "tea.html").read_text()
    assert "stir" in page
    assert "results/keysteps/whitened/meanfield/arrays/task/seed0/names.yaml" in page
    assert tempfile.gettempdir() not in page
    assert re.search(r'"merges":\s*\[\[', page)
    trivial = rgwot.discover(recordings(), fps=2, K=3, method="none", decoder="uniform")
    assert trivial.page(tmp_path / "uniform.html").is_file()


def test_a_saved_result_comes_back(result: rgwot.Discovery, tmp_path: Path) -> None:
    named = replace(result, names={1: "pour"})
    folder = named.save(tmp_path / "results")
    for place in (folder, tmp_path / "results", tmp_path):
        back = rgwot.load(place)
        assert repr(back) == repr(result)
        for table in ("segments", "order", "procedures", "deviations", "samples"):
            assert getattr(back, table).equals(getattr(result, table)), table
        assert (back.procedure, back.orders, back.names) == (result.procedure, result.orders, named.names)
        assert back.diagnostics == result.diagnostics
        np.testing.assert_allclose(back.embeddings["b b"], result.embeddings["b b"], rtol=1e-6, atol=1e-6)
    with pytest.raises(RgwotError, match="found no bundles, expected one; write one there by Discovery.bundle"):
        back.predict(recordings())
    named.bundle(tmp_path / "results/tea.rgwot")
    taught = rgwot.load(tmp_path / "results")
    new = {"new": recordings()["c"] + 0.01}
    np.testing.assert_array_equal(taught.predict(new)["new"], result.predict(new)["new"])
    assert taught.stability(2).mean == 1
    reseeded(result, 1).save(tmp_path / "results")
    with pytest.raises(RgwotError, match="2 results .*; expected one folder of key steps"):
        rgwot.load(tmp_path / "results")
    assert rgwot.load(folder).run == result.run
    with pytest.raises(RgwotError, match="nowhere: no such folder; expected one folder of key steps"):
        rgwot.load(tmp_path / "nowhere")


def test_a_loaded_result_learns_like_the_one_that_was_saved(result: rgwot.Discovery, tmp_path: Path) -> None:
    turned = {"b b": np.where(STEPS > 1, STEPS, -1), "d": STEPS}
    here = result.learn(turned)
    result.save(tmp_path)
    back = rgwot.load(tmp_path)
    there = back.learn(turned)
    for table in ("segments", "order", "deviations", "samples"):
        assert getattr(there, table).equals(getattr(here, table)), table
    assert (there.procedure, there.run, there.warnings) == (here.procedure, here.run, here.warnings)
    for name in NAMES:
        np.testing.assert_array_equal(there.probabilities[name], here.probabilities[name])
    assert back.suggest(videos=2) == result.suggest(videos=2)
    assert pickle.loads(pickle.dumps(back)).learn(turned).segments.equals(here.segments)
    # A list is in the order of the recordings, and labels that do not fit are reported as in discover.
    assert back.learn([None, turned["b b"], None, STEPS]).segments.equals(here.segments)
    with pytest.raises(RgwotError, match=r"labels\['a'\]: found 2 labels from 0, expected 30 whole numbers"):
        back.learn({"a": [1, 2]})
    with pytest.raises(RgwotError, match="found none, because labels were given to a loaded result, without features"):
        there.predict(recordings())
    with pytest.raises(RgwotError, match="probabilities: found a loaded result .*, and save stores no probabilities"):
        _ = back.probabilities
    trivial = rgwot.discover(recordings(), fps=2, K=3, method="none", decoder="uniform")
    with pytest.raises(RgwotError, match="learn: found a result of none/uniform/seed0, which has no embeddings"):
        trivial.learn(turned)


def test_videos_that_were_held_out_and_samples_that_were_missing_stay_so(tmp_path: Path) -> None:
    gaps = recordings()
    gaps["a"][4:6] = np.nan
    split = "whitened@data.split=holdout"
    result = rgwot.discover(gaps, fps=2, K=3, method=split, decoder="meanfield", missing="background")
    result.save(tmp_path)
    back = rgwot.load(tmp_path)
    assert result.embedded is not None
    assert back.embedded is not None
    assert len(result.embedded.held_out) > 0
    assert back.embedded.held_out == result.embedded.held_out
    labelled = {name: STEPS for name in ("b b", "c", "d") if name.replace(" ", "%20") not in result.embedded.held_out}
    here, there = result.learn(labelled), back.learn(labelled)
    assert there.segments.equals(here.segments)
    assert set(there.labels["a"][4:6]) == {0}
    assert [line for line in there.warnings if "NaN" in line] == [line for line in here.warnings if "NaN" in line] != []


def test_segments_that_do_not_count_are_drawn_paler(result: rgwot.Discovery) -> None:
    table = result.key_steps.segments["task"]
    changed = {video: rows.assign(counts=rows["key_step"] != 2) for video, rows in table.items()}
    pale = replace(result, key_steps=replace(result.key_steps, segments={"task": changed}))
    for drawn, alphas in ((result, [None] * 4), (pale, [None, None, 0.4, None])):
        axis = drawn.plot(videos=["a"]).axes[0]
        # The first bar is the whole recording.
        assert [bar.get_alpha() for bar in axis.collections] == alphas
    plt.close("all")


def test_a_result_without_embeddings_comes_back_with_times_by_its_rate(tmp_path: Path) -> None:
    trivial = rgwot.discover(recordings(), fps=2, K=3, method="none", decoder="uniform")
    back = rgwot.load(trivial.save(tmp_path))
    assert back.segments.equals(trivial.segments)
    assert back.embedded is None
    assert list(back.labels) == list(NAMES)
