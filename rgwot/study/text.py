"""An estimate as text: the inputs first, then what they come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

STAGES = ("extract", "train", "embed", "decode", "evaluate")


def render(planned: Mapping[str, Any]) -> str:
    """Return what `rgwot.study.estimate.plan` worked out, as tables in plain text."""
    study, whole = planned["study"], planned["collections"][-1]
    lines = ["Videos", *_table(("collection", "tasks", "videos", "hours", "source"), [
        (one["name"], f"{one['tasks']}", f"{one['videos']}", f"{one['hours']:g}", one["source"])
        for one in planned["collections"]
    ])]  # fmt: skip
    lines += [
        "",
        f"Study: {study['methods']} methods x {study['seeds']} seeds x {study['decoders']} decoders on every task, "
        f"{study['iterations']} iterations per training, frames of {study['size']} px",
    ]
    jobs = next(one for one in planned["estimates"] if one["collection"] == whole["name"])
    lines += [
        "",
        f"Jobs: {sum(jobs['jobs'].values())} = " + " + ".join(f"{n} {rule}" for rule, n in jobs["jobs"].items()),
        f"Submissions to a cluster, short jobs in groups of {study['group']}: {jobs['submissions']}",
    ]
    for name, rates in planned["rates"].items():
        lines += ["", f"Rates `{name}`: {rates['hardware']}", *_rates(rates)]
        lines += ["", *_costs("collection", [one for one in planned["estimates"] if one["rates"] == name])]
        lines += ["", "Growth", *_costs("change", [one for one in planned["growth"] if one["rates"] == name])]
    return "\n".join(lines)


def _rates(rates: Mapping[str, Any]) -> list[str]:
    rows = []
    for stage in STAGES:
        rate = rates[stage]
        unit = "iterations" if stage == "train" else "frames"
        work = f"{rate['per_s']:g} {unit}/s"
        if rate["decoded_per_s"]:
            work += f", decoding {rate['decoded_per_s']:g} native frames/s"
        device = f"{rate['devices']} {rate['device']}"
        rows.append((stage, device, f"{rate['start_s']:g} s", work, rate["source"]))
    cache = ("cache", "", "", f"compressed {rates['cache_ratio']:g} times", "")
    return _table(("stage", "devices", "start", "rate", "source"), [*rows, cache])


def _costs(first: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    header = ("fps", first, "jobs", "GPU h", "core h", "cache GB", "compressed GB")
    return _table(header, [
        (
            f"{one['fps']:g}", one[first], f"{sum(one['jobs'].values())}", f"{one['gpu_hours']:.0f}",
            f"{one['core_hours']:.0f}", f"{one['cache_gb']:.0f}", f"{one['cache_compressed_gb']:.0f}",
        )
        for one in rows
    ])  # fmt: skip


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    lines = []
    for row in (header, *rows):
        cells = [
            text.rjust(width) if text.replace(".", "").isdigit() else text.ljust(width)
            for text, width in zip(row, widths, strict=True)
        ]
        lines.append("  " + "  ".join(cells).rstrip())
    return lines
