"""What a job took, in the form of Snakemake's benchmark files.

Snakemake's own ``benchmark:`` asks the system twice a second what the processes below its shell use. That misses most
of a short job and whatever is forked elsewhere (`rgwot.runtime.warm`), and costs a tenth of a core beside a training.
The process itself knows exactly, and once.
"""

from __future__ import annotations

import datetime
import os
import resource
import sys
import time
from pathlib import Path

from rgwot import paths
from rgwot.runtime import warm
from rgwot.runtime.children import end_idle

COLUMNS = ("s", "h:m:s", "max_rss", "max_vms", "max_uss", "max_pss", "io_in", "io_out", "mean_load", "cpu_time")
UNKNOWN = "NA"
"""As Snakemake writes what it could not measure."""


def leave_cost() -> None:
    """Write the time (s) and memory (MB) of this process beside its log, if standard error goes to a job's log."""
    log = _open_file(2)
    path = paths.benchmark_of(log) if log else None
    if path is None:
        return
    # The system counts only children that have ended.
    end_idle()
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    seconds = time.time() - warm.began
    cpu_s = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
    kilo = 1 if sys.platform == "darwin" else 1024
    found = {
        "s": f"{seconds:.4f}",
        "h:m:s": str(datetime.timedelta(seconds=int(seconds))),
        "max_rss": f"{max(own.ru_maxrss, children.ru_maxrss) * kilo / 2**20:.2f}",
        "mean_load": f"{100 * cpu_s / seconds:.2f}",
        "cpu_time": f"{cpu_s:.2f}",
    }
    row = (found.get(column, UNKNOWN) for column in COLUMNS)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\t".join(COLUMNS) + "\n" + "\t".join(row) + "\n", encoding="utf-8")


def _open_file(descriptor: int) -> Path | None:
    """Return the path of an open file, where the system tells it."""
    try:
        if sys.platform == "darwin":
            import fcntl

            return Path(os.fsdecode(fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0")))
        return Path(os.readlink(f"/proc/self/fd/{descriptor}"))
    except OSError:
        return None
