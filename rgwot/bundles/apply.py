"""The stage behind ``rgwot apply``: the key steps of new videos by a bundle.

Videos, or features, become feature stores like those from which the bundle was made (`read_inputs`).
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rgwot import __version__, paths
from rgwot.blocks import validated
from rgwot.bundles.file import ANSWERS, DECODER, EMBEDDING, LIKENESS, MODEL, Bundle, read_bundle
from rgwot.bundles.learned import LearnedResult
from rgwot.bundles.likeness import check_likeness
from rgwot.columns import ANNOTATION_COLUMNS, MANIFEST_COLUMNS, readable
from rgwot.config.experiments import decoder_of, family_of, split_id
from rgwot.config.methods import DECODERS, FAMILIES
from rgwot.datasets.arrays import OPENERS
from rgwot.datasets.names import stem_of, video_id
from rgwot.datasets.pairing import stem
from rgwot.diagnostics import BundleFacts, Diagnostics, ScopeFacts
from rgwot.embedding.interface import EmbeddedVideo, EmbedVideo
from rgwot.features.settings import FeatureSettings, extractor
from rgwot.features.store import IMPORTER, FeatureStore, open_store
from rgwot.keysteps import collapse
from rgwot.keysteps.decode import order_of
from rgwot.keysteps.interface import Decoded, Predict
from rgwot.keysteps.labelling import Labelling
from rgwot.keysteps.ordering import KeySteps, counted, first_order, format_order, usual_kept
from rgwot.keysteps.warnings import doubts, no_background
from rgwot.names import named_order, names_text
from rgwot.paths import STORE, Tree
from rgwot.procedure import Procedure
from rgwot.procedure.facts import deviation_facts
from rgwot.runtime.csv_files import write_rows
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.runtime.files import replacing, write_text
from rgwot.runtime.provenance import RECORD, check_own_folder, own_folder
from rgwot.stages.decode import write_keysteps
from rgwot.stages.embed import read_embeddings, write_embeddings
from rgwot.timing import label_segments

Make = Callable[[Path, Path], object]
"""A function of a source and a path that writes the feature store of the source and returns it."""


@dataclass(frozen=True)
class ApplyOptions:
    """How to process new videos: the path of the backbone's weights, which a bundle does not contain, and options that
    do not change results.
    """  # noqa: D205

    weights: str | None = None
    threads: int = 1
    device: str = "auto"
    on_bad_video: Literal["fail", "skip"] = "fail"
    frames_fps: Fraction | None = None


def read_inputs(
    learned: LearnedResult, sources: Sequence[Path], folder: Path, how: ApplyOptions
) -> dict[Path, FeatureStore]:
    """Extract features of videos into ``folder``, where they stay, or open given features.

    A source is a video, a feature store or, for a bundle of imported features, a file of such features in the same
    form. Returns the feature store of each source.

    Raises
    ------
    RgwotError
        Before any decoding, if a source does not exist or is of the wrong kind, two sources have the same name, or the
        weights are not those of the bundle; later for an unusable video.
    """
    attributes = learned.features.attributes
    imported = attributes.get("decoder") == IMPORTER
    named: dict[str, Path] = {}
    for source in sources:
        is_store = source.suffix == STORE
        if not (source.is_dir() if is_store else source.is_file()):
            what = "a feature file" if imported else "a video"
            raise RgwotError(f"{source}: no such file; expected {what}, or a feature store ({STORE})")
        if imported and not is_store and source.suffix.lower() not in OPENERS:
            raise RgwotError(
                f"{source}: the bundle was made from imported features ({attributes.get('backbone')}), which a video "
                f"does not have; expected a file of such features ({', '.join(OPENERS)}) or a feature store ({STORE})"
            )
        video = source.name.removesuffix(STORE) if is_store else video_id(stem(source.name))
        if video in named:
            raise RgwotError(f"{source}: has the same name as {named[video]}; expected different names; rename it")
        named[video] = source
    stores = {video: open_store(source) for video, source in named.items() if source.suffix == STORE}
    for store in stores.values():
        learned.check_kind(store)
    missing = {video: source for video, source in named.items() if video not in stores}
    if missing:
        make = _importer(learned) if imported else _extractor(learned, how)
        for video, source in missing.items():
            path = folder / f"{video}{STORE}"
            # An earlier store that was made from the same file is kept.
            make(source, path)
            stores[video] = open_store(path)
            learned.check_kind(stores[video])
    return {source: stores[video] for video, source in named.items()}


def _extractor(learned: LearnedResult, how: ApplyOptions) -> Make:
    """Return a function that extracts features by the network of the bundle; raise RgwotError for other weights."""
    from rgwot.features.backbone import load_backbone, weights_digest
    from rgwot.features.extract import extract

    attributes = learned.features.attributes
    name, weights = str(attributes.get("backbone", "resnet50")), str(attributes["weights"])
    entry, expected = extractor(name), attributes["weights_sha256"]
    if how.weights is None and entry.is_file(weights):
        raise RgwotError(
            f"{learned.name}: made with the checkpoint {weights} of {name}, which is not part of the bundle; "
            "give --weights PATH, the path of this checkpoint"
        )
    shared_keys = ("size", "fps", "precision", "fused")
    facts: dict[str, object] = {key: value for key, value in attributes.items() if key in shared_keys}
    facts |= {"backbone": name, "weights": how.weights or weights, "seed": attributes.get("seed") or 0}
    settings = validated(FeatureSettings, facts, f"{learned.name}: features")
    backbone = load_backbone(settings.weights, settings.seed, settings.precision, settings.backbone)
    digest = weights_digest(backbone)
    if digest != expected:
        raise RgwotError(
            f"weights {settings.weights}: differ from those of {learned.name} (SHA-256 {digest[:12]}, expected "
            f"{str(expected)[:12]}); give --weights PATH, the checkpoint of {name} with which the bundle was made"
        )

    chosen = {key: value for key, value in asdict(how).items() if key != "weights"}
    return partial(extract, settings=settings, backbone=backbone, **chosen)


def _importer(learned: LearnedResult) -> Make:
    """Return a function that imports a file of features in the same form as those of the bundle."""
    from rgwot.features.importing import import_features

    settings, attributes = learned.import_form(), learned.features.attributes

    def make(source: Path, path: Path) -> None:
        several = source.suffix.lower() not in (".npy", ".csv")
        form = settings.model_copy(update={"key": attributes.get("source_key") or None}) if several else settings
        import_features(source, path, form)

    return make


log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Applied:
    """The key steps of a video: as text, the order in which they first occur, and the number of their ``segments``.

    Only segments that count are counted. ``from_study`` says whether the result in the bundle contains the video;
    ``deviations`` has the cells (`rgwot.procedure.facts.DEVIATION_HEADINGS`) of each deviation of the video from the
    procedure of the result. ``unlike`` is a warning if the video, or a part of it, looks like no video of the study,
    and ``length`` a warning if it is far longer or shorter than the videos of the study; otherwise they are empty.
    """

    video: str
    order: str
    segments: int
    from_study: bool
    deviations: Sequence[Sequence[str]]
    unlike: str = ""
    length: str = ""


def apply_bundle(
    path: Path, sources: Sequence[Path], output: Path, how: ApplyOptions = ApplyOptions()
) -> list[_Applied]:
    """Find the key steps of videos by a bundle, and their deviations from its procedure.

    Writes ``segments.csv``, ``order.csv``, ``deviations.csv`` and ``diagnostics.json`` into a folder; `draw_page` adds
    the page.

    Nothing is learned, so the key steps of a video do not depend on the other videos. A video of the study, recognised
    by the SHA-256 of its file, keeps its key steps. Features stay in the subfolder ``features``, so that a repetition
    is fast; the subfolder ``results`` is an ordinary tree of results, with the names of the study.

    Raises
    ------
    RgwotError
        For an unusable bundle or video. The content of the folder does not change until the new key steps are complete.
    """
    bundle = read_bundle(path)
    learned, embed, predict = restore(bundle)
    procedure = bundle.procedure()
    facts = bundle.facts
    # If there is no folder ``results`` beside such files, this command did not write them, so they are not replaced.
    if not (output / "results").exists():
        for place in (*_tables(output).values(), output / "page.html"):
            if place.exists():
                raise RgwotError(f"{place}: found a file that would be replaced, expected none; name a new folder")
    check_own_folder(output / "results", "apply")
    inputs = read_inputs(learned, sources, output / "features", how)
    stores = sorted((store for store in inputs.values() if len(store)), key=lambda store: store.video)
    if not stores:
        why = "; ".join(store.reason for store in inputs.values() if store.reason)
        raise RgwotError(f"{output}: no video with a frame ({why or 'empty features'}); expected at least one")
    with own_folder(output / "results", "apply") as results:
        tree = Tree(results, facts.dataset, facts.task)
        embeddings = tree.at(paths.EMBEDDINGS, facts.run)
        recorded = {"method": facts.method, "seed": facts.seed, "features_fps": facts.features_fps}
        with bundle.fitting(f"its parts do not fit {facts.run}"):
            write_embeddings(embeddings, stores, embed, recorded)
            videos = read_embeddings(embeddings).videos
            if not all(np.isfinite(video.embedding).all() for video in videos.values()):
                raise ValueError("embeddings are not finite")
            steps, of_study = learned.label(predict, stores, videos)
        new = [store for store in stores if store.video not in of_study]
        unlike, lengths = (
            {store.video: line for store in new if (line := tell(store))}
            for tell in (learned.unlike, learned.unusual_length)
        )
        _write_unannotated(tree, inputs, unlike)
        empty = [store.video for store in inputs.values() if not len(store)]
        written = _write(bundle, learned, procedure, tree, videos, steps, of_study, empty, unlike, lengths)
    tree = Tree(output / "results", facts.dataset, facts.task)
    for table, place in _tables(output).items():
        with replacing(place) as temporary:
            shutil.copyfile(tree.at(table, facts.run), temporary)
    return written


def restore(bundle: Bundle) -> tuple[LearnedResult, EmbedVideo, Predict]:
    """Restore the result in a bundle, with its `LearnedResult.rules`; raise RgwotError if a part is missing."""
    facts = bundle.facts
    for name, entries in ((facts.method, FAMILIES), (facts.decoder, DECODERS)):
        if split_id(name)[0] not in entries:
            raise RgwotError(
                f"{bundle.path}: was made with {name!r}, a method or decoder that is unknown here; load its extension; "
                f"{nearest(name, entries)}"
            )
    where = f"{bundle.path}: settings"
    model = _model(bundle) if MODEL in bundle.parts else None
    learned = LearnedResult(
        name=str(bundle.path),
        run=facts.run,
        method=family_of(facts.method).embedding.of(facts.settings, where),
        rule=decoder_of(facts.decoder).of(facts.settings, where),
        features=facts.features,
        features_fps=facts.features_fps,
        K=facts.K,
        time=facts.time,
        surplus=facts.surplus,
        embedding={} if model else bundle.arrays(EMBEDDING),
        model=model,
        decoder=bundle.arrays(DECODER),
        answers=bundle.arrays(ANSWERS),
        likeness=bundle.arrays(LIKENESS),
    )
    with bundle.fitting(f"lacks a part that {facts.run} needs"):
        check_likeness(learned.likeness, facts.features.frame[0])
        return learned, *learned.rules()


def _model(bundle: Bundle) -> dict[str, object]:
    from rgwot.stages.models import parse_model

    try:
        return parse_model(bundle.parts[MODEL])
    except RgwotError as error:
        raise bundle.wrong(f"{MODEL}: {error}") from None


def _write_unannotated(tree: Tree, inputs: Mapping[Path, FeatureStore], unlike: Mapping[str, str]) -> None:
    """Write the manifest of videos with feature stores, and an empty table of annotations."""
    rows = []
    for source, store in inputs.items():
        path, pictured = source.absolute().as_posix(), source.suffix != STORE and not store.imported
        row: dict[str, object] = {"video": store.video, "name": stem_of(store.video), "path": path}
        row["reason"] = store.reason or unlike.get(store.video, "")
        if len(store):
            row |= {"duration_s": repr(store.duration_s), "fps": str(store.native_fps), "status": store.status}
            row["start_s"] = store.attributes.get("picture_start_s", 0.0)
            row |= {side: store.attributes.get(side, 0) if pictured else 0 for side in ("width", "height")}
        else:
            row["status"] = "skipped"
        rows.append([row.get(column, "") for column in MANIFEST_COLUMNS])
    write_rows(MANIFEST_COLUMNS, rows, tree.at(paths.MANIFEST))
    write_rows(ANNOTATION_COLUMNS, [], tree.at(paths.ANNOTATIONS))


def _write(
    bundle: Bundle,
    learned: LearnedResult,
    procedure: Procedure,
    tree: Tree,
    videos: Mapping[str, EmbeddedVideo],
    steps: Mapping[str, NDArray[np.int64]],
    of_study: Mapping[str, str],
    empty: Sequence[str],
    unlike: Mapping[str, str],
    lengths: Mapping[str, str],
) -> list[_Applied]:
    """Write the folder of key steps."""
    facts = bundle.facts
    segments = {name: label_segments(video.time_s, steps[name], video.duration_s) for name, video in videos.items()}
    orders = {name: order_of(steps[name], video.time_s / video.duration_s) for name, video in videos.items()}
    background = any((labels_here == 0).any() for labels_here in steps.values())
    scope, distinct = _soundness(videos, steps, facts.K)
    warnings = [
        *(f"{stem_of(video)} {line}" for told in (unlike, lengths) for video, line in told.items()),
        *doubts(facts.K, distinct, scope.background_share or 0.0),
    ]
    diagnostics = Diagnostics(
        method=facts.method,
        decoder=facts.decoder,
        K=facts.K,
        background=background,
        seed=facts.seed,
        features_fps=facts.features_fps,
        n_videos=len(steps),
        videos_without_frames=list(empty),
        degenerate=bool(scope.degenerate),
        degenerate_cause=scope.degenerate_cause,
        warnings=warnings,
        task=scope,
        notes=no_background(background, facts.surplus),
        bundle=BundleFacts(file=bundle.path.name, sha256=bundle.sha256, rgwot_version=facts.rgwot_version),
        applied_by=__version__,
        known_videos=list(of_study),
    )
    usual = usual_kept(procedure)
    occurring = {
        name: learned.as_in_study(table, of_study[name]) if name in of_study else table
        for name, table in counted(segments, usual).items()
    }
    key_steps = KeySteps({"task": occurring}, orders, procedure, diagnostics)
    write_keysteps(tree.keysteps(facts.run), key_steps)
    for warning in warnings:
        log.warning("%s: %s", bundle.path.name, warning)
    if facts.names:
        # The same text as in the file that a page offers for download; it states the result that the names belong to.
        write_text(names_text(str(facts.run), key_steps.segment_table, facts.names), tree.at(paths.NAMES, facts.run))
    rows = deviation_facts(key_steps.deviations, key_steps.recordings, every=key_steps.every)
    return [
        _Applied(
            recording.video,
            named_order(format_order(first_order(recording.events)), facts.names),
            len(recording.events),
            recording.video in of_study,
            [row.cells(facts.names) for row in rows if row.deviation.video == recording.video],
            unlike.get(recording.video, ""),
            lengths.get(recording.video, ""),
        )
        for recording in key_steps.recordings
    ]


def _soundness(
    videos: Mapping[str, EmbeddedVideo], steps: Mapping[str, NDArray[np.int64]], K: int
) -> tuple[ScopeFacts, dict[str, int]]:
    """Return the facts of a decoding for all videos together, and the number of key steps of each video."""
    x = np.concatenate([video.embedding for video in videos.values()])
    labels = np.concatenate(list(steps.values())) - 1
    facts = Labelling(x, labels, Decoded(labels), collapse.diagnose(x, labels, K, None)).facts()
    return facts, {name: len(np.unique(labels_here[labels_here > 0])) for name, labels_here in steps.items()}


def _tables(output: Path) -> dict[str, Path]:
    """Return the path of each table's copy in the output folder, by the template of the table's path."""
    files = (paths.SEGMENTS, paths.ORDER, paths.DEVIATIONS, paths.DIAGNOSTICS)
    return {table: output / paths.name_of(table) for table in files}


def draw_page(path: Path, output: Path) -> None:
    """Draw ``page.html`` in a folder that `apply_bundle` wrote with the bundle at ``path``."""
    from rgwot.reporting.page.pictures import write_strips
    from rgwot.reporting.page.render import write_page
    from rgwot.reporting.page.view import write_view

    bundle = read_bundle(path)
    facts, root = bundle.facts, Path("/")
    with own_folder(output / "results", "apply") as results:
        shutil.copytree(output / "results", results, ignore=shutil.ignore_patterns(RECORD), dirs_exist_ok=True)
        tree = Tree(results, facts.dataset, facts.task)
        manifest = tree.at(paths.MANIFEST)
        write_strips(manifest, root, tree.at(paths.STRIPS))
        embeddings, segments = tree.at(paths.EMBEDDINGS, facts.run), tree.at(paths.SEGMENTS, facts.run)
        view = tree.at(paths.VIEW, facts.run)
        write_view(embeddings, segments, manifest, root, view, facts.seed)
    tree = Tree(output / "results", facts.dataset, facts.task)
    study = (
        f"Key steps and procedure are those of {facts.dataset}/{readable(facts.task)} ({path.name}), learned from "
        f"{len(facts.videos)} videos; counts and times in the procedure are those of these videos."
    )
    write_page(tree, root, [facts.run], output / "page.html", tree.at(paths.NAMES, facts.run), study=study)
