"""A headless Chromium, driven over the pipes of its DevTools protocol: what a person does, what the page says."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

WHERE = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)
WITHOUT = "no Chromium on the PATH; `make test-page` installs Debian's and runs these tests"
_KEYS = {
    "Enter": (13, "\r"), "Escape": (27, ""), "Tab": (9, ""), "Home": (36, ""), "End": (35, ""), "Backspace": (8, ""),
    "ArrowLeft": (37, ""), "ArrowUp": (38, ""), "ArrowRight": (39, ""), "ArrowDown": (40, ""),
}  # fmt: skip


class Window:
    """One tab, and everything it has said since it was opened."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send one command and return its answer."""
        return self._browser.send(method, params, self._session)

    @property
    def said(self) -> list[dict[str, Any]]:
        """Every event of this tab, in order."""
        return [event for event in list(self._browser.events) if event.get("sessionId") == self._session]

    @property
    def errors(self) -> list[str]:
        """Exceptions, errors and warnings of the console, violations of the policy among them."""
        found = []
        for event in self.said:
            params = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                found.append(json.dumps(params["exceptionDetails"])[:500])
            elif event["method"] == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"]["text"])
            elif event["method"] == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                found.append(json.dumps(params["args"])[:500])
        return found

    @property
    def requests(self) -> list[str]:
        """The addresses that were asked for."""
        return [
            event["params"]["request"]["url"] for event in self.said if event["method"] == "Network.requestWillBeSent"
        ]

    def resize(self, width: int, height: int, mobile: bool = False) -> None:
        """Set the size of the window in CSS pixels."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def open(self, path: Path) -> float:
        """Open a file; return the seconds until it was loaded and had drawn two frames."""
        before = len(self._browser.events)
        began = time.perf_counter()
        answer = self.send("Page.navigate", url=path.resolve().as_uri())
        assert "errorText" not in answer, answer
        self._browser.until(
            lambda: any(
                event["method"] == "Page.loadEventFired" and event.get("sessionId") == self._session
                for event in list(self._browser.events)[before:]
            )
        )
        self.frames()
        return time.perf_counter() - began

    def frames(self, n: int = 2) -> None:
        """Wait until the page has drawn."""
        self.run(f"for (let n = {n}; n > 0; n--) await new Promise((go) => requestAnimationFrame(go));")

    def get(self, expression: str) -> Any:
        """Return the value of an expression, awaited."""
        return self.run(f"return ({expression});")

    def run(self, body: str) -> Any:
        """Run statements as the body of an async function, and return what they return."""
        answer = self.send(
            "Runtime.evaluate", expression=f"(async () => {{ {body} }})()", awaitPromise=True, returnByValue=True,
            userGesture=True,
        )  # fmt: skip
        if "exceptionDetails" in answer:
            raise AssertionError(f"{body}: {json.dumps(answer['exceptionDetails'])[:800]}")
        return answer["result"].get("value")

    def wait_for(self, expression: str, timeout_s: float = 10) -> Any:
        """Wait until an expression is true, and return it."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            value = self.get(expression)
            if value:
                return value
            time.sleep(0.05)
        raise AssertionError(f"not within {timeout_s} s: {expression}")

    def box(self, selector: str) -> dict[str, float]:
        """Return where an element is in the window, scrolled into view."""
        return self.run(
            f"const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center'}});"
            "await new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)));"
            "return e.getBoundingClientRect().toJSON();"
        )

    def point(self, x: float, y: float) -> None:
        """Move the pointer."""
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x: float, y: float) -> None:
        """Move the pointer and click."""
        self.point(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def click_on(self, selector: str) -> None:
        """Click the middle of an element."""
        box = self.box(selector)
        self.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    def press(self, key: str) -> None:
        """Press a key."""
        code, text = _KEYS[key]
        for kind in ("keyDown", "keyUp"):
            typed = {"text": text} if text and kind == "keyDown" else {}
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **typed)

    def write(self, text: str) -> None:
        """Type a text into what has the focus."""
        self.send("Input.insertText", text=text)

    def picture(self, path: Path) -> None:
        """Take a picture of the window."""
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))

    def downloads(self, folder: Path) -> None:
        """Let downloads go into a folder."""
        self._browser.send("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})


class Browser:
    """A running Chromium."""

    def __init__(self, process: subprocess.Popen[bytes], read: int, write: int) -> None:
        self._process, self._write = process, write
        self.events: list[dict[str, Any]] = []
        self._answers: dict[int, queue.Queue[dict[str, Any]]] = {}
        self._last = 0
        threading.Thread(target=self._listen, args=(read,), daemon=True).start()

    def _listen(self, read: int) -> None:
        buffer = b""
        with os.fdopen(read, "rb", buffering=0) as pipe:
            while part := pipe.read(1 << 16):
                *messages, buffer = (buffer + part).split(b"\0")
                for message in map(json.loads, messages):
                    if "id" in message:
                        self._answers[message["id"]].put(message)
                    else:
                        self.events.append(message)

    def send(self, method: str, params: dict[str, Any], session: str | None = None, timeout_s: float = 60) -> Any:
        """Send a command, to a tab where one is named, and return its result."""
        self._last += 1
        number = self._last
        self._answers[number] = queue.Queue()
        message = {"id": number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self._write, json.dumps(message).encode() + b"\0")
        answer = self._answers[number].get(timeout=timeout_s)
        del self._answers[number]
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    def until(self, true: Callable[[], bool], timeout_s: float = 30) -> None:
        """Wait for an event."""
        end = time.monotonic() + timeout_s
        while not true():
            assert time.monotonic() < end, f"nothing within {timeout_s} s"
            time.sleep(0.005)

    def window(self, width: int = 1280, height: int = 900) -> Window:
        """Open an empty tab."""
        target = self.send("Target.createTarget", {"url": "about:blank"})["targetId"]
        window = Window(self, self.send("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"])
        window.resize(width, height)
        return window


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start a headless Chromium, and end it."""
    assert WHERE is not None, WITHOUT
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()
    with tempfile.TemporaryDirectory(prefix="chromium", ignore_cleanup_errors=True) as profile:
        flags = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
            "--mute-audio", "--disable-dev-shm-usage", "--remote-debugging-pipe", f"--user-data-dir={profile}",
            "about:blank",
        ]  # fmt: skip
        # Chromium reads commands from file descriptor 3 and answers on 4.
        process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{to_read} 4>&{from_write}', "bash", str(WHERE), *flags],
            pass_fds=(to_read, from_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        os.close(to_read)
        os.close(from_write)
        try:
            yield Browser(process, from_read, to_write)
        finally:
            os.close(to_write)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
