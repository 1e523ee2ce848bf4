"""The decoder `labelled` keeps given labels, labels other samples accordingly, and finds unknown key steps."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.stats import multivariate_normal
from sklearn.covariance import ledoit_wolf
from sklearn.metrics import adjusted_rand_score

import rgwot
from rgwot.diagnostics import LeftOutFacts
from rgwot.keysteps import interface as many
from rgwot.keysteps import labelled, left_out
from rgwot.keysteps import suggest as suggest_module
from rgwot.keysteps.interface import NO_CLUSTER, UNKNOWN, Frames
from rgwot.keysteps.labelled import (
    Kept,
    StateModel,
    agreement,
    bordered,
    decode_labelled,
    order_weights,
    reaching,
    restore_labelled,
    surrounded,
)
from rgwot.keysteps.settings import Labelled, MeanfieldSettings
from rgwot.keysteps.suggest import suggest, suggest_moments
from rgwot.keysteps.warping import warp
from rgwot.reporting.compare import compare_results
from rgwot.runtime.errors import RgwotError
from rgwot.timing import given_labels

SETTINGS = Labelled()
V, T = 8, 60


def task(noise: float = 0.5, seed: int = 0, looks: int = 5) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return samples of V videos, and their labels: ``looks`` appearances of 12 samples each, in random orders."""
    generator = np.random.default_rng(seed)
    centres = generator.normal(size=(looks, 16))
    labels = np.concatenate([np.repeat(generator.permutation(looks), T // looks) for _ in range(V)])
    return centres[labels] + noise * generator.normal(size=(len(labels), 16)), labels


def decoded(x: NDArray[Any], K: int, labels: NDArray[np.int64], videos: Collection[int], extra: int = 0) -> Any:
    """Decode samples with the labels of some videos given."""
    given = np.where(np.isin(np.repeat(np.arange(V), T), list(videos)), labels, UNKNOWN)
    frames, settings = Frames(x, (T,) * V, 2.0, given=given), SETTINGS.model_copy(update={"extra": extra})
    return decode_labelled(frames, K, np.random.default_rng(0), settings)


def test_what_is_given_stays_to_the_sample_whatever_the_features_say() -> None:
    x, _ = task()
    labels = np.random.default_rng(1).integers(NO_CLUSTER, 4, len(x))
    made = decoded(x, 4, labels, [1, 5])
    for video in (1, 5):
        own = slice(video * T, (video + 1) * T)
        assert (made.labels[own] == labels[own]).all()


def test_key_steps_mean_what_people_say_and_not_what_clusters() -> None:
    x, looks = task()
    # Two appearances are one key step, and another is background, which only the labels show.
    meant = np.array([0, 0, 1, NO_CLUSTER, 2])[looks]
    made = decoded(x, 3, meant, [0, 3])
    assert (made.labels == meant).mean() > 0.98


def test_other_numbers_give_the_same_answer_under_other_numbers() -> None:
    x, looks = task(noise=1.5)
    other = np.array([3, 0, 4, 1, 2])
    made, again = decoded(x, 5, looks, [2, 6]), decoded(x, 5, other[looks], [2, 6])
    assert 0.5 < (made.labels == looks).mean() < 1
    assert (other[made.labels] == again.labels).mean() > 0.995


def test_a_step_that_is_nowhere_else_does_not_spread() -> None:
    x, looks = task()
    odd = slice(10, 20)
    x[odd] = 3 * np.random.default_rng(5).normal(size=16) + 0.3 * np.random.default_rng(6).normal(size=(10, 16))
    labels = looks.copy()
    labels[odd] = 5
    made = decoded(x, 6, labels, [0, 1])
    assert (made.labels[odd] == 5).all()
    assert not (made.labels[T:] == 5).any()


def test_a_few_labelled_samples_are_enough_to_teach() -> None:
    x, looks = task(noise=0.3)
    # None of the labelled samples is among those that are aligned.
    x, looks = np.repeat(x, 10, axis=0), np.repeat(looks, 10)
    given = np.full(len(x), UNKNOWN)
    own = [int(np.flatnonzero(looks[: T * 10] == step)[61]) for step in range(5)]
    given[own] = looks[own]
    frames = Frames(x, (T * 10,) * V, 2.0, given=given)
    decoded = decode_labelled(frames, 5, np.random.default_rng(0), SETTINGS)
    assert (decoded.labels[own] == looks[own]).all()
    assert (decoded.labels == looks).mean() > 0.9


def test_an_extra_key_step_is_one_that_nobody_annotated() -> None:
    x, looks = task(noise=0.3)
    # The annotated video lacks appearance 4, which the others have.
    lacking = np.flatnonzero((np.arange(len(x)) < T) & (looks == 4))
    x[lacking] = x[np.flatnonzero((np.arange(len(x)) < T) & (looks == 0))]
    looks = looks.copy()
    looks[lacking] = 0
    made = decoded(x, 5, looks, [0], extra=1)
    assert (made.labels[T:] == looks[T:]).mean() > 0.95


def test_other_videos_are_labelled_by_what_was_learned() -> None:
    x, looks = task()
    meant = np.array([0, 0, 1, NO_CLUSTER, 2])[looks]
    made = decoded(x, 3, meant, [0, 3])
    rule = restore_labelled(made.learned, 3, SETTINGS)
    alone = np.concatenate([rule(Frames(x[v * T : (v + 1) * T], (T,), 2.0)).labels for v in range(V)])
    assert (alone == made.labels).mean() > 0.97


def test_suggested_are_those_that_teach_and_then_those_that_labelled_videos_do_not_show() -> None:
    generator = np.random.default_rng(0)
    one, other = generator.normal(size=(2, 4, 16))
    labels = np.repeat(np.arange(4), 15)
    # Five videos show one kind of performance and three another, and no key step looks alike in both.
    x = np.concatenate([(one if v < 5 else other)[labels] + 0.1 * generator.normal(size=(T, 16)) for v in range(V)])

    def suggested(n: int, **known: Any) -> list[int]:
        return suggest(Frames(x, (T,) * V, 2.0), 8, n, SETTINGS.meanfield, np.random.default_rng(0), **known)

    first, second = suggested(2)
    assert first < 5
    assert second >= 5
    assert suggested(1, labelled=[0])[0] >= 5
    assert suggested(1, labelled=[6])[0] < 5
    assert set(suggested(2, among=[1, 2, 7])) in ({1, 7}, {2, 7})
    assert len(suggested(20, labelled=[1])) == V - 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(many, "MOST_LEARNED", 4 * T)
        # If there are many videos, only those that are learned from, have labels or may be chosen are compared.
        assert set(suggested(20)) == set(many.learned_from((T,) * V).tolist())
        assert set(suggested(20, among=[1, 2], labelled=[3])) == {1, 2}


def test_time_between_segments_is_background_and_beyond_them_nothing_is_known() -> None:
    segments = pd.DataFrame({"start_s": [2.0, 5.0], "end_s": [3.0, 7.0], "key_step": [2, 1]})
    times = np.arange(10) + 0.5
    assert given_labels(segments, times).tolist() == [-1, -1, 2, 0, 0, 1, 1, -1, -1, -1]
    throughout = pd.DataFrame({"start_s": [0.0, 9.0], "end_s": [1.0, 10.0], "key_step": [0, 0]})
    said = given_labels(pd.concat([throughout, segments]), times)
    assert said.tolist() == [0, 0, 2, 0, 0, 1, 1, 0, 0, 0]


def segments(**columns: Any) -> pd.DataFrame:
    """Return a table of one segment of 9 s."""
    return pd.DataFrame({"start_s": [0.0], "end_s": [9.0]} | columns)


@pytest.fixture(scope="module")
def arrays() -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[np.int64]]]:
    x, looks = task()
    return (
        {f"take {v}": x[v * T : (v + 1) * T] for v in range(V)},
        {f"take {v}": looks[v * T : (v + 1) * T] + 1 for v in range(V)},
    )


def test_from_python_by_labels_or_by_segments(arrays: Any) -> None:
    videos, labels = arrays
    # Two videos, which both have all steps, are labelled with names; numbers follow their first occurrence.
    table = pd.DataFrame({"start_s": np.arange(5) * 6.0, "end_s": np.arange(1, 6) * 6.0})
    tables = {name: table.assign(label=[f"step {k}" for k in labels[name][::12]]) for name in ("take 0", "take 1")}
    by_name = rgwot.discover(videos, fps=2, labels=tables)
    by_number = rgwot.discover(videos, fps=2, labels={name: labels[name] for name in tables})
    assert by_name.names == {n: f"step {k}" for n, k in enumerate(labels["take 0"][::12], 1)}
    for name in videos:
        assert (by_number.labels[name] == labels[name]).mean() > 0.97
        assert [by_name.names[k] for k in by_name.labels[name]] == [f"step {k}" for k in by_number.labels[name]]
    assert by_name.key_steps.diagnostics.taught == ["take%200", "take%201"]


def test_a_result_with_background_labels_other_videos(arrays: Any) -> None:
    videos, labels = arrays
    # The last step is background.
    known = {name: np.where(own == own.max(), 0, own) for name, own in labels.items()}
    *taught, other = videos
    result = rgwot.discover(
        {name: videos[name] for name in taught}, fps=2, labels={name: known[name] for name in taught[:3]}
    )
    assert result.score({other: videos[other]}, {other: known[other]}) > 0.9


def test_names_without_numbers_get_numbers_that_nobody_has(arrays: Any) -> None:
    videos, numbers = arrays[0], np.repeat([1, 3], T // 2)
    given = {
        "take 0": segments(label=["stir"]),
        "take 1": numbers,
        # pandas reads an empty cell as NaN.
        "take 2": segments(key_step=[2], label=[np.nan]),
        "take 3": segments(key_step=[1], label=["pour"]),
        "take 4": segments(label=["pour"]),
    }
    result = rgwot.discover(videos, fps=2, labels=given)
    assert result.names == {1: "pour", 4: "stir"}
    firsts = {name: int(result.labels[name][0]) for name in given}
    assert firsts == {"take 0": 4, "take 1": 1, "take 2": 2, "take 3": 1, "take 4": 1}


def test_all_videos_labelled_give_the_labels(arrays: Any) -> None:
    videos, labels = arrays
    result = rgwot.discover(videos, fps=2, labels=labels)
    assert all((result.labels[name] == labels[name]).all() for name in videos)


def test_what_nobody_labelled_is_found_where_all_videos_are_annotated(arrays: Any) -> None:
    videos, labels = arrays
    said = {name: own.copy() for name, own in labels.items()}
    for own in said.values():
        own[:6] = own[-6:] = -1
    result = rgwot.discover(videos, fps=2, labels=said)
    for name, own in said.items():
        assert (result.labels[name] == own)[own > 0].all()
        # Unlabelled ends of a video get the key step next to them, or background (methods 5.10).
        ends = result.labels[name][own < 0]
        assert set(ends.tolist()) <= {0, *labels[name][own < 0].tolist()}
        assert ends.any()


def test_the_number_in_the_id_says_how_many_videos_teach(arrays: Any) -> None:
    videos, labels = arrays
    for decoder in ("labelled@n=2", "labelled@draw=suggested,n=2"):
        result = rgwot.discover(videos, fps=2, decoder=decoder, labels=labels, K="gt")
        assert (result.run.decoder, len(result.diagnostics["labelled"]["videos"])) == (decoder, 2)
    every = rgwot.discover(videos, fps=2, labels=labels)
    assert (every.run.decoder, len(every.diagnostics["labelled"]["videos"])) == ("labelled", V)
    as_many = rgwot.discover(videos, fps=2, decoder=f"labelled@n={V}", labels=labels)
    pd.testing.assert_frame_equal(every.segments, as_many.segments)


@pytest.mark.parametrize("labelled", [1.0, 0.5])
def test_leaving_one_out_counts_what_the_other_labelled_videos_say(arrays: Any, labelled: float) -> None:
    videos, labels = arrays
    known = np.arange(T) % 6 < 6 * labelled
    three = {name: np.where(known, own, -1) for name, own in list(labels.items())[:3]}
    # In one video, step 2 is labelled as step 1.
    three["take 2"][known & (labels["take 2"] == 2)] = 1
    actual = rgwot.discover(videos, fps=2, labels=three).diagnostics["left_out"]
    assert actual["videos"] == ["take%200", "take%201", "take%202"]
    shares = []
    for hidden in three:
        others = {name: own for name, own in three.items() if name != hidden}
        answer = rgwot.discover(videos, fps=2, labels=others).labels[hidden]
        shares.append((answer == three[hidden])[known].mean())
    assert shares[2] < 0.85
    assert actual["shares"] == pytest.approx(shares, abs=1e-4)
    assert actual["frames_right"] == pytest.approx(np.mean(shares), abs=1e-4)
    assert actual["decoding_cpu_s"] > 0


def test_only_some_of_many_are_left_out_and_three_are_needed(arrays: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    videos, labels = arrays
    monkeypatch.setattr(left_out, "MOST", 2)
    assert "left_out" not in rgwot.discover(videos, fps=2, decoder="labelled@n=2", labels=labels).diagnostics
    several = rgwot.discover(videos, fps=2, labels=labels).diagnostics["left_out"]
    assert several["videos"] == ["take%200", "take%207"]
    assert several["frames_right"] > 0.9
    assert left_out.left_out_sentence(LeftOutFacts(**{**several, "frames_right": 0.954, "shares": ()}), V) == (
        "Each of 2 of 8 annotated videos, labelled by the other 7: about 95 of 100 frames right. Videos without "
        "annotations were not checked."
    )


def test_videos_that_taught_are_not_compared(arrays: Any, tmp_path: Path) -> None:
    videos, labels = arrays
    first = rgwot.discover(videos, fps=2, labels={name: labels[name] for name in ("take 0", "take 1")})
    second = rgwot.discover(videos, fps=2, labels={name: labels[name] for name in ("take 1", "take 2")})
    both = first.compare(second)
    assert (len(both.common), both.alone, both.taught) == (V - 3, (), ("take%200", "take%201", "take%202"))
    first.export("csv", tmp_path / "coded")
    coded, folder = tmp_path / "coded/segments.csv", second.save(tmp_path / "results")
    assert second.compare(coded).taught == ("take%201", "take%202")
    text = "\n".join(compare_results(folder, coded))
    assert f"{V - 2} videos" in text
    assert "; learned from, so left out: take 1, take 2\n" in text
    assert compare_results(coded, folder)[2:] == compare_results(folder, coded)[2:]
    assert first.compare(folder).taught == both.taught
    every = rgwot.discover(videos, fps=2, labels=labels)
    for other in (every, coded, folder):
        with pytest.raises(RgwotError, match=f"no common video besides the {V} that a result learned from"):
            every.compare(other)


def test_the_settings_of_labels_do_not_change_other_decoders(arrays: Any) -> None:
    videos, block = arrays[0], {"labelled": {"n": 2, "draw": "suggested", "extra": 3}}
    plain, beside = (rgwot.discover(videos, fps=2, decoder="kmeans", settings=settings) for settings in (None, block))
    assert str(plain.run) == str(beside.run) == "rgwot-plus/kmeans/seed0"
    pd.testing.assert_frame_equal(plain.segments, beside.segments)


@pytest.mark.parametrize("decoder", ["consensus", "kmeans@K=5", "graphcut"])
def test_other_decoders_refuse_labels(arrays: Any, decoder: str) -> None:
    name = decoder.partition("@")[0]
    with pytest.raises(RgwotError, match=f"decoder '{name}': found labels, .* expected the decoder 'labelled'"):
        rgwot.discover(arrays[0], fps=2, decoder=decoder, labels=arrays[1])
    with pytest.raises(RgwotError, match=f"decoder '{name}': found labels"):
        rgwot.ProcedureLearner(decoder=decoder, fps=2).fit(arrays[0], arrays[1])


def test_without_labels_the_decoder_says_so(arrays: Any) -> None:
    with pytest.raises(RgwotError, match="decoder 'labelled': found no annotated video .* the argument `labels`"):
        rgwot.discover(arrays[0], fps=2, decoder="labelled")
    with pytest.raises(RgwotError, match=r"labelled.n: found 3, expected all or 1 to 1, the annotated videos"):
        rgwot.discover(arrays[0], fps=2, decoder="labelled@n=3", labels={"take 1": arrays[1]["take 1"]})


def test_the_estimator_learns_from_a_few_labels(arrays: Any) -> None:
    videos, labels = list(arrays[0].values()), list(arrays[1].values())
    learner = rgwot.ProcedureLearner(fps=2).fit(videos[:6], [labels[0], labels[1], *[np.full(T, -1)] * 2, None, None])
    assert all((found == own).mean() > 0.97 for found, own in zip(learner.labels_, labels[:6], strict=True))
    assert all((found == own).mean() > 0.95 for found, own in zip(learner.predict(videos[6:]), labels[6:], strict=True))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"take 9": np.ones(T, int)}, r"labels\['take 9'\]: no video of this name"),
        ({"take 1": np.ones(T + 1, int)}, r"labels\['take 1'\]: found 61 labels"),
        ({"take 1": np.full(T, -2)}, "labels from -2"),
        ({"take 1": np.zeros(T, int)}, "found no key step"),
        ([None], "labels: found 1, expected 8"),
        ({"take 1": pd.DataFrame({"start_s": [0.0], "end_s": [99.0], "label": ["a"]})}, "ends at 99 s"),
        ({"take 1": pd.DataFrame({"start": [0.0], "label": ["a"]})}, "expected start_s, end_s"),
        (
            {
                "take 1": pd.DataFrame({"start_s": [0.0], "end_s": [9.0], "key_step": [1], "label": ["a"]}),
                "take 2": pd.DataFrame({"start_s": [0.0], "end_s": [9.0], "key_step": [1], "label": ["b"]}),
            },
            "key step 1 is called 'b', and 'a' elsewhere",
        ),
        ({"take 1": segments(key_step=[-3])}, "key_step: found -3, expected whole numbers"),
        ({"take 1": segments(key_step=[1.5])}, "key_step: found 1.5, expected whole numbers"),
        ({"take 1": segments(key_step=[np.nan])}, "key_step: found nan, expected whole numbers"),
        ({"take 1": segments(key_step=[1], start_s=[np.nan])}, "found a row without times, expected start_s and end_s"),
        ({"take 1": segments(label=["a"], start_s=["now"])}, "found the time .now., expected seconds"),
    ],
)
def test_labels_that_cannot_be_meant_are_refused_in_one_line(arrays: Any, labels: Any, message: str) -> None:
    with pytest.raises(RgwotError, match=message) as error:
        rgwot.discover(arrays[0], fps=2, labels=labels)
    assert "\n" not in str(error.value)


def test_posteriors_are_those_of_all_paths_of_states() -> None:
    """The oracle sums over all paths, with Gaussian densities of SciPy."""
    rng = np.random.default_rng(0)
    labels = np.array([0, 0, 1, 2, 2, 0, 1, 1, UNKNOWN, 2, 2, 1])
    x = rng.normal(size=(12, 3)) + np.where(labels == UNKNOWN, 0, labels)[:, None]
    states = StateModel.fit(x, (6, 6), labels, 4)
    assert states.states.tolist() == [0, 1, 2]
    # The videos begin with 0 and 1; each is counted once in addition to the 1 that every class starts with.
    np.testing.assert_allclose(states.first, [2 / 5, 2 / 5, 1 / 5])
    # 0 is followed once by 0 and once by 1, and 1/4 is added for every class; transitions across the unlabelled sample
    # or to the next video do not count.
    np.testing.assert_allclose(states.transitions[0], np.array([1.25, 1.25, 0.25]) / 2.75)
    np.testing.assert_allclose(states.transitions[1], np.array([0.25, 1.25, 1.25]) / 2.75)
    known = labels != UNKNOWN
    means = np.stack([x[labels == state].mean(axis=0) for state in range(3)])
    covariance = ledoit_wolf(x[known] - means[labels[known]], assume_centered=True)[0]
    video = x[:5]
    density = np.stack([multivariate_normal(mean, covariance).pdf(video) for mean in means], axis=1)
    expected = np.zeros((5, 3))
    for path in product(range(3), repeat=5):
        p = states.first[path[0]] * np.prod([states.transitions[a, b] for a, b in pairwise(path)])
        p *= np.prod([density[t, state] for t, state in enumerate(path)])
        expected[np.arange(5), path] += p
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(states.posterior(video, (5,), 4)[:, :3], expected, rtol=1e-3)


def test_posteriors_of_videos_of_any_length_are_those_of_each_alone() -> None:
    x, looks = task(noise=1.0)
    states = StateModel.fit(x, (T,) * V, looks, 5)
    together = states.posterior(x[:100], (7, 60, 1, 32), 5)
    alone = [states.posterior(part, (len(part),), 5) for part in np.split(x[:100], [7, 67, 68])]
    np.testing.assert_allclose(together, np.concatenate(alone), atol=1e-12)


def test_order_counts_where_warping_and_appearance_agree() -> None:
    labels = np.repeat(np.arange(4), 15)
    states, same, other = np.eye(4)[labels], np.eye(4)[labels], np.eye(4)[labels[::-1]]
    agreements = agreement(np.concatenate([same, other]), np.concatenate([states, states]), (60, 60))
    np.testing.assert_allclose(agreements, [1, -1 / 3])
    assert order_weights(agreements[:1], 1.0, 3).tolist() == [1.0]
    assert order_weights(agreements[1:], 0.0, 3).tolist() == [0.0]
    # One annotated video cannot show that order does not count.
    weights = [order_weights(np.array([0.11]), 0.11, n)[0] for n in (1, 2)]
    assert weights == [1.0, pytest.approx(0.0)]


def test_videos_in_any_order_are_labelled_by_appearance() -> None:
    """Labels of two videos in one order teach videos that keep no order (in `task`, none does)."""
    x, looks = task(noise=2.0, seed=3)
    made = decoded(x, 5, looks, [0, 1, 2])
    assert made.facts["labelled"].order < 0.5
    assert (made.labels == looks).mean() > 0.9


def marked(looks: NDArray[np.int64], videos: Collection[int], seed: int = 0) -> NDArray[np.int64]:
    """Return one label inside every segment of some videos, and `UNKNOWN` elsewhere."""
    given, generator = np.full(len(looks), UNKNOWN), np.random.default_rng(seed)
    for video in videos:
        own = slice(video * T, (video + 1) * T)
        borders = np.concatenate([[0], np.flatnonzero(np.diff(looks[own])) + 1, [T]])
        for start, end in zip(borders[:-1], borders[1:], strict=True):
            at = video * T + int(generator.integers(start, end))
            given[at] = looks[at]
    return given


@pytest.mark.parametrize("videos", [[0, 1, 2], list(range(V))], ids=["three", "all"])
def test_a_mark_in_each_segment_is_worth_nearly_the_segments(videos: list[int]) -> None:
    x, looks = task(noise=1.0)
    given = marked(looks, videos)
    frames = Frames(x, (T,) * V, 2.0, given=given, marked=given != UNKNOWN)
    decoded = decode_labelled(frames, 5, np.random.default_rng(0), SETTINGS)
    assert (decoded.labels[given != UNKNOWN] == given[given != UNKNOWN]).all()
    assert (decoded.labels == looks).mean() > 0.95


def test_one_mark_of_every_step_in_the_whole_task_finds_them_all() -> None:
    """Distant marks do not label the time between them."""
    x, looks = task(noise=0.7)
    given = np.full(len(looks), UNKNOWN)
    for step in range(5):
        at = np.flatnonzero((looks == step) & (np.arange(len(looks)) // T == step))[6]
        given[at] = step
    frames = Frames(x, (T,) * V, 2.0, given=given, marked=given != UNKNOWN)
    decoded = decode_labelled(frames, 5, np.random.default_rng(0), SETTINGS)
    assert (decoded.labels == looks).mean() > 0.9


def test_one_answer_does_not_make_the_other_key_steps_disappear() -> None:
    x, looks = task(0.3)
    videos = {f"take {v}": part for v, part in enumerate(np.split(x.astype(np.float32), V))}

    def answered(*moments: int) -> pd.DataFrame:
        rows = [{"video": f"take {at // T}", "time_s": at % T / 2, "label": f"step {looks[at]}"} for at in moments]
        return pd.DataFrame(rows)

    for moments in ([100], [100, 230], [7, 100, 230, 400]):
        found = rgwot.discover(videos, fps=2, K=5, labels=answered(*moments))
        labels = np.concatenate([found.labels[name] for name in videos])
        named = {looks[at] for at in moments}
        assert found.diagnostics["labelled"]["extra"] == 5 - len(named)
        assert adjusted_rand_score(looks, labels) > 0.95
        for look in named:
            step = next(step for step, name in found.diagnostics["labelled"]["names"].items() if name == f"step {look}")
            assert (labels[looks == look] == int(step)).mean() > 0.95
        others = [name for name in found.diagnostics["labelled"]["names"].values() if name.startswith("unlabelled")]
        assert others == [f"unlabelled {letter}" for letter in "ABCDE"[: 5 - len(named)]]
    # If most of the key steps of a video are marked, no others are added.
    every = [T + int(np.flatnonzero(looks[T : 2 * T] == look)[5]) for look in range(3)]
    assert rgwot.discover(videos, fps=2, K=5, labels=answered(*every)).diagnostics["labelled"]["extra"] == 0


def test_the_next_question_is_the_same_from_the_cache_without_segmenting_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, looks = task()
    frames, kept, chosen = Frames(x, (T,) * V, 2.0), Kept(), list[int]()

    def asked(K: int, kept: Kept | None = None) -> list[int]:
        return suggest_moments(frames, K, 1, MeanfieldSettings(), np.random.default_rng(0), kept=kept)

    for K in (5, 5, 6):
        given = np.full(len(x), UNKNOWN)
        given[chosen] = looks[chosen]
        frames = replace(frames, given=given)
        assert asked(K, kept) == asked(K)
        chosen += asked(K)
    monkeypatch.setattr(suggest_module, "segment", None)
    assert asked(6, kept) == asked(6, kept)
    with pytest.raises(TypeError):
        asked(5, kept)


def test_marks_reach_some_of_the_way_to_their_neighbours() -> None:
    labels = np.full(41, UNKNOWN)
    labels[[10, 30]] = 0, 1
    expected = np.full(41, UNKNOWN)
    expected[9:14], expected[27:32] = 0, 1
    assert reaching(labels, labels != UNKNOWN).tolist() == expected.tolist()


def test_the_border_between_marks_is_the_best_of_all() -> None:
    generator, labels = np.random.default_rng(0), np.full(20, UNKNOWN)
    labels[[3, 16]] = 0, 1
    log_p = generator.normal(size=(20, 2))
    filled = bordered(labels, labels != UNKNOWN, log_p)
    sums = [log_p[4:border, 0].sum() + log_p[border:16, 1].sum() for border in range(4, 17)]
    assert filled[3:17].tolist() == [0] * (1 + int(np.argmax(sums))) + [1] * (13 - int(np.argmax(sums)))
    # Time between marks of one class gets this class, unless another class fills most of it; then it stays unknown.
    assert (bordered(np.where(labels == 1, 0, labels), labels != UNKNOWN, log_p + [3.0, 0.0])[3:17] == 0).all()
    third = np.column_stack([log_p, np.where((np.arange(20) > 5) & (np.arange(20) < 14), 9.0, -9.0)])
    assert (bordered(labels, labels != UNKNOWN, third)[6:14] == UNKNOWN).all()


def test_a_mark_beside_whole_videos_extends_as_far_as_its_label_explains_the_samples_best() -> None:
    labels = np.full(40, UNKNOWN)
    labels[[3, 16, 36]] = 0, 1, 2
    # Between the last two marks lies a fourth class, for less than half of the time between all marks.
    truth = np.repeat([0, 1, 3, 2], [10, 10, 8, 12])
    # A single sample that looks like another class does not end a segment.
    truth[6] = 3
    log_p = np.where(np.eye(4)[truth] > 0, 0.0, -9.0)
    assert (bordered(labels, labels != UNKNOWN, log_p)[3:37] != UNKNOWN).all()
    filled = surrounded(labels, labels != UNKNOWN, log_p)
    assert filled.tolist() == [0] * 10 + [1] * 10 + [UNKNOWN] * 8 + [2] * 12


def test_a_few_right_marks_beside_whole_videos_do_not_cost_the_steps_between_them() -> None:
    """A mark gives the step of its moment; all other steps are known from the videos that are labelled as a whole."""
    generator = np.random.default_rng(3)
    centres, looks = generator.normal(size=(8, 16)), np.tile(np.repeat(np.arange(8), 8), 4)
    x = centres[looks] + 0.6 * generator.normal(size=(len(looks), 16))
    given = np.where(np.arange(len(looks)) < 3 * 64, looks, UNKNOWN)
    marks = np.zeros(len(looks), dtype=bool)
    # All steps of the last video except one have a mark.
    marks[[3 * 64 + at for at in (4, 12, 20, 36, 44, 52, 60)]] = True
    given[marks] = looks[marks]
    frames = Frames(x, (64,) * 4, 2.0, given=given, marked=marks)
    found = decode_labelled(frames, 8, np.random.default_rng(0), SETTINGS).labels
    assert (found == looks)[3 * 64 :].mean() > 0.9


@pytest.mark.parametrize("by_marks", [False, True], ids=["segments", "marks"])
def test_decoding_again_with_what_was_kept_gives_the_same_and_aligns_only_new_pairs(
    by_marks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, looks = task(noise=1.0)
    aligned: list[int] = []

    def counted(x_all: NDArray[Any], y_all: NDArray[Any]) -> Any:
        aligned.append(len(x_all))
        return warp(x_all, y_all)

    def decode(videos: Collection[int], kept: Kept | None, x: NDArray[Any] = x) -> Any:
        segments = np.where(np.isin(np.repeat(np.arange(V), T), list(videos)), looks, UNKNOWN)
        given = marked(looks, videos) if by_marks else segments
        frames = Frames(x, (T,) * V, 2.0, given=given, marked=given != UNKNOWN if by_marks else None)
        return decode_labelled(frames, 5, np.random.default_rng(0), SETTINGS, kept)

    monkeypatch.setattr(labelled, "warp", counted)
    kept = Kept()
    for videos, x_here, new in (([0, 1], x, 2 * V), ([0, 1, 2], x, V), ([1, 2], x, 0), ([1, 2], x + 1, 2 * V)):
        aligned.clear()
        decoded = decode(videos, kept, x_here)
        assert sum(aligned) == new
        fresh = decode(videos, None, x_here)
        np.testing.assert_array_equal(decoded.labels, fresh.labels)
        np.testing.assert_array_equal(decoded.memberships, fresh.memberships)


def test_learning_again_is_the_same_as_from_scratch(arrays: Any) -> None:
    videos, labels = arrays
    names = list(videos)
    result = rgwot.discover(
        videos, fps=2, decoder="labelled@extra=1", labels={name: labels[name] for name in names[:2]}
    )
    more = {name: labels[name] for name in names[:3]}
    again = result.learn(more)
    fresh = rgwot.discover(videos, fps=2, decoder="labelled@extra=1", labels=more)
    pd.testing.assert_frame_equal(again.segments, fresh.segments)
    assert again.run == fresh.run
    new = {"new": videos[names[5]] + 0.01}
    assert (again.predict(new)["new"] == fresh.predict(new)["new"]).all()
    facts = [
        dict(one.diagnostics, decoding_cpu_s=0, left_out=one.diagnostics["left_out"]["frames_right"],
             second_reading=one.diagnostics["second_reading"]["missing"])
        for one in (again, fresh)
    ]  # fmt: skip
    assert facts[0] == facts[1]
    none = rgwot.discover(videos, fps=2, method="none", decoder="uniform", K=3)
    with pytest.raises(RgwotError, match="no embeddings"):
        none.learn(more)
