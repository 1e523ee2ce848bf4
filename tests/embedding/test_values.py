"""Channels that are clocks, labels and so on are refused or reported by name; real signals are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

import rgwot
from rgwot.embedding.values import check_first_row, unusual, values_of
from rgwot.runtime.errors import RgwotError
from rgwot.study.doctor import examine

Array = NDArray[np.float64]


def signal(seed: int, samples: int = 120) -> Array:
    """Return three channels with steps, noise and, in the last, many zeros."""
    rng = np.random.default_rng(seed)
    x = np.repeat(rng.normal(size=(6, 3)), samples // 6, axis=0) + 0.1 * rng.normal(size=(samples, 3))
    x[:, 2] = np.where(rng.random(samples) < 0.6, 0, x[:, 2])
    return x


def warnings_about(changed: Array | None, times: Array | None = None) -> list[str]:
    """Return the warnings about five recordings, the first of which is changed."""
    every = {f"r{seed}": signal(seed) for seed in range(5)}
    every |= {} if changed is None else {"r0": changed}
    lines = unusual({name: values_of(x) for name, x in every.items()}, {"r0": times})
    return [f"{name}: {line}" for name, of_name in lines.items() for line in of_name]


def test_signals_are_not_reported() -> None:
    assert warnings_about(None) == []
    clicks = signal(0)
    clicks[40, 0] = 8
    assert warnings_about(clicks) == []
    rng = np.random.default_rng(0)
    # The first row is accepted if signals have heavy tails, show which tools are used, or are rounded.
    for x in (rng.standard_cauchy((300, 3)), (rng.random((120, 3)) < 0.1) * 1.0, signal(0).round(1)):
        check_first_row("r0", x)
    assert warnings_about((rng.random((120, 3)) < 0.3) * 1.0) == []


@pytest.mark.parametrize(
    "head",
    [[1764345600.0] * 3, [2019.0, 2020.0, 2021.0], [-9999.0] * 3, [32.0] * 3, [1.0, 2.0, 3.0], [1.7e9, 5.0, 2.0]],
)
@pytest.mark.parametrize("second", [[], [[32.0, 32.0, 32.0]]])
def test_header_rows_are_refused(head: list[float], second: list[list[float]]) -> None:
    # Values of Empatica's accelerometers are up to 128.
    data = 1 + 0.2 * np.random.default_rng(0).random((60, 3))
    rows = np.concatenate([[head], second, data]) if second else np.concatenate([[head], data])
    if second:
        with pytest.raises(RgwotError, match="the first row .* lies far from all others"):
            check_first_row("ACC.csv", rows[np.r_[0, 2 : len(rows)]])
    with pytest.raises(RgwotError, match=r"^ACC.csv: the first row \(.*as Empatica writes them"):
        check_first_row("ACC.csv", np.concatenate([[head], data]))
    check_first_row("ACC.csv", data)


@pytest.mark.parametrize("code", [-9999.0, 99999.0, 1e15])
@pytest.mark.parametrize("count", [1, 10])
def test_codes_and_spikes_are_reported(code: float, count: int) -> None:
    x = signal(0)
    x[50 : 50 + count] = code
    (line,) = warnings_about(x)
    assert line.startswith(
        f"r0: {count} of 120 samples lie far from all others, such as {code:g} in sample 50, channel 0"
    )


@pytest.mark.parametrize("count", [30, 60, 100])
def test_codes_in_much_of_a_recording_are_reported(count: int) -> None:
    rng = np.random.default_rng(0)
    x = signal(0)
    x[rng.choice(120, count, replace=False)] = -9999
    (line,) = warnings_about(x)
    assert line.startswith(f"r0: {count} of 120 samples lie far from all others, such as -9999 in sample")
    # A tool that draws 5 A while it runs is not reported.
    x = signal(0)
    x[:, 1] = np.where(rng.random(120) < count / 120, 0, 5 + 0.1 * rng.normal(size=120))
    assert warnings_about(x) == []


def test_clocks_are_recognised_by_value() -> None:
    def clocked(*columns: Array) -> list[str]:
        every = {f"r{n}": values_of(np.column_stack([signal(n), column])) for n, column in enumerate(columns)}
        return unusual(every, {}, ["x", "y", "z", "host"]).get("", [])

    rng = np.random.default_rng(0)
    rows, epoch = np.arange(120.0), 1.7e9 + np.arange(120) / 32
    jitter = 1000 * (np.arange(120) + 0.1 * rng.random(120))
    for columns in ((rows, rows), (epoch, epoch + 99), (jitter, 3 * jitter)):
        (line,) = clocked(*columns)
        assert line.startswith("channel 'host' rises or falls in nearly equal steps in every recording, like a clock")
    # Also clocks: a countdown, whole seconds, seconds of a minute, uneven time stamps, and a clock that was set.
    uneven = np.cumsum(rng.uniform(0.02, 0.2, (2, 120)), axis=1)
    for columns in ((-rows, 5 - rows), (rows // 3, rows // 4), (rows % 60, (rows + 20) % 60), (*uneven,), (
        rows + 100 * (rows > 60), rows,
    )):  # fmt: skip
        assert len(clocked(*columns)) == 1
    # Not clocks: a ramp in one recording, a count that pauses, growth that slows down, and motion to and fro.
    assert clocked(rows, signal(9)[:, 0]) == []
    pieces = np.cumsum(rng.random((2, 120)) < 0.3, axis=1) * 1.0
    assert clocked(*pieces) == []
    assert clocked(np.sqrt(rows), np.sqrt(rows)) == []
    assert clocked(np.sin(rows / 19), np.sin(rows / 19)) == []


@pytest.mark.parametrize(("first", "last"), [(0, 119), (60, 119), (50, 119), (0, 40)])
def test_dead_stretches_are_reported(first: int, last: int) -> None:
    x = signal(0)
    x[first : last + 1] = x[first]
    (line,) = warnings_about(x)
    assert line.startswith(f"r0: samples {first} to {last} of 120 are equal; was the sensor off")


def test_short_and_noisy_stretches_and_single_channels_are_reported() -> None:
    rng = np.random.default_rng(0)
    x = signal(0)
    x[60:78] = x[60]
    assert warnings_about(x)[0].startswith("r0: samples 60 to 77 of 120 are equal")
    x[60:] = x[60] + 1e-7 * rng.normal(size=(60, 3))
    assert warnings_about(x)[0].startswith("r0: samples 60 to 119 of 120 are equal")
    x = signal(0)
    x[60:, 0] = 0.5
    (line,) = warnings_about(x)
    assert line.startswith("r0: channel 0 does not change from sample 60 to 119 of 120")
    # All recordings are reported if sensors are off in the same part of each, or always.
    every = {f"r{seed}": signal(seed) for seed in range(3)}
    for one in every.values():
        one[60:] = 0
    assert len(unusual({name: values_of(one) for name, one in every.items()}, {})) == 3
    assert len(unusual({name: values_of(np.full((120, 2), 7.0)) for name in every}, {})) == 3
    # Features that show one of three lasting states are not reported.
    states = {name: np.eye(3)[rng.integers(0, 3, 12)].repeat(10, axis=0) for name in every}
    assert unusual({name: values_of(one) for name, one in states.items()}, {}) == {}


def test_lost_samples_are_reported() -> None:
    x = signal(0)[:, :2]
    x[3::7] = 0
    assert values_of(x).far == (
        "17 of 120 samples are 0 in every channel, such as sample 3, and no other sample has a 0; were they lost? "
        "leave these samples out, or interpolate them"
    )
    # Not reported here: samples beside other zeros, as of a resting sensor; a long stretch; and five samples only.
    rest = x.copy()
    rest[1, 0] = 0
    stretch = signal(0)[:, :2]
    stretch[40:60] = 0
    chance = signal(0)[:, :2]
    chance[[0, 1, 2, 3, 80]] = 0
    assert [values_of(one).far for one in (rest, stretch, chance)] == [""] * 3


def test_channels_of_labels_are_reported() -> None:
    every = {f"r{seed}": np.column_stack([signal(seed), np.repeat([3, 1, 2, 4], 30)]) for seed in range(4)}
    lines = unusual({name: values_of(one) for name, one in every.items()}, {}, ["x", "y", "z", "gt"])
    assert [line[:52] for line in lines.pop("")] == ["channel 'gt' has a few whole numbers in long runs in"]
    assert lines == {}
    # A channel for each label is reported, too.
    for seed, one in enumerate(every.values()):
        one[:, 3] = signal(seed)[:, 0] + 1
    flags = {name: np.column_stack([one, np.eye(4)[np.repeat([3, 1, 2, 0], 30)]]) for name, one in every.items()}
    lines = unusual({name: values_of(one) for name, one in flags.items()}, {})
    assert [line[:40] for line in lines.pop("")] == [f"channel {n} has a few whole numbers in lon" for n in range(4, 8)]
    assert lines == {}
    # Two tools, each used or not, are not reported.
    tools = {
        name: np.column_stack([one, np.repeat([[1, 0], [0, 1], [1, 1]], 40, axis=0)]) for name, one in every.items()
    }
    assert unusual({name: values_of(one) for name, one in tools.items()}, {}) == {}
    # Two states are not reported, nor are numbers that change often, nor is a count.
    for last in (np.repeat([0, 1], 60), np.arange(120) // 4 % 7):
        for one in every.values():
            one[:, 3] = last
        assert unusual({name: values_of(one) for name, one in every.items()}, {}) == {}
    assert not values_of(np.repeat(np.arange(12), 10)[:, None].astype(float)).codes


def test_parts_of_one_recording_are_reported() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 600, 6))

    def warnings_about(**recordings: NDArray[Any]) -> list[str]:
        return list(unusual({name: values_of(one) for name, one in recordings.items()}, {}))

    # The parts are the recording without its first or last row, half of it, and most of it among other samples.
    for part in (x[:-1], x[1:], x[300:], np.concatenate([y[:20], x[40:], y[20:30]])):
        assert warnings_about(a=x, b=y, c=part) == ["c"]
    # A recording that is only half a copy is not reported, nor are samples that occur in any order everywhere.
    assert warnings_about(a=x, b=np.concatenate([y[:300], x[:250]])) == []
    assert warnings_about(a=rng.integers(-2, 3, (500, 3)), b=rng.integers(-2, 3, (499, 3))) == []
    assert warnings_about(a=np.tile(np.eye(5), (40, 1)), b=np.tile(np.eye(5), (30, 1))) == []
    # Equal recordings are reported as copies.
    assert warnings_about(a=x, b=x) == []


def test_pauses_in_times_are_reported() -> None:
    times = np.arange(120) / 4
    assert warnings_about(None, times) == []
    assert warnings_about(None, np.where(np.arange(120) >= 60, times + 1, times)) == []
    (line,) = warnings_about(None, np.where(np.arange(120) >= 60, times + 600, times))
    assert line.startswith("r0: times: no feature from 14.75 to 615 s; this pause counts")


def test_discover_reports_them() -> None:
    videos: dict[str, Any] = {f"r{seed}": signal(seed).astype(np.float32) for seed in range(5)}
    assert not [line for line in rgwot.discover(videos, K=3).warnings if "samples" in line and "equal" in line]
    videos["r4"] = np.ones((120, 3), np.float32)
    (line,) = [line for line in rgwot.discover(videos, K=3).warnings if "are equal" in line]
    assert line.startswith("features['r4']: samples 0 to 119 of 120 are equal")
    videos["r4"] = np.concatenate([[[1.7e9] * 3], signal(4)]).astype(np.float32)
    with pytest.raises(RgwotError, match=r"features\['r4'\]: the first row"):
        rgwot.discover(videos, K=3)


def test_doctor_reports_them_by_file(tmp_path: Path) -> None:
    tea = tmp_path / "tea"
    tea.mkdir()
    for seed in range(5):
        rows = np.column_stack([signal(seed), np.arange(120)])
        if seed == 1:
            rows[70:] = [*rows[70, :3], -1]
            rows[70:, 3] = np.arange(70, 120)
        text = "\n".join(",".join(f"{value:.6f}" for value in row) for row in rows)
        (tea / f"r{seed}.csv").write_text(f"x,y,z,host_clock\n{text}\n", encoding="utf-8")
    entry = {"layout": "features", "root": str(tmp_path), "imported": {"axes": "TC", "fps": 4}}
    report = examine({"datasets": {"own": entry}}, "own")
    found = [
        (finding.severity, finding.file, finding.message) for finding in report.findings if finding.rule == "values"
    ]
    assert [(severity, file) for severity, file, _ in found] == [("warning", None), ("warning", "tea/r1.csv")]
    assert "channel 'x' does not change from sample 70 to 119" in found[1][2]
    assert "channel 'host_clock' rises or falls" in found[0][2]


def test_hdf5_that_was_not_written_is_reported(tmp_path: Path) -> None:
    tea = tmp_path / "tea"
    tea.mkdir()
    for seed in range(3):
        with h5py.File(tea / f"r{seed}.h5", "w") as file:
            data = file.create_dataset("features", (120, 3), "f4", chunks=(10, 3))
            data[: 50 if seed == 0 else 120] = signal(seed)[: 50 if seed == 0 else 120]
    entry = {"layout": "features", "root": str(tmp_path), "imported": {"axes": "TC", "fps": 4}}
    report = examine({"datasets": {"own": entry}}, "own")
    assert [(finding.file, finding.message[:40]) for finding in report.findings if finding.rule == "features"] == [
        ("tea/r0.h5", "58 % was never written and is read as 0;")
    ]
    # The file is reported only once.
    assert not [finding for finding in report.findings if finding.rule == "values"]
    with h5py.File(tea / "r0.h5", "w") as file:
        file.create_dataset("features", (10**9, 1000), "f4", chunks=(1000, 1000))
    report = examine({"datasets": {"own": entry}}, "own")
    assert any("states the shape (1000000000, 1000)" in finding.message for finding in report.findings)
