"""Expected procedures: their files, and how videos differ from the procedures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from planted import recordings

from rgwot.diagnostics import Diagnostics, LabelledFacts
from rgwot.keysteps.ordering import KeySteps, counted
from rgwot.paths import Run, Tree
from rgwot.procedure import Recording, learn, recordings_from_segments
from rgwot.procedure.expected import ExpectedStep, compare_with_own, parse_expected
from rgwot.reporting.export import read_videos
from rgwot.reporting.show import procedure_lines
from rgwot.runtime.errors import RgwotError
from rgwot.stages.decode import own_deviations, write_keysteps
from rgwot.stages.procedure import read_deviation_list, read_expected

NAMES = {1: "wet", 2: "soap", 3: "scrub", 4: "dry"}
LIST = ["wet", "soap", {"step": "scrub", "repeatable": True}, {"step": "nails", "optional": True}, "dry"]


def differing(content: Any, videos: list[Recording], names: dict[int, str] | None = None) -> set[tuple[str, str, int]]:
    own = compare_with_own(parse_expected(content, "sop.yaml"), NAMES if names is None else names, videos)
    assert own is not None
    assert all(deviation.against == "own" for deviation in own.deviations)
    return {(deviation.video, deviation.kind, deviation.key_step) for deviation in own.deviations}


def test_a_list_is_a_chain_and_needs_pass_through_steps_that_nobody_does() -> None:
    steps = parse_expected(LIST, "sop.yaml")
    assert steps[3] == ExpectedStep("nails", ("scrub",), optional=True)
    # v0 is in order; v1 repeats scrub, which is allowed, and soap, which is not; v2 leaves out wet; v3 dries too early.
    videos = recordings((1, 2, 3, 4), (1, 2, 3, 2, 3, 4), (2, 3, 4), (1, 2, 4, 3))
    assert differing(LIST, videos) == {("v1", "repeated", 2), ("v2", "missing", 1), ("v3", "too_early", 4)} | (
        differing(LIST, videos) & {("v3", "too_late", 3)}
    )
    own = compare_with_own(steps, NAMES, videos)
    assert own is not None
    assert (own.undone, own.lacking, own.unnamed) == (("nails",), (), ())
    assert own.sentences() == ["Nobody does nails, which your procedure has."]


def test_needs_as_a_graph_leave_the_rest_free() -> None:
    graph = {"wet": None, "soap": {}, "dry": {"needs": ["wet", "soap"]}}
    videos = recordings((1, 2, 4), (2, 1, 4), (1, 4, 2))
    (only,) = differing(graph, videos)
    assert (only[0], only[1][:3]) == ("v2", "too")
    # A step that the procedure lacks counts as added in every video that has it; steps without a name are not compared.
    videos = recordings((1, 2, 3, 4), (1, 2, 5, 4))
    assert differing(graph, videos) == {("v0", "added", 3)}
    own = compare_with_own(parse_expected(graph, "sop.yaml"), NAMES, videos)
    assert own is not None
    assert (own.lacking, own.unnamed) == (("scrub",), (5,))
    assert compare_with_own(parse_expected(graph, "sop.yaml"), {}, videos) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "found nothing, expected a list of steps in order"),
        ("wet", "found str, expected a list of steps"),
        ("[wet, 3]", "found the step 3, expected a name; put it in quotes"),
        ("[wet, soap, wet]", "found the step 'wet' twice, expected every step once"),
        ("[{step: wet, optonal: true}]", "'wet': found the key 'optonal', .*optional"),
        ("[{step: wet, optional: maybe}]", "'wet': optional: found 'maybe', expected true or false"),
        ("[{wet: optional}]", "found {'wet': 'optional'}, expected a name, or a mapping with step: NAME"),
        ("{wet: {needs: [sop]}, soap: {}}", "'wet': found the need 'sop', .*soap"),
        ("{wet: {needs: soap}, soap: {}}", r"'wet': needs: found 'soap', expected a list of names"),
        ("{wet: {needs: [dry]}, dry: {needs: [soap]}, soap: {needs: [wet]}}", "found the circle .* > .*expected needs"),
        ("wet: [", "sop.yaml"),
    ],
)
def test_bad_files_are_one_line(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "sop.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RgwotError, match=words) as caught:
        read_expected(path)
    assert "\n" not in str(caught.value)
    assert "sop.yaml" in str(caught.value)
    with pytest.raises(RgwotError, match="no such file"):
        read_expected(tmp_path / "other.yaml")


def test_a_study_that_expects_a_procedure_lists_what_differs_from_it(tmp_path: Path) -> None:
    orders = ["abcd", "abcd", "acbd", "abd"]
    rows = [
        (f"v{n}", 4.0 * at, 4.0 * at + 4, ord(step) - 96)
        for n, order in enumerate(orders)
        for at, step in enumerate(order)
    ]
    table = pd.DataFrame(rows, columns=["video", "start_s", "end_s", "key_step"])
    segments = {str(video): own.drop(columns="video").reset_index(drop=True) for video, own in table.groupby("video")}
    segments = counted(segments, {})
    diagnostics = Diagnostics(K=4, labelled=LabelledFacts(videos=["v0"], names=NAMES))
    procedure = learn(recordings_from_segments(table))
    key_steps = KeySteps({"task": segments}, dict.fromkeys(segments, (1, 2, 3, 4)), procedure, diagnostics)
    tree = Tree(tmp_path / "results", "mine", "tea")
    folder = tree.keysteps(Run("raw", "labelled", 0))
    expected = parse_expected(["wet", "soap", "scrub", "dry"], "sop.yaml")
    # Labels name the key steps, so that deviations.csv has both kinds.
    write_keysteps(folder, key_steps, expected)
    actual = [
        (one.video, one.kind, one.key_step)
        for one in read_deviation_list(folder / "deviations.csv")
        if one.against == "own"
    ]
    assert actual == [(one.video, one.kind, one.key_step) for one in own_deviations(key_steps, expected)]
    assert ("v3", "missing", 3) in actual
    assert any(video == "v2" and kind.startswith("too") for video, kind, _ in actual)
    # The study names the file, and readers use its present content.
    (tmp_path / "config.yaml").write_text("datasets: {mine: {expected: '{task}.yaml'}}\n", encoding="utf-8")
    (tmp_path / "tea.yaml").write_text("[wet, soap, {step: scrub, optional: true}, dry, cream]\n", encoding="utf-8")
    lines = procedure_lines(folder)
    assert "Nobody does cream, which your procedure has." in lines
    assert any("against your procedure" in line for line in lines)
    told_now = {
        (video.name, row.deviation.kind)
        for video in read_videos(folder)
        for row in video.deviations
        if row.deviation.against == "own"
    }
    assert {video for video, _ in told_now} == {"v2"}
    # Without names of key steps, nothing can be compared.
    write_keysteps(folder, KeySteps({"task": segments}, key_steps.orders, procedure, Diagnostics(K=4)), expected)
    assert any("name the key steps" in line for line in procedure_lines(folder))
