"""What a terminal shows of a run."""

from __future__ import annotations

import io
import logging
from enum import Enum

from rgwot.study.terminal import one_line_per_job

Event = Enum("Event", "JOB_INFO JOB_FINISHED JOB_ERROR PROGRESS WORKFLOW_STARTED")


class Theirs(logging.Formatter):
    """Formats as Snakemake does, by a method per event."""

    def format_job_info(self, job: dict[str, object]) -> str:
        return f"[date]\nJob {job['jobid']}: {job['rule_msg']}"

    def format(self, record: logging.LogRecord) -> str:
        job = getattr(record, "event", None) is Event.JOB_INFO
        return self.format_job_info(record.__dict__) if job else str(record.msg)


def test_a_job_is_one_line_and_the_page_comes_last() -> None:
    logger, said = logging.Logger("test"), io.StringIO()
    handler = logging.StreamHandler(said)
    handler.name = "DefaultStreamHandler"
    handler.setFormatter(Theirs())
    logger.addHandler(handler)
    one_line_per_job(logger)
    logger.info("Building DAG of jobs...")
    logger.info("SNAKEMAKE", extra={"event": Event.WORKFLOW_STARTED})
    logger.info("", extra={"event": Event.JOB_INFO, "jobid": 3, "rule_msg": "page: mine/tea"})
    logger.info("", extra={"event": Event.JOB_INFO, "jobid": 0, "rule_msg": None})
    logger.info("done", extra={"event": Event.PROGRESS})
    logger.warning("a warning")
    logger.error("broken", extra={"event": Event.JOB_ERROR})
    logger.info("The page: results/report/mine/tea.html")
    first, *rest = said.getvalue().splitlines()
    assert first.endswith(" page: mine/tea")
    assert rest == ["a warning", "broken", "The page: results/report/mine/tea.html"]
