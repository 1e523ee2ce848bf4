"""A Python for the jobs of workflows in tests: jobs are forks of one process that has already imported their packages.

A job of a test takes less time than the imports at its start. So a folder has a `python`, and an `rgwot`, that hand
their arguments, folder, environment, umask and streams to a server, and end as the job does. The server imports
third-party packages only: the project's own code is imported by every job, in its own environment.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from functools import cache
from pathlib import Path

# Modules of third-party packages.
PRELOADED = (
    "click", "pydantic", "numpy", "pandas", "yaml", "zarr", "h5py", "scipy.optimize", "scipy.stats", "scipy.signal",
    "sklearn.cluster", "sklearn.metrics", "torch", "threadpoolctl", "matplotlib.figure",
)  # fmt: skip
CLIENT = """#!{python} -ISB
import json, os, socket, sys
# Scripts of the workflow alone; Snakemake itself may be run by the same Python.
if not (sys.argv[0].endswith("/rgwot") or "/.snakemake/scripts/" in "".join(sys.argv[1:2])):
    os.execv({python!r}, [{python!r}, *sys.argv[1:]])
umask = os.umask(0)
asked = json.dumps([sys.argv, os.getcwd(), dict(os.environ), umask]).encode(errors="surrogateescape")
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
socket.send_fds(server, [len(asked).to_bytes(8, "big")], [0, 1, 2])
server.sendall(asked)
sys.exit(server.recv(1)[0])
"""


@cache
def interpreter() -> str:
    """Start the server, which ends with this process, and return the path of its Python, next to its `rgwot`."""
    made = Path(tempfile.mkdtemp(prefix="rgwot-"))
    address, python = str(made / "socket"), made / "python"
    for command in (made / "rgwot", python):
        command.write_text(CLIENT.format(python=sys.executable, address=address), encoding="utf-8")
        command.chmod(0o755)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    # The server notices the end of this process by a pipe, of which this process keeps the write end.
    read, write = os.pipe()
    os.set_inheritable(write, False)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, str(listener.fileno()), str(read)]
    subprocess.Popen(command, pass_fds=(listener.fileno(), read), env=environment, start_new_session=True)
    listener.close()
    os.close(read)
    return str(python)


def serve(listener: socket.socket, alive: int) -> None:
    """Fork a job for every client, until the process that started this one is gone."""
    for name in PRELOADED:
        with contextlib.suppress(ImportError):
            __import__(name)
    # At the end of a job, garbage collection of all these objects would take longer than the job.
    gc.freeze()
    threading.Thread(target=_end_with, args=(alive, Path(listener.getsockname()).parent), daemon=True).start()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        client, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            os.close(alive)
            return run(client)
        client.close()


def _end_with(alive: int, folder: Path) -> None:
    os.read(alive, 1)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def _end_job_with(client: socket.socket, job: int) -> None:
    # A client waits for the result of its job. If it ends earlier, it was killed, and its job is killed, too.
    with contextlib.suppress(ProcessLookupError):
        if not client.recv(1):
            os.kill(job, signal.SIGKILL)


def run(client: socket.socket) -> None:
    """Fork the job that a client asks for, and report how it ends; in the job, run the script or the command line."""
    size, streams, _, _ = socket.recv_fds(client, 8, 3)
    with client.makefile("rb") as said:
        sys.argv, folder, environment, umask = json.loads(said.read(int.from_bytes(size, "big")))
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    job = os.fork()
    if job:
        threading.Thread(target=_end_job_with, args=(client, job), daemon=True).start()
        code = os.waitstatus_to_exitcode(os.waitpid(job, 0)[1])
        client.send(bytes([code if code >= 0 else 128 - code]))
        os._exit(0)
    client.close()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.umask(umask)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    if sys.argv[0].endswith("/rgwot"):
        from rgwot.__main__ import main

        main()
    else:
        sys.argv = sys.argv[1:]
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]))
