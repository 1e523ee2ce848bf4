"""Videos that look like none of the videos of the study are reported; further takes of the task are not."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray
from studies import Study
from videos import write_video

from rgwot.bundles.apply import ApplyOptions, apply_bundle
from rgwot.bundles.likeness import FAR, far_from, length_told, likeness, unlike_told
from rgwot.cli import cli
from rgwot.embedding.interface import ArrayFeatures
from rgwot.records import read_diagnostics


def features(x: NDArray[np.float64]) -> ArrayFeatures:
    return ArrayFeatures("v", x.astype(np.float32), np.arange(len(x)) / 2, len(x) / 2, Fraction(30), 2.0)


def take(seed: int, task: int = 0) -> ArrayFeatures:
    """Return a take of a task: its six steps in an order, by a person who looks a little different."""
    rng, scale = np.random.default_rng(seed), np.geomspace(0.01, 100, 40)
    steps = (5 + np.random.default_rng(100 + task).normal(size=(6, 40))) * scale
    every = np.repeat(steps[rng.permutation(6)], 15, axis=0) + 0.2 * scale * rng.normal(size=40)
    return features(every + 0.3 * scale * rng.normal(size=every.shape))


def test_held_out_takes_look_like_the_others() -> None:
    takes = [take(seed) for seed in range(8)]
    for at, held_out in enumerate(takes):
        known = likeness(takes[:at] + takes[at + 1 :])
        assert far_from(known, held_out) < 1.5 < FAR
        assert unlike_told(known, held_out) == ""


@pytest.mark.parametrize(
    "other",
    [
        take(0, task=1),
        features(np.zeros((60, 40))),
        features(np.full((60, 40), 300.0)),
        features(100 * np.random.default_rng(0).normal(size=(60, 40))),
        features(take(0).read().reshape(-1, 40)[:, ::-1]),
    ],
    ids=["another task", "zeros", "constant", "noise", "other channels"],
)
def test_other_things_do_not(other: ArrayFeatures) -> None:
    assert far_from(likeness([take(seed) for seed in range(8)]), other) > FAR


@pytest.mark.parametrize(
    ("strange", "message"),
    [
        # Strange parts of a sixth or a third of 90 samples are reported; a smaller part may be an unusual moment.
        (slice(75, None), "in 17% of its time, between 37.5 and 44.5 s"),
        (slice(30, 60), "in 33% of its time, between 15 and 29.5 s"),
        (slice(0, 30, 2), "in 17% of its time, between 0 and 14 s"),
        (slice(0, 9), ""),
    ],
)
@pytest.mark.parametrize("other", [0.0, 300.0])
def test_a_part_that_looks_like_nothing_in_the_study_is_reported(strange: slice, message: str, other: float) -> None:
    known = likeness([take(seed) for seed in range(8)])
    x = take(20).read()[:, :, 0, 0].astype(np.float64)
    x[strange] = other
    line = unlike_told(known, features(x))
    assert (line != "", message in line) == (message != "", True), line
    del known["nearly_all"]  # as in a bundle of an earlier revision
    assert unlike_told(known, features(x)) == ""


def test_what_is_kept_is_bounded_and_little_is_known_of_one_video() -> None:
    known = likeness([take(seed) for seed in range(80)])
    assert len(known["samples"]) <= 600
    assert far_from(likeness([take(0)]), features(np.zeros((60, 40)))) == 0
    # Discrete features; every value occurs in every video.
    tools = [features(np.eye(7)[np.random.default_rng(seed).permutation(70) % 7]) for seed in range(5)]
    assert far_from(likeness(tools[:4]), tools[4]) < FAR


def test_videos_far_longer_or_shorter_than_those_of_the_study_are_reported() -> None:
    known = likeness([take(seed) for seed in range(4)])
    told = [length_told(known, features(np.zeros((samples, 40)))) for samples in (270, 269, 31, 30)]
    assert told[1:3] == ["", ""]
    assert told[0].startswith("is far longer (135 s) than the videos of the study (median 45 s)")
    assert told[3].startswith("is far shorter (15 s)")
    # The usual length is unknown from three videos, and in bundles of earlier revisions.
    assert length_told(likeness([take(seed) for seed in range(3)]), features(np.zeros((900, 40)))) == ""
    assert length_told({}, features(np.zeros((900, 40)))) == ""


def test_apply_reports_it_first(study: Study, results: object, tmp_path: Path) -> None:
    _, bundle = results("whitened", "meanfield", ("v3", "v4"))  # type: ignore[operator]
    black = write_video(tmp_path / "black.mp4", 60, drawn=lambda _: np.zeros((64, 96, 3), np.uint8))
    told = apply_bundle(
        bundle, [black, study.videos["v3"], study.videos["v0"]], tmp_path / "out", ApplyOptions(device="cpu")
    )
    unlike = {finding.video: finding.unlike for finding in told}
    assert unlike["black"].startswith("looks like none of the videos of the study (")
    assert (unlike["v3"], unlike["v0"]) == ("", "")
    facts = read_diagnostics(tmp_path / "out/diagnostics.json")
    assert facts.warnings[0].startswith("black looks like none")
    printed = CliRunner().invoke(cli, ["apply", str(bundle), str(black), "--output", str(tmp_path / "out")])
    assert printed.stdout.startswith("black: looks like none of the videos"), printed.output
    page = (tmp_path / "out/page.html").read_text(encoding="utf-8")
    assert "looks like none" in page
    assert "no key step is missing" not in page
