"""One video: whether it opens, its duration and rate, and whether it decodes to the end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rgwot.study.doctor.findings import Finding, Severity, of_error

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rgwot.config.settings import FeatureSettings
    from rgwot.video import VideoInfo

SAMPLES = 5
"""Frames decoded per video, from the first to as near the end as the tolerance allows."""

TIMEOUT_S = 30.0
"""Seconds for all samples of a video by the first reader, and for each by the second."""

_FIRST, _SECOND = "decord", "pyav"
_SIDE = 64
_LISTED = 3


@dataclass(frozen=True)
class VideoFacts:
    """Facts about a video file, None where unknown."""

    size_bytes: int | None = None
    duration_s: float | None = None
    fps: Fraction | None = None
    width: int | None = None
    height: int | None = None
    rotation: int | None = None
    codec: str | None = None
    frames: int | None = None
    samples: int | None = None
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
    facts = VideoFacts(size_bytes=size)
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
    facts = replace(facts, **vars(info))
    sampled, faults = _sampled(root / path, info, settings, frames_fps)
    findings = [Finding(severity, "frames", line, task, path) for severity, line in faults]
    return replace(facts, **sampled), True, stated_frames(path, task, info) + findings


def stated_frames(path: str, task: str, info: VideoInfo) -> list[Finding]:
    """Compare the number of frames the container states with its duration."""
    from rgwot.video.probing import REMEDY, allowed_loss

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

    from rgwot.video.probing import allowed_loss

    return np.linspace(0.0, duration_s - min(allowed_loss(duration_s), duration_s / 2), SAMPLES)


def _sampled(
    path: Path, info: VideoInfo, settings: FeatureSettings, frames_fps: Fraction | None
) -> tuple[dict[str, Any], list[tuple[Severity, str]]]:
    """Decode some frames; the second reader seeks each one that the first could not read."""
    from rgwot.video.probing import REMEDY

    times, reader = sample_positions(info.duration_s), settings.reader
    timeout_s = min(settings.timeout_s, TIMEOUT_S)
    first = _FIRST if reader == "auto" else reader
    served, used, failures = _served(path, times, first, timeout_s, frames_fps)
    seconded = [i for i in range(len(times)) if i not in served] if reader == "auto" else []
    if seconded:
        more, by, why = _served(path, times[seconded], _SECOND, timeout_s, frames_fps)
        served |= {seconded[i] for i in more}
        used, failures = used + [name for name in by if name not in used], failures + why
    sampled = {"samples": len(times), "decoded": len(served), "reader": "+".join(used) or None}
    reasons = "; ".join(list(dict.fromkeys(failures))[:_LISTED])
    missing = [float(times[i]) for i in range(len(times)) if i not in served]
    if missing:
        listed = ", ".join(f"{time_s:.2f}" for time_s in missing)
        found = (
            f"no frame decodes at {listed} s of {info.duration_s:.2f} s ({reasons}); expected frames up to 1 % or 1 s "
            f"before the end; {REMEDY}"
        )
        return sampled, [("error", found)]
    return sampled, [("note", f"read by {'+'.join(used)} because of {reasons}")] if failures else []


def _served(
    path: Path, times: NDArray[np.float64], reader: str, timeout_s: float, frames_fps: Fraction | None
) -> tuple[set[int], list[str], list[str]]:
    """Return which times got a frame, by which readers, and why the others did not."""
    from rgwot.video import FrameReader, VideoError

    served: set[int] = set()
    used: dict[str, None] = {}
    failures: list[str] = []
    # PyAV decodes everything between two requested times, so it gets them one at a time.
    for start, wanted in [(i, times[i : i + 1]) for i in range(len(times))] if reader == _SECOND else [(0, times)]:
        with FrameReader(
            path, wanted, _SIDE, reader, timeout_s, batch=len(wanted), threads=1, frames_fps=frames_fps
        ) as frames:
            try:
                for indices, _ in frames:
                    served |= {start + int(i) for i in indices}
                failures += frames.failures
            except VideoError:
                failures += frames.failures
            used |= dict.fromkeys(frames.readers)
    return served, list(used), failures
