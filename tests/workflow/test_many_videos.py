"""A task with thousands of videos: every command is one that Linux starts."""

from __future__ import annotations

import csv
import re
import subprocess
from collections.abc import Callable

import pytest
from checkouts import Checkout, synthesise

pytestmark = pytest.mark.slow
#: Linux takes no longer argument, and a shell is given a command as one.
MAX_ARG_STRLEN = 128 * 1024
VIDEOS = 3000
MINE = "datasets: {mine: {layout: folder, root: videos}}\n"


def test_no_command_is_too_long(fresh: Checkout, configured: Callable[[str], str]) -> None:
    folder = fresh.path / "videos/tea"
    folder.mkdir(parents=True)
    for number in range(VIDEOS):
        # As names outside ASCII become, six bytes a letter.
        (folder / f"заваривание чая {number:04}.mp4").touch()
    method = "whitened@data.holdout=0.5,data.split=holdout"
    target = f"results/keysteps/{method}/meanfield/mine/tea/seed0/segments.csv"
    options = ("--dry-run", "--cores", "2", "--printshellcmds")
    said = fresh.snakemake(target, options=options, more=[configured(MINE)])
    jobs = said.jobs
    assert jobs["extract"] == VIDEOS
    assert jobs["index"] == 1
    assert jobs["index_part"] > 1
    commands = re.findall(r"^\s*Shell command: (rgwot .*)$", said.text, re.MULTILINE)
    assert len(commands) == sum(jobs.values())
    longest = max(commands, key=lambda command: len(command.encode()))
    # A little is left for what Snakemake puts in front.
    assert len(longest.encode()) < MAX_ARG_STRLEN - 1000, longest[:200]
    subprocess.run(["bash", "-nc", longest], check=True)
    listed = [command for command in commands if command.startswith("rgwot index ") and ".zarr" in command]
    assert sum(command.count(".zarr") for command in listed) == VIDEOS


def test_an_index_made_in_parts_is_used_like_any_other(fresh: Checkout, configured: Callable[[str], str]) -> None:
    synthesise(fresh.path / "videos", layout="folder", tasks=["tea"], n_videos=4)
    more, index = [configured(MINE)], "results/features/mine/tea/index.csv"
    target = "results/keysteps/whitened/meanfield/mine/tea/seed0/segments.csv"
    # So short a command that it cannot name four stores.
    snakefile = fresh.path / "Snakefile"
    text = snakefile.read_text(encoding="utf-8")
    short = "import rgwot.runtime.arguments\n\nrgwot.runtime.arguments.LONGEST = 120\n"
    snakefile.write_text(short + text, encoding="utf-8")
    assert fresh.plan(target, more=more).jobs["index_part"] == 2
    made = fresh.snakemake(target, more=more)
    assert made.returncode == 0, made.text[-4000:]
    assert not fresh.plan(target, more=more).jobs
    with (fresh.path / index).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["status"] for row in rows] == ["ok"] * 4
    assert len({row["video"] for row in rows}) == 4
    # A fifth video adds itself and what follows from it, and extracts nothing else.
    (first,) = sorted((fresh.path / "videos/tea").glob("*01.mp4"))
    first.with_name("zz.mp4").write_bytes(first.read_bytes())
    jobs = fresh.plan(target, more=more).jobs
    assert (jobs["extract"], jobs["index"]) == (1, 1)
    assert jobs["index_part"] <= 2
