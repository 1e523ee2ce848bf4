"""Corrections of whole results: in memory, in folders, and in bundles that label other videos."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import rgwot
from rgwot.cli import cli
from rgwot.corrections import parse_edits, reference, write_corrections
from rgwot.records import read_deviations, read_orders, read_segments
from rgwot.reporting.names import names_in
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import write_csv, write_json
from rgwot.runtime.provenance import digests, record_path
from rgwot.study.verify import differences


def arrays(seed: int) -> dict[str, np.ndarray]:
    """Five videos of four steps of five seconds, the last two of which are alike."""
    rng = np.random.default_rng(seed)
    looks = np.random.default_rng(0).normal(size=(4, 16))
    looks[3] = looks[2] + 0.6 * looks[3]
    steps = np.repeat(looks, 10, axis=0)
    return {f"v{at}": steps + rng.normal(scale=0.2, size=steps.shape) for at in range(5)}


def found(seed: int = 0, K: int = 4) -> rgwot.discovery.Discovery:
    return rgwot.discover(arrays(0), fps=2, K=K, method="whitened", decoder="meanfield", seed=seed)


def test_corrections_of_one_result_hold_for_another_seed_and_are_listed_for_another_K(tmp_path: Path) -> None:
    first = found()
    order = first.procedure.order
    assert len(order) == 4
    one, other = order[0], order[1]
    segments = first.segments[first.segments["scope"] == "task"]
    video, start_s, end_s = reference(first.segments, order[2])[0]
    file = tmp_path / "tea.yaml"
    edits = parse_edits(
        [
            {"edit": "merge", "step": meant(first, one), "into": meant(first, other)},
            {"edit": "rename", "step": meant(first, order[3]), "name": "rinse"},
            {"edit": "border", "segment": [video, start_s, end_s], "start": start_s + 1.25},
        ]
    )
    write_corrections(edits, file)
    corrected = first.correct(file)
    assert first.procedure.order == order
    assert len(corrected.procedure.order) == 3
    assert corrected.diagnostics["corrections"] == {"edits": 3, "hold": 3}
    assert corrected.names == {order[3]: "rinse"}
    assert set(np.unique(corrected.labels[video])) == {other, *order[2:]}
    assert (corrected.labels[video] == order[2]).sum() < (first.labels[video] == order[2]).sum()
    assert corrected.orders[video] == (other, *order[2:])

    again = found(seed=5)
    anew = again.correct(file)
    assert anew.diagnostics["corrections"]["hold"] == 3
    assert len(anew.procedure.order) == 3
    (named,) = anew.names
    at = segments[(segments["key_step"] == order[3])].iloc[0]
    middle = int(at["start_s"] + at["end_s"])
    assert anew.labels[at["video"]][middle] == named

    # With two key steps some of it means nothing; it is said, and the rest is done.
    fewer = found(K=2).correct(file)
    counts = fewer.diagnostics["corrections"]
    assert counts["hold"] < 3
    assert sum("does not hold" in warning for warning in fewer.warnings) == 3 - counts["hold"]


def test_by_number_in_memory_and_never_in_a_file(tmp_path: Path) -> None:
    first = found()
    one, other = first.procedure.order[:2]
    corrected = first.correct([{"edit": "merge", "step": one, "into": other}])
    assert one not in corrected.procedure.order
    assert first.correct([{"edit": "background", "step": 77}]).diagnostics["corrections"]["hold"] == 0
    (tmp_path / "x.yaml").write_text(json.dumps([{"edit": "background", "step": 1}]))
    with pytest.raises(RgwotError, match="step: found '1', expected a list of segments"):
        first.correct(tmp_path / "x.yaml")
    with pytest.raises(RgwotError, match=r"nowhere\.yaml: no such file"):
        first.correct(tmp_path / "nowhere.yaml")


def test_the_verb_writes_a_result_like_any_other_beside_the_one_that_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = found()
    folder = first.save(tmp_path / "results", "mine", "tea")
    output = tmp_path / "results/corrected/whitened/meanfield/mine/tea/seed0"
    before = (folder / "segments.csv").read_bytes()
    one, other = first.procedure.order[:2]
    edits = [
        {"edit": "merge", "step": meant(first, one), "into": meant(first, other)},
        {"edit": "rename", "step": meant(first, one) + meant(first, other), "name": "x", "by": "Ann"},
        {"edit": "delete", "segment": ["gone", 0, 1], "why": "no step"},
    ]
    write_corrections(parse_edits(edits), tmp_path / "tea.yaml")
    said = CliRunner().invoke(
        cli, ["correct", str(output), "--keysteps", str(folder), "--corrections", str(tmp_path / "tea.yaml")]
    )
    assert said.exit_code == 0, said.output
    assert (folder / "segments.csv").read_bytes() == before
    corrected = first.correct(tmp_path / "tea.yaml")
    pd.testing.assert_frame_equal(read_segments(output / "segments.csv"), corrected.segments, check_dtype=False)
    pd.testing.assert_frame_equal(read_orders(output / "order.csv"), corrected.order)
    assert len(read_deviations(output / "deviations.csv")) == len(corrected.deviations)
    assert json.loads((output / "procedure.json").read_text())["order"] == list(corrected.procedure.order)
    assert names_in(output, {}) == corrected.names
    assert pd.read_csv(output / "corrections.csv")["holds"].tolist() == [True, True, False]
    assert "2 of 3 corrections hold here" in said.output
    assert "correction 3 (delete, no step) does not hold here: its video is not in this result" in said.output
    # Exported, it has its names; of the result as it was found an export says where the other is.
    for source, named in ((output, True), (folder, False)):
        assert CliRunner().invoke(cli, ["export", "csv", str(source), str(tmp_path / "exported")]).exit_code == 0
        assert (",x\n" in (tmp_path / "exported/segments.csv").read_text()) == named
    assert f"{output} has your corrections" in caplog.text
    # Edited in place it is no result of ours, and that is said with the place for corrections.
    segments = output.parent / "seed1/segments.csv"
    write_csv(first.segments, segments)
    write_json({"output": str(segments), "verb": "decode", "digests": digests(segments)}, record_path(segments))
    write_csv(first.segments.replace({"key_step": {one: 9}}), segments)
    (line,) = differences(output.parent / "seed1")[1]
    assert line.endswith("corrections by hand go into corrections/mine/tea.yaml")
    for wrong in ([str(tmp_path), str(tmp_path / "tea.yaml")], [str(folder), str(tmp_path / "no.yaml")]):
        arguments = ["correct", str(output), "--keysteps", wrong[0], "--corrections", wrong[1]]
        assert isinstance(CliRunner().invoke(cli, arguments).exception, RgwotError)


def meant(result: rgwot.discovery.Discovery, step: int) -> list[list[Any]]:
    return [list(one) for one in reference(result.segments, step)]
