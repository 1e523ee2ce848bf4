"""Extraction of features against its parts: the bare network, bare decoding and bare writing, measured in turn.

CPU: extraction does one thing after the other on one thread, so its CPU time cannot be less than that of its parts. The
ratio is (network + decoding + writing) / extraction in CPU time, children included; network / extraction over the bound
network / (network + decoding + writing) is the same number. All of it runs on one core, the one a job of the workflow
asks for: beside its twin thread on the same core, either takes more CPU time for the same work. The network is the
one over frames in memory; decoding is decord in this process; writing is `StoreWriter` with maps in memory;
extraction is `rgwot.features.extract` with the network loaded, and pays for the start of its decoding process, its pipe
and the hash of the video.

GPU (--device cuda): frames per second by the clock, extraction against the bare network over frames on the GPU, and
against the slower of network and decoder, which overlap. Every frame is sampled there, since a video sampled twice a
second keeps a GPU waiting for its decoder whatever one does.

Peak memory is that of the largest process of `rgwot extract` on a short and on a long video.

    python benchmarks/extraction.py [--rounds 5] [--threads 1] [--device cpu] [--seconds 300] [--output FILE]
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import decord
import numpy as np
import torch
from measure import arguments, record, spread, take_turns
from numpy.typing import NDArray

from rgwot.config.settings import FeatureSettings
from rgwot.config.synthetic import SynthSettings
from rgwot.features.backbone import load_backbone
from rgwot.features.chunks import conv4c
from rgwot.features.extract import extract
from rgwot.features.store import CHUNK, StoreWriter
from rgwot.synthetic.write import write_dataset
from rgwot.timing import sample_times
from rgwot.video import FrameReader, probe

SIZE = 168
BOUND = 0.95
#: Lengths of the videos whose extraction is compared in memory, seconds, and how much more the longer may take. The
#: shorter one is long enough for the three chunks that are in memory at once.
LENGTHS, GROWTH = (150, 450), 1.05
ERRORS = {"fused": 1e-5, "bfloat16": 3e-2}

# Until it starts another program, a child counts the memory of its parent as its own: a small one in between.
PEAK = """
import json, resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(json.dumps(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024))
"""


def cpu_seconds() -> float:
    """CPU time of this process and of the children that have ended."""
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def film(folder: Path, seconds: int) -> Path:
    """Write one synthetic video, 320 x 240 at 30 frames per second."""
    settings = SynthSettings(n_videos=1, min_s=seconds, max_s=seconds + 0.001)
    return write_dataset(settings, folder / f"film{seconds}")[0]


def command(video: Path, output: Path, settings: FeatureSettings, device: str) -> list[str]:
    """Return the command the workflow runs for one video."""
    block = json.dumps({"features": settings.model_dump()})
    return [sys.executable, "-m", "rgwot", "extract", "--source", str(video), "--settings", block,
            "--threads", "1", "--device", device, str(output)]  # fmt: skip


class Parts:
    """One video, and its extraction as a whole and in parts."""

    def __init__(self, video: Path, folder: Path, settings: FeatureSettings, device: torch.device) -> None:
        self.video, self.folder, self.settings, self.device = video, folder, settings, device
        self.plain = load_backbone("random", 0, settings.precision, "resnet50")
        self.network = (self.plain.fused() if settings.fused else self.plain).to(device)
        info = probe(video)
        self.times = sample_times(info.duration_s, settings.fps)
        self.frames = np.concatenate([frames for _, frames in FrameReader(video, self.times, SIZE)])
        self.picks = np.minimum((self.times * float(info.fps) + 1e-6).astype(np.int64), info.frames - 1)
        self.on_device = torch.from_numpy(self.frames).to(device)
        maps = conv4c(self.network, self.frames, settings.batch)()
        self.maps: NDArray[np.float16] = maps

    def run_network(self) -> None:
        """All frames, from memory to nowhere."""
        for start in range(0, len(self.frames), self.settings.batch):
            self.network(self.on_device[start : start + self.settings.batch])

    def run_decoder(self) -> None:
        """Decode in this process, to the size of the network, with the threads that extraction gives it."""
        reader = decord.VideoReader(str(self.video), width=SIZE, height=SIZE, num_threads=2)
        for start in range(0, len(self.picks), self.settings.batch):
            reader.get_batch(self.picks[start : start + self.settings.batch].tolist()).asnumpy()

    def run_writer(self) -> None:
        """Write all maps, chunk by chunk."""
        path = self.folder / "written.zarr"
        shutil.rmtree(path, ignore_errors=True)
        store = StoreWriter(path, self.times, self.plain.about.side(SIZE), self.settings.codec)
        for start in range(0, len(self.maps), CHUNK):
            store.write(start // CHUNK, self.maps[start : start + CHUNK])
        store.finish(len(self.maps), {})

    def run_all(self) -> None:
        """Extract with the network loaded."""
        output = self.folder / "extracted.zarr"
        shutil.rmtree(output, ignore_errors=True)
        extract(
            self.video,
            output,
            self.settings,
            threads=torch.get_num_threads(),
            device=self.device.type,
            backbone=self.plain,
        )

    def actions(self) -> dict[str, Callable[[], None]]:
        """Return what is timed."""
        return {
            "network": self.run_network,
            "decoding": self.run_decoder,
            "writing": self.run_writer,
            "extraction": self.run_all,
        }

    def errors(self) -> dict[str, Any]:
        """Relative error (Frobenius) of the fused network and of bfloat16 against the plain one in float32."""
        pixels = self.on_device[: self.settings.batch]
        exact = load_backbone("random", 0, "float32", "resnet50").to(self.device)(pixels)
        others = {
            "fused": load_backbone("random", 0, "float32", "resnet50").fused(),
            "bfloat16": load_backbone("random", 0, "bfloat16", "resnet50").fused(),
        }
        found = {
            name: float((net.to(self.device)(pixels) - exact).norm() / exact.norm()) for name, net in others.items()
        }
        return {
            name: {"relative_error": value, "bound": ERRORS[name], "holds": value <= ERRORS[name]}
            for name, value in found.items()
        }


def on_cpu(parts: Parts, rounds: int) -> dict[str, Any]:
    """CPU seconds of the parts and of the whole, and their ratio."""
    timed = take_turns(parts.actions(), rounds, clock=cpu_seconds)
    rows = zip(*(timed.seconds[name] for name in ("network", "decoding", "writing", "extraction")), strict=True)
    ratios = [(network + decoding + writing) / whole for network, decoding, writing, whole in rows]
    medians = {name: values["median"] for name, values in timed.summary().items()}
    share = medians["network"] / (medians["network"] + medians["decoding"] + medians["writing"])
    ratio = spread(ratios)
    return {
        "clock": "CPU seconds, children included",
        "seconds": timed.summary(),
        "bound_network_share": round(share, 4),
        "network_share_of_extraction": round(medians["network"] / medians["extraction"], 4),
        "parts_over_extraction": {**ratio, "bound": BOUND, "holds": ratio["median"] >= BOUND},
    }


def on_gpu(parts: Parts, rounds: int) -> dict[str, Any]:
    """Frames per second by the clock."""
    timed = take_turns(parts.actions(), rounds, device=parts.device)
    slower = "network" if timed.ratio("network", "decoding")["median"] >= 1 else "decoding"
    claims = {
        "of the bare network": timed.ratio("network", "extraction"),
        f"of the slower part, {slower}": timed.ratio(slower, "extraction"),
    }
    frames = len(parts.frames)
    return {
        "clock": "wall seconds",
        "seconds": timed.summary(),
        "frames_per_second": {
            name: spread([frames / value for value in values]) for name, values in timed.seconds.items()
        },
        "claims": {
            name: {**ratio, "bound": BOUND, "holds": ratio["median"] >= BOUND} for name, ratio in claims.items()
        },
    }


def memory(videos: dict[int, Path], folder: Path, settings: FeatureSettings, device: str) -> dict[str, Any]:
    """Peak resident memory in MiB of the largest process of an extraction, by the length of the video."""
    peaks = {}
    for seconds, video in videos.items():
        output = folder / f"peak{seconds}.zarr"
        called = [sys.executable, "-c", PEAK, *command(video, output, settings, device)]
        done = subprocess.run(called, check=True, capture_output=True, text=True)
        peaks[f"{seconds} s"] = round(float(json.loads(done.stdout)), 1)
    short, long = (peaks[f"{seconds} s"] for seconds in LENGTHS)
    return {"MiB": peaks, "bound": f"{GROWTH} times the short video's", "holds": long <= GROWTH * short}


def side_by_side(video: Path, folder: Path, settings: FeatureSettings, cores: int) -> dict[str, Any]:
    """Wall seconds of as many extractions as cores at once, as the workflow runs them, and of one."""

    def together(count: int) -> float:
        outputs = [folder / f"beside{count}-{number}.zarr" for number in range(count)]
        began = time.perf_counter()
        jobs = [
            subprocess.Popen(command(video, output, settings, "cpu"), stderr=subprocess.DEVNULL) for output in outputs
        ]
        failed = [job for job in jobs if job.wait()]
        assert not failed
        return time.perf_counter() - began

    one, many = together(1), together(cores)
    return {
        "how": "one job of one thread per core; a job has a thread for the network and a child that decodes",
        "jobs": cores,
        "seconds_one": round(one, 2),
        "seconds_all": round(many, 2),
        "times_the_rate_of_one": round(cores * one / many, 2),
    }


def main() -> None:
    """Measure, print and write."""
    chosen = arguments(__doc__, seconds=300, batch=0, fps=0.0)
    device = torch.device(chosen.device)
    cuda = device.type == "cuda"
    if not cuda:
        torch.set_num_threads(1)
    settings = FeatureSettings(
        weights="random",
        size=SIZE,
        batch=chosen.batch or (CHUNK if cuda else 8),
        fps=chosen.fps or (30.0 if cuda else 2.0),
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        videos = {seconds: film(folder, seconds) for seconds in LENGTHS}
        parts = Parts(film(folder, chosen.seconds), folder, settings, device)
        if cuda:
            found = on_gpu(parts, chosen.rounds)
        else:
            cores = os.sched_getaffinity(0)
            os.sched_setaffinity(0, {max(cores)})
            found = on_cpu(parts, chosen.rounds)
            os.sched_setaffinity(0, cores)
        found |= {"errors": parts.errors(), "memory": memory(videos, folder, settings, device.type)}
        if not cuda:
            found["side_by_side"] = side_by_side(videos[LENGTHS[0]], folder, settings, len(os.sched_getaffinity(0)))
    print(
        f"{chosen.seconds} s of video, {len(parts.times)} frames of {SIZE} px, batch {settings.batch}, {chosen.device}"
    )
    print(json.dumps(found, indent=2))
    about = {"seconds": chosen.seconds, "frames": len(parts.times), "settings": settings.model_dump()}
    record(
        f"extraction{'_cuda' if cuda else ''}", {"threads": torch.get_num_threads(), "video": about, **found}, chosen
    )


if __name__ == "__main__":
    main()
