from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rgwot.columns import MANIFEST_COLUMNS
from rgwot.config.methods import DECODERS
from rgwot.diagnostics import as_json
from rgwot.keysteps.settings import Annotations, OneLabel, ProcedureSettings, Random, Uniform
from rgwot.keysteps.trivial import TRIVIAL_LABELS, random, uniform
from rgwot.records import read_deviations
from rgwot.runtime.errors import RgwotError
from rgwot.stages.decode import decode_trivial
from rgwot.stages.procedure import read_procedure


def manifest(folder: Path, **changed: object) -> Path:
    rows = (
        pd.DataFrame(
            {
                "video": ["b", "a", "broken", "007"],
                "duration_s": ["10.01", "4.0", "", "7.5"],
                "fps": ["30000/1001", "25.0", "", "29.97002997002997"],
                "status": ["ok", "unscored", "skipped", "ok"],
                "reason": ["", "no annotation", "cannot be read", ""],
            }
        )
        .assign(**changed)
        .reindex(columns=MANIFEST_COLUMNS, fill_value="")
    )
    path = folder / "task.csv"
    rows.to_csv(path, index=False)
    return path


def check_cover(segments: pd.DataFrame) -> None:
    for (_, video), rows in segments.groupby(["scope", "video"]):
        borders = [0.0, *rows.end_s]
        assert rows.start_s.tolist() == borders[:-1]
        assert borders[-1] == {"b": 10.01, "a": 4.0, "007": 7.5}[video]
        assert (np.diff(borders) > 0).all()


@pytest.mark.parametrize("decoder", sorted(TRIVIAL_LABELS))
def test_every_usable_video_is_covered_in_both_scopes(tmp_path: Path, decoder: str) -> None:
    facts = as_json(decode_trivial(manifest(tmp_path), tmp_path / "out", DECODERS[decoder](), 0, 2))
    segments = pd.read_csv(tmp_path / "out/segments.csv", dtype={"video": str})
    assert segments.columns.tolist() == ["video", "scope", "start_s", "end_s", "key_step", "shows", "counts"]
    assert segments.counts[segments.scope == "video"].sum() == 0
    check_cover(segments)
    assert set(zip(segments.video, segments.scope, strict=True)) == {
        (video, scope) for video in ("a", "b", "007") for scope in ("task", "video")
    }
    assert segments.key_step.between(1, 7).all()
    order = pd.read_csv(tmp_path / "out/order.csv", dtype=str)
    assert set(order.video) == {"a", "b", "007"}
    procedures = pd.read_csv(tmp_path / "out/procedures.csv")
    assert procedures.share.sum() == pytest.approx(1)
    assert json.loads((tmp_path / "out/diagnostics.json").read_text()) == facts
    assert (facts["degenerate"], facts["degenerate_cause"]) == (False, None)
    assert facts["videos_without_frames"] == ["broken"]


def test_one_label_and_uniform_by_hand(tmp_path: Path) -> None:
    facts = decode_trivial(manifest(tmp_path), tmp_path / "one", OneLabel(), 0, 2)
    assert facts.task.distinct_labels == 1
    assert pd.read_csv(tmp_path / "one/procedures.csv", dtype=str).order.tolist() == ["1"]
    table = uniform(10.0, Fraction(30), 2, 4, np.random.default_rng(0))
    assert table.to_numpy().tolist() == [[0, 2.5, 1], [2.5, 5, 2], [5, 7.5, 3], [7.5, 10, 4]]
    decode_trivial(manifest(tmp_path), tmp_path / "uniform", Uniform(K=3), 0, 2)
    assert pd.read_csv(tmp_path / "uniform/procedures.csv", dtype=str).order.tolist() == ["1>2>3"]


def test_random_draws_anew_at_every_scoring_time() -> None:
    fps = Fraction(30000, 1001)
    table = random(100.0, fps, 2, 7, np.random.default_rng(0))
    times = np.arange(1499) * 2 * 1001 / 30000
    labels = table.key_step.to_numpy()[np.searchsorted(table.start_s, times, side="right") - 1]
    np.testing.assert_array_equal(labels, np.random.default_rng(0).integers(1, 8, size=1499))
    counts = np.bincount(labels, minlength=8)[1:]
    # 1499 draws from 7: the standard deviation of a count is 13.5.
    assert np.abs(counts - 1499 / 7).max() < 4 * 13.5


def test_random_follows_the_seed_and_the_video_alone(tmp_path: Path) -> None:
    def segments(seed: int, **changed: object) -> pd.DataFrame:
        decode_trivial(manifest(tmp_path, **changed), tmp_path / "out", Random(), seed, 2)
        return pd.read_csv(tmp_path / "out/segments.csv", dtype={"video": str}).query("video == 'b'")

    first = segments(0)
    assert segments(0).equals(first)
    assert not segments(1).equals(first)
    fewer = segments(0, status=["ok", "skipped", "skipped", "skipped"])
    assert fewer.reset_index(drop=True).equals(first.reset_index(drop=True))


@pytest.mark.parametrize(
    ("changed", "decoder", "K", "message"),
    [
        ({"status": "skipped"}, "uniform", 7, r"no usable video \(4 skipped\)"),
        ({"duration_s": "0"}, "uniform", 7, "video 'b': found duration_s 0 and fps '30000/1001'"),
        ({"fps": "30/0"}, "random", 7, "video 'b': fps: got '30/0'"),
        ({}, "uniform", "gt", "K=gt depends on"),
    ],
)
def test_mistakes_are_one_line(
    tmp_path: Path, changed: dict[str, str], decoder: str, K: int | str, message: str
) -> None:
    with pytest.raises(RgwotError, match=message):
        decode_trivial(manifest(tmp_path, **changed), tmp_path / "out", DECODERS[decoder](K=K), 0, 2)
    assert not (tmp_path / "out").exists()


def annotations(folder: Path, rows: str) -> Path:
    path = folder / "annotations.csv"
    path.write_text(f"video,start_s,end_s,key_step,name\n{rows}")
    return path


def test_annotations_are_written_as_key_steps_are(tmp_path: Path) -> None:
    """Where two annotations overlap, the later one counts; time without an annotation is background."""
    given = annotations(tmp_path, "b,1,3,2,x\nb,2,5,1,y\nbroken,0,1,9,z\n007,0,7.5,3,z\n")
    facts = decode_trivial(
        manifest(tmp_path, fps="30"),
        tmp_path / "out",
        Annotations(procedure=ProcedureSettings(learner="chain")),
        0,
        1,
        annotations_csv=given,
    )
    segments = pd.read_csv(tmp_path / "out/segments.csv", dtype={"video": str})
    check_cover(segments)
    task = segments[segments.scope == "task"]
    of_b = task[task.video == "b"]
    assert of_b.key_step.tolist() == [0, 2, 1, 0]
    assert of_b.start_s.tolist() == pytest.approx([0, 1, 2, 5], abs=1 / 30)
    assert task[task.video == "a"].key_step.tolist() == [0]
    assert (facts.K, facts.background, facts.n_videos) == (3, True, 3)
    order = pd.read_csv(tmp_path / "out/order.csv", dtype=str).set_index("video").order
    assert order.to_dict() == {"b": "2>1", "a": "0", "007": "3"}
    procedure = read_procedure(tmp_path / "out/procedure.json")
    assert (procedure.learner, procedure.n_videos, len(procedure.nodes)) == ("chain", 2, 3)


def test_a_step_without_length_is_not_a_key_step(tmp_path: Path) -> None:
    given = annotations(tmp_path, "a,0,1,1,x\na,1,2,2,y\na,2,2,3,never\n")
    facts = decode_trivial(manifest(tmp_path), tmp_path / "out", Annotations(), 0, 1, annotations_csv=given)
    assert facts.K == 2


def test_annotations_of_nothing_are_refused(tmp_path: Path) -> None:
    for given, words in (
        (annotations(tmp_path, "broken,0,1,1,x\n"), "no usable video is annotated"),
        (None, "expected a table"),
    ):
        with pytest.raises(RgwotError, match=words):
            decode_trivial(manifest(tmp_path), tmp_path / "out", Annotations(), 0, 2, annotations_csv=given)
    assert not (tmp_path / "out").exists()


def test_the_procedure_is_learned_from_what_is_not_held_out(tmp_path: Path) -> None:
    decode_trivial(
        manifest(tmp_path),
        tmp_path / "out",
        Uniform(K=3, procedure=ProcedureSettings(learner="chain")),
        0,
        2,
        held_out=("007",),
    )
    procedure = read_procedure(tmp_path / "out/procedure.json")
    assert (procedure.learner, procedure.order) == ("chain", (1, 2, 3))
    assert [video.video for video in procedure.videos] == ["b", "a"]
    assert read_deviations(tmp_path / "out/deviations.csv").empty
