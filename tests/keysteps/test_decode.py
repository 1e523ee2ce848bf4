from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from embedded import write_store
from with_defaults import ALONE, decoder_by

from rgwot.diagnostics import as_json
from rgwot.keysteps.decode import find_key_steps
from rgwot.keysteps.ordering import KeySteps
from rgwot.records import read_deviations, read_diagnostics, read_orders, read_procedures, read_segments
from rgwot.runtime.errors import RgwotError
from rgwot.stages.decode import decode
from rgwot.stages.procedure import read_procedure

FPS = 2.0
FILES = ["segments.csv", "order.csv", "procedures.csv", "procedure.json", "deviations.csv", "diagnostics.json"]


def store(path: Path, videos: dict[str, np.ndarray], complete: bool = True) -> Path:
    return write_store(path, videos, FPS, native_fps="30000/1001", shorter_s=0.2, complete=complete)


def places(truth: list[int], seed: int = 0, noise: float = 0.1) -> np.ndarray:
    """Return samples near the given ones of eight unit vectors in turn, 12 at each."""
    labels = np.repeat(truth, 12)
    x = np.eye(8)[labels] + noise * np.random.default_rng(seed).normal(size=(len(labels), 8))
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def three_videos() -> dict[str, np.ndarray]:
    return {"v2": places([0, 1, 2], 1), "v1": places([0, 2, 1], 2), "a%20b": places([0, 1, 2], 3)}


QUICK = {"consensus.partitions": 8, "consensus.starts": 3}


def settings(K: int | str, changes: dict[str, Any] = QUICK) -> dict[str, Any]:
    return {"decode.K": K, **changes}


def read(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, dict[str, Any]]:
    tables = [pd.read_csv(folder / name, dtype={"video": str, "order": str}) for name in FILES[:3]]
    return tables[0], tables[1], tables[2], json.loads((folder / FILES[-1]).read_text())


def untimed(path: Path) -> str:
    """Return the text of a file, without the time that the decoding took."""
    return re.sub(r'"decoding_cpu_s": [0-9.]+', "", path.read_text())


# The decoder `viterbi` assumes one order for all videos, and these videos have different orders.
@pytest.mark.parametrize(
    ("decoder", "solver"),
    [("graphcut", "expansion"), *((name, "exact") for name in ALONE if name != "viterbi")],
)
def test_planted_steps_orders_and_procedures_are_found(tmp_path: Path, decoder: str, solver: str) -> None:
    source = store(tmp_path / "e.zarr", three_videos())
    returned = decode(
        source, tmp_path / "out", decoder_by(decoder, settings(3, {**QUICK, "graphcut.solver": solver})), 0
    )
    segments, order, procedures, facts = read(tmp_path / "out")
    assert facts == as_json(returned)
    assert order.video.tolist() == ["a%20b", "v1", "v2"]
    for (_, video), rows in segments.groupby(["scope", "video"]):
        assert rows.start_s.tolist() == pytest.approx([0, 5.75, 11.75]), video
        assert rows.end_s.tolist() == pytest.approx([5.75, 11.75, 17.8])
        assert sorted(rows.key_step) == [1, 2, 3]
    # Clusters of the task mean the same in every video, so one video shows which cluster is which place.
    task = segments[segments.scope == "task"]
    a, b, c = task[task.video == "v2"].key_step
    # Clusters are numbered in this order, because two of three videos have it.
    assert [a, b, c] == [1, 2, 3]
    assert task[task.video == "a%20b"].key_step.tolist() == [a, b, c]
    assert task[task.video == "v1"].key_step.tolist() == [a, c, b]
    assert order.set_index("video").order.to_dict() == {
        "a%20b": f"{a}>{b}>{c}",
        "v1": f"{a}>{c}>{b}",
        "v2": f"{a}>{b}>{c}",
    }
    assert procedures.order.tolist() == [f"{a}>{b}>{c}", f"{a}>{c}>{b}"]
    assert procedures.n_videos.tolist() == [2, 1]
    assert procedures.share.sum() == pytest.approx(1)
    assert (facts["degenerate"], facts["degenerate_cause"]) == (False, None)
    assert facts["task"]["distinct_labels"] == 3
    assert facts["task"]["segments_per_video"] == {"a%20b": 3, "v1": 3, "v2": 3}
    assert set(facts["video"]["videos"]) == {"a%20b", "v1", "v2"}


@pytest.mark.parametrize("decoder", ALONE)
def test_the_same_seed_gives_the_same_bytes_and_the_folder_is_replaced(tmp_path: Path, decoder: str) -> None:
    source = store(tmp_path / "e.zarr", {"a": places([0, 1, 2, 3], 0, 0.6), "b": places([3, 1, 0], 1, 0.6)})
    decode(source, tmp_path / "out", decoder_by(decoder, settings(4)), 3)
    before = {name: untimed(tmp_path / "out" / name) for name in FILES}
    (tmp_path / "out/names.yaml").write_text("left over")
    decode(source, tmp_path / "out", decoder_by(decoder, settings(4)), 3)
    (tmp_path / "out" / ".segments.csv.provenance.json").unlink()
    assert {path.name: untimed(path) for path in (tmp_path / "out").iterdir()} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["e.zarr", "out"]


def test_the_cpu_seconds_of_the_decoding_are_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = store(tmp_path / "e.zarr", three_videos())

    def idle(*_: object, **__: object) -> KeySteps:
        time.sleep(0.5)
        return find_key_steps(*_, **__)  # type: ignore[arg-type]

    def busy(*_: object, **__: object) -> KeySteps:
        until = time.process_time() + 0.5
        while time.process_time() < until:
            pass
        return find_key_steps(*_, **__)  # type: ignore[arg-type]

    seconds = []
    for how in (idle, busy):
        monkeypatch.setattr("rgwot.stages.decode.find_key_steps", how)
        before = time.process_time()
        decode(source, tmp_path / "out", decoder_by("kmeans", settings(3)), 0)
        seconds.append(read_diagnostics(tmp_path / "out/diagnostics.json").decoding_cpu_s)
        assert 0 < seconds[-1] <= time.process_time() - before + 0.001
    assert seconds[1] >= 0.5


def test_an_edited_file_is_refused_by_its_reader(tmp_path: Path) -> None:
    decode(store(tmp_path / "e.zarr", three_videos()), tmp_path / "out", decoder_by("kmeans", settings(3)), 0)
    readers = (read_segments, read_orders, read_procedures, read_procedure, read_deviations)
    for name, reader in zip(FILES, readers, strict=False):
        file = tmp_path / "out" / name
        content = file.read_bytes()
        reader(file)
        file.write_bytes(content[:-1] + b" ")
        with pytest.raises(RgwotError, match=rf"{name}: changed since .* save the rows of a video as its annotation"):
            reader(file)
        file.write_bytes(content)
        reader(file)


def test_a_folder_with_something_else_in_it_stays(tmp_path: Path) -> None:
    source = store(tmp_path / "e.zarr", {"a": places([0, 1, 2, 3], 0, 0.6), "b": places([3, 1, 0], 1, 0.6)})
    with pytest.raises(RgwotError, match=r"found e\.zarr/.*, which rgwot did not write"):
        decode(source, tmp_path, decoder_by("kmeans", settings(4)), 3)
    assert source.exists()


@pytest.mark.parametrize("decoder", ["meanfield", "consensus"])
def test_key_steps_of_the_task_are_the_same_without_those_of_each_video(tmp_path: Path, decoder: str) -> None:
    source = store(tmp_path / "e.zarr", {"a": places([0, 1, 2, 3], 0, 0.6), "b": places([3, 1, 0], 1, 0.6)})
    both = as_json(decode(source, tmp_path / "both", decoder_by(decoder, settings(4)), 0))
    one = as_json(decode(source, tmp_path / "one", decoder_by(decoder, settings(4)), 0, alone=False))
    files = {"video", "decoding_cpu_s"}
    assert {name: both[name] for name in both.keys() - files} == {name: one[name] for name in one.keys() - files}
    segments = read(tmp_path / "both")[0]
    pd.testing.assert_frame_equal(read(tmp_path / "one")[0], segments[segments.scope == "task"].reset_index(drop=True))


def test_too_many_key_steps_are_refused_before_time_is_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = store(tmp_path / "e.zarr", three_videos())
    monkeypatch.setattr("rgwot.keysteps.decode.choose_share", None)
    for changes, most in (({}, 108), ({"decode.surplus": 5}, 103)):
        with pytest.raises(RgwotError, match=f"decode.K: found 109, expected 2 to {most}: .* needs one of 108 samples"):
            decode(source, tmp_path / "out", decoder_by("kmeans", settings(109, {"decode.time": "auto", **changes})), 0)


def test_a_video_by_itself_does_not_depend_on_the_others(tmp_path: Path) -> None:
    videos = {"a": places([0, 1, 2, 3], 0, 0.6), "b": places([3, 1, 0], 1, 0.6)}
    decode(store(tmp_path / "two.zarr", videos), tmp_path / "two", decoder_by("kmeans", settings(4)), 0)
    decode(store(tmp_path / "one.zarr", {"a": videos["a"]}), tmp_path / "one", decoder_by("kmeans", settings(4)), 0)
    query = "scope == 'video' and video == 'a'"
    two, one = (read(tmp_path / name)[0].query(query).reset_index(drop=True) for name in ("two", "one"))
    assert two.equals(one)


@pytest.mark.parametrize("decoder", ALONE)
def test_short_and_constant_videos_are_covered(tmp_path: Path, decoder: str) -> None:
    videos = {
        "single": np.eye(8)[:1],
        "short": np.eye(8)[:3],
        "constant": np.full((20, 8), 0.35),
        "usual": places([0, 1, 2, 3, 4, 5, 6]),
        "empty": np.zeros((0, 8)),
    }
    decode(store(tmp_path / "e.zarr", videos), tmp_path / "out", decoder_by(decoder, settings(7)), 0)
    segments, order, _, facts = read(tmp_path / "out")
    assert facts["videos_without_frames"] == ["empty"]
    assert set(order.video) == {"single", "short", "constant", "usual"}
    for (_, video), rows in segments.groupby(["scope", "video"]):
        assert rows.start_s.iloc[0] == 0
        assert rows.end_s.iloc[-1] == pytest.approx(len(videos[video]) / FPS - 0.2)
        assert (rows.start_s.to_numpy()[1:] == rows.end_s.to_numpy()[:-1]).all()
        assert rows.key_step.between(1, 7).all()
    assert facts["video"]["degenerate_videos"] == ["constant"]
    assert facts["video"]["videos"]["constant"]["degenerate_cause"] == "embedding"
    assert facts["video"]["videos"]["single"]["mean_pairwise_cosine"] is None


def test_mistakes_are_one_line_and_leave_nothing(tmp_path: Path) -> None:
    source = store(tmp_path / "e.zarr", three_videos())
    out = tmp_path / "out"
    with pytest.raises(RgwotError, match="K=gt depends on the number of annotated steps"):
        decode(source, out, decoder_by("kmeans", settings("gt")), 0)
    with pytest.raises(RgwotError, match="no such store"):
        decode(tmp_path / "none.zarr", out, decoder_by("kmeans", settings(3)), 0)
    with pytest.raises(RgwotError, match="incomplete"):
        decode(store(tmp_path / "half.zarr", three_videos(), complete=False), out, decoder_by("kmeans", settings(3)), 0)
    with pytest.raises(RgwotError, match="no video with a frame"):
        decode(store(tmp_path / "no.zarr", {"a": np.zeros((0, 8))}), out, decoder_by("kmeans", settings(3)), 0)
    broken = three_videos()
    broken["v1"][4, 2] = np.nan
    with pytest.raises(RgwotError, match="video v1: 1 of 36 samples are not finite"):
        decode(store(tmp_path / "nan.zarr", broken), out, decoder_by("kmeans", settings(3)), 0)
    assert not out.exists()
