"""A bundle labels videos of the study as its result does, and other videos as the result would label held-out ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from studies import Study
from videos import write_video

from rgwot.bundles.apply import ApplyOptions, apply_bundle, draw_page, restore
from rgwot.bundles.file import read_bundle
from rgwot.datasets.settings import ImportSettings
from rgwot.embedding.interface import embedded_video
from rgwot.features.importing import import_features
from rgwot.features.index import write_index
from rgwot.features.store import open_store
from rgwot.paths import Tree
from rgwot.procedure import recordings_from_segments
from rgwot.records import read_deviations, read_diagnostics, read_segments
from rgwot.runtime.errors import RgwotError
from rgwot.stages.procedure import read_procedure
from rgwot.timing import label_segments

Results = Callable[..., tuple[Path, Path]]

#: Results with every decoder and every embedding whose rule for other videos equals that for videos of the study.
INDUCTIVE = [
    ("rgwot", "graphcut"), ("raw", "kmeans"), ("raw", "subset"), ("whitened", "graphcut"), ("whitened", "viterbi"),
    ("cte", "kmeans"),
]  # fmt: skip
#: Pairs in which the result depends on all videos together, or in which new samples are embedded differently.
NEARLY = [("rgwot-plus", "consensus"), ("whitened", "meanfield"), ("raw", "spectral"), ("gpl", "kmeans")]
HELD_OUT = ("v3", "v4")


def task_segments(path: Path, *videos: str) -> pd.DataFrame:
    """Return the segments of scope task of some videos, by default of all."""
    found = read_segments(path)
    found = found[(found["scope"] == "task") & (found["video"].isin(videos) if videos else True)]
    return found.drop(columns="scope").reset_index(drop=True)


def same_segments(applied: Path, folder: Path, *videos: str) -> None:
    """Compare the segments that a bundle found in some videos (by default all) with a result."""
    found, there = task_segments(applied / "segments.csv"), task_segments(folder / "segments.csv", *videos)
    pd.testing.assert_frame_equal(found, there, check_exact=True)


@pytest.mark.parametrize(("method", "decoder"), INDUCTIVE + NEARLY)
def test_a_video_of_the_study_keeps_its_answer(
    study: Study, results: Results, tmp_path: Path, method: str, decoder: str
) -> None:
    folder, bundle = results(method, decoder)
    stores = sorted(study.index.parent.glob("*.zarr"))
    assert [video.from_study for video in apply_bundle(bundle, stores, tmp_path / "out")] == [True] * 5
    same_segments(tmp_path / "out", folder)
    orders = [pd.read_csv(place / "order.csv") for place in (tmp_path / "out", folder)]
    pd.testing.assert_frame_equal(*orders)
    if (method, decoder) in INDUCTIVE:
        # Without its stored answers, the bundle would label the videos of the study by the rule for other videos.
        assert read_bundle(bundle).facts.agreement == 1
        learned, embed, predict = restore(read_bundle(bundle))
        embedded = {store.video: embedded_video(store, embed) for store in map(open_store, stores)}
        steps, of_study = dataclasses.replace(learned, answers={}).label(predict, [*map(open_store, stores)], embedded)
        assert not of_study
        for name, video in embedded.items():
            found = label_segments(video.time_s, steps[name], video.duration_s)
            there = task_segments(folder / "segments.csv", name)[[*found.columns]]
            pd.testing.assert_frame_equal(found, there, check_exact=True)


@pytest.mark.parametrize(("method", "decoder"), INDUCTIVE + NEARLY)
def test_another_video_gets_what_it_gets_when_it_is_held_out(
    study: Study, results: Results, tmp_path: Path, method: str, decoder: str
) -> None:
    folder, bundle = results(method, decoder, HELD_OUT)
    assert read_bundle(bundle).facts.held_out == [*HELD_OUT]
    stores = [study.index.parent / f"{video}.zarr" for video in HELD_OUT]
    assert [video.from_study for video in apply_bundle(bundle, stores, tmp_path)] == [False, False]
    same_segments(tmp_path, folder, *HELD_OUT)
    # Deviations are from the procedure of the original videos, which the bundle contains.
    found, there = (read_deviations(place / "deviations.csv") for place in (tmp_path, folder))
    there = there[there["video"].isin(HELD_OUT)].reset_index(drop=True)
    pd.testing.assert_frame_equal(found, there, check_exact=True)
    procedures = [next(place.rglob("procedure.json")) for place in (tmp_path / "results", folder)]
    assert read_procedure(procedures[0]) == read_procedure(procedures[1])


@pytest.mark.parametrize(("time", "surplus"), [(0.15, 2), (0.15, 0)])
def test_time_and_clusters_of_background_are_kept(
    study: Study, results: Results, tmp_path: Path, time: float, surplus: int
) -> None:
    folder, bundle = results("whitened", "meanfield", HELD_OUT, time=time, surplus=surplus)
    facts = read_bundle(bundle).facts
    assert (facts.time, facts.surplus, facts.K) == (time, surplus, 3)
    stores = [study.index.parent / f"{video}.zarr" for video in HELD_OUT]
    apply_bundle(bundle, stores, tmp_path / "out")
    same_segments(tmp_path / "out", folder, *HELD_OUT)


def test_a_video_file_is_extracted_once_and_gets_the_same(study: Study, results: Results, tmp_path: Path) -> None:
    folder, bundle = results("rgwot", "graphcut", HELD_OUT)
    out = tmp_path / "out"
    apply_bundle(bundle, [study.videos["v3"]], out, ApplyOptions(device="cpu"))
    assert not list(out.rglob("*.jpg"))
    draw_page(bundle, out)
    assert list(out.rglob("*.jpg"))
    # The page contains pictures of the video.
    page = (out / "page.html").read_text()
    assert page.count("data:image/jpeg") + page.count("/9j/") > 0
    # The title is that of the video; the page names the study, because the counts of the procedure come from it.
    assert "<title>v3 - key steps</title>" in page
    learned = len(read_bundle(bundle).facts.videos)
    assert f"those of tiny/clips ({bundle.name}), learned from {learned} videos; counts and times" in page
    assert "Share of time" not in page
    made = out / "features/v3.zarr/zarr.json"
    before = made.stat().st_mtime_ns
    (applied,) = apply_bundle(bundle, [study.videos["v3"]], out, ApplyOptions(device="cpu"))
    assert made.stat().st_mtime_ns == before
    same_segments(out, folder, "v3")
    # `applied.segments` is the number of occurrences, that is, of segments that count.
    (recording,) = recordings_from_segments(read_segments(out / "segments.csv"))
    assert applied.segments == len(recording.events)
    facts = read_diagnostics(out / "results/keysteps/rgwot/graphcut/tiny/clips/seed0/diagnostics.json")
    assert facts.bundle.sha256 == read_bundle(bundle).sha256
    assert facts.known_videos == []


@pytest.mark.parametrize("name", ["segments.csv", "page.html", "results/keysteps/mine.csv"])
def test_what_is_in_the_folder_already_stays(study: Study, results: Results, tmp_path: Path, name: str) -> None:
    _, bundle = results("raw", "kmeans")
    mine = tmp_path / name
    mine.parent.mkdir(parents=True, exist_ok=True)
    mine.write_text("mine")
    with pytest.raises(RgwotError, match=r"found .*; name a new folder$"):
        apply_bundle(bundle, [study.videos["v3"]], tmp_path, ApplyOptions(device="cpu"))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [mine]


def test_another_video_of_the_same_name_replaces_what_was_made_of_the_first(
    study: Study, results: Results, tmp_path: Path
) -> None:
    _, bundle = results("raw", "kmeans")
    out, clip = tmp_path / "out", tmp_path / "clip.mp4"
    clip.write_bytes(study.videos["v3"].read_bytes())
    apply_bundle(bundle, [clip], out, ApplyOptions(device="cpu"))
    first = task_segments(out / "segments.csv")
    clip.write_bytes(study.videos["v4"].read_bytes())
    apply_bundle(bundle, [clip], out, ApplyOptions(device="cpu"))
    second = task_segments(out / "segments.csv")
    assert not first.equals(second)
    assert second["end_s"].max() == pytest.approx(72 / 30, abs=0.1)


def test_what_people_called_the_key_steps_goes_along(study: Study, tmp_path: Path) -> None:
    import yaml

    from rgwot.names import read_names, result_id

    folder, _ = study.result("raw", "kmeans")
    result = result_id(read_segments(folder / "segments.csv"))
    typed = {"raw/kmeans/seed0": {"result": result, "names": {1: "Øl & =1+1 <b>", 2: "stir"}}}
    (study.tree.results / "names.yaml").write_text(yaml.safe_dump(typed))
    _, bundle = study.result("raw", "kmeans")
    (study.tree.results / "names.yaml").unlink()
    applied = apply_bundle(bundle, [study.videos["v4"]], tmp_path / "out", ApplyOptions(device="cpu"))
    assert any(name in applied[0].order for name in ("Øl & =1+1 <b>", "stir"))
    kept = read_names(tmp_path / "out/results/keysteps/raw/kmeans/tiny/clips/seed0/names.yaml")["raw/kmeans/seed0"]
    assert kept.names == {1: "Øl & =1+1 <b>", 2: "stir"}
    assert kept.result == result_id(read_segments(tmp_path / "out/segments.csv"))


def test_features_made_elsewhere_are_taken_in_the_form_that_the_study_had(tmp_path: Path) -> None:
    settings = ImportSettings(axes="CT", fps="5", key="deep", backbone="mine")
    rng, steps = np.random.default_rng(0), np.random.default_rng(1).normal(size=(3, 24))
    features = tmp_path / "results/features/tiny/clips"
    files = {}
    for name, frames in {"a": 30, "b": 36, "c": 33, "d": 42}.items():
        x = steps[np.arange(frames) * 3 // frames] + 0.1 * rng.normal(size=(frames, 24)) + 3
        files[name] = tmp_path / f"{name}.npz"
        np.savez(files[name], deep=x.T.astype(np.float32), other=np.zeros(2))
        import_features(files[name], features / f"{name}.zarr", settings)
    write_index([features / f"{name}.zarr" for name in files], features / "index.csv")
    study = Study({}, Tree(tmp_path / "results", "tiny", "clips"), features / "index.csv")
    for method, decoder in (("rgwot", "graphcut"), ("rgwot-plus", "consensus")):
        folder, bundle = study.result(method, decoder, ("c", "d"))
        out = tmp_path / method
        apply_bundle(bundle, [files["d"]], out)
        same_segments(out, folder, "d")
    draw_page(bundle, out)
    assert "page" in (out / "page.html").read_text()
    clip = write_video(tmp_path / "f.mp4", 30)
    with pytest.raises(RgwotError, match=r"imported features \(mine\), which a video does not have"):
        apply_bundle(bundle, [clip], tmp_path / "no")
    np.savez(tmp_path / "e.npz", deep=np.zeros((25, 9)))
    with pytest.raises(RgwotError, match="24"):
        apply_bundle(bundle, [tmp_path / "e.npz"], tmp_path / "no")


@pytest.mark.parametrize(
    "form",
    [
        {"fps": "50", "every": 10},
        {"times": "when", "every": 10},
        {"times": "when", "fps": "49", "every": 10},
        {"window": 2, "native_fps": "100", "every": 10},
        {"fps": "50", "every": 10, "keypoints": "body"},
    ],
)
def test_a_table_is_imported_as_those_of_the_study_were(tmp_path: Path, form: dict[str, Any]) -> None:
    settings = ImportSettings.model_validate({"axes": "TC", **form})
    rng, steps = np.random.default_rng(0), np.random.default_rng(1).normal(size=(3, 8))
    features = tmp_path / "results/features/tiny/clips"
    columns = [f"p{number}_{axis}" for number in range(4) for axis in "xy"]
    for name, frames in {"a": 300, "b": 360, "c": 330, "new": 405}.items():
        x = steps[np.arange(frames) * 3 // frames] + 0.1 * rng.normal(size=(frames, 8)) + 3
        table = pd.DataFrame(x, columns=columns)
        if "times" in form:
            table["when"] = np.arange(frames) / 50
        table.to_csv(tmp_path / f"{name}.csv", index=False)
        import_features(tmp_path / f"{name}.csv", features / f"{name}.zarr", settings)
    write_index([features / f"{name}.zarr" for name in "abc"], features / "index.csv")
    study = Study({}, Tree(tmp_path / "results", "tiny", "clips"), features / "index.csv")
    _, bundle = study.result("raw", "kmeans")
    apply_bundle(bundle, [tmp_path / "new.csv"], tmp_path / "out")
    found, expected = open_store(tmp_path / "out/features/new.zarr"), open_store(features / "new.zarr")
    assert (found.duration_s, len(found)) == (expected.duration_s, 41)
    np.testing.assert_array_equal(found.time_s, expected.time_s)
    np.testing.assert_array_equal(found.read(), expected.read())
    pd.read_csv(tmp_path / "new.csv").iloc[:, ::-1].to_csv(tmp_path / "new.csv", index=False)
    if "keypoints" not in form:
        with pytest.raises(
            RgwotError, match=r"new\.zarr: column 1 is 'p3_y', not 'p0_x'; expected the columns of .*\.rgwot"
        ):
            apply_bundle(bundle, [tmp_path / "new.csv"], tmp_path / "out")
