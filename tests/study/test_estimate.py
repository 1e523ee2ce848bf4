"""Estimates against sums done by hand, and the command that prints them."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from rgwot.cli import cli
from rgwot.runtime.errors import RgwotError
from rgwot.study.estimate import (
    Collection,
    Rates,
    StageRate,
    Study,
    collections,
    estimate,
    growth,
    load_rates,
    shipped_rates,
    together,
)  # fmt: skip


def rate(device, start_s, per_s, devices=1, decoded_per_s=None):
    return StageRate(
        device=device, start_s=start_s, per_s=per_s, devices=devices, decoded_per_s=decoded_per_s, source="by hand"
    )


RATES = Rates(
    hardware="by hand",
    cache_ratio=2,
    extract=rate("gpu", 36, 100, decoded_per_s=3000),
    train=rate("gpu", 0, 10, devices=2),
    embed=rate("cpu", 360, 40),
    decode=rate("cpu", 0, 1000),
    evaluate=rate("cpu", 18, 1e6),
)
TWO_TASKS = Collection("made up", tasks=2, videos=50, hours=10, source="")
STUDY = Study(methods=3, seeds=2, decoders=2, iterations=1800, size=160, group=20)


def test_an_estimate_worked_by_hand():
    # 10 h at 2 samples per second are 72,000 frames; 2 tasks x 3 methods x 2 seeds are 12 trainings.
    found = estimate(TWO_TASKS, STUDY, RATES, 2.0)
    assert found.jobs == {
        "manifest": 2, "extract": 50, "index": 2, "train": 12, "embed": 12, "decode": 24, "evaluate": 24,
    }  # fmt: skip
    # 50 videos in threes of 20, what follows 12 trainings in one, and the rest alone.
    assert found.submissions == 3 + 1 + 2 + 2 + 12
    # 50 starts of 36 s, 72,000 frames at 100 and 1,080,000 native ones at 3000 per second; 12 x 180 s on two GPUs.
    assert found.gpu_hours == pytest.approx((1800 + 720 + 360 + 2 * 12 * 180) / 3600)
    # Every method and seed embeds the 72,000 frames, every decoder decodes and scores them.
    frames = 72_000 * 6
    cores = 12 * 360 + frames / 40 + 2 * frames / 1000 + 24 * 18 + 2 * frames / 1e6
    assert found.core_hours == pytest.approx(cores / 3600)
    # Maps of 10 x 10 x 1024 float16.
    assert found.cache_gb == pytest.approx(72_000 * 100 * 1024 * 2 / 1e9)
    assert found.cache_compressed_gb == pytest.approx(found.cache_gb / 2)


def test_what_grows_with_what():
    by = growth(TWO_TASKS, STUDY, RATES, 2.0)
    base = by["as above"]
    videos, longer = by["twice the videos, as long each"], by["the same videos, twice as long"]
    methods = by["twice the methods"]
    assert videos.jobs["extract"] == 2 * base.jobs["extract"]
    assert longer.jobs == base.jobs
    assert videos.cache_gb == longer.cache_gb == 2 * base.cache_gb
    # Training draws a fixed number of frames: neither videos nor hours make it longer.
    assert longer.gpu_hours - base.gpu_hours == pytest.approx((720 + 360) / 3600)
    assert methods.cache_gb == base.cache_gb
    assert methods.jobs["train"] == 2 * base.jobs["train"]
    assert methods.jobs["extract"] == base.jobs["extract"]
    assert methods.gpu_hours - base.gpu_hours == pytest.approx(2 * 12 * 180 / 3600)
    assert methods.core_hours == pytest.approx(2 * base.core_hours)
    assert by["twice the seeds"] == methods


def test_the_published_collections():
    found = {one.name: one for one in collections()}
    assert {name: (one.tasks, one.videos) for name, one in found.items()} == {
        "EgoProceL": (16, 326), "ProceL": (12, 720), "CrossTask": (18, 2750),
    }  # fmt: skip
    whole = together(found.values())
    assert (whole.tasks, whole.videos) == (46, 3796)
    # The 322 hours of the three.
    assert whole.hours == pytest.approx(322.3)
    assert [one.name for one in collections(["crosstask"])] == ["CrossTask"]
    assert collections(["ProceL"], {"procel": 50})[0].hours == 50
    with pytest.raises(RgwotError, match="collection"):
        collections(["coin"])


def test_shipped_rates_name_their_hardware_and_sources():
    sets = shipped_rates()
    assert "cpu" in sets
    for rates in sets.values():
        assert len(rates.hardware) > 10
        for stage in ("extract", "train", "embed", "decode", "evaluate"):
            assert getattr(rates, stage).source


def test_own_rates(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(RATES.model_dump_json(), encoding="utf-8")
    assert load_rates(str(path)) == RATES
    done = CliRunner().invoke(cli, ["plan", "--rates", str(path), "--collection", "ProceL", "--fps", "1"])
    assert done.exit_code == 0
    assert "Rates `mine`: by hand" in done.output
    path.write_text('{"hardware": "x"}', encoding="utf-8")
    with pytest.raises(RgwotError, match="extract"):
        load_rates(str(path))
    with pytest.raises(RgwotError, match="expected a JSON file"):
        load_rates("nowhere.json")


def test_the_command_shows_inputs_and_results():
    done = CliRunner().invoke(cli, ["plan"])
    assert done.exit_code == 0
    for shown in ("322.3", "3796", "10000 iterations", "12 methods x 3 seeds", "Growth", "Rates `cpu`"):
        assert shown in done.output
    printed = json.loads(CliRunner().invoke(cli, ["plan", "--json", "--hours", "crosstask=300"]).output)
    assert {one["fps"] for one in printed["estimates"]} == {1, 2, 5}
    assert printed["collections"][-1]["hours"] == pytest.approx(62 + 47.3 + 300)
    whole = [one for one in printed["estimates"] if one["collection"] == "all" and one["rates"] == "cpu"]
    assert [one["cache_gb"] for one in whole] == pytest.approx(
        [409.3 * 3600 * fps * 121 * 2048 / 1e9 for fps in (1, 2, 5)]
    )


@pytest.mark.parametrize("text", ["CrossTask", "CrossTask=many", "CrossTask=0"])
def test_hours_that_are_none(text):
    done = CliRunner().invoke(cli, ["plan", "--hours", text])
    assert isinstance(done.exception, RgwotError)
    assert "expected a collection and its hours" in str(done.exception)
