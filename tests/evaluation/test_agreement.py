from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, cohen_kappa_score

from rgwot.evaluation.agreement import agreement
from rgwot.reporting.compare import compare_results
from rgwot.runtime.errors import RgwotError


def test_the_same_partition_under_other_numbers_agrees() -> None:
    rng = np.random.default_rng(0)
    labels = [rng.integers(0, 4, 50) for _ in range(3)]
    agreed = agreement(labels, [np.array([7, 3, 9, 1])[label] for label in labels])
    assert (agreed.adjusted_rand, agreed.macro_f1, agreed.strict_f1) == (1.0, 1.0, 1.0)
    assert agreed.matched == {0: 7, 1: 3, 2: 9, 3: 1}
    assert agreed.split == agreed.merged == {}
    other = [rng.integers(0, 4, 50) for _ in range(3)]
    expected = adjusted_rand_score(np.concatenate(labels), np.concatenate(other))
    assert agreement(labels, other).adjusted_rand == pytest.approx(expected, abs=1e-12)


def test_split_and_merged() -> None:
    one = np.repeat([1, 2, 3], [10, 10, 10])
    two = np.repeat([4, 5, 6], [6, 4, 20])
    agreed = agreement([one], [two])
    assert agreed.split == {1: [4, 5]}
    assert agreed.merged == {6: [2, 3]}
    # Matched are 1 with 4 (6 frames) and 2 or 3 with 6 (10 frames): 16 of 30, in both directions.
    assert agreed.same == agreed.swapped().same == pytest.approx(16 / 30)
    assert (agreement([two], [one]).split, agreement([two], [one]).merged) == ({6: [2, 3]}, {1: [4, 5]})
    # Clusters that are mostly outside the key step, or are small inside, do not count as its parts.
    assert agreement([np.repeat([1, 2], [10, 20])], [np.repeat([4, 5, 5], [9, 1, 20])]).split == {}
    # Beside two parts of a fifth, a smaller one is named, too.
    assert agreement([np.repeat(1, 10)], [np.repeat([4, 5, 6], [4, 1, 5])]).split == {1: [6, 4, 5]}
    assert agreement([np.repeat(1, 10)], [np.repeat([4, 5], [9, 1])]).split == {}


def test_kappa_is_that_of_scikit_learn_after_the_matching() -> None:
    rng = np.random.default_rng(1)
    for _ in range(5):
        one, other = rng.integers(0, 5, 300), rng.integers(0, 4, 300)
        agreed = agreement([one], [other])
        partner = {step: number for number, step in agreed.matched.items()}
        renamed = np.array([partner.get(step, -1) for step in other])
        assert agreed.kappa == pytest.approx(cohen_kappa_score(one, renamed))
        for step, kappa in agreed.kappas.items():
            assert kappa == pytest.approx(cohen_kappa_score(one == step, renamed == step))
        swapped = agreed.swapped()
        assert swapped.kappa == pytest.approx(agreed.kappa)
        assert all(
            swapped.kappas[other] == pytest.approx(agreed.kappas[step]) for step, other in agreed.matched.items()
        )
    # Compared by name, nothing is matched: 3 in one is 3 in the other.
    assert agreement([one], [other], same=True).kappa == pytest.approx(cohen_kappa_score(one, other))
    assert np.isnan(agreement([np.ones(5, int)], [np.ones(5, int)]).kappa)


def test_segments_by_hand() -> None:
    # For key step 1, [0, 10) meets [0, 8): 80 %, and [20, 30) meets [26, 30): 40 %. 2 has no partner; 0 is background.
    one = np.repeat([1, 2, 1, 0], [10, 10, 10, 10])
    other = np.repeat([7, 0, 7, 0], [8, 18, 4, 10])
    agreed = agreement([one], [other])
    assert agreed.matched == {0: 0, 1: 7}
    assert agreed.segments_f1s == {1: 2 * 1 / 4, 2: 0}
    assert agreed.segments_f1 == 2 * 1 / 5
    assert agreement([one], [other], 0.4).segments_f1 == 2 * 2 / 5
    assert agreed.swapped().segments_f1s == {7: 0.5}


def test_a_result_and_coders(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    rows = "v%201,task,0,4,2\nv%201,task,4,6,1\nv%201,task,6,10,3\nw,task,0,1,1\n"
    (folder / "segments.csv").write_text(f"video,scope,start_s,end_s,key_step\n{rows}")
    coders = [tmp_path / name for name in ("one.csv", "two.csv")]
    coders[0].write_text("video,start_s,end_s,label\nv 1,0,4,cut\nv 1,6,9,stir\n")
    coders[1].write_text("video,start_s,end_s,label\nv 1,0,4,stir\nv 1,6,9,cut\n")
    # The coder has no segments from 4 to 6 s and from 9 to 10 s, so these are background.
    for files in ((folder, coders[0]), (coders[0], folder)):
        lines = compare_results(*files)
        assert lines[0] == f"A: {folder}"
        assert lines[2] == "1 videos, 10 s; only in one: w"
        assert "kappa 0.85" in lines[4]  # 0.9 agree, (4 * 4 + 2 * 3 + 4 * 3) / 100 by chance
        assert "F1 of segments 80.0" in lines[4]
        assert "  key step 2 of A, 4 s: in B 100 % cut (matched to cut, kappa 1.00, segments 100.0)" in lines
    # Annotations may be beside the videos.
    beside = tmp_path / "videos"
    beside.mkdir()
    (beside / "v 1.csv").write_text("start_s,end_s,label\n0,4,cut\n6,9,stir\n")
    for name in ("v 1.mp4", "w.MKV", "videos.csv"):
        (beside / name).write_text("video,group\n")
    assert compare_results(folder, beside)[2:] == compare_results(folder, coders[0])[2:]
    # Tables of rgwot have the id of the video.
    ours = tmp_path / "ours.csv"
    ours.write_text(coders[0].read_text().replace("v 1", "v%201"))
    assert compare_results(folder, ours)[2:] == compare_results(folder, coders[0])[2:]
    # A table made by `rgwot export` has the same file name as the segments of a result.
    (tmp_path / "exported").mkdir()
    (tmp_path / "exported/segments.csv").write_text(ours.read_text())
    assert compare_results(folder, tmp_path / "exported")[2:] == compare_results(folder, ours)[2:]
    assert compare_results(tmp_path / "exported", ours)[2:] == compare_results(ours, ours)[2:]
    assert "kappa 1.00" in compare_results(ours, coders[0])[4]
    # Rows of scope video, with the key steps found in each video separately, are not compared.
    scoped = tmp_path / "scoped.csv"
    scoped.write_text((folder / "segments.csv").read_text() + "v%201,video,0,10,1\n")
    assert "kappa 1.00" in compare_results(folder, scoped)[4]
    swapped = compare_results(*coders)
    # Compared by name, the coders agree only on background, in 2 of 9 seconds.
    assert "of all time" in swapped[3]
    assert "  cut of A, 4 s: in B 100 % stir (kappa" in "\n".join(swapped)
    assert float(swapped[4].split()[2].strip(",")) < 0


def test_folders_of_results(tmp_path: Path) -> None:
    for name, rows in {
        "a": "v,task,0,1,1\nv,task,1,2,2\nv,video,0,2,1\nw,task,0,1,1\n",
        "b": "v,task,0,2,3\nv,video,0,2,1\n",
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "segments.csv").write_text(f"video,scope,start_s,end_s,key_step\n{rows}")
    text = "\n".join(compare_results(tmp_path / "a", tmp_path / "b"))
    assert text.count("(matched to key step 3, ") == text.count("(matched to none, ") == 1
    assert "1 videos, 2 s; only in one: w" in text
    assert "key step 1 of A, 1 s: in B 100 % key step 3" in text
    assert "Merged: key step 1 and key step 2 of A are key step 3 of B." in text
    with pytest.raises(RgwotError, match=r"no such file or folder; expected key steps or annotations"):
        compare_results(tmp_path / "a", tmp_path / "c")
