"""A table of hyper-parameters: resolved settings next to the paper's values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from rgwot.blocks import value_text
from rgwot.reporting.tables.reported import Reported
from rgwot.reporting.tables.table import AnyTable
from rgwot.runtime.csv_files import read_csv, write_csv
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.study.study import Study

if TYPE_CHECKING:
    import pandas as pd

PRINTED_COLUMNS = ("name", "value", "source", "note")


@dataclass(frozen=True, kw_only=True)
class Hyperparameters(AnyTable):
    """A table of the settings of some methods next to reported values.

    Attributes
    ----------
    methods
        The methods, one column each.
    parameters
        A CSV with a line per parameter, in order. ``parameter, label, symbol`` are its names; ``key`` is the key of its
        setting (or ``seeds``); the column of a method may have a text to show instead of the setting; ``reported``
        is its name in the file of reported numbers; and ``note`` is a remark.
    values
        The settings of each method in a study, as texts by parameter (`spelt`).
    """

    methods: Sequence[str]
    parameters: Path = field(repr=False)
    reported: Reported
    values: Sequence[Sequence[str]] = ()

    @cached_property
    def columns(self) -> list[str]:
        """The columns: the parameter, its value for every method, the reported value with its source, and a note."""
        return ["parameter", "label", "symbol", "key", *self.methods, "reported", "source", "note"]

    def files(self, study: Study, row: str | None = None) -> list[str]:
        """Return the files of parameters and of reported values."""
        self.alone(row)
        return [str(self.parameters), str(self.reported.file)]

    def spelt(self, study: Study) -> Hyperparameters:
        """Return the table with the settings of a study; raise RgwotError for an unknown method or setting."""
        keys = read_csv(self.parameters, ("key",), {})["key"]
        return replace(self, values=[_resolved(study, method, keys) for method in self.methods])

    def write(self, output: Path) -> None:
        """Write the table, with Markdown and LaTeX beside it."""
        from rgwot.reporting.tables.printed import write_flat

        frame = self.frame()
        write_csv(frame, output)
        texts = frame[[*self.methods, "reported"]].replace("", "–")
        # Reported values that are not in the paper's table, by source.
        by_source = frame[frame["source"] != ""].groupby("source", sort=False)["label"].agg(", ".join)
        notes = [
            "Resolved from the configuration of this run; the key of every value is in the CSV.",
            *(f"Reported in {source}: {labels}." for source, labels in list(by_source.items())[1:]),
            *(f"{label}: {note}." for label, note in zip(frame["label"], frame["note"], strict=True) if note),
        ]
        lines = frame[["label", "symbol"]].join(texts).to_numpy().tolist()
        write_flat(self, output, ["", "symbol", *self.methods, "reported"], lines, notes)

    def frame(self) -> pd.DataFrame:
        """Return the table, every cell a text."""
        frame = read_csv(self.parameters, [name for name in self.columns if name != "source"], {})
        for method, values in zip(self.methods, self.values, strict=True):
            frame[method] = frame[method].where(frame[method] != "", values)
        printed = read_csv(self.reported.file, PRINTED_COLUMNS, {})
        for name in frame["reported"]:
            if name and (count := (printed["name"] == name).sum()) != 1:
                raise RgwotError(
                    f"{self.reported.file}: found {count} rows {name!r}, expected one for table {self.id!r}"
                )
        beside = frame[["reported"]].merge(printed, how="left", left_on="reported", right_on="name").fillna("")
        sources = "reported: " + beside["note"].where(beside["note"] != "")
        notes = [filter(None, pair) for pair in zip(frame["note"], sources.fillna(""), strict=True)]
        return frame.assign(
            reported=beside["value"], source=beside["source"], note=["; ".join(note) for note in notes]
        )[self.columns]


def _resolved(study: Study, method: str, keys: Iterable[str]) -> list[str]:
    """Return the resolved settings of a method as texts, one per key; an empty key gives an empty text."""
    values = {"": "", "seeds": list(study.config.seeds), **study.experiments.values(method, "")}
    for key in keys:
        if key not in values:
            raise RgwotError(f"unknown setting {key!r}; {nearest(key, values)}")
    values_here = [values[key] for key in keys]
    return [", ".join(map(value_text, value if isinstance(value, list) else [value])) for value in values_here]
