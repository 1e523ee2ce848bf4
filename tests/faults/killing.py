"""Kill a running workflow at chosen stages and random moments, and find what was lost."""

from __future__ import annotations

import base64
import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from checkouts import SMALL, Checkout

# The stages of the demo, in the order in which their first jobs run.
STAGES = ("synth", "extract", "manifest", "index", "train", "embed", "decode", "evaluate", "table")
# Raised if no job of the chosen stage runs any more.
BETWEEN = "between"
# Processes to kill: one job, the workflow without its jobs, or everything at once, as if a machine loses power.
VICTIMS = ("job", "snakemake", "everything")
TARGET = "results/tables/demo.csv"
# Outputs of jobs that a repeated run must keep; logs and measured run times are not among them.
KEPT = ("synthetic", "features", "manifest", "annotations", "models", "embeddings", "keysteps", "scores", "tables")


@dataclass
class Run:
    """One checkout in which the demo is made, with interruptions."""

    checkout: Checkout
    more: tuple[str, ...]

    def start(self, cores: int = 2) -> subprocess.Popen[bytes]:
        """Start snakemake as the leader of a process group of its own."""
        log = open(self.checkout.path / "said.log", "ab")  # noqa: SIM115 - handed to the process
        command = [sys.executable, "-m", "snakemake", "--cores", str(cores), "--configfile", SMALL]
        command += [*self.more, "--", TARGET]
        return subprocess.Popen(
            command,
            cwd=self.checkout.path,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )

    def finish(self, cores: int = 2) -> None:
        """Run the same command again to its end; a single run must be enough."""
        self.unlock()
        process = self.start(cores)
        code = process.wait(timeout=3600)
        assert code == 0, (self.checkout.path / "said.log").read_text(errors="replace")[-4000:]

    def unlock(self) -> None:
        """Remove the lock that a killed snakemake leaves."""
        command = [sys.executable, "-m", "snakemake", "--configfile", SMALL, *self.more, "--unlock"]
        subprocess.run(command, cwd=self.checkout.path, capture_output=True, check=True, timeout=3600)

    def interrupt(self, stage: str, victim: str, rng: random.Random, within_s: float = 2.0) -> str | None:
        """Start the workflow and kill it (or a job) at a random moment after a stage began.

        Returns
        -------
        str or None
            The stage if a job of it ran at that moment, else `BETWEEN`; None when nothing was killed, because the
            workflow had ended.
        """
        self.unlock()
        process = self.start()
        try:
            if _wait_for(stage, process) is None:
                return None
            time.sleep(rng.uniform(0, within_s))
            jobs = _jobs(stage, process.pid)
            if process.poll() is not None:
                return None
            if victim == "job":
                # If the job has already ended, the workflow is killed instead.
                _kill(jobs[0] if jobs else process.pid)
                process.wait(timeout=3600)
            elif victim == "snakemake":
                _kill(process.pid)
                process.wait(timeout=3600)
            else:
                _kill_all(process)
            return stage if jobs else BETWEEN
        finally:
            # Jobs that a killed workflow left running may continue for a moment; then they are killed, too.
            time.sleep(rng.uniform(0, 1.0))
            _kill_all(process)

    def finished(self) -> dict[str, int]:
        """Return the outputs of finished jobs and when each was written, in ns."""
        results = self.checkout.path / "results"
        open_jobs = tuple(_incomplete(self.checkout.path / ".snakemake" / "incomplete"))
        files = {}
        for part in KEPT:
            for path in (results / part).rglob("*"):
                name = str(path.relative_to(self.checkout.path))
                hidden = any(piece.startswith(".") for piece in path.relative_to(results).parts)
                if path.is_file() and not hidden and not _below(name, open_jobs):
                    files[name] = path.stat().st_mtime_ns
        return files

    def tables(self) -> dict[str, bytes]:
        """Return the final tables, byte by byte, and the key steps behind them.

        Left out are hidden records of provenance, which name the folder and the run, and the time that decoding took.
        """
        results = self.checkout.path / "results"
        found = [path for part in ("tables", "keysteps") for path in (results / part).rglob("[!.]*") if path.is_file()]
        time_s = re.compile(rb'"decoding_cpu_s": [0-9.]+')
        return {str(path.relative_to(self.checkout.path)): time_s.sub(b"", path.read_bytes()) for path in found}


def lost(before: dict[str, int], after: dict[str, int]) -> list[str]:
    """Return the files of finished jobs that are gone or were made again."""
    return [name for name, written in before.items() if after.get(name) != written]


def _below(name: str, outputs: tuple[str, ...]) -> bool:
    return any(name == output or name.startswith(output + "/") for output in outputs)


def _incomplete(folder: Path) -> list[str]:
    """Return the outputs that Snakemake marks as unfinished, each by a file whose name is the path in base64."""
    names = [path.relative_to(folder).parts for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []
    return [base64.b64decode("".join(part.lstrip("@") for part in parts), altchars=b"-_").decode() for parts in names]


def _wait_for(stage: str, process: subprocess.Popen[bytes]) -> int | None:
    """Wait until a job of the stage runs; None when the workflow ends first."""
    until = time.monotonic() + 3600
    while time.monotonic() < until:
        jobs = _jobs(stage, process.pid)
        if jobs:
            return jobs[0]
        if process.poll() is not None:
            return None
        time.sleep(0.02)
    raise AssertionError(f"no job of stage {stage} within an hour")


def _jobs(stage: str, session: int) -> list[int]:
    """Return the Python processes in a session that run a stage's script, without the shells around them."""
    found = []
    for pid in _session(session):
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            # Snakemake runs a copy of the script, whose name ends like that of the script.
            python = Path(os.fsdecode(words[0])).name.startswith("python")
            if python and any(word.endswith(f".{stage}.py".encode()) for word in words[1:]):
                found.append(pid)
    return found


def _session(leader: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                # The name may contain spaces and brackets, so the fields are those after the last bracket.
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                if int(fields[3]) == leader and fields[0] != "Z":
                    found.append(int(entry.name))
    return found


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _kill_all(process: subprocess.Popen[bytes]) -> None:
    while pids := _session(process.pid):
        for pid in pids:
            _kill(pid)
        time.sleep(0.05)
    process.wait(timeout=3600)
