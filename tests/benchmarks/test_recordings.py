"""The command that scores recipes on recordings and synthetic tasks: its inputs, scores and references."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import recordings
from pages import CONFIGS
from recordings import BEFORE, SEGMENTS, Recording, Task, answer, find, first_before

from rgwot.config.configuration import load_config, read_files
from rgwot.config.experiments import Experiments

FPS = 2.0


@pytest.fixture(scope="module")
def experiments() -> Experiments:
    return Experiments(load_config(read_files(recordings.HOUSE / name for name in CONFIGS)))


@pytest.fixture(scope="module")
def task() -> Task:
    """Return four recordings of three steps, the second twice as long as the others; each step has two channels."""
    rng = np.random.default_rng(0)
    labels = [np.repeat([1, 2, 3], [n, 2 * n, n]) for n in (20, 22, 24, 26)]
    shown = np.repeat(np.eye(4), 2, axis=1)
    x = [(10 ** np.arange(8) * (shown[y] + 0.1 * rng.normal(size=(len(y), 8)))).astype(np.float32) for y in labels]
    return Task([Recording(Path(str(number)), one) for number, one in enumerate(x)], labels, 3, FPS)


def test_recordings_are_read_at_the_rate_of_their_data_set(tmp_path: Path) -> None:
    folder = tmp_path / "mine" / "tea"
    folder.mkdir(parents=True)
    np.save(folder / "a.npy", np.arange(12.0).reshape(6, 2))
    (folder / "a.csv").write_text("0.5,1.5,1 pour\n2.0,3.0,2 stir, slowly\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"fps: not found; expected the samples per second of mine"):
        list(find(str(tmp_path), {}, (), 1, []))
    (tmp_path / "mine" / "fps").write_text("2\n", encoding="utf-8")
    [(*names, read)] = find(str(tmp_path), {}, (), 1, [])
    assert names == ["real", "mine", "tea"]
    made = read()
    assert (made.K, made.fps) == (2, 2.0)
    assert made.labels[0].tolist() == [0, 1, 1, 0, 2, 2]
    assert made.stores[0].frames(np.array([1, 3]))[:, :, 0, 0].tolist() == [[2, 3], [6, 7]]
    [(*_, given)] = find(str(tmp_path), {"mine": 1.0}, (), 1, [])
    assert given().labels[0].tolist() == [0, 1, 2, 0, 0, 0]


def test_scores_of_an_easy_task_and_of_equal_segments(task: Task, experiments: Experiments) -> None:
    scores = answer(task, "whitened/meanfield", 0, experiments)
    assert min(scores["macro"], scores["strict"]) > 95
    assert scores["order"] == 0
    trivial = answer(task, SEGMENTS, 0, experiments)
    # Three equal segments are right in 3/4 of each outer segment, and in all of the middle one.
    assert trivial["strict"] == pytest.approx(83, abs=1.5)
    plus = answer(task, "rgwot-plus@whiten.D=6/consensus", 0, experiments)
    assert plus["macro"] > 90
    assert plus["surplus"] == 0
    assert plus["time"] > 0


def test_the_answer_to_compare_with_does_not_change(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = first_before(task, 0)
    truth = np.concatenate(task.labels)
    assert all(len(set(labels[truth == step])) <= 2 for step in (1, 2, 3))
    monkeypatch.setattr(recordings, "FULL_BATCH_LIMIT", 100)
    batches = first_before(task, 0)
    assert len(set(batches)) == 3
    assert (np.diff(batches) != 0).sum() == (np.diff(labels) != 0).sum()


def test_tables_have_means_by_task_and_by_data_set_and_leave_one_out() -> None:
    values = {("real", "a", "x"): (10, 20), ("real", "a", "y"): (30, 20), ("real", "b", "z"): (60, 90)}
    rows = [
        dict.fromkeys(recordings.COLUMNS, np.nan)
        | {"world": w, "dataset": d, "task": t, "K": 3, "recipe": recipe, "seed": seed, "cpu_s": 1.0}
        | dict.fromkeys(recordings.SCORES, float(value) + seed)
        for (w, d, t), pair in values.items()
        for recipe, value in zip((BEFORE, "whitened/meanfield"), pair, strict=True)
        for seed in (0, 1)
    ]
    text = recordings.render(recordings.pd.DataFrame(rows))
    # The mean over tasks is (10.5 + 30.5 + 60.5) / 3, and that over data sets (20.5 + 60.5) / 2.
    assert "| first answer, before | 33.8 | 40.5 |" in text
    assert "| whitened features, mean field | 43.8 | 55.5 |" in text
    assert "| x (K 3) | whitened/meanfield | 20.5 | 20.5 | 20.5 | 20.5 | 0.7 | 1.0 |" in text
    assert "| a | 60.5 | 90.5 | whitened/meanfield: 20.5 |" in text
