"""The workflow makes bundles of results without making the results again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from checkouts import Checkout

METHODS = {"rgwot": "graphcut", "whitened": "meanfield", "rgwot-plus": "consensus"}


def target(method: str, decoder: str) -> str:
    return f"results/bundles/{method}/{decoder}/demo/assembly/seed0.rgwot"


MISTAKES = {
    target("rgwott", "graphcut"): "did you mean 'rgwot'",
    target("rgwot", "graphcut").replace("assembly", "assembli"): "assembli",
    target("none", "uniform"): "decoder 'uniform': does not look at videos",
}


def test_a_bundle_needs_the_result_and_nothing_else(fresh: Checkout) -> None:
    bundles = [target(method, decoder) for method, decoder in METHODS.items()]
    plans = fresh.plans({path: [path] for path in (*bundles, *MISTAKES)})
    for method, decoder in METHODS.items():
        jobs = plans[target(method, decoder)].jobs
        trained = method == "rgwot"
        embedded = "embed" if trained else "embed_without_encoder"
        assert jobs["train"] == trained
        assert (jobs[embedded], jobs["decode"], jobs["bundle"], jobs["evaluate"]) == (1, 1, 1, 0)
    for path, words in MISTAKES.items():
        assert words in plans[path].mistake


@pytest.mark.long
def test_a_bundle_is_made_once_and_applied(fresh: Checkout, tmp_path: Path) -> None:
    small = fresh.path / "tests/small.yaml"
    small.write_text(small.read_text(encoding="utf-8").replace("synth: {", "synth: {n_videos: 4, "), encoding="utf-8")
    bundle = target("whitened", "meanfield")
    segments = bundle.replace("bundles", "keysteps").replace(".rgwot", "/segments.csv")
    output = fresh.snakemake(segments)
    assert output.returncode == 0, output.text[-4000:]
    assert fresh.plan(bundle).jobs == {"bundle": 1}
    output = fresh.snakemake(bundle)
    assert output.returncode == 0, output.text[-4000:]
    assert not fresh.plan(bundle, segments).jobs
    clip = sorted((fresh.path / "results/synthetic/demo").rglob("*.mp4"))[0]
    command = [sys.executable, "-m", "rgwot", "apply", bundle, str(clip), "--output", str(tmp_path / "out")]
    said = subprocess.run(command, cwd=fresh.path, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    assert "a video of the study" in said.stdout
    found = [line for line in (fresh.path / segments).read_text().splitlines() if line.startswith(f"{clip.stem},task")]
    assert (tmp_path / "out/segments.csv").read_text().splitlines()[1:] == found
