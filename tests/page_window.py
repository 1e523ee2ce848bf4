"""Helpers for tests of the page in a browser: names that would be harmful as markup, and navigation."""

from __future__ import annotations

from chromium import Window

VIDEOS = (
    '"><img src=x onerror=window.hacked=1>',
    "<script>window.hacked=2<svg onload=window.hacked=3>",
    "it's `${window.hacked=4}` %22 &lt; \u202emoc.😀 名前 <!--<script",
)
STEPS = (
    "</script><script>window.hacked=5</script>",
    "javascript:window.hacked=6",
    "</style><img src=x onerror=window.hacked=7>",
)
TABS = ("procedure", "videos", "steps", "tree", "scores")


def tab(window: Window, name: str) -> None:
    window.run(f"document.getElementById('tab-{name}').click()")
    window.frames()


def segment(video: int, index: int, run: int = 0) -> str:
    return f'.card[data-video="{video}"] .bar[data-run="{run}"] .seg[data-index="{index}"]'


def see(window: Window, video: int, run: int = 0) -> None:
    """Scroll a card of the view of videos into the window and wait until it has its bars."""
    window.run("if (state.view !== 'videos') show('videos');")
    window.run(f"document.querySelector('.card[data-video=\"{video}\"]').scrollIntoView()")
    window.wait_for(f"document.querySelector('{segment(video, 0, run)}') !== null")
    window.frames()
