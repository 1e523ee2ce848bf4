"""The reported cause of a collapse, embedding or decoder, is right, from embeddings to the column ``degenerate``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from embedded import write_store
from with_defaults import ALONE, decoder_by

from rgwot.stages.decode import decode
from rgwot.stages.evaluate import evaluate

MANIFEST = "video,name,path,annotation,duration_s,fps,width,height,status,reason"
FPS, K = 2.0, 7
TRUTH = np.repeat(np.arange(K), 12)


def noise(scale: float, seed: int = 0, D: int = 16) -> np.ndarray:
    return scale * np.random.default_rng(seed).normal(size=(len(TRUTH), D))


def one_direction() -> np.ndarray:
    """Return samples that all point the same way, except for noise such as that of a network's last digits."""
    return np.ones((len(TRUTH), 16)) / 4 + noise(1e-4)


def short_line() -> np.ndarray:
    """Return samples in the right order on a line that is very short compared with its distance from the origin."""
    return np.ones((len(TRUTH), 16)) / 4 + 0.05 * np.linspace(-0.5, 0.5, len(TRUTH))[:, None] * np.eye(16)[3]


def equidistant() -> np.ndarray:
    """Return seven tight clusters with equal distances between them."""
    return np.eye(16)[TRUTH] + noise(0.01)


def sound() -> np.ndarray:
    """Return seven clusters on a path, which are separable with any fuzzifier."""
    return np.stack([np.cos(TRUTH / 3), np.sin(TRUTH / 3)], axis=1) + noise(0.02, D=2)


PUBLIC = {"decode.K": K, "graphcut.m": 2.0, "graphcut.start": "random", "graphcut.restarts": 1}
AUTO = {"decode.K": K, "consensus.partitions": 12, "consensus.starts": 4}
STIFF = {"decode.K": K, "graphcut.pairwise": 1000.0}


def outcome(
    folder: Path, x: np.ndarray, decoder: str, settings: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, float]]:
    """Decode two videos with this embedding, score them, and return the diagnostics and ``degenerate`` by protocol."""
    manifest, annotations, out = folder / "manifest.csv", folder / "annotations.csv", folder / "out"
    content: dict[str, np.ndarray] = {}
    rows, truth = [MANIFEST], ["video,start_s,end_s,key_step,name"]
    for seed, name in enumerate("ab"):
        content[name] = x + noise(1e-6, seed, x.shape[1])
        rows.append(f"{name},{name},{name}.mp4,,{len(x) / FPS},30,96,64,ok,")
        truth += [f"{name},{6.0 * k},{6.0 * k + 6},{k + 1},step {k + 1}" for k in range(K)]
    manifest.write_text("\n".join([*rows, ""]))
    annotations.write_text("\n".join([*truth, ""]))
    decode(write_store(folder / "e.zarr", content, FPS), out, decoder_by(decoder, settings), 0)
    identity = {"dataset": "demo", "task": "t", "method": "rgwot", "decoder": decoder, "seed": 0}
    evaluate(manifest, annotations, out / "segments.csv", out / "diagnostics.json", folder / "s.csv", identity, K, 2)
    table = pd.read_csv(folder / "s.csv")
    marks = table[table.metric == "degenerate"].groupby("protocol").value
    assert (marks.nunique() == 1).all()
    return json.loads((out / "diagnostics.json").read_text()), marks.first().to_dict()


EVERYWHERE = dict.fromkeys(("micro_video", "macro_video", "macro_task", "strict_task", "segmentation"), 1.0)


@pytest.mark.parametrize(("x", "decoder"), [(short_line(), "graphcut"), *((one_direction(), name) for name in ALONE)])
def test_a_collapsed_embedding_is_never_the_decoders_fault(
    tmp_path: Path, x: np.ndarray, decoder: str, caplog: pytest.LogCaptureFixture
) -> None:
    facts, marks = outcome(tmp_path, x, decoder, AUTO)
    assert (facts["degenerate"], facts["degenerate_cause"]) == (True, "embedding")
    assert {facts[scope]["degenerate_cause"] for scope in ("task", "video")} == {"embedding"}
    assert facts["task"]["relative_variance"] < 1e-3
    assert facts["task"]["mean_pairwise_cosine"] > 0.999
    assert facts["video"]["degenerate_videos"] == ["a", "b"]
    assert "the embedding collapsed" in caplog.text
    assert marks == EVERYWHERE


def test_fuzzy_c_means_collapses_on_equidistant_clusters(tmp_path: Path) -> None:
    facts, marks = outcome(tmp_path, equidistant(), "graphcut", PUBLIC)
    assert (facts["degenerate"], facts["degenerate_cause"]) == (True, "decoder")
    assert {facts[scope]["degenerate_cause"] for scope in ("task", "video")} == {"decoder"}
    assert facts["task"]["fuzzy_c_means"]["collapsed"]
    assert facts["task"]["lambda_1"] == pytest.approx(1 / 6, abs=0.01)  # 1 / (k - 1), below 0.25
    assert facts["task"]["membership_entropy"] > 0.99
    assert facts["task"]["relative_variance"] > 0.5
    assert marks == EVERYWHERE


def test_smoothing_collapses_on_a_sound_embedding(tmp_path: Path) -> None:
    facts, marks = outcome(tmp_path, sound(), "graphcut", STIFF)
    assert (facts["degenerate"], facts["degenerate_cause"]) == (True, "decoder")
    assert {facts[scope]["degenerate_cause"] for scope in ("task", "video")} == {"decoder"}
    # The memberships of the clustering are sharp, so the graph cut caused the collapse.
    assert not facts["task"]["fuzzy_c_means"]["collapsed"]
    assert facts["task"]["mean_max_membership"] > 0.6
    for name in "ab":
        assert facts["video"]["videos"][name]["dominant_label_share"] > 0.95
    assert marks == EVERYWHERE


@pytest.mark.parametrize(("x", "decoder"), [(sound(), "graphcut"), *((equidistant(), name) for name in ALONE)])
def test_the_same_embeddings_with_the_default_decoders_are_sound(tmp_path: Path, x: np.ndarray, decoder: str) -> None:
    facts, marks = outcome(tmp_path, x, decoder, AUTO)
    assert (facts["degenerate"], facts["degenerate_cause"]) == (False, None)
    assert marks == dict.fromkeys(EVERYWHERE, 0.0)
