"""What a run of the workflow says last: where its results are, or what failed and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

#: How many files or failures are listed before the rest is counted.
MOST = 12


def results(files: Iterable[str]) -> list[str]:
    """Return a list of the files that were asked for."""
    found = sorted(set(files))
    more = [f"  and {len(found) - MOST} more below results/"] if len(found) > MOST else []
    return ["Results:", *(f"  {path}" for path in found[:MOST]), *more]


def failures(jobs: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """Return every failed job, given by its message and its logs, with the last line that its log has.

    Jobs that failed for the same reason, such as one broken file, are listed under it together.
    """
    reasons: dict[str, list[str]] = {}
    for message, logs in jobs:
        reasons.setdefault(_last_line(logs), []).append(message)
    if not reasons:
        return []
    n = sum(map(len, reasons.values()))
    lines = [f"Failed: {n} job{'s' if n > 1 else ''}"]
    for reason, messages in reasons.items():
        lines += [f"  {message}" for message in messages[:MOST]]
        if len(messages) > MOST:
            lines.append(f"  and {len(messages) - MOST} more")
        lines.append(f"    {reason}")
    return lines


def _last_line(logs: Sequence[str]) -> str:
    for path in map(Path, logs):
        if path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace").strip()
            if text:
                return text.splitlines()[-1]
    return "it wrote no log; it was killed (out of memory or time?), or could not be started"
