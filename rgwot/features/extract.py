"""The stage that makes the feature store of a video, chunk by chunk: decode, map, write.

Chunks are those of the store, 64 sampled frames each. One child process decodes the video from front to back
for all chunks, since opening a file scans the whole of it; the network works on one chunk while the next is
decoded and the previous one is written. Decoding waits until the chunk two before is written, so memory holds three
chunks for any length of the video.

The unfinished store is next to the output, under a name that depends on the settings and on the source, with
a file that marks each finished chunk. After a job was killed, the next one continues there; the finished store
is renamed into place. A lock, which the system releases when the process ends, keeps a second job away meanwhile.
"""

from __future__ import annotations

import functools
import glob
import hashlib
import itertools
import json
import logging
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from dask.threaded import get
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from rgwot import __version__
from rgwot.features.backbone import Backbone, load_backbone, weights_digest
from rgwot.features.settings import EXECUTION, extractor
from rgwot.features.store import CHUNK, StoreWriter, is_current, open_store, source_facts, video_facts, write_skipped
from rgwot.paths import STORE
from rgwot.runtime.device import resolve_device
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import move, report_full_disk, write_json
from rgwot.runtime.progress import Progress
from rgwot.timing import allowed_loss, repeated_frames, sample_times
from rgwot.video import FrameReader, VideoError, VideoInfo, decord_package, probe
from rgwot.video.probing import REMEDY

if TYPE_CHECKING:
    from rgwot.features.settings import FeatureSettings


log = logging.getLogger(__name__)

_WORKERS = 3


@dataclass(frozen=True)
class _Chunk:
    """A chunk of n frames, and facts about their decoding.

    ``content`` is the pixels ``(n, size, size, 3)`` uint8 or, after the network has run, a function that returns the
    features (`conv4c`).
    """

    number: int
    content: Any
    decoders: dict[str, str]
    failures: list[str]


class Extraction:
    """The extraction of a video, which continues an interrupted run. It holds a lock until it is closed.

    ``attributes`` record settings and source, and also determine the name of the unfinished store. The ``backbone``
    must be on its device already.
    """

    def __init__(
        self,
        video: Path,
        output: Path,
        info: VideoInfo,
        settings: FeatureSettings,
        attributes: Mapping[str, object],
        backbone: Backbone,
    ) -> None:
        self._video, self._output, self._info, self._settings = video, output, info, settings
        self._attributes = dict(attributes)
        self._backbone = backbone
        self._times = sample_times(info.duration_s, settings.fps)
        self._chunks = range(-(-len(self._times) // CHUNK))
        # The modification time is left out, because a source that was only copied or touched is still the same.
        key = {name: value for name, value in self._attributes.items() if name != "source_mtime_ns"}
        self._folder = _side_folder(output, key)
        self._lock = FileLock(self._folder / "lock")
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise RgwotError(_busy(output)) from None
        shape = backbone.frame_shape(settings.size)
        self._store = StoreWriter(
            self._folder / f"store{STORE}", self._times, shape[1:], settings.codec, shape[0], backbone.entry.layer
        )

    def run(self) -> None:
        """Compute the chunks that are not finished."""
        missing = [number for number in self._chunks if not self._finished(number)]
        if not missing:
            return
        missing_times = np.concatenate([self._times_of(number) for number in missing])
        settings = self._settings
        frames = FrameReader(
            self._video,
            missing_times,
            settings.size,
            settings.reader,
            settings.timeout_s,
            settings.batch,
            frames_fps=self._info.fps,
        )
        with (
            # This context is the outermost, so that the reader is closed first, which ends a task that waits for
            # frames.
            ThreadPoolExecutor(_WORKERS) as pool,
            frames as reader,
            Progress(
                log, self._video.name, len(self._times), len(self._times) - len(missing_times), "frame"
            ) as progress,
        ):
            self._reader, self._progress = reader, progress.advance
            self._frames = (frame for _, frames in reader for frame in frames)
            graph = self._graph(missing)
            get(graph, [key for key in graph if key[0] == "write"], pool=pool)  # type: ignore[no-untyped-call]

    def finish(self, on_bad_video: Literal["fail", "skip"]) -> None:
        """Check the decoded frames, complete the store and move it into place.

        Raises VideoError if ``on_bad_video`` is ``fail`` and more than `allowed_loss` of the video is missing.
        """
        marks = [self._finished(number) for number in self._chunks]
        if not all(marks):
            # A job with other settings has removed the folder.
            raise RgwotError(_busy(self._output))
        frames = sum(mark["frames"] for mark in marks)
        lost_s = (len(self._times) - frames) / self._settings.fps
        status, reason = "ok", ""
        if lost_s > allowed_loss(self._info.duration_s):
            end_s = self._times[frames]
            clauses = "; ".join(marks[-1]["failures"])
            status = "partial"
            reason = f"only the first {end_s:.1f} of {self._info.duration_s:.1f} s can be decoded ({clauses})"
            if on_bad_video == "fail":
                raise VideoError(
                    self._video, f"{reason}; {REMEDY}, or set on_bad_video: skip to keep the decoded frames"
                )
            log.warning("%s: %s", self._video, reason)
        decoders = {name: version for mark in marks for name, version in mark["decoders"].items()}
        self._store.finish(
            frames,
            {
                **self._attributes,
                "decoder": "+".join(decoders),
                "decoder_version": "+".join(decoders.values()),
                **video_facts(self._info, status, reason),
            },
        )
        store = self._folder / f"store{STORE}"
        open_store(store)
        move(store, self._output)
        shutil.rmtree(self._folder, ignore_errors=True)

    def close(self) -> None:
        """Let another job extract the video."""
        self._lock.release()

    def _graph(self, chunks: Sequence[int]) -> dict[tuple[str, int], object]:
        """Return a chain decode, map, write per chunk, with dependencies between chunks where order matters."""
        graph: dict[tuple[str, int], object] = {}
        for place, number in enumerate(chunks):
            # Frames come in order, so a chunk waits for the one before; waiting for the write of the chunk two before
            # bounds the memory.
            graph["decode", place] = (self._decode, number, ("decode", place - 1), ("write", place - 2))
            # Chunks pass the network one after the other, because two at once would compete for its threads.
            graph["map", place] = (self._to_maps, ("decode", place), ("map", place - 1))
            graph["write", place] = (self._write, ("map", place))
        return graph

    def _decode(self, number: int, *_after: object) -> _Chunk:
        frames = list(itertools.islice(self._frames, len(self._times_of(number))))
        side = self._settings.size
        pixels = np.stack(frames) if frames else np.empty((0, side, side, 3), dtype=np.uint8)
        return _Chunk(number, pixels, self._reader.versions, list(self._reader.failures))

    def _to_maps(self, chunk: _Chunk, *_after: object) -> _Chunk:
        return replace(chunk, content=conv4c(self._backbone, chunk.content, self._settings.batch))

    def _write(self, chunk: _Chunk) -> None:
        maps = chunk.content()
        self._store.write(chunk.number, maps)
        write_json(
            {"frames": len(maps), "decoders": chunk.decoders, "failures": chunk.failures}, self._mark(chunk.number)
        )
        self._progress(len(maps))

    def _times_of(self, number: int) -> NDArray[np.float64]:
        return self._times[number * CHUNK : (number + 1) * CHUNK]

    def _finished(self, number: int) -> dict[str, Any]:
        """Return what was recorded about a finished chunk, or an empty dictionary."""
        mark: dict[str, Any] = json.loads(path.read_text("utf-8")) if (path := self._mark(number)).exists() else {}
        return mark

    def _mark(self, number: int) -> Path:
        return self._folder / f"chunk-{number}.json"


def conv4c(backbone: Backbone, frames: NDArray[np.uint8], batch: int) -> Callable[[], NDArray[np.float16]]:
    """Run the network over frames ``(T, H, W, 3)`` in batches; return a function that returns the features.

    These are maps ``(T, C, h, w)`` float16, or vectors ``(T, D)``.

    On a GPU `conv4c` only queues the work, from and to pinned memory, and the returned function waits for it. The next
    frames can be queued meanwhile, so that the GPU never waits for the CPU.
    """
    device = backbone.mean.device
    queued = device.type == "cuda"
    shape = backbone.frame_shape(frames.shape[1])
    maps = torch.empty((len(frames), *shape), dtype=torch.float16, pin_memory=queued)
    pixels = torch.from_numpy(frames)
    if queued:
        pixels = pixels.pin_memory().to(device, non_blocking=True)
    # The last bits of a map must not depend on which convolution algorithm is fastest at the moment.
    with torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False):
        for start in range(0, len(frames), batch):
            maps_out = backbone(pixels[start : start + batch])
            maps[start : start + batch].copy_(maps_out, non_blocking=queued)
    done = torch.cuda.current_stream(device).record_event() if queued else None

    def finished() -> NDArray[np.float16]:
        if done is not None:
            done.synchronize()
        return maps.numpy()

    return finished


def _busy(output: Path) -> str:
    return f"{output}: another process extracts the same video; run the command again when it has finished"


def side_folders(output: Path) -> list[Path]:
    """Return the folders of unfinished stores next to an output, for all settings."""
    return sorted(output.parent.glob(f".{glob.escape(output.name)}.*.partial"))


def _side_folder(output: Path, key: Mapping[str, object]) -> Path:
    """Return the folder of the unfinished store, and remove unfinished stores of other settings or sources."""
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]
    folder = output.parent / f".{output.name}.{digest}.partial"
    for stale in side_folders(output):
        if stale != folder:
            shutil.rmtree(stale)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def identity(settings: FeatureSettings, weights_sha256: str) -> dict[str, object]:
    """Return the attributes that two stores must share if their features are to be comparable."""
    entry = extractor(settings.backbone)
    return {
        "backbone": settings.backbone,
        "layer": entry.layer,
        "weights_sha256": weights_sha256,
        "transform": entry.transform,
        "size": settings.size,
        "fps": settings.fps,
        "precision": settings.precision,
    }


def extract(
    video: str | os.PathLike[str],
    output: str | os.PathLike[str],
    settings: FeatureSettings,
    *,
    on_bad_video: Literal["fail", "skip"] = "fail",
    threads: int = 1,
    device: str = "auto",
    frames_fps: Fraction | None = None,
    backbone: Backbone | None = None,
) -> None:
    """Write the feature store of a video, a folder ``{video}.zarr``.

    An existing store is kept if it was made from the same video with the same settings; otherwise it is replaced when
    the new one is complete.

    If a video cannot be decoded to its end, ``on_bad_video="skip"`` writes a store without frames (``skipped``) or with
    the existing frames (``partial``), and the reason. The network runs on ``threads`` CPU threads, and the ``device``
    is ``cpu``, ``cuda`` or ``auto`` (a GPU if there is one); a loaded ``backbone`` can be reused for many videos.
    ``frames_fps`` is the rate of stored frames if their file does not contain it.

    Raises VideoError for a bad video if ``on_bad_video`` is ``fail``, and RgwotError if the weights or the device are
    not available.
    """
    video, output = Path(video), Path(output)
    torch.set_num_threads(threads)
    target = resolve_device(device)
    if backbone is None:
        backbone = load_backbone(settings.weights, settings.seed, settings.precision, settings.backbone)
    digest, network_used = _prepared(backbone, settings.fused)
    attributes = {
        **identity(settings, digest),
        # Only the name is stored, because the path is valid on one machine only; the digest identifies the checkpoint.
        "weights": Path(settings.weights).name,
        "seed": settings.seed if settings.weights == "random" else None,
        # Not a part of the identity: fused and other stores may be used together, but one store must not mix both.
        "fused": settings.fused,
        "settings": settings.model_dump(mode="json", exclude=set(EXECUTION)),
    }
    with report_full_disk(output):
        if video.is_file() and is_current(output, video, attributes, on_bad_video):
            log.info("%s: kept, because it was made from this video with these settings", output)
            return
        attributes["rgwot_version"] = __version__
        try:
            info = probe(video, frames_fps)
            if doubt := repeated_frames(info, settings.fps):
                log.warning("%s: %s", video, doubt)
            facts = {**attributes, **source_facts(video)}
            with closing(Extraction(video, output, info, settings, facts, network_used.to(target))) as job:
                job.run()
                job.finish(on_bad_video)
        except VideoError as error:
            if on_bad_video == "fail":
                raise
            log.warning("%s, skipped", error)
            _write_skipped(video, output, backbone.frame_shape(settings.size), attributes, error.reason)


@functools.lru_cache(maxsize=1)
def _prepared(backbone: Backbone, fused: bool) -> tuple[str, Backbone]:
    """Return the digest of a frozen network, and the network to run: its fused form if ``fused``.

    The result is cached, because all videos of a process have the same network.
    """
    if decord_package() != "decord":
        second = ", and decord2 if it fails" if decord_package() else ""
        log.info("decord is not installed, so PyAV reads the videos%s", second)
    return weights_digest(backbone), backbone.fused() if fused else backbone


def _write_skipped(
    video: Path, output: Path, shape: tuple[int, ...], attributes: Mapping[str, object], reason: str
) -> None:
    nothing = {"source": video.name, "source_bytes": 0, "source_mtime_ns": 0, "source_sha256": ""}
    facts = source_facts(video) if video.is_file() else nothing
    write_skipped(output, shape, {**attributes, **facts, "decoder": "", "decoder_version": ""}, reason)
    for unfinished in side_folders(output):
        shutil.rmtree(unfinished)
