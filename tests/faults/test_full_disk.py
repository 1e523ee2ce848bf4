"""On a full disk, a command names file and cause in one line, leaves no partial file, and can be run again later."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest
import torch
from checkouts import Said, run
from test_same_output import TRAINING, extraction, training, write_task
from videos import write_video

from rgwot.features.store import open_store
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import report_full_disk

# Mount a small disk, fill most of it and run a command; then free the space and run the command again. The output goes
# through a pipe, because scripts open their log (here stderr) again, which would empty a file.
SCRIPT = """
mount -t tmpfs -o size={size}k none {disk} || exit 77
head -c {taken}k /dev/zero > {disk}/taken
{command} 2>&1 | cat; echo "first: ${{PIPESTATUS[0]}}"
find {disk} -mindepth 1 ! -name taken -printf 'left: %P\\n'
rm {disk}/taken
{command} 2>&1 | cat; echo "second: ${{PIPESTATUS[0]}}"
cp -r {disk}/. {copy}
"""


def run_on_a_full_disk(folder: Path, size: int, room: int, words: list[str]) -> Said:
    """Run a command twice on a small disk, first with little room; copy the content of the disk to ``folder/copy``."""
    allowed = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False)
    if allowed.returncode:
        pytest.skip(f"no mount namespace here ({allowed.stderr.decode().strip()})")
    (folder / "disk").mkdir()
    (folder / "copy").mkdir()
    command = shlex.join(words)
    script = SCRIPT.format(size=size, taken=size - room, disk="disk", copy="copy", command=command)
    said = run(["unshare", "-m", "bash", "-c", script], folder)
    if said.returncode == 77:
        pytest.skip(f"no tmpfs here ({said.text.strip()})")
    return said


def first_and_left(said: Said) -> tuple[str, list[str]]:
    """Return the error line of the first run, and the files that it left on the disk."""
    first, rest = said.text.split("first: 1\n")
    assert "Traceback" not in first
    assert "Task was destroyed" not in first
    lines = [line for line in first.splitlines() if line.startswith("rgwot: ")]
    assert len(lines) == 1, first
    assert "second: 0" in rest
    return lines[0], [line.removeprefix("left: ") for line in rest.splitlines() if line.startswith("left: ")]


@pytest.mark.long
def test_during_extraction(tmp_path: Path) -> None:
    video = write_video(tmp_path / "a.mp4", 150)
    command = extraction(tmp_path, "disk/a.zarr", video)
    # 150 frames take 3 shards of about 400 KiB.
    line, left = first_and_left(run_on_a_full_disk(tmp_path, 4096, 600, command))
    assert line.startswith("rgwot: disk/a.zarr: cannot be written (No space left on device); make room")
    # Files from which a second run continues are hidden and have other names.
    assert left
    assert all(name.startswith(".a.zarr.") and ".partial" in name for name in left)
    store = open_store(tmp_path / "copy/a.zarr")
    assert (store.status, len(store)) == ("ok", 150)
    assert [path.name for path in (tmp_path / "copy").iterdir()] == ["a.zarr"]


@pytest.mark.long
@pytest.mark.parametrize(("save_every_s", "file"), [(0.001, "state.pt"), (1000, "model.pt")])
def test_during_training(tmp_path: Path, save_every_s: float, file: str) -> None:
    index = write_task(tmp_path)
    settings = {**TRAINING, "train": {**TRAINING["train"], "save_every_s": save_every_s}}
    # The weights alone take more than 600 KiB.
    command = training(tmp_path, "disk/seed0", index, settings)
    line, left = first_and_left(run_on_a_full_disk(tmp_path, 16384, 600, command))
    assert f"/{file}: cannot be written (No space left on device); make room" in line
    # Only complete files and folders may be left.
    assert {Path(name).name for name in left if Path(name).suffix} <= {"history.csv", "machine.json", ".resume"}
    model = torch.load(tmp_path / "copy/seed0/model.pt", weights_only=True)
    assert model["videos"] == ["a", "b"]
    assert not (tmp_path / "copy/.resume").exists()


def test_a_full_disk_is_recognised_in_errors_of_every_library(tmp_path: Path) -> None:
    def meets(cause: OSError) -> None:
        try:
            raise cause
        except OSError:
            raise RuntimeError("unexpected pos 704 vs 598")  # noqa: B904

    with (
        pytest.raises(RgwotError, match=r"^out: cannot be written \(No space left on device\)"),
        report_full_disk("out"),
    ):
        meets(OSError(28, "No space left on device"))
    with pytest.raises(RuntimeError), report_full_disk("out"):
        meets(OSError(13, "Permission denied"))
