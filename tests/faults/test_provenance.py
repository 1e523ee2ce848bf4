"""Every result has a record of its origin, and the record does not change the result."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from scripted import run_script

from rgwot import __version__
from rgwot.runtime import provenance
from rgwot.runtime.provenance import record_path

MANIFEST = (
    "video,name,path,annotation,duration_s,fps,width,height,status,reason\na,a,a.mp4,,6.0,30,96,64,unscored,none\n"
)


def decoded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run the trivial decoder of the workflow on a manifest of one video and return its output."""
    (folder / "m.csv").write_text(MANIFEST, encoding="utf-8")
    monkeypatch.chdir(folder)
    run_script(
        "decode_trivial",
        input={"annotations": [], "manifest": "m.csv"},
        output={"segments": "out/segments.csv"},
        wildcards={"method": "none", "decoder": "uniform", "seed": 4},
        config={"decode": {"K": 3}},
    )
    return folder / "out/segments.csv"


def test_a_job_leaves_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(provenance.REVISION, raising=False)
    path = record_path(decoded(tmp_path, monkeypatch))
    content = json.loads(path.read_text(encoding="utf-8"))
    assert (content["verb"], content["seed"], content["rgwot"]) == ("decode", 4, __version__)
    assert content["settings"]["decode"]["K"] == 3
    # Settings are resolved: defaults are recorded, too.
    assert content["settings"]["evaluation"]["stride"] == 2
    assert content["input"] == ["m.csv"]
    assert all(content["packages"][name] for name in ("numpy", "torch", "zarr", "snakemake"))
    assert content["revision"] == provenance.revision(Path(__file__).parent)


def test_a_failed_job_leaves_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rgwot.stages.decode.decode_trivial", lambda *_, **__: 1 / 0)
    with pytest.raises(SystemExit):
        decoded(tmp_path, monkeypatch)
    assert not list(tmp_path.rglob("*provenance*"))


def test_the_revision_shows_changed_files(tmp_path: Path) -> None:
    assert provenance.revision(tmp_path / "nowhere") == ""

    def git(*words: str) -> str:
        # Remove variables of Git, which the user or a hook of a repository may have set.
        clean = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        author = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        done = subprocess.run(
            ["git", "-C", tmp_path, *author, *words], capture_output=True, text=True, check=True, env=clean
        )
        return done.stdout.strip()

    git("init", "--quiet")
    (tmp_path / "a").write_text("one")
    git("add", "a")
    git("commit", "--quiet", "--message", "one")
    commit = git("rev-parse", "HEAD")
    assert provenance.revision(tmp_path) == commit
    (tmp_path / "a").write_text("two")
    assert provenance.revision(tmp_path) == f"{commit}-dirty"
