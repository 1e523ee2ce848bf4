"""What the curves show: bands of seeds, reported points, active radius and temperature, by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from figure_tree import REPOSITORY

from rgwot.reporting.figures.growth import spread
from rgwot.reporting.figures.interface import PlannedRun
from rgwot.reporting.figures.losses import smoothed
from rgwot.reporting.figures.protocols import bar_colours
from rgwot.reporting.figures.sweep import (
    PlannedRow,
    PlannedSweep,
    ReportedCurve,
    Sweep,
    SweepPanel,
    above,
    cell,
    curve,
    read_rows,
    reported_points,
    seed_values,
    spaced,
)
from rgwot.runtime.errors import RgwotError

REPORTED = REPOSITORY / "workflow" / "reported"
FIGURE = Sweep(id="s", title="s", kind="sweep", panels=(SweepPanel(table="t", key="r", label="r", dataset="d"),))


def run(task: str, seed: int, method: str = "rgwot") -> PlannedRun:
    return PlannedRun(label="x", method=method, decoder="graphcut", dataset="d", task=task, seed=seed)


def row(name: str, value: float, *, line: str = "rgwot", trained: bool = True, runs: tuple = ()) -> PlannedRow:
    return PlannedRow(id=name, line=line, trained=trained, value=value, runs=runs)


def sweep(*rows: PlannedRow, reported: str = "PC Assembly", tasks: tuple[str, ...] = ("all",)) -> PlannedSweep:
    return PlannedSweep(
        table="t", place="d", dataset="d", label="D", reported=reported, reported_tasks=tasks, rows=rows, left_out=(),
        frames=33, epsilon=0.07, classes=10,
    )  # fmt: skip


def scores(values: dict[tuple[str, int], float], metric: str = "f1") -> pd.DataFrame:
    """One value per task and seed for protocol A; protocol C and the other background say something else."""
    rows = []
    for (task, seed), value in values.items():
        for protocol, background, shift in (
            ("micro_video", "with", 0),
            ("macro_task", "with", 9),
            ("micro_video", "without", 7),
        ):
            rows.append(("d", task, "rgwot", "graphcut", seed, protocol, background, "exact", metric, value + shift))
    columns = [
        "dataset",
        "task",
        "method",
        "decoder",
        "seed",
        "protocol",
        "background",
        "label_rule",
        "metric",
        "value",
    ]
    return pd.DataFrame(rows, columns=columns)


def test_seeds_are_averaged_over_tasks_and_the_band_spans_them() -> None:
    values = scores({("a", 0): 0.2, ("b", 0): 0.4, ("a", 1): 0.5, ("b", 1): 0.7})
    runs = tuple(run(task, seed) for task in "ab" for seed in (0, 1))
    assert seed_values(values, runs, "f1", FIGURE.how) == pytest.approx([0.3, 0.6])
    table = pd.DataFrame({
        "method": ["r=1", "r=1"], "kind": ["measured", "reported"], "protocol": "micro_video", "background": "with",
        "label_rule": "exact", "d_f1": [0.45, 0.9], "degenerate": [2, 0],
    })  # fmt: skip
    found = curve(sweep(), [row("r=1", 1.0, runs=runs)], table, values, "f1", FIGURE.how)
    assert (found.x[0], found.mean[0]) == (1.0, 0.45)
    assert (found.low[0], found.high[0]) == pytest.approx((0.3, 0.6))
    assert found.degenerate.tolist() == [True]


def test_scores_of_other_runs_do_not_enter_a_band() -> None:
    values = scores({("a", 0): 0.2, ("a", 1): 0.9})
    assert seed_values(values, (run("a", 0),), "f1", FIGURE.how) == pytest.approx([0.2])
    assert len(seed_values(values, (run("a", 0, method="vaot"),), "f1", FIGURE.how)) == 0


def test_a_cell_that_a_table_does_not_have_is_no_number() -> None:
    table = pd.DataFrame({"method": [], "kind": [], "protocol": [], "background": [], "label_rule": [], "d_f1": []})
    value, degenerate = cell(table, "r=1", "d_f1", FIGURE.how)
    assert np.isnan(value)
    assert not degenerate
    assert np.isnan(cell(table, "r=1", "d_iou", FIGURE.how)[0])


def test_lines_take_one_row_per_value_and_keep_untrained_answers_apart() -> None:
    rows = [row("K=7", 7), row("K=10", 10), row("K=gt+1", 10), row("uniform-K=7", 7, line="uniform", trained=False)]
    lines = sweep(*rows).lines()
    assert {line: [one.id for one in found] for line, found in lines.items()} == {"rgwot": ["K=7", "K=10"]}
    assert [one.id for one in sweep(*rows).lines(trained=False)["uniform"]] == ["uniform-K=7"]


def test_reported_peaks_are_the_numbers_of_the_main_table() -> None:
    peak = ReportedCurve(file=REPORTED / "ablation_k.csv", where={"K": "7"}, x=0.3)
    found = reported_points(peak, sweep(), ("precision", "recall", "f1", "iou"))
    assert found["recall"] == [(0.3, pytest.approx(0.480))]
    assert found["f1"] == [(0.3, pytest.approx(0.436))]
    assert found["iou"] == [(0.3, pytest.approx(0.280))]
    assert "precision" not in found


def test_a_reported_curve_leaves_out_what_is_printed_as_degenerate() -> None:
    beta = ReportedCurve(file=REPORTED / "sensitivity_beta.csv", x="beta")
    own = sweep(reported="ProceL", tasks=("make_smoke_salmon_sandwich", "Make Salmon Sandwich"))
    found = reported_points(beta, own, ("precision", "f1"))
    assert [x for x, _ in found["f1"]] == [0.05, 0.1, 1, 10, 50]
    assert found["f1"][2][1] == pytest.approx(0.4364)
    assert found["precision"][0] == (0.05, pytest.approx(0.3851))
    with pytest.raises(RgwotError, match="found no column 'gamma'"):
        reported_points(ReportedCurve(file=beta.file, x="gamma"), own, ("f1",))


def test_the_radius_acts_from_one_frame_on() -> None:
    panel = SweepPanel(table="t", key="r", label="r", dataset="d", above="radius")
    radii = np.array([0.01, 0.02, 0.03, 1 / 33, 0.035, 0.05, 0.065, 0.1, 0.2])
    # a = floor(33 r); 1/33 itself is one whole frame.
    assert above(panel, sweep(), radii) == ["0", "0", "0", "1", "1", "1", "2", "3", "6"]


def test_alpha_is_a_temperature() -> None:
    panel = SweepPanel(table="t", key="alpha", label="α", dataset="d", above="temperature")
    alphas = np.array([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9])
    assert above(panel, sweep(), alphas) == [".07", ".078", ".088", ".1", ".12", ".14", ".23", ".7"]


def test_labels_do_not_touch() -> None:
    assert spaced(np.array([0.0, 0.04, 0.2, 0.24, 1.0]), 0.1) == [0, 2, 4]
    placed = spread([18.1, 59.5, 18.3, 20.7], 4)
    assert placed == pytest.approx([18.1, 59.5, 22.1, 26.1])


def test_smoothing_keeps_the_mean_of_equal_parts() -> None:
    values = np.arange(1000.0)
    assert len(smoothed(values, 100)) == 100
    assert smoothed(values, 100).mean() == pytest.approx(values.mean())
    assert smoothed(np.arange(3.0), 100).tolist() == [0, 1, 2]


def test_answers_without_features_are_grey() -> None:
    colours = bar_colours(["flat", "ours", "even", "theirs"], {"flat", "even"})
    assert len(set(colours.values())) == 4
    for name, colour in colours.items():
        red, green, blue = colour[1:3], colour[3:5], colour[5:7]
        assert (red == green == blue) == (name in {"flat", "even"})


def test_a_file_that_is_no_row_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "row.csv").write_text("method,f1\nx,1\n")
    with pytest.raises(RgwotError, match=r"row\.csv: found columns method,f1, expected also kind"):
        read_rows([tmp_path / "row.csv"])
    with pytest.raises(RgwotError, match="cannot be read as a row"):
        read_rows([tmp_path / "none.csv"])
