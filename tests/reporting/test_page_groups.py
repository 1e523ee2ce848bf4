"""Groups of videos on the page: the numbers of the table, and only where groups were compared."""

from __future__ import annotations

from pathlib import Path

import pytest
from chromium import WHERE, WITHOUT, Browser
from page_tree import embedded_data
from page_window import tab
from procedure_tree import RUN, make_tree

from rgwot import paths
from rgwot.paths import at
from rgwot.records import read_segments
from rgwot.reporting.groups import groups_of_result
from rgwot.reporting.page.render import write_page
from rgwot.runtime.csv_files import write_csv


@pytest.fixture(scope="module")
def grouped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of eight recordings in one order, eight in another, and three of a third group."""
    folder = tmp_path_factory.mktemp("groups")
    tree = make_tree(folder, "grouped", [(1, 2, 3, 4)] * 8 + [(3, 2, 1, 4)] * 8 + [(1, 2, 3)] * 3)
    names = sorted(read_segments(tree.at(paths.SEGMENTS, RUN))["video"].unique())
    videos = folder / "videos.csv"
    labels = ["<b>ours"] * 8 + ["theirs"] * 8 + ["third"] * 3
    videos.write_text("video,group\n" + "".join(f"{a},{b}\n" for a, b in zip(names, labels, strict=True)))
    table = groups_of_result(tree.keysteps(RUN), videos, "group", None)
    where = {"dataset": tree.dataset, "task": tree.task, "method": RUN.method, "decoder": RUN.decoder, "seed": RUN.seed}
    write_csv(table, at(paths.GROUPS, tree.results, column="group", **where))
    write_page(tree, tree.results, [RUN], tree.at(paths.PAGE), groups="group")
    write_page(tree, tree.results, [RUN], tree.at(paths.PAGE).with_name("without.html"))
    return tree.at(paths.PAGE)


def test_only_where_groups_were_compared(grouped: Path) -> None:
    assert 'id="groups"' in grouped.read_text(encoding="utf-8")
    without = grouped.with_name("without.html")
    assert 'id="groups"' not in without.read_text(encoding="utf-8")
    assert embedded_data(without)["groups"] is None
    shown = embedded_data(grouped)["groups"]["runs"]["0"]
    assert shown["groups"] == ["<b>ours", "theirs", "third"]
    assert shown["few"].endswith("third has 3")
    assert "in brackets 68 % bootstrap intervals" in shown["about"]
    assert "With 8, 8 and 3 videos, " in shown["about"]
    # Four key steps, six measures, all groups and three pairs.
    assert len(shown["rows"]) == 4 * 6 * 4


@pytest.mark.skipif(WHERE is None, reason=WITHOUT)
def test_what_is_seen(grouped: Path, browser: Browser) -> None:
    window = browser.window()
    window.open(grouped)
    tab(window, "procedure")
    said = window.get("document.getElementById('groups').innerText")
    assert "<b>ours (n = 8), theirs (n = 8), third (n = 3); the unit is the video." in said
    assert "third has 3" in said
    assert "place: <b>ours 0.125, theirs 0.625; adjusted p" in said
    window.run(
        "const own = document.getElementById('groups-measure'); own.value = 'transitions';"
        "own.dispatchEvent(new Event('change'));"
    )
    assert "Followed by" in window.get("document.getElementById('groups-table').innerText")
    assert window.errors == []
