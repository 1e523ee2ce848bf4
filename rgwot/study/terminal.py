"""What a run of the workflow says on a terminal: a line per job, warnings, and at the end the pages."""

from __future__ import annotations

import logging
import time

#: Plain lines of Snakemake, and of the Snakefile, that are worth a line of a terminal.
_KEPT = ("Nothing to be done", "The page:")


def one_line_per_job(logger: logging.Logger) -> None:
    """Let the terminal of Snakemake's logger show a line per job, without jobs that only collect files.

    Its log file keeps everything, and errors look as they always do.
    """
    for handler in logger.handlers:
        if handler.name == "DefaultStreamHandler":
            handler.addFilter(_matters)
            handler.formatter.format_job_info = (  # type: ignore[union-attr]
                lambda job: f"{time.strftime('%H:%M:%S')} {job['rule_msg']}"
            )


def _matters(record: logging.LogRecord) -> bool:
    event = getattr(getattr(record, "event", None), "name", None)
    if event == "JOB_INFO":
        return bool(getattr(record, "rule_msg", None))
    told = event in ("JOB_ERROR", "GROUP_ERROR") or record.levelno >= logging.WARNING
    return told or str(record.msg).startswith(_KEPT)
