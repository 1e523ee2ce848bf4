"""Single files: whether a video decodes to its end, and whether features made elsewhere hold what is stated of them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from rgwot.config.extractors import extractor, missing_checkpoint
from rgwot.config.methods import load
from rgwot.datasets.arrays import holding_file, other_columns
from rgwot.datasets.feature_files import doubted_times, in_place_of_video, measure, open_features
from rgwot.features.settings import FeatureSettings
from rgwot.runtime.errors import RgwotError
from rgwot.study.doctor.report import FeatureFacts, Finding, VideoFacts, below, of_error
from rgwot.timing import VideoInfo, allowed_loss

if TYPE_CHECKING:
    from rgwot.config.configuration import ImportSettings
    from rgwot.features.settings import FeatureSettings


#: Frames decoded per video, from the first to as near the end as the tolerance allows.
SAMPLES = 5
#: Seconds for all samples of a video by one reader, and for each of them by PyAV.
SAMPLING_TIMEOUT_S = 30.0
#: Features read at once.
FRAMES_PER_READ = 64
_SIDE = 64
_LISTED = 3


def check_video(
    root: Path, path: str, task: str, settings: FeatureSettings, frames_fps: Fraction | None, quick: bool
) -> tuple[VideoFacts | None, list[Finding]]:
    """Examine one video file, ``path`` below ``root``; its directory entry alone if ``quick``.

    It is read as the settings of extraction say, but at most `SAMPLING_TIMEOUT_S` is waited; ``frames_fps`` is the rate
    of stored frames whose file states none. Returns the facts, None where the later stages cannot open the video, and
    what is wrong.
    """
    try:
        empty = (root / path).stat().st_size == 0
    except OSError as error:
        return None, [of_error(error, root, path, "video", task)]
    if empty:
        reason = "empty file (0 bytes); expected a video; copy or download it again"
        return None, [Finding("error", "video", reason, task, path)]
    if quick:
        return VideoFacts(), []
    from rgwot.video import VideoError, probe

    try:
        info = probe(root / path, frames_fps)
    except VideoError as error:
        return None, [Finding("error", "video", error.reason, task, path)]
    facts, missing = _sampled(root / path, info, settings, frames_fps)
    return facts, [Finding("error", "frames", fault, task, path) for fault in (stated_frames(info), missing) if fault]


def stated_frames(info: VideoInfo) -> str:
    """Return what is wrong with the number of frames that a container states, by its duration; empty if nothing is."""
    from rgwot.video.probing import REMEDY

    expected = float(info.duration_s * info.fps)
    if info.frames is None or abs(info.frames - expected) <= allowed_loss(info.duration_s) * float(info.fps):
        return ""
    return (
        f"the container states {info.frames} frames, but {info.duration_s:.2f} s x {info.fps} per second are "
        f"{expected:.0f}; expected equal to within 1 % or 1 s; {REMEDY}"
    )


def _sampled(
    path: Path, info: VideoInfo, settings: FeatureSettings, frames_fps: Fraction | None
) -> tuple[VideoFacts, str]:
    """Decode some frames: return the facts of the video, and what is wrong if one is missing."""
    import numpy as np

    from rgwot.video import FrameReader, VideoError, readers_of
    from rgwot.video.probing import REMEDY

    # To the end within the tolerance, or half of the shortest videos.
    times = np.linspace(0.0, info.duration_s - min(allowed_loss(info.duration_s), info.duration_s / 2), SAMPLES)
    missing, used, failures = list(range(SAMPLES)), dict[str, None](), dict[str, None]()
    for reader in readers_of(path, settings.reader):
        # PyAV decodes everything between two requested times, so it gets them one at a time.
        for wanted in [[i] for i in missing] if reader == "pyav" else [list(missing)] * bool(missing):
            with FrameReader(
                path,
                times[wanted],
                _SIDE,
                reader,
                min(settings.timeout_s, SAMPLING_TIMEOUT_S),
                batch=len(wanted),
                threads=1,
                frames_fps=frames_fps,
            ) as frames:
                with suppress(VideoError):
                    for indices, _ in frames:
                        for i in indices:
                            missing.remove(wanted[int(i)])
                failures |= dict.fromkeys(frames.failures)
                used |= dict.fromkeys(frames.readers)
    facts = VideoFacts(info.duration_s, info.fps, SAMPLES - len(missing), "+".join(used) or None)
    if not missing:
        return facts, ""
    return facts, (
        f"no frame decodes at {', '.join(f'{times[i]:.2f}' for i in missing)} s of {info.duration_s:.2f} s "
        f"({'; '.join(list(failures)[:_LISTED])}); expected frames up to 1 % or 1 s before the end; {REMEDY}"
    )


def check_features(
    path: Path, root: Path, task: str, settings: ImportSettings, video: VideoFacts | None, quick: bool
) -> tuple[FeatureFacts | None, VideoFacts | None, list[Finding]]:
    """Examine one file of features by the code that imports it, every value; its directory entry alone if ``quick``.

    ``video`` is what is known of the video it belongs to, None where there is none. Returns what the file holds, what
    it says in place of a video, and what is wrong; neither where the file cannot be used.
    """
    # Not at the top: it brings Zarr, for which an examination of videos need not wait.
    from rgwot.features.importing import count_kept, read_maps

    findings: list[Finding] = []
    try:
        if quick:
            holding_file(path).stat()
            return None, VideoFacts(), []
        with open_features(path, settings) as array:
            found, named = measure(path, array, settings), array.columns if settings.axes == "TC" else ""
            kept = found.count
            if video is None:
                in_place_of_video(path, found)
            if doubt := doubted_times(found, settings):
                findings.append(Finding("warning", "features", doubt, task, below(path, root)))
            if video is not None and video.duration_s is not None:
                footage = VideoInfo(video.duration_s, video.fps or Fraction(1))
                kept, reason = count_kept(path, found, settings, footage)
                dropped = found.count - kept
                if dropped or reason:
                    line = reason or f"{dropped} of {found.count} features lie beyond the video and are dropped"
                    findings.append(Finding("warning", "features", line, task, below(path, root)))
            dtype = "float16" if "H" in settings.axes else "float32"
            for start in range(0, kept, FRAMES_PER_READ):
                read_maps(path, array, settings.axes, start, min(start + FRAMES_PER_READ, kept), dtype)
    except (RgwotError, OSError) as error:
        return None, None, [*findings, of_error(error, root, below(path, root), "features", task)]
    sizes = found.sizes
    facts = FeatureFacts(
        found.count, sizes["C"], sizes["H"], sizes["W"], float(found.fps), found.footage.duration_s, named
    )
    return facts, VideoFacts(found.footage.duration_s, found.footage.fps), findings


def check_task_features(task: str, files: Mapping[str, FeatureFacts]) -> Iterator[Finding]:
    """Yield what is wrong with the features of a task together, ``files`` by their paths: one size, rate and order."""
    space = {
        path: "" if one.height == one.width == 1 else f" x {one.height} x {one.width}" for path, one in files.items()
    }
    sizes = {path: f"{one.channels}{space[path]} channels" for path, one in files.items()}
    rates = {path: f"{one.fps:g}" for path, one in files.items()}
    for what, values, hint in (
        ("features of", sizes, "is the order of `axes` right?"),
        ("features per second:", rates, "give `fps` where the times are meant to have one rate"),
    ):
        usual = next((value for value, _ in Counter(values.values()).most_common(1)), "")
        for path, value in values.items():
            if value != usual:
                line = f"{what} {value}, expected {usual} as in the other files of the task; {hint}"
                yield Finding("error", "features", line, task, path)
    named = {path: one.columns for path, one in files.items() if one.columns}
    usual = next((value for value, _ in Counter(named.values()).most_common(1)), "")
    for path, columns in named.items():
        if other := other_columns(columns, usual):
            line = f"{other}; expected those of the other files of the task in their order"
            yield Finding("error", "features", line, task, path)


def torch_cache() -> Path:
    """Return the folder torch keeps downloaded weights in, without loading torch."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "torch"
    return Path(os.environ.get("TORCH_HOME", cache)).expanduser() / "hub" / "checkpoints"


def lacking(settings: FeatureSettings) -> Iterator[Finding]:
    """Yield what the machine lacks that is to make features."""
    about, weights = extractor(settings.backbone), settings.weights
    try:
        path = Path(weights) if about.is_file(weights) else about.packaged(weights)
        if about.members:
            # Whether there is such a network of a family, such a layer and such weights of it, its library knows.
            load(f"{about.module}:check")(about.member, weights)
            load(f"{about.module}:network")(about.member)
    except RgwotError as error:
        yield Finding("error", "machine", str(error))
        return
    if path is None and weights in about.weights:
        path = torch_cache() / about.weights[weights].rpartition("/")[2]
        if not path.is_file():
            line = f"weights {weights} are not in {path}; the first extraction downloads {about.megabytes} MB"
            yield Finding("note", "machine", line)
    elif path is not None and not path.is_file():
        yield Finding("error", "machine", missing_checkpoint("config.yaml", about, weights))
