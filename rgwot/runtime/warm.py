"""Jobs of a run as forks of one process that has imported what they need.

A job of a small study computes for a tenth of a second and imports NumPy, SciPy or PyTorch for one to three. Snakemake
starts every job as a command of its own, which is right: each can be killed, repeated and read in its log by itself.
So the command stays, and hands itself over (`hand_over`): it sends a server its arguments, environment, folder and open
files, and waits for a fork of it to end. The server of a run starts while Snakemake plans (`offer`), imports what most
jobs need while it waits, learns from finished jobs what else a verb imports, and ends with the run.

A fork is refused, and the command goes on alone, wherever it might differ from a new process: with other numbers of
threads or another environment of Python (which have servers of their own), after the code was changed, where importing
started a thread, and on anything but Linux. ``RGWOT_WARM=off`` switches all of this off.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import time
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rgwot.runtime.lazy import load

if TYPE_CHECKING:
    import socket

PLACE = "RGWOT_WARM"
"""The environment variable with the folder of a run's servers."""
OFF = "off"
#: Variables that the interpreter, NumPy and PyTorch read when they are loaded, and never again.
_LOADED = re.compile(r"PYTHON.*|LD_.*|RGWOT_EXTENSIONS|.*_NUM_THREADS")
#: Variables that Snakemake gives every job.
_THREADS = tuple(f"{name}_NUM_THREADS" for name in ("OMP", "GOTO", "OPENBLAS", "MKL", "NUMEXPR"))
_TAKEN, _KILLED, _INTERRUPTED = b"y", 137, 130
_HEAD = 8
#: Seconds that a command may take to say what it wants.
_PATIENCE_S = 60.0

began = time.time()
"""When this process started, or was forked for a job."""


def offer(function: str, modules: Sequence[str]) -> None:
    """Start a server for the jobs of this process, which is Snakemake's: those of one thread, which most are.

    ``function`` runs a command, as for `hand_over`; ``modules`` are imported in this order. Does nothing where that was
    done, and in a run that another one started, which shares its servers.
    """
    place = os.environ.get(PLACE, "")
    if place == OFF or sys.platform != "linux" or _is_running(_run_of(place)):
        return
    import tempfile

    name = f"rgwot-{os.getuid()}-{os.getpid()}-{time.time_ns():x}"
    os.environ[PLACE] = os.path.join(tempfile.gettempdir(), name)
    _start({**os.environ, **dict.fromkeys(_THREADS, "1")}, function, modules)


def hand_over(command: Sequence[str], function: str) -> int | None:
    """Let a fork of the server run a command, as in ``sys.argv``, by a function, as ``module:name``.

    Returns its exit code, or None if it has to run here.
    """
    if sys.platform != "linux" or _run_of(os.environ.get(PLACE, OFF)) is None:
        return None
    import socket

    asked = json.dumps([list(command), os.getcwd(), dict(os.environ)]).encode()
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.connect(_address(os.environ, function))
        except OSError:
            _start(os.environ, function)
            return None
        try:
            socket.send_fds(server, [len(asked).to_bytes(_HEAD, "big")], [0, 1, 2])
            server.sendall(asked)
            if server.recv(1) != _TAKEN:
                return None
        except OSError:
            return None
        try:
            code = server.recv(1)
        except KeyboardInterrupt:
            # It reaches the fork as well, which says so.
            server.recv(1)
            return _INTERRUPTED
    return code[0] if code else _KILLED


def _run_of(place: str) -> int | None:
    """Return the process whose run the servers in a folder are of, by the name of the folder."""
    named = re.fullmatch(r"rgwot-\d+-(\d+)-\w+", os.path.basename(place))
    return None if named is None else int(named[1])


def _is_running(process: int | None) -> bool:
    if process is None:
        return False
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


def _address(environment: Mapping[str, str], function: str) -> str:
    """Return the socket for commands by a function in such processes as this one would be with another environment."""
    variables = sorted(item for item in environment.items() if _LOADED.fullmatch(item[0]))
    loaded = [function, sys.prefix, sys.version, *variables]
    return os.path.join(environment[PLACE], f"{zlib.crc32(repr(loaded).encode()):08x}")


def _start(environment: Mapping[str, str], function: str, modules: Sequence[str] = ()) -> None:
    """Start the server for commands with such an environment, unless that was done."""
    address, run = _address(environment, function), _run_of(environment[PLACE])
    try:
        os.makedirs(environment[PLACE], mode=0o700, exist_ok=True)
        os.mkdir(f"{address}.started")
    except OSError:
        return
    import subprocess

    subprocess.Popen(
        [sys.executable, "-P", "-m", "rgwot.runtime.warm", address, str(run), function, *modules],
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def serve(address: str, run: int, function: str, modules: Sequence[str]) -> None:
    """Fork for every command that comes to ``address``, until the process ``run`` has ended, and import ``modules``.

    Returns in the server then, and never in a fork, which ends as an interpreter does.
    """
    import gc
    import select
    import signal
    import socket

    alive = os.pidfd_open(run)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    started = time.time_ns()
    missing = list(modules)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(64)
        while True:
            ready, _, _ = select.select([listening.fileno(), alive], [], [], 0 if missing else None)
            if alive in ready:
                return
            if not ready:
                _import(missing.pop(0))
                continue
            connection, _ = listening.accept()
            with connection:
                try:
                    command, folder, environment, files = _request(connection)
                except (OSError, ValueError):
                    continue
                verb = next((word for word in command[1:] if not word.startswith("-")), "")
                _import(*_learned(os.path.dirname(address), verb))
                known = set(sys.modules)
                gc.freeze()
                if _like_new(started) and os.fork() == 0:
                    listening.close()
                    os.close(alive)
                    # A copy, which stays open while the functions of the server are left.
                    asking = connection.dup()
                    _become(command, folder, environment, files, asking)
                    _run(function, asking, os.path.join(os.path.dirname(address), f"{verb}.{os.getpid()}"), known)
                for file in files:
                    os.close(file)


def _request(connection: socket.socket) -> tuple[list[str], str, dict[str, str], list[int]]:
    import socket

    connection.settimeout(_PATIENCE_S)
    head, files, _, _ = socket.recv_fds(connection, _HEAD, 3)
    length, asked = int.from_bytes(head, "big"), bytearray()
    try:
        while len(asked) < length:
            part = connection.recv(min(1 << 20, length - len(asked)))
            if not part:
                raise ValueError("half a request")
            asked += part
        command, folder, environment = json.loads(asked)
    except (OSError, ValueError):
        for file in files:
            os.close(file)
        raise
    connection.settimeout(None)
    return command, folder, environment, files


def _learned(place: str, verb: str) -> list[str]:
    """Return what finished jobs of a verb had to import, and forget it."""
    names = []
    for entry in os.listdir(place):
        if entry.startswith(f"{verb}."):
            with open(os.path.join(place, entry), encoding="utf-8") as file:
                names += file.read().split()
            os.unlink(os.path.join(place, entry))
    return names


def _import(*names: str) -> None:
    import importlib

    for name in names:
        # Some modules are made by others and not found without them; a job imports what it needs itself.
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def _like_new(started: int) -> bool:
    """Return whether a fork is as good as a new process: no thread is lost by it, and the code is that on disk."""
    if len(os.listdir("/proc/self/task")) > 1:
        return False
    ours = (getattr(module, "__file__", None) for name, module in list(sys.modules.items()) if name.startswith("rgwot"))
    try:
        return all(os.stat(path).st_mtime_ns < started for path in ours if path)
    except OSError:
        return False


def _become(
    command: list[str], folder: str, environment: dict[str, str], files: list[int], connection: socket.socket
) -> None:
    """Make a fork look like the process that asked, and end when that one does."""
    import fcntl
    import select
    import signal
    import tempfile

    global began
    began = time.time()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    tempfile.tempdir = None
    sys.argv = command
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    connection.sendall(_TAKEN)
    # The system itself ends this process if the one that asked is killed, whatever it is computing.
    fcntl.fcntl(connection, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(connection, fcntl.F_SETSIG, signal.SIGTERM)
    fcntl.fcntl(connection, fcntl.F_SETFL, fcntl.fcntl(connection, fcntl.F_GETFL) | os.O_ASYNC)
    asking = select.poll()
    asking.register(connection, select.POLLHUP)
    if asking.poll(0):
        os._exit(_KILLED)


def _run(function: str, connection: socket.socket, learned: str, known: set[str]) -> None:
    """Run the command line and end this process, after the work of threads and of other functions that end it."""
    import atexit
    import traceback

    code = 0

    def end() -> None:
        new = [name for name in sys.modules if name not in known and name.isascii()]
        with contextlib.suppress(OSError):
            if new:
                with open(f"{learned}~", "w", encoding="utf-8") as file:
                    file.write("\n".join(new))
                os.rename(f"{learned}~", learned)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        with contextlib.suppress(OSError):
            connection.sendall(bytes([code & 0xFF]))
        os._exit(code)

    # Registered first, called last.
    atexit.register(end)
    try:
        load(function)()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        if isinstance(ended.code, str):
            sys.stderr.write(f"{ended.code}\n")
    except BaseException:  # noqa: BLE001 - as an interpreter does
        traceback.print_exc()
        code = 1
    sys.exit(code)


def main(address: str, run: int, function: str, modules: Sequence[str]) -> None:
    """Serve, and tidy up."""
    import shutil

    server = os.getpid()
    try:
        serve(address, run, function, modules)
    finally:
        if os.getpid() == server:
            shutil.rmtree(os.path.dirname(address), ignore_errors=True)


if __name__ == "__main__":
    # By its name, so that the fork and whoever imports this module share `began`.
    from rgwot.runtime import warm

    warm.main(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:])
