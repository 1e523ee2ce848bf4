"""Writing synthetic datasets: H.264 videos and their annotation files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path

import av
from tqdm import tqdm

from rgwot.files import replacing, write_text
from rgwot.synthetic.ground_truth import FPS
from rgwot.synthetic.looks import step_names, task_look
from rgwot.synthetic.plan import VideoPlan, annotation, names, plan
from rgwot.synthetic.scenes import Scene
from rgwot.synthetic.settings import SynthSettings

__all__ = ["names", "write_dataset", "write_video"]

_FORMATS = {".mp4": "mp4", ".avi": "avi"}
# One thread, because x264 decides differently with another number; a key frame a second makes seeking cheap.
_X264 = {"preset": "veryfast", "crf": "25", "g": str(FPS), "threads": "1"}


def write_video(path: str | os.PathLike[str], scene: Scene) -> int:
    """Write a scene as H.264 (yuv420p, exactly 30 frames per second); return the number of frames.

    Parameters
    ----------
    path
        Ends in ``.mp4`` or ``.avi``, in any case.
    scene
        Frame ``i`` is the scene at ``i / 30`` seconds.

    Raises
    ------
    ValueError
        If the container is another one.
    """
    container_format = _FORMATS.get(Path(path).suffix.lower())
    if container_format is None:
        raise ValueError(f"{path}: cannot write this container; expected {' or '.join(_FORMATS)}")
    options = dict(_X264)
    if container_format == "avi":
        options["bf"] = "0"  # AVI has no presentation times, so frames must be stored in the order shown
    with replacing(path) as temporary, av.open(str(temporary), "w", format=container_format) as container:
        stream = container.add_stream("libx264", rate=FPS, options=options)
        stream.width, stream.height, stream.pix_fmt = scene.width, scene.height, "yuv420p"
        stream.time_base = Fraction(1, FPS)
        stream.codec_context.thread_count = 1
        for index in range(scene.n_frames):
            frame = av.VideoFrame.from_ndarray(scene.frame(index, index / FPS), format="rgb24")
            frame.pts, frame.time_base = index, Fraction(1, FPS)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return scene.n_frames


def write_dataset(settings: SynthSettings, root: str | os.PathLike[str], jobs: int = 1) -> list[Path]:
    """Write a whole synthetic dataset below ``root``: the stage behind ``rgwot synth``.

    Parameters
    ----------
    settings
        What to write.
    root
        Folder of the dataset; made when missing. Files of the same name are replaced, others are left alone.
    jobs
        Videos written at the same time, each by one process.

    Returns
    -------
    list of Path
        The videos in the order of the plan.

    Raises
    ------
    RgwotError
        If the settings ask for what does not exist.
    """
    videos = plan(settings)
    written = _written(videos, Path(root), settings, jobs)
    # Quiet where there is no terminal: a log wants lines, not a bar.
    for _ in tqdm(written, total=len(videos), desc="synth", unit="video", disable=None):
        pass
    return [Path(root) / video.place.video for video in videos]


def _written(videos: list[VideoPlan], root: Path, settings: SynthSettings, jobs: int) -> Iterator[str]:
    size = settings.width, settings.height
    if jobs <= 1:
        for video in videos:
            yield _write_one(video, root, size)
        return
    # A spawned process inherits no open files, locks or threads of a caller that may have loaded torch.
    with ProcessPoolExecutor(min(jobs, len(videos)), mp_context=get_context("spawn")) as pool:
        pending = [pool.submit(_write_one, video, root, size) for video in videos]
        for done in as_completed(pending):
            yield done.result()


def _write_one(video: VideoPlan, root: Path, size: tuple[int, int]) -> str:
    look = task_look(video.K, video.look_seed)
    write_text(annotation(video, step_names(look)), root / video.place.annotation)
    write_video(root / video.place.video, Scene(look, video.timeline, video.seed, *size))
    return video.place.stem
