"""Files are complete or missing, and files left by killed writers are removed a day later."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import check_writable, move, other_than, replacing, write_text

KILLED = """
import os, signal, sys
from pathlib import Path
from rgwot.runtime.files import replacing
with replacing(sys.argv[1]) as temporary:
    {make}
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(
    "make", ["temporary.write_text('half')", "temporary.mkdir(); (temporary / 'part').write_text('half')"]
)
def test_a_day_later_the_next_writer_in_the_folder_removes_what_a_killed_one_left(tmp_path: Path, make: str) -> None:
    target, other = tmp_path / "a [1].csv", tmp_path / "b.csv"
    subprocess.run([sys.executable, "-c", KILLED.format(make=make), str(target)], check=False)
    (left,) = tmp_path.iterdir()
    assert not target.exists()
    yesterday = time.time() - 25 * 3600
    os.utime(left, (yesterday, yesterday))
    if left.is_dir():
        # The part is younger than its folder, so somebody may still be writing it.
        write_text("whole", other)
        assert left.exists()
        os.utime(left / "part", (yesterday, yesterday))
    write_text("whole", other)
    assert list(tmp_path.iterdir()) == [other]


def test_a_writer_that_lives_keeps_its_temporary_file(tmp_path: Path) -> None:
    target = tmp_path / "a.csv"
    with replacing(target) as first:
        first.write_text("first")
        write_text("second", target)
        assert first.read_text() == "first"
        assert target.read_text() == "second"
    assert target.read_text() == "first"


def test_content_reaches_the_disk_before_its_name_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "model"
    order: list[int | str] = []
    synchronise, rename = os.fsync, os.replace

    def fsync(descriptor: int) -> None:
        order.append(os.fstat(descriptor).st_ino)
        synchronise(descriptor)

    def replace(source: Path, place: Path) -> None:
        order.append("renamed")
        rename(source, place)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    with replacing(target) as temporary:
        (temporary / "deep").mkdir(parents=True)
        (temporary / "deep" / "weights").write_text("x")
    before = order[: order.index("renamed")]
    assert set(before) == {path.stat().st_ino for path in (target, target / "deep", target / "deep/weights")}
    assert order[len(before) + 1 :] == [tmp_path.stat().st_ino]


def test_only_what_its_writer_made_is_replaced(tmp_path: Path) -> None:
    videos, store, made = tmp_path / "videos", tmp_path / "a.zarr", tmp_path / "made"
    for folder in (videos, store, made):
        folder.mkdir()
        (folder / "a.mp4").touch()
    with pytest.raises(RgwotError, match=r"videos: found a\.mp4, which rgwot did not write"), replacing(videos):
        raise AssertionError
    with pytest.raises(RgwotError, match=r"videos: found a\.mp4, which rgwot did not write"):
        move(made, videos)
    for target, stranger in ((videos, other_than({"a.mp4"})), (store, None)):
        with replacing(target, stranger) if stranger else replacing(target) as temporary:
            temporary.mkdir()
        assert not list(target.iterdir())


def test_files_are_written_without_what_only_posix_has(tmp_path: Path) -> None:
    script = (
        "import os, sys\n"
        "sys.modules.update(dict.fromkeys(('fcntl', 'grp', 'pwd', 'resource')))\n"
        "del os.readv\n"
        "import rgwot.video, rgwot.runtime.device\n"
        "from rgwot.runtime.files import write_text\n"
        "del os.uname\n"
        "write_text('whole', sys.argv[1])\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "a.csv")], check=True)
    assert (tmp_path / "a.csv").read_text() == "whole"


def test_what_cannot_be_written_is_reported_by_its_name_not_the_temporary_one(tmp_path: Path) -> None:
    for number in (errno.EROFS, errno.EACCES):
        with (
            pytest.raises(RgwotError, match=rf"^{tmp_path}/a\.csv: cannot be written"),
            replacing(tmp_path / "a.csv") as own,
        ):
            raise OSError(number, os.strerror(number), str(own))
        # Errors about other files are passed on unchanged.
        with pytest.raises(OSError, match="other"), replacing(tmp_path / "a.csv"):
            raise OSError(number, os.strerror(number), str(tmp_path / "other"))


def test_a_folder_that_cannot_be_written_to_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_writable(tmp_path)
    locked = set()
    monkeypatch.setattr(os, "access", lambda path, mode: path not in locked)
    for place in (tmp_path, tmp_path / ".snakemake", tmp_path / ".snakemake/locks"):
        place.mkdir(exist_ok=True)
        check_writable(tmp_path)
        locked.add(place)
        with pytest.raises(RgwotError, match=f"^{place}: cannot be written to"):
            check_writable(tmp_path)
