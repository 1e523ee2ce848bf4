"""In tasks of many videos, only some are learned from; the others get the labels that they would otherwise have."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score
from with_defaults import decode_by

from rgwot.diagnostics import Facts
from rgwot.keysteps import interface as many
from rgwot.keysteps.interface import NO_CLUSTER, PER_VIDEO, UNKNOWN, Decoded, Frames, decode_by_some, learned_from
from rgwot.keysteps.labelled import decode_labelled
from rgwot.keysteps.meanfield import label, label_at_once, segment
from rgwot.keysteps.settings import Labelled, MeanfieldSettings
from rgwot.timing import thinned


@given(lengths=st.lists(st.integers(1, 400), min_size=2, max_size=300), most=st.integers(1, 20_000))
def test_evenly_spaced_videos_of_about_so_many_samples(lengths: list[int], most: int) -> None:
    V, samples = len(lengths), sum(thinned(lengths, PER_VIDEO * len(lengths))[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(many, "MOST_LEARNED", most)
        places = learned_from(lengths)
    if samples <= most:
        assert places.tolist() == list(range(V))
        return
    assert places[0] == 0
    assert places[-1] == V - 1
    gaps = np.diff(places)
    assert gaps.min() >= 1
    assert gaps.max() - gaps.min() <= 1
    assert 2 <= len(places) <= max(2, V * most / samples)


@given(
    lengths=st.lists(st.integers(1, 9), min_size=2, max_size=12),
    chosen=st.sets(st.integers(0, 11), min_size=1),
    part=st.integers(1, 30),
)
def test_every_sample_has_its_own_label(lengths: list[int], chosen: set[int], part: int) -> None:
    V, T = len(lengths), sum(lengths)
    some = np.array(sorted({place % V for place in chosen}))
    own = np.arange(T)
    frames = Frames(own[:, None].astype(float), tuple(lengths), 2.0, given=own)
    owner = np.repeat(np.arange(V), lengths)

    def decode(few: Frames, learning: int) -> Decoded:
        assert few.given is not None
        assert few.given.tolist() == few.x[:, 0].tolist()
        assert sum(few.lengths) == len(few.x)
        assert np.isin(owner[few.given], some).all() == bool(learning)
        # The decoder gets whole videos, one after the other.
        assert [len(video) for video in np.split(few.given, np.flatnonzero(np.diff(owner[few.given])) + 1)] == [
            *few.lengths
        ]
        return Decoded(few.given, few.x + learning, {"any": Facts()})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(many, "MOST_AT_ONCE", part)
        made = decode_by_some(frames, some, lambda few: decode(few, 1), lambda _: lambda few: decode(few, 0))
    assert made.labels.tolist() == own.tolist()
    assert made.memberships is not None
    assert (made.memberships[:, 0] == own + np.isin(owner, some)).all()
    assert made.facts["any"] == Facts(videos=len(some) if len(some) < V else None)


def videos(V: int, noise: float) -> tuple[Frames, np.ndarray]:
    generator = np.random.default_rng(0)
    looks = generator.normal(size=(4, 16))
    lengths = tuple(int(n) for n in generator.integers(30, 50, V))
    labels = np.concatenate([generator.permutation(4)[np.arange(n) * 4 // n] for n in lengths])
    return Frames(looks[labels] + noise * generator.normal(size=(len(labels), 16)), lengths, 2.0), labels


def test_many_videos_at_once_have_the_memberships_that_each_has_alone() -> None:
    frames, _ = videos(12, noise=1.5)
    block = MeanfieldSettings(max_iterations=3, tolerance=0)
    made = segment(frames.x, frames.lengths, 4, block, np.random.default_rng(0))
    each, all_of_them = (
        by(frames.x, frames.lengths, made.centres, made.shares, block) for by in (label, label_at_once)
    )
    np.testing.assert_allclose(all_of_them, each, atol=1e-9)


def test_the_consensus_of_a_third_of_the_videos_is_that_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    frames, truth = videos(60, noise=1.5)
    settings = {"consensus.partitions": 8, "consensus.starts": 4}
    whole = decode_by("consensus", frames, 4, settings, np.random.default_rng(0))
    monkeypatch.setattr(many, "MOST_LEARNED", len(truth) // 3)
    decoded = decode_by("consensus", frames, 4, settings, np.random.default_rng(0))
    assert decoded.facts["consensus"].videos == len(learned_from(frames.lengths)) == 19
    assert whole.facts["consensus"].videos is None
    assert adjusted_rand_score(truth, whole.labels) > 0.9
    assert adjusted_rand_score(whole.labels, decoded.labels) > 0.95
    # Labels and memberships agree for every sample.
    assert decoded.memberships is not None
    assert decoded.memberships.shape == (len(truth), 4)
    assert (decoded.memberships.argmax(axis=1) == decoded.labels).all()


def test_given_labels_are_always_learned_from_and_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    frames, looks = videos(60, noise=1.0)
    settings = Labelled()
    owner = np.repeat(np.arange(60), frames.lengths)
    meant = np.array([0, NO_CLUSTER, 1, 2])[looks]
    # One of the three labelled videos has labels of only its first 20 samples, of which the first three are wrong.
    said = np.where(np.isin(owner, (7, 22, 41)), meant, UNKNOWN)
    first = np.flatnonzero(owner == 7)
    said[first[:3]], said[first[20:]] = (meant[first[:3]] + 1) % 3, UNKNOWN
    monkeypatch.setattr(many, "MOST_LEARNED", len(looks) // 10)
    assert not np.isin((7, 22, 41), learned_from(frames.lengths)).any()
    learned = Frames(frames.x, frames.lengths, 2.0, given=said)
    decoded = decode_labelled(learned, 3, np.random.default_rng(0), settings)
    known = said != UNKNOWN
    assert (decoded.labels[known] == said[known]).all()
    assert decoded.facts["labelled"].videos == len(learned_from(frames.lengths)) + 3
    assert (decoded.labels == meant)[~known].mean() > 0.97
