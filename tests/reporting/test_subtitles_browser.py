"""Exported subtitles as a browser shows them over the clip."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from chromium import WHERE, WITHOUT, Browser
from videos import write_video

from rgwot.reporting.export.interface import Segment, Video, export

pytestmark = [pytest.mark.slow, pytest.mark.skipif(WHERE is None, reason=WITHOUT)]
NAME = 'pour <b>"oil"</b> & stir'


def test_subtitles_play_over_their_clip(browser: Browser, tmp_path: Path) -> None:
    clip = write_video(tmp_path / "a.mp4", 120)
    segments = (Segment(0.5, 2.0, 1, NAME), Segment(2.0, 3.25, 2, "key step 2"))
    export("webvtt", [Video("a", clip, 4.0, 30.0, (96, 64), segments)], tmp_path / "out")
    # A browser reads no subtitles from another file: they are put into the page.
    text = base64.b64encode((tmp_path / "out/a.vtt").read_bytes()).decode()
    page = tmp_path / "page.html"
    page.write_text(
        f'<video src="a.mp4" muted><track default src="data:text/vtt;base64,{text}"></video>', encoding="utf-8"
    )
    window = browser.window()
    window.open(page)
    video = "document.querySelector('video')"
    window.wait_for(f"{video}.readyState >= 2 && {video}.textTracks[0].cues?.length === 2")
    for seconds, shown in ((0.2, []), (1.0, [NAME]), (2.5, ["key step 2"]), (3.8, [])):
        window.run(f"{video}.currentTime = {seconds};")
        window.wait_for(f"!{video}.seeking")
        # What is drawn, with escapes resolved and no element made of a name.
        now = f"[...{video}.textTracks[0].activeCues].map((cue) => cue.getCueAsHTML())"
        window.wait_for(f"{now}.length === {len(shown)}")
        assert window.get(f"{now}.map((cue) => cue.textContent)") == shown
        assert window.get(f"{now}.every((cue) => cue.children.length === 0)")
