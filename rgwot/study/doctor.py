"""Examination of a dataset for `rgwot doctor`, which reports all faults at once.

It checks files, pairs of video and annotation, whether videos can be decoded to their end, annotations, imported
features, and the machine.
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
from typing import TYPE_CHECKING

from rgwot.blocks import load
from rgwot.columns import readable
from rgwot.config.configuration import load_config
from rgwot.datasets import folder
from rgwot.datasets.annotation_files import of_no_video
from rgwot.datasets.annotations import id_ranges
from rgwot.datasets.arrays import feature_file, holding_file
from rgwot.datasets.base import DatasetFiles, TaskFiles, VideoEntry, too_few_videos
from rgwot.datasets.feature_files import FileFacts, open_features
from rgwot.datasets.finding import NoTaskFound, first_few, layout_module, tasks_inside
from rgwot.datasets.manifest import leftovers, not_read, read_annotation
from rgwot.datasets.names import chapters_among, parts_among
from rgwot.datasets.registry import TaskFacts, match_name
from rgwot.datasets.text import DataFault, tell
from rgwot.datasets.video_table import columns_of, groups_in, read_video_table
from rgwot.embedding.values import LONG_S, Values, on_lengths, unlikely_lengths, unusual, unusual_lengths, usual_length
from rgwot.features.index import size_text, unlike
from rgwot.features.settings import FeatureSettings, extractor
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.progress import Progress
from rgwot.runtime.provenance import sha256
from rgwot.runtime.text import look_alike
from rgwot.study import datasets, pages
from rgwot.study.datasets import MIN_VIDEOS
from rgwot.study.findings import (
    Finding,
    Report,
    VideoFacts,
    VideoReport,
    below,
    examining,
    file_of,
    of_error,
)
from rgwot.study.jobs import weights_file
from rgwot.study.study import Study, Task
from rgwot.timing import VideoInfo, allowed_loss, ends_early, repeated_frames

if TYPE_CHECKING:
    from rgwot.datasets.settings import ImportSettings

#: Number of frames decoded per video, from the first to the last before the loss that is tolerated at the end.
SAMPLES = 5
#: Timeout in seconds: with PyAV for each sample, with other readers for all samples of a video together.
SAMPLING_TIMEOUT_S = 30.0
#: Number of features read at once.
FRAMES_PER_READ = 64
_SIDE = 64
_LISTED = 3
# With fewer lengths than this, the usual length is unknown.
_FEW = 4
# A length is unusual if it differs from the median by more than this factor, and by more than twice the usual
# deviation.
_FAR = 5 / 3
# Files named like parts of a recording count as parts if one is shorter than this share of the usual length.
_PART = 0.75
_WHOLE = "a file should hold one whole performance, because methods compare beginnings, middles and ends"

_JOIN = (
    "join them: ffmpeg -f concat -safe 0 -i LIST.txt -c copy JOINED.mp4, where LIST.txt has a line file 'NAME' for each"
)


def check_video(path: Path, settings: FeatureSettings, frames_fps: Fraction | None, quick: bool) -> VideoFacts:
    """Examine a video file, or only its directory entry if ``quick``; return its facts, and faults of its frames.

    The video is read by the settings of extraction, for at most `SAMPLING_TIMEOUT_S`; ``frames_fps`` is the rate of
    stored frames if the file has none.

    Raises RgwotError or OSError if the later stages cannot open the video.
    """
    if path.stat().st_size == 0:
        raise DataFault("video", path, "", "empty file (0 bytes); expected a video; copy or download it again")
    if quick:
        return VideoFacts()
    from rgwot.video import probe

    info = probe(path, frames_fps)
    facts, missing = _sampled(path, info, settings, frames_fps)
    for fault in filter(None, (stated_frames(info), missing)):
        tell("frames", path, fault, "error")
    if info.remark:
        tell("video", path, info.remark)
    if doubt := repeated_frames(info, settings.fps):
        tell("fps", path, doubt)
    return facts


def stated_frames(info: VideoInfo) -> str:
    """Return a fault if the number of frames that a container states does not fit its duration, or an empty text."""
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
    """Decode some frames; return the facts of the video, and a fault if a frame is missing."""
    import numpy as np

    from rgwot.video import FrameReader, VideoError, readers_of
    from rgwot.video.probing import REMEDY

    # The last sample is before the tolerated loss at the end; in very short videos it is in the middle.
    times = np.linspace(0.0, info.duration_s - min(allowed_loss(info.duration_s), info.duration_s / 2), SAMPLES)
    missing, used, failures = list(range(SAMPLES)), dict[str, None](), dict[str, None]()
    for reader in readers_of(path, settings.reader):
        # PyAV decodes everything between two times, so times are requested one by one.
        for requested in [[i] for i in missing] if reader == "pyav" else [list(missing)] * bool(missing):
            with FrameReader(
                path,
                times[requested],
                _SIDE,
                reader,
                min(settings.timeout_s, SAMPLING_TIMEOUT_S),
                batch=len(requested),
                threads=1,
                frames_fps=frames_fps,
            ) as frames:
                with suppress(VideoError):
                    for indices, _ in frames:
                        for i in indices:
                            missing.remove(requested[int(i)])
                failures |= dict.fromkeys(frames.failures)
                used |= dict.fromkeys(frames.readers)
    facts = VideoFacts(info.duration_s, info.fps, SAMPLES - len(missing), "+".join(used) or None, info.start_s)
    if not missing:
        return facts, ""
    return facts, (
        f"no frame can be decoded at {', '.join(f'{times[i]:.2f}' for i in missing)} s of {info.duration_s:.2f} s "
        f"({'; '.join(list(failures)[:_LISTED])}); expected frames up to 1 % or 1 s before the end; {REMEDY}"
    )


def check_features(
    path: Path, settings: ImportSettings, video: VideoFacts | None, quick: bool
) -> tuple[FileFacts | None, VideoFacts, Values | None]:
    """Examine every value of a file of features with the importing code, or only its directory entry if ``quick``.

    ``video`` has the facts of its video, None if there is none. Returns the facts of the features (None if ``quick``),
    facts that can stand in for those of a video, and what is unusual in the values of vectors.

    Raises RgwotError or OSError if the file cannot be used.
    """
    # Imported here, because the examination of videos should not wait for Zarr.
    import numpy as np

    from rgwot.embedding.values import check_first_row, values_of
    from rgwot.features.importing import fitted, read_maps

    if quick:
        holding_file(path).stat()
        return None, VideoFacts(), None
    with open_features(path, settings) as array:
        filmed = None
        if video is not None and video.duration_s is not None:
            filmed = VideoInfo(video.duration_s, video.fps or Fraction(1))
        measured, _, n_kept, _ = fitted(path, array, settings, filmed)
        dtype = "float16" if "H" in settings.axes else "float32"
        vectors = []
        for start in range(0, n_kept, FRAMES_PER_READ):
            maps = read_maps(path, array, settings.axes, start, min(start + FRAMES_PER_READ, n_kept), dtype)
            if "H" not in settings.axes:
                vectors.append(maps[:, :, 0, 0])
        values = None
        if vectors:
            check_first_row(path, vectors[0])
            values = values_of(np.concatenate(vectors))
            if settings.keypoints is not None:
                # A tracked point may move evenly, so its coordinates are not taken for a clock.
                values = values._replace(clocks=())
            if array.holes:
                # Already reported.
                values = values._replace(still=(0, 0), still_channels=())
    return measured, VideoFacts(measured.footage.duration_s, measured.footage.fps), values


def torch_cache() -> Path:
    """Return the folder of PyTorch's downloaded weights, without importing PyTorch."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "torch"
    return Path(os.environ.get("TORCH_HOME", cache)).expanduser() / "hub" / "checkpoints"


def lacking(study: Study, dataset: str) -> Iterator[Finding]:
    """Yield a finding for everything that this machine lacks for making the features of a dataset."""
    settings = study.experiments.common(FeatureSettings, dataset)
    backbone, weights = extractor(settings.backbone), settings.weights
    try:
        weights_file(study, dataset)
        if backbone.members:
            # The library knows whether the network, layer and weights exist.
            load(f"{backbone.module}:check")(backbone.member, weights)
            load(f"{backbone.module}:network")(backbone.member)
    except RgwotError as error:
        yield Finding("error", "machine", str(error))
        return
    if weights in backbone.weights and backbone.packaged(weights) is None:
        path = torch_cache() / backbone.weights[weights].rpartition("/")[2]
        if not path.is_file():
            line = f"weights {weights} are not in {path}; the first extraction downloads {backbone.megabytes} MB"
            yield Finding("note", "machine", line)


_LOG = logging.getLogger(__name__)


def examine(
    content: Mapping[str, object],
    dataset: str,
    tasks: Sequence[str] = (),
    *,
    where: str = "config.yaml",
    quick: bool = False,
    jobs: int = 1,
) -> Report:
    """Examine a dataset with the workflow's own code for finding and reading it, ``jobs`` videos at once.

    The ``dataset`` is found in the configuration ``content`` (called ``where`` in messages) whatever the case and the
    punctuation of its name. Without ``tasks``, all tasks that the workflow would use are examined. If ``quick``, no
    video is opened, and rules that need its length are left out.

    Raises RgwotError if the configuration, dataset or task is unknown, or the folder does not exist.
    """
    study = Study(load_config(content, where))
    dataset = match_name(dataset, study.config.datasets, f"{where}: dataset")
    entry, root = study.config.dataset(dataset), study.config.root_of(dataset)
    if entry.synth is not None and not root.is_dir():
        raise RgwotError(
            f"dataset {dataset!r}: no folder {root}; the dataset is synthetic, and the workflow makes the folder when "
            f"needed; to make it now: rgwot run {root}"
        )
    files = DatasetFiles(dataset, str(root), {})
    try:
        files = datasets.dataset_files(study, dataset)
        task_ids = datasets.tasks(study, dataset)
    except (RgwotError, OSError) as error:
        none = isinstance(error, NoTaskFound)
        if isinstance(error, RgwotError) and not none and file_of(error) is None:
            raise
        fault = of_error(error, root, None, "task" if none else "release", None)
        return Report(dataset, entry.layout, root, files, quick, {}, (), (fault,))
    names = dict.fromkeys(match_name(task, task_ids, f"task of {dataset}") for task in tasks) or task_ids
    chosen = [Task(study, dataset, name) for name in names]
    pairs = [(task, video) for task in chosen for video in files.tasks.get(task.name, TaskFiles()).videos]
    videos: list[VideoReport] = []
    # Threads suffice, because other processes decode the videos.
    with ThreadPoolExecutor(max(1, jobs)) as pool, Progress(_LOG, "doctor", len(pairs), unit="video") as progress:
        for video in pool.map(partial(_examined, quick), pairs):
            videos.append(video)
            progress.advance(1)
    K_of_task: dict[str, int | None] = {}
    findings: list[Finding] = []
    if entry.imported is None:
        findings += lacking(study, dataset)
    if files.unassigned and not tasks:
        line = f"{len(files.unassigned)} videos belong to no known task and are ignored, such as {files.unassigned[0]}"
        findings.append(Finding("warning", "unassigned", line))
    if files.stray and not tasks:
        findings.append(Finding("note", "kind", not_read(files.stray, "in no task are left out")))
    for alike in look_alike(map(readable, task_ids)):
        line = f"tasks {', '.join(map(repr, alike))} count as different; if they are one task, use one folder"
        findings.append(Finding("warning", "task", line))
    if not quick:
        findings += _of_copies(root, videos)
    for task in chosen:
        name, of_task = task.name, tuple(video for video in videos if video.task == task.name)
        K_of_task[name] = datasets.known_K(task)
        of_videos = [finding for video in of_task for finding in video.findings]
        findings += dict.fromkeys([*_of_task(files, name, task.facts, K_of_task[name], of_task), *of_videos])
        usable = of_task and files.tasks[name].problem is None
        for path in datasets.changed_sources(task) if usable and not quick else ():
            findings.append(Finding("error", "changed", datasets.CHANGED, name, below(path, root)))
        if layout_module(entry.layout).read_annotation is folder.read_annotation:
            for path, line in of_no_video(root, (video.entry for video in of_task), task.options):
                findings.append(Finding("warning", "pairing", line, name, below(path, root)))
        findings += _of_lengths(name, of_task)
        findings += _of_groups(task, [video.entry.video for video in of_task])
        with examining(findings, root, name, "date", None):
            pages.told_by_people(task)
    return Report(dataset, entry.layout, root, files, quick, K_of_task, tuple(videos), tuple(findings))


def _examined(quick: bool, item: tuple[Task, VideoEntry]) -> VideoReport:
    """Examine a video, its annotation and its features; annotated times are checked only if its length is known."""
    task, video = item
    name, entry, root, options, form = task.name, task.entry, task.root, task.options, task.entry.imported
    findings, faults = list[Finding](), list[Finding]()
    facts, feature_facts, annotation, values = None, None, None, None
    of_video = partial(examining, findings, root, name)
    if form is not None and entry.features_alone:
        with of_video("features", video.path):
            feature_facts, facts, values = check_features(root / video.path, form, None, quick)
    else:
        with of_video("video", video.path):
            features = task.study.experiments.common(FeatureSettings, task.dataset)
            facts = check_video(root / video.path, features, options.told_fps, quick)
        if form is not None:
            with of_video("features", video.path):
                path = feature_file(task.study.config.folder(form.folder or entry.root), name, video.video)
                datasets.plain_path(str(path))
                feature_facts, _, values = check_features(path, form, facts, quick)
    for named in (video.path, video.annotation or ""):
        with of_video("name", named):
            datasets.plain_path(named)
        with of_video("date", named):
            datasets.dated_path(str(holding_file(root / named)))
    # A context above may have caught an error, which mypy does not know.
    usable, facts = facts is not None, facts or VideoFacts()  # type: ignore[redundant-expr,truthy-bool]
    if video.annotation is not None:
        clock = None
        if facts.duration_s is not None and facts.fps is not None:
            clock = VideoInfo(facts.duration_s, facts.fps, start_s=facts.start_s)
        with examining(faults, root, name, "release", video.annotation):
            annotation = read_annotation(layout_module(entry.layout), root, video, task.facts, clock, options)
    if faulty := any(fault.severity == "error" for fault in faults):
        # If rows cannot be read, do not also report that there are none.
        faults = [fault for fault in faults if fault.rule != "no_rows"]
    return VideoReport(
        name, video, usable, facts, annotation, faulty, (*findings, *faults), feature_facts, values, options.silence
    )


def _of_task(
    files: DatasetFiles, task: str, registered: TaskFacts | None, K: int | None, videos: Sequence[VideoReport]
) -> Iterator[Finding]:
    """Yield findings on a task as a whole."""
    prefix, entry = f"{files.dataset}/{task}: ", files.tasks.get(task, TaskFiles())
    usable = sum(video.usable for video in videos)
    for path, reason in entry.unusable:
        yield Finding("error", "name", reason, task, path)
    try:
        files.of(task)
    except RgwotError as error:
        if entry.problem is None or not entry.unusable:
            rule = "task" if entry.problem is None else "pairing"
            yield Finding("error", rule, str(error).removeprefix(prefix), task)
        if task not in files.tasks:
            return
    else:
        if usable < 1:
            line = too_few_videos(files.dataset, task, usable, 1, files.where).removeprefix(prefix)
            yield Finding("error", "task", line, task)
        elif usable < MIN_VIDEOS:
            needed = f"methods that train, and orders, need at least {MIN_VIDEOS}"
            yield Finding("warning", "task", f"{usable} usable video; {needed}", task)
    yield from (Finding(*told, task) for told in leftovers(entry, registered is not None))
    yield from _of_features(task, videos)
    if registered is None and (inner := tasks_inside(entry)):
        line = (
            f"all videos lie in subfolders of the task's folder ({first_few(inner)}), as if root were one level too "
            f"high; expected videos in that folder; if the subfolders are the tasks, set root to the folder {task}"
        )
        yield Finding("warning", "task", line, task)
    pairs = sum(video.entry.annotation is not None for video in videos)
    if registered is not None and registered.n_videos not in (None, pairs):
        published = f"published results used {registered.n_videos}, so they are not comparable"
        yield Finding("warning", "task", f"{pairs} annotated videos, {published}", task)
    yield from _of_annotations(task, registered, K, videos)


def _of_features(task: str, videos: Sequence[VideoReport]) -> Iterator[Finding]:
    """Yield findings on the features of a task: different sizes, and unusual values."""
    measured = {video.entry.path: (video.features, video.values) for video in videos if video.features is not None}
    for file, fault in unlike([(Path(path), _size(facts), facts.columns) for path, (facts, _) in measured.items()]):
        yield Finding("error", "features", fault, task, file.as_posix())
    known = {path: values for path, (_, values) in measured.items() if values}
    times = {path: measured[path][0].times for path in known}
    columns = next((facts.columns.split("\n") for facts, _ in measured.values() if facts.columns), [])
    for path, lines in unusual(known, times, columns).items():
        for line in lines:
            yield Finding("warning", "values", line, task, path or None)


def _of_annotations(
    task: str, registered: TaskFacts | None, K: int | None, videos: Sequence[VideoReport]
) -> Iterator[Finding]:
    """Yield findings on the annotations of a task: units of time, key steps that never occur, names, overlaps."""
    spans = {
        video.entry.name: video.annotation.span(video.facts.duration_s, video.silence)
        for video in videos
        if video.annotation is not None and video.facts.duration_s is not None and not video.faulty
    }
    for name, line in ends_early(spans).items():
        yield Finding("warning", "unit", f"annotation of {name}: {line}", task)
    annotated = [video.annotation for video in videos if video.annotation is not None]
    occurring = set[int | str]().union(*(video.step_ids for video in videos))
    expected = registered.step_ids if registered is not None else tuple(range(1, (K or 0) + 1))
    never = [step for step in expected if step not in occurring]
    # Only if no other step occurs, because other releases number the steps of a registered task differently.
    if annotated and never and occurring <= set(expected):
        key_steps = f"{len(occurring)} of {len(expected)} key steps are annotated"
        yield Finding("note", "key_steps", f"step {id_ranges(never)} never occurs: {key_steps}", task)
    for alike in look_alike(step for step in occurring if isinstance(step, str)):
        line = f"steps {', '.join(map(repr, alike))} count as different; if they are one step, spell them alike"
        yield Finding("warning", "key_steps", line, task)
    if overlaps := sum(annotation.overlaps for annotation in annotated):
        seconds = sum(annotation.overlap_s for annotation in annotated)
        line = f"{overlaps} segments overlap, for {seconds:.1f} s in total; the later row of a file is used there"
        yield Finding("note", "overlap", line, task)


def _size(facts: FileFacts) -> str:
    channels, *space = (facts.sizes[axis] for axis in "CHW")
    return size_text((channels,) if space == [1, 1] else (channels, *space), float(facts.fps))


def _of_lengths(task: str, videos: Sequence[VideoReport]) -> Iterator[Finding]:
    """Yield findings on chapters and parts of one recording, and on videos of unusual length."""
    lengths = {video.entry.name: video.facts.duration_s for video in videos if video.usable}
    chapters = chapters_among(lengths)
    for names in chapters:
        yield Finding("warning", "length", f"{first_few(names)}: chapters of one recording; {_WHOLE}; {_JOIN}", task)
    cut = parts_among(set(lengths).difference(*chapters))
    whole = set(lengths).difference(*cut, *chapters)
    usual = median([lengths[name] or 0.0 for name in whole] or [0.0])
    for parts in cut:
        # Takes of a person are named like parts, too, but are as long as other files, or all files have such names.
        if whole and (not usual or any((lengths[name] or 0.0) < _PART * usual for name in parts)):
            line = f"{', '.join(parts)}: the names look like parts of one recording; {_WHOLE}; join them"
            yield Finding("warning", "length", line, task)
    # A recording whose times make it longer than a day is reported with its file (`doubted_times`).
    known = [
        length
        for video in videos
        if video.features is not None
        and (length := video.facts.duration_s) is not None
        and (video.features.times is None or length < LONG_S)
    ]
    if line := unlikely_lengths(known):
        yield Finding("warning", "length", line, task)
    logs = {name: math.log(length) for name, length in lengths.items() if length and name in whole}
    if len(logs) < _FEW:
        return
    middle = median(logs.values())
    limit = max(math.log(_FAR), 2 * median(abs(log - middle) for log in logs.values()))
    known_s = {name: lengths[name] or 0.0 for name in logs}
    for line in on_lengths(known_s):
        yield Finding("warning", "length", line, task)
    told = unusual_lengths(known_s, usual_length(known_s.values()))
    far = [name for name, log in logs.items() if abs(log - middle) > limit and name not in told]
    if far:
        listed = ", ".join(f"{name} ({lengths[name]:.1f} s)" for name in far[:_LISTED])
        typical = f"the median length of {math.exp(middle):.1f} s"
        line = f"{len(far)} of {len(logs)} videos differ much from {typical}: {listed}; {_WHOLE}"
        yield Finding("note", "length", line, task)


def _of_copies(root: Path, videos: Sequence[VideoReport]) -> Iterator[Finding]:
    """Yield a finding for each file with the same content as an earlier one."""
    by_size: dict[int, list[VideoReport]] = {}
    for video in videos:
        if video.usable and (path := root / video.entry.path).is_file():
            by_size.setdefault(path.stat().st_size, []).append(video)
    for alike in by_size.values():
        first: dict[str, str] = {}
        for video in alike if len(alike) > 1 else ():
            name = str(video.entry.path)
            if (earlier := first.setdefault(sha256(root / name), name)) != name:
                line = f"has the same content as {earlier}, so it counts twice; remove one of them"
                yield Finding("warning", "copy", line, video.task, name)


def _of_groups(task: Task, videos: Sequence[str]) -> list[Finding]:
    """Return findings on the table with the groups of a task, if there is one."""
    column, findings = task.entry.group, list[Finding]()
    with examining(findings, task.root, task.name, "groups", None):
        path = datasets.video_table(task)
        if path is None:
            return []
        with examining(findings, task.root, task.name, "date", None):
            datasets.dated_path(str(path))
        table = read_video_table(path)
        if column not in table:
            others = ", ".join(columns_of(table)) or "none but video"
            line = f"no column {column!r}, so the page compares no groups; found {others}"
            tell("groups", path, f"{line}; set `group` of the dataset to one of these, or rename one of these")
            return findings
        of_video, unknown = groups_in(table, path, videos, column, task.name)
        if unknown:
            line = f"{len(unknown)} of {len(table)} rows name no video of this task, such as {unknown[0]!r}"
            tell("groups", path, line)
        sizes = Counter(of_video.values())
        for alike in look_alike(sizes):
            tell("groups", path, f"groups {', '.join(map(repr, alike))} count as different; spell each group alike")
        named = ", ".join(f"{name} {size}" for name, size in sorted(sizes.items())) or "none"
        line = f"groups by {column}: {named}; {len(videos) - len(of_video)} of {len(videos)} videos have no group"
        findings.append(Finding("note" if len(sizes) > 1 else "error", "groups", line, task.name))
    return findings
