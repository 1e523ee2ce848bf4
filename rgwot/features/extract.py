"""The stage that turns a video of a manifest into its feature store."""

from __future__ import annotations

import functools
import logging
import os
import shutil
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch

from rgwot import __version__
from rgwot.config.extractors import extractor
from rgwot.config.settings import EXECUTION
from rgwot.features.backbone import Backbone, load_backbone, weights_digest
from rgwot.features.chunks import Extraction, side_folders
from rgwot.features.store import is_current, source_facts, write_skipped
from rgwot.runtime.device import resolve_device
from rgwot.runtime.files import report_full_disk
from rgwot.video import VideoError, decord_package, probe, readers_of

if TYPE_CHECKING:
    from rgwot.features.settings import FeatureSettings

log = logging.getLogger(__name__)

_EXECUTION = {key.removeprefix("features.") for key in EXECUTION}


def identity(settings: FeatureSettings, weights_sha256: str) -> dict[str, Any]:
    """Return the attributes two stores must share for their features to be comparable."""
    about = extractor(settings.backbone)
    return {
        "backbone": settings.backbone,
        "layer": about.layer,
        "weights_sha256": weights_sha256,
        "transform": about.transform,
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
    """Write the feature store of one video, a folder ``{video}.zarr``.

    One that is there is kept if it was made from the same video with the same settings, and else replaced when the new
    one is complete.

    Of a video that does not decode, or not to its end, ``on_bad_video="skip"`` records a store without frames
    (``skipped``) or with the frames there are (``partial``), and the reason. The network runs on ``threads`` CPU
    threads, and the ``device`` is ``cpu``, ``cuda`` or ``auto``, a GPU when there is one; a ``backbone`` loaded before
    serves many videos in one process. ``frames_fps`` is the rate of stored frames whose file states none.

    Raises VideoError for a bad video when ``on_bad_video`` is ``fail``, and RgwotError when the weights cannot be had
    or the device is not there.
    """
    video, output = Path(video), Path(output)
    torch.set_num_threads(threads)
    target = resolve_device(device)
    if backbone is None:
        backbone = load_backbone(settings.weights, settings.seed, settings.precision, settings.backbone)
    digest, network_used = _prepared(backbone, settings.fused)
    attributes = {
        **identity(settings, digest),
        # A path says where the checkpoint was on one machine; its digest says which one it was.
        "weights": Path(settings.weights).name,
        "seed": settings.seed if settings.weights == "random" else None,
        # No part of the identity, stores of both may stand side by side; within one store both would be a mixture.
        "fused": settings.fused,
        "settings": settings.model_dump(mode="json", exclude=_EXECUTION),
    }
    with report_full_disk(output):
        if video.is_file() and is_current(output, video, attributes, on_bad_video):
            log.info("%s: made from this video with these settings before; kept", output)
            return
        attributes["rgwot_version"] = __version__
        try:
            info = probe(video, frames_fps)
            facts = {**attributes, **source_facts(video)}
            job = Extraction(video, output, info, settings, facts, network_used.to(target))
            job.run()
            job.finish(on_bad_video)
        except VideoError as error:
            if on_bad_video == "fail":
                raise
            log.warning("%s, skipped", error)
            _write_skipped(video, output, backbone.frame_shape(settings.size), attributes, error.reason)


@functools.lru_cache(maxsize=1)
def _prepared(backbone: Backbone, fused: bool) -> tuple[str, Backbone]:
    """Return the digest of a frozen network and the form of it that is run, once for all videos of a process."""
    if decord_package() != "decord":
        log.info("videos are read by %s: decord is not installed", " and ".join(readers_of(Path(), "auto")))
    return weights_digest(backbone), backbone.fused() if fused else backbone


def _write_skipped(
    video: Path, output: Path, shape: tuple[int, ...], attributes: Mapping[str, Any], reason: str
) -> None:
    nothing = {"source": video.name, "source_bytes": 0, "source_mtime_ns": 0, "source_sha256": ""}
    facts = source_facts(video) if video.is_file() else nothing
    write_skipped(output, shape, {**attributes, **facts, "decoder": "", "decoder_version": ""}, reason)
    for unfinished in side_folders(output):
        shutil.rmtree(unfinished)
