"""Tasks of very many samples: what is thinned, and that the others follow the nearest sample that is left."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgwot.config.settings import build
from rgwot.embedding import stored
from rgwot.embedding.stored import EmbeddedVideo, read_embeddings, write_embedded
from rgwot.evaluation.metrics import adjusted_rand_score
from rgwot.keysteps import choices, consensus, tree
from rgwot.keysteps.choices import choose
from rgwot.keysteps.consensus import decode_consensus
from rgwot.keysteps.interface import Frames
from rgwot.keysteps.tree import grow
from rgwot.timing import thinned

LENGTHS = (60, 61, 58, 3)


@given(lengths=st.lists(st.integers(0, 40), min_size=1, max_size=6), most=st.integers(1, 100))
def test_every_sample_follows_the_nearest_of_its_video(lengths: list[int], most: int) -> None:
    chosen, counts, nearest = thinned(lengths, most)
    assert len(chosen) == sum(counts) <= most + len(lengths)
    assert len(nearest) == sum(lengths)
    owner = np.repeat(np.arange(len(lengths)), lengths)
    for i, place in enumerate(nearest):
        own = chosen[owner[chosen] == owner[i]]
        assert owner[chosen[place]] == owner[i]
        assert abs(chosen[place] - i) == abs(own - i).min()
    if sum(lengths) <= most:
        assert chosen.tolist() == nearest.tolist() == list(range(sum(lengths)))


def steps(seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(n) * 4 // n for n in LENGTHS])
    return generator.normal(size=(4, 8))[labels] + 0.5 * generator.normal(size=(len(labels), 8))


def test_the_consensus_and_the_tree_of_every_third_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    x, settings = steps(), build({"consensus.partitions": 4, "consensus.starts": 2}, "test")
    chosen, counts, nearest = thinned(LENGTHS, 70)
    assert counts == (20, 21, 20, 1)
    few = decode_consensus(Frames(x[chosen], counts, 2.0), 4, settings, np.random.default_rng(0))
    branches = grow(x[chosen], counts, np.random.default_rng(1))
    for module in (consensus, tree):
        monkeypatch.setattr(module, "MOST_SAMPLES", 70)
    made = decode_consensus(Frames(x, LENGTHS, 2.0), 4, settings, np.random.default_rng(0))
    assert made.memberships is not None
    assert made.memberships.shape == (len(x), 4)
    assert made.labels.tolist() == few.labels[nearest].tolist()
    assert made.twice is not None
    assert [len(labels) for labels in made.twice] == [len(x)] * 2
    grown = grow(x, LENGTHS, np.random.default_rng(1))
    assert grown.leaves.tolist() == branches.leaves[nearest].tolist()
    assert grown.merges == branches.merges


def test_the_consensus_segments_fewer_samples_and_refines_all(monkeypatch: pytest.MonkeyPatch) -> None:
    x = steps()
    frames = Frames(x, LENGTHS, 2.0)
    monkeypatch.setattr(consensus, "PER_VIDEO", 20)
    chosen, counts, nearest = thinned(LENGTHS, 20 * len(LENGTHS))
    labels = {}
    for refinements in (0, 2):
        keys = {"consensus.partitions": 4, "consensus.starts": 2, "consensus.refinements": refinements}
        wanted = build(keys, "test")
        labels[refinements] = decode_consensus(frames, 4, wanted, np.random.default_rng(0)).labels
        if not refinements:
            few = decode_consensus(Frames(x[chosen], counts, 2.0), 4, wanted, np.random.default_rng(0))
            assert labels[0].tolist() == few.labels[nearest].tolist()
    # Every border where it is, and not only where samples were segmented.
    truth = np.concatenate([np.arange(n) * 4 // n for n in LENGTHS])
    assert adjusted_rand_score(truth, labels[2]) > adjusted_rand_score(truth, labels[0])


def test_choices_are_the_same_from_a_store_as_from_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (stored, choices):
        monkeypatch.setattr(module, "MOST_VIEWED", 100)
    borders = np.cumsum(LENGTHS)[:-1]
    views = np.split(np.stack([steps(), steps()]).astype(np.float32), borders, axis=1)
    videos = {
        f"v{i}": EmbeddedVideo(x.astype(np.float32), np.arange(len(x)) / 2, len(x) / 2, 2, views=own)
        for i, (x, own) in enumerate(zip(np.split(steps(), borders), views, strict=True))
    }
    write_embedded(tmp_path / "seed0.zarr", videos, {"features_fps": 2.0})
    kept = [video.views for video in read_embeddings(tmp_path / "seed0.zarr").videos.values()]
    for own, full in zip(kept, views, strict=True):
        assert own is not None
        np.testing.assert_array_equal(own, full[:, ::2])
    wanted = build({"decode.K": "auto"}, "test")
    x = np.concatenate([video.embedding for video in videos.values()]).astype(np.float64)
    found = [choose(x, [one.astype(np.float64) for one in given], LENGTHS, wanted, 0) for given in (kept, views)]
    assert found[0] == found[1]
