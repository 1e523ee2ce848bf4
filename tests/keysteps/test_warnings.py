"""Every warning is given if, and only if, facts or data are unsound."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from embedded import write_store

from rgwot import discover
from rgwot.datasets.settings import ImportSettings
from rgwot.diagnostics import TimeChoice
from rgwot.embedding.arrays import Spread, scales_differ
from rgwot.features.importing import import_features
from rgwot.features.store import open_store
from rgwot.keysteps.settings import Meanfield
from rgwot.keysteps.warnings import COMPETING, NO_BACKGROUND, OTHER_SEED, doubts
from rgwot.stages.decode import decode

SOUND: dict[str, Any] = {
    "K": 6,
    "steps_per_video": {"a": 6, "b": 5, "c": 3},
    "background": 0.5,
    "seeds_differ": 0.05,
    "time": TimeChoice(chosen=0.5, agreement=0.1, concordance=0.8),
    "scales": 999.0,
    "samples": [11, 12, 13],
    "present": 6,
}


def test_sound_results_give_no_warning() -> None:
    assert doubts(**SOUND) == []
    assert doubts(6, {"a": 6}, 0.0) == []
    assert doubts(6, {"a": 6}, 0.0, time=TimeChoice(chosen=0.0, why="there is only one video")) == []


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"steps_per_video": {"a": 6, "b": 2, "c": 1}}, "2 of 3 videos have few of the 6 key steps: b 2, c 1"),
        ({"steps_per_video": {"a%20b": 2}}, "1 of 1 videos have few of the 6 key steps: a b 2"),
        (
            {"steps_per_video": dict.fromkeys("abcde", 2)},
            "5 of 5 videos have few of the 6 key steps: a 2, b 2, c 2 and 2 more",
        ),
        ({"samples": [11, 11, 13]}, "K = 6: a video has 11 samples (median), less than two for each key step"),
        ({"present": 4}, "2 of 6 key steps are empty: no video has them; give a smaller K"),
        ({"background": 0.62}, "62% of the samples, and thus most, are background"),
        ({"seeds_differ": 0.23}, f"{OTHER_SEED} give 23 of 100 frames"),
        ({"scales": 58900.0}, "scales of the channels differ by a factor of 58,900, expected less than 1,000"),
        (
            {"time": TimeChoice(chosen=0.03, agreement=0.1, concordance=0.461, kept=0.9, differ=0.3)},
            f"{COMPETING}: if the usual time of a step counts more, 30 of 100 frames get another key step; to see "
            "both, add time=0.5 to the decoder",
        ),
        (
            {"time": TimeChoice(chosen=0.5, agreement=0.1, concordance=0.9, kept=0.72, differ=0.3)},
            f"{COMPETING}: if the usual time of a step counts less, 30 of 100 frames get another key step; to see "
            "both, add time=0.03 to the decoder",
        ),
    ],
)
def test_unsound_results_give_a_warning_of_one_line(changed: dict[str, Any], message: str) -> None:
    (warning,) = doubts(**{**SOUND, **changed})
    assert warning.startswith(message)
    assert "\n" not in warning


def task(generator: np.random.Generator, noise: float, steps: int = 3) -> list[np.ndarray]:
    looks = np.random.default_rng(0).normal(size=(steps, 12))
    videos = [np.repeat(looks, 20, axis=0) + noise * generator.normal(size=(20 * steps, 12)) for _ in range(4)]
    return [video.astype(np.float32) for video in videos]


@pytest.mark.parametrize("decoder", ["meanfield", "consensus"])
def test_seeds_agree_on_steps_that_are_there_and_not_on_noise(decoder: str, caplog: pytest.LogCaptureFixture) -> None:
    generator = np.random.default_rng(1)
    sure = discover(task(generator, 0.3), fps=2, method="whitened", decoder=decoder, K=3)
    assert sure.diagnostics["task"]["seeds_differ"] < 0.02
    assert (sure.warnings, sure.diagnostics["warnings"]) == ((), [])
    assert "warning" not in repr(sure)
    noise = [generator.normal(size=(60, 12)) for _ in range(4)]
    with caplog.at_level(logging.WARNING):
        unsure = discover(noise, fps=2, method="whitened", decoder=decoder, K=5)
    assert unsure.diagnostics["task"]["seeds_differ"] > 0.25
    assert any(warning.startswith(OTHER_SEED) for warning in unsure.warnings)
    assert f"whitened/{decoder}/seed0: {OTHER_SEED}" in caplog.text
    assert "warning" in repr(unsure)


def test_seeds_that_disagree_about_a_single_video_are_reported() -> None:
    noise = [np.random.default_rng(7).normal(size=(300, 12))]
    result = discover(noise, fps=2, K=7)
    assert result.diagnostics["task"]["seeds_differ"] > 0.25
    assert any(warning.startswith(OTHER_SEED) for warning in result.warnings)
    (sure,) = task(np.random.default_rng(8), 0.1)[:1]
    assert discover([sure], fps=2, method="whitened", K=3).warnings == ()


def test_a_video_that_stands_still_keeps_few_key_steps() -> None:
    videos = task(np.random.default_rng(2), 0.2, steps=6)
    assert not any("few" in warning for warning in discover(videos, fps=2, method="raw", K=6).warnings)
    still = [*videos[:3], np.repeat(videos[3][:1], 120, axis=0)]
    result = discover(still, fps=2, method="raw", K=6)
    assert any(warning.startswith("1 of 4 videos have few of the 6 key steps: 3 1") for warning in result.warnings)


def test_most_of_a_task_is_background(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    for share, expected in ((0.75, True), (0.25, False)):
        path = tmp_path / f"{share}.zarr"
        content = dict(zip("abcd", task(generator, 0.1), strict=True))
        write_store(path, content, 2.0, background=[np.arange(60) % 20 < 20 * share] * 4)
        decoded = decode(path, tmp_path / f"{share}", Meanfield(K=3), 0)
        assert decoded.notes is None
        said = [warning for warning in decoded.warnings if "background" in warning]
        assert said == (["75% of the samples, and thus most, are background"] if expected else [])


def test_a_note_says_that_background_is_not_looked_for() -> None:
    videos = task(np.random.default_rng(6), 0.2)
    for surplus in (0, 2):
        settings = {"decode": {"surplus": surplus}}
        result = discover(videos, fps=2, K=3, method="whitened", decoder="kmeans", settings=settings)
        assert result.diagnostics.get("notes", []) == ([] if surplus else [NO_BACKGROUND])


def test_scales_of_channels_are_measured_where_features_are_imported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    generator = np.random.default_rng(4)
    x = generator.normal(size=(300, 4)) * [500, 0.01, 1, 0] + [0, 3, 0, 7]
    sums = Spread()
    for part in np.array_split(x, 7):
        sums.add(part[:, :, None, None])
    # A channel that does not vary has no scale.
    assert sums.ratio == pytest.approx(x[:, 0].std() / x[:, 1].std())
    assert scales_differ(999) == ""
    np.save(tmp_path / "far.npy", x.astype(np.float32))
    np.save(tmp_path / "near.npy", generator.normal(size=(300, 4)).astype(np.float32))
    form = ImportSettings.model_validate({"axes": "TC", "fps": "2"})
    for name in ("near", "far"):
        import_features(tmp_path / f"{name}.npy", tmp_path / f"{name}.zarr", form)
        assert (open_store(tmp_path / f"{name}.zarr").attributes["scales"] > 1000) == (name == "far")
    # There is no warning here, because whether scales matter depends on the embedding.
    assert not caplog.text


def test_scales_are_doubted_only_where_they_weigh(caplog: pytest.LogCaptureFixture) -> None:
    videos = [video * np.geomspace(0.01, 500, 12, dtype=np.float32) for video in task(np.random.default_rng(5), 0.3)]
    whitened, raw = (discover(videos, fps=2, K=3, method=method, decoder="kmeans") for method in ("whitened", "raw"))
    assert any(warning.startswith("scales of the channels differ") for warning in raw.warnings)
    assert not any("scales" in warning for warning in whitened.warnings)
    said = [record.getMessage() for record in caplog.records if "scales" in record.getMessage()]
    assert [line.partition(":")[0] for line in said] == ["raw/kmeans/seed0"]
