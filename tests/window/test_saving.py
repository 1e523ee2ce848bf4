"""Files of the window are complete or missing, and never replace those of other programs."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rgwot.runtime.errors import RgwotError
from rgwot.window.saving import Saving, SomebodyElses, Target, digest_of


@pytest.fixture(autouse=True)
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def at(name: str = "tea/monday.csv", taken: str = "") -> Target:
    return Target(Path(name), lambda path: path.read_bytes(), taken)


def test_a_file_is_written_changed_and_removed() -> None:
    saving, own = Saving(), at()
    base, content = saving.read(own)
    assert (base, content) == ("", None)
    path, base = saving.save(own, "one\n", base)
    assert (path, own.path.read_bytes()) == (own.path, b"one\n")
    assert base == digest_of(path)
    _, base = saving.save(own, "zwei – 名\n", base)
    assert own.path.read_text(encoding="utf-8") == "zwei – 名\n"
    assert saving.save(own, None, base) == (own.path, "")
    assert not own.path.exists()
    assert [path.name for path in Path("tea").iterdir()] == []


def test_what_somebody_else_has_written_since_stays() -> None:
    saving, own = Saving(), at()
    _, base = saving.save(own, "ours\n", "")
    own.path.write_text("theirs\n")
    for text in ("more\n", None):
        with pytest.raises(
            SomebodyElses, match=r"since this page has read it; it stays as it is; save as monday\.1\.csv"
        ):
            saving.save(own, text, base)
    assert own.path.read_text() == "theirs\n"
    path, _ = saving.save(own, "more\n", base, apart=True)
    assert (path, path.read_text()) == (Path("tea/monday.1.csv"), "more\n")
    path, _ = saving.save(own, "yet more\n", base, apart=True)
    assert path == Path("tea/monday.2.csv")


def test_a_file_that_appeared_meanwhile_stays() -> None:
    saving, own = Saving(), at()
    own.path.parent.mkdir()
    own.path.write_text("theirs\n")
    with pytest.raises(SomebodyElses, match="is there already"):
        saving.save(own, "ours\n", "")
    assert own.path.read_text() == "theirs\n"


def test_a_page_may_replace_what_it_has_read_and_nothing_older() -> None:
    own = at()
    own.path.parent.mkdir()
    own.path.write_text("read by two pages\n")
    base, content = Saving().read(own)
    assert (base, content) == (digest_of(own.path), b"read by two pages\n")
    Saving().save(own, "by one page\n", base)
    for text in ("by the other\n", None):
        with pytest.raises(SomebodyElses, match="since this page has read it"):
            Saving().save(own, text, base)
    assert own.path.read_text() == "by one page\n"


def test_what_is_sent_again_because_no_answer_came_is_saved() -> None:
    own = at()
    _, base = Saving().save(own, "ours\n", "")
    assert Saving().save(own, "ours\n", "") == (own.path, base)
    assert Saving().save(own, None, base) == Saving().save(own, None, base) == (own.path, "")


def test_a_file_that_cannot_be_read_stays() -> None:
    def read(path: Path) -> None:
        raise RgwotError(f"{path.name}: wrong")

    own = Target(at().path, read)
    own.path.parent.mkdir()
    own.path.write_text("theirs\n")
    with pytest.raises(SomebodyElses, match="cannot be read"):
        Saving().read(own)


def test_a_file_of_another_kind_is_taken() -> None:
    own = at("tea/monday.eaf", "is a file of ELAN")
    with pytest.raises(SomebodyElses, match="is a file of ELAN"):
        Saving().read(own)
    with pytest.raises(SomebodyElses, match="is a file of ELAN"):
        Saving().save(own, "x", "")


def test_what_the_commands_cannot_read_is_not_written() -> None:
    def check(path: Path) -> None:
        raise RgwotError(f"{path.name}: wrong")

    with pytest.raises(RgwotError, match="wrong"):
        Saving().save(Target(Path("tea/monday.csv"), check), "x", "")
    assert list(Path("tea").iterdir()) == []


def test_somebody_who_writes_while_ours_is_checked_wins() -> None:
    def check(_: Path) -> None:
        Path("tea/monday.csv").write_text("theirs\n")

    with pytest.raises(SomebodyElses):
        Saving().save(Target(Path("tea/monday.csv"), check), "ours\n", "")
    assert Path("tea/monday.csv").read_text() == "theirs\n"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_a_full_or_forbidden_disk_is_one_line_and_leaves_what_was(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    saving = Saving()
    _, base = saving.save(at(), "before\n", "")

    def full(path: Path, _: bytes) -> int:
        raise OSError(number, os.strerror(number), str(path))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", full)
        with pytest.raises(RgwotError) as error:
            saving.save(at(), "after\n", base)
    assert "\n" not in str(error.value)
    assert "tea/monday.csv" in str(error.value)
    assert at().path.read_text() == "before\n"
    # The page sends the unsaved file again, and succeeds.
    saving.save(at(), "after\n", base)
    assert at().path.read_text() == "after\n"


EDITS = """
import sys
from pathlib import Path
from rgwot.window.saving import Saving, Target
saving, base, own = Saving(), sys.argv[1], Target(Path("tea/monday.csv"), lambda path: path.read_bytes())
for number in range(int(sys.argv[2]), 10**6):
    _, base = saving.save(own, f"{number}\\n" * 2000, base)
    print(number, flush=True)
"""


def test_a_kill_while_saving_loses_nothing_that_was_reported_as_saved() -> None:
    """The file holds the last edit reported as saved, or a later one, as a whole; the next server can save over it."""
    last = -1
    for kill in range(4):
        base, _ = Saving().read(at())
        command = [sys.executable, "-c", EDITS, base, str(last + 1)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(2 + 3 * kill)]
        process.send_signal(signal.SIGKILL)
        told += process.stdout.readlines()
        process.wait()
        numbers = [int(line) for line in told if line.endswith("\n")]
        lines = at().path.read_text().splitlines()
        assert len(lines) == 2000
        assert len(set(lines)) == 1
        last = int(lines[0])
        assert last >= numbers[-1]
