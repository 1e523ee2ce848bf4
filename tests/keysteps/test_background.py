"""Samples called background, by the embeddings or by a decoder, from the store of embeddings to the scores."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import zarr

from rgwot.evaluation.evaluate import evaluate
from rgwot.keysteps.decode import decode
from rgwot.keysteps.registry import DECODERS
from rgwot.settings import DecodeSettings, Settings

MANIFEST = "video,name,path,annotation,duration_s,fps,width,height,status,reason"
FPS = 2.0
WALK = np.repeat([0, 9, 1, 9, 2], [6, 4, 6, 4, 6])  # 9: background, somewhere else in every video


def video(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = np.eye(6)[np.where(WALK == 9, 3 + seed, WALK)] + 0.05 * rng.normal(size=(len(WALK), 6))
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def store(
    path: Path,
    videos: Mapping[str, np.ndarray],
    background: Mapping[str, np.ndarray],
    held_out: list[str] | None = None,
) -> Path:
    root = zarr.open_group(str(path), mode="w")
    root.attrs.update({"method": "gpl-nobg", "seed": 0, "features_fps": FPS, "complete": True})
    if held_out:
        root.attrs["held_out"] = held_out
    for name, x in videos.items():
        group = root.create_group(name)
        group.create_array("embedding", data=np.asarray(x, dtype=np.float32))
        group.create_array("time_s", data=np.arange(len(x)) / FPS)
        if name in background:
            group.create_array("background", data=background[name])
        group.attrs.update({"duration_s": len(x) / FPS, "native_fps": "30"})
    return path


def run(path: Path, out: Path, decoder: str, **block: Any) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, Any]]:
    decode(path, out, decoder, Settings(decode=DecodeSettings.model_validate({"K": 3, **block})), 0)
    segments = pd.read_csv(out / "segments.csv")
    order = pd.read_csv(out / "order.csv", dtype=str)
    return segments, order, json.loads((out / "diagnostics.json").read_text())


def scores(out: Path, folder: Path, names: list[str]) -> pd.DataFrame:
    """Scores against a truth in which background is where it was put."""
    manifest, annotations = folder / "manifest.csv", folder / "annotations.csv"
    rows = [f"{name},{name},{name}.mp4,,{len(WALK) / FPS},30,96,64,ok," for name in names]
    manifest.write_text("\n".join([MANIFEST, *rows, ""]))
    times = [("0.0", "2.75", 1), ("4.75", "7.75", 2), ("9.75", "13.0", 3)]
    truth = [f"{name},{start},{end},{step},step {step}" for name in names for start, end, step in times]
    annotations.write_text("\n".join(["video,start_s,end_s,key_step,name", *truth, ""]))
    identity = {"dataset": "demo", "task": "t", "method": "m", "decoder": "d", "seed": 0}
    return evaluate(
        manifest, annotations, out / "segments.csv", out / "diagnostics.json", folder / "s.csv", identity, n_key_steps=3
    )


@pytest.mark.parametrize("decoder", sorted(DECODERS))
def test_marked_samples_are_key_step_0_and_touch_no_cluster(tmp_path: Path, decoder: str) -> None:
    names = ["a", "b"]
    videos = {name: video(seed) for seed, name in enumerate(names)}
    marks = dict.fromkeys(names, WALK == 9)
    out = tmp_path / "out"
    segments, order, facts = run(store(tmp_path / "e.zarr", videos, marks), out, decoder)
    for (_, _), rows in segments.groupby(["scope", "video"]):
        steps = rows.key_step.tolist()
        assert steps[1::2] == [0, 0]
        assert sorted(steps[::2]) == [1, 2, 3]
        assert rows.start_s.tolist() == pytest.approx([0, 2.75, 4.75, 7.75, 9.75])
    first = segments[(segments.scope == "task") & (segments.video == "a")].key_step.tolist()[::2]
    assert order.order.tolist() == [">".join(map(str, first))] * 2
    assert facts["background"] is True
    assert facts["task"]["background_share"] == pytest.approx(8 / 26)
    assert facts["task"]["distinct_labels"] == 4
    assert facts["degenerate"] is False
    # Background is one more cluster for the scores, so all four classes are matched.
    table = scores(out, tmp_path, names)
    assert table[(table.metric == "f1") & (table.label_rule == "exact")].value.to_numpy() == pytest.approx(1)
    # What the marked samples look like has no influence.
    other = {name: np.where((WALK == 9)[:, None], video(2), x) for name, x in videos.items()}
    again, _, _ = run(store(tmp_path / "f.zarr", other, marks), tmp_path / "again", decoder)
    pd.testing.assert_frame_equal(segments, again)


@pytest.mark.parametrize("decoder", sorted(DECODERS))
def test_videos_held_out_keep_their_background(tmp_path: Path, decoder: str) -> None:
    videos = {name: video(seed) for seed, name in enumerate("abc")}
    path = store(tmp_path / "e.zarr", videos, dict.fromkeys("abc", WALK == 9), held_out=["c"])
    segments, _, facts = run(path, tmp_path / "out", decoder)
    rows = segments[segments.scope == "task"]
    a, c = (rows[rows.video == name].key_step.tolist() for name in "ac")
    assert a == c
    assert a[1::2] == [0, 0]
    assert facts["task"]["held_out"]["background_share"] == pytest.approx(8 / 26)


def test_a_video_that_is_all_background(tmp_path: Path) -> None:
    videos = {name: video(seed) for seed, name in enumerate("ab")}
    marks = {"a": WALK == 9, "b": np.ones(len(WALK), dtype=bool)}
    segments, order, facts = run(store(tmp_path / "e.zarr", videos, marks), tmp_path / "out", "graphcut")
    assert segments[segments.video == "b"].key_step.tolist() == [0, 0]
    assert order.set_index("video").order["b"] == "0"
    assert facts["video"]["degenerate_videos"] == ["b"]
    assert facts["video"]["videos"]["b"]["degenerate_cause"] == "decoder"


def test_background_of_the_decoder_counts_as_one_more_cluster(tmp_path: Path) -> None:
    names = ["a", "b"]
    videos = {name: video(seed) for seed, name in enumerate(names)}
    path = store(tmp_path / "e.zarr", videos, {})
    out = tmp_path / "out"
    segments, order, facts = run(path, out, "viterbi", background=75)
    assert facts["background"] is True
    assert 0 < facts["task"]["background_share"] < 0.75
    assert set(segments.key_step) == {0, 1, 2, 3}
    assert not order.order.str.contains("0").any()
    scores(out, tmp_path, names)
    _, _, without = run(path, tmp_path / "none", "viterbi")
    assert without["background"] is False
    assert without["task"]["background_share"] == 0
