"""What training and embedding read from the feature stores, against the same reads from `np.memmap`.

A training step reads 32 random frames, and the frame after each, of two videos. Features: ResNet-50 with seeded random
weights on moving smooth pictures, 168 pixels, so maps of 1024 x 11 x 11 in float16 of which a good part is zero. Reads
are compared at every tier that `rgwot.embedding.bank` has, page cache warm, all in one run. A baseline gives what it is
compared with in the same order of memory: clips from disk (stored channel by channel, wanted position by position) are
compared with a map and the same change of order, resident clips with a map that has the order already. Size, number of
files and cost of writing are those of the same features with every codec.

    python benchmarks/cache.py [--threads 2] [--rounds 5] [--device cuda]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from measure import arguments, record, take_turns
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from rgwot.embedding.bank import FeatureBank
from rgwot.embedding.sampler import Stream, context_offsets, draw_pair, generator, with_context
from rgwot.features.backbone import Backbone, load_backbone
from rgwot.features.store import CHUNK, CODECS, Codec, FeatureStore, StoreWriter, open_store

SIDE = 168
FPS = 2.0
N, C = 32, 2
STEPS = 8  # steps of one timing
COMPRESSING: tuple[Codec, ...] = ("lz4", "zstd")
#: Least share of a map's rate.
PLAIN, COMPRESSED, RESIDENT = 0.5, 0.2, 0.9

Draw = tuple[tuple[int, int], list[NDArray[np.int64]]]


def pictures(frames: int, seed: int) -> NDArray[np.uint8]:
    """Frames (frames, 168, 168, 3) of smooth colours that move and change slowly."""
    rng = torch.Generator().manual_seed(seed)
    coarse = torch.rand(1, 3, frames // 8 + 2, 12, 12, generator=rng)
    smooth = F.interpolate(coarse, size=(frames, SIDE, SIDE), mode="trilinear", align_corners=True)[0]
    noise = 0.05 * torch.randn(3, frames, SIDE, SIDE, generator=rng)
    made: NDArray[np.uint8] = (255 * (smooth + noise).clamp(0, 1)).byte().permute(1, 2, 3, 0).numpy()
    return made


def features(backbone: Backbone, frames: NDArray[np.uint8]) -> NDArray[np.float16]:
    """Return the maps of frames, (frames, 1024, 11, 11)."""
    made: NDArray[np.float16] = torch.cat([backbone(part).half() for part in torch.from_numpy(frames).split(8)]).numpy()
    return made


def written(path: Path, maps: NDArray[np.float16], codec: Codec) -> tuple[FeatureStore, dict[str, float]]:
    """Write a store; return it open, and what writing took."""
    began, cpu = time.perf_counter(), time.process_time()
    writer = StoreWriter(path, np.arange(len(maps)) / FPS, maps.shape[2], codec)
    for chunk in range(-(-len(maps) // CHUNK)):
        writer.write(chunk, maps[chunk * CHUNK : (chunk + 1) * CHUNK])
    facts = {"status": "ok", "reason": "", "fps": FPS, "duration_s": len(maps) / FPS, "native_fps": "30"}
    writer.finish(len(maps), facts)
    spent = {"seconds": time.perf_counter() - began, "CPU seconds": time.process_time() - cpu}
    files = [file for file in path.rglob("*") if file.is_file()]
    return open_store(path), {**spent, "bytes": sum(file.stat().st_size for file in files), "files": len(files)}


def mapped(path: Path, maps: NDArray[np.float16]) -> NDArray[np.float16]:
    """Write an array as plain bytes and map it."""
    maps.tofile(path)
    return np.memmap(path, dtype=np.float16, mode="r", shape=maps.shape)


def draws(lengths: NDArray[np.int64], rounds: int) -> list[list[Draw]]:
    """What the steps of every round read: two videos, and (N, C) frames of each."""
    offsets = context_offsets(C, 0.5, FPS, "after")
    made: list[list[Draw]] = []
    for number in range(rounds):
        steps: list[Draw] = []
        for step in range(STEPS):
            pair = draw_pair(lengths, N, generator(0, Stream.PAIRS, number * STEPS + step))
            chosen = zip(pair.videos, pair.frames, strict=True)
            steps.append((pair.videos, [with_context(frames, offsets, int(lengths[v])) for v, frames in chosen]))
        made.append(steps)
    return made


class Reads:
    """The same reads from everything; each action takes the next of the rounds that it has not read yet."""

    def __init__(self, steps: Sequence[Sequence[Draw]], device: torch.device) -> None:
        self.steps, self.device = steps, device

    def action(self, read: Callable[[Draw], object]) -> Callable[[], None]:
        """Return what reads the steps of one round after the other."""
        rounds = iter(self.steps)

        def run() -> None:
            for draw in next(rounds):
                read(draw)

        return run

    def frames_of(self, arrays: Sequence[NDArray[np.float16]]) -> Callable[[Draw], NDArray[np.float16]]:
        """Return how to gather from arrays as they are, by NumPy's fastest way: straight into one new array."""

        def gather(draw: Draw) -> NDArray[np.float16]:
            found = np.empty((sum(stack.size for stack in draw[1]), *arrays[0].shape[1:]), dtype=np.float16)
            start = 0
            for video, stack in zip(*draw, strict=True):
                np.take(arrays[video], stack.reshape(-1), axis=0, out=found[start : start + stack.size], mode="clip")
                start += stack.size
            return found

        return gather

    def clips_of(self, arrays: Sequence[NDArray[np.float16]], *, ordered: bool) -> Callable[[Draw], Tensor]:
        """Return how to gather from arrays what training wants, on its device."""
        gather = self.frames_of(arrays)

        def read(draw: Draw) -> Tensor:
            maps = torch.from_numpy(gather(draw)).to(self.device)
            return maps if ordered else maps.movedim(1, -1).contiguous()

        return read


def stored_frames(stores: Sequence[FeatureStore]) -> Callable[[Draw], object]:
    """Return how to read frames of stores, as they are stored."""
    return lambda draw: [stores[video].frames(stack.reshape(-1)) for video, stack in zip(*draw, strict=True)]


def check(banks: dict[str, FeatureBank], wanted: Callable[[Draw], Tensor], draw: Draw) -> None:
    """Stop where a bank gives other values than the map."""
    for name, bank in banks.items():
        found = bank.clips(*draw).movedim(2, -1).flatten(0, 1)
        if not torch.equal(found, wanted(draw)):
            raise SystemExit(f"{name}: clips differ from those of the map")


def measured(chosen: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Write features in every form, read them in turn and compare."""
    device = torch.device(chosen.device)
    backbone = load_backbone("random", 0, "float32", "resnet50")
    videos = [features(backbone, pictures(chosen.frames, seed)) for seed in range(chosen.videos)]
    raw = sum(maps.nbytes for maps in videos)
    stores: dict[str, list[FeatureStore]] = {}
    cost: dict[str, dict[str, float]] = {}
    for codec in CODECS:
        (folder / codec).mkdir()
        made = [written(folder / codec / f"v{number}.zarr", maps, codec) for number, maps in enumerate(videos)]
        stores[codec] = [store for store, _ in made]
        total = {key: sum(spent[key] for _, spent in made) for key in made[0][1]}
        cost[codec] = {
            "size of the raw values": round(total["bytes"] / raw, 3),
            "files": total["files"],
            "written, MB/s": round(raw / 1e6 / total["seconds"], 1),
            "CPU ms per frame": round(1e3 * total["CPU seconds"] / (chosen.videos * chosen.frames), 3),
        }
    maps = [mapped(folder / f"{number}.maps", values) for number, values in enumerate(videos)]
    positions = [
        mapped(folder / f"{number}.positions", np.ascontiguousarray(np.moveaxis(values, 1, -1)))
        for number, values in enumerate(videos)
    ]
    banks = {
        "memory": FeatureBank(stores["none"], 1e3, device, 0),
        "disk": FeatureBank(stores["none"], 1e-9, device, 0),
        **{f"disk, {codec}": FeatureBank(stores[codec], 1e-9, device, 0) for codec in COMPRESSING},
    }
    if device.type == "cuda":
        banks["gpu"] = FeatureBank(stores["none"], 1e-9, device, 1e3)
    reads = Reads(draws(banks["disk"].lengths, chosen.rounds + 1), device)
    ordered = reads.clips_of(positions, ordered=True)
    check(banks, ordered, reads.steps[0][0])

    actions = {
        "map: frames": reads.action(reads.frames_of(maps)),
        "disk: frames": reads.action(stored_frames(stores["none"])),
        **{f"disk, {codec}: frames": reads.action(stored_frames(stores[codec])) for codec in COMPRESSING},
        "map: clips": reads.action(reads.clips_of(maps, ordered=False)),
        "map in order: clips": reads.action(ordered),
    }
    actions |= {
        f"{name}: clips": reads.action(lambda draw, bank=bank: bank.clips(*draw)) for name, bank in banks.items()
    }
    actions |= {
        "map: whole videos": lambda: [np.array(values) for values in maps],
        **{f"{codec}: whole videos": lambda codec=codec: [s.read() for s in stores[codec]] for codec in CODECS},
    }
    rounds = take_turns(actions, chosen.rounds, device=device)
    resident = {f"{name}: clips": RESIDENT for name in ("memory", "gpu") if name in banks}
    compared: list[tuple[str, str, float | None]] = [
        ("map: frames", "disk: frames", PLAIN),
        ("map: clips", "disk: clips", PLAIN),
        *(("map: clips", f"disk, {codec}: clips", COMPRESSED) for codec in COMPRESSING),
        *(("map in order: clips", name, least) for name, least in resident.items()),
        *(("map: frames", f"disk, {codec}: frames", None) for codec in COMPRESSING),
        *(("map: whole videos", f"{codec}: whole videos", None) for codec in CODECS),
    ]
    claims = {}
    for baseline, name, least in compared:
        rate = rounds.ratio(baseline, name)
        claims[name] = {"against": baseline, "rate": rate}
        if least is not None:
            claims[name] |= {"at least": least, "holds": rate["median"] >= least}
    return {
        "threads": chosen.threads,
        "frames": [chosen.videos, chosen.frames],
        "zeros": round(float(np.mean([np.mean(values == 0) for values in videos])), 3),
        "MB per step": round(2 * N * C * raw / (chosen.videos * chosen.frames) / 1e6, 1),
        "codecs": cost,
        "milliseconds per step": {
            name: values for name, values in rounds.summary(1e3 / STEPS).items() if not name.endswith("videos")
        },
        "seconds, whole videos": {name: values for name, values in rounds.summary().items() if name.endswith("videos")},
        "claims": claims,
    }


def main() -> None:
    """Measure, print and write."""
    chosen = arguments(__doc__, videos=4, frames=128)
    with tempfile.TemporaryDirectory() as folder:
        result = measured(chosen, Path(folder))
    print(f"{result['zeros']:.0%} zeros, {result['MB per step']} MB per step")
    for codec, values in result["codecs"].items():
        print(f"codec {codec}: {', '.join(f'{key} {value}' for key, value in values.items())}")
    for title in ("milliseconds per step", "seconds, whole videos"):
        for name, values in result[title].items():
            print(f"  {title:22} {name:30} {values['median']:9.3f} ({values['min']:.3f} to {values['max']:.3f})")
    for name, claim in result["claims"].items():
        print(f"rate of {name}: {', '.join(f'{key} {value}' for key, value in claim.items())}")
    record("cache", result, chosen)


if __name__ == "__main__":
    main()
