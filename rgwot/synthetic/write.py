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
from pathlib import Path

import av

from rgwot.config.configuration import SynthSettings
from rgwot.runtime.files import replacing, write_text
from rgwot.runtime.progress import Progress
from rgwot.synthetic.looks import task_look
from rgwot.synthetic.plan import VideoPlan, plan
from rgwot.synthetic.scenes import Scene
from rgwot.synthetic.timelines import FPS

log = logging.getLogger(__name__)

# One thread and no mbtree, because x264 decides differently from run to run otherwise; a key frame a second makes
# seeking cheap.
_X264 = {"preset": "veryfast", "crf": "27", "x264-params": "mbtree=0", "g": str(FPS), "threads": "1"}


def write_video(path: str | os.PathLike[str], scene: Scene) -> None:
    """Write a scene as an ``.mp4``, H.264 in yuv420p; frame ``i`` is the scene at ``i / FPS`` seconds."""
    with (
        replacing(path) as temporary,
        # Else a container may hold something that differs from run to run.
        av.open(str(temporary), "w", format="mp4", container_options={"fflags": "+bitexact"}) as container,
    ):
        stream = container.add_stream("libx264", rate=FPS, options=_X264)
        stream.width, stream.height, stream.pix_fmt = scene.width, scene.height, "yuv420p"
        stream.time_base = Fraction(1, FPS)
        for index in range(scene.n_frames(Fraction(FPS))):
            picture = av.VideoFrame.from_ndarray(scene.frame(index, index / FPS), format="rgb24")
            frame = picture.reformat(format="yuv420p")
            frame.pts, frame.time_base = index, Fraction(1, FPS)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def write_dataset(settings: SynthSettings, root: str | os.PathLike[str], jobs: int = 1) -> list[Path]:
    """Write a whole synthetic dataset below ``root``.

    A new folder appears when it is whole; in one that is there files of the same name are replaced one by one, and
    others are left alone. As many videos as ``jobs`` are written at the same time, each by one process. Returns the
    videos in the order of the plan.
    """
    return write_videos(plan(settings), settings, root, jobs)


def write_videos(
    videos: list[VideoPlan], settings: SynthSettings, root: str | os.PathLike[str], jobs: int = 1
) -> list[Path]:
    """Write planned videos as `write_dataset` does; of the settings only the size of the pictures is read."""
    with (
        nullcontext(Path(root)) if Path(root).exists() else replacing(root) as folder,
        Progress(log, f"synth {root}", len(videos), unit="video") as progress,
    ):
        for video in videos:
            rows = (
                f"{round(start, 3)},{round(end, 3)},{step} {video.names[step - 1]}\n"
                for start, end, step in video.timeline.segments
            )
            write_text("".join(rows), folder / video.annotation)
        for _ in _written(videos, folder, settings, jobs):
            progress.advance(1)
    return [Path(root) / video.video for video in videos]


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
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def _write_one(video: VideoPlan, root: Path, size: tuple[int, int]) -> str:
    look = task_look(video.K, video.look_seed)
    write_video(root / video.video, Scene(look, video.timeline, video.seed, *size))
    return video.video
