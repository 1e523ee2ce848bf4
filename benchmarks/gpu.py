"""Measure training, transport and extraction on a GPU, and compare with the processor and with lower limits.

A step of training cannot be faster than the encoder's forward and backward pass alone, and extraction not faster than
the slower of decoding and the network. Features and weights are random, of the paper's size. The results
of a machine are kept in benchmarks/results/gpu.json, under the name of its GPU.

    python benchmarks/gpu.py VIDEO
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from torch.nn.functional import normalize

from rgwot.embedding.loop import Trainer
from rgwot.embedding.sampler import FeatureBank
from rgwot.embedding.settings import TrainedEncoder, TrainSettings
from rgwot.features.backbone import load_backbone
from rgwot.features.extract import conv4c, extract
from rgwot.features.settings import FeatureSettings
from rgwot.features.store import FeatureStore
from rgwot.losses.settings import FusedGromovWasserstein, GromovWasserstein
from rgwot.runtime.device import hardware
from rgwot.runtime.files import write_json
from rgwot.stages.train import build_encoder, recipe_of
from rgwot.timing import sample_times
from rgwot.transport import align_frames
from rgwot.video import FrameReader, probe

RECORD = Path(__file__).parent / "results/gpu.json"
#: Frames of each of four videos, and the side of their maps, for frames of 168 pixels.
FRAMES, SIDE = 256, 11
ROUNDS = 7
STEPS = {"cuda": 5, "cpu": 1}


def milliseconds(call: Callable[[], object], device: torch.device, repeats: int) -> float:
    """Return the median time of a call over seven rounds of ``repeats`` calls, after a round that does not count."""
    found = []
    for _ in range(1 + ROUNDS):
        began = time.perf_counter()
        for _ in range(repeats):
            call()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        found.append(1000 * (time.perf_counter() - began) / repeats)
    return median(found[1:])


def transport(device: torch.device) -> dict[str, float]:
    """Return milliseconds per pair of 32 x 32 frames for 1, 4 and 16 pairs at once; the prior acts at r = 0.1 only."""
    found = {}
    for pairs in (1, 4, 16):
        generator = torch.Generator().manual_seed(0)
        x, y = (normalize(torch.randn(pairs, 32, 128, generator=generator), dim=2).to(device) for _ in range(2))
        for solver in ("converged", "parity"):
            for r in (0.02, 0.1):
                ot = FusedGromovWasserstein(solver=solver, r=r).model_dump()
                known = ["alpha", "epsilon", "rho", "r", "zeta", "solver", "virtual", "max_iterations", "tolerance"]
                call = partial(align_frames, x, y, **{key: ot[key] for key in known})
                found[f"{solver}, r = {r}, {pairs} pairs"] = milliseconds(call, device, 3) / pairs
    return found


def random_stores() -> list[FeatureStore]:
    """Return maps (256, 1024, 11, 11) of four videos, rectified as those of the backbone."""
    rng, time_s = np.random.default_rng(0), np.arange(FRAMES) / 2
    attributes = {"fps": 2.0, "native_fps": "30", "duration_s": FRAMES / 2, "status": "ok", "reason": "", "weights": ""}
    maps = (rng.standard_normal((FRAMES, 1024, SIDE, SIDE), dtype=np.float32).clip(0) for _ in range(4))
    return [FeatureStore(Path(f"v{i}.zarr"), attributes, time_s, x.astype(np.float16)) for i, x in enumerate(maps)]


def training(
    stores: list[FeatureStore], device: torch.device, settings: TrainedEncoder, steps: int
) -> dict[str, float]:
    """Return milliseconds per iteration of training, and per forward and backward pass of the encoder alone."""
    bank = FeatureBank(stores, settings.train.memory_gb, device)
    encoder, _ = build_encoder(settings.encoder, settings.train.precision, 0, bank, "")
    trainer = Trainer(encoder.to(device), bank, recipe_of(settings), 0)
    pairs = trainer.pairs_at_once

    def run() -> None:
        for _ in islice(trainer.steps(), steps):
            pass

    whole = milliseconds(run, device, 1) / (settings.train.accumulation * steps)
    clips = bank.clips([0, 1] * pairs, [np.arange(64).reshape(32, 2)] * (2 * pairs))
    alone = milliseconds(lambda: encoder(clips, pairs=pairs).square().sum().backward(), device, steps) / pairs
    return {"iteration": whole, "encoder": alone, "ratio": whole / alone, "pairs_at_once": pairs}


def extraction(video: Path, device: torch.device) -> dict[str, float]:
    """Return frames per second of a whole extraction, of decoding alone, and of the network alone (ResNet-50)."""
    settings = FeatureSettings(weights="random", fps=5.0)
    info = probe(video)
    times = sample_times(info.duration_s, settings.fps)
    network = load_backbone("random", 0, settings.precision, settings.backbone)
    with tempfile.TemporaryDirectory() as folder:
        call = partial(extract, video, device=device.type, threads=torch.get_num_threads(), backbone=network)
        for turn in range(2):  # the first one starts the network
            began = time.perf_counter()
            call(Path(folder, f"{turn}.zarr"), settings)
        whole = time.perf_counter() - began
    began = time.perf_counter()
    with FrameReader(video, times, settings.size, batch=settings.batch) as reader:
        pixels = np.concatenate([frames for _, frames in reader])
    decoding = time.perf_counter() - began
    network = network.to(device).eval()
    alone = milliseconds(lambda: conv4c(network, pixels, settings.batch)(), device, 1) / 1000
    seconds = {"all": whole, "decoding": decoding, "network": alone}
    return {"frames": len(times), **{name: len(times) / value for name, value in seconds.items()}}


def main() -> None:
    """Measure on the GPU and on the processor; print the times and add them to the record."""
    (video,) = map(Path, sys.argv[1:])
    stores, found = random_stores(), {}
    for device in map(torch.device, ("cuda", "cpu") if torch.cuda.is_available() else ("cpu",)):
        own: dict[str, Any] = {**hardware(device), "torch": torch.__version__, "transport_ms": transport(device)}
        for precision, r in (("float32", 0.02), ("bfloat16", 0.02), ("float32", 0.1)):
            settings = TrainedEncoder(loss=GromovWasserstein(r=r), train=TrainSettings(precision=precision))
            own[f"training_ms, {precision}, r = {r}"] = training(stores, device, settings, STEPS[device.type])
        own["extraction_per_s"] = extraction(video, device)
        found[device.type] = own
        print(json.dumps(own, indent=2), flush=True)
    record = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
    write_json({**record, str(found.get("cuda", found["cpu"])["gpu"]): found}, RECORD)


if __name__ == "__main__":
    main()
