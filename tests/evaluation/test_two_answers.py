from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from rgwot.evaluation.agreement import agreement
from rgwot.reporting.compare import compare_results
from rgwot.runtime.errors import RgwotError


def test_the_same_partition_under_other_numbers_agrees() -> None:
    rng = np.random.default_rng(0)
    labels = [rng.integers(0, 4, 50) for _ in range(3)]
    found = agreement(labels, [np.array([7, 3, 9, 1])[one] for one in labels])
    assert (found.adjusted_rand, found.macro_f1, found.strict_f1) == (1.0, 1.0, 1.0)
    assert found.matched == {0: 7, 1: 3, 2: 9, 3: 1}
    assert found.split == found.merged == {}
    other = [rng.integers(0, 4, 50) for _ in range(3)]
    assert agreement(labels, other).adjusted_rand == adjusted_rand_score(np.concatenate(labels), np.concatenate(other))


def test_split_and_merged() -> None:
    one = np.repeat([1, 2, 3], [10, 10, 10])
    two = np.repeat([4, 5, 6], [6, 4, 20])
    found = agreement([one], [two])
    assert found.split == {1: [4, 5]}
    assert found.merged == {6: [2, 3]}
    # 1 is 4 for 6 frames, and 2 or 3 is 6 for 10: 16 of 30, either way round.
    assert found.same == found.swapped().same == pytest.approx(16 / 30)
    assert (agreement([two], [one]).split, agreement([two], [one]).merged) == ({6: [2, 3]}, {1: [4, 5]})
    # A part that lies mostly elsewhere is no part, nor is one that is hardly there.
    assert agreement([np.repeat([1, 2], [10, 20])], [np.repeat([4, 5, 5], [9, 1, 20])]).split == {}
    with pytest.raises(ValueError, match="expected as many of both"):
        agreement([one], [two[1:]])


def test_folders_of_results(tmp_path: Path) -> None:
    for name, rows in {
        "a": "v,task,0,1,1\nv,task,1,2,2\nv,video,0,2,1\nw,task,0,1,1\n",
        "b": "v,task,0,2,3\nv,video,0,2,1\n",
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "segments.csv").write_text(f"video,scope,start_s,end_s,key_step\n{rows}")
    text = "\n".join(compare_results(tmp_path / "a", tmp_path / "b"))
    assert "1 videos, 2 s; only in one: w" in text
    assert "key step 1 of A, 1 s: in B 100 % key step 3" in text
    assert "Merged: key step 1 and key step 2 of A are key step 3 of B." in text
    with pytest.raises(RgwotError, match=r"found no segments.csv"):
        compare_results(tmp_path / "a", tmp_path / "c")
