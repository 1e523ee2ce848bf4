"""The choice of clusters that are background: hand-worked cases, properties, and decoders with surplus clusters."""

from __future__ import annotations

import numpy as np
import pytest
from with_defaults import ALONE, decoder_by

from rgwot.keysteps.extended import extended, restored
from rgwot.keysteps.interface import NO_CLUSTER, Frames
from rgwot.keysteps.surplus import keep_clusters, key_step_clusters, likeness


def test_a_key_step_is_in_every_video_and_in_one_place() -> None:
    # Cluster 0 is at one place in every video, 1 in one video only, and 2 all over every video.
    first = [2, 0, 0, 0, 2, 1, 1, 1, 2]
    second = [2, 0, 0, 0, 2, 2, 2, 2, 2]
    found = likeness(np.array(first + second), (9, 9), 3)
    assert found.argmax() == 0
    assert key_step_clusters(np.array(first + second), (9, 9), 3, 1).tolist() == [0]


def test_hand_computed_likeness() -> None:
    labels = np.array([0, 0, 1, 1, 0, 1, 1, 0])
    # Both clusters cover half of each video. In the two videos, the spreads are 0.125 and 0.375 for 0, and 0.125 and
    # 0.125 for 1, so z is 1 and -1. The mean times, 0.25 and 0.5 for 0 and 0.75 and 0.5 for 1, vary equally.
    assert likeness(labels, (4, 4), 2) == pytest.approx([-1.0, 1.0])
    # In a single video, three clusters have shares 1/6, 1/3 and 1/2 and spreads 0, 1/12 and 1/sqrt(54); with one video,
    # places do not vary.
    share, spread = np.log(np.array([1 / 6, 1 / 3, 1 / 2]) + 0.01), np.array([0, 1 / 12, 54**-0.5])
    z = [(values - values.mean()) / values.std() for values in (share, spread)]
    assert likeness(np.array([0, 1, 1, 2, 2, 2]), (6,), 3) == pytest.approx(z[0] - z[1])


def test_a_cluster_without_samples_is_last_and_background_is_none() -> None:
    labels = np.array([0, NO_CLUSTER, 2, 0, 2, NO_CLUSTER])
    assert likeness(labels, (3, 3), 3).argmin() == 1
    assert key_step_clusters(labels, (3, 3), 3, 2).tolist() == [0, 2]


def test_order_of_videos_and_numbers_of_clusters_do_not_matter() -> None:
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 6, 60)
    swapped = np.r_[25:60, 0:25]
    other = np.array([3, 5, 0, 1, 4, 2])
    straight = likeness(labels, (25, 35), 6)
    assert likeness(labels[swapped], (35, 25), 6) == pytest.approx(straight)
    assert likeness(other[labels], (25, 35), 6)[other] == pytest.approx(straight)


def test_kept_clusters_are_numbered_in_turn() -> None:
    labels = np.array([4, 0, 2, NO_CLUSTER, 2])
    assert keep_clusters(labels, np.array([2, 4])).tolist() == [1, NO_CLUSTER, 0, NO_CLUSTER, 0]


@pytest.mark.parametrize("name", ALONE)
def test_every_decoder_can_say_background(name: str) -> None:
    generator = np.random.default_rng(1)
    looks = np.eye(6) * 4
    # Steps 0, 1 and 2 are at the same places in every video; 3, 4 and 5 occur in one video each.
    labels = np.concatenate([np.repeat([0, 3 + video, 1, 3 + video, 2], 8) for video in range(3)])
    x = looks[labels] + generator.normal(scale=0.1, size=(120, 6))
    frames = Frames(x, (40, 40, 40), 2.0)
    decoder = extended(decoder_by(name), time=0.0, surplus=3)
    made = decoder(frames, 3, np.random.default_rng(0))
    assert set(made.labels.tolist()) <= {NO_CLUSTER, 0, 1, 2}
    if name == "viterbi":
        return  # The fixed order has no key step that occurs in only one video.
    assert (made.labels[labels > 2] == NO_CLUSTER).mean() > 0.9
    assert (made.labels[labels < 3] != NO_CLUSTER).mean() > 0.9
    if made.learned is not None:
        restore = decoder_by(name).restored
        again = restored(restore, made.learned, 3, time=0.0, surplus=3)(frames).labels
        assert (again == made.labels).mean() > 0.95


def test_without_time_and_surplus_a_decoder_is_itself() -> None:
    assert extended(kmeans := decoder_by("kmeans"), 0.0, 0) is kmeans
