"""Inputs of a run: settings saved by various editors, folders that cannot be written to, and changed sources."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from checkouts import ALL_TASKS, SMALL, SNAKEMAKE, Checkout, Said, run
from machine import touch_bytes
from videos import write_video

from rgwot.config.configuration import read_file
from rgwot.runtime.errors import RgwotError

MANIFEST = "results/manifest/own/tea.csv"
INDEX = "results/features/own/tea/index.csv"
OWN = "datasets: {own: {layout: folder, root: videos}}\nfeatures: {fps: 5, size: 32}\n"


def own_videos(fresh: Checkout) -> Checkout:
    """Put two clips with annotations into a checkout."""
    folder = fresh.path / "videos/tea"
    folder.mkdir(parents=True)
    for name, frames in (("a", 40), ("b", 50)):
        first = 0 if name == "a" else 60
        write_video(folder / f"{name}.mp4", frames, first=first)
        # A player shows the first frame at first / 30 seconds.
        (folder / f"{name}.csv").write_text(f'{first / 30 + 0.2},{first / 30 + 0.8},"1 pour"\n', encoding="utf-8")
    (fresh.path / "own.yaml").write_text(OWN, encoding="utf-8")
    return fresh


def snakemake(
    checkout: Checkout, *words: str, environment: dict[str, str] | None = None, before: Sequence[str] = ()
) -> Said:
    """Run `snakemake` with these arguments alone; it may fail before it reads a Snakefile."""
    if environment is None and not before:
        return run([*SNAKEMAKE, "--cores", "1", *words], checkout.path)
    done = subprocess.run(
        [*before, *SNAKEMAKE, "--cores", "1", *words],
        cwd=checkout.path,
        env={**os.environ, "OMP_NUM_THREADS": "1", **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=3600,
    )
    return Said(done.returncode, done.stdout + done.stderr)


# Files of settings that cannot be read.

BAD_FILES: dict[str, tuple[bytes, str]] = {
    "UTF-16": ("seeds: [0]\n".encode("utf-16"), "'utf-8' codec can't decode byte 0xff in position 0"),
    "empty": (b"", "empty; expected keys and values as in config.yaml"),
    "tab": (b"ot:\n\talpha: 0.5\n", "line 2: not valid YAML (found character '\\t' that cannot start any token)"),
    "a list": (b"- seeds\n", "holds list; expected keys and values"),
}


@pytest.mark.parametrize("kind", list(BAD_FILES))
def test_a_bad_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    content, told = BAD_FILES[kind]
    monkeypatch.chdir(tmp_path)
    Path("config.yaml").write_bytes(content)
    with pytest.raises(RgwotError, match=re.escape(f"config.yaml: {told}")):
        read_file(Path("config.yaml"))


def test_a_bad_config_yaml_ends_the_run(fresh: Checkout) -> None:
    content, told = BAD_FILES["tab"]
    (fresh.path / "config.yaml").write_bytes(content)
    assert snakemake(fresh, "-n").mistake.startswith(f"rgwot: config.yaml: {told}")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--configfile", SMALL, "dataset.yaml"), "configuration: datasets.demo.settings: ot.r: "),
        (("--config", "ot={alpha: 3}"), "configuration: ot.alpha: "),
    ],
)
def test_a_wrong_value_is_refused_with_its_key(fresh: Checkout, words: tuple[str, ...], message: str) -> None:
    (fresh.path / "dataset.yaml").write_text("datasets: {demo: {settings: {ot: {r: 7}}}}", encoding="utf-8")
    assert snakemake(fresh, "-n", *words, "--", "results/tables/demo.csv").mistake.startswith(f"rgwot: {message}")


# Names in a shell without UTF-8.


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS reads names as UTF-8 in every session")
def test_a_name_in_utf_8_is_not_blamed_for_the_shell(fresh: Checkout) -> None:
    own_videos(fresh)
    (fresh.path / "videos/tea/a.mp4").rename(fresh.path / "videos/tea/na\u00efve.mp4")
    words = ("-n", "--quiet", "rules", "--configfile", SMALL, ALL_TASKS, "own.yaml", "--", INDEX)
    output = snakemake(fresh, *words, environment={"LC_ALL": "C", "PYTHONUTF8": "0"})
    assert "not UTF-8" not in output.mistake
    assert "is UTF-8, but this session reads names as ascii (LC_ALL=C, PYTHONUTF8=0)" in output.mistake
    assert "set LC_ALL=C.UTF-8" in output.mistake
    assert snakemake(fresh, *words, environment={"LC_ALL": "C.UTF-8"}).jobs["extract"] == 1


def test_a_name_that_is_not_utf_8_is_still_refused(tmp_path: Path) -> None:
    from rgwot.datasets.finding import find

    (tmp_path / "tea").mkdir()
    touch_bytes(tmp_path / "tea", b"\xff.mp4")
    (tmp_path / "tea/b.mp4").touch()
    with pytest.raises(RgwotError, match="is not UTF-8; expected a readable name; rename it"):
        find("own", "folder", tmp_path).of("tea")


# Sources.


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Return a checkout with two videos of a user, their manifest and their features."""
    checkout = own_videos(Checkout.copied_to(tmp_path_factory.mktemp("sources") / "checkout"))
    for path in (checkout.path / "videos/tea").iterdir():
        # Data is usually much older than results.
        os.utime(path, (10**9, 10**9))
    output = checkout.snakemake(MANIFEST, INDEX, more=["own.yaml"])
    assert output.returncode == 0, output.text
    return checkout


@pytest.fixture
def tree(finished: Checkout, tmp_path: Path) -> Checkout:
    """Return a copy of the finished checkout with all its time stamps."""
    subprocess.run(["cp", "-a", finished.path, tmp_path / "checkout"], check=True)
    return Checkout(tmp_path / "checkout")


def plan(checkout: Checkout) -> Said:
    return checkout.plan(MANIFEST, INDEX, more=["own.yaml"])


def everything(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return time and content of all files of a dataset and of results."""
    files = (path for part in ("videos", "results") for path in (folder / part).rglob("*") if path.is_file())
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def test_what_is_replaced_by_an_older_file_is_made_again_and_a_plan_writes_nothing(tree: Checkout) -> None:
    annotation = tree.path / "videos/tea/b.csv"
    annotation.write_bytes(annotation.read_bytes().replace(b"2.8", b"2.9"))
    os.utime(annotation, (9 * 10**8, 9 * 10**8))
    assert plan(tree).jobs == {"manifest": 1}
    write_video(tree.path / "videos/tea/a.mp4", 45)
    os.utime(tree.path / "videos/tea/a.mp4", (9 * 10**8, 9 * 10**8))
    before = everything(tree.path)
    assert plan(tree).jobs == {"extract": 1, "manifest": 1, "index": 1}
    assert everything(tree.path) == before
    # A run brings all outputs up to date.
    assert tree.snakemake(MANIFEST, INDEX, more=["own.yaml"]).returncode == 0
    assert plan(tree).jobs == {}
    assert "0.9" in (tree.path / "results/annotations/own/tea.csv").read_text(encoding="utf-8")


def test_two_videos_that_were_swapped_by_renaming_are_noticed(tree: Checkout) -> None:
    one, two = (tree.path / f"videos/tea/{name}.mp4" for name in "ab")
    one.rename(one.with_name("x"))
    two.rename(one)
    one.with_name("x").rename(two)
    assert plan(tree).jobs == {"extract": 1, "manifest": 1, "index": 1}
