"""Changes of finished files are noticed by checksums in stores and models, and by `rgwot verify`."""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scripted import READING, run_script
from videos import write_video

from rgwot import paths
from rgwot.cli import cli
from rgwot.datasets.settings import ImportSettings
from rgwot.features.importing import import_video
from rgwot.paths import Run, Tree, name_of
from rgwot.reporting.page.render import write_page
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.provenance import differences
from rgwot.stages.procedure import read_procedure
from rgwot.study.datasets import manifest_entry
from rgwot.study.study import Study

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
DATASETS = {"datasets": {"own": {"layout": "folder", "root": "videos"}}}
FRAMES, CHUNK = Path("conv4c/c.0.0.0.0"), Path("embedding/c.0.0")


def refused(run: Callable[..., None], *arguments: object) -> str:
    """Run a stage that should refuse its input; return its message, a single line."""
    with pytest.raises(RgwotError) as told:
        run(*arguments)
    assert "\n" not in str(told.value)
    return str(told.value)


def script(name: str, *, config: dict[str, Any] | None = None, **parts: Any) -> None:
    ids = {"method": "rgwot", "decoder": "kmeans", "seed": 0, **parts.pop("wildcards", {})}
    run_script(name, wildcards=ids, config={"device": "cpu", **(config or {})}, **parts)


def manifest() -> None:
    entry = manifest_entry(Study.of(DATASETS), "own")
    script("manifest", output={"manifest": MANIFEST, "annotations": ANNOTATIONS}, params={"entry": entry})


def extract(name: str, output: Path | None = None, weights: str = "random") -> None:
    settings = {"features": {**FEATURES["features"], "weights": weights}, **READING}
    params = {"videos": {name: f"videos/tea/{name}.mp4"}, "settings": settings}
    store = output or STORES / f"{name}.zarr"
    script("extract", output=[store], params=params, wildcards={"video": name})


def index() -> None:
    script("index", input=[STORES / "a.zarr", STORES / "b.zarr"], output=[STORES / "index.csv"])


def train(model: Path = MODEL.parent.parent / "seed1" / "model.pt") -> None:
    files = {"model": model, "history": model.with_name("history.csv"), "machine": model.with_name("machine.json")}
    script("train", input={"index": STORES / "index.csv"}, output=files, config=TRAINING)


def embed(output: Path = Path("e.zarr")) -> None:
    script("embed", input={"index": STORES / "index.csv", "model": MODEL}, output=[output])


def decode(folder: Path = Path("k")) -> None:
    files = {Path(file).stem: folder / name_of(file) for file in paths.KEYSTEPS}
    settings = {"decode": {"K": 2}}
    script(
        "decode",
        input={"embeddings": EMBEDDINGS, "annotations": []},
        output=files,
        params={"alone": True, "expected": []},
        config=settings,
    )


def evaluate(output: Path = Path("s.csv")) -> None:
    files = {Path(file).stem: KEYSTEPS / name_of(file) for file in paths.KEYSTEPS}
    files |= {"manifest": MANIFEST, "annotations": ANNOTATIONS, "graph": []}
    script("evaluate", input=files, output=[output], params={"key_steps": None})


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two clips and everything that the stages make of them."""
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
        index()
        train(MODEL)
        embed(EMBEDDINGS)
        decode(KEYSTEPS)
        evaluate(SCORES)
    finally:
        os.chdir(before)
    return folder


@pytest.fixture(autouse=True)
def tree(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Enter a copy of the finished folder, which a test may damage."""
    folder = tmp_path / "tree"
    shutil.copytree(finished, folder)
    monkeypatch.chdir(folder)
    return folder


def flip(path: Path, where: float = 0.5) -> None:
    content = bytearray(path.read_bytes())
    content[int(where * (len(content) - 1))] ^= 1
    path.write_bytes(content)


# Ways in which a chunk may be missing or changed.


DAMAGE: dict[str, Callable[[Path], object]] = {
    "flip": flip,
    "delete": Path.unlink,
    "truncate": lambda path: os.truncate(path, path.stat().st_size // 2),
    "empty": lambda path: os.truncate(path, 0),
}


@pytest.mark.parametrize("verb", [train, embed], ids=["train", "embed"])
@pytest.mark.parametrize("how", list(DAMAGE))
def test_a_damaged_chunk_of_features_is_refused(verb: Callable[[], None], how: str) -> None:
    DAMAGE[how](STORES / "b.zarr" / FRAMES)
    message = refused(verb)
    assert message.startswith(f"{STORES}/b.zarr: damaged feature store, ")
    assert message.endswith(f"make it again: rgwot run --force {STORES}/b.zarr")


# Before rgwot refuses the store, Zarr warns about files that it cannot read.
@pytest.mark.filterwarnings("ignore:Object at conv4c:UserWarning")
@pytest.mark.parametrize("name", ["conv4c/zarr.json", "time_s/c.0"])
@pytest.mark.parametrize("how", ["delete", "truncate", "empty"])
def test_any_other_file_of_a_store_is_checked_when_it_is_opened(name: str, how: str) -> None:
    DAMAGE[how](STORES / "a.zarr" / name)
    assert f"{STORES}/a.zarr: " in refused(index)


# Embeddings.


@pytest.mark.parametrize("how", list(DAMAGE))
@pytest.mark.parametrize("name", [CHUNK, Path("offsets/c.0")], ids=str)
def test_a_damaged_chunk_of_embeddings_is_refused(how: str, name: Path) -> None:
    DAMAGE[how](EMBEDDINGS / name)
    message = refused(decode)
    assert str(EMBEDDINGS) in message
    assert f"make it again: rgwot run --force {EMBEDDINGS}" in message


# Models.


@pytest.mark.parametrize("where", [0.3, 0.5, 0.7])
def test_one_changed_byte_of_a_model_is_refused(where: float) -> None:
    flip(MODEL, where)
    message = refused(embed)
    assert message.startswith(f"{MODEL}: ")
    assert message.endswith(f"make it again: rgwot run --force {MODEL}")


@pytest.mark.parametrize("share", [0, 0.01, 0.5, 0.99])
def test_a_model_cut_short_is_refused_with_its_name(share: float) -> None:
    content = MODEL.read_bytes()
    MODEL.write_bytes(content[: int(share * len(content))])
    message = refused(embed)
    assert message.startswith(f"{MODEL}: ")
    assert "Invalid argument" not in message
    assert f"{int(share * len(content))} bytes" in message


class Runs:
    """A pickle that would leave a file behind."""

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, ("executed",)


@pytest.mark.filterwarnings("ignore:Detected pickle protocol:UserWarning")
@pytest.mark.parametrize(
    ("place", "saved"),
    [*((place, saved) for place in ("model", "features", "backbone") for saved in ("pickle", "torch"))]
    + [("features", "numpy"), ("features", "pickle named .npy")],
)
def test_a_pickle_is_not_executed_and_no_message_advises_it(place: str, saved: str) -> None:
    path = MODEL if place == "model" else Path("other.npy" if saved in ("numpy", "pickle named .npy") else "other.pt")
    if saved.startswith("pickle"):
        path.write_bytes(pickle.dumps(Runs()))
    elif saved == "numpy":
        np.save(path, np.array([Runs()]), allow_pickle=True)
    else:
        torch.save(Runs(), path)
    if place == "model":
        message = refused(embed)
    elif place == "features":
        form = ImportSettings(axes="TC", fps=15)
        message = refused(import_video, "videos/tea/a.mp4", path, "f.zarr", form)
    else:
        message = refused(extract, "a", Path("f.zarr"), str(path))
    assert str(path) in message
    assert "pickled Python objects, which could run code and are never loaded" in message
    assert "weights_only" not in message
    assert "allow_pickle" not in message
    assert not Path("executed").exists()


# Key steps.


def edit() -> None:
    """Give the first segment of a video another key step, as in a spreadsheet."""
    head, first, rest = (KEYSTEPS / "segments.csv").read_text().split("\n", 2)
    cells = first.split(",")
    cells[4] = str(3 - int(cells[4]))
    (KEYSTEPS / "segments.csv").write_text("\n".join([head, ",".join(cells), rest]))


def command(*words: str | Path) -> str:
    """Run a command that should succeed; return what it printed."""
    from click.testing import CliRunner

    done = CliRunner().invoke(cli, list(map(str, words)))
    if done.exception is not None:
        raise done.exception
    return done.output


GROUPED = ("--videos", "groups.csv")
COMMANDS: dict[str, tuple[str | Path, ...]] = {
    **{name: ("export", name, KEYSTEPS, "out") for name in ("csv", "elan", "webvtt", "boris", "eventlog", "clips")},
    "compare": ("compare", KEYSTEPS, "videos/tea"),
    "compare the other way": ("compare", "videos/tea", KEYSTEPS),
    "compare-groups": ("compare-groups", "g.csv", KEYSTEPS, *GROUPED),
    "suggest": ("suggest", KEYSTEPS),
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_an_edited_result_is_refused_by_commands(words: tuple[str | Path, ...]) -> None:
    Path("groups.csv").write_text("video,group\na,x\nb,y\n")
    edit()
    message = refused(command, *words)
    assert f"{KEYSTEPS / 'segments.csv'}: changed since it was written" in message
    assert f"make it again: rgwot run --force {KEYSTEPS / 'segments.csv'}" in message
    assert not any(Path(name).exists() for name in ("out", "g.csv"))


def bars() -> None:
    files = {"manifest": MANIFEST, "annotations": ANNOTATIONS, "segments": [KEYSTEPS / "segments.csv"], "names": []}
    script("segment_bars", input=files, output={"vector": Path("b.pdf")})


def page() -> None:
    write_page(Tree(Path("results"), "own", "tea"), Path("videos"), [Run("rgwot", "kmeans", 0)], "page.html")


@pytest.mark.parametrize("stage", [evaluate, bars, page], ids=["evaluate", "bars", "page"])
def test_an_edited_result_is_refused_by_stages(stage: Callable[[], None]) -> None:
    edit()
    assert f"{KEYSTEPS / 'segments.csv'}: changed since it was written" in refused(stage)


def test_a_procedure_is_learned_from_any_table() -> None:
    command("procedure", KEYSTEPS / "segments.csv", "--output", "same")
    told, learned = (read_procedure(folder / "procedure.json") for folder in (KEYSTEPS, Path("same")))
    assert (told.order, told.edges) == (learned.order, learned.edges)
    edit()
    assert "key step" in command("procedure", KEYSTEPS / "segments.csv", "--output", "learned")


def test_without_a_manifest_a_result_is_exported_by_its_segments(caplog: pytest.LogCaptureFixture) -> None:
    command("export", "csv", KEYSTEPS, "whole")
    MANIFEST.unlink()
    command("export", "csv", KEYSTEPS, "alone")
    assert Path("alone/segments.csv").read_bytes() == Path("whole/segments.csv").read_bytes()
    (said,) = caplog.messages
    assert said.startswith(str(MANIFEST.absolute()))
    assert "again" not in said


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
    code, said = verify()
    assert code == 0
    assert said[-1].endswith("files checked, 0 differ")
    assert len(said) == 1
    assert everything() == before


MADE = {
    STORES / "a.zarr" / FRAMES: STORES / "a.zarr",
    STORES / "b.zarr" / "time_s/zarr.json": STORES / "b.zarr",
    MODEL: MODEL,
    MODEL.with_name("history.csv"): MODEL,
    EMBEDDINGS / CHUNK: EMBEDDINGS,
    KEYSTEPS / "order.csv": KEYSTEPS / "segments.csv",
    ANNOTATIONS: MANIFEST,
    SCORES: SCORES,
}


@pytest.mark.parametrize("path", list(MADE), ids=str)
@pytest.mark.parametrize("how", ["flip", "delete"])
def test_verify_names_what_is_not_as_written_and_how_to_make_it_again(path: Path, how: str) -> None:
    DAMAGE[how](path)
    left = everything()
    code, said = verify()
    assert code == 1
    line, summary = said
    assert line.startswith(f"{path}: ")
    assert line.endswith(f"make it again: rgwot run --force {MADE[path]}")
    assert summary.endswith("files checked, 1 differ")
    assert everything() == left


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"digests": 3}', "[" * 10**5, '{"output": "x"}', "\0", '{"output": 3}']
)
def test_verify_names_a_damaged_record(content: str) -> None:
    record = KEYSTEPS / ".segments.csv.provenance.json"
    record.write_text(content)
    code, said = verify()
    assert code == 1
    assert said[0].startswith(f"{record}: cannot be read")


@pytest.mark.parametrize("digests", ['{"gone.csv": 3}', '{"a\\u0000b": "0"}', '{"..": "0"}'])
def test_verify_refuses_a_strange_record_in_one_line(digests: str) -> None:
    (KEYSTEPS / ".segments.csv.provenance.json").write_text(f'{{"output": "segments.csv", "digests": {digests}}}')
    code, said = verify()
    assert code == 1
    assert len(said) == 2
    assert "expected SHA-256" in said[0]


def test_verify_refuses_a_missing_folder() -> None:
    assert "nowhere: no such folder" in refused(differences, Path("nowhere"))


# Cells that a spreadsheet would run.


@pytest.mark.parametrize("name", ["=1+1", "+x", "-x", "@x", "'=1+1", "'x", "\tx", "plain"])
def test_names_are_not_formulas_in_csv_and_are_read_back_unchanged(name: str) -> None:
    import pandas as pd

    from rgwot.records import read_annotations

    for clip in "ab":
        quoted = f"1 {name}".replace('"', '""')
        Path(f"videos/tea/{clip}.csv").write_text(f'0.2,0.8,"{quoted}"\n', encoding="utf-8")
    manifest()
    written = pd.read_csv(ANNOTATIONS, dtype=str, keep_default_na=False)["name"][0]
    assert not written.startswith(("=", "+", "-", "@", "\t"))
    assert read_annotations(ANNOTATIONS)["name"][0] == name.strip()
