"""Numbers behind the curves of figures: averages over tasks and seeds, reported points, radius and temperature."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from figure_tree import REPOSITORY
from table_helpers import write_scores

from rgwot import paths
from rgwot.reporting.figures.figure import PlannedRun
from rgwot.reporting.figures.sweep import (
    PlannedSweep,
    ReportedCurve,
    SweepPanel,
    above,
    curve,
    read_runs,
    reported_points,
)
from rgwot.reporting.tables.table import Place
from rgwot.runtime.errors import RgwotError

REPORTED = REPOSITORY / "workflow" / "reported"


def sweep(reported: str = "PC Assembly", tasks: tuple[str, ...] = ("all",)) -> PlannedSweep:
    place = Place("d", "D", reported=reported, reported_tasks=tasks)
    return PlannedSweep(place, lines={}, untrained={}, frames=33, epsilon=0.07, classes=10)


def test_seeds_are_averaged_over_tasks_and_the_band_spans_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    how = {"protocol": "micro_video", "background": "with", "label_rule": "exact"}
    values = {("a", 0): 0.2, ("b", 0): 0.4, ("a", 1): 0.5, ("b", 1): 0.7}
    runs = {
        method: tuple(PlannedRun("x", method, "graphcut", "d", task, seed) for task, seed in values)
        for method in ("rgwot", "vaot")
    }
    for run in (*runs["rgwot"], *runs["vaot"]):
        value = values[run.task, run.seed] + 0.2 * (run.method == "vaot")
        written = write_scores(
            tmp_path,
            (run.method, run.decoder, run.dataset, run.task, run.seed),
            lambda *key, value=value: value if list(key) == list(how.values()) else 9.0,
            degenerate=int(run.method == "vaot" and run.seed == 1),
        )
        run.at(paths.SCORES).parent.mkdir(parents=True, exist_ok=True)
        written.rename(run.at(paths.SCORES))
    scores = {1.0: read_runs(runs["rgwot"], how), 2.0: read_runs(runs["vaot"], how)}
    found = curve(scores, "f1", "micro_video")
    assert found["x"].tolist() == [1, 2]
    assert found["mean"].tolist() == pytest.approx([0.45, 0.65])
    assert (found["low"].tolist(), found["high"].tolist()) == (pytest.approx([0.3, 0.5]), pytest.approx([0.6, 0.8]))
    assert found["degenerate"].tolist() == [False, True]
    # A metric that is not there is no number.
    assert curve(scores, "mof", "micro_video")["mean"].isna().all()


def test_reported_peaks_are_the_numbers_of_the_main_table() -> None:
    peak = ReportedCurve(file=REPORTED / "ablation_k.csv", where={"K": "7"}, x=0.3)
    found = reported_points(peak, sweep(), ("precision", "recall", "f1", "iou"))
    assert found == {name: [(0.3, pytest.approx(value))] for name, value in
                     {"recall": 0.480, "f1": 0.436, "iou": 0.280}.items()}  # fmt: skip


def test_a_reported_curve_leaves_out_what_is_printed_as_degenerate() -> None:
    beta = ReportedCurve(file=REPORTED / "sensitivity_beta.csv", x="beta")
    own = sweep(reported="ProceL", tasks=("make_smoke_salmon_sandwich", "Make Salmon Sandwich"))
    found = reported_points(beta, own, ("precision", "f1"))
    assert [x for x, _ in found["f1"]] == [0.05, 0.1, 1, 10, 50]
    assert found["f1"][2][1] == pytest.approx(0.4364)
    assert found["precision"][0] == (0.05, pytest.approx(0.3851))
    with pytest.raises(RgwotError, match="no column gamma"):
        reported_points(ReportedCurve(file=beta.file, x="gamma"), own, ("f1",))


def test_a_radius_acts_from_one_frame_on_and_alpha_is_a_temperature() -> None:
    panel = SweepPanel(label="r", dataset=Place("d", "D"), rows={}, above="radius")
    radii = np.array([0.01, 0.02, 0.03, 1 / 33, 0.035, 0.05, 0.065, 0.1, 0.2])
    # a = floor(33 r); 1/33 itself is one whole frame.
    assert above(panel, sweep(), radii) == ["0", "0", "0", "1", "1", "1", "2", "3", "6"]
    alphas = np.array([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9])
    panel = SweepPanel(label="α", dataset=Place("d", "D"), rows={}, above="temperature")
    assert above(panel, sweep(), alphas) == [".07", ".078", ".088", ".1", ".12", ".14", ".23", ".7"]
