"""A headless Chromium, driven by Playwright, that acts as a person would and records what pages do."""

from __future__ import annotations

import base64
import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser as Chromium
    from playwright.sync_api import Dialog, Page

WHERE = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)
WITHOUT = "no Chromium on the PATH; `make test-page` installs Debian's and runs these tests"


class Window:
    """A tab, with the errors, requests and dialogs since it was opened.

    Attributes
    ----------
    errors
        Exceptions, and errors and warnings of the console, which include violations of the page's policy.
    requests
        The requested addresses.
    dialogs
        The texts of dialogs; every dialog is closed at once.
    """

    def __init__(self, page: Page) -> None:
        self._page = page
        self._protocol = page.context.new_cdp_session(page)
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.dialogs: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on(
            "console",
            lambda said: self.errors.append(said.text) if said.type in ("error", "warning", "assert") else None,
        )
        page.on("dialog", self._close)
        page.on("request", lambda request: self.requests.append(request.url))

    def _close(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def resize(self, width: int, height: int, mobile: bool = False) -> None:
        """Set the size of the window in CSS pixels."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
        self._protocol.send("Emulation.setDeviceMetricsOverride", size)

    def open(self, path: Path) -> float:
        """Open a file; return the seconds until it was loaded and had drawn two frames."""
        began = time.perf_counter()
        self._page.goto(path.resolve().as_uri())
        self.frames()
        return time.perf_counter() - began

    def frames(self, n: int = 2) -> None:
        """Wait until the page has drawn ``n`` frames."""
        self.run(f"for (let n = {n}; n > 0; n--) await new Promise((go) => requestAnimationFrame(go));")

    def get(self, expression: str) -> Any:
        """Return the awaited value of a JavaScript expression."""
        return self.run(f"return ({expression});")

    def run(self, body: str) -> Any:
        """Run statements as the body of an async function, and return its result."""
        # Playwright's own `evaluate` evaluates text inside the page, which the policy of the page forbids.
        answer = self._protocol.send(
            "Runtime.evaluate",
            {
                "expression": f"(async () => {{ {body} }})()",
                "awaitPromise": True,
                "returnByValue": True,
                "userGesture": True,
            },
        )
        if "exceptionDetails" in answer:
            raise AssertionError(f"{body}: {json.dumps(answer['exceptionDetails'])[:800]}")
        return answer["result"].get("value")

    def wait_for(self, expression: str, timeout_s: float = 300) -> Any:
        """Wait until an expression is true, and return it; another page may replace this one meanwhile."""
        from playwright.sync_api import Error

        end, fault = time.monotonic() + timeout_s, ""
        while time.monotonic() < end:
            try:
                if value := self.get(expression):
                    return value
                fault = ""
            except (AssertionError, Error) as error:
                # Between two pages nothing can be evaluated, and then the functions of the new one are not there yet.
                fault = str(error)
                if "is not defined" not in fault and "navigated" not in fault:
                    raise
            self._page.wait_for_timeout(50)
        raise AssertionError(f"not within {timeout_s} s: {expression} {fault}")

    def box(self, selector: str) -> dict[str, float]:
        """Scroll an element into view, and return its place in the window."""
        return self.run(
            f"const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center'}});"
            "await new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)));"
            "return e.getBoundingClientRect().toJSON();"
        )

    def point(self, x: float, y: float) -> None:
        """Move the pointer."""
        self._page.mouse.move(x, y)

    def click(self, x: float, y: float) -> None:
        """Move the pointer and click."""
        self._page.mouse.click(x, y)

    def click_on(self, selector: str) -> None:
        """Click the middle of an element."""
        box = self.box(selector)
        self.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Press at one point, and let go at another."""
        self.point(*start)
        self._page.mouse.down()
        self._page.mouse.move(*end, steps=4)
        self._page.mouse.up()

    def press(self, key: str) -> None:
        """Press a key."""
        self._page.keyboard.press(key)

    def write(self, text: str) -> None:
        """Type a text into the focused element."""
        self._page.keyboard.insert_text(text)

    def picture(self, path: Path) -> None:
        """Take a picture of the window at the size set by `resize`, which Playwright's own method would reset."""
        path.write_bytes(base64.b64decode(self._protocol.send("Page.captureScreenshot", {"format": "png"})["data"]))

    def download(self, selector: str, folder: Path) -> Path:
        """Click an element that downloads a file; keep the file in a folder under the name that the page gave it."""
        with self._page.expect_download() as coming:
            self.click_on(selector)
        path = folder / coming.value.suggested_filename
        coming.value.save_as(path)
        return path


class Browser:
    """A profile in a running Chromium; all its windows share what pages store."""

    def __init__(self, chromium: Chromium) -> None:
        self._context = chromium.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)

    def close(self) -> None:
        """Close all windows, and forget what pages stored."""
        self._context.close()

    def window(self, width: int = 1280, height: int = 900) -> Window:
        """Open an empty tab."""
        window = Window(self._context.new_page())
        window.resize(width, height)
        return window


@contextmanager
def chromium() -> Iterator[Chromium]:
    """Start a headless Chromium, and end it."""
    assert WHERE is not None, WITHOUT
    # Imported here, because most tests of pages need no browser.
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--mute-audio"]
        running = playwright.chromium.launch(executable_path=WHERE, args=flags)
        try:
            yield running
        finally:
            running.close()
