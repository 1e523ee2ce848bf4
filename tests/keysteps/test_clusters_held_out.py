"""Videos held out do not affect the clustering, which then labels them, and are scored."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from embedded import write_store
from with_defaults import ALONE, decode_by, decoder_by, fuzzy_cmeans, predict_by

from rgwot.columns import ANNOTATION_COLUMNS, MANIFEST_COLUMNS
from rgwot.config.methods import DECODERS
from rgwot.keysteps.fuzzy_cmeans import frame_of, memberships_in
from rgwot.keysteps.interface import Decoded, Frames
from rgwot.keysteps.settings import Clustering, Uniform
from rgwot.runtime.errors import RgwotError
from rgwot.stages.decode import decode, decode_trivial
from rgwot.stages.evaluate import evaluate

FPS = 2.0
#: Decoders that can label other videos.
NAMES = [name for name in ALONE if DECODERS[name].RESTORE]
QUICK = {"decode.K": 3, "consensus.partitions": 8, "consensus.starts": 3}


def walk(places: list[int], seed: int, noise: float = 0.3) -> np.ndarray:
    """Return samples near unit vectors, 8 in a row at each of the given places."""
    labels = np.repeat(places, 8)
    x = np.eye(6)[labels] + noise * np.random.default_rng(seed).normal(size=(len(labels), 6))
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def videos(noise: float = 0.3) -> dict[str, np.ndarray]:
    walks = {"a": [0, 1, 2], "b": [0, 2, 1], "c": [1, 0, 2], "d": [2, 1, 0]}
    return {name: walk(places, seed, noise) for seed, (name, places) in enumerate(walks.items())}


def store(path: Path, content: Mapping[str, np.ndarray], held_out: list[str] | None = None) -> Path:
    return write_store(path, content, FPS, **({"held_out": held_out} if held_out else {}))


def read(folder: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    return pd.read_csv(folder / "segments.csv"), json.loads((folder / "diagnostics.json").read_text())


def run(path: Path, content: Mapping[str, np.ndarray], decoder: str, held_out: list[str] | None = None) -> Path:
    out = path.with_suffix(".out")
    decode(store(path, content, held_out), out, decoder_by(decoder, QUICK), 0)
    return out


@pytest.mark.parametrize("decoder", NAMES)
def test_the_clusters_are_those_of_the_training_part_alone(tmp_path: Path, decoder: str) -> None:
    content = videos(noise=0.1)
    whole, facts = read(run(tmp_path / "h.zarr", content, decoder, ["d", "skipped"]))
    part, alone = read(run(tmp_path / "p.zarr", {name: content[name] for name in "abc"}, decoder))
    pd.testing.assert_frame_equal(whole[whole.video != "d"].reset_index(drop=True), part)
    # All other facts are equal to the last digit.
    about = {"degenerate", "degenerate_cause", "distinct_labels_per_video", "segments_per_video"}
    assert {key: facts["task"][key] for key in alone["task"].keys() - about} == {
        key: value for key, value in alone["task"].items() if key not in about
    }
    assert facts["task"]["held_out"]["samples"] == 24
    assert facts["split"] == {"train": ["a", "b", "c"], "test": ["d", "skipped"]}
    assert facts["n_videos"] == 4
    if decoder == "viterbi":  # one order for all videos, the held-out ones included
        assert {tuple(rows.key_step) for _, rows in whole[whole.scope == "task"].groupby("video")} == {(1, 2, 3)}
        return
    # Clusters are tight, so the held-out video has the key steps of the others, in the order of its own walk.
    names = dict(zip([0, 1, 2], part[(part.scope == "task") & (part.video == "a")].key_step, strict=True))
    found = whole[(whole.scope == "task") & (whole.video == "d")].key_step.tolist()
    assert found == [names[place] for place in (2, 1, 0)]


@pytest.mark.parametrize("m", [1.3, 2.0])
def test_memberships_of_new_samples_by_the_formula_and_of_old_ones_as_fitted(m: float) -> None:
    x = walk([0, 1, 2, 3], 5, noise=0.5) + 100.0
    clusters = fuzzy_cmeans(x, 3, m, np.random.default_rng(0))
    np.testing.assert_allclose(memberships_in(x, clusters.centres, *frame_of(x), m), clusters.memberships, atol=1e-9)
    new = walk([4, 0], 6) + 100.0
    power = np.array([[np.linalg.norm(t - c) ** (-2 / (m - 1)) for c in clusters.centres] for t in new])
    expected = power / power.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(memberships_in(new, clusters.centres, *frame_of(x), m), expected, atol=1e-9)


def test_without_any_difference_in_training_new_samples_belong_to_all_clusters_alike() -> None:
    x = np.full((9, 4), 0.5)
    clusters = fuzzy_cmeans(x, 3, 2.0, np.random.default_rng(0))
    np.testing.assert_allclose(memberships_in(np.eye(4), clusters.centres, *frame_of(x), 2.0), 1 / 3)


@pytest.mark.parametrize("decoder", NAMES)
def test_each_old_sample_is_labelled_as_it_was(decoder: str) -> None:
    x = walk([0, 1, 2, 3], 5, noise=0.5)
    frames = Frames(x, (16, 16), FPS)
    decoded = decode_by(decoder, frames, 4, {}, np.random.default_rng(1))
    predict = predict_by(decoder, decoded, 4, {})
    if decoder == "consensus":
        # A video of the study is labelled by classifiers of the other videos, a new video by one that knows all videos.
        assert (predict(frames).labels == decoded.labels).mean() > 0.8
        return
    np.testing.assert_array_equal(predict(frames).labels, decoded.labels)


def test_k_means_takes_the_nearest_mean() -> None:
    x = np.array([[0.0], [0.2], [10.0], [10.4]])
    decoded = decode_by("kmeans", Frames(x, (4,), FPS), 2, {}, np.random.default_rng(0))
    # The means are 0.1 and 10.2, so the border is at 5.15.
    labels = predict_by("kmeans", decoded, 2, {})(Frames(np.array([[-50.0], [5.1], [5.2], [99.0]]), (4,), FPS)).labels
    assert labels.tolist() == decoded.labels[[0, 0, 3, 3]].tolist()


def test_a_collapse_on_the_videos_held_out_is_reported(tmp_path: Path) -> None:
    content = {**videos(), "c": np.tile(np.eye(6)[0], (30, 1)), "d": np.tile(np.eye(6)[1], (30, 1))}
    _, facts = read(run(tmp_path / "e.zarr", content, "kmeans", ["d"]))
    assert facts["task"]["held_out"]["degenerate"]
    assert (facts["task"]["degenerate"], facts["degenerate"]) == (True, True)
    # c is also constant when it is decoded by itself, but it is not scored.
    _, facts = read(run(tmp_path / "f.zarr", {**videos(), "c": content["c"]}, "kmeans", ["d"]))
    assert facts["video"]["degenerate_videos"] == ["c"]
    assert not facts["video"]["degenerate"]


def test_a_decoder_that_cannot_label_new_videos_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []

    def blind(frames: Frames, K: int, generator: np.random.Generator, settings: Clustering) -> Decoded:
        shown.append(frames.lengths)
        return Decoded(np.arange(len(frames.x)) % K)

    class Blind(Clustering):
        NAME = "blind"
        FUNCTION = blind
        SLOW = True

    monkeypatch.setitem(DECODERS, "blind", Blind)
    with pytest.raises(RgwotError, match="'blind': cannot label held-out videos"):
        run(tmp_path / "e.zarr", videos(), "blind", ["d"])
    assert shown == [(24, 24, 24)]
    assert not (tmp_path / "e.out").exists()


@pytest.mark.parametrize("held_out", [["x"], ["a", "b", "c", "d"]])
def test_both_parts_need_a_video_with_frames(tmp_path: Path, held_out: list[str]) -> None:
    with pytest.raises(RgwotError, match="of 4 videos with a frame are held out, expected some of them, but not all"):
        run(tmp_path / "e.zarr", videos(), "kmeans", held_out)


def test_only_videos_held_out_are_scored_and_the_same_for_trivial_answers(tmp_path: Path) -> None:
    content, held_out = videos(), ["b", "d", "skipped"]
    manifest, annotations = tmp_path / "manifest.csv", tmp_path / "annotations.csv"
    rows = [f"{name},,,,{len(x) / FPS},30,,,ok," for name, x in content.items()]
    rows += [f"{name},,,,,,,,skipped," for name in ("skipped", "gone")]
    manifest.write_text("\n".join([",".join(MANIFEST_COLUMNS), *rows, ""]))
    truth = [f"{name},{4 * i}.0,{4 * i + 4}.0,{i + 1}," for name in content for i in range(3)]
    annotations.write_text("\n".join([",".join(ANNOTATION_COLUMNS), *truth, ""]))

    def scores(folder: Path) -> pd.DataFrame:
        identity = {"dataset": "demo", "task": "t", "method": "m", "decoder": "d", "seed": 0}
        paths = (folder / "segments.csv", folder / "diagnostics.json", folder / "scores.csv")
        return evaluate(manifest, annotations, *paths, identity, n_key_steps=3, stride=2)

    def values(table: pd.DataFrame, metric: str) -> set[float]:
        return set(table[table.metric == metric].value)

    held = scores(run(tmp_path / "h.zarr", content, "graphcut", held_out))
    every = scores(run(tmp_path / "a.zarr", content, "graphcut"))
    decode_trivial(manifest, tmp_path / "u", Uniform(K=3), 0, 2, held_out=held_out)
    decode_trivial(manifest, tmp_path / "v", Uniform(K=3), 0, 2)
    trivial, trivial_all = scores(tmp_path / "u"), scores(tmp_path / "v")
    assert values(held, "n_videos") == values(trivial, "n_videos") == {2}
    assert values(held, "n_skipped") == values(trivial, "n_skipped") == {1}
    assert values(every, "n_videos") == values(trivial_all, "n_videos") == {4}
    assert values(every, "n_skipped") == values(trivial_all, "n_skipped") == {2}
    _, facts = read(tmp_path / "u")
    assert facts["split"] == {"train": ["a", "c"], "test": held_out}
    # Only b and d are scored; they visit the places 0 2 1 and 2 1 0, each for a third of the video.
    task = held[(held.protocol == "strict_task") & (held.background == "with") & (held.metric == "f1")]
    pooled = {"b": [0, 2, 1], "d": [2, 1, 0]}
    # The best matching of true steps (positions in a video) with clusters (places) gets half of all samples right.
    hits = sum(np.eye(3)[places] for places in pooled.values())
    best = max(hits[range(3), order].sum() for order in itertools.permutations(range(3)))
    assert task.value.to_numpy() == pytest.approx(best / 6, abs=0.02)
