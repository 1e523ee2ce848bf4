"""The numbers of curves in figures: averages over tasks and seeds, reported points, radius and temperature."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from figure_tree import REPOSITORY
from table_helpers import write_scores

from rgwot.reporting.figures.sweep import ReportedCurve, above, curve, read_curve, reported_points
from rgwot.reporting.tables.table import Place
from rgwot.runtime.errors import RgwotError

REPORTED = REPOSITORY / "workflow" / "reported"


PC_ASSEMBLY = Place("d", "D", reported="PC Assembly")


def test_seeds_are_averaged_over_tasks_and_the_band_spans_them(tmp_path: Path) -> None:
    how = {"protocol": "micro_video", "background": "with", "label_rule": "exact"}
    values = {("a", 0): 0.2, ("b", 0): 0.4, ("a", 1): 0.5, ("b", 1): 0.7}
    files: dict[float, tuple[Path, ...]] = {1.0: (), 2.0: ()}
    for (task, seed), least in values.items():
        for x, method in ((1.0, "rgwot"), (2.0, "vaot")):
            value = least + 0.2 * (method == "vaot")
            written = write_scores(
                tmp_path,
                (method, "graphcut", "d", task, seed),
                lambda *key, value=value: value if list(key) == list(how.values()) else 9.0,
                degenerate=int(method == "vaot" and seed == 1),
            )
            files[x] += (written,)
    scores = read_curve(files)
    actual = curve(scores, "f1")
    assert actual["x"].tolist() == [1, 2]
    assert actual["mean"].tolist() == pytest.approx([0.45, 0.65])
    assert (actual["low"].tolist(), actual["high"].tolist()) == (pytest.approx([0.3, 0.5]), pytest.approx([0.6, 0.8]))
    assert actual["degenerate"].tolist() == [False, True]
    # A missing metric is NaN.
    assert curve(scores, "mof")["mean"].isna().all()


def test_reported_peaks_are_the_numbers_of_the_main_table() -> None:
    peak = ReportedCurve(file=REPORTED / "ablation_k.csv", where={"K": "7"}, x=0.3)
    actual = reported_points(peak, PC_ASSEMBLY, ("precision", "recall", "f1", "iou"))
    assert actual == {name: [(0.3, pytest.approx(value))] for name, value in
                     {"recall": 0.480, "f1": 0.436, "iou": 0.280}.items()}  # fmt: skip


def test_a_reported_curve_leaves_out_what_is_printed_as_degenerate() -> None:
    beta = ReportedCurve(file=REPORTED / "sensitivity_beta.csv", x="beta")
    tasks = ("make_smoke_salmon_sandwich", "Make Salmon Sandwich")
    own = Place("d", "D", reported="ProceL", reported_tasks=tasks)
    actual = reported_points(beta, own, ("precision", "f1"))
    assert [x for x, _ in actual["f1"]] == [0.05, 0.1, 1, 10, 50]
    assert actual["f1"][2][1] == pytest.approx(0.4364)
    assert actual["precision"][0] == (0.05, pytest.approx(0.3851))
    with pytest.raises(RgwotError, match="no column gamma"):
        reported_points(ReportedCurve(file=beta.file, x="gamma"), own, ("f1",))


def test_a_radius_acts_from_one_frame_on_and_alpha_is_a_temperature() -> None:
    radii = np.array([0.01, 0.02, 0.03, 1 / 33, 0.035, 0.05, 0.065, 0.1, 0.2])
    # a = floor(33 r); 1/33 itself is one whole frame.
    assert above("radius", radii, frames=33, epsilon=0.07) == ["0", "0", "0", "1", "1", "1", "2", "3", "6"]
    alphas = np.array([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9])
    found = above("temperature", alphas, frames=33, epsilon=0.07)
    assert found == [
        ".07",
        ".078",
        ".088",
        ".1",
        ".12",
        ".14",
        ".23",
        ".7",
    ]
