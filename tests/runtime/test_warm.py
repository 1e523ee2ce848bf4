"""Commands of a run in forks of one process: the same as alone, and ended with whoever asked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest

from rgwot.runtime import warm
from rgwot.study.commands import WARMED

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks are taken on Linux alone")

#: Prints what became of the command: the exit code of the fork, or None where it has to run here.
_ASK = "import sys; from rgwot.runtime.warm import hand_over; print('code', hand_over(sys.argv, {!r}))"
ASK = _ASK.format("rgwot.cli:main")

ALONE = "from rgwot.cli import main; main()"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """The folder of the servers of a run, which is a process that sleeps; nothing of it outlives the test."""
    with subprocess.Popen(["sleep", "1000"]) as run:
        folder = tmp_path / f"rgwot-0-{run.pid}-1"
        yield folder
        run.kill()
    gone(folder)


@pytest.fixture
def ask(place: Path, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """A function that asks for a command in ``tmp_path``, until a server has answered where ``answered``."""

    def call(*words: str, answered: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
        variables = {**os.environ, "OMP_NUM_THREADS": "1", warm.PLACE: str(place), **environment}
        for _ in range(600):
            said = subprocess.run(
                [sys.executable, "-c", ASK, *words], cwd=tmp_path, env=variables, capture_output=True, text=True
            )
            assert said.returncode == 0, said.stderr
            if "code None" not in said.stdout or not answered:
                return said
            time.sleep(0.1)
        raise AssertionError("no server answered")

    return call


def gone(path: Path) -> None:
    for _ in range(600):
        if not path.exists():
            return
        time.sleep(0.1)
    raise AssertionError(f"{path} is still there")


def forks(place: Path) -> list[int]:
    """The processes of the servers of a place, without the servers."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if str(place).encode() in (entry / "cmdline").read_bytes():
                    found[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
    return [pid for pid, parent in found.items() if parent in found]


def test_a_fork_does_what_the_command_does_alone(ask, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("method,kind\nrgwot,measured\n", encoding="utf-8")
    alone = subprocess.run([sys.executable, "-c", ALONE, "show", "t.csv"], cwd=tmp_path, capture_output=True, text=True)
    for _ in range(3):  # unknown, learned, imported
        forked = ask("show", "t.csv")
        assert forked.stdout == f"{alone.stdout}code {alone.returncode}\n"
        assert forked.stderr == alone.stderr


@pytest.mark.parametrize("words", [("show", "missing.csv"), ("show",), ("nothing",)])
def test_a_mistake_is_told_as_alone(ask, tmp_path: Path, words: tuple[str, ...]) -> None:
    alone = subprocess.run([sys.executable, "-c", ALONE, *words], cwd=tmp_path, capture_output=True, text=True)
    forked = ask(*words)
    assert alone.returncode > 0
    assert (forked.stdout, forked.stderr) == (f"code {alone.returncode}\n", alone.stderr)


def test_servers_end_with_the_run(place: Path, ask) -> None:
    ask("--version")
    os.kill(int(place.name.split("-")[2]), signal.SIGKILL)
    gone(place)


def test_another_number_of_threads_is_another_server(place: Path, ask) -> None:
    ask("--version")
    ask("--version", OMP_NUM_THREADS="2")
    assert len([path for path in place.iterdir() if path.is_socket()]) == 2


def test_changed_code_is_not_forked(place: Path, ask, tmp_path: Path) -> None:
    package = tmp_path / "code" / "rgwot_more.py"
    package.parent.mkdir()
    package.write_text("", encoding="utf-8")
    ask("--version", PYTHONPATH=str(package.parent))
    (place / "show.1").write_text("rgwot_more", encoding="utf-8")
    assert "code None" not in ask("show", "missing.csv", PYTHONPATH=str(package.parent)).stdout
    later = time.time() + 60
    os.utime(package, (later, later))
    assert "code None" in ask("--version", PYTHONPATH=str(package.parent), answered=False).stdout


def test_a_process_with_threads_is_not_forked(place: Path, ask, tmp_path: Path) -> None:
    package = tmp_path / "code" / "threaded.py"
    package.parent.mkdir()
    package.write_text("import threading, time\nthreading.Thread(target=time.sleep, args=[1000]).start()\n")
    ask("--version", PYTHONPATH=str(package.parent))
    (place / "show.1").write_text("threaded", encoding="utf-8")
    assert "code None" in ask("show", "missing.csv", PYTHONPATH=str(package.parent), answered=False).stdout


@pytest.fixture
def long(place: Path, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A command that takes long, and the fork that does it."""
    (tmp_path / "long.py").write_text("import time\ndef main():\n    open('begun', 'w')\n    time.sleep(1000)\n")
    variables = {**os.environ, "PYTHONPATH": str(tmp_path), warm.PLACE: str(place)}
    until = time.monotonic() + 60
    while not (tmp_path / "begun").exists():
        assert time.monotonic() < until
        time.sleep(0.1)
        asking = subprocess.Popen(
            [sys.executable, "-c", _ASK.format("long:main")],
            cwd=tmp_path,
            env=variables,
            stdout=subprocess.PIPE,
            text=True,
        )
        while asking.poll() is None and not (tmp_path / "begun").exists():
            time.sleep(0.05)
    (fork,) = forks(place)
    with asking:
        yield asking, fork
        asking.kill()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_command_ends_its_fork(place: Path, long: tuple[subprocess.Popen[str], int], number: int) -> None:
    asking, _ = long
    asking.send_signal(number)
    until = time.monotonic() + 60
    while forks(place):
        assert time.monotonic() < until, "the fork outlived the command"
        time.sleep(0.05)


def test_a_killed_fork_fails_its_command(long: tuple[subprocess.Popen[str], int]) -> None:
    asking, fork = long
    os.kill(fork, signal.SIGKILL)
    assert asking.communicate()[0] == "code 137\n"


@pytest.mark.parametrize("value", [warm.OFF, "on", ""])
def test_off(ask, value: str) -> None:
    assert "code None" in ask("--version", answered=False, **{warm.PLACE: value}).stdout


def test_a_run_within_another_shares_its_servers(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    monkeypatch.setattr(warm, "_start", lambda environment, *_: started.append(environment[warm.PLACE]))
    monkeypatch.setenv(warm.PLACE, str(place))
    warm.offer("rgwot.cli:main", [])
    assert not started
    assert os.environ[warm.PLACE] == str(place)
    with subprocess.Popen(["true"]) as ended:
        pass
    monkeypatch.setenv(warm.PLACE, str(place.with_name(f"rgwot-0-{ended.pid}-1")))
    warm.offer("rgwot.cli:main", [])
    warm.offer("rgwot.cli:main", [])
    assert started == [os.environ[warm.PLACE]]
    assert f"-{os.getpid()}-" in started[0]


def test_what_is_imported_for_jobs_is_there() -> None:
    for name in WARMED:
        import_module(name)


def test_a_run_starts_its_server_before_it_asks(tmp_path: Path) -> None:
    """A command of one thread finds it by the environment that Snakemake gives."""
    begin = (
        "import os, sys, time; from rgwot.runtime import warm; warm.offer('rgwot.cli:main', ['json']); "
        "print(os.environ[warm.PLACE], flush=True); time.sleep(1000)"
    )
    environment = {name: value for name, value in os.environ.items() if name not in (warm.PLACE, "OMP_NUM_THREADS")}
    command = [sys.executable, "-c", begin]
    with subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        folder = Path(run.stdout.readline().strip())
        of_a_job = {**environment, **dict.fromkeys(warm._THREADS, "1"), warm.PLACE: str(folder)}
        until = time.monotonic() + 600
        while not any(path.is_socket() for path in folder.iterdir()):
            assert time.monotonic() < until
            time.sleep(0.05)
        said = subprocess.run(
            [sys.executable, "-c", ASK, "--version"], env=of_a_job, cwd=tmp_path, capture_output=True, text=True
        )
        run.kill()
    assert said.stdout.endswith("code 0\n")
    gone(folder)
