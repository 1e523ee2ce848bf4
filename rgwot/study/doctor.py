"""Examination of a dataset: all of its faults, none hidden by another.

Files, pairs of video and annotation, whether videos decode to their end, annotations, features made elsewhere, machine.
"""

from __future__ import annotations

import logging
import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from rgwot.config.configuration import load_config
from rgwot.config.methods import load
from rgwot.datasets.annotations import id_ranges
from rgwot.datasets.arrays import feature_file, holding_file, other_columns
from rgwot.datasets.base import Found, FoundTask, VideoEntry, too_few_videos
from rgwot.datasets.feature_files import doubted_times, in_place_of_video, measure, open_features
from rgwot.datasets.finding import NoTaskFound, first_few, layout_module, read_options, registered_facts, tasks_inside
from rgwot.datasets.names import parts_among
from rgwot.datasets.registry import TaskFacts, match_name
from rgwot.datasets.text import collecting
from rgwot.datasets.video_table import columns_of, groups_in, read_video_table
from rgwot.features.settings import FeatureSettings, extractor, missing_checkpoint
from rgwot.keysteps.settings import too_fine
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.progress import Progress
from rgwot.runtime.provenance import sha256
from rgwot.study import datasets
from rgwot.study.datasets import MIN_VIDEOS
from rgwot.study.findings import (
    FeatureFacts,
    Finding,
    Report,
    TaskReport,
    VideoFacts,
    VideoReport,
    below,
    file_of,
    of_complaint,
    of_error,
)
from rgwot.study.study import Study
from rgwot.timing import VideoInfo, allowed_loss, repeated_frames

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
# So many lengths say what is usual.
_FEW = 4
# A file this many times as short or long as the median, or twice as far from it as half of the files are, is told.
_FAR = 5 / 3
# Parts of recordings are shorter than this share of the other files.
_PART = 0.75
_WHOLE = "a file should hold one whole performance, because methods compare beginnings, middles and ends"


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
    faults = [Finding("error", "frames", fault, task, path) for fault in (stated_frames(info), missing) if fault]
    if doubt := repeated_frames(info, settings.fps):
        faults.append(Finding("warning", "fps", doubt, task, path))
    return facts, faults


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
            if array.note:
                findings.append(Finding("note", "features", array.note, task, below(path, root)))
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
        ("features per second:", rates, "give `fps`, and `rates` where files have more features per second"),
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
    """Yield a finding for everything that this machine lacks to make features."""
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


_LOG = logging.getLogger(__name__)


def examine(
    content: Mapping[str, Any],
    dataset: str,
    tasks: Sequence[str] = (),
    *,
    where: str = "config.yaml",
    quick: bool = False,
    jobs: int = 1,
) -> Report:
    """Examine a dataset with the code by which the workflow finds and reads it, ``jobs`` videos at once.

    The dataset is named as in the configuration ``content``, which messages call ``where``, without case and
    punctuation; ``tasks`` are all that the workflow would use if empty. If ``quick``, no video is opened, and rules
    that need its length are left out.

    Raises RgwotError if the configuration, dataset or task is unknown, or the folder does not exist.
    """
    study = Study(load_config(content, where))
    dataset = match_name(dataset, study.config.datasets, f"{where}: dataset")
    entry, root = study.config.dataset(dataset), study.config.root_of(dataset)
    options = read_options(dataset, entry.layout, entry.options())
    if entry.synth is not None and not root.is_dir():
        raise RgwotError(
            f"dataset {dataset!r}: no folder {root}; it is synthetic, and the workflow writes it when it is needed, "
            f"or by rgwot run {root}"
        )
    found = Found(dataset, str(root), {})
    try:
        found = datasets.found(study, dataset)
        known = datasets.tasks(study, dataset)
    except (RgwotError, OSError) as error:
        none = isinstance(error, NoTaskFound)
        if isinstance(error, RgwotError) and not none and file_of(error) is None:
            raise
        told = of_error(error, root, None, "task" if none else "release", None)
        return Report(dataset, entry.layout, root, found, quick, (), (told,))
    wanted = tuple(dict.fromkeys(match_name(task, known, f"task of {dataset}") for task in tasks)) or known
    pairs = [(task, one) for task in wanted for one in found.tasks.get(task, FoundTask()).videos]
    videos: list[VideoReport] = []
    # Threads suffice, because decoding happens in other processes.
    with ThreadPoolExecutor(max(1, jobs)) as pool, Progress(_LOG, "doctor", len(pairs), unit="video") as progress:
        for video in pool.map(partial(_examined, study, dataset, quick), pairs):
            videos.append(video)
            progress.advance(1)
    summaries = []
    findings: list[Finding] = []
    if entry.imported is None:
        findings += lacking(study.experiments.settings("none", None, dataset).features)
    if found.unassigned and not tasks:
        line = f"{len(found.unassigned)} videos belong to no known task and are left alone: like {found.unassigned[0]}"
        findings.append(Finding("warning", "unassigned", line))
    if not quick:
        findings += _of_copies(root, videos)
    for task in wanted:
        own = tuple(video for video in videos if video.task == task)
        K, facts = datasets.known_K(study, dataset, task), registered_facts(dataset, task, options)
        summaries.append(TaskReport(task, found.tasks.get(task, FoundTask()), own, K))
        about = [*_of_task(found, task, facts, K, own), *(one for video in own for one in video.findings)]
        findings += dict.fromkeys(about)
        findings += _of_lengths(task, own)
        findings += _of_groups(study, dataset, task, [video.entry.video for video in own])
        findings += _of_numbers(study, dataset, task, own)
    return Report(dataset, entry.layout, root, found, quick, tuple(summaries), tuple(findings))


def _examined(study: Study, dataset: str, quick: bool, item: tuple[str, VideoEntry]) -> VideoReport:
    """Examine one video with all that belongs to it; without a length, those of annotations are not checked."""
    (task, video), entry, root = item, study.config.dataset(dataset), study.config.root_of(dataset)
    options, form, made = read_options(dataset, entry.layout, entry.options()), entry.imported, None
    if form is not None and entry.features_alone:
        made, facts, findings = check_features(root / video.path, root, task, form, None, quick)
    else:
        features = study.experiments.settings("none", None, dataset).features
        facts, findings = check_video(root, video.path, task, features, options.told_fps, quick)
        if form is not None:
            try:
                path = feature_file(study.config.folder(form.folder or entry.root), task, video.video)
                datasets.plain_path(str(path))
                made, _, faults = check_features(path, root, task, form, facts, quick)
            except RgwotError as error:
                faults = [Finding("error", "features", str(error), task, video.path)]
            findings += faults
    for named in (video.path, video.annotation or ""):
        try:
            datasets.plain_path(named)
        except RgwotError as error:
            findings.append(Finding("error", "name", str(error), task, named))
    usable, facts = facts is not None, facts or VideoFacts()
    if video.annotation is None:
        return VideoReport(task, video, usable, facts, None, False, tuple(findings), made)
    clock = None if facts.duration_s is None or facts.fps is None else VideoInfo(facts.duration_s, facts.fps)
    annotation, faults = None, []
    with collecting() as complaints:
        try:
            annotation = layout_module(entry.layout).read_annotation(
                root, video, registered_facts(dataset, task, options), clock, options
            )
        except (RgwotError, OSError) as error:
            faults.append(of_error(error, root, video.annotation, "release", task))
    faults = [*(of_complaint(complaint, root, task) for complaint in complaints), *faults]
    faulty = any(one.severity == "error" for one in faults)
    if annotation is not None and annotation.segments.empty and not faulty:
        line = f"no rows; {video.name} is not scored, but used for everything else"
        faults.append(Finding("warning", "no_rows", line, task, video.annotation))
    return VideoReport(task, video, usable, facts, annotation, faulty, (*findings, *faults), made)


def _of_task(
    found: Found, task: str, registered: TaskFacts | None, K: int | None, videos: Sequence[VideoReport]
) -> Iterator[Finding]:
    """Yield what concerns a task as a whole."""
    prefix, entry = f"{found.dataset}/{task}: ", found.tasks.get(task, FoundTask())
    usable = sum(video.usable for video in videos)
    if entry.left_out:
        yield Finding("note", "name", entry.points_told, task)
    for path, reason in entry.unusable:
        yield Finding("error", "name", reason, task, path)
    try:
        found.of(task)
    except RgwotError as error:
        if entry.problem is None or not entry.unusable:
            rule = "task" if entry.problem is None else "pairing"
            yield Finding("error", rule, str(error).removeprefix(prefix), task)
        if task not in found.tasks:
            return
    else:
        if usable < 1:
            line = too_few_videos(found.dataset, task, usable, 1, found.where).removeprefix(prefix)
            yield Finding("error", "task", line, task)
        elif usable < MIN_VIDEOS:
            needed = f"a method that trains needs {MIN_VIDEOS}, and orders need others to compare with"
            yield Finding("warning", "task", f"{usable} usable video; {needed}", task)
    pairs = sum(video.entry.annotation is not None for video in videos)
    if entry.videos and not pairs and not entry.without_video:
        line = f"none of {len(entry.videos)} videos is annotated; everything but scoring works"
        yield Finding("note", "pairing", line, task)
    else:
        kept = "trained on, not scored" if pairs < len(entry.videos) else "left out"
        for left, what in (
            (entry.without_annotation, f"videos without annotation, {kept}"),
            (entry.without_video, "annotations without a video, left out"),
        ):
            if left:
                yield Finding("warning", "pairing", f"{len(left)} {what}: like {left[0]}", task)
    yield from check_task_features(
        task, {video.entry.path: video.features for video in videos if video.features is not None}
    )
    if registered is None and (inner := tasks_inside(entry)):
        line = (
            f"all videos lie in folders of its folder ({first_few(inner)}), which looks like a root one level too "
            f"high; expected the folder of the tasks: if they are tasks, set root to its folder {task}"
        )
        yield Finding("warning", "task", line, task)
    if registered is not None and registered.n_videos not in (None, pairs):
        published = f"published were {registered.n_videos}; results are not comparable as they are"
        yield Finding("warning", "task", f"{pairs} annotated videos, {published}", task)
    annotated = [video.annotation for video in videos if video.annotation is not None]
    occurring = set[int | str]().union(*(video.step_ids for video in videos))
    expected = registered.step_ids if registered is not None else tuple(range(1, (K or 0) + 1))
    never = [step for step in expected if step not in occurring]
    # Other releases number the steps of a registered task in their own way.
    if annotated and never and occurring <= set(expected):
        key_steps = f"{len(occurring)} of {len(expected)} key steps are annotated"
        yield Finding("note", "key_steps", f"step {id_ranges(never)} never occurs: {key_steps}", task)
    if overlaps := sum(one.overlaps for one in annotated):
        seconds = sum(one.overlap_s for one in annotated)
        line = f"{overlaps} segments overlap for {seconds:.1f} s in all; the later row of a file wins"
        yield Finding("note", "overlap", line, task)


def _of_numbers(study: Study, dataset: str, task: str, videos: Sequence[VideoReport]) -> Iterator[Finding]:
    """Yield why a number of key steps is to be questioned, of every result that its page shows."""
    entry = study.config.dataset(dataset)
    methods = study.config.page.methods if entry.page_methods is None else entry.page_methods
    for text in methods:
        method, _, decoder = text.partition("/")
        with suppress(RgwotError):
            settings = study.experiments.settings(method, decoder, dataset)
            seconds = [video.facts.duration_s for video in videos if video.facts.duration_s is not None]
            made = [video.features.count for video in videos if video.features is not None]
            counts = made or [int(one * settings.features.fps) + 1 for one in seconds]
            if isinstance(settings.decode.K, int) and (line := too_fine(settings.decode.K, counts)):
                yield Finding("warning", "key_steps", f"{text}: {line}", task)


def _of_lengths(task: str, videos: Sequence[VideoReport]) -> Iterator[Finding]:
    """Yield which videos seem to be parts of a recording by their names, or hold less or more by their lengths."""
    lengths = {video.entry.name: video.facts.duration_s for video in videos if video.usable}
    cut = parts_among(lengths)
    whole = set(lengths).difference(*cut)
    usual = median([lengths[name] or 0.0 for name in whole] or [0.0])
    for parts in cut:
        # Takes of one person are named like parts, but last as long as the others, or all files are named so.
        if whole and (not usual or any((lengths[name] or 0.0) < _PART * usual for name in parts)):
            line = f"{', '.join(parts)}: named like parts of one recording; {_WHOLE}; join them"
            yield Finding("warning", "length", line, task)
    logs = {name: math.log(length) for name, length in lengths.items() if length and name in whole}
    if len(logs) < _FEW:
        return
    middle = median(logs.values())
    limit = max(math.log(_FAR), 2 * median(abs(one - middle) for one in logs.values()))
    far = [name for name, one in logs.items() if abs(one - middle) > limit]
    if far:
        listed = ", ".join(f"{name} ({lengths[name]:.1f} s)" for name in far[:_LISTED])
        line = (
            f"{len(far)} of {len(logs)} videos are far from the median of {math.exp(middle):.1f} s: {listed}; {_WHOLE}"
        )
        yield Finding("note", "length", line, task)


def _of_copies(root: Path, videos: Sequence[VideoReport]) -> Iterator[Finding]:
    """Yield which files have the same content as one before them."""
    by_size: dict[int, list[VideoReport]] = {}
    for video in videos:
        if video.usable and (path := root / video.entry.path).is_file():
            by_size.setdefault(path.stat().st_size, []).append(video)
    for alike in by_size.values():
        first: dict[str, str] = {}
        for video in alike if len(alike) > 1 else ():
            name = str(video.entry.path)
            if (earlier := first.setdefault(sha256(root / name), name)) != name:
                line = f"has the same content as {earlier}, and counts twice; remove one of them"
                yield Finding("warning", "copy", line, video.task, name)


def _of_groups(study: Study, dataset: str, task: str, videos: Sequence[str]) -> Iterator[Finding]:
    """Yield what the table of the groups of a task says, and what is wrong with it; nothing where there is none."""
    column = study.config.dataset(dataset).group
    try:
        path = datasets.video_table(study, dataset, task)
        if path is None:
            return
        table = read_video_table(path)
        if column not in table:
            others = ", ".join(columns_of(table)) or "none but video"
            line = f"{path}: no column {column!r}, so its page compares no groups; found {others}"
            yield Finding("warning", "groups", f"{line}; set `group` of the dataset to one, or rename it", task)
            return
        of_video, unknown = groups_in(table, path, videos, column, task)
    except RgwotError as error:
        yield Finding("error", "groups", str(error), task)
        return
    if unknown:
        line = f"{path}: {len(unknown)} of {len(table)} rows are no video of this task: like {unknown[0]!r}"
        yield Finding("warning", "groups", line, task)
    sizes = Counter(of_video.values())
    named = ", ".join(f"{name} {size}" for name, size in sorted(sizes.items())) or "none"
    line = f"groups by {column}: {named}; {len(videos) - len(of_video)} of {len(videos)} videos in none"
    yield Finding("note" if len(sizes) > 1 else "error", "groups", line, task)
