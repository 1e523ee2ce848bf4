"""Snakemake's logger plugin ``rgwot``: where a run stands, in a small file that the window reads.

Snakemake finds a plugin by the name of its module. Only the window needs this one, so its folder is on the module path
of the window's runs alone (`rgwot.window.runs`).
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from logging import LogRecord
from pathlib import Path
from typing import Any

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.settings import LogHandlerSettingsBase


@dataclass
class LogHandlerSettings(LogHandlerSettingsBase):
    """The option ``--logger-rgwot-file``."""

    file: Path = field(
        default=Path("run.json"), metadata={"help": "file for the state of the run (JSON: done, steps, at_work, fault)"}
    )


class LogHandler(LogHandlerBase):
    """Writes the state of a run, anew with every event that changes it.

    ``done`` of ``steps`` jobs are finished, ``at_work`` has the rules of the jobs at work, and ``fault`` says in one
    line which job failed first, or else why no job began.
    """

    def __post_init__(self) -> None:
        self._done = self._steps = 0
        self._at_work: dict[int, str] = {}
        self._failure = self._refusal = ""
        self._changes: dict[object, Callable[[Any], None]] = {
            LogEvent.RUN_INFO: self._planned,
            LogEvent.PROGRESS: self._advanced,
            LogEvent.JOB_INFO: self._began,
            LogEvent.JOB_FINISHED: self._finished,
            LogEvent.JOB_ERROR: self._failed,
            LogEvent.ERROR: self._refused,
        }

    def emit(self, record: LogRecord) -> None:
        """Note what a record of Snakemake's says."""
        change = self._changes.get(getattr(record, "event", None))
        if change is not None:
            change(record)
            assert isinstance(self.settings, LogHandlerSettings)
            self._write(self.settings.file)

    def _planned(self, record: Any) -> None:
        self._steps = record.stats["total"]

    def _advanced(self, record: Any) -> None:
        self._done, self._steps = record.done, record.total

    def _began(self, record: Any) -> None:
        self._at_work[record.jobid] = record.rule_name

    def _finished(self, record: Any) -> None:
        self._at_work.pop(record.job_id, None)

    def _failed(self, record: Any) -> None:
        self._at_work.pop(record.jobid, None)
        self._failure = self._failure or f"a job of the rule {record.rule_name} failed"

    def _refused(self, record: Any) -> None:
        self._refusal = self._refusal or " ".join(record.getMessage().split())

    def _write(self, file: Path) -> None:
        content = {
            "done": self._done,
            "steps": self._steps,
            "at_work": sorted(self._at_work.values()),
            "fault": self._failure or self._refusal,
        }
        temporary = file.with_suffix(".tmp")
        try:
            temporary.write_text(json.dumps(content), encoding="utf-8")
            os.replace(temporary, file)
        except OSError:
            # A full disk must not end the run because of its progress.
            temporary.unlink(missing_ok=True)

    @property
    def writes_to_stream(self) -> bool:
        """Whether it writes to the terminal: no, so Snakemake's messages go there as always."""
        return False

    @property
    def writes_to_file(self) -> bool:
        """Whether it has a log file that Snakemake names at the end: no."""
        return False

    @property
    def has_filter(self) -> bool:
        """Whether it chooses records itself, so that ``--quiet`` takes none from it: yes."""
        return True

    @property
    def has_formatter(self) -> bool:
        """Whether it formats records itself: yes, it reads their fields."""
        return True

    @property
    def needs_rulegraph(self) -> bool:
        """Whether it needs the graph of rules: no."""
        return False
