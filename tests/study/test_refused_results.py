"""Results that are refused before planning; `tests/workflow/test_mistakes.py` tests the same through Snakemake."""

from __future__ import annotations

from pathlib import Path

import pytest

from rgwot.runtime.errors import RgwotError
from rgwot.study.refusals import check_result
from rgwot.study.study import Study, Task


@pytest.fixture
def study(tmp_path: Path) -> Study:
    for task, n_videos in {"tea": 2, "lone": 1}.items():
        (tmp_path / task).mkdir()
        for number in range(n_videos):
            (tmp_path / task / f"{number}.mp4").touch()
    return Study.of({"datasets": {"mine": {"layout": "folder", "root": str(tmp_path)}}})


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("mime", "tea", "rgwot", "graphcut"), ["dataset 'mime'", "'mine'"]),
        (("mine", "tee", "rgwot", "graphcut"), ["mine/tee", "'tea'"]),
        (("mine", "tea", "rgwott", "graphcut"), ["'rgwott'", "'rgwot'"]),
        (("mine", "tea", "rgwot", "graphcutt"), ["'graphcutt'", "'graphcut'"]),
        (("mine", "tea", "rgwot@alhpa=0.5", None), ["'alhpa'", "'alpha'"]),
        (("mine", "tea", "rgwot", "graphcut@k=5"), ["'k'", "'K'"]),
        (("mine", "tea", "rgwot@alpha=0.50", None), ["'rgwot@alpha=0.50'", "'rgwot@alpha=0.5'"]),
        (("mine", "tea", "rgwot@alpha=0.3", None), ["'rgwot@alpha=0.3'", "'rgwot'"]),
        (("mine", "tea", "rgwot@rho=0.1,alpha=0.5", None), ["'rgwot@alpha=0.5,rho=0.1'"]),
        (("mine", "tea", "rgwot@beta=0", "graphcut"), ["'rgwot@beta=0'", "'vaot'"]),
        (("mine", "tea", "raw", "kmeans@decode.K=5"), ["'kmeans@decode.K=5'", "'kmeans@K=5'"]),
        (("mine", "tea", "rgwot", "one_label"), ["'one_label'", "'rgwot'"]),
        (("mine", "lone", "rgwot", None), ["mine/lone", "1 "]),
    ],
)
def test_refused(study: Study, asked: tuple[str, str, str, str | None], words: list[str]) -> None:
    with pytest.raises(RgwotError) as told:
        check_result(Task(study, *asked[:2]), *asked[2:])
    assert all(word in str(told.value) for word in words), told.value
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("method", "decoder"),
    [("rgwot", None), ("rgwot@alpha=0.5", "graphcut@K=5"), ("vaot", "graphcut"), ("none", "one_label")],
)
def test_let_through(study: Study, method: str, decoder: str | None) -> None:
    check_result(Task(study, "mine", "tea"), method, decoder)
