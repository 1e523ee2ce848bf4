"""A training step from cached features against the same step with the backbone in the loop.

The step is the paper's: one pair of videos, 32 frames of each, two frames of context, 168 pixels, 512 channels. In the
loop means as research code trains: uint8 frames one by one from an HDF5 file, ResNet-50 up to conv4c, plain
``nn.Conv3d`` layers, ``torch.optim.Adam``; the backbone frozen, or trained too. Frames are laid out channels-last for
the backbone, which favours it. Multiply-adds of all are counted first: at one rate of arithmetic their ratio is the
gain of the cache and of leaving out what only meets padding, and the rate of a plain matrix product is the floor.

    python benchmarks/training_step.py [--threads 2] [--rounds 5] [--device cuda]
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import torch
from measure import arguments, record, take_turns
from torch import Tensor, nn
from torch.nn import functional as F

from rgwot.config.extractors import EXTRACTORS
from rgwot.config.settings import Settings, build
from rgwot.embedding.bank import FeatureBank
from rgwot.embedding.encoder import KERNEL, Encoder
from rgwot.embedding.loop import Trainer, objective
from rgwot.embedding.train import build_encoder
from rgwot.features.extractors.resnet50 import network_resnet50
from rgwot.features.index import open_stores
from rgwot.features.store import CHANNELS, CHUNK, FeatureStore, StoreWriter
from rgwot.losses.interface import PairBatch
from rgwot.runtime.files import write_rows

RESNET = EXTRACTORS["resnet50"]
SIDE = 168
VIDEOS = 4
FRAMES = 150  # of every video
FPS = 2.0
ITERATIONS = 10_000
MINUTES = 2.0  # what they may take on one H200
NEAR = 0.9  # share of the bound to be reached
RATE = 0.6  # share of the rate of a matrix product


def settings_of(precision: str, accumulation: int = 1, iterations: int = ITERATIONS) -> Settings:
    """The paper's settings; features of untrained weights are standardised, of others not."""
    values = {"train.precision": precision, "train.accumulation": accumulation, "train.iterations": iterations}
    return build({**values, "encoder.input_norm": "none"}, "benchmark")


def write_task(folder: Path) -> list[FeatureStore]:
    """Write stores of random sparse maps and return them open."""
    side = RESNET.side(SIDE)
    rng = np.random.default_rng(0)
    for video in range(VIDEOS):
        writer = StoreWriter(folder / f"v{video}.zarr", np.arange(FRAMES) / FPS, side)
        for chunk in range(-(-FRAMES // CHUNK)):
            frames = min(CHUNK, FRAMES - chunk * CHUNK)
            maps = rng.standard_normal((frames, CHANNELS, side, side), dtype=np.float32)
            writer.write(chunk, np.maximum(maps, 0))
        facts = {"status": "ok", "reason": "", "fps": FPS, "duration_s": FRAMES / FPS, "native_fps": "30"}
        writer.finish(FRAMES, facts)
    rows = [(f"v{video}", "ok", "", FRAMES) for video in range(VIDEOS)]
    write_rows(("video", "status", "reason", "frames"), rows, folder / "index.csv")
    return open_stores(folder / "index.csv", folder)


def write_frames(path: Path) -> None:
    """Write videos as research code keeps them: one file, a data set of pictures for each."""
    rng = np.random.default_rng(0)
    with h5py.File(path, "w") as file:
        for video in range(VIDEOS):
            file.create_dataset(f"v{video}/images", data=rng.integers(0, 256, (FRAMES, SIDE, SIDE, 3), dtype=np.uint8))


class PlainEncoder(nn.Module):
    """The encoder in textbook layers and torch's own order."""

    def __init__(self, own: Encoder) -> None:
        super().__init__()
        channels = own.conv1.out_channels
        self.convolutions = nn.Sequential(
            nn.Conv3d(CHANNELS, channels, KERNEL, padding=1), nn.BatchNorm3d(channels), nn.ReLU(inplace=True),
            nn.Conv3d(channels, channels, KERNEL, padding=1), nn.BatchNorm3d(channels), nn.ReLU(inplace=True),
            nn.AdaptiveMaxPool3d(1), nn.Flatten(),
        )  # fmt: skip
        hidden = own.fc1.out_features
        self.layers = nn.Sequential(
            nn.Dropout(own.dropout), nn.Linear(channels, hidden), nn.ReLU(inplace=True),
            nn.Dropout(own.dropout), nn.Linear(hidden, hidden), nn.ReLU(inplace=True),
            nn.Linear(hidden, own.projection.out_features),
        )  # fmt: skip

    def forward(self, maps: Tensor) -> Tensor:
        """Embed (n, c, 1024, h, w)."""
        return F.normalize(self.layers(self.convolutions(maps.transpose(1, 2))), dim=1)


class InLoop:
    """The step of research code: frames from HDF5, backbone, encoder, loss, Adam."""

    def __init__(self, path: Path, own: Encoder, settings: Settings, device: torch.device, *, tuned: bool) -> None:
        self.settings, self.device, self.tuned = settings, device, tuned
        self.file = h5py.File(path, "r")
        self.rng = np.random.default_rng(0)
        torch.manual_seed(0)
        self.backbone = network_resnet50().to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.backbone.requires_grad_(tuned).train(tuned)
        self.encoder = PlainEncoder(own).to(device).train()
        trained = [*self.encoder.parameters(), *(self.backbone.parameters() if tuned else [])]
        self.optimiser = torch.optim.Adam(trained, lr=1e-4, weight_decay=1e-5)
        self.mean, self.std = (
            torch.tensor(value, device=device).view(1, 3, 1, 1) for value in (RESNET.mean, RESNET.std)
        )

    def step(self) -> None:
        """One iteration with an optimiser step."""
        n, c = self.settings.train.N, self.settings.encoder.c
        pictures, times = [], []
        for video in self.rng.choice(VIDEOS, 2, replace=False):
            images = self.file[f"v{video}/images"]
            chosen = np.sort(self.rng.choice(FRAMES - 1, n, replace=False))
            times.append(torch.from_numpy(chosen / FPS).to(self.device)[None])
            pictures += [images[frame + after] for frame in chosen for after in range(c)]
        frames = torch.from_numpy(np.stack(pictures)).to(self.device).permute(0, 3, 1, 2)
        frames = ((frames.float() / 255 - self.mean) / self.std).contiguous(memory_format=torch.channels_last)
        with torch.set_grad_enabled(self.tuned):
            maps = self.backbone(frames)
        embedded = self.encoder(maps.contiguous().view(2 * n, c, *maps.shape[1:]))
        x, y = embedded.view(1, 2, n, -1).unbind(1)
        length = torch.tensor([FRAMES / FPS], device=self.device)
        batch = PairBatch(x, y, times[0], length, times[1], length, torch.zeros(1, device=self.device))
        self.optimiser.zero_grad()
        torch.autograd.backward(objective(batch, self.settings).loss.sum())
        self.optimiser.step()


def trainer_of(stores: list[FeatureStore], settings: Settings, device: torch.device) -> Trainer:
    """Our training of these stores."""
    bank = FeatureBank(stores, settings.train.memory_gb, device)
    return Trainer(build_encoder(settings, 0, bank, "benchmark")[0].to(device), bank, settings, 0)


def backbone_products(backbone: nn.Module, device: torch.device) -> tuple[float, float]:
    """Multiply-adds of the convolutions for one frame, and those of the first of them."""
    counted: list[float] = []

    def count(layer: nn.Module, _given: Any, made: Tensor) -> None:
        counted.append(made.numel() * layer.weight[0].numel())  # type: ignore[index, union-attr, operator]

    hooks = [layer.register_forward_hook(count) for layer in backbone.modules() if isinstance(layer, nn.Conv2d)]
    mode = backbone.training
    with torch.no_grad():
        backbone.eval()(torch.zeros(1, 3, SIDE, SIDE, device=device))
    backbone.train(mode)
    for hook in hooks:
        hook.remove()
    return sum(counted), counted[0]


def operations(settings: Settings, frame: float, first: float) -> dict[str, float]:
    """Count the multiply-adds of one iteration from the shapes, in units of 1e9.

    The encoder computes each convolution once forward and once for its weight, and the second once more for its
    input; the first needs that only to train the backbone. Per clip a convolution is so many products of frames:
    3 c with all temporal taps, 2 of which meet padding. What is computed (`rgwot.embedding.encoder.convolve`): three
    products for c = 2, else all but those on padding.
    """
    encoder, clips = settings.encoder, 2 * settings.train.N
    product = clips * KERNEL**2 * RESNET.side(SIDE) ** 2 * encoder.channels / 1e9
    one, two, c = product * CHANNELS, product * encoder.channels, encoder.c
    frames = clips * c
    both = 2 * one + 3 * two
    return {
        "backbone forward": frames * frame / 1e9,
        "plain encoder": 3 * c * both,
        "frozen backbone in the loop": frames * frame / 1e9 + 3 * c * both,
        # Backward of the backbone: each convolution for its weight and its input, the very first for its weight.
        "trained backbone in the loop": frames * (3 * frame - first) / 1e9 + 3 * c * (both + one),
        "cached, without taps on padding": (3 * c - 2) * both,
        "cached, as computed": (3 if c == 2 else 3 * c - 2) * both,
    }


def matrix(dtype: torch.dtype, settings: Settings, device: torch.device) -> tuple[Callable[[], object], float]:
    """A matrix product of the shape of the first convolution for one frame of every clip, and its 1e9 multiply-adds."""
    rows = 2 * settings.train.N * RESNET.side(SIDE) ** 2
    a = torch.randn(rows, CHANNELS, device=device).to(dtype)
    b = torch.randn(KERNEL**2 * settings.encoder.channels, CHANNELS, device=device).to(dtype)
    return lambda: a @ b.t(), rows * a.shape[1] * b.shape[0] / 1e9


def measured(chosen: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Time the steps in turn and compare."""
    device = torch.device(chosen.device)
    stores = write_task(folder)
    write_frames(folder / "frames.hdf5")
    settings = settings_of("float32")
    own, half = (trainer_of(stores, settings_of(name), device) for name in ("float32", "bfloat16"))
    frozen, tuned = (
        InLoop(folder / "frames.hdf5", own.encoder, settings, device, tuned=trained) for trained in (False, True)
    )
    gemm, products = matrix(torch.float32, settings, device)
    gemm_half, _ = matrix(torch.bfloat16, settings, device)
    frame, first = backbone_products(frozen.backbone, device)
    counted = operations(settings, frame, first)
    print("multiply-adds of one iteration, 1e9")
    for name, value in counted.items():
        print(f"  {name:36} {value:10.1f}")

    rounds = take_turns(
        {
            "cached": lambda: own.run(lambda _: False),
            "matrix product": gemm,
            "frozen backbone in the loop": frozen.step,
            "trained backbone in the loop": tuned.step,
            "cached, bfloat16": lambda: half.run(lambda _: False),
            "matrix product, bfloat16": gemm_half,
        },
        chosen.rounds,
        device=device,
    )
    claims: dict[str, dict[str, Any]] = {}
    for name in ("frozen backbone in the loop", "trained backbone in the loop"):
        bound = counted[name] / counted["cached, without taps on padding"]
        ratio = rounds.ratio(name, "cached")
        claims[name] = {
            "bound with all taps": round(counted[name] / counted["plain encoder"], 3),
            "bound": round(bound, 3),
            "times longer than cached": ratio,
            "share of the bound": round(ratio["median"] / bound, 3),
            "at least": NEAR,
            "holds": ratio["median"] >= NEAR * bound,
        }
    work = counted["cached, as computed"] / products
    for name, step, product in (
        ("rate of the matrix product", "cached", "matrix product"),
        ("rate of the matrix product, bfloat16", "cached, bfloat16", "matrix product, bfloat16"),
    ):
        ratio = {key: float(f"{work / value:.4g}") for key, value in rounds.ratio(step, product).items()}
        claims[name] = {"share": {"median": ratio["median"], "min": ratio["max"], "max": ratio["min"]}}
        if step == "cached":
            claims[name] |= {"at least": RATE, "holds": ratio["median"] >= RATE}
    result: dict[str, Any] = {
        "threads": chosen.threads,
        "multiply-adds, 1e9": {name: round(value, 2) for name, value in counted.items()},
        "seconds": rounds.summary(),
        "claims": claims,
    }
    if device.type == "cuda":
        result["10,000 iterations"] = whole_training(chosen, stores, device, rounds.summary(), products, counted)
    return result


def whole_training(
    chosen: argparse.Namespace,
    stores: list[FeatureStore],
    device: torch.device,
    seconds: dict[str, dict[str, float]],
    products: float,
    counted: dict[str, float],
) -> dict[str, Any]:
    """Time a training as it is run, in bfloat16 with gradients accumulated, and extrapolate it to the whole."""
    trainer = trainer_of(stores, settings_of("bfloat16", accumulation=4), device)
    count = chosen.iterations
    ends = iter(range(count // 4))

    def some() -> None:
        trainer.run(lambda _: next(ends, None) is not None)

    trainer.run(lambda _: False)
    before = trainer.step
    taken = take_turns({"training": some}, 1, warm=0, device=device).seconds["training"][0]
    each = taken / (trainer.step - before)
    floor = counted["cached, without taps on padding"] / products * seconds["matrix product, bfloat16"]["median"]
    minutes = each * ITERATIONS / 60
    return {
        "iterations timed": trainer.step - before,
        "milliseconds per iteration": round(1e3 * each, 3),
        "floor, milliseconds": round(1e3 * floor, 3),
        "minutes": round(minutes, 3),
        "at most": MINUTES,
        "holds": minutes <= MINUTES,
    }


def main() -> None:
    """Measure, print and write."""
    chosen = arguments(__doc__, iterations=400)
    with tempfile.TemporaryDirectory() as folder:
        result = measured(chosen, Path(folder))
    print("seconds of a step")
    for name, values in result["seconds"].items():
        print(f"  {name:36} {values['median']:10.4f} ({values['min']:.4f} to {values['max']:.4f})")
    for name, claim in result["claims"].items():
        print(f"{name}: {', '.join(f'{key} {value}' for key, value in claim.items())}")
    if "10,000 iterations" in result:
        print(f"10,000 iterations: {result['10,000 iterations']}")
    record("training_step", result, chosen)


if __name__ == "__main__":
    main()
