"""A server of the window in this process, for tests; runs of the workflow are replaced by functions that do nothing."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import uvicorn
from chromium import Window
from page_tree import Task

from rgwot.window import runs
from rgwot.window.app import application
from rgwot.window.beginning import Proposal
from rgwot.window.guard import Guard, Keys
from rgwot.window.server import MOST_CONNECTIONS
from rgwot.window.session import Session

#: The configuration of a study with one result, which needs no labels.
CONFIG = """datasets: {mine: {layout: folder, root: videos}}
seeds: [0]
page: {datasets: [mine], methods: [raw/kmeans]}
"""


@dataclass
class Served:
    """A running server."""

    session: Session
    keys: Keys
    port: int

    @property
    def address(self) -> str:
        """The address that a person opens."""
        return f"http://127.0.0.1:{self.port}/?token={self.keys.token}"


@contextmanager
def serving(opened: Path | Proposal, monkeypatch: pytest.MonkeyPatch, port: int = 0) -> Iterator[Served]:
    """Serve a study, or a folder of videos; runs of the workflow are replaced by a command that does nothing."""
    monkeypatch.setattr(runs, "snakemake_command", lambda _: [sys.executable, "-c", "pass"])
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", port))
    listening.listen(MOST_CONNECTIONS)
    port = listening.getsockname()[1]
    keys, session = Keys(port), Session(opened)
    config = uvicorn.Config(
        Guard(application(session), keys, "127.0.0.1"), lifespan="off", log_level="error",
        limit_concurrency=MOST_CONNECTIONS, timeout_graceful_shutdown=1,
    )  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield Served(session, keys, port)
    finally:
        server.should_exit = True
        thread.join(10)
        session.close()


def saved(window: Window) -> None:
    window.wait_for("document.querySelector('#saved').textContent === 'Everything is saved.'", 30)


def play_on(window: Window, seconds: float = 0.4) -> None:
    """Wait until the video has played for ``seconds``, which takes longer on a busy machine."""
    video = "document.querySelector('#label-stage video').currentTime"
    window.wait_for(f"{video} >= {window.get(video) + seconds}", 30)


def to_new_page(window: Window, task: Task) -> None:
    """Make the page anew from results that know of no label, as a run that began before them, and show it."""
    task.page()
    window.wait_for("!document.querySelector('#newer').hidden", 30)
    window.run("window.isOld = true")
    window.click_on("#newer")
    window.wait_for("!window.isOld && document.querySelector('#tab-label')?.hidden === false", 60)
