"""Writing synthetic datasets: videos and their annotation files."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import nullcontext
from fractions import Fraction
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from typing import cast

import av

from rgwot.config.synthetic import SynthSettings
from rgwot.runtime.files import replacing
from rgwot.runtime.progress import Progress
from rgwot.synthetic.ground_truth import FPS
from rgwot.synthetic.looks import task_look
from rgwot.synthetic.plan import VideoPlan, plan
from rgwot.synthetic.scenes import Scene

log = logging.getLogger(__name__)

# Container, codec and its options per suffix. One thread and no mbtree, because x264 decides differently from run to
# run otherwise. AVI stores no presentation times, which decord then makes up for H.264, but not for MPEG-4.
_H264 = {"preset": "veryfast", "crf": "27", "x264-params": "mbtree=0"}
_CODECS = {
    ".mp4": ("mp4", "libx264", _H264),
    ".mkv": ("matroska", "libx264", _H264),
    ".webm": ("webm", "libvpx-vp9", {"deadline": "realtime", "cpu-used": "8", "b": "1M", "row-mt": "0"}),
    ".avi": ("avi", "mpeg4", {"qmin": "2", "qmax": "6", "b": "2M"}),
}
# Matroska puts a random number into every file otherwise.
_SAME_BYTES = {"fflags": "+bitexact"}


def write_video(path: str | os.PathLike[str], scene: Scene, fps: Fraction = Fraction(FPS)) -> int:
    """Write a scene at a constant rate, yuv420p; return the number of frames.

    The path ends in ``.mp4`` or ``.mkv`` (H.264), ``.webm`` (VP9) or ``.avi`` (MPEG-4), in any case; frame ``i`` is the
    scene at ``i / fps`` seconds.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in _CODECS:
        raise ValueError(f"{path}: cannot write this container; expected {' or '.join(_CODECS)}")
    container_format, codec, options = _CODECS[suffix]
    # A key frame a second makes seeking cheap.
    options = {**options, "g": str(round(fps)), "threads": "1"}
    n_frames = scene.n_frames(fps)
    with (
        replacing(path) as temporary,
        av.open(str(temporary), "w", format=container_format, container_options=_SAME_BYTES) as container,
    ):
        stream = cast(av.VideoStream, container.add_stream(codec, rate=fps, options=options))
        stream.width, stream.height, stream.pix_fmt = scene.width, scene.height, "yuv420p"
        stream.time_base = 1 / fps
        for index in range(n_frames):
            picture = av.VideoFrame.from_ndarray(scene.frame(index, float(index / fps)), format="rgb24")
            frame = picture.reformat(format="yuv420p")
            frame.pts, frame.time_base = index, 1 / fps
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return n_frames


def write_dataset(settings: SynthSettings, root: str | os.PathLike[str], jobs: int = 1) -> list[Path]:
    """Write a whole synthetic dataset below ``root``: the stage behind ``rgwot synth``.

    A new folder appears when it is whole; in one that is there files of the same name are replaced one by one, and
    others are left alone. As many videos as ``jobs`` are written at the same time, each by one process. Returns the
    videos in the order of the plan.

    Raises RgwotError if the settings ask for what does not exist.
    """
    videos = plan(settings)
    with (
        nullcontext(Path(root)) if Path(root).exists() else replacing(root) as folder,
        Progress(log, f"synth {root}", len(videos), unit="video") as progress,
    ):
        for video in videos:
            with replacing(folder / video.annotation) as temporary:
                temporary.write_text(annotation_text(video), encoding="utf-8")
        for _ in _written(videos, folder, settings, jobs):
            progress.advance(1)
    return [Path(root) / video.video for video in videos]


def annotation_text(video: VideoPlan) -> str:
    """Spell the ground truth of a video as ``start,end,<int> <name>``, seconds, one line per segment."""
    segments = video.timeline.segments
    return "".join(
        f"{round(start, 3)},{round(end, 3)},{step} {video.names[step - 1]}\n" for start, end, step in segments
    )


def _written(videos: list[VideoPlan], root: Path, settings: SynthSettings, jobs: int) -> Iterator[str]:
    size = settings.width, settings.height
    if jobs <= 1:
        for video in videos:
            yield _write_one(video, root, size)
        return
    # A spawned process inherits no open files, locks or threads of a caller that may have loaded torch.
    workers = min(jobs, len(videos))
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_end_with_parent) as pool:
        pending = [pool.submit(_write_one, video, root, size) for video in videos]
        for done in as_completed(pending):
            yield done.result()


def _end_with_parent() -> None:
    """Let this process end when the one that started it does, however that was killed."""
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_exit_after, args=(parent.sentinel,), daemon=True).start()


def _exit_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


def _write_one(video: VideoPlan, root: Path, size: tuple[int, int]) -> str:
    look = task_look(video.K, video.look_seed)
    write_video(root / video.video, Scene(look, video.timeline, video.seed, *size))
    return video.video
