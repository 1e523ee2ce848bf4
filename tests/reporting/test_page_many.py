"""A page of 200 videos: what it weighs, and that it draws only what is in sight; its times are logged."""

from __future__ import annotations

import io
import json
import logging
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from chromium import WHERE, WITHOUT, chromium
from PIL import Image

from rgwot import paths
from rgwot.keysteps.ordering import rank_procedures, video_order
from rgwot.paths import Run, Tree
from rgwot.reporting.page.render import write_page

N_VIDEOS = 200
DURATION_S = 300.0
#: Of every run, segments per video: as after a graph cut, as of k-means, and as of random labels.
RUNS = {
    Run("rgwot", "graphcut", 0): 30,
    Run("rgwot", "graphcut", 1): 30,
    Run("raw", "kmeans", 0): 250,
    Run("none", "random", 0): 1100,
}
K = 12
# A fast reader: 120 pixels in every frame, and then the end.
SCROLL = """
  const gaps = []; let last = performance.now();
  for (let i = 1; i <= 300; i++) {
    window.scrollTo(0, 120 * i);
    const now = await new Promise((go) => requestAnimationFrame(go)); gaps.push(now - last); last = now;
  }
  window.scrollTo(0, document.documentElement.scrollHeight);
  return gaps.slice(1);
"""
LOG = logging.getLogger(__name__)

pytestmark = pytest.mark.slow


def strip(rng: np.random.Generator) -> bytes:
    """A strip of 32 pictures that compress no better than real ones do (about 2.5 kB each)."""
    coarse = rng.integers(0, 256, (12, 32 * 16, 3)).astype(np.uint8)
    picture = Image.fromarray(coarse).resize((32 * 128, 72), Image.Resampling.BICUBIC)
    noise = rng.normal(0, 4, (72, 32 * 128, 1))
    written = io.BytesIO()
    pixels = np.clip(np.asarray(picture) + noise, 0, 255).astype(np.uint8)
    Image.fromarray(pixels).save(written, "JPEG", quality=60)
    return written.getvalue()


def segments(n: int, rng: np.random.Generator) -> pd.DataFrame:
    inner = np.sort(rng.uniform(0, DURATION_S, n - 1))
    edges = np.concatenate([[0.0], inner, [DURATION_S]])
    return pd.DataFrame({"start_s": edges[:-1], "end_s": edges[1:], "key_step": rng.integers(1, K + 1, n)})


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    tree = Tree(tmp_path_factory.mktemp("many") / "results", "mine", "many")
    videos = [f"video_{number:03d}" for number in range(N_VIDEOS)]
    rows = {"name": videos, "path": [f"many/{video}.mp4" for video in videos], "annotation": "x.csv"}
    facts = {"duration_s": DURATION_S, "fps": "30", "width": 1280, "height": 720, "status": "ok", "reason": ""}
    for path in (tree.at(paths.MANIFEST), tree.at(paths.ANNOTATIONS)):
        path.parent.mkdir(parents=True)
    pd.DataFrame({"video": videos, **rows, **facts}).to_csv(tree.at(paths.MANIFEST), index=False)
    truth = pd.concat([segments(24, rng).iloc[::2].assign(video=video) for video in videos])
    truth["name"] = [f"step {step}" for step in truth["key_step"]]
    truth[["video", "start_s", "end_s", "key_step", "name"]].to_csv(tree.at(paths.ANNOTATIONS), index=False)
    tree.at(paths.STRIPS).mkdir(parents=True)
    pictures = [strip(rng) for _ in range(4)]
    for at, video in enumerate(videos):
        (tree.at(paths.STRIPS) / f"{video}.jpg").write_bytes(pictures[at % 4])
    for run, n in RUNS.items():
        folder = tree.keysteps(run)
        folder.mkdir(parents=True)
        found = {video: segments(n, rng) for video in videos}
        table = pd.concat([own.assign(video=video, scope="task") for video, own in found.items()])
        table[["video", "scope", "start_s", "end_s", "key_step"]].to_csv(folder / "segments.csv", index=False)
        orders = {
            video: video_order(own["key_step"].to_numpy(), own["start_s"].to_numpy()) for video, own in found.items()
        }
        order = pd.DataFrame({"video": videos, "order": [">".join(map(str, orders[video])) for video in videos]})
        order.to_csv(folder / "order.csv", index=False)
        rank_procedures(orders).to_csv(folder / "procedures.csv", index=False)
        (folder / "diagnostics.json").write_text(json.dumps({"K": K, "degenerate": False}))
    write_page(tree, tree.results, list(RUNS), tree.at(paths.PAGE))
    return tree.at(paths.PAGE)


def test_hundreds_of_videos_cost_little_more_than_their_pictures(page: Path) -> None:
    strips = sum(path.stat().st_size for path in page.parents[2].glob("strips/mine/many/*.jpg"))
    assert strips > 8e6
    assert page.stat().st_size < 4 / 3 * strips + 6e6


@pytest.mark.skipif(WHERE is None, reason=WITHOUT)
def test_only_what_is_in_sight_is_drawn_while_scrolling(page: Path) -> None:
    with chromium() as browser:
        window = browser.window()
        # The processor's time of the page itself, whatever else the machine is doing.
        before = browser.worked_s()
        opened = window.open(page)
        opening = browser.worked_s() - before
        opened = min(opened, window.open(page))
        window.run("show('videos')")
        window.frames()
        assert window.get("document.querySelectorAll('.card').length") == N_VIDEOS
        assert window.get("document.querySelectorAll('.card[data-filled] .seg').length") > 20
        window.run("byId('bars').value = 'methods'; byId('bars').dispatchEvent(new Event('change'))")
        before = browser.worked_s()
        gaps = window.run(SCROLL)
        per_frame = 1000 * (browser.worked_s() - before) / len(gaps)
        window.wait_for("document.querySelector('.card:last-child').dataset.filled")
        # What was scrolled past is let go.
        assert window.get("document.querySelectorAll('.card[data-filled]').length") < 30
        median, slow = np.median(gaps), np.quantile(gaps, 0.95)
        LOG.info("%.1f MB opened in %.2f s, %.2f s of work", page.stat().st_size / 1e6, opened, opening)
        LOG.info(
            "scrolling: %.1f ms of work per frame; frames every %.0f ms, 95 %% within %.0f", per_frame, median, slow
        )
        assert window.errors == []
