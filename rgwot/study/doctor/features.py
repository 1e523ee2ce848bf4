"""Features made elsewhere: whether their files hold what is stated of them, and fit the videos and each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from rgwot.config.importing import ImportSettings
from rgwot.datasets.arrays import holding_file
from rgwot.datasets.feature_files import measure, native_rate, open_features
from rgwot.runtime.errors import RgwotError
from rgwot.study.doctor.findings import Finding, below, of_error
from rgwot.study.doctor.video import VideoFacts

FRAMES = 64
"""Features read at once."""

CHANNELS = frozenset({256, 400, 512, 768, 1024, 1280, 1536, 2048, 4096})
"""Numbers of channels of known networks, which lengths of recordings rarely equal."""


@dataclass(frozen=True)
class FeatureFacts:
    """What a file of features holds."""

    count: int
    channels: int
    height: int  #: 1 for vectors, as is the width
    width: int
    fps: float
    end_s: float  #: where the last feature ends


def check_features(
    path: Path, root: Path, task: str, settings: ImportSettings, video: VideoFacts | None, quick: bool
) -> tuple[FeatureFacts | None, VideoFacts | None, list[Finding]]:
    """Examine one file of features by the code that imports it, every value; its directory entry alone if ``quick``.

    ``video`` is what is known of the video it belongs to, None where there is none. Returns what the file holds, what
    it says in place of a video, and what is wrong; neither where the file cannot be used.
    """
    # Not at the top: it brings Zarr, for which an examination of videos need not wait.
    from rgwot.features.importing import Footage, count_kept, read_maps

    findings: list[Finding] = []
    try:
        if quick:
            holding_file(path).stat()
            return None, VideoFacts(), []
        with open_features(path, settings) as array:
            found = measure(path, array, settings)
            kept = found.count
            if video is not None and video.duration_s is not None:
                footage = Footage(video.duration_s, video.fps or Fraction(1))
                kept, reason = count_kept(path, found, settings, footage)
                dropped = found.count - kept
                if dropped or reason:
                    line = reason or f"{dropped} of {found.count} features lie beyond the video and are dropped"
                    findings.append(Finding("warning", "features", line, task, below(path, root)))
            for start in range(0, kept, FRAMES):
                read_maps(path, array, settings.axes, start, min(start + FRAMES, kept))
    except (RgwotError, OSError) as error:
        return None, None, [*findings, of_error(error, root, below(path, root), "features", task)]
    sizes = found.sizes
    facts = FeatureFacts(found.count, sizes["C"], sizes["H"], sizes["W"], float(found.fps), found.end_s)
    return facts, VideoFacts(found.end_s, native_rate(found, settings)), findings


def compare(task: str, files: Mapping[str, FeatureFacts]) -> list[Finding]:
    """Return what is wrong with the features of a task together, ``files`` by their paths: one size, and one rate."""
    findings = []
    sizes = {path: _size(one) for path, one in files.items()}
    rates = {path: f"{one.fps:g}" for path, one in files.items()}
    for what, values, hint in (
        ("features of", sizes, "is the order of `axes` right?"),
        ("features per second:", rates, "give `fps` where the times are meant to have one rate"),
    ):
        usual = next((value for value, _ in Counter(values.values()).most_common(1)), "")
        for path, value in values.items():
            if value != usual:
                line = f"{what} {value}, expected {usual} as in the other files of the task; {hint}"
                findings.append(Finding("error", "features", line, task, path))
    lengths = {one.count for one in files.values()}
    if len(files) > 1 and len(lengths) == 1 and lengths <= CHANNELS:
        channels = sorted({one.channels for one in files.values()})
        if channels[-1] not in CHANNELS:
            line = (
                f"every file has {min(lengths)} features of {channels[-1]} channels, as if the axes were the other way "
                "round; is the order of `axes` right?"
            )
            findings.append(Finding("warning", "features", line, task))
    return findings


def _size(one: FeatureFacts) -> str:
    space = "" if one.height == one.width == 1 else f" x {one.height} x {one.width}"
    return f"{one.channels}{space} channels"
