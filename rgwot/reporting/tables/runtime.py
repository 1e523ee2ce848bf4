"""A table of training times, from the benchmark files that jobs leave, with the hardware named."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rgwot import paths
from rgwot.reporting.tables.reported import reported_values
from rgwot.reporting.tables.table import AnyTable, Place, Row, canonical
from rgwot.runtime.errors import RgwotError
from rgwot.study.refusals import check_task
from rgwot.study.study import Study, Task

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "method", "kind", "n_runs", "iterations", "minutes", "minutes_sd", "seconds_per_iteration", "memory_mb",
    "hardware", "note",
)  # fmt: skip
METRIC = "training_time_minutes"
#: The files of a training run: its benchmark, history and machine.
FILES = (paths.TRAINING_TIME, paths.HISTORY, paths.MACHINE)
RESUMED = "seed {seed}: the training was resumed, so its benchmark covers {benchmark:.1f} of {trained:.1f} minutes"


@dataclass(frozen=True, kw_only=True)
class Runtime(AnyTable):
    """The training times of some methods on one task, ``place``; ``seeds`` are those of a study (`spelt`)."""

    rows: Sequence[Row]
    place: Place
    seeds: Sequence[int] = ()

    def check(self) -> None:
        """Raise RgwotError if the file of reported numbers lacks a number that the table shows."""
        tuple(self._reported())

    def spelt(self, study: Study) -> Runtime:
        """Return the table with canonical ids and the seeds of a study; raise RgwotError for an unknown id."""
        return replace(self, rows=[canonical(study, row) for row in self.rows], seeds=study.config.seeds)

    @property
    def places(self) -> dict[str, Place]:
        """The task."""
        return {self.place.name: self.place}

    def files(self, study: Study, row: str | None = None) -> list[str]:
        """Return the files of all trainings, and of reported numbers."""
        self.alone(row)
        for row_ in self.rows:
            check_task(Task(study, self.place.dataset, self.place.name), row_.method)
        files = [file for row_ in self.rows for seed in self.seeds for file in self._run(row_, seed)]
        return list(map(str, [*files, *([self.reported.file] if self.reported else [])]))

    def _run(self, row: Row, seed: int) -> list[Path]:
        place = {"dataset": self.place.dataset, "task": self.place.name}
        return [paths.at(template, method=row.method, seed=seed, **place) for template in FILES]

    def write(self, output: Path) -> None:
        """Write the table, with Markdown and LaTeX beside it."""
        from rgwot.runtime.csv_files import write_csv

        runs = {row.id: {seed: self._run(row, seed) for seed in self.seeds} for row in self.rows}
        frame = self.frame(runs)
        write_csv(frame, output)
        self._render(frame, output)

    def frame(self, runs: Mapping[str, Mapping[int, Sequence[Path]]]) -> pd.DataFrame:
        """Return the table from the files of every row and seed, the reported rows first.

        Raises RgwotError if a file is missing or unreadable, or seeds differ in their iterations.
        """
        import pandas as pd

        rows = [*self._reported(), *(self._measured(row, runs[row.id]) for row in self.rows)]
        # Integers stay integers beside the empty cells of reported rows.
        return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"n_runs": "Int64", "iterations": "Int64"})

    def _measured(self, row: Row, files: Mapping[int, Sequence[Path]]) -> dict[str, object]:
        import pandas as pd

        from rgwot.reporting.tables.scores import summarise

        where = f"table {self.id!r}, row {row.id!r}"
        runs = pd.DataFrame([_run(seed, *paths_of) for seed, paths_of in files.items()])
        iterations, *others = runs["iterations"].unique()
        if others:
            counts = " and ".join(map(str, sorted([iterations, *others])))
            raise RgwotError(
                f"{where}: found training runs of {counts} iterations, expected the same in all; train them again"
            )
        minutes, deviation = summarise(runs["minutes"])
        return {
            "method": row.id,
            "kind": "measured",
            "n_runs": len(runs),
            "iterations": iterations,
            "minutes": minutes,
            "minutes_sd": deviation,
            "seconds_per_iteration": 60 * minutes / iterations,
            "memory_mb": runs["memory_mb"].max(),
            "hardware": "; ".join(runs["hardware"].unique()),
            "note": "; ".join(filter(None, runs["note"])),
        }

    def _reported(self) -> Iterable[dict[str, object]]:
        if self.reported is None:
            return
        for entry in self.reported.rows:
            lines = [line for line in reported_values(self.reported, entry) if line["metric"] == METRIC]
            if len(lines) != 1:
                raise RgwotError(
                    f"{self.reported.file}: found {len(lines)} values of {entry.method!r} for {METRIC}, expected one"
                )
            yield {"method": entry.row, "kind": "reported", "minutes": lines[0]["value"], "note": lines[0]["note"]}

    def _render(self, frame: pd.DataFrame, csv: Path) -> None:
        """Write the printed forms next to the CSV."""
        from rgwot.reporting.tables.printed import write_flat

        labels = {row.id: row.label for row in self.rows}
        rows = frame.astype(object).where(frame.notna() & (frame != ""), None).to_dict("records")
        lines = [
            [
                labels[row["method"]] + (" (reported)" if row["kind"] == "reported" else ""),
                _number(row["minutes"], 1) + (f" ± {row['minutes_sd']:.1f}" if row["minutes_sd"] is not None else ""),
                str(row["n_runs"] or "–"),
                str(row["iterations"] or "–"),
                _number(row["seconds_per_iteration"], 3),
                _number(row["memory_mb"], 0),
                row["hardware"] or "unknown",
            ]
            for row in rows
        ]
        measured = frame[frame["kind"] == "measured"]
        hardware, iterations = (measured[key].unique() for key in ("hardware", "iterations"))
        notes = [
            "Wall time of a training, mean ± sample standard deviation over seeds, from the files in "
            "results/benchmarks.",
            "Reported rows were trained on other hardware, with other features: compare within a kind only.",
            *(["The measured rows ran on different hardware: they are not comparable."] if len(hardware) > 1 else []),
            *(["The measured rows trained for different numbers of iterations."] if len(iterations) > 1 else []),
            *(f"{labels[row['method']]}: {row['note']}." for row in rows if row["note"]),
            *([f"Reported rows: {self.reported.note}."] if self.reported and self.reported.note else []),
        ]
        write_flat(self, csv, ["", "minutes", "runs", "iterations", "s per iteration", "MB", "hardware"], lines, notes)


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _run(seed: int, benchmark: Path, history: Path, machine: Path) -> dict[str, object]:
    """Read the time, the memory and the hardware of one training."""
    import pandas as pd

    try:
        times = pd.read_csv(benchmark, sep="\t", na_values=["-"]).iloc[-1]
        last = pd.read_csv(history).iloc[-1]
        machine_facts = json.loads(machine.read_text(encoding="utf-8"))
        seconds, trained = float(times["s"]), float(last["seconds"])
        plural = "" if machine_facts["threads"] == 1 else "s"
        processor = f"{machine_facts['threads']} thread{plural} of {machine_facts['processor']}"
        # A benchmark includes loading; if it is shorter than the training, the run was resumed.
        resumed = RESUMED.format(seed=seed, benchmark=seconds / 60, trained=trained / 60)
        return {
            "minutes": seconds / 60,
            "memory_mb": float(times["max_rss"]),
            "iterations": int(last["step"]),
            "hardware": f"{machine_facts['gpu']}, {processor}" if machine_facts["gpu"] else processor,
            "note": resumed if seconds < trained else "",
        }
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        why = " ".join(str(error).split())
        raise RgwotError(f"seed {seed}: the training time cannot be read ({why}); train this seed again") from None
