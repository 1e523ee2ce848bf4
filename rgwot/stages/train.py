"""The training stage: files in, ``model.pt`` and ``history.csv`` out."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

import torch

from rgwot.blocks import load
from rgwot.config.settings import without_execution
from rgwot.embedding.encoder import Encoder, embed_by_model, seeded
from rgwot.embedding.interface import VideoFeatures
from rgwot.embedding.loop import Recipe, Record, Trainer
from rgwot.embedding.sampler import FeatureBank, Stream, draw_videos, generator
from rgwot.embedding.settings import EncoderSettings, TrainedEncoder
from rgwot.features.index import common_attributes, open_stores
from rgwot.paths import HISTORY, MACHINE, MODEL, name_of
from rgwot.runtime.csv_files import write_rows
from rgwot.runtime.device import hardware, resolve_device
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import write_json, write_tensors
from rgwot.runtime.progress import Progress
from rgwot.stages.advice import inactive_prior, long_window
from rgwot.stages.checkpoint import Checkpoint, stop_requested

log = logging.getLogger(__name__)

RANDOM_WEIGHTS = "random"


def train(
    index_csv: Path,
    features_dir: Path,
    output_dir: Path,
    settings: TrainedEncoder,
    seed: int,
    *,
    device: str = "auto",
    held_out: Sequence[str] = (),
) -> None:
    """Train an encoder on the videos of a task (methods 3.1 to 3.7).

    Writes ``model.pt``, a dictionary of tensors and plain values that loads with ``weights_only=True``:
    ``encoder`` (state dict), ``architecture`` (arguments of `rgwot.embedding.encoder.Encoder`), ``settings``, ``seed``,
    ``features`` (what made the features), ``videos`` (trained on), ``held_out`` (kept for scoring); and
    ``history.csv`` with one row per iteration: ``step``, ``loss``, ``align``, ``cidm`` (I(X) + I(Y), before the
    weight beta) and ``seconds``; and ``machine.json``, the hardware that the run ended on.

    A run that is stopped (SIGTERM, Ctrl-C) saves a checkpoint in ``.resume`` next to ``output_dir`` and resumes from it
    when started again with the same settings, seed and features. On the CPU the result is bit-identical to that of an
    uninterrupted run with the same ``train.threads``. Another number of threads, or another device, changes the
    rounding of sums, but not the random draws.

    Parameters
    ----------
    index_csv, features_dir
        Feature index of the task, and the directory of its stores.
    settings
        The method.
    seed
        Seed of initial weights, pairs, frames and dropout.
    device
        ``auto``, ``cpu`` or ``cuda``.
    held_out
        Videos that this run does not read.

    Raises
    ------
    RgwotError
        If fewer than two videos to train on have features, a store is unusable, the device does not exist, or a loss is
        not finite.
    SystemExit
        With 128 plus the signal's number, after saving, if a signal stopped the run.
    """
    resolve_device(device)
    output = Path(output_dir)
    stores = open_stores(index_csv, features_dir, held_out)
    model, history, checkpoint = fit_encoder(
        stores,
        settings,
        seed,
        device=device,
        held_out=held_out,
        features=common_attributes(stores[0]) if stores else {},
        where=str(index_csv),
        resume=output,
    )
    write_rows(Record._fields, history, output / name_of(HISTORY))
    write_json(hardware(resolve_device(device)), output / name_of(MACHINE))
    write_tensors(model, output / name_of(MODEL))
    if checkpoint is not None:
        checkpoint.remove()


class _Trained(NamedTuple):
    """A trained model (the content of ``model.pt``), a record per iteration, and the checkpoint, if any."""

    model: dict[str, object]
    history: list[Record]
    checkpoint: Checkpoint | None = None


def fit_encoder(
    stores: Sequence[VideoFeatures],
    settings: TrainedEncoder,
    seed: int,
    *,
    device: str = "auto",
    held_out: Sequence[str] = (),
    features: Mapping[str, object],
    where: str = "features",
    resume: Path | None = None,
) -> _Trained:
    """Train an encoder on the features of videos like `train`, without writing files.

    Sets the number of PyTorch's threads to ``train.threads``.

    Parameters
    ----------
    stores
        Features of the videos to train on.
    held_out
        Ids of the held-out videos, to record.
    features
        How the features were made, to record; the backbone's ``weights`` decide whether the encoder standardises its
        input.
    where
        Name of the features in errors.
    resume
        The output directory beside which a checkpoint is saved and resumed. None: no checkpoint, and signals act as
        usual.

    Raises
    ------
    RgwotError
        As from `train`.
    SystemExit
        As from `train`, if ``resume`` is given.
    """
    place = resolve_device(device)
    _set_threads(settings.train.threads)
    stores = _trained_on(stores, settings.data.n_train, seed, where, held_out)
    notes = [note for note in (inactive_prior(settings), long_window(settings, stores)) if note]
    for note in notes:
        log.info(note)
    recorded = {
        "settings": without_execution(settings.by_block()),
        "seed": seed,
        "features": dict(features),
        "videos": [store.video for store in stores],
        "held_out": sorted(held_out),
        "notes": notes,
    }
    checkpoint = None
    if resume is not None:
        shapes = [[store.video, *store.shape, store.duration_s, str(store.native_fps)] for store in stores]
        identity = {**{key: recorded[key] for key in ("settings", "seed", "features")}, "videos": shapes}
        checkpoint = Checkpoint(resume, identity)

    videos: Sequence[VideoFeatures] = stores
    projection = None
    norm = settings.encoder.input_norm
    if norm == "whitened" or (norm == "auto" and all(store.vectors for store in stores)):
        from rgwot.embedding.projection import fit_projection

        projection = fit_projection(stores, settings.encoder.speed)
        videos = [projection(store) for store in stores]
    elif settings.encoder.speed:
        raise RgwotError(
            f"encoder.speed: found features that are not whitened (encoder.input_norm={norm}), expected whitened ones; "
            "add encoder.input_norm=whitened"
        )
    bank = FeatureBank(videos, settings.train.memory_gb, place)
    weights = str(features.get("weights"))
    encoder, architecture = build_encoder(settings.encoder, settings.train.precision, seed, bank, weights)
    trainer = Trainer(encoder.to(place), bank, recipe_of(settings), seed)
    saved = checkpoint.load() if checkpoint else None
    if saved is not None:
        trainer.restore(saved)
        log.info("%s: resuming after iteration %d", resume, trainer.step)
    _run(trainer, checkpoint, f"train {resume or ''}".strip())

    state = {name: tensor.cpu() for name, tensor in encoder.state_dict().items()}
    model: dict[str, object] = {"encoder": state, "architecture": architecture, **recorded}
    if projection is not None:
        model["projection"] = {"mean": torch.from_numpy(projection.mean), "basis": torch.from_numpy(projection.basis)}
    if settings.encoder.beside:
        from rgwot.embedding.combined import fit_beside

        embed = embed_by_model(model, stores[0].fps, place, None)
        fitted = fit_beside(stores, embed)
        model["beside"] = {name: torch.from_numpy(array) for name, array in fitted.items()}
    return _Trained(model, trainer.history, checkpoint)


def _trained_on(
    stores: Sequence[VideoFeatures], n_train: int | None, seed: int, where: str, held_out: Sequence[str]
) -> Sequence[VideoFeatures]:
    """Return the videos to train on, ``n_train`` drawn by the seed; raise RgwotError if there are too few."""
    if len(stores) < max(2, n_train or 0):
        need = "at least 2" if n_train is None else f"data.n_train = {n_train}"
        raise RgwotError(
            f"{where}: {len(stores)} video{'' if len(stores) == 1 else 's'} with features"
            f"{' that are not held out' if held_out else ''}, "
            f"expected {need}; add videos to the task or leave it out"
        )
    return stores if n_train is None else [stores[index] for index in draw_videos(len(stores), n_train, seed)]


def recipe_of(settings: TrainedEncoder) -> Recipe:
    """Return the training recipe of an encoder for these settings."""
    loss = settings.loss
    learned = load(type(loss).LEARNED) if loss.LEARNED else None
    return Recipe(loss, settings.cidm, settings.encoder, settings.train, settings.data, learned)


def _set_threads(threads: int) -> None:
    """Set PyTorch's number of threads as in the settings, and warn if it exceeds the number of cores."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if threads > cores:
        log.warning(
            "train.threads: found %d, which exceeds the %d available core%s and can slow training severely; "
            "set train.threads to %d for all runs that are to be compared",
            threads, cores, "" if cores == 1 else "s", cores,
        )  # fmt: skip
    torch.set_num_threads(threads)


def resolve_precision(name: str, device: torch.device) -> str:
    """Turn ``auto`` into bfloat16 if the processor supports it in hardware, otherwise into float32."""
    if name != "auto":
        return name
    if device.type == "cuda":
        fast = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        # On CPUs without AVX-512 BF16, bfloat16 is emulated, many times slower than float32.
        fast = torch.cpu._is_avx512_bf16_supported()  # noqa: SLF001
    return "bfloat16" if fast else "float32"


def build_encoder(
    block: EncoderSettings, precision: str, seed: int, bank: FeatureBank, weights: str
) -> tuple[Encoder, dict[str, object]]:
    """Make the encoder to train, on the CPU, and return it with its arguments.

    Vectors go through fully connected layers.

    Maps of random backbone weights are nearly parallel, so ``encoder.input_norm = auto`` standardises them; vectors are
    whitened earlier (`rgwot.embedding.whitened`).
    """
    vectors = all(store.vectors for store in bank.stores)
    unlearnt = weights == RANDOM_WEIGHTS and not vectors
    standardise = block.input_norm == "channel" or (block.input_norm == "auto" and unlearnt)
    architecture = {
        **block.model_dump(exclude={"input_norm", "speed", "beside"}),
        "input_norm": standardise,
        "features": bank.stores[0].shape[1],
        "precision": resolve_precision(precision, bank.device),
    }
    # The argument is added only if true, so that the arguments stored in models of maps do not change.
    if vectors:
        architecture["vectors"] = True
    with seeded(int(generator(seed, Stream.WEIGHTS).integers(2**31))):
        encoder = Encoder(**architecture)
    if standardise:
        mean, std = bank.statistics()
        encoder.input_mean.copy_(mean)
        encoder.input_std.copy_(std)
    return encoder, architecture


def _run(trainer: Trainer, checkpoint: Checkpoint | None, label: str) -> None:
    """Run the loop with progress and, if there is a checkpoint, with periodic saving and stopping on a signal."""
    total = trainer.recipe.train.iterations
    saved = time.monotonic()
    with (
        stop_requested() if checkpoint else nullcontext(lambda: 0) as signalled,
        Progress(log, label, total, trainer.step) as progress,
    ):
        for records in trainer.steps():
            loss, align, cidm = (sum(column) / len(records) for column in list(zip(*records, strict=True))[1:4])
            progress.advance(len(records), f"loss {loss:.4g} (alignment {align:.4g}, C-IDM {cidm:.4g})")
            if checkpoint and time.monotonic() - saved >= trainer.recipe.train.save_every_s:
                checkpoint.save(trainer.state())
                saved = time.monotonic()
            if signalled():
                break
        trainer.check_weights()
        if checkpoint and trainer.step < total:
            checkpoint.save(trainer.state())
            log.info("%s: stopped after iteration %d of %d; start again to resume", label, trainer.step, total)
            raise SystemExit(128 + signalled())
