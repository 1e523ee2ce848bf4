"""Tasks with very many samples are thinned, and every other sample gets the label of the nearest kept sample."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score
from with_defaults import decode_by

from rgwot.keysteps import common_time, consensus, tree
from rgwot.keysteps.common_time import choose_share
from rgwot.keysteps.interface import Frames
from rgwot.keysteps.settings import MeanfieldSettings
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


@given(
    lengths=st.lists(st.integers(0, 40), min_size=1, max_size=6),
    most=st.integers(1, 100),
    kept=st.sets(st.integers(0, 239)),
)
def test_samples_to_keep_are_never_thinned_out(lengths: list[int], most: int, kept: set[int]) -> None:
    samples = np.arange(sum(lengths))
    keep = np.isin(samples, list(kept))
    usual, *_ = thinned(lengths, most)
    chosen, counts, nearest = thinned(lengths, most, keep)
    assert chosen.tolist() == sorted({*usual.tolist(), *samples[keep].tolist()})
    owner = np.repeat(np.arange(len(lengths)), lengths)
    assert list(counts) == np.bincount(owner[chosen], minlength=len(lengths)).tolist()
    for i, place in enumerate(nearest):
        own = chosen[owner[chosen] == owner[i]]
        assert owner[chosen[place]] == owner[i]
        assert abs(chosen[place] - i) == abs(own - i).min()


def steps(seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(n) * 4 // n for n in LENGTHS])
    return generator.normal(size=(4, 8))[labels] + 0.5 * generator.normal(size=(len(labels), 8))


def test_the_consensus_and_the_tree_of_every_third_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    x, settings = steps(), {"consensus.partitions": 4, "consensus.starts": 2}
    chosen, counts, nearest = thinned(LENGTHS, 70)
    assert counts == (20, 21, 20, 1)
    few = decode_by("consensus", Frames(x[chosen], counts, 2.0), 4, settings, np.random.default_rng(0))
    branches = grow(x[chosen], counts, np.random.default_rng(1))
    for module in (consensus, tree):
        monkeypatch.setattr(module, "MOST_SAMPLES", 70)
    decoded = decode_by("consensus", Frames(x, LENGTHS, 2.0), 4, settings, np.random.default_rng(0))
    assert decoded.memberships is not None
    assert decoded.memberships.shape == (len(x), 4)
    assert decoded.labels.tolist() == few.labels[nearest].tolist()
    assert decoded.twice is not None
    assert [len(labels) for labels in decoded.twice] == [len(x)] * 2
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
        settings = keys
        labels[refinements] = decode_by("consensus", frames, 4, settings, np.random.default_rng(0)).labels
        if not refinements:
            few = decode_by("consensus", Frames(x[chosen], counts, 2.0), 4, settings, np.random.default_rng(0))
            assert labels[0].tolist() == few.labels[nearest].tolist()
    # Borders are exact, not only at the samples that were segmented.
    truth = np.concatenate([np.arange(n) * 4 // n for n in LENGTHS])
    assert adjusted_rand_score(truth, labels[2]) > adjusted_rand_score(truth, labels[0])


def test_the_share_of_time_of_every_second_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    x, block = steps(), MeanfieldSettings()
    chosen, counts, _ = thinned(LENGTHS, 100)
    assert counts == (30, 31, 29, 2)
    share, _, facts = choose_share(x[chosen], counts, 4, block, 0)
    monkeypatch.setattr(common_time, "MOST_TRIED", 100)
    again = choose_share(x, LENGTHS, 4, block, 0)
    assert (again[0], again[2]) == (share, facts)
