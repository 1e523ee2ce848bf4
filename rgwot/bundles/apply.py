"""The stage behind ``rgwot apply``: the key steps of videos that were not there when a bundle was made.

Videos, or features, become feature stores of the kind that the bundle was made from (`read_inputs`).
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rgwot import __version__, paths
from rgwot.bundles.file import ANSWERS, DECODER, EMBEDDING, MODEL, Bundle, read_bundle
from rgwot.columns import ANNOTATION_COLUMNS, MANIFEST_COLUMNS
from rgwot.config.configuration import ImportSettings
from rgwot.config.experiments import family_of, split_id
from rgwot.config.methods import DECODERS, EMBEDDING_KINDS, FAMILIES, clustering
from rgwot.config.settings import Settings, validated
from rgwot.datasets.arrays import OPENERS, check_columns
from rgwot.datasets.names import stem_of, video_id
from rgwot.datasets.pairing import stem
from rgwot.embedding.interface import EmbeddedVideo, EmbedVideo
from rgwot.features.index import common_attributes
from rgwot.features.settings import FeatureSettings, extractor
from rgwot.features.store import IMPORTER, FeatureStore, open_store
from rgwot.keysteps import collapse
from rgwot.keysteps.decode import Labelling, doubts, labelling_of, no_background, order_of
from rgwot.keysteps.extended import restored
from rgwot.keysteps.interface import Decoded, Predict
from rgwot.keysteps.ordering import KeySteps, format_order
from rgwot.paths import STORE, Run, Tree
from rgwot.procedure import Procedure
from rgwot.procedure.sentences import deviations_in_words
from rgwot.reporting.names import named_order, names_text
from rgwot.runtime.errors import RgwotError, first_line, nearest
from rgwot.runtime.files import replacing, write_rows, write_text
from rgwot.runtime.provenance import check_own_folder, own_folder
from rgwot.stages.decode import write_keysteps
from rgwot.stages.embed import read_embeddings, write_embeddings
from rgwot.timing import label_segments

Make = Callable[[Path, Path], object]
"""A source, where its feature store goes -> the store, written."""


@dataclass(frozen=True)
class How:
    """How to process new videos: the path of the backbone's weights, which a bundle only names, and options that change
    no result.
    """  # noqa: D205

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
        video = source.name.removesuffix(STORE) if given else video_id(stem(source.name))
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
    for key, value in common_attributes(store).items():
        # The name of a checkpoint's file may be another; its digest may not.
        if key != "weights" and value != kind.attributes.get(key, value):
            raise RgwotError(
                f"{store.path}: features with {key} {value!r}, expected {kind.attributes[key]!r} as in {bundle.path}; "
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
    facts: dict[str, Any] = {key: value for key, value in attributes.items() if key in same}
    facts |= {"backbone": name, "weights": how.weights or weights, "seed": attributes.get("seed") or 0}
    settings = validated(FeatureSettings, facts, f"{bundle.path}: features")
    backbone = load_backbone(settings.weights, settings.seed, settings.precision, settings.backbone)
    digest = weights_digest(backbone)
    if digest != wanted:
        raise RgwotError(
            f"weights {settings.weights}: not those of {bundle.path} (SHA-256 {digest[:12]}, expected "
            f"{str(wanted)[:12]}); give the checkpoint of {name} that it was made with as --weights PATH"
        )

    chosen = {key: value for key, value in asdict(how).items() if key != "weights"}
    return partial(extract, settings=settings, backbone=backbone, **chosen)


def import_form(bundle: Bundle) -> ImportSettings:
    """Return the form of the features made elsewhere that a bundle was made from.

    Raises RgwotError where they were not made elsewhere.
    """
    kept_attributes = bundle.about.features.attributes
    if kept_attributes.get("decoder") != IMPORTER:
        raise RgwotError(
            f"{bundle.path}: made from features of {kept_attributes.get('backbone')}, not from arrays; expected "
            f"feature stores ({STORE}) of such features"
        )
    # Bundles of earlier versions have the rate of the features that were taken, and not which these were.
    when: dict[str, Any] = {
        "every": kept_attributes.get("source_every") or 1,
        "keypoints": kept_attributes.get("source_keypoints"),
    }
    if kept_attributes.get("source_window"):
        when |= {"window": kept_attributes["source_window"], "native_fps": kept_attributes["source_native_fps"]}
    elif kept_attributes.get("source_times"):
        # Without a stated rate, the times imply one.
        when |= {"times": kept_attributes["source_times"], "fps": kept_attributes.get("source_fps")}
    else:
        rate = kept_attributes.get("source_fps") or kept_attributes.get("fps_exact") or str(kept_attributes["fps"])
        when |= {"start_s": kept_attributes.get("start_s", 0.0), "fps": rate}
    source = {name: kept_attributes[name] for name in ("backbone", "layer", "weights")}
    channels = bundle.about.features.frame[0]
    form = {"axes": kept_attributes["source_axes"], "channels": channels, **when, **source}
    return validated(ImportSettings, form, f"{bundle.path}: features")


def _importer(bundle: Bundle) -> Make:
    """Return what imports a file of features of the form that those of the bundle had."""
    from rgwot.features.importing import import_features

    settings, kept_attributes = import_form(bundle), bundle.about.features.attributes

    def make(source: Path, path: Path) -> None:
        several = source.suffix.lower() not in (".npy", ".csv")
        form = settings.model_copy(update={"key": kept_attributes.get("source_key") or None}) if several else settings
        import_features(source, path, form)

    return make


log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Applied:
    """What was found in a video: its order in words, its number of segments, and whether the result had it already.

    ``deviations`` says what it does differently from the procedure of the result.
    """

    video: str
    order: str
    segments: int
    known: bool
    deviations: str


def apply_bundle(path: Path, sources: Sequence[Path], output: Path, how: How = How()) -> list[Applied]:  # noqa: B008
    """Find the key steps of videos by a bundle, and what deviates from its procedure.

    Writes ``segments.csv``, ``order.csv``, ``deviations.csv`` and ``page.html`` into a folder.

    Nothing is learned. A video gets the same key steps whichever others it is asked about with; one that the result was
    learned from, known by the SHA-256 of its file, has those that it has there. Features stay in ``features`` of the
    folder, so that asking again is quick, and ``results`` is a tree of results like any other, with the names of the
    study.

    Raises
    ------
    RgwotError
        For a bundle that cannot be used, or a video that cannot. What was in the folder stays as it was until the new
        key steps are whole.
    """
    bundle = read_bundle(path)
    result = restore(bundle)
    procedure = bundle.procedure()
    about = bundle.about
    # Without results of ours beside them they are somebody's own.
    if not (output / "results").exists():
        for place in (*_tables(output).values(), output / "page.html"):
            if place.exists():
                raise RgwotError(f"{place}: found a file that would be replaced, expected none; name a new folder")
    check_own_folder(output / "results", "apply")
    inputs = read_inputs(bundle, sources, output / "features", how)
    stores = sorted((store for store in inputs.values() if len(store)), key=lambda store: store.video)
    if not stores:
        why = "; ".join(store.reason for store in inputs.values() if store.reason)
        raise RgwotError(f"{output}: no video with a frame ({why or 'empty features'}); expected at least one")
    with own_folder(output / "results", "apply") as results:
        tree = Tree(results, about.dataset, about.task)
        _write_unannotated(tree, inputs)
        embeddings = tree.at(paths.EMBEDDINGS, about.run)
        facts = {"method": about.method, "seed": about.seed, "features_fps": about.features_fps}
        write_embeddings(embeddings, stores, result.embed, facts)
        videos = read_embeddings(embeddings).videos
        steps, known = label_each(bundle, result, stores, videos)
        empty = [store.video for store in inputs.values() if not len(store)]
        written = _write(bundle, procedure, tree, videos, steps, known, empty)
        _write_pictures(tree, about.run, result.settings)
    _write_page(output, bundle)
    return written


@dataclass(frozen=True)
class Restored:
    """A result taken up again: how videos are embedded and labelled, and the key steps of those it was learned from.

    ``answers`` has these by the SHA-256 of the file of the video, or of its features.
    """

    settings: Settings
    embed: EmbedVideo
    rule: Predict
    answers: Mapping[str, NDArray[Any]]


def label_each(
    bundle: Bundle, result: Restored, stores: Sequence[FeatureStore], videos: Mapping[str, EmbeddedVideo]
) -> tuple[dict[str, NDArray[np.int64]], dict[str, str]]:
    """Label each video on its own, by its embedding; those of the result keep their labels.

    ``stores`` are of videos with frames, ``videos`` their embeddings by id. Returns the key steps (T,) by id, and of
    the videos that the result was learned from the SHA-256 of their files.
    """
    from threadpoolctl import threadpool_limits

    about = bundle.about
    with threadpool_limits(limits=1):
        steps = {
            name: labelling_of([video], about.features_fps, about.K, result.rule).labels + 1
            for name, video in videos.items()
        }
    known = {}
    for store in stores:
        digest = str(store.attributes.get("source_sha256"))
        answer = result.answers.get(digest)
        if answer is not None and answer.shape == steps[store.video].shape:
            steps[store.video] = answer.astype(np.int64)
            known[store.video] = digest
    return steps, known


def restore(bundle: Bundle) -> Restored:
    """Restore the result in a bundle; RgwotError where a part is missing."""
    about = bundle.about
    for name, known in ((about.method, FAMILIES), (about.decoder, DECODERS)):
        if split_id(name)[0] not in known:
            raise RgwotError(f"{bundle.path}: made with {name!r}, unknown here; {nearest(name, known)}")
    settings = validated(Settings, about.settings, f"{bundle.path}: settings")
    try:
        if MODEL in bundle.parts:
            embed = _model(bundle)
        else:
            entry = EMBEDDING_KINDS[family_of(about.method).embedding]
            embed = entry.bound(settings, entry.restore)(bundle.arrays(EMBEDDING))
        decoder = clustering(split_id(about.decoder)[0], settings)
        restore_decoder = decoder.bound(settings, decoder.restore)
        rule = restored(restore_decoder, bundle.arrays(DECODER), about.K, about.time, about.surplus)
        return Restored(settings, embed, rule, bundle.arrays(ANSWERS))
    except (KeyError, ValueError, TypeError, IndexError, AttributeError, RuntimeError) as error:
        raise bundle.wrong(f"does not hold what {about.run} needs ({first_line(error)})") from None


def _model(bundle: Bundle) -> EmbedVideo:
    import torch

    from rgwot.embedding.encoder import embed_by_model
    from rgwot.stages.train import parse_model

    try:
        model = parse_model(bundle.parts[MODEL])
    except RgwotError as error:
        raise bundle.wrong(f"{MODEL}: {error}") from None
    # As the workflow runs it; more threads would round otherwise.
    return embed_by_model(model, bundle.about.features_fps, torch.device("cpu"), 1)


def _write_unannotated(tree: Tree, inputs: Mapping[Path, FeatureStore]) -> None:
    """Write the manifest of videos with feature stores, and an empty table of annotations."""
    rows = []
    for source, store in inputs.items():
        path, pictured = source.absolute().as_posix(), source.suffix != STORE and not store.imported
        row: dict[str, Any] = {"video": store.video, "name": stem_of(store.video), "path": path, "reason": store.reason}
        if len(store):
            row |= {"duration_s": repr(store.duration_s), "fps": str(store.native_fps), "status": store.status}
            row |= {side: store.attributes.get(side, 0) if pictured else 0 for side in ("width", "height")}
        else:
            row["status"] = "skipped"
        rows.append([row.get(column, "") for column in MANIFEST_COLUMNS])
    write_rows(MANIFEST_COLUMNS, rows, tree.at(paths.MANIFEST))
    write_rows(ANNOTATION_COLUMNS, [], tree.at(paths.ANNOTATIONS))


def _write(
    bundle: Bundle,
    procedure: Procedure,
    tree: Tree,
    videos: Mapping[str, EmbeddedVideo],
    steps: Mapping[str, NDArray[np.int64]],
    known: Mapping[str, str],
    empty: Sequence[str],
) -> list[Applied]:
    """Write the folder of key steps."""
    about = bundle.about
    segments = {name: label_segments(video.time_s, steps[name], video.duration_s) for name, video in videos.items()}
    orders = {name: order_of(steps[name], video.time_s / video.duration_s) for name, video in videos.items()}
    background = any((labels_here == 0).any() for labels_here in steps.values())
    diagnostics = {
        "method": about.method,
        "decoder": about.decoder,
        "K": about.K,
        "background": background,
        "seed": about.seed,
        "features_fps": about.features_fps,
        "n_videos": len(steps),
        "videos_without_frames": list(empty),
        **_soundness(videos, steps, about.K),
        "notes": no_background(background, about.surplus),
        "bundle": {"file": bundle.path.name, "sha256": bundle.sha256, "rgwot_version": about.rgwot_version},
        "applied_by": __version__,
        "known_videos": list(known),
    }
    key_steps = KeySteps({"task": segments}, orders, procedure, diagnostics)
    write_keysteps(tree.keysteps(about.run), key_steps)
    for warning in diagnostics["warnings"]:
        log.warning("%s: %s", bundle.path.name, warning)
    if about.names:
        # As a page lets them be downloaded, for these segments.
        write_text(names_text(str(about.run), key_steps.segment_table, about.names), tree.at(paths.NAMES, about.run))
    deviations = key_steps.deviations
    return [
        Applied(
            name,
            named_order(format_order(orders[name]), about.names),
            len(labels_here),
            name in known,
            deviations_in_words([deviation for deviation in deviations if deviation.video == name], about.names),
        )
        for name, labels_here in segments.items()
    ]


def _soundness(videos: Mapping[str, EmbeddedVideo], steps: Mapping[str, NDArray[np.int64]], K: int) -> dict[str, Any]:
    """Return what the diagnostics of a decoding say of all videos together."""
    x = np.concatenate([video.embedding for video in videos.values()])
    labels = np.concatenate(list(steps.values())) - 1
    facts = Labelling(x, labels, Decoded(labels), collapse.diagnose(x, labels, K, None)).facts()
    distinct = {name: len(np.unique(labels_here[labels_here > 0])) for name, labels_here in steps.items()}
    verdict = {key: facts[key] for key in ("degenerate", "degenerate_cause")}
    return {**verdict, "warnings": doubts(K, distinct, facts["background_share"]), "task": facts}


def _write_pictures(tree: Tree, run: Run, settings: Settings) -> None:
    """Write what the page shows beside the key steps: strips of pictures, and the view of the embeddings."""
    from rgwot.reporting.page.pictures import write_strips
    from rgwot.reporting.page.view import write_view

    root, manifest = Path("/"), tree.at(paths.MANIFEST)
    write_strips(manifest, root, tree.at(paths.STRIPS))
    embeddings, segments, view = (tree.at(path, run) for path in (paths.EMBEDDINGS, paths.SEGMENTS, paths.VIEW))
    write_view(embeddings, segments, manifest, root, view, settings, run.seed, family_of(run.method).trained)


def _tables(output: Path) -> dict[str, Path]:
    """Return where copies of files of the results are put."""
    files = (paths.SEGMENTS, paths.ORDER, paths.DEVIATIONS, paths.DIAGNOSTICS)
    return {table: output / paths.name_of(table) for table in files}


def _write_page(output: Path, bundle: Bundle) -> None:
    """Write the page, and copies of the tables to where people look for them."""
    from rgwot.reporting.page.render import write_page

    tree = Tree(output / "results", bundle.about.dataset, bundle.about.task)
    for table, place in _tables(output).items():
        with replacing(place) as temporary:
            shutil.copyfile(tree.at(table, bundle.about.run), temporary)
    run = bundle.about.run
    write_page(tree, Path("/"), [run], output / "page.html", tree.at(paths.NAMES, run))
