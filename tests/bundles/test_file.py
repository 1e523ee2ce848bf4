"""A changed or damaged bundle is refused in one line, and nothing is written."""

from __future__ import annotations

import hashlib
import io
import json
import re
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from studies import FEATURES, SMALL, Study
from with_defaults import load_backbone

from rgwot.bundles.apply import ApplyOptions, apply_bundle
from rgwot.bundles.file import read_bundle
from rgwot.bundles.make import make_bundle
from rgwot.cli import cli
from rgwot.embedding.settings import Pooled, Whitened
from rgwot.features.extract import extract
from rgwot.keysteps.settings import Graphcut, Kmeans
from rgwot.paths import EMBEDDINGS, Run
from rgwot.records import read_deviations
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.provenance import record_path
from rgwot.study.refusals import check_rule

Results = Callable[..., tuple[Path, Path]]


def contents(bundle: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(bundle) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def sealed(path: Path, parts: dict[str, bytes], kind: int = zipfile.ZIP_STORED) -> Path:
    """Write parts with a valid seal, and the digests that the manifest contains."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", kind) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
        archive.comment = b"0" * 64
    content = written.getvalue()[:-64]
    path.write_bytes(content + hashlib.sha256(content).hexdigest().encode())
    return path


def rewritten(bundle: Path, path: Path, changes: dict[str, Any] | None = None, **parts: bytes) -> Path:
    """Rewrite a bundle with a valid seal and ``changes`` to its manifest."""
    found = contents(bundle)
    found |= {name.replace("_", "."): part for name, part in parts.items()}
    manifest = json.loads(found["manifest.json"]) | (changes or {})
    for name, part in found.items():
        if name in manifest["parts"]:
            manifest["parts"][name] = {"bytes": len(part), "sha256": hashlib.sha256(part).hexdigest()}
    return sealed(path, {**found, "manifest.json": json.dumps(manifest).encode()})


@pytest.fixture(scope="session")
def bundle(results: Results) -> Path:
    return results("rgwot", "graphcut", ("v3", "v4"))[1]


def refused(path: Path, study: Study, tmp_path: Path) -> str:
    """Return the message about a bundle, and check that nothing was written."""
    with pytest.raises(RgwotError) as caught:
        apply_bundle(path, [study.index.parent / "v3.zarr"], tmp_path / "out")
    assert not (tmp_path / "out").exists()
    said = str(caught.value)
    assert "\n" not in said
    assert said.startswith(f"{path}: ")
    return said


def test_every_changed_byte_is_noticed_and_every_missing_one(study: Study, bundle: Path, tmp_path: Path) -> None:
    whole = bundle.read_bytes()
    path = tmp_path / "changed.rgwot"
    places = {0, 1, 30, len(whole) - 1, len(whole) - 64, len(whole) - 66, len(whole) - 80, len(whole) // 2}
    for place in sorted(places | {int(at) for at in np.linspace(100, len(whole) - 2, 60)}):
        changed = bytearray(whole)
        changed[place] ^= 1
        path.write_bytes(changed)
        assert "copy it again" in refused(path, study, tmp_path)
    for size in (0, 10, 1000, -1, -64, -100):
        path.write_bytes(whole[:size])
        assert "copy it again" in refused(path, study, tmp_path)


def test_another_version_is_named(study: Study, bundle: Path, tmp_path: Path) -> None:
    path = rewritten(bundle, tmp_path / "new.rgwot", {"format_version": 1, "rgwot_version": "0.1.9", "more": {}})
    message = refused(path, study, tmp_path)
    assert "found a bundle of format 1, expected format 2" in message
    assert "make it again (rgwot run results/bundles/METHOD/DECODER/DATASET/TASK/seedN.rgwot)" in message
    assert "the version 0.1.9 of rgwot" in message


def test_a_missing_and_a_packed_part_are_refused(study: Study, bundle: Path, tmp_path: Path) -> None:
    parts = contents(bundle)
    without = {name: part for name, part in parts.items() if name != "decoder.npz"}
    assert "not a bundle" in refused(sealed(tmp_path / "a.rgwot", without), study, tmp_path)
    packed = sealed(tmp_path / "d.rgwot", parts, zipfile.ZIP_DEFLATED)
    assert "compressed" in refused(packed, study, tmp_path)


@contextmanager
def little_memory(megabytes: int) -> Iterator[None]:
    """Check that Python never allocates more than ``megabytes``."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < megabytes * 2**20
    finally:
        tracemalloc.stop()


SPACES = b" " * 200_000_000


@pytest.mark.parametrize("honest", [True, False])
def test_nothing_is_unpacked_before_seal_and_size_are_checked(
    study: Study, bundle: Path, tmp_path: Path, honest: bool
) -> None:
    parts = contents(bundle)
    path = sealed(
        tmp_path / "a.rgwot", {**parts, "manifest.json": parts["manifest.json"] + SPACES}, zipfile.ZIP_DEFLATED
    )
    assert path.stat().st_size < 3_000_000
    if not honest:
        path.write_bytes(path.read_bytes()[:-1] + b"x")
    with little_memory(50):
        assert ("found manifest.json compressed" if honest else "changed since") in refused(path, study, tmp_path)


def test_parts_that_share_their_bytes_are_not_multiplied(study: Study, bundle: Path, tmp_path: Path) -> None:
    # The directory of the archive has fifty entries that all point to one member.
    parts = contents(bundle)
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
        first = archive.getinfo("model.pt")
        for number in range(50):
            again = copy(first)
            again.filename = f"part{number}"
            archive.filelist.append(again)
        archive.comment = b"0" * 64
    content = written.getvalue()[:-64]
    path = tmp_path / "a.rgwot"
    path.write_bytes(content + hashlib.sha256(content).hexdigest().encode())
    assert re.search(
        rf"\d+ bytes of content in a file of {path.stat().st_size}, expected fewer", refused(path, study, tmp_path)
    )


@pytest.mark.parametrize("part", ["decoder.npz", "model.pt"])
def test_packed_arrays_and_models_are_refused(study: Study, bundle: Path, tmp_path: Path, part: str) -> None:
    written, source = io.BytesIO(), zipfile.ZipFile(io.BytesIO(contents(bundle)[part]))
    with source, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in source.namelist():
            archive.writestr(name, source.read(name))
        archive.writestr("more.npy", SPACES)
    path = rewritten(bundle, tmp_path / "a.rgwot", **{part.replace(".", "_"): written.getvalue()})
    with little_memory(50):
        assert re.search(rf"{part}: found .* compressed", refused(path, study, tmp_path))


def test_an_array_that_no_memory_holds_is_refused(study: Study, bundle: Path, tmp_path: Path) -> None:
    written, header = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array_header_2_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**13,)})
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("centres.npy", header.getvalue())
    path = rewritten(bundle, tmp_path / "a.rgwot", decoder_npz=written.getvalue())
    assert "decoder.npz: found no readable arrays" in refused(path, study, tmp_path)


@pytest.mark.parametrize("part", ["manifest.json", "procedure.json"])
def test_brackets_without_end_are_refused(study: Study, bundle: Path, tmp_path: Path, part: str) -> None:
    parts = contents(bundle)
    if part == "manifest.json":
        path = sealed(tmp_path / "a.rgwot", {**parts, part: b"[" * 200_000})
    else:
        path = rewritten(bundle, tmp_path / "a.rgwot", procedure_json=b"[" * 200_000)
    assert refused(path, study, tmp_path).count("\n") <= 1


def test_many_empty_members_are_refused(study: Study, bundle: Path, tmp_path: Path) -> None:
    path = sealed(tmp_path / "a.rgwot", {**contents(bundle), **{f"p{number}": b"" for number in range(20_000)}})
    assert "members, expected at most 1000" in refused(path, study, tmp_path)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"channels": 20_000}, "the architecture has the shape"),
        ({"hidden": 10**6}, "the architecture has the shape"),
        ({"D": 10**7}, "the architecture has the shape"),
        ({"c": 10**9}, "a context of 1000000000 frames; expected at most 1000"),
    ],
)
def test_an_architecture_that_does_not_fit_its_weights_takes_no_memory(
    study: Study, results: Results, tmp_path: Path, changes: dict[str, int], words: str
) -> None:
    _, trained = results("rgwot", "graphcut")
    model = torch.load(io.BytesIO(contents(trained)["model.pt"]), weights_only=True)
    model["architecture"] |= changes
    written = io.BytesIO()
    torch.save(model, written)
    path = rewritten(trained, tmp_path / "a.rgwot", model_pt=written.getvalue())
    with little_memory(50):
        assert words in refused(path, study, tmp_path)


def changed_arrays(bundle: Path, path: Path, part: str, changes: dict[str, Any]) -> Path:
    """Rewrite a bundle with changes to some arrays of a part."""
    with np.load(io.BytesIO(contents(bundle)[part])) as content:
        arrays = {name: content[name] for name in content.files}
    written = io.BytesIO()
    made = {name: change(arrays[name]) if callable(change) else change for name, change in changes.items()}
    np.savez(written, **{**arrays, **made})
    return rewritten(bundle, path, **{part.replace(".", "_"): written.getvalue()})


@pytest.mark.parametrize(
    ("result", "part", "changes", "words"),
    [
        (("whitened", "meanfield"), "decoder.npz", {"centres": lambda x: x * np.nan}, "'centres' has values that"),
        (("whitened", "meanfield"), "decoder.npz", {"centres": lambda x: x * np.inf}, "centres are not finite"),
        (("whitened", "meanfield"), "embedding.npz", {"basis": lambda x: x * np.inf}, "'basis' has values that"),
        (("whitened", "meanfield"), "embedding.npz", {"basis": lambda x: x * 1j}, "'basis' has values that"),
        (("whitened", "meanfield"), "likeness.npz", {"mean": np.array(["x"] * 112)}, "'mean' has values that"),
        (("whitened", "meanfield"), "likeness.npz", {"usual": np.array(0.0)}, "usual is not above 0"),
        (("whitened", "meanfield"), "likeness.npz", {"usual": np.array(np.inf)}, "not all numbers are finite"),
        (("whitened", "meanfield"), "likeness.npz", {"nearly_all": np.array(-1.0)}, "nearly_all is not above 0"),
        (("whitened", "meanfield"), "likeness.npz", {"scale": lambda x: 0 * x}, "scale is not above 0"),
        (("whitened", "meanfield"), "likeness.npz", {"mean": lambda x: x[:5]}, "mean of shape (5,), expected (112,)"),
        (("whitened", "meanfield"), "likeness.npz", {"samples": lambda x: x[:0]}, "no samples"),
        (("whitened", "meanfield"), "likeness.npz", {"samples": lambda x: x[0]}, "samples of shape (112,)"),
        (("whitened", "meanfield"), "decoder.npz", {"centres": np.zeros((10**6, 6))}, "1000000 centres, expected"),
        (("whitened", "meanfield"), "decoder.npz", {"centres": np.zeros((3, 7))}, "its parts do not fit whitened/"),
        (("whitened", "meanfield"), "decoder.npz", {"numbers": np.zeros(3, np.int64)}, "numbers are not 0 to 2"),
        (("whitened", "meanfield"), "embedding.npz", {"mean": np.zeros(0)}, "its parts do not fit whitened/meanfield"),
        (("raw", "graphcut"), "decoder.npz", {"m": np.array(np.nan)}, "'m' has values that are not finite numbers"),
        (("raw", "graphcut"), "decoder.npz", {"m": np.array(1.0)}, "m 1, expected above 1"),
        (("rgwot-plus", "consensus"), "decoder.npz", {"clusters": np.array([-1, 5, 4, 4])}, "clusters do not add up"),
        (("rgwot-plus", "consensus"), "decoder.npz", {"clusters": np.full(4, 10**9)}, "clusters do not add up"),
    ],
)  # fmt: skip
def test_arrays_that_do_not_fit_are_refused(
    study: Study,
    results: Results,
    tmp_path: Path,
    result: tuple[str, str],
    part: str,
    changes: dict[str, Any],
    words: str,
) -> None:
    path = changed_arrays(results(*result, ("v3", "v4"))[1], tmp_path / "a.rgwot", part, changes)
    with little_memory(200), pytest.raises(RgwotError) as caught:
        apply_bundle(path, [study.index.parent / "v3.zarr"], tmp_path / "out")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")
    assert not (tmp_path / "out/results").exists()


@pytest.mark.parametrize(("key", "value"), [("size", 200_000), ("fps", 1e8)])
def test_features_that_nobody_can_make_are_refused(
    study: Study, bundle: Path, tmp_path: Path, key: str, value: float
) -> None:
    features = json.loads(contents(bundle)["manifest.json"])["features"]
    features["attributes"][key] = value
    path = rewritten(bundle, tmp_path / "a.rgwot", {"features": features})
    with pytest.raises(RgwotError, match=f"{key}"):
        apply_bundle(path, [study.videos["v0"]], tmp_path / "out", ApplyOptions(device="cpu"))


class Evil:
    """An object that runs code when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path("/tmp/rgwot_evil"),)


def test_pickled_objects_are_never_loaded(study: Study, bundle: Path, tmp_path: Path) -> None:
    written = io.BytesIO()
    np.savez(written, centres=np.array([Evil()], dtype=object))
    path = rewritten(bundle, tmp_path / "a.rgwot", decoder_npz=written.getvalue())
    assert "no readable arrays without pickled objects" in refused(path, study, tmp_path)
    written = io.BytesIO()
    torch.save({"encoder": Evil()}, written)
    path = rewritten(bundle, tmp_path / "b.rgwot", model_pt=written.getvalue())
    assert "pickled Python objects" in refused(path, study, tmp_path)
    assert not Path("/tmp/rgwot_evil").exists()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"K": 10**9}, "K"),
        ({"seed": 10**400}, "seed"),
        ({"settings": {"meanfield": {"inner": 10**9}}, "decoder": "meanfield"}, "meanfield.inner"),
        ({"surplus": 10**9}, "surplus"),
        ({"features_fps": 1e8}, "features_fps"),
        ({"task": "../../../outside"}, "task"),
        ({"K": "many"}, "K"),
        ({"anything": 1}, "anything"),
        ({"names": {"1": "\x1b[2J"}}, "names"),
        ({"method": "rgwott"}, "unknown here; load its extension; did you mean 'rgwot'"),
        ({"decoder": "uniform"}, "lacks a part that rgwot/uniform/seed0 needs"),
        ({"decoder": "viterbi"}, "lacks a part that rgwot/viterbi/seed0 needs"),
        ({"settings": {"graphcut": {"metric": "none"}}}, "graphcut.metric"),
    ],
)
def test_a_manifest_that_says_something_else_is_refused(
    study: Study, bundle: Path, tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    assert words in refused(rewritten(bundle, tmp_path / "other.rgwot", changes), study, tmp_path)


def test_files_that_are_not_bundles_are_refused(study: Study, tmp_path: Path) -> None:
    assert "no such file" in refused(tmp_path / "none.rgwot", study, tmp_path)
    assert "not a bundle" in refused(study.videos["v0"], study, tmp_path)


def test_the_same_result_gives_the_same_bytes(study: Study, results: Results, tmp_path: Path) -> None:
    _, bundle = results("raw", "kmeans")
    again = study.result("raw", "kmeans")[1]
    assert again.read_bytes() == bundle.read_bytes()


def test_weights_of_another_network_are_refused_before_a_video_is_decoded(
    study: Study, bundle: Path, tmp_path: Path
) -> None:
    path = tmp_path / "other.pth"
    torch.save(load_backbone("random", 1, name=FEATURES.backbone).network.state_dict(), path)
    with pytest.raises(RgwotError, match=r"differ from those of .* expected .*--weights PATH"):
        apply_bundle(bundle, [study.videos["v3"]], tmp_path / "out", ApplyOptions(weights=str(path), device="cpu"))
    torch.save(load_backbone("random", 0, name=FEATURES.backbone).network.state_dict(), path)
    (found,) = apply_bundle(
        bundle, [study.videos["v3"]], tmp_path / "out", ApplyOptions(weights=str(path), device="cpu")
    )
    assert found.video == "v3"


def test_features_of_another_kind_are_refused(study: Study, bundle: Path, tmp_path: Path) -> None:
    other = tmp_path / "v3.zarr"
    extract(study.videos["v3"], other, FEATURES.model_copy(update={"size": 96}), device="cpu")
    with pytest.raises(RgwotError, match="features with size 96, expected 64 as in"):
        apply_bundle(bundle, [other], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_videos_that_cannot_be_taken_are_named_before_anything_is_made(
    study: Study, bundle: Path, tmp_path: Path
) -> None:
    for sources, words in [
        ([tmp_path / "none.mp4"], "none.mp4: no such file; expected a video"),
        ([study.videos["v0"], study.index.parent / "v0.zarr"], "has the same name as"),
    ]:
        with pytest.raises(RgwotError, match=words):
            apply_bundle(bundle, sources, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_decoder_that_is_registered_without_a_rule_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Kmeans, "RESTORE", "")
    with pytest.raises(RgwotError, match="decoder 'kmeans': cannot label other videos; expected a decoder that can"):
        check_rule("kmeans@K=5")


def test_a_result_that_its_files_do_not_reproduce_gets_no_bundle(study: Study, tmp_path: Path) -> None:
    folder, bundle = study.result("raw", "graphcut")
    table = folder / "segments.csv"
    run = Run("raw", "graphcut", 0)
    common: dict[str, Any] = {
        "index_csv": study.index,
        "embeddings_zarr": study.tree.at(EMBEDDINGS, run),
        "model_path": None,
        "dataset": "tiny",
        "task": "clips",
        "method": Pooled(),
        "rule": Graphcut.of(SMALL),
    }
    before = bundle.read_bytes()
    with pytest.raises(RgwotError, match="does not look at videos"):
        make_bundle(bundle, segments_csv=table, run=Run("none", "uniform", 0), **common)
    other = Whitened(D=3)
    with pytest.raises(RgwotError, match="the stored embedding differs from a new one"):
        make_bundle(bundle, segments_csv=table, run=Run("whitened", "graphcut", 0), **{**common, "method": other})
    table.write_text(table.read_text().replace(",1,True\n", ",9,True\n"))
    with pytest.raises(RgwotError, match="changed since it was written"):
        make_bundle(bundle, segments_csv=table, run=run, **common)
    record_path(table).unlink()
    with pytest.raises(RgwotError, match="its segments differ from those that this version"):
        make_bundle(bundle, segments_csv=table, run=run, **common)
    assert bundle.read_bytes() == before


def test_a_bundle_without_a_usable_procedure_is_refused(study: Study, bundle: Path, tmp_path: Path) -> None:
    manifest = json.loads(contents(bundle)["manifest.json"])
    parts = {name: part for name, part in manifest["parts"].items() if name != "procedure.json"}
    found = contents(bundle)
    del found["procedure.json"]
    found["manifest.json"] = json.dumps({**manifest, "parts": parts}).encode()
    assert "has no procedure" in refused(sealed(tmp_path / "none.rgwot", found), study, tmp_path)
    other = rewritten(bundle, tmp_path / "other.rgwot", procedure_json=b'{"version": 99}')
    assert "procedure.json: procedure: found version 99" in refused(other, study, tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda found: found["nodes"][0].update(key_step=10**18), "its nodes, order and needs differ in key steps"),
        (lambda found: found["nodes"].append(found["nodes"][0]), "its nodes, order and needs differ in key steps"),
        (lambda found: found.update(order=found["order"][1:]), "its nodes, order and needs differ in key steps"),
        (
            lambda found: found.update(edges=found["edges"] * 100_000),
            "its nodes, order and needs differ in key steps",
        ),
        (lambda found: found["nodes"][0].update(share=-3), "nodes.0.share"),
        (lambda found: found["nodes"][0].update(usual_s=float("nan")), "nodes.0.usual_s"),
        (lambda found: found["nodes"][0].update(duration_s=float("inf")), "nodes.0.duration_s"),
        (lambda found: found["edges"][0].update(confidence=7), "edges.0.confidence"),
        (
            lambda found: found.update(nodes=[], edges=[], needs=[], order=[9]),
            "its nodes, order and needs differ",
        ),
        (
            lambda found: found.update(
                nodes=[{**found["nodes"][0], "key_step": step} for step in range(1, 3001)], order=list(range(1, 3001))
            ),
            "has key step 3000, expected at most 3",
        ),
    ],
)
def test_procedures_that_contradict_themselves_are_refused(
    study: Study, bundle: Path, tmp_path: Path, change: Callable[[dict[str, Any]], object], words: str
) -> None:
    found = json.loads(contents(bundle)["procedure.json"])
    change(found)
    path = rewritten(bundle, tmp_path / "a.rgwot", procedure_json=json.dumps(found).encode())
    assert words in refused(path, study, tmp_path)


def test_the_command_line(study: Study, bundle: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    invoked = CliRunner().invoke(
        cli, ["apply", str(bundle), str(study.videos["v3"]), "--output", str(out), "--device", "cpu"]
    )
    assert invoked.exit_code == 0, invoked.output
    assert "v3: " in invoked.output
    rows = [line.split()[:2] for line in invoked.output.splitlines() if line.startswith("v3 ")]
    steps = read_deviations(out / "deviations.csv")["key_step"]
    assert sorted(rows) == sorted(["v3", str(step)] for step in steps)
    assert ("No deviation was found." in invoked.output) is steps.empty
    assert f"{out / 'page.html'}: open it in a browser" in invoked.output
    assert {path.name for path in out.iterdir()} == {
        "features", "results", "page.html", "page.csv",
        "segments.csv", "order.csv", "deviations.csv", "diagnostics.json",
    }  # fmt: skip
    assert read_bundle(bundle).facts.run == Run("rgwot", "graphcut", 0)
