"""The child process that decodes a video: it reads a request on standard input and writes frames to standard output.

A decoder can hang where neither a signal handler nor a thread can stop it, so it runs in a separate process that the
parent can kill. This file is started by its path and imports nothing of the package, so that it starts fast. Messages
are a kind (one byte) and a length (four bytes, big endian), followed by

- ``F``: the pixels of that many frames (uint8 RGB), for the next requested times;
- ``E``: that many bytes of text: why decoding stopped early;
- ``D``: nothing (the length is 0): the regular end.
"""

from __future__ import annotations

import contextlib
import functools
import heapq
import json
import math
import os
import queue
import re
import struct
import sys
import tempfile
import threading
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import av
    from av.container import InputContainer
    from av.video.stream import VideoStream

Pixels = NDArray[np.uint8]
Stamps = NDArray[np.float64]

HEADER = struct.Struct(">cI")
#: Name of the frames in an HDF5 file.
IMAGES = "images"

# Containers may round time stamps to milliseconds; decord stores them in single precision.
_ROUNDING_S = 0.00083
_SINGLE = 1.2e-7
_ARITHMETIC_S = 1e-6
# Seconds by which a seek must skip ahead to be worthwhile, because seeking may go back a few key frames.
_SEEK_FROM_S = 10.0
# Chunks of compressed frames are unpacked as a whole; with a smaller cache, this would be repeated for each frame.
_HDF5_CACHE_BYTES = 64 * 2**20
# Stamps beyond ten years are damaged: no video is so long, although a stream may count from an arbitrary origin.
_LONGEST_S = 3.2e8
# Bytes of frames that may wait for the network: 25 minutes at 2 frames per second and 168 pixels.
_AHEAD_BYTES = 256_000_000
# Containers that are read sequentially, so that reading resumes after missing bytes.
_SEQUENTIAL = {"avi", "matroska,webm"}
# Containers that may lack the information that the first frame is shown at 0.
_UNSHIFTED = {"mov,mp4,m4a,3gp,3g2,mj2", "flv"}
# Headers between two packets take at most this many bytes; a larger gap may be a part that could not be read.
_HEADERS_BYTES = 256
# Packets may be stored out of display order by up to this many seconds.
_REORDERED_S = 1.0
# Largest number of successive packets without a picture: a packet may be a field, be hidden, or repeat a picture.
_WITHOUT_PICTURE = 1
#: Readers with the distribution whose version is recorded: two for videos, and the one for stored frames.
READERS = {"decord": "decord", "pyav": "av", "h5": "h5py"}


def earliest(stamps: Stamps, interval: float) -> Stamps:
    """Return the earliest time in seconds that each frame may have had before its stamp was rounded.

    Near a multiple of the average frame interval this is the multiple: frame 2 of a video at 30 per second is stamped
    0.067 in Matroska, but begins at 2/30.
    """
    grid = np.round(stamps / interval) * interval
    near = np.abs(grid - stamps) <= min(_ROUNDING_S, interval / 4)
    return np.minimum(stamps * (1 - _SINGLE), np.where(near, grid, stamps)) - _ARITHMETIC_S


def frames_on_screen(begin: Stamps, end_s: float, times: Stamps) -> NDArray[np.int64]:
    """Return which frame is on screen at each time: the last one that has begun.

    The frames begin at ``begin`` (F,), see `earliest`, and the last one ends at ``end_s``; ``times`` (T,) increase, all
    in seconds. Returns the frame numbers (T',) of the T' <= T times that have one.
    """
    return np.clip(np.searchsorted(begin, times[times < end_s], side="right") - 1, 0, len(begin) - 1)


def refuse_absurd(stamps: Stamps) -> None:
    """Raise ValueError for impossible time stamps of frames.

    decord reads about -3e17 s for frames of a container without presentation times, such as H.264 in AVI. Stamps must
    be finite, not absurdly far from 0, and increasing.
    """
    wrong = ~np.isfinite(stamps) | (np.abs(stamps) > _LONGEST_S)
    wrong[1:] |= ~(np.diff(stamps) > 0)
    if wrong.any():
        first = int(np.argmax(wrong))
        raise ValueError(f"frame {first} is stamped {stamps[first]:g} s; expected increasing times")


class PacketFacts(NamedTuple):
    """Facts from the packets of a picture track, without decoding."""

    presented: list[int]  #: presentation times of the visible pictures in ticks, in stored order
    decoded: list[int]  #: times of decoding, in ticks
    whole_s: float  #: time, on the clock of the file, of the first picture that missing bytes may have damaged
    counted: (
        bool  #: whether frames can be counted from key frames (none is hidden, precedes its key frame or is shifted)
    )
    end_s: float  #: end of the last picture, on the clock of the file
    others_end_s: float  #: end of the last packet of another track, -inf without one


def stored(container: InputContainer, stream: VideoStream) -> PacketFacts:
    """Read all readable packets of a file.

    If bytes are missing, reading resumes after them in Matroska and AVI (in AVI with times that are too early). Bytes
    are missing if there are bytes outside all packets, together with a break in the times or, in AVI, an early end.
    """
    from av.error import FFmpegError

    # VP8 has packets of pictures that are only references; the fifth bit marks visible pictures.
    hides = stream.codec_context.name == "vp8"
    presented, decoded, stamps, breaks = list[int](), list[int](), list[int](), list[int]()
    missing, counted = False, True
    picture_end_s = others_end_s = -math.inf
    end: int | None = None
    key: int | None = None
    container.seek(0)
    # FFmpegError means that the file is damaged from some packet on; the functions that decode handle this.
    with contextlib.suppress(FFmpegError):
        for packet in container.demux():
            if not packet.size:
                continue
            if packet.pos is not None:
                missing |= end is not None and packet.pos - end > _HEADERS_BYTES
                end = packet.pos + packet.size
            until_s = -math.inf
            if packet.pts is not None and packet.time_base:
                until_s = float((packet.pts + (packet.duration or 0)) * packet.time_base)
            if packet.stream.index != stream.index:
                others_end_s = max(others_end_s, until_s)
                continue
            picture_end_s = max(picture_end_s, until_s)
            if packet.dts is not None:
                decoded.append(packet.dts)
            if (stamp := getattr(packet, stamp_of(container))) is not None:
                if missing:
                    breaks.append(len(stamps))
                    missing = False
                stamps.append(stamp)
            if packet.pts is None:
                continue
            if hides and not bytes(packet)[0] & 0x10:
                counted = False
                continue
            presented.append(packet.pts)
            key = packet.pts if packet.is_keyframe else key
            counted &= key is None or packet.pts >= key
    whole = _whole(container, stream, stamps, breaks) if container.format.name in _SEQUENTIAL else math.inf
    # In MP4 without an edit list, or in FLV, B-frames are shown later than decoded, from the first frame on.
    shifted = decoded[:1] == [0] or (not stream.frames and decoded[:1] > [0])
    counted &= not (container.format.name in _UNSHIFTED and shifted and presented[:1] > decoded[:1])
    whole_s = whole * float(stream.time_base or 0)
    return PacketFacts(presented, decoded, whole_s, counted, picture_end_s, others_end_s)


def _whole(container: InputContainer, stream: VideoStream, stamps: list[int], breaks: list[int]) -> float:
    """Return the first stamp in ticks that missing bytes may have damaged; bytes are missing before ``breaks``."""
    if not any(breaks):
        return math.inf
    ticks = np.asarray(stamps, dtype=np.float64)
    # Empty packets in AVI, which repeat the picture before them, count in `stream.frames` and advance the stamps, so
    # stamps that end early mean missing packets.
    early = stream.frames > ticks.max() + 1
    in_order = np.unique(ticks)
    steps = np.diff(in_order)
    wide = steps > 1.5 * np.median(steps)
    near = _REORDERED_S / float(stream.time_base or 1)
    for place in filter(None, breaks):
        edges = ticks[:place].max(), ticks[place:].min()
        lost = (in_order[:-1] <= max(edges) + near) & (in_order[1:] >= min(edges) - near) & wide
        if early if container.format.name == "avi" else lost.any():
            # The packet before the gap may be cut, so it counts as damaged, too.
            return float(ticks[place - 1 :].min())
    return math.inf


#: A track is not a film if it has fewer than `_FILM` pictures, and another track has more than `_SLIDES` times as many.
_SLIDES, _FILM = 10, 5


def picture_track(container: InputContainer) -> VideoStream:
    """Return the track whose pictures are read: FFmpeg's best one, but never a cover, thumbnails or slides.

    Raises ValueError if there is none.
    """
    tracks = picture_tracks(container)
    if not tracks:
        raise ValueError("found no pictures (only sound, or a cover?); expected a video")
    if len(tracks) > 1:
        # Only files with several tracks, which are few, are opened twice.
        with opened(container.name) as again:
            counts = dict.fromkeys((track.index for track in tracks), 0)
            for packet in again.demux(*(again.streams[index] for index in counts)):
                counts[packet.stream.index] += packet.size > 0
                if max(counts.values()) >= _SLIDES * _FILM:
                    break
        # A cover or a few slides beside a film.
        most = max(counts.values())
        tracks = [track for track in tracks if counts[track.index] * _SLIDES >= min(most, _SLIDES * _FILM)]
    best = container.streams.best("video")
    largest = max(tracks, key=lambda track: track.width * track.height)
    return next((track for track in tracks if best is not None and track.index == best.index), largest)


def picture_tracks(container: InputContainer) -> list[VideoStream]:
    """Return the tracks that may be films: those with a decoder, and not marked as a cover or the like."""
    from av.stream import Disposition

    others = Disposition.attached_pic | Disposition.timed_thumbnails | Disposition.still_image | Disposition.dependent
    # Contrary to its stubs, PyAV returns no codec context for a stream without a decoder.
    tracks = (
        track
        for track in container.streams.video
        if track.codec_context is not None  # type: ignore[redundant-expr]
    )
    return [track for track in tracks if not track.disposition & others]


def told_of_tracks(container: InputContainer, stream: VideoStream, width: int, height: int) -> str:
    """Say which of several picture tracks is read, or "" if there is one."""
    tracks = len(picture_tracks(container))
    return (
        ""
        if tracks < 2
        else (
            f"{tracks} picture tracks; track {stream.index} ({width}x{height}) is read, but players may show another; "
            f"keep one: ffmpeg -i IN -map 0:{stream.index} -c copy OUT"
        )
    )


def decord_frames(path: str, times: Stamps, size: int, batch: int, threads: int) -> Iterator[Pixels]:
    """Yield the frame on screen at each time, ``(size, size, 3)`` RGB, upright, read by decord.

    decord finds a frame by counting decoded frames from a key frame on, and conceals damage. If frames are lost, it
    therefore returns wrong ones. ValueError is raised for files in which this can happen, and instead of the first
    batch for which FFmpeg writes a message.
    """
    import decord

    with opened(path) as container:
        if len(container.streams.video) > 1:
            raise ValueError("might read another of the picture tracks")
        stream = picture_track(container)
        packets = stored(container, stream)
        if stream.codec_context.name == "vp9":
            raise ValueError("would repeat a frame of VP9 in place of damaged ones")
    if not packets.counted:
        raise ValueError("would miscount frames, because some are hidden, precede their key frame or are shifted")
    if packets.whole_s < math.inf:
        raise ValueError("bytes are missing inside the file")
    with tempfile.TemporaryFile() as complaints:
        os.dup2(complaints.fileno(), 2)
        decord.logging.set_level(decord.logging.ERROR)
        reader = decord.VideoReader(path, width=size, height=size, num_threads=threads)
        stamps = np.asarray(reader.get_frame_timestamp(range(len(reader))), dtype=np.float64)
        interval = 1 / reader.get_avg_fps()
        refuse_absurd(stamps[:, 0])
        begin = earliest(stamps[:, 0] - stamps[0, 0], interval)
        end_s = begin[-1] + max(stamps[-1, 1] - stamps[-1, 0], interval)
        picks = frames_on_screen(begin, end_s, times)
        for start in range(0, len(picks), batch):
            # A repeated frame is requested only once, because decord would seek back for the second.
            distinct, places = np.unique(picks[start : start + batch], return_inverse=True)
            pictures = reader.get_batch(distinct.tolist()).asnumpy()[places]
            complaints.seek(0)
            if complaint := complaints.readline():
                raise ValueError(complaint.decode(errors="replace"))
            yield from pictures


def opened(path: str, options: dict[str, str] | None = None) -> InputContainer:
    """Open a video by PyAV, with FFmpeg's options and metadata in any encoding; PyAV 19 and later does this itself."""
    import av

    lenient: dict[str, Any] = {} if int(av.__version__.partition(".")[0]) >= 19 else {"metadata_errors": "ignore"}
    container: InputContainer = av.open(path, options=options, **lenient)
    return container


def pyav_frames(path: str, times: Stamps, size: int, batch: int, threads: int) -> Iterator[Pixels]:
    """Yield the same as `decord_frames`, read by PyAV; a damaged file raises after its last good frame."""
    until = math.inf
    with opened(path) as container:
        if container.format.name in _SEQUENTIAL:
            until = stored(container, picture_track(container)).whole_s
    with opened(path) as container:
        origin = seconds_of(next(_decode(container, threads)), stamp_of(container)) or 0.0
    seek_s = origin + times[0] if times[0] > _SEEK_FROM_S else None
    with opened(path) as container:
        stream = picture_track(container)
        interval = 1 / float(stream.average_rate or stream.guessed_rate or 25)
        stamp = stamp_of(container)
        frames = _timed(_decode(container, threads, seek_s), origin, interval, stamp, until)
        first = next(frames)
        if seek_s is not None and first[0] > times[0]:
            # Some containers seek to a later key frame than requested; then everything is read from the beginning.
            container.seek(0)
            frames = _timed(_decode(container, threads), origin, interval, stamp, until)
            first = next(frames)
        yield from _shown_of(frames, first, times, size, interval)


def stored_frames(path: str, times: Stamps, size: int, fps: Fraction) -> Iterator[Pixels]:
    """Yield the same as `decord_frames`, from frames in an HDF5 file (blue first), one every ``1 / fps`` seconds."""
    import av
    import h5py

    interval = float(1 / fps)
    with h5py.File(path, "r", rdcc_nbytes=_HDF5_CACHE_BYTES) as file:
        images = file[IMAGES]
        begin = earliest(np.arange(len(images)) * fps.denominator / fps.numerator, interval)
        picked, squashed = -1, np.empty(0, dtype=np.uint8)
        for pick in frames_on_screen(begin, len(images) * interval, times).tolist():
            if pick != picked:
                planes = np.ascontiguousarray(images[pick].transpose(2, 0, 1)[::-1])
                # One channel at a time: for three, the filter would convert through a colour space with fewer colours.
                squashed = np.stack(
                    [_upright(av.VideoFrame.from_ndarray(plane, "gray"), size, "gray") for plane in planes], axis=-1
                )
                picked = pick
            yield squashed


def _shown_of(
    frames: Iterator[tuple[float, av.VideoFrame]],
    first: tuple[float, av.VideoFrame],
    times: Stamps,
    size: int,
    interval: float,
) -> Iterator[Pixels]:
    """Yield the frame on screen at each time from a stream of (time, frame)."""
    position = 0
    begin, frame = first
    while position < len(times):
        # Damage that raises here may have begun in the previous frame, which is therefore not used.
        following = next(frames, None)
        length_s = float(frame.duration * frame.time_base) if frame.duration and frame.time_base else 0.0
        until = begin + max(length_s, interval) if following is None else following[0]
        count = int(np.searchsorted(times[position:], until, side="left"))
        if count:
            yield from [_upright(frame, size)] * count
        position += count
        if following is None:
            break
        begin, frame = following


def _decode(container: InputContainer, threads: int, seek_s: float | None = None) -> Iterator[av.VideoFrame]:
    """Decode the picture track; an error before the first frame is ignored, a later error ends the iteration."""
    from av.error import FFmpegError

    stream = picture_track(container)
    stream.thread_type = "AUTO"
    if not stream.codec_context.is_open:
        stream.codec_context.thread_count = threads
    if seek_s is not None and stream.time_base:
        container.seek(int(seek_s / stream.time_base), stream=stream)
    # Packets in AVI have no presentation times, so gaps between them do not show missing pictures.
    checked = _Checked(waits=stamp_of(container) == "pts")
    for packet in container.demux(stream):
        checked.expect(packet)
        try:
            frames = packet.decode()
        except FFmpegError:
            if checked.started:
                # Frames before the damage may still be inside the decoder.
                with contextlib.suppress(FFmpegError):
                    yield from map(checked.frame, stream.codec_context.decode(None))
                raise
            continue
        yield from map(checked.frame, frames)


class _Checked:
    """Checks the frames of a decoder; raises ValueError for a damaged frame, or one after lost frames."""

    def __init__(self, waits: bool) -> None:
        self._waits = waits
        self._sound = False
        self._expected: list[int] = []
        self._last: int | None = None
        self.started = False

    def expect(self, packet: av.Packet[Any]) -> None:
        """Note that a packet is given to the decoder."""
        if self._waits and packet.pts is not None and not packet.is_discard:
            heapq.heappush(self._expected, packet.pts)

    def frame(self, frame: av.VideoFrame) -> av.VideoFrame:
        """Check the next frame in presentation order, and return it."""
        self.started = True
        # At the beginning, frames that refer to pictures before it are marked as corrupt; after a sound frame, the
        # mark means damage.
        if self._sound and frame.is_corrupt:
            raise ValueError("damaged pictures")
        self._sound |= not frame.is_corrupt
        if self._waits and frame.pts is not None:
            skipped = set()
            while self._expected and self._expected[0] <= frame.pts:
                skipped.add(heapq.heappop(self._expected))
            if self._last is not None and sum(self._last < pts < frame.pts for pts in skipped) > _WITHOUT_PICTURE:
                raise ValueError("pictures that do not decode")
            self._last = frame.pts
        return frame


def _timed(
    frames: Iterator[av.VideoFrame], origin: float, interval: float, stamp: str, until: float
) -> Iterator[tuple[float, av.VideoFrame]]:
    previous = -interval
    for frame in frames:
        seconds = seconds_of(frame, stamp)
        if seconds is not None and seconds >= until:
            raise ValueError(f"bytes are missing at {until - origin:.2f} s")
        previous = previous + interval if seconds is None else seconds - origin
        yield float(earliest(np.asarray(previous), interval)), frame


def stamp_of(container: InputContainer) -> str:
    """Return which stamp of frames can be trusted: ``dts`` (decoding time) in AVI, otherwise ``pts`` (presentation).

    AVI has no presentation times, and invented ones jump back and forth if frames are stored out of order. Frames leave
    the decoder in presentation order, at the pace of the decoding times.
    """
    return "dts" if container.format.name == "avi" else "pts"


def seconds_of(frame: av.VideoFrame, stamp: str) -> float | None:
    """Return the stamp (`stamp_of`) of a frame in seconds, None without one."""
    ticks: int | None = getattr(frame, stamp)
    return None if ticks is None or not frame.time_base else float(ticks * frame.time_base)


def _upright(frame: av.VideoFrame, size: int, form: str = "rgb24") -> Pixels:
    """Rotate a frame upright and resize it: ``(size, size, 3)`` RGB, or ``(size, size)`` in the form ``gray``."""
    graph = _filter(size, form, frame.width, frame.height, frame.format.name, frame.time_base)
    graph.push(frame)
    return np.rot90(graph.pull().to_ndarray(), round(frame.rotation / 90))


@functools.lru_cache(maxsize=1)
def _filter(size: int, form: str, width: int, height: int, pixels: str, time_base: Fraction | None) -> Any:
    """Return a filter that resizes as decord does; the filter is kept for frames of the same size and format."""
    import av
    from av.filter import Graph

    graph = Graph()
    graph.link_nodes(
        graph.add_buffer(width=width, height=height, format=av.VideoFormat(pixels), time_base=time_base),
        graph.add("scale", f"{size}:{size}:flags=bilinear"),
        graph.add("format", form),
        graph.add("buffersink"),
    ).configure()
    return graph


def plain(error: Exception) -> str:
    """Return the first line of a decoder's message without clock, source file, address, error number and function."""
    text = str(getattr(error, "strerror", None) or error).strip() or type(error).__name__
    return re.sub(r"^(\[[^]]+\] (\S+: )?)*(Error: |Check failed: )?", "", text.splitlines()[0])[:120]


def own_output() -> BinaryIO:
    """Return the standard output for this module alone, because decoders write messages to descriptors 1 and 2."""
    output = os.fdopen(os.dup(1), "wb")
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    return output


def serve() -> None:
    """Serve the request on standard input."""
    line = sys.stdin.buffer.readline()
    output = own_output()
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    request = json.loads(line)
    times = np.asarray(request["times"], dtype=np.float64)
    if request["reader"] == "h5":
        frames = stored_frames(request["path"], times, request["size"], Fraction(request["fps"]))
    else:
        read = {"decord": decord_frames, "pyav": pyav_frames}[request["reader"]]
        frames = read(request["path"], times, request["size"], request["batch"], request["threads"])
    try:
        _send(output, frames, request["batch"], request["size"])
        kind, text = b"D", ""
    except Exception as error:  # noqa: BLE001 (whatever a decoder raises, the parent tries the next reader)
        kind, text = b"E", plain(error)
    content = text.encode()
    output.write(HEADER.pack(kind, len(content)) + content)
    output.flush()
    # Interpreter shutdown would wait for a decoder's threads.
    os._exit(0)


def _send(output: BinaryIO, frames: Iterator[Pixels], batch: int, size: int) -> None:
    """Write frames in batches in a separate thread, so that decoding continues, up to `_AHEAD_BYTES` ahead.

    decord's threads spin while no frames are requested: waiting for the network would cost a quarter of a core, but a
    finished decoder costs nothing.
    """
    waiting: queue.Queue[Pixels | None] = queue.Queue(max(1, _AHEAD_BYTES // (3 * size**2 * batch)))

    def write() -> None:
        while (pictures := waiting.get()) is not None:
            output.write(HEADER.pack(b"F", len(pictures)) + pictures.tobytes())
            output.flush()

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    pending: list[Pixels] = []
    try:
        for frame in frames:
            pending.append(frame)
            if len(pending) == batch:
                waiting.put(np.stack(pending))
                pending.clear()
    finally:
        if pending:
            waiting.put(np.stack(pending))
        waiting.put(None)
        writer.join()


def _exit_with_parent() -> None:
    # Standard input ends when the parent dies, whatever the decoder is doing.
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    serve()
