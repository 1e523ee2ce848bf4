"""Runs `snakemake` and `rgwot` in forks of one process that has imported everything, as fast as a function call.

python forge.py SOCKET FOLDER: listens on the socket, and makes `rgwot` in the folder, which asks here. What runs is the
command line as it is, in a process of its own; only the seconds of importing are saved.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import os
import socket
import sys
import traceback
from pathlib import Path

ASK = "RGWOT_FORGE"
CLIENT = f"""#!{sys.executable} -SEI
import json, os, socket, sys
told = json.dumps([sys.argv, os.getcwd(), dict(os.environ)]).encode()
with socket.socket(socket.AF_UNIX) as forge:
    forge.connect(os.environ["{ASK}"])
    socket.send_fds(forge, [len(told).to_bytes(4, "big")], [1, 2])
    forge.sendall(told)
    sys.exit(int(forge.recv(4)))
"""
MODULES = (
    "snakemake.cli", "snakemake.workflow", "snakemake.dag", "snakemake.executors.local", "torch", "pandas", "zarr",
    "rgwot.study", "rgwot.embedding.train", "rgwot.embedding.embed", "rgwot.features.extract", "rgwot.features.index",
    "rgwot.keysteps.decode", "rgwot.keysteps.trivial", "rgwot.evaluation.evaluate", "rgwot.datasets.manifest",
    "rgwot.reporting.tables.kinds", "rgwot.reporting.tables.make", "rgwot.runtime.provenance", "rgwot.cli.records",
    "rgwot.study.verify", "rgwot.cli.data",
    "rgwot.cli.features", "rgwot.cli.training", "rgwot.cli.keysteps", "rgwot.cli.reporting", "rgwot.cli.study",
)  # fmt: skip


def ask(forge: str, command: list[str], folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    """Run a command in a folder; return its exit code and everything it printed."""
    reading, writing = os.pipe()
    told = json.dumps([command, str(folder), {**environment, ASK: forge}]).encode()
    with socket.socket(socket.AF_UNIX) as forge_:
        forge_.connect(forge)
        socket.send_fds(forge_, [len(told).to_bytes(4, "big")], [writing, writing])
        os.close(writing)
        forge_.sendall(told)
        with open(reading, encoding="utf-8", errors="replace") as said:
            text = said.read()
        return int(forge_.recv(4)), text


def main() -> None:
    """Listen until killed."""
    place, folder = sys.argv[1:]
    client = Path(folder) / "rgwot"
    client.write_text(CLIENT, encoding="utf-8")
    client.chmod(0o755)
    for name in MODULES:
        importlib.import_module(name)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(place)
        listening.listen(16)
        while True:
            connection, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                os._exit(_serve(connection, folder))
            connection.close()
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def _serve(connection: socket.socket, folder: str) -> int:
    head, files, _, _ = socket.recv_fds(connection, 4, 2)
    told = b""
    while len(told) < int.from_bytes(head, "big"):
        told += connection.recv(65536)
    command, place, environment = json.loads(told)
    worker = os.fork()
    if worker == 0:
        for number, file in zip((1, 2), files, strict=True):
            os.dup2(file, number)
        for file in files:
            os.close(file)
        connection.close()
        os._exit(_work(command, place, environment, folder))
    for file in files:
        os.close(file)
    _, status = os.waitpid(worker, 0)
    connection.sendall(b"%4d" % (os.waitstatus_to_exitcode(status) & 0xFF))
    return 0


def _work(command: list[str], place: str, environment: dict[str, str], folder: str) -> int:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(place)
    sys.argv = command
    code = 0
    try:
        if Path(command[0]).name == "snakemake":
            # Beside the interpreter the workflow looks for `rgwot`.
            sys.executable = str(Path(folder) / "python")
            importlib.import_module("snakemake.cli").main(command[1:])
        else:
            importlib.import_module("rgwot.cli").main()
    except SystemExit as end:
        if isinstance(end.code, str):
            sys.stderr.write(end.code + "\n")
        code = 1 if isinstance(end.code, str) else end.code or 0
    except BaseException:  # noqa: BLE001 - what an interpreter would do
        traceback.print_exc()
        code = 1
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    return int(code)


if __name__ == "__main__":
    main()
