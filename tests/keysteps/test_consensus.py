"""The consensus of segmentations: its key steps, reproducibility, and labels of other videos."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from with_defaults import decode_by, predict_by

from rgwot.keysteps import consensus
from rgwot.keysteps.common_time import with_time
from rgwot.keysteps.consensus import blocks_of
from rgwot.keysteps.interface import Frames, directions
from rgwot.keysteps.ordering import order_information
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.threads import threads


def videos(noise: float, seed: int = 0, V: int = 8) -> tuple[Frames, np.ndarray]:
    generator = np.random.default_rng(seed)
    looks = generator.normal(size=(5, 16))
    labels = np.concatenate([np.repeat(generator.permutation(5), 12) for _ in range(V)])
    x = looks[labels] + noise * generator.normal(size=(len(labels), 16))
    return Frames(x, (60,) * V, 2.0), labels


def test_finds_the_steps_and_the_same_ones_again() -> None:
    frames, truth = videos(noise=1.0)
    decoded = decode_by("consensus", frames, 5, {}, np.random.default_rng(0))
    again = decode_by("consensus", frames, 5, {}, np.random.default_rng(0))
    assert adjusted_rand_score(truth, decoded.labels) > 0.95
    assert (decoded.labels == again.labels).all()
    assert decoded.memberships is not None
    assert decoded.memberships.shape == (480, 5)


def test_threads_find_the_same_to_the_bit() -> None:
    frames, _ = videos(noise=2.2)
    settings = {"consensus.partitions": 4, "consensus.starts": 3}
    made = []
    for n_jobs in (None, 2):
        with threads(n_jobs):
            made.append(decode_by("consensus", frames, 5, settings, np.random.default_rng(0)))
    one, two = made
    assert (one.memberships == two.memberships).all()
    assert all((one.learned[name] == two.learned[name]).all() for name in one.learned)
    with pytest.raises(RgwotError, match="n_jobs: found 0, expected a number of threads"), threads(0):
        pass


def test_is_better_than_a_single_segmentation_on_average(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consensus, "POOLS", 1)
    found = {}
    for partitions in (1, 12):
        settings = {"consensus.partitions": partitions, "consensus.starts": 1}
        scores = []
        for seed in range(4):
            frames, truth = videos(noise=2.2, seed=seed)
            decoded = decode_by("consensus", frames, 5, settings, np.random.default_rng(seed))
            scores.append(adjusted_rand_score(truth, decoded.labels))
        found[partitions] = float(np.mean(scores))
    assert found[12] > found[1]


@pytest.mark.parametrize("spoiled", [0, 1, 6])
def test_a_pool_that_went_wrong_is_outvoted(spoiled: int, monkeypatch: pytest.MonkeyPatch) -> None:
    frames, truth = videos(noise=1.0)
    thirds = np.arange(len(truth)) * 3 // len(truth)
    settings = {"consensus.partitions": 4, "consensus.starts": 4}
    sound, made_before = consensus._pool, iter(range(consensus.POOLS))

    def spoil(own: Frames, K: int, *rest: Any) -> Any:
        pool = sound(own, K, *rest)
        # The spoiled pool cuts all samples into thirds, with which no sound pool agrees.
        return pool._replace(x=np.eye(K)[thirds]) if next(made_before) == spoiled else pool

    monkeypatch.setattr(consensus, "_pool", spoil)
    decoded = decode_by("consensus", frames, 5, settings, np.random.default_rng(0))
    assert adjusted_rand_score(truth, decoded.labels) > 0.95
    # The spoiled pool is not used to label other videos, either.
    predict = predict_by("consensus", decoded, 5, settings)
    assert adjusted_rand_score(truth, predict(frames).labels) > 0.95
    # These are the labels of the first two pools, which are compared instead of two seeds.
    assert decoded.twice is not None
    for pool, labels in enumerate(decoded.twice):
        assert adjusted_rand_score(thirds if pool == spoiled else truth, labels) > 0.95


def test_a_single_video_is_segmented_from_one_pool() -> None:
    frames, _ = videos(noise=1.0, V=1)
    decoded = decode_by("consensus", frames, 5, {"consensus.partitions": 6}, np.random.default_rng(0))
    assert decoded.twice is None
    assert decoded.facts["consensus"].partitions == 6


@pytest.mark.parametrize(("blocks", "refinements"), [(1, 3), (2, 3), (2, 0)])
def test_other_videos_are_labelled_by_the_same_clusters(blocks: int, refinements: int) -> None:
    frames, truth = videos(noise=1.0)
    half = Frames(frames.x[:240], (60,) * 4, 2.0)
    keys = {"consensus.blocks": blocks, "consensus.partitions": 12, "consensus.refinements": refinements}
    settings = keys
    decoded = decode_by("consensus", half, 5, settings, np.random.default_rng(0))
    predict = predict_by("consensus", decoded, 5, settings)
    new = predict(Frames(frames.x[240:], (60,) * 4, 2.0)).labels
    assert adjusted_rand_score(truth, np.concatenate([decoded.labels, new])) > 0.9
    assert (predict(half).labels == decoded.labels).mean() > 0.98


def test_fewer_different_samples_than_key_steps() -> None:
    frames = Frames(np.repeat(np.eye(2), 5, axis=0), (5, 5), 2.0)
    decoded = decode_by("consensus", frames, 4, {}, np.random.default_rng(0))
    assert len(np.unique(decoded.labels[:5])) == 1
    assert decoded.labels[0] != decoded.labels[-1]


def test_blocks_share_the_relative_time() -> None:
    x = directions(np.random.default_rng(0).normal(size=(10, 8)))
    x[:, :4] = directions(x[:, :4]) / np.sqrt(2)
    x[:, 4:] = directions(x[:, 4:]) / np.sqrt(2)
    first, second = blocks_of(Frames(with_time(x, (10,), 0.15), (10,), 2.0, place=2), 2)
    np.testing.assert_allclose(first, with_time(x[:, :4], (10,), 0.15))
    np.testing.assert_allclose(second, with_time(x[:, 4:], (10,), 0.15))


def test_blocks_that_do_not_divide_the_embedding_are_refused() -> None:
    with pytest.raises(RgwotError, match=r"consensus.blocks: found 2 for an embedding of dimension 3"):
        blocks_of(Frames(np.ones((4, 3)), (4,), 2.0), 2)


def test_order_information_is_that_of_the_borders() -> None:
    # 0 is followed by 1 twice and by 2 once, 1 by 2 twice, 2 by 0 twice: n = 7.
    labels = np.array([0, 0, 1, 2, 2, 0, 1, 2, 2, 0, 2])
    expected = (4 * np.log(7 * 2 / (3 * 2)) + np.log(7 * 1 / (3 * 3)) + 2 * np.log(7 * 2 / (2 * 2))) / 7
    assert order_information(labels, (8, 3)) == pytest.approx(expected)
    # The border between two videos does not count, and a single key step has no order.
    assert order_information(np.array([0, 0, 1, 1]), (2, 2)) == 0


def test_the_start_of_least_energy_is_the_answer_unless_another_has_more_order() -> None:
    frames, _ = videos(noise=2.2)
    facts = []
    for order in (0.0, 0.3, 1e6):
        settings = {"consensus.partitions": 4, "consensus.refinements": 0, "consensus.order": order}
        decoded = decode_by("consensus", frames, 5, settings, np.random.default_rng(0))
        facts.append(decoded.facts["consensus"])
        assert facts[-1].order_information == pytest.approx(order_information(decoded.labels, frames.lengths))
    # Among the same thirty segmentations, a larger weight of order selects more order and a higher energy.
    assert facts[0].energy <= facts[1].energy <= facts[2].energy
    assert facts[0].order_information <= facts[1].order_information <= facts[2].order_information
    assert facts[0] != facts[2]
