"""Run Snakemake in copies of the checkout, and read its output."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import re
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import forked_jobs
from synthetic_trees import TreeSettings, task_places, write_tree

from rgwot.datasets.registry import datasets, tasks_of
from rgwot.synthetic.settings import SynthSettings
from rgwot.synthetic.videos import write_dataset

REPOSITORY = Path(__file__).resolve().parents[2]
SMALL = "tests/small.yaml"
# The small settings have at most two tasks per dataset; tests of planning use all tasks.
ALL_TASKS = "tests/all_tasks.yaml"
# A run that takes an hour hangs, because the longest run takes far less, even on a busy machine.
HANG_S = 3600
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["snakemake.cli", "pandas"])
# Every worker of the suite takes its share of the cores.
CORES = str(max(1, (os.cpu_count() or 1) // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))))
PLANNED = ("--dry-run", "--cores", "2", "--quiet", "rules")
SNAKEMAKE = [sys.executable, "-m", "snakemake"]
# Everything that `snakemake` in a clone reads, besides the installed package.
PARTS = ("Snakefile", "config.yaml", "workflow", "profiles", "envs", SMALL, ALL_TASKS)


@dataclass(frozen=True)
class Said:
    """The exit code of a command, and everything that it printed."""

    returncode: int
    text: str

    @property
    def mistake(self) -> str:
        """The error message, which must be a single line."""
        lines = [line for line in self.text.splitlines() if line.startswith("rgwot: ")]
        assert self.returncode != 0, self.text
        assert len(lines) == 1, self.text
        assert "Traceback" not in self.text, self.text
        return lines[0]

    @property
    def jobs(self) -> Counter[str]:
        """The number of jobs of each rule in a dry run; empty if there is nothing to be done."""
        assert self.returncode == 0, self.text
        if "Nothing to be done" in self.text:
            return Counter()
        table = re.search(r"^-{3,}\s+-{3,}\n(.*?)^total\s", self.text, re.DOTALL | re.MULTILINE)
        assert table is not None, self.text
        return Counter({rule: int(count) for rule, count in (line.split() for line in table[1].splitlines())})


def run(
    command: list[str], folder: Path, timeout_s: float = HANG_S, environment: Mapping[str, str] | None = None
) -> Said:
    """Run a command to its end; both streams go into one text, and ``environment`` adds variables.

    Snakemake and its dependencies are imported once for all runs: each run is a fork of a process that imported them.
    """
    with tempfile.TemporaryDirectory() as said:
        return _said(command, folder, timeout_s, Path(said) / "said", environment or {}, ())


def _said(
    command: list[str],
    folder: Path,
    timeout_s: float,
    said: Path,
    environment: Mapping[str, str],
    plans: Sequence[Sequence[str]],
) -> Said:
    words = command[len(SNAKEMAKE) :] if command[: len(SNAKEMAKE)] == SNAKEMAKE else None
    python = None if words is None else forked_jobs.interpreter()
    said.touch()
    process = FORKS.Process(target=_run, args=(words or command, python, str(folder), str(said), environment, plans))
    process.start()
    process.join(timeout_s)
    if process.exitcode is None:
        # When asked to end, Snakemake ends its jobs, but may hang. If only Snakemake were killed, its jobs would go on.
        process.terminate()
        process.join(30)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        raise TimeoutError(f"{command}: no end after {timeout_s} s")
    return Said(process.exitcode, said.read_text(encoding="utf-8", errors="replace"))


def _run(
    words: Sequence[str],
    python: str | None,
    folder: str,
    message: str,
    environment: Mapping[str, str],
    plans: Sequence[Sequence[str]],
) -> None:
    """Turn this process into a run of Snakemake with ``python`` for its jobs, or into another command; write to a file.

    With ``plans``, the run reads the workflow once and forks for the targets of every plan.
    """
    os.setsid()
    os.chdir(folder)
    os.environ |= {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", **environment}
    _write_to(message)
    if python is None:
        os.execvp(words[0], words)
    sys.executable = python
    from snakemake.cli import main

    if plans:
        _plan_in_forks(plans, message)
    sys.argv = ["snakemake", *words]
    main()


def _write_to(message: str) -> None:
    file = os.open(message, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for stream in (1, 2):
        os.dup2(file, stream)


def _plan_in_forks(plans: Sequence[Sequence[str]], message: str) -> None:
    """Make Snakemake fork for every plan after reading the workflow; texts and exit codes are written to files."""
    from snakemake.workflow import Workflow

    execute = Workflow.execute

    def forks(workflow: Workflow, *given: Any, **options: Any) -> bool:
        codes = []
        for number, targets in enumerate(plans):
            plan = os.fork()
            if plan == 0:
                _write_to(f"{message}.{number}")
                workflow.dag_settings = replace(workflow.dag_settings, targets=frozenset(targets))
                return bool(execute(workflow, *given, **options))
            codes.append(os.waitstatus_to_exitcode(os.waitpid(plan, 0)[1]))
        Path(f"{message}.codes").write_text(json.dumps(codes), encoding="utf-8")
        os._exit(0)

    Workflow.execute = forks


KEPT = """
import json
from dataclasses import replace
from pathlib import Path
_whole = {table}
def {table}():
    ids, datasets = json.loads((Path(__file__).parent / "kept.json").read_text())
    made = _whole()
    reported = made.reported and replace(
        made.reported, rows=[one if one.row in ids else replace(one, row=None) for one in made.reported.rows]
    )
    return replace(
        made,
        rows=[row for row in made.rows if row.id in ids],
        datasets=[place for place in made.datasets if place.name in datasets or not datasets],
        reported=reported,
    )
{table}.__doc__ = _whole.__doc__
TABLES["{table}"] = {table}
"""


@dataclass(frozen=True)
class Checkout:
    """A copy of the parts of the repository that `snakemake` reads."""

    path: Path

    @classmethod
    def copied_to(cls, path: Path) -> Checkout:
        """Copy the workflow into a new folder."""
        for part in PARTS:
            source, target = REPOSITORY / part, path / part
            target.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
        return cls(path)

    def snakemake(self, *targets: str, options: Sequence[str] = ("--cores", CORES), more: Sequence[str] = ()) -> Said:
        """Run `snakemake` here with the small settings; configuration files in ``more`` are laid on top of them."""
        command = [*SNAKEMAKE, *options, "--configfile", SMALL, ALL_TASKS, *more, "--", *targets]
        return run(command, self.path)

    def keep_rows(self, table: str, ids: Sequence[str], datasets: Collection[str] = ()) -> None:
        """Keep only these rows and datasets of a table in this copy, for a test that makes the whole table."""
        file = "demo" if table == "demo" else "paper"
        text = (REPOSITORY / "workflow/tables" / f"{file}.py").read_text(encoding="utf-8")
        self.write_tables(text + KEPT.format(table=table), file)
        (self.path / "tables" / "kept.json").write_text(json.dumps([list(ids), list(datasets)]), encoding="utf-8")

    def write_tables(self, text: str, name: str = "mine") -> Path:
        """Write a file of tables and figures into this copy."""
        path = self.path / "tables" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def edit_tables(self, name: str, before: str, after: str) -> None:
        """Replace a file of tables and figures of the workflow with a changed one."""
        text = (REPOSITORY / "workflow/tables" / f"{name}.py").read_text(encoding="utf-8")
        assert before in text
        self.write_tables(text.replace(before, after), name)

    def plan(self, *targets: str, more: Sequence[str] = ()) -> Said:
        """Return the jobs that would run for these targets."""
        return self.snakemake(*targets, options=PLANNED, more=more)

    def plans(self, plans: Mapping[str, Sequence[str]], more: Sequence[str] = ()) -> dict[str, Said]:
        """Return the jobs that would run for the targets of each plan, by its name; the workflow is read only once."""
        command = [*SNAKEMAKE, *PLANNED, "--configfile", SMALL, ALL_TASKS, *more]
        with tempfile.TemporaryDirectory() as folder:
            said = Path(folder) / "said"
            read = _said(command, self.path, HANG_S, said, {}, [*plans.values()])
            codes = json.loads(Path(f"{said}.codes").read_text(encoding="utf-8")) if not read.returncode else []
            assert len(codes) == len(plans), read.text
            texts = (Path(f"{said}.{number}").read_text(encoding="utf-8") for number in range(len(plans)))
            return {name: Said(code, text) for name, code, text in zip(plans, codes, texts, strict=True)}


SMALL_CLIPS = {"width": 160, "height": 120, "min_s": 4, "max_s": 6}


def grow(root: Path, layout: str, **settings: Any) -> None:
    """Write the tree of released datasets in small synthetic clips of 4 to 6 s."""
    write_tree(TreeSettings.model_validate({"layout": layout, **SMALL_CLIPS, **settings}), root, jobs=int(CORES))


def synthesise(root: Path, **settings: Any) -> None:
    """Write small synthetic clips of 4 to 6 s."""
    write_dataset(SynthSettings.model_validate({**SMALL_CLIPS, **settings}), root, jobs=int(CORES))


# ProceL's page gives 720 videos of 12 tasks; the numbers per task are not published.
VIDEOS_OF_PROCEL = 60
# The newest public list has one video less than the first one.
VIDEOS = {"cmu_mmac/Pizza": 32}
LAYOUTS = ("egoprocel", "procel", "crosstask")


def touch_tree(root: Path, layout: str, videos: int | None = None, cameras: int = 1) -> int:
    """Create the tree of datasets as empty files, and lists that planning reads; return the number of videos.

    Parameters
    ----------
    root
        The folder of the tree.
    layout
        One of `LAYOUTS`.
    videos
        Number of videos per task; None for the number in the datasets.
    cameras
        Number of cameras of CMU-MMAC.
    """
    made, primary = 0, ""
    for facts in (row for dataset in datasets(layout) for row in tasks_of(dataset)):
        task = f"{facts.dataset}/{facts.task}" if layout == "egoprocel" else facts.task
        many = videos or VIDEOS.get(task, facts.n_videos or VIDEOS_OF_PROCEL)
        (places,) = task_places(TreeSettings(layout=layout, tasks=(task,), n_videos=many, cameras=cameras))
        for place in places.places:
            for name in (place.video, place.annotation):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).touch()
            made += 1
        if layout == "procel":
            rows = [f"https://example.org/{n}\t{place.stem}\t0:05\t1:05\n" for n, place in enumerate(places.places)]
            (root / places.places[0].annotation).with_name("readme.txt").write_text("".join(rows), encoding="utf-8")
        steps = ",".join(f"step {step}" for step in facts.step_ids)
        primary += f"{task}\n{facts.name}\nhttps://example.org\n{facts.K}\n{steps}\n\n"
    if layout == "crosstask":
        (root / "crosstask_release/tasks_primary.txt").write_text(primary, encoding="utf-8")
    return made
