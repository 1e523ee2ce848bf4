"""Server, browser or job are killed while labels are saved and the real workflow runs; the next one goes on."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from rgwot.study.shipped import start_study
from rgwot.synthetic.settings import SynthSettings
from rgwot.synthetic.videos import write_dataset

pytestmark = pytest.mark.long
KILLS = int(os.environ.get("RGWOT_KILLS", "10"))


class Server:
    """A running `rgwot open`."""

    def __init__(self, study: Path) -> None:
        command = [sys.executable, "-m", "rgwot", "open", str(study), "--no-browser"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        address = re.search(r"127\.0\.0\.1:(\d+)/\?token=(\S+)", self.process.stdout.readline())
        assert address is not None
        self.port, self.cookie = int(address[1]), ""
        for _ in range(200):
            try:
                _, headers = self.ask("GET", f"/?token={address[2]}")
                self.cookie = headers["set-cookie"].partition(";")[0]
                return
            except ConnectionError:
                time.sleep(0.1)
        raise AssertionError("the server does not answer")

    def ask(self, method: str, path: str, content: Any = None) -> tuple[Any, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"cookie": self.cookie, "origin": f"http://127.0.0.1:{self.port}", "content-type": "application/json"}
        connection.request(method, path, None if content is None else json.dumps(content), headers)
        answer = connection.getresponse()
        body, told = answer.read(), {name.lower(): value for name, value in answer.getheaders()}
        connection.close()
        assert answer.status == 200, body
        return (json.loads(body) if told["content-type"] == "application/json" else body), told

    def save(self, number: int, base: str) -> str:
        text = "start_s,end_s,label\n" + "".join(f"{at},{at + 1},edit {number}\n" for at in range(10))
        content = {"kind": "annotation", "video": "tea_01", "text": text, "base": base, "apart": False}
        return str(self.ask("PUT", "/api/save/mine/tea", content)[0]["base"])

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def lose_browser(self) -> None:
        """Send half of a request to save, like a browser that is killed."""
        head = (
            f"PUT /api/save/mine/tea HTTP/1.1\r\nhost: 127.0.0.1:{self.port}\r\norigin: http://127.0.0.1:{self.port}\r\n"
            f"cookie: {self.cookie}\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(head.encode() + b'{"kind": "annotation", "video": "tea_01", "text": "start_s,en')

    def kill_jobs(self) -> None:
        """Kill the jobs of the run, but not the run, which is a child of the server."""
        runs = psutil.Process(self.process.pid).children()
        for job in [job for run in runs for job in run.children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                job.kill()


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Return a study of two short videos, without results."""
    write_dataset(SynthSettings(layout="folder", tasks=("tea",), K=3, n_videos=2, min_s=11, max_s=12), tmp_path / "v")
    for path in (tmp_path / "v" / "tea").glob("*.csv"):
        path.unlink()
    made = tmp_path / "study"
    made.mkdir()
    start_study(made, tmp_path / "v")
    return made


def test_a_server_that_is_asked_to_end_ends_its_run(study: Path) -> None:
    server, locks = Server(study), study / ".snakemake" / "locks"
    while not list(locks.glob("*")):
        assert server.process.poll() is None
        time.sleep(0.1)
    (run,) = psutil.Process(server.process.pid).children()
    server.process.terminate()
    server.process.wait(60)
    assert not run.is_running()
    assert list(locks.glob("*")) == []


def test_no_saved_label_is_lost_and_the_next_server_goes_on(study: Path) -> None:
    annotation = study.with_name("v") / "tea" / "tea_01.csv"
    rng, number, told = random.Random(0), 0, -1
    server = Server(study)
    for _ in range(KILLS):
        if server.process.poll() is not None:
            server = Server(study)
        base = server.ask("GET", "/api/files/mine/tea")[0]["annotation tea_01"]["base"]
        until = time.monotonic() + rng.uniform(0, 4)
        while time.monotonic() < until:
            base = server.save(number, base)
            told, number = number, number + 1
        rng.choice((server.kill, server.lose_browser, server.kill_jobs))()
        if told >= 0:
            lines = annotation.read_text().splitlines()
            assert len(lines) == 11
            assert {line.rpartition(" ")[2] for line in lines[1:]} == {str(told)}
        assert list(annotation.parent.glob("tea_01.*.csv")) == []
    # Processes that survived end by themselves, and their locks are released.
    server.kill()
    server = Server(study)
    try:
        for _ in range(600):
            state = server.ask("GET", "/api/state?window=one")[0]
            run = state["run"]
            if state["tasks"][0]["made"] and not (run["at_work"] or run["waiting"] or run["locked"]):
                break
            time.sleep(0.5)
        assert state["tasks"][0]["made"]
        assert (run["fault"], run["locked"]) == ("", False)
    finally:
        server.process.terminate()
        server.process.wait(60)
    assert f"edit {told}" in (study / "results" / "annotations" / "mine" / "tea.csv").read_text()
