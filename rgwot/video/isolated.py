"""Probing in a separate process: a crash, a hang or lack of memory costs one file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

from rgwot.runtime.limits import limit_memory
from rgwot.timing import VideoInfo
from rgwot.video.decode import own_output
from rgwot.video.probing import REMEDY, VideoError, facts_of
from rgwot.video.stored import is_stored, probe_stored

#: Seconds that opening a file may take; one that states no rate or length is read to its end.
TIMEOUT_S = 600.0
#: Bytes of address space of the child; libraries reserve more than they use.
MEMORY = 8 * 2**30
_COMMAND = [sys.executable, "-P", "-c", "from rgwot.video.isolated import main; main()"]


def probe(path: str | os.PathLike[str], frames_fps: Fraction | None = None) -> VideoInfo:
    """Read the facts of a video file, or of frames stored in an HDF5 file, and decode its first frame.

    ``frames_fps`` is the rate of stored frames whose file states none; a video states its own.

    Raises VideoError when the file is missing, empty, not a video, without pictures, its first frame does not decode,
    or the decoder crashes, runs out of memory or takes longer than `TIMEOUT_S`.
    """
    request = [os.path.abspath(path), "" if frames_fps is None else str(frames_fps)]
    try:
        done = subprocess.run(
            [*_COMMAND, *request],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=TIMEOUT_S,
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise VideoError(path, f"not opened within {TIMEOUT_S:g} s, given up; {REMEDY}") from None
    except subprocess.CalledProcessError as error:
        raise VideoError(path, f"its decoder died (exit code {error.returncode}); {REMEDY}") from None
    answer: dict[str, Any] = json.loads(done.stdout)
    if "reason" in answer:
        raise VideoError(path, answer["reason"])
    return VideoInfo(**{**answer, "fps": Fraction(answer["fps"])})


def probe_here(path: Path, frames_fps: Fraction | None = None) -> VideoInfo:
    """Read the facts of a file in this process; `probe` survives whatever happens here."""
    if not path.is_file():
        raise VideoError(path, "no such file")
    if path.stat().st_size == 0:
        raise VideoError(path, "empty file (0 bytes); copy or download it again")
    return probe_stored(path, frames_fps) if is_stored(path) else facts_of(path)


def main() -> None:
    """Probe the file named on the command line, and write its facts, or why there are none, as JSON."""
    output = own_output()
    limit_memory(MEMORY)
    path, rate = sys.argv[1:]
    try:
        info = asdict(probe_here(Path(path), Fraction(rate) if rate else None))
        answer = {**info, "fps": str(info["fps"])}
    except VideoError as error:
        answer = {"reason": error.reason}
    except MemoryError:
        answer = {"reason": f"takes more than {MEMORY // 2**30} GiB of memory to open; {REMEDY}"}
    output.write(json.dumps(answer).encode())
    output.flush()
