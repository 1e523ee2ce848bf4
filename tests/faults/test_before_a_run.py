"""What a run is given to start with: files of settings as people save them, folders that cannot be written, sources."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from checkouts import ALL_TASKS, SMALL, SNAKEMAKE, Checkout, Said, run
from videos import write_video

from rgwot.runtime.errors import RgwotError

MANIFEST = "results/manifest/own/tea.csv"
INDEX = "results/features/own/tea/index.csv"
OWN = "datasets: {own: {layout: folder, root: videos}}\nfeatures: {fps: 5, size: 32}\n"


def own_videos(fresh: Checkout) -> Checkout:
    """Put two clips with annotations into a checkout."""
    folder = fresh.path / "videos/tea"
    folder.mkdir(parents=True)
    for name, frames in (("a", 40), ("b", 50)):
        write_video(folder / f"{name}.mp4", frames, first=0 if name == "a" else 60)
        (folder / f"{name}.csv").write_text('0.2,0.8,"1 pour"\n', encoding="utf-8")
    (fresh.path / "own.yaml").write_text(OWN, encoding="utf-8")
    return fresh


def snakemake(
    checkout: Checkout, *words: str, environment: dict[str, str] | None = None, before: Sequence[str] = ()
) -> Said:
    """Run `snakemake` with nothing but these words, which may fail before it reads a Snakefile."""
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


# Files of settings.

BAD_FILES: dict[str, tuple[bytes, str]] = {
    "UTF-16": ("seeds: [0]\n".encode("utf-16"), "'utf-8' codec can't decode byte 0xff in position 0"),
    "empty": (b"", "empty; expected keys and values as in config.yaml"),
    "tab": (b"ot:\n\talpha: 0.5\n", "line 2: not valid YAML (found character '\\t' that cannot start any token)"),
    "a list": (b"- seeds\n", "holds list; expected keys and values"),
}


@pytest.mark.parametrize("kind", list(BAD_FILES))
def test_a_bad_file_of_settings_is_named(fresh: Checkout, kind: str) -> None:
    content, told = BAD_FILES[kind]
    (fresh.path / "mine.yaml").write_bytes(content)
    said = snakemake(fresh, "-n", "--configfile", SMALL, "mine.yaml", "--", "results/tables/demo.csv")
    assert said.mistake.startswith(f"rgwot: mine.yaml: {told}")


@pytest.mark.parametrize("kind", ["UTF-16", "empty", "tab"])
@pytest.mark.parametrize("profile", [(), ("--workflow-profile", "none")], ids=["profile", "no profile"])
def test_the_same_in_config_yaml(fresh: Checkout, kind: str, profile: tuple[str, ...]) -> None:
    content, told = BAD_FILES[kind]
    (fresh.path / "config.yaml").write_bytes(content)
    assert snakemake(fresh, "-n", *profile).mistake.startswith(f"rgwot: config.yaml: {told}")


LAYERED = {
    "second file": ((SMALL, "wrong.yaml"), (), "wrong.yaml: ot.alpha: "),
    "first of three": (("wrong.yaml", SMALL, "fine.yaml"), (), "wrong.yaml: ot.alpha: "),
    "overruled": (("wrong.yaml", "worse.yaml"), (), "worse.yaml: ot.alpha: "),
    "settings of a dataset": ((SMALL, "dataset.yaml"), (), "dataset.yaml: datasets.demo.settings: ot.r: "),
    "command line": ((SMALL,), ("--config", "ot={alpha: 3}"), "--config: ot.alpha: "),
    "config.yaml": ((SMALL, "fine.yaml"), (), "config.yaml: ot.alpha: "),
}


@pytest.mark.parametrize("case", list(LAYERED))
def test_a_wrong_value_is_told_with_the_file_it_stands_in(fresh: Checkout, case: str) -> None:
    files, options, told = LAYERED[case]
    for name, text in {
        "wrong": "ot: {alpha: 2}",
        "worse": "ot: {alpha: 3}",
        "fine": "ot: {rho: 0.2}",
        "dataset": "datasets: {demo: {settings: {ot: {r: 7}}}}",
    }.items():
        (fresh.path / f"{name}.yaml").write_text(text, encoding="utf-8")
    if case == "config.yaml":
        path = fresh.path / "config.yaml"
        path.write_text(path.read_text(encoding="utf-8").replace("\n  alpha: 0.3", "\n  alpha: 4"), encoding="utf-8")
    said = snakemake(fresh, "-n", "--configfile", *files, *options, "--", "results/tables/demo.csv")
    assert said.mistake.startswith(f"rgwot: {told}")


# Folders.


def test_a_home_that_cannot_be_made_is_told(fresh: Checkout) -> None:
    (fresh.path / "file").touch()
    home = fresh.path / "file/home"
    environment = {"HOME": str(home), "XDG_CACHE_HOME": ""}
    told = snakemake(fresh, "-n", environment=environment).mistake
    assert told.startswith(f"rgwot: HOME={home}: ")
    assert "cannot be made (Not a directory)" in told
    assert "set HOME or XDG_CACHE_HOME" in told


@pytest.mark.parametrize("folder", ["results", "results/tables", "results/features/demo"])
def test_results_that_cannot_be_written_are_told_before_a_run(
    fresh: Checkout, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    # Whoever runs this may be root, to whom permissions are no obstacle, so the system's answer is given here.
    from rgwot.study.starting import before_snakemake

    (fresh.path / folder).mkdir(parents=True)
    monkeypatch.chdir(fresh.path)
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != Path(folder) and real(path, mode))
    with pytest.raises(SystemExit, match=f"rgwot: {folder}: cannot be written; expected a folder that this user"):
        before_snakemake(["--cores", "1", "results/tables/demo.csv"])
    # A plan writes nothing there.
    before_snakemake(["-n", "results/tables/demo.csv"])
    before_snakemake(["--dry-run"])


def test_results_turned_read_only_are_told(fresh: Checkout) -> None:
    (fresh.path / "results").mkdir()
    (fresh.path / "results").chmod(0o555)
    # Permissions are no obstacle to root, unless it gives this right away.
    without = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    if without and shutil.which("setpriv") is None:
        pytest.skip("running as root, and no setpriv to give its rights away")
    said = snakemake(fresh, "--", "results/tables/demo.csv", before=without)
    assert said.mistake.startswith("rgwot: results: cannot be written; expected a folder that this user may write into")


# Names in a shell without UTF-8.


def test_a_name_in_utf_8_is_not_blamed_for_the_shell(fresh: Checkout) -> None:
    own_videos(fresh)
    (fresh.path / "videos/tea/a.mp4").rename(fresh.path / "videos/tea/na\u00efve.mp4")
    words = ("-n", "--configfile", SMALL, ALL_TASKS, "own.yaml", "--", INDEX)
    said = snakemake(fresh, *words, environment={"LC_ALL": "C", "PYTHONUTF8": "0"})
    assert "not UTF-8" not in said.mistake
    assert "is UTF-8, but this session reads names as ascii (LC_ALL=C, PYTHONUTF8=0)" in said.mistake
    assert "set LC_ALL=C.UTF-8" in said.mistake
    assert snakemake(fresh, *words, environment={"LC_ALL": "C.UTF-8"}).jobs["extract"] == 1


def test_a_name_that_is_no_utf_8_is_told_as_before(tmp_path: Path) -> None:
    from rgwot.datasets.finding import find

    (tmp_path / "tea").mkdir()
    Path(os.fsdecode(os.fsencode(tmp_path / "tea") + b"/\xff.mp4")).touch()
    (tmp_path / "tea/b.mp4").touch()
    with pytest.raises(RgwotError, match="is not UTF-8; expected a readable name; rename it"):
        find("own", "folder", tmp_path).of("tea")


# Sources.


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout with two clips of somebody's own, their manifest and their features."""
    checkout = own_videos(Checkout.copied_to(tmp_path_factory.mktemp("sources") / "checkout"))
    for path in (checkout.path / "videos/tea").iterdir():
        # Long before the results, as data mostly is.
        os.utime(path, (10**9, 10**9))
    said = checkout.snakemake(MANIFEST, INDEX, more=["own.yaml"])
    assert said.returncode == 0, said.text
    return checkout


@pytest.fixture
def tree(made: Checkout, tmp_path: Path) -> Checkout:
    """A copy of it with all its time stamps."""
    subprocess.run(["cp", "-a", made.path, tmp_path / "checkout"], check=True)
    return Checkout(tmp_path / "checkout")


def plan(checkout: Checkout) -> Said:
    return checkout.plan(MANIFEST, INDEX, more=["own.yaml"])


def told(said: Said) -> list[str]:
    return [line for line in said.text.splitlines() if line.startswith("rgwot: ")]


def everything(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return time and content of all files of a dataset and of results."""
    files = (path for part in ("videos", "results") for path in (folder / part).rglob("*") if path.is_file())
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def test_a_video_replaced_by_an_older_one_is_extracted_again_and_a_plan_writes_nothing(tree: Checkout) -> None:
    assert plan(tree).jobs == {}
    write_video(tree.path / "videos/tea/a.mp4", 45, first=100)
    os.utime(tree.path / "videos/tea/a.mp4", (9 * 10**8, 9 * 10**8))
    before = everything(tree.path)
    assert plan(tree).jobs == {"extract": 1, "manifest": 1, "index": 1}
    assert everything(tree.path) == before
    # Made again, they are up to date.
    assert tree.snakemake(MANIFEST, INDEX, more=["own.yaml"]).returncode == 0
    assert plan(tree).jobs == {}


def test_an_annotation_replaced_by_an_older_one_makes_the_manifest_outdated(tree: Checkout) -> None:
    annotation = tree.path / "videos/tea/b.csv"
    annotation.write_bytes(annotation.read_bytes().replace(b"0.8", b"0.9"))
    os.utime(annotation, (9 * 10**8, 9 * 10**8))
    assert plan(tree).jobs == {"manifest": 1}
    assert tree.snakemake(MANIFEST, more=["own.yaml"]).returncode == 0
    assert "0.9" in (tree.path / "results/annotations/own/tea.csv").read_text(encoding="utf-8")


def test_two_videos_that_were_swapped_by_renaming_are_noticed(tree: Checkout) -> None:
    one, two = (tree.path / f"videos/tea/{name}.mp4" for name in "ab")
    one.rename(one.with_name("x"))
    two.rename(one)
    one.with_name("x").rename(two)
    assert plan(tree).jobs == {"extract": 1, "manifest": 1, "index": 1}


def test_a_video_of_the_future_is_refused_before_the_first_job(tree: Checkout) -> None:
    video = "videos/tea/a.mp4"
    os.utime(tree.path / video, (2 * 10**9, 2 * 10**9))
    (tree.path / MANIFEST).unlink()
    said = tree.snakemake(MANIFEST, more=["own.yaml"])
    assert said.mistake.startswith(f"rgwot: {video}: last changed at 2033-05-18 ")
    assert not (tree.path / MANIFEST).exists()
    subprocess.run(["touch", said.mistake.rpartition("touch ")[2]], cwd=tree.path, check=True)
    assert tree.snakemake(MANIFEST, more=["own.yaml"]).returncode == 0


def test_a_result_of_the_future_is_given_the_present_time(tree: Checkout) -> None:
    store = "results/features/own/tea/a.zarr"
    index = (tree.path / INDEX).read_bytes()
    os.utime(tree.path / store / ".snakemake_timestamp", (2 * 10**9, 2 * 10**9))
    (tree.path / INDEX).unlink()
    said = tree.snakemake(INDEX, more=["own.yaml"])
    assert said.returncode == 0, said.text
    (line,) = told(said)
    assert line.startswith(f"rgwot: {store}: last changed at 2033-05-18 ")
    assert (tree.path / INDEX).read_bytes() == index
