"""The first view of a page as a file: what cards and lines show of a given procedure."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
from procedure_tree import CASES, EACH_S, FOUND, GIVEN, RUN, given_page, make_page, make_tree, rows_of

from rgwot import paths
from rgwot.columns import SEGMENT_COLUMNS
from rgwot.keysteps.warnings import COMPETING
from rgwot.paths import Run
from rgwot.procedure import Deviation, recordings_from_segments
from rgwot.procedure.facts import STEP_HEADINGS, step_facts
from rgwot.reporting.page.data import Video
from rgwot.reporting.page.render import write_page
from rgwot.reporting.page.runs import MOST_DEVIATIONS, MOST_LINES, NOTHING, picture, seeds_agree
from rgwot.reporting.page.shell import script, style_sheet
from rgwot.reporting.show import deviation_lines
from rgwot.stages.procedure import read_procedure

VOID = {"meta", "link", "input", "img", "br", "source", "circle", "rect", "path", "line", "polyline"}


class Element:
    """An element of a page, with its attributes, its text, and the elements inside it."""

    def __init__(self, tag: str, attributes: dict[str, str]) -> None:
        self.tag, self.attributes = tag, attributes
        self.inside: list[Element] = []
        self.words: list[str] = []

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def all(self, name: str) -> list[Element]:
        """Return the elements of a class, or of a tag, in the order of the page."""
        own = [self] if name in (self.tag, *self.attributes.get("class", "").split()) else []
        return own + [found for element in self.inside for found in element.all(name)]

    def one(self, name: str) -> Element:
        (found,) = self.all(name)
        return found

    def __getitem__(self, name: str) -> str:
        return self.attributes[name]


class Page(HTMLParser):
    """The elements of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.root = Element("page", {})
        self.open = [self.root]
        self.feed(path.read_text(encoding="utf-8"))
        assert self.open == [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].inside.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        assert tag in VOID

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.words.append(data)


def shown(path: Path) -> Element:
    return Page(path).root.one("procedure")


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Element:
    return shown(given_page(tmp_path_factory.mktemp("given")))


def test_cards_are_the_key_steps_of_the_file_in_the_order_of_the_consensus(given: Element) -> None:
    nodes = given.all("node")
    assert [node["data-step"] for node in nodes] == ["1", "2", "3", "5", "4"]
    assert [node.one("head").one("chip").text for node in nodes] == ["1", "2", "3", "5", "4"]
    facts = {node["data-step"]: node.one("facts").text for node in nodes}
    assert facts == {
        "1": "found in 10 of 10 about 5 s",
        "2": "found in 10 of 10 about 75 s",
        "3": "found in 9 of 10 about 0.4 s",
        "5": "found in 6 of 10 about 12 s",
        "4": "found in 10 of 10 2:10 min per video, 2.5 times",
    }
    assert [node["data-step"] for node in nodes if "optional" in node["class"].split()] == ["5"]
    assert [node["data-step"] for node in nodes if node.all("times")] == ["4"]
    assert "2.5 times" in nodes[-1].one("times").text


def test_layers_follow_the_order_and_cards_say_what_their_place_does_not(given: Element) -> None:
    layers = given.all("layer")
    assert [[node["data-step"] for node in layer.all("node")] for layer in layers] == [["1"], ["2", "3"], ["5"], ["4"]]
    assert [[caption.text for caption in layer.all("caption")] for layer in layers] == [
        [],
        ["found in either order"],
        [],
        [],
    ]
    after = {node["data-step"]: [one.text for one in node.all("after")] for node in given.all("node")}
    # Some videos contradict that 2 and 3 need 1; what 5 needs is not known; 4 does not need 5.
    unknown = ["nothing is known to come before it"]
    assert after == {"1": [], "2": ["after 1 ?"], "3": ["after 1 ?"], "5": unknown, "4": ["after 2 3"]}
    needs = {node["data-step"]: json.loads(node["data-needs"]) for node in given.all("node")}
    assert {step: "".join(own) for step, own in needs.items()} == {"1": "", "2": "1", "3": "1", "5": "", "4": "23"}
    assert needs["2"]["1"] == "in 8 of 10 videos where both were found"


@pytest.mark.parametrize("name", sorted(CASES))
def test_every_key_step_is_in_a_layer_after_all_that_it_needs(tmp_path: Path, name: str) -> None:
    tree = make_tree(tmp_path, name)
    procedure = read_procedure(tree.at(paths.PROCEDURE, RUN))
    layers = [[card.node.key_step for card in layer] for layer in picture(0, procedure, [], [], []).layers]
    assert [step for layer in layers for step in layer] == list(procedure.order)
    layer_of = {step: at for at, layer in enumerate(layers) for step in layer}
    assert all(layer_of[edge.before] < layer_of[edge.after] for edge in procedure.needs if edge.known)  # type: ignore[index]
    assert sorted(tuple(sorted(layer)) for layer in layers if len(layer) > 1) == sorted(
        procedure.either_order + procedure.unordered
    )


def test_the_table_is_that_of_the_terminal(given: Element) -> None:
    table = given.one("steptable")
    # Columns without content are left out.
    assert [cell.text for cell in table.all("th")] == list(STEP_HEADINGS[:-1])
    cells = [[cell.text for cell in row.all("td")] for row in table.all("tr")[1:]]
    recordings = recordings_from_segments(pd.DataFrame(rows_of("usual"), columns=list(SEGMENT_COLUMNS)))
    rows = [row.cells() for row in step_facts(GIVEN, recordings)]
    cells = [[cell.replace(" ,", ",").replace(" ?", "?") for cell in row] for row in cells]
    assert cells == [list(row[:-1]) for row in rows]
    assert cells[1][5] == "1? (8 of 10)"
    assert cells[-1][0] == "no key step"
    # The needs of a card are given once: on the card or, if its position shows them, to screen readers alone.
    assert {bool(node.all("after")) + bool(node.all("unseen")) for node in given.all("node")[1:]} == {1}
    # All buttons together are one tab stop.
    assert [face["tabindex"] for face in given.all("face")] == ["0", "-1", "-1", "-1", "-1"]


def test_lines_are_the_videos_with_the_deviations_of_the_file(given: Element) -> None:
    lines = given.all("line")
    assert [line["data-video"] for line in lines] == [str(at) for at in range(len(CASES["usual"]))]
    assert [bool(line.all("badge")) for line in lines] == [False, True] + [False] * (len(lines) - 2)
    moments = lines[0].all("deviation")
    kinds = [next(kind for kind in ("missing", "too_late", "repeated") if kind in one["class"]) for one in moments]
    chosen = [(kind, float(one["data-start"])) for kind, one in zip(kinds, moments, strict=True)]
    # Deviations are sorted by time; the least surprising ones are behind a button.
    assert [one for one, moment in zip(chosen, moments, strict=True) if "hidden" not in moment.attributes] == [
        ("missing", 4.0), ("too_late", 8.5), *(("repeated", 65.0 + at) for at in range(2, MOST_DEVIATIONS)),
    ]  # fmt: skip
    assert sorted(chosen) == sorted((one.kind, one.start_s) for one in FOUND)
    assert [moment.text for moment in moments[:2]] == [
        "2 perhaps left out, by a second reading alone, due about 0:06",
        "1 perhaps too late, by a second reading alone 0:09",
    ]  # fmt: skip
    assert "2" in lines[0].one("more").text
    assert all(not line.all("deviation") for line in lines[1:])


@pytest.mark.parametrize(
    ("name", "words", "n_cards"),
    [("background", "background", 0), ("one_step", "one key step", 1), ("two_videos", "two videos", 5),
     ("contradictory", "contradict", 5)],
)  # fmt: skip
def test_bad_input_has_a_clear_word(tmp_path: Path, name: str, words: str, n_cards: int) -> None:
    page = shown(make_page(tmp_path, name))
    order, doubt = page.all("sentences")
    assert order.text
    assert words in f"{order.text} {doubt.text}".lower()
    assert len(page.all("node")) == n_cards
    if name == "contradictory":
        assert page.one("caption").text == "found in any order"


def test_many_videos_are_folded(tmp_path: Path) -> None:
    path = make_page(tmp_path, "many", [(1, 2, 3)] * (MOST_LINES + 5))
    # What grows with the videos, without the script and the style sheet.
    assert path.stat().st_size - len(script().encode()) - len(style_sheet().encode()) < 45_000
    page = shown(path)
    assert len(page.all("line")) == MOST_LINES + 5
    assert len(page.all("lines")[0].all("line")) == MOST_LINES
    assert len(page.all("lines")) == 2


def test_a_trivial_answer_has_no_procedure(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, "usual")
    trivial = Run("none", "random", 0)
    shutil.copytree(tree.keysteps(RUN), tree.keysteps(trivial))
    write_page(tree, tree.results, [trivial], tree.at(paths.PAGE))
    assert Page(tree.at(paths.PAGE)).root.all("procedure") == []


def test_seeds_are_compared_with_those_of_the_same_method_alone() -> None:
    runs = [Run("a", "b", 0), Run("a", "c", 0), Run("a", "b", 1), Run("a", "b", 2)]
    shares = {(0, 2): 0.8, (0, 3): 0.9, (2, 3): 0.7}

    def agreed(one: int, other: int) -> float | None:
        return shares[one, other]

    assert seeds_agree(runs[0], runs, agreed) == ["3 tries agree in 80 of 100 frames, on average over pairs"]
    assert seeds_agree(runs[1], runs, agreed) == []
    assert seeds_agree(runs[0], runs[:3], agreed) == ["2 tries agree in 80 of 100 frames"]
    assert seeds_agree(runs[0], runs, lambda *_: None) == []


def test_the_telling_has_a_place_for_the_name_of_every_key_step(tmp_path: Path) -> None:
    said, *_ = shown(make_page(tmp_path, "three")).all("sentences")
    assert [(one["data-step"], one.text) for one in said.all("called")] == [("1", "1"), ("2", "2"), ("3", "3")]
    assert re.sub(r" ([,.])", r"\1", said.text).startswith("The order that best fits the videos is 1, then 2, then 3.")


def test_seeds_and_other_results_say_how_far_to_trust(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, "three")
    other = Run(RUN.method, RUN.decoder, 1)
    shutil.copytree(tree.keysteps(RUN), tree.keysteps(other))
    table = pd.read_csv(tree.at(paths.SEGMENTS, other))
    # The other seed numbers the same key steps differently, and has another last key step in the first of six videos:
    # 4 of 68 s differ.
    table["key_step"] = table["key_step"].map({1: 3, 2: 1, 3: 2})
    table.loc[2, "key_step"] = 3
    seconds = EACH_S * sum(map(len, CASES["three"]))
    table.to_csv(tree.at(paths.SEGMENTS, other), index=False)
    # Its procedure does not matter here.
    write_page(tree, tree.results, [RUN, other], tree.at(paths.PAGE))
    for page in Page(tree.at(paths.PAGE)).root.all("procedure"):
        _, doubt = page.all("sentences")
        assert "was compared with no labels" in doubt.text
        assert f"2 tries agree in {100 * (1 - EACH_S / seconds):.0f} of 100 frames" in doubt.text


def test_what_another_seed_does_not_find_is_folded_away_where_the_decoder_knows_nothing(tmp_path: Path) -> None:
    full = (1, 2, 3, 4)
    tree = make_tree(tmp_path, "omissions", [full] * 10 + [(1, 3, 4), (1, 2, 4)])
    other = Run(RUN.method, RUN.decoder, 1)
    shutil.copytree(tree.keysteps(RUN), tree.keysteps(other))
    table = pd.read_csv(tree.at(paths.SEGMENTS, other))
    # The other seed numbers all steps differently, and finds step 2 instead of half of step 1 in the eleventh video.
    own = table["video"] == "video 11"
    first = table[own & (table["key_step"] == 1)].index[0]
    table.loc[first, "end_s"] = EACH_S / 2
    table.loc[len(table)] = ["video 11", "task", EACH_S / 2, EACH_S, 2]
    table = table.sort_values(["video", "start_s"], kind="stable")
    table.assign(key_step=table["key_step"].map({1: 3, 2: 4, 3: 1, 4: 2})).to_csv(
        tree.at(paths.SEGMENTS, other), index=False
    )
    write_page(tree, tree.results, [RUN, other], tree.at(paths.PAGE))
    first_seed = Page(tree.at(paths.PAGE)).root.all("procedure")[0]
    lines = {line["data-video"]: line for line in first_seed.all("line")}

    def told(video: int) -> list[tuple[str, bool]]:
        chips = lines[str(video)].all("deviation")
        return [(chip["data-step"], "hidden" in chip.attributes) for chip in chips]

    assert (told(10), told(11)) == ([("2", True)], [("3", False)])
    assert lines["11"].one("deviation").text == "3 left out, due about 0:08"


def test_the_videos_that_differ_most_are_named_by_their_deviations(tmp_path: Path) -> None:
    videos = [(1, 2, 3, 4, 5)] * 10 + [(1, 2, 3, 5), (5, 2, 4)]
    path = make_page(tmp_path, "unlike", videos)
    page = shown(path)
    n = {line["data-video"]: len(line.all("deviation")) for line in page.all("line")}
    assert (
        f"Most deviations were found in video 12 (perhaps {n['11']}), then in video 11 (perhaps {n['10']})."
        in page.text
    )
    alike = shown(make_page(tmp_path, "alike", [(1, 2, 3)] * 4))
    assert "Most deviations were" not in alike.text
    # Doubtful deviations are folded away and do not count; where none is sure, the number is not sure either.
    surenesses = [(0.9, 0.9, 0.1), (0.9,), (0.5, 0.1, 0.1)]
    found = [
        Deviation(f"v{at}", "missing", 2, 1.0, 2.0, 3.0, sure) for at, known in enumerate(surenesses) for sure in known
    ]
    videos_of = [Video(f"v{at}", f"take {at}", "unscored", "", 9.0, 30.0, 1.0, False, False, 0.0, "", None, (1, 1))
                 for at in range(3)]  # fmt: skip
    procedure = read_procedure(make_tree(tmp_path, "usual").at(paths.PROCEDURE, RUN))
    told = picture(0, procedure, found, [], videos_of).most_different
    apart = ", not counting doubtful ones."
    assert told == f"Most deviations were found in take 0 (2), then in take 1 and take 2 (1 each){apart}"
    told = picture(0, procedure, found[4:], [], videos_of).most_different
    assert told == f"Most deviations were found in take 2 (perhaps 1){apart}"
    assert picture(0, procedure, found[-1:], [], videos_of).most_different == ""
    # Equal videos are not ranked.
    both = shown(make_page(tmp_path, "both", [(1, 2, 3, 4)] * 10 + [(1, 3, 4), (1, 2, 4)]))
    assert "Most deviations were found in video 11 and video 12 (perhaps 1 each)." in both.text
    # Four videos are too few to know an order: neither needs nor free orders are listed, nor is there a bracket.
    assert [cell.text for cell in alike.one("steptable").all("th")] == [
        heading for heading in STEP_HEADINGS[:5] if heading != "Times per video"
    ]
    assert "Brackets" not in alike.text
    assert "Brackets" in both.text


def test_videos_without_a_deviation_have_the_same_words_as_rgwot_show(tmp_path: Path) -> None:
    # A key step that few videos have is not missing in the others.
    lines = shown(make_page(tmp_path, "few", [(1, 2, 3)] * 6 + [(1, 2, 4, 3)] * 3)).all("line")
    assert [line.one("moments").text for line in lines] == [NOTHING] * 9
    assert [f"{NOTHING.capitalize()}."] == deviation_lines([])


def test_where_no_video_differs_a_key_step_may_hold_two(tmp_path: Path) -> None:
    procedure = read_procedure(make_tree(tmp_path, "alike", [(1, 2, 3)] * 6).at(paths.PROCEDURE, RUN))
    assert picture(0, procedure, [], [], []).complete
    assert picture(0, procedure, [], [], [], pending="Not yet.").complete == ""
    assert picture(0, procedure, FOUND, [], []).complete == ""


def test_kinds_of_deviations_that_cannot_be_told_are_in_no_sentence(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, "repeats")
    procedure = read_procedure(tree.at(paths.PROCEDURE, RUN))
    videos = recordings_from_segments(pd.DataFrame(rows_of("repeats"), columns=list(SEGMENT_COLUMNS)))
    told, silent = (
        "".join(picture(0, procedure, [], videos, [], blind=blind).sentences[0]) for blind in ((), ("repeated",))
    )
    assert "was found again" in told
    assert "was found again" not in silent


def test_competing_answers_are_one_sentence_after_the_order(tmp_path: Path) -> None:
    procedure = read_procedure(make_tree(tmp_path, "usual").at(paths.PROCEDURE, RUN))
    warnings = [f"{COMPETING.capitalize()}: {what}; see both." for what in ("one", "two")]
    for n, what in (1, "one"), (2, "one; two"):
        (said, *_) = picture(0, procedure, [], [], [], competing=warnings[:n]).sentences
        assert "".join(said).endswith(f" possible: {what} (see Trust).")


@pytest.mark.parametrize(
    ("name", "signs"),
    [("alike", [False, False]), ("doubted", [False, True]), ("few", [True, False])],
)
def test_the_legend_explains_the_signs_that_occur(tmp_path: Path, name: str, signs: list[bool]) -> None:
    videos = {
        "alike": [(1, 2, 3)] * 6,
        # One video contradicts that 2 comes before 3, or lacks 4 like some others.
        "doubted": [(1, 2, 3)] * 9 + [(1, 3, 2)],
        "few": [(1, 2, 3)] * 4 + [(1, 2, 3, 4)] * 5,
    }[name]
    page = shown(make_page(tmp_path, name, videos))
    dashed = [node for node in page.all("node") if "optional" in node["class"].split()]
    asked = [after for after in page.all("after") if "?" in after.text]
    assert [bool(dashed), bool(asked)] == signs
    assert ["dashed card" in page.text, "question mark" in page.text] == signs


def test_usual_repeats_are_in_a_sentence_and_in_no_line(tmp_path: Path) -> None:
    page = shown(make_page(tmp_path, "again", [(1, 4, 0, 4, 0, 4)] * 5 + [(1, 4)]))
    assert "In 5 of 6 videos, 4 was found twice in a row; only once in video 06." in page.text
    assert [line.one("moments").text for line in page.all("line")] == [NOTHING] * 6
