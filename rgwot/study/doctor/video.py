"""One video: whether it opens, its duration and rate, and whether it decodes to the end."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from rgwot.study.doctor.findings import Finding, of_error
from rgwot.timing import allowed_loss

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rgwot.config.settings import FeatureSettings
    from rgwot.video import VideoInfo

SAMPLES = 5
"""Frames decoded per video, from the first to as near the end as the tolerance allows."""

TIMEOUT_S = 30.0
"""Seconds for all samples of a video by one reader, and for each of them by PyAV."""

_SIDE = 64
_LISTED = 3


@dataclass(frozen=True)
class VideoFacts:
    """Facts about a video file, None where unknown."""

    duration_s: float | None = None
    fps: Fraction | None = None
    decoded: int | None = None
    reader: str | None = None


def check_video(
    root: Path, path: str, task: str, settings: FeatureSettings, frames_fps: Fraction | None, quick: bool
) -> tuple[VideoFacts, bool, list[Finding]]:
    """Examine one video file, ``path`` below ``root``; its directory entry alone if ``quick``.

    It is read as the settings of extraction say, but at most `TIMEOUT_S` is waited; ``frames_fps`` is the rate of
    stored frames whose file states none. Returns the facts, whether the later stages can open the video, and what is
    wrong.
    """
    try:
        size = (root / path).stat().st_size
    except OSError as error:
        return VideoFacts(), False, [of_error(error, root, path, "video", task)]
    facts = VideoFacts()
    if size == 0:
        empty = "empty file (0 bytes); expected a video; copy or download it again"
        return facts, False, [Finding("error", "video", empty, task, path)]
    if quick:
        return facts, True, []
    from rgwot.video import VideoError, probe

    try:
        info = probe(root / path, frames_fps)
    except VideoError as error:
        return facts, False, [Finding("error", "video", error.reason, task, path)]
    except (OSError, ValueError) as error:
        # A damaged header may contain anything; whatever the container library raises is about this file alone.
        return facts, False, [Finding("error", "video", f"not a readable video ({error})", task, path)]
    served, used, fault = _sampled(root / path, info, settings, frames_fps)
    findings = [] if fault is None else [Finding("error", "frames", fault, task, path)]
    facts = VideoFacts(info.duration_s, info.fps, served, "+".join(used) or None)
    return facts, True, stated_frames(path, task, info) + findings


def stated_frames(path: str, task: str, info: VideoInfo) -> list[Finding]:
    """Compare the number of frames the container states with its duration."""
    from rgwot.video.probing import REMEDY

    expected = float(info.duration_s * info.fps)
    if info.frames is None or abs(info.frames - expected) <= allowed_loss(info.duration_s) * float(info.fps):
        return []
    found = (
        f"the container states {info.frames} frames, but {info.duration_s:.2f} s x {info.fps} per second are "
        f"{expected:.0f}; expected equal to within 1 % or 1 s; {REMEDY}"
    )
    return [Finding("error", "frames", found, task, path)]


def sample_positions(duration_s: float) -> NDArray[np.float64]:
    """Return the times at which frames are decoded, shape (5,), in seconds from 0 to the end within the tolerance."""
    import numpy as np

    return np.linspace(0.0, duration_s - min(allowed_loss(duration_s), duration_s / 2), SAMPLES)


def _sampled(
    path: Path, info: VideoInfo, settings: FeatureSettings, frames_fps: Fraction | None
) -> tuple[int, list[str], str | None]:
    """Decode some frames: return how many, by which readers, and what is wrong if one is missing."""
    from rgwot.video import FrameReader, VideoError, readers_of
    from rgwot.video.probing import REMEDY

    times, timeout_s = sample_positions(info.duration_s), min(settings.timeout_s, TIMEOUT_S)
    missing = list(range(len(times)))
    used: dict[str, None] = {}
    failures: dict[str, None] = {}

    def read(wanted: list[int], reader: str) -> None:
        with FrameReader(
            path, times[wanted], _SIDE, reader, timeout_s, batch=len(wanted), threads=1, frames_fps=frames_fps
        ) as frames:
            with suppress(VideoError):
                for indices, _ in frames:
                    for i in indices:
                        missing.remove(wanted[int(i)])
            failures.update(dict.fromkeys(frames.failures))
            used.update(dict.fromkeys(frames.readers))

    for reader in readers_of(path, settings.reader):
        # PyAV decodes everything between two requested times, so it gets them one at a time.
        for wanted in [[i] for i in missing] if reader == "pyav" else [list(missing)] * bool(missing):
            read(wanted, reader)
    fault = None
    if missing:
        fault = (
            f"no frame decodes at {', '.join(f'{times[i]:.2f}' for i in missing)} s of {info.duration_s:.2f} s "
            f"({'; '.join(list(failures)[:_LISTED])}); expected frames up to 1 % or 1 s before the end; {REMEDY}"
        )
    return len(times) - len(missing), list(used), fault
