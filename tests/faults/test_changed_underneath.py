"""What changes after it was finished is noticed: a file that lost a byte, a source replaced by an older one."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
import zarr
from videos import write_video

from rgwot.cli import cli
from rgwot.runtime.errors import RgwotError

FEATURES = {"features": {"fps": 15, "size": 32, "weights": "random"}}
TRAINING = {
    "encoder": {"channels": 8, "hidden": 8, "D": 8},
    "train": {"N": 4, "iterations": 4, "accumulation": 2, "precision": "float32", "threads": 1},
}
STORES = Path("results/features/own/tea")
MODEL = Path("results/models/rgwot/own/tea/seed0/model.pt")
EMBEDDINGS = Path("results/embeddings/rgwot/own/tea/seed0.zarr")
KEYSTEPS = Path("results/keysteps/rgwot/kmeans/own/tea/seed0")
SCORES = Path("results/scores/rgwot/kmeans/own/tea/seed0.csv")
MANIFEST, ANNOTATIONS = Path("results/manifest/own/tea.csv"), Path("results/annotations/own/tea.csv")
OPTIONS = {"layout": "folder", "root": "videos", "options": {}, "on_bad_video": "fail"}
IDENTITY = ("--dataset", "own", "--task", "tea")
SHARD, CHUNK = Path("conv4c/c/0/0/0/0"), Path("a/embedding/c/0/0")


def rgwot(*words: object) -> None:
    cli([str(word) for word in words], standalone_mode=False)


def refused(*words: object) -> str:
    """Run a verb that is to refuse its input; return the one line."""
    with pytest.raises(RgwotError) as told:
        rgwot(*words)
    assert "\n" not in str(told.value)
    return str(told.value)


def manifest() -> None:
    rgwot("manifest", MANIFEST, *IDENTITY, "--options", json.dumps(OPTIONS), "--annotations", ANNOTATIONS)


def extract(name: str) -> None:
    settings = ("--settings", json.dumps(FEATURES), "--device", "cpu")
    rgwot("extract", STORES / f"{name}.zarr", "--source", f"videos/tea/{name}.mp4", *settings)


def index() -> tuple[object, ...]:
    return "index", STORES / "index.csv", STORES / "a.zarr", STORES / "b.zarr"


def train() -> tuple[object, ...]:
    told = ("--index", STORES / "index.csv", "--settings", json.dumps(TRAINING), "--device", "cpu")
    return "train", MODEL.parent.parent / "seed1" / "model.pt", *told


def embed(output: Path = Path("e.zarr")) -> tuple[object, ...]:
    return "embed", output, "--index", STORES / "index.csv", "--model", MODEL, "--device", "cpu"


def decode(output: Path = Path("k/segments.csv")) -> tuple[object, ...]:
    told = ("--decoder", "kmeans", "--settings", json.dumps({"decode": {"K": 2}}))
    return "decode", output, "--embeddings", EMBEDDINGS, *told


def evaluate(output: Path = Path("s.csv")) -> tuple[object, ...]:
    of_run = ("--segments", KEYSTEPS / "segments.csv", "--diagnostics", KEYSTEPS / "diagnostics.json")
    run = (*IDENTITY, "--method", "rgwot", "--decoder", "kmeans")
    return "evaluate", output, "--manifest", MANIFEST, "--annotations", ANNOTATIONS, *of_run, *run


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two clips and everything that the stages make of them."""
    folder = tmp_path_factory.mktemp("finished") / "tree"
    (folder / "videos/tea").mkdir(parents=True)
    for name, frames in (("a", 60), ("b", 50)):
        write_video(folder / f"videos/tea/{name}.mp4", frames)
        (folder / f"videos/tea/{name}.csv").write_text('0.2,0.8,"1 pour"\n1.0,1.6,"2 stir"\n')
    before = Path.cwd()
    os.chdir(folder)
    try:
        manifest()
        for name in "ab":
            extract(name)
        rgwot(*index())
        verb, _, *told = train()
        rgwot(verb, MODEL, *told)
        rgwot(*embed(EMBEDDINGS))
        rgwot(*decode(KEYSTEPS / "segments.csv"))
        rgwot(*evaluate(SCORES))
    finally:
        os.chdir(before)
    return folder


@pytest.fixture(autouse=True)
def tree(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, which a test may harm."""
    folder = tmp_path / "tree"
    shutil.copytree(finished, folder)
    monkeypatch.chdir(folder)
    return folder


def flip(path: Path, where: float = 0.5) -> None:
    content = bytearray(path.read_bytes())
    content[int(where * (len(content) - 1))] ^= 1
    path.write_bytes(content)


def without_digests() -> None:
    """Make of everything what rgwot 0.1.0 wrote."""
    for record in Path("results").rglob("*.provenance.json"):
        content = json.loads(record.read_text())
        record.write_text(json.dumps({key: content[key] for key in content.keys() - {"digests", "sources", "output"}}))
    for store in STORES.glob("*.zarr"):
        shutil.rmtree(store / "crc32c", ignore_errors=True)


# A chunk of features that is not there, or not what was written.


@pytest.mark.parametrize("verb", [train, embed], ids=["train", "embed"])
def test_a_missing_chunk_of_features_is_told(verb: Callable[[], tuple[object, ...]]) -> None:
    (STORES / "b.zarr" / SHARD).unlink()
    told = refused(*verb())
    assert told.startswith(f"{STORES}/b.zarr/{SHARD}: missing")
    assert told.endswith(f"make it anew: snakemake --force {STORES}/b.zarr")


@pytest.mark.parametrize("verb", [train, embed], ids=["train", "embed"])
def test_a_bit_in_a_chunk_of_features_is_told(verb: Callable[[], tuple[object, ...]]) -> None:
    flip(STORES / "a.zarr" / SHARD)
    told = refused(*verb())
    assert told.startswith(f"{STORES}/a.zarr/{SHARD}: damaged feature store, frame ")
    assert f"snakemake --force {STORES}/a.zarr" in told


def test_chunks_of_two_videos_that_were_swapped_are_told() -> None:
    # Both are whole, and of one size.
    shutil.rmtree(STORES / "b.zarr")
    shutil.copy("videos/tea/b.mp4", "videos/tea/c.mp4")
    write_video(Path("videos/tea/b.mp4"), 60, size=(64, 64))
    extract("b")
    one, two = (STORES / f"{name}.zarr" / SHARD for name in "ab")
    content = one.read_bytes()
    assert len(content) == len(two.read_bytes())
    one.write_bytes(two.read_bytes())
    two.write_bytes(content)
    assert "a.zarr/conv4c/c/0/0/0/0: damaged feature store, frame 0 differs" in refused(*train())


@pytest.mark.parametrize("name", ["zarr.json", "conv4c/zarr.json", "time_s/c/0", "crc32c/c/0"])
@pytest.mark.parametrize("how", [flip, Path.unlink], ids=["flip", "delete"])
def test_any_other_file_of_a_store_is_checked_when_it_is_opened(name: str, how: Callable[[Path], None]) -> None:
    how(STORES / "a.zarr" / name)
    assert f"{STORES}/a.zarr/{name}: " in refused(*index())


def test_a_store_in_the_place_of_another_is_told() -> None:
    (STORES / "a.zarr").rename(STORES / "x.zarr")
    (STORES / "b.zarr").rename(STORES / "a.zarr")
    (STORES / "x.zarr").rename(STORES / "b.zarr")
    assert f"{STORES}/a.zarr: was made as {STORES}/b.zarr" in refused(*index())


# Embeddings.


@pytest.mark.parametrize("how", [flip, Path.unlink], ids=["flip", "delete"])
@pytest.mark.parametrize("name", [CHUNK, Path("a/time_s/c/0"), Path("b/zarr.json")], ids=str)
@pytest.mark.parametrize("recorded", [True, False])
def test_a_changed_file_of_embeddings_is_told(how: Callable[[Path], None], name: Path, recorded: bool) -> None:
    if not recorded:
        # By the checksums in the store alone, as somebody's script may write and read it.
        (EMBEDDINGS / ".provenance.json").unlink()
        if name.name == "zarr.json":
            return
    how(EMBEDDINGS / name)
    told = refused(*decode())
    assert str(EMBEDDINGS) in told
    assert f"make it anew: snakemake --force {EMBEDDINGS}" in told


# Models.


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("where", [0.3, 0.5, 0.7])
def test_one_byte_of_a_model_is_told(where: float, recorded: bool) -> None:
    if not recorded:
        MODEL.with_name(".model.pt.provenance.json").unlink()
    flip(MODEL, where)
    told = refused(*embed())
    assert told.startswith(f"{MODEL}: ")
    assert told.endswith(f"make it anew: snakemake --force {MODEL}")


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("share", [0, 0.01, 0.5, 0.99])
def test_a_model_cut_short_is_told_with_its_name(share: float, recorded: bool) -> None:
    if not recorded:
        MODEL.with_name(".model.pt.provenance.json").unlink()
    content = MODEL.read_bytes()
    MODEL.write_bytes(content[: int(share * len(content))])
    told = refused(*embed())
    assert told.startswith(f"{MODEL}: ")
    assert "Invalid argument" not in told
    assert f"{int(share * len(content))} bytes" in told


class Runs:
    """A pickle that would leave a file behind."""

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, ("executed",)


@pytest.mark.parametrize(
    ("place", "saved"),
    [*((place, saved) for place in ("model", "features", "backbone") for saved in ("pickle", "torch"))]
    + [("features", "numpy"), ("features", "pickle named .npy")],
)
def test_a_pickle_is_not_executed_and_nobody_is_advised_to(place: str, saved: str) -> None:
    path = MODEL if place == "model" else Path("other.npy" if saved in ("numpy", "pickle named .npy") else "other.pt")
    if saved.startswith("pickle"):
        path.write_bytes(pickle.dumps(Runs()))
    elif saved == "numpy":
        np.save(path, np.array([Runs()]), allow_pickle=True)
    else:
        torch.save(Runs(), path)
    MODEL.with_name(".model.pt.provenance.json").unlink()
    if place == "model":
        told = refused(*embed())
    elif place == "features":
        form = ("--axes", "TC", "--fps", "15", "--footage", "videos/tea/a.mp4")
        told = refused("import-features", "f.zarr", "--source", path, *form)
    else:
        weights = {"features": {**FEATURES["features"], "weights": str(path)}}
        told = refused(
            "extract", "f.zarr", "--source", "videos/tea/a.mp4", "--settings", json.dumps(weights), "--device", "cpu"
        )
    assert str(path) in told
    assert "pickled Python objects, which could run code and are never loaded" in told
    assert "weights_only" not in told
    assert "allow_pickle" not in told
    assert not Path("executed").exists()


# Tables between the stages.


def test_damaged_annotations_are_written_again() -> None:
    whole = ANNOTATIONS.read_bytes()
    flip(ANNOTATIONS)
    manifest()
    assert ANNOTATIONS.read_bytes() == whole


@pytest.mark.parametrize(
    ("verb", "path"),
    [
        (train, STORES / "index.csv"),
        (evaluate, MANIFEST),
        (evaluate, ANNOTATIONS),
        (evaluate, KEYSTEPS / "segments.csv"),
        (evaluate, KEYSTEPS / "diagnostics.json"),
    ],
    ids=["index", "manifest", "annotations", "segments", "diagnostics"],
)
def test_one_byte_of_a_table_is_told(verb: Callable[[], tuple[object, ...]], path: Path) -> None:
    flip(path, 0.97)
    told = refused(*verb())
    assert told.startswith(f"{path}: changed since it was written (SHA-256 ")
    # What was made with it is made anew with it.
    output = KEYSTEPS / "segments.csv" if path.parent == KEYSTEPS else path
    assert told.endswith(f"; make it anew: snakemake --force {output}")


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"digests": 3}', '{"digests": {"../x": {"bytes": 1, "sha256": ""}}}']
)
def test_a_damaged_record_is_told(content: str) -> None:
    KEYSTEPS.joinpath(".segments.csv.provenance.json").write_text(content)
    told = refused(*evaluate())
    assert told.startswith(f"{KEYSTEPS}/.segments.csv.provenance.json: damaged")


# What rgwot 0.1.0 wrote.


def test_results_without_digests_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    without_digests()
    for verb in (index, train, embed, decode, evaluate):
        rgwot(*verb())
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        rgwot("verify")
    # What was made just now has digests.
    said = capsys.readouterr().out.splitlines()
    assert end.value.code == 0
    for path in (STORES / "a.zarr", STORES / "b.zarr", MODEL, EMBEDDINGS, MANIFEST, SCORES, KEYSTEPS / "order.csv"):
        (line,) = [line for line in said if f": {path}: " in line]
        assert line.startswith("cannot be checked: ")
        assert "no digests, as rgwot 0.1.0 wrote it" in line
    assert said[-1].endswith("outputs cannot be checked")


def test_a_chunk_missing_from_a_store_without_digests_is_told_all_the_same() -> None:
    without_digests()
    (STORES / "b.zarr" / SHARD).unlink()
    assert "b.zarr/conv4c/c/0/0/0/0: damaged feature store, the file is missing" in refused(*train())


# rgwot verify.


def verify(*options: str) -> tuple[int, list[str]]:
    from click.testing import CliRunner

    done = CliRunner().invoke(cli, ["verify", *options])
    assert isinstance(done.exception, SystemExit | None), done.output
    return done.exit_code, done.output.splitlines()


def everything() -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in Path("results").rglob("*") if path.is_file()}


def test_a_sound_tree_is_verified_and_left_alone() -> None:
    before = everything()
    code, said = verify("--repair", "--sources")
    assert code == 0
    assert said[-1].endswith("files checked, 0 broken")
    assert len(said) == 1
    assert everything() == before


HARMED = {
    STORES / "a.zarr" / SHARD: {STORES / "a.zarr", STORES / "index.csv"},
    STORES / "b.zarr" / "time_s/zarr.json": {STORES / "b.zarr", STORES / "index.csv"},
    MODEL: {MODEL, MODEL.with_name("history.csv"), MODEL.with_name("machine.json")},
    MODEL.with_name("history.csv"): {MODEL, MODEL.with_name("history.csv"), MODEL.with_name("machine.json")},
    EMBEDDINGS / CHUNK: {EMBEDDINGS},
    KEYSTEPS / "order.csv": {KEYSTEPS / f"{n}.csv" for n in ("segments", "order", "procedures", "deviations")}
    | {KEYSTEPS / "procedure.json", KEYSTEPS / "diagnostics.json"},
    ANNOTATIONS: {ANNOTATIONS},
    SCORES: {SCORES},
}


@pytest.mark.parametrize("path", list(HARMED), ids=str)
@pytest.mark.parametrize("how", [flip, Path.unlink], ids=["flip", "delete"])
def test_verify_names_what_is_broken_and_repair_removes_that_alone(path: Path, how: Callable[[Path], None]) -> None:
    alone = how is Path.unlink and HARMED[path] == {path}
    before = everything()
    how(path)
    code, said = verify()
    if alone:
        # An output that is gone as a whole was removed by somebody, and the next run makes it again.
        assert (code, len(said)) == (0, 1)
        return
    assert code == 1
    (line,) = [line for line in said if line.startswith("broken: ")]
    assert line.startswith(f"broken: {path}: ")
    assert "make it anew: snakemake --force " in line
    assert everything() == {**before, str(path): path.read_bytes()} if path.exists() else True
    code, said = verify("--repair")
    removed = {line.removeprefix("removed: ") for line in said if line.startswith("removed: ")}
    assert code == 0
    assert removed == {str(one) for one in HARMED[path]} - ({str(path)} if how is Path.unlink else set())
    assert not any(one.exists() for one in HARMED[path])
    assert verify()[0] == 0
    left = everything()
    assert left == {name: before[name] for name in left}


def test_verify_reads_sources_as_a_whole_when_asked_to() -> None:
    flip(Path("videos/tea/a.mp4"))
    assert verify()[0] == 0
    code, said = verify("--sources")
    assert code == 1
    assert len([line for line in said if line.startswith("changed source: videos/tea/a.mp4: found ")]) == 3
    assert "3 sources changed" in said[-1]  # of the store, the manifest, and the annotations made with it
    verify("--sources", "--repair")
    assert not (STORES / "a.zarr").exists()
    assert (STORES / "b.zarr").exists()


def test_verify_of_no_folder_is_told() -> None:
    assert "nowhere: no such folder" in refused("verify", "nowhere")


# What the store and the manifest say of their sources.


def test_store_and_manifest_hold_size_and_digest_of_their_sources() -> None:
    import csv
    import hashlib

    content = Path("videos/tea/a.mp4").read_bytes()
    attributes = dict(zarr.open_group(STORES / "a.zarr", mode="r").attrs)
    assert attributes["source_bytes"] == len(content)
    # A clip of less than three megabytes is looked at as a whole.
    assert attributes["source_sha256"] == attributes["source_parts_sha256"] == hashlib.sha256(content).hexdigest()
    with MANIFEST.open(newline="", encoding="utf-8") as file:
        row = next(iter(csv.DictReader(file)))
    annotation = Path("videos/tea/a.csv").read_bytes()
    assert (row["bytes"], row["parts_sha256"]) == (str(len(content)), hashlib.sha256(content).hexdigest())
    assert row["annotation_bytes"] == str(len(annotation))
    assert row["annotation_parts_sha256"] == hashlib.sha256(annotation).hexdigest()


# Cells that a spreadsheet would run.


@pytest.mark.parametrize("name", ["=1+1", "+x", "-x", "@x", "'=1+1", "'x", "\tx", "plain"])
def test_names_are_no_formulas_in_csv_and_are_read_back_as_they_are(name: str) -> None:
    import pandas as pd

    from rgwot.records import read_annotations

    for clip in "ab":
        quoted = f"1 {name}".replace('"', '""')
        Path(f"videos/tea/{clip}.csv").write_text(f'0.2,0.8,"{quoted}"\n', encoding="utf-8")
    manifest()
    written = pd.read_csv(ANNOTATIONS, dtype=str, keep_default_na=False)["name"][0]
    assert not written.startswith(("=", "+", "-", "@", "\t"))
    assert read_annotations(ANNOTATIONS)["name"][0] == name.strip()
