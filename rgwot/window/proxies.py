"""Proxies of videos that browsers cannot play, made when one is asked for and kept in the study."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
from pathlib import Path
from typing import NamedTuple

from rgwot.runtime.errors import RgwotError, one_line
from rgwot.runtime.files import replacing
from rgwot.window.saving import OWN
from rgwot.window.transcode import PLAYS

_FOLDER = OWN / "proxies"
#: Seconds after which a process that tests whether a video plays, or writes a proxy, is ended.
_TELLING_S, _WRITING_S = 60, 3 * 3600


class Playable(NamedTuple):
    """A video for browsers: ``file`` is None while it is being made; it stays None, with a ``fault``, if that fails."""

    file: Path | None
    fault: str = ""


class Proxies:
    """The playable files of the videos of a study; proxies are made one at a time."""

    def __init__(self) -> None:
        self._lock, self._one = threading.Lock(), threading.Lock()
        self._plays: dict[str, bool] = {}
        self._making: set[str] = set()
        self._faults: dict[str, str] = {}

    def playable(self, video: Path) -> Playable:
        """Return the file that browsers can play for a video; start to make a proxy if one is needed and missing."""
        facts = video.stat()
        key = hashlib.sha256(f"{video.resolve()} {facts.st_size} {facts.st_mtime_ns}".encode()).hexdigest()[:24]
        proxy = _FOLDER / f"{key}.mp4"
        if proxy.is_file():
            return Playable(proxy)
        if key not in self._plays:
            self._plays[key] = _run(_TELLING_S, video).returncode == PLAYS
        if self._plays[key]:
            return Playable(video)
        with self._lock:
            if key not in self._making and key not in self._faults:
                self._making.add(key)
                threading.Thread(target=self._make, args=(key, video, proxy), daemon=True, name="proxy").start()
            return Playable(None, self._faults.get(key, ""))

    def _make(self, key: str, video: Path, proxy: Path) -> None:
        fault = ""
        try:
            with self._one, replacing(proxy) as temporary:
                done = _run(_WRITING_S, video, temporary)
                if done.returncode:
                    lines = done.stderr.strip().splitlines() or [f"code {done.returncode}"]
                    raise RgwotError(f"{video}: cannot be made playable ({lines[-1]})")
        except (RgwotError, OSError) as error:
            fault = one_line(error)
        with self._lock:
            self._making.discard(key)
            if fault:
                self._faults[key] = fault


def _run(timeout_s: int, *paths: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rgwot.window.transcode", *map(str, paths)]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", f"not within {timeout_s} s")
