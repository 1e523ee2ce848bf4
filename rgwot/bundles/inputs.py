"""The videos, or features, that a bundle is applied to, as feature stores of the kind that it was made from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Literal

from rgwot.bundles.file import Bundle
from rgwot.config.configuration import ImportSettings
from rgwot.config.extractors import extractor
from rgwot.config.settings import validated
from rgwot.datasets.arrays import OPENERS, check_columns
from rgwot.datasets.names import video_id
from rgwot.features.index import common_attributes
from rgwot.features.settings import FeatureSettings
from rgwot.features.store import IMPORTER, FeatureStore, open_store
from rgwot.paths import STORE
from rgwot.runtime.errors import RgwotError

Make = Callable[[Path, Path], object]
"""A source, where its feature store goes -> the store, written."""


@dataclass(frozen=True)
class How:
    """How features are made: the path of weights that the bundle only names, and what no result depends on."""

    weights: str | None = None
    threads: int = 1
    device: str = "auto"
    on_bad_video: Literal["fail", "skip"] = "fail"
    frames_fps: Fraction | None = None


def read_inputs(bundle: Bundle, sources: Sequence[Path], folder: Path, how: How) -> dict[Path, FeatureStore]:
    """Extract features of videos into a folder that keeps them, or open those that are given.

    A source is a video, a feature store, or, of a bundle of features made elsewhere, a file of such features, in the
    form that those of the result had. Returns the feature store of each.

    Raises
    ------
    RgwotError
        Before any video is decoded, for a source that is not there or of the wrong kind, two of one name, and weights
        that are not those of the bundle; then for a video that cannot be used.
    """
    attributes = bundle.about.features.attributes
    imported = attributes.get("decoder") == IMPORTER
    named: dict[str, Path] = {}
    for source in sources:
        given = source.suffix == STORE
        if not (source.is_dir() if given else source.is_file()):
            what = "a feature file" if imported else "a video"
            raise RgwotError(f"{source}: no such file; expected {what}, or a feature store ({STORE})")
        if imported and not given and source.suffix.lower() not in OPENERS:
            raise RgwotError(
                f"{source}: the bundle is of features made elsewhere ({attributes.get('backbone')}), of which a video "
                f"has none; expected a file of them ({', '.join(OPENERS)}) or a feature store ({STORE})"
            )
        video = source.name.removesuffix(STORE) if given else video_id(source.stem)
        if video in named:
            raise RgwotError(f"{source}: of the same name as {named[video]}; expected one of them; rename it")
        named[video] = source
    stores = {video: open_store(source) for video, source in named.items() if source.suffix == STORE}
    for store in stores.values():
        check_kind(bundle, store)
    wanted = {video: source for video, source in named.items() if video not in stores}
    if wanted:
        make = _importer(bundle) if imported else _extractor(bundle, how)
        for video, source in wanted.items():
            path = folder / f"{video}{STORE}"
            # What was made of this file before is kept.
            make(source, path)
            stores[video] = open_store(path)
            check_kind(bundle, stores[video])
    return {source: stores[video] for video, source in named.items()}


def check_kind(bundle: Bundle, store: FeatureStore) -> None:
    """Refuse features of another kind than the bundle's."""
    kind = bundle.about.features
    # Of features that could not be imported nothing is known.
    if not len(store) and store.imported:
        return
    for key, found in common_attributes(store).items():
        # The name of a checkpoint's file may be another; its digest may not.
        if key != "weights" and found != kind.attributes.get(key, found):
            raise RgwotError(
                f"{store.path}: features with {key} {found!r}, expected {kind.attributes[key]!r} as in {bundle.path}; "
                "give the video itself, or features made in the same way"
            )
    check_columns(store.path, store.columns, bundle.path, str(kind.attributes.get("columns", "")))
    if len(store) and (store.shape[1:] != kind.frame or store.vectors != kind.vectors):
        size, expected = (" x ".join(map(str, shape)) for shape in (store.shape[1:], kind.frame))
        raise RgwotError(f"{store.path}: features of {size}, expected {expected} as in {bundle.path}")


def _extractor(bundle: Bundle, how: How) -> Make:
    """Return what extracts the features of a video by the network of the bundle, whose weights are compared first."""
    from rgwot.features.backbone import load_backbone, weights_digest
    from rgwot.features.extract import extract

    attributes = bundle.about.features.attributes
    name, weights = str(attributes.get("backbone", "resnet50")), str(attributes["weights"])
    about, wanted = extractor(name), attributes["weights_sha256"]
    if how.weights is None and about.is_file(weights):
        raise RgwotError(
            f"{bundle.path}: made with the checkpoint {weights} of {name}, which is not in it; give --weights PATH"
        )
    same = ("size", "fps", "precision", "fused")
    told: dict[str, Any] = {key: value for key, value in attributes.items() if key in same}
    told |= {"backbone": name, "weights": how.weights or weights, "seed": attributes.get("seed") or 0}
    settings = validated(FeatureSettings, told, f"{bundle.path}: features")
    backbone = load_backbone(settings.weights, settings.seed, settings.precision, settings.backbone)
    found = weights_digest(backbone)
    if found != wanted:
        raise RgwotError(
            f"weights {settings.weights}: not those of {bundle.path} (SHA-256 {found[:12]}, expected "
            f"{str(wanted)[:12]}); give the checkpoint of {name} that it was made with as --weights PATH"
        )

    chosen = {key: value for key, value in asdict(how).items() if key != "weights"}
    return partial(extract, settings=settings, backbone=backbone, **chosen)


def import_form(bundle: Bundle) -> ImportSettings:
    """Return the form of the features made elsewhere that a bundle was made from.

    Raises RgwotError where they were not made elsewhere.
    """
    kept = bundle.about.features.attributes
    if kept.get("decoder") != IMPORTER:
        raise RgwotError(
            f"{bundle.path}: made from features of {kept.get('backbone')}, not from arrays; expected feature stores "
            f"({STORE}) of such features"
        )
    # Bundles of earlier versions have the rate of the features that were taken, and not which these were.
    when: dict[str, Any] = {"every": kept.get("source_every") or 1, "keypoints": kept.get("source_keypoints")}
    if kept.get("source_window"):
        when |= {"window": kept["source_window"], "native_fps": kept["source_native_fps"]}
    elif kept.get("source_times"):
        # Where none was stated, the rate is what the times make of it.
        when |= {"times": kept["source_times"], "fps": kept.get("source_fps")}
    else:
        rate = kept.get("source_fps") or kept.get("fps_exact") or str(kept["fps"])
        when |= {"start_s": kept.get("start_s", 0.0), "fps": rate}
    source = {name: kept[name] for name in ("backbone", "layer", "weights")}
    channels = bundle.about.features.frame[0]
    form = {"axes": kept["source_axes"], "channels": channels, **when, **source}
    return validated(ImportSettings, form, f"{bundle.path}: features")


def _importer(bundle: Bundle) -> Make:
    """Return what imports a file of features of the form that those of the bundle had."""
    from rgwot.features.importing import import_features

    settings, kept = import_form(bundle), bundle.about.features.attributes

    def make(source: Path, path: Path) -> None:
        several = source.suffix.lower() not in (".npy", ".csv")
        form = settings.model_copy(update={"key": kept.get("source_key") or None}) if several else settings
        import_features(source, path, form)

    return make
