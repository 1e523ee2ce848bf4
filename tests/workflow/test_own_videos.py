"""Three videos of a user, of various containers, rates and names, without annotations; later with a broken file."""

from __future__ import annotations

import csv
import shutil
from fractions import Fraction
from pathlib import Path
from urllib.parse import unquote

import pytest
from checkouts import Checkout
from videos import write_scene

from rgwot.stages.procedure import read_procedure
from rgwot.synthetic.appearance import task_look
from rgwot.synthetic.settings import SynthSettings
from rgwot.synthetic.timelines import plan
from rgwot.synthetic.videos import Scene

ROOT = "results/keysteps/rgwot/graphcut/mine/tea/seed0"
SEGMENTS = f"{ROOT}/segments.csv"
INDEX = "results/features/mine/tea/index.csv"
MANIFEST = "results/manifest/mine/tea.csv"
SCORES = "results/scores/rgwot/graphcut/mine/tea/seed0.csv"
VIDEOS = {
    "Montag früh – Küche.webm": Fraction(30),
    "tuesday 2.mkv": Fraction(25),
    "wednesday (o'clock).MP4": Fraction(60000, 1001),
}


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    checkout = Checkout.copied_to(tmp_path_factory.mktemp("own") / "checkout")
    settings = SynthSettings(tasks=("tea",), n_videos=3, min_s=4, max_s=6)
    for video, (name, rate) in zip(plan(settings), VIDEOS.items(), strict=True):
        scene = Scene(task_look(video.K, video.look_seed), video.timeline, video.seed, 160, 120)
        write_scene(checkout.path / "videos" / "tea" / name, scene, rate)
    for name in ("fail", "skip"):
        text = f"on_bad_video: {name}\ndatasets: {{mine: {{layout: folder, root: videos}}}}\n"
        (checkout.path / f"{name}.yaml").write_text(text, encoding="utf-8")
    output = checkout.snakemake(SEGMENTS, MANIFEST, more=["fail.yaml"])
    assert output.returncode == 0, output.text[-4000:]
    return checkout


def test_key_steps_without_any_annotation(own: Checkout) -> None:
    manifest = read(own.path / MANIFEST)
    assert [(row["status"], row["annotation"]) for row in manifest] == [("unscored", "")] * 3
    assert {row["path"]: Fraction(row["fps"]) for row in manifest} == {f"tea/{name}": r for name, r in VIDEOS.items()}
    assert {unquote(row["video"]) for row in manifest} == {Path(name).stem for name in VIDEOS}
    segments = read(own.path / SEGMENTS)
    # Key steps found in each video separately (scope video) are written only for scoring.
    assert {segment["scope"] for segment in segments} == {"task"}
    for row in manifest:
        mine = [segment for segment in segments if segment["video"] == row["video"]]
        assert float(mine[0]["start_s"]) == 0.0
        assert [s["end_s"] for s in mine[:-1]] == [s["start_s"] for s in mine[1:]]
        assert float(mine[-1]["end_s"]) == pytest.approx(float(row["duration_s"]))
    orders = read(own.path / ROOT / "order.csv")
    assert {row["video"] for row in orders} == {row["video"] for row in manifest}
    procedures = read(own.path / ROOT / "procedures.csv")
    assert [int(row["rank"]) for row in procedures] == list(range(1, len(procedures) + 1))
    assert sum(int(row["n_videos"]) for row in procedures) == 3
    assert {row["order"] for row in procedures} == {row["order"] for row in orders}
    procedure = read_procedure(own.path / ROOT / "procedure.json")
    assert {video.video for video in procedure.videos} == {row["video"] for row in manifest}
    assert {row["video"] for row in read(own.path / ROOT / "deviations.csv")} <= {row["video"] for row in manifest}


def test_plots_without_any_annotation(own: Checkout) -> None:
    figure = "results/figures/segments/mine/tea/seed0"
    output = own.snakemake(f"{figure}.pdf", more=["fail.yaml"])
    assert output.returncode == 0, output.text[-4000:]
    for suffix in (".pdf", ".png"):
        assert (own.path / f"{figure}{suffix}").stat().st_size > 0


def test_the_first_answer_needs_no_training_and_training_adds_to_its_page(own: Checkout) -> None:
    text = (
        "on_bad_video: fail\nseeds: [0]\npage: {datasets: [mine]}\ndatasets: {mine: {layout: folder, root: videos}}\n"
    )
    (own.path / "first.yaml").write_text(text, encoding="utf-8")
    models = own.path / "results/models"
    before = {path: path.stat().st_mtime_ns for path in models.rglob("*.pt")}
    output = own.snakemake("first", more=["first.yaml"])
    assert output.returncode == 0, output.text[-4000:]
    assert {path: path.stat().st_mtime_ns for path in models.rglob("*.pt")} == before
    folder = own.path / "results/keysteps/whitened/meanfield/mine/tea/seed0"
    assert {row["video"] for row in read(folder / "order.csv")} == {row["video"] for row in read(own.path / MANIFEST)}
    assert f"The page: {own.path.absolute()}/results/report/mine/tea.html" in output.text
    assert 'href="mine/tea.html"' in (own.path / "results/report/index.html").read_text(encoding="utf-8")
    page = (own.path / "results/report/mine/tea.html").read_text(encoding="utf-8")
    # Existing models are not trained again.
    assert "whitened/meanfield" in page
    assert "rgwot/graphcut/seed" not in page
    again = own.plan("first", more=["first.yaml"])
    assert not again.jobs
    trained = text.replace("[mine]", "[mine], methods: [rgwot-plus/consensus, rgwot/graphcut]")
    (own.path / "trained.yaml").write_text(trained, encoding="utf-8")
    more = own.plan("first", more=["trained.yaml"]).jobs
    assert more["page"] == 1
    assert "strips" not in more
    # A video that is added has its pictures on the next page.
    added = own.path / "videos/tea/added.mkv"
    shutil.copyfile(own.path / "videos/tea/tuesday 2.mkv", added)
    try:
        assert own.plan("first", more=["first.yaml"]).jobs["strips"] == 1
    finally:
        added.unlink()


def test_scoring_is_refused_in_one_line(own: Checkout) -> None:
    refused = own.snakemake(SCORES, more=["fail.yaml"])
    assert "annot" in refused.mistake
    assert not (own.path / SCORES).exists()


def test_an_edited_result_is_neither_read_nor_written_over(own: Checkout) -> None:
    file = own.path / SEGMENTS
    written = file.read_text(encoding="utf-8")
    edited = written.replace(",1,1,True\n", ",2,1,True\n")
    assert edited != written
    file.write_text(edited, encoding="utf-8")
    (own.path / "other.yaml").write_text("decode: {K: 4}\n", encoding="utf-8")
    bundle = "results/bundles/rgwot/graphcut/mine/tea/seed0.rgwot"
    try:
        for target, more in (
            (SEGMENTS, ["fail.yaml"]),
            (SEGMENTS, ["fail.yaml", "other.yaml"]),
            (bundle, ["fail.yaml"]),
        ):
            assert f"{SEGMENTS}: changed since it was written" in own.snakemake(target, more=more).mistake
            assert file.read_text(encoding="utf-8") == edited
        file.unlink()
        assert own.plan(SEGMENTS, more=["fail.yaml"]).jobs["decode"] == 1
    finally:
        file.write_text(written, encoding="utf-8")
    # A file with its original content is not edited, whatever its time stamp.
    assert not own.plan(SEGMENTS, more=["fail.yaml"]).jobs


def test_the_first_annotation_asks_for_key_steps_of_each_video(own: Checkout) -> None:
    assert not own.plan(SEGMENTS, more=["fail.yaml"]).jobs
    annotation = own.path / "videos/tea/tuesday 2.csv"
    annotation.write_text("0.0,1.5,pour\n1.5,3.0,stir\n", encoding="utf-8")
    try:
        assert own.plan(SEGMENTS, more=["fail.yaml"]).jobs["decode"] == 1
    finally:
        annotation.unlink()


@pytest.mark.long
def test_broken_video_fails_or_is_skipped(own: Checkout) -> None:
    before = {path: path.stat().st_mtime_ns for path in (own.path / "results/features").rglob("zarr.json")}
    broken, link = (own.path / "videos" / "tea" / name for name in ("broken.mp4", "link.mp4"))
    link.symlink_to("nowhere.mp4")
    assert "videos/tea/link.mp4: no such file" in own.snakemake(MANIFEST, more=["fail.yaml"]).mistake
    broken.write_bytes(b"no video at all" * 100)

    for target in (SEGMENTS, MANIFEST):
        assert "broken.mp4" in own.snakemake(target, more=["fail.yaml"]).mistake

    first = "results/keysteps/whitened/meanfield/mine/tea/seed0/segments.csv"
    output = own.snakemake(first, MANIFEST, more=["skip.yaml"])
    assert output.returncode == 0, output.text[-4000:]
    rows = {row["video"]: row for row in read(own.path / MANIFEST)}
    index = {row["video"]: row for row in read(own.path / INDEX)}
    assert rows["broken"]["status"] == index["broken"]["status"] == "skipped"
    assert rows["broken"]["reason"]
    assert index["broken"]["reason"]
    assert rows["link"]["status"] == index["link"]["status"] == "skipped"
    link.unlink()
    del rows["broken"], rows["link"]
    assert [(row["status"], row["width"]) for row in rows.values()] == [("unscored", "160")] * 3
    assert {row["video"] for row in read(own.path / first)} == set(rows)
    # The handling of bad videos does not affect the features of good ones.
    assert {path: path.stat().st_mtime_ns for path in before} == before

    # If bad videos are errors again, a skipped video is an error, although every file is up to date.
    assert "videos/tea/broken.mp4: not a readable video" in own.snakemake(SEGMENTS, more=["fail.yaml"]).mistake
    assert own.snakemake(INDEX, more=["skip.yaml"]).returncode == 0
    # After the video is repaired, it is extracted again.
    shutil.copyfile(min((own.path / "videos" / "tea").glob("*.mkv")), broken)
    assert own.plan(INDEX, more=["fail.yaml"]).jobs["extract"] == 1
