"""Key steps of arrays, without files and without the workflow: `rgwot.discover`.

The stages of the workflow run one after the other in a temporary folder, so that the same features, settings and seed
give the same key steps here as there.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from pydantic import ValidationError

from rgwot import paths
from rgwot.bundles.inputs import Input
from rgwot.config.configuration import load_config
from rgwot.config.experiments import Experiments, family_of, split_id
from rgwot.config.importing import ImportSettings
from rgwot.config.methods import DECODERS, EMBEDDINGS
from rgwot.config.settings import BLOCKS, Settings, describe
from rgwot.datasets.arrays import TIMES
from rgwot.datasets.names import LONGEST_ID, stem_of, video_id
from rgwot.datasets.split import split_videos, subjects_of
from rgwot.embedding.stored import read_embeddings
from rgwot.features.importing import FEATURES_ALONE, import_features
from rgwot.features.index import open_stores, write_index
from rgwot.features.store import FeatureStore
from rgwot.keysteps.decode import decode
from rgwot.keysteps.ordering import Order
from rgwot.paths import STORE, Run, Tree
from rgwot.procedure import Procedure
from rgwot.procedure.files import read_procedure
from rgwot.records import read_deviations, read_orders, read_procedures, read_segments
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.timing import predicted_labels

Video = ArrayLike | str | os.PathLike[str]
"""Features (T, C) or (T, C, h, w) of a video, or the path of a feature store that the workflow wrote."""

Videos = Mapping[str, Video] | Sequence[Video] | NDArray[Any]
"""Videos by name, or one after the other."""

Times = Mapping[str, ArrayLike] | Sequence[ArrayLike] | NDArray[Any]
"""The times (T,) of the features of every video, in seconds, by name or one after the other."""

_PLACE = ("arrays", "task")


@dataclass(frozen=True, repr=False)
class Discovery:
    """The key steps of a task, as `discover` returns them.

    Tables and diagnostics are those that the workflow writes into the folder of a result, under the names that the
    videos were given by (in diagnostics under their ids, which percent-encode spaces and the like).

    Attributes
    ----------
    run
        Canonical ids of method and decoder, and the seed: ``run.method``, ``run.decoder``, ``run.seed``.
    settings
        All settings, resolved.
    segments : pandas.DataFrame
        ``video, scope, start_s, end_s, key_step``, times in seconds; scope ``task`` has the clusters of all videos,
        scope ``video`` those of each video alone. Key steps count from 1, 0 is background.
    order : pandas.DataFrame
        ``video, order``: the order of the key steps of every video, such as ``3>1>2``.
    procedures : pandas.DataFrame
        ``rank, order, n_videos, share``: the different orders, the most frequent first.
    procedure : rgwot.procedure.Procedure
        The task graph: ``procedure.graph`` is a `networkx.DiGraph` with START and END, ``procedure.order`` one order
        for all that the graph allows; nodes, edges with their confidence, groups in either order and notes.
    deviations : pandas.DataFrame
        ``video, kind, key_step, start_s, end_s, surprise``: what every video does differently (``missing``, ``added``,
        ``repeated``, ``too_early``, ``too_late``), how surprising it is in bits.
    diagnostics : dict
        How the answer came about, whether embedding or decoder collapsed (``degenerate``), and ``warnings``.
    labels : dict of numpy.ndarray
        By video, the key step (T,) int64 of every feature, of scope ``task``.
    times : dict of numpy.ndarray
        By video, the time (T,) of every feature, seconds.
    embeddings : dict of numpy.ndarray
        By video, what was clustered, (T, D) float64; empty for the method ``none``.
    """

    run: Run
    settings: Settings
    segments: pd.DataFrame
    order: pd.DataFrame
    procedures: pd.DataFrame
    procedure: Procedure
    deviations: pd.DataFrame
    diagnostics: dict[str, Any]
    labels: dict[str, NDArray[np.int64]]
    times: dict[str, NDArray[np.float64]]
    embeddings: dict[str, NDArray[np.float64]]

    @property
    def K(self) -> int:
        """Number of key steps, set or chosen."""
        return int(self.diagnostics["K"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why the answer should be doubted, a line each; they are logged, too."""
        return tuple(self.diagnostics.get("warnings", ()))

    @property
    def orders(self) -> dict[str, Order]:
        """The order of the key steps of every video as numbers, by video."""
        return {
            video: tuple(map(int, text.split(">")))
            for video, text in zip(self.order["video"], self.order["order"], strict=True)
        }

    @property
    def samples(self) -> pd.DataFrame:
        """One row per feature: ``video, time_s, key_step``."""
        parts = [
            pd.DataFrame({"video": video, "time_s": self.times[video], "key_step": labels})
            for video, labels in self.labels.items()
        ]
        return pd.concat(parts, ignore_index=True)

    def __repr__(self) -> str:
        order = " > ".join(map(str, self.procedure.order)) or "no key step"
        doubted = ", degenerate" if self.diagnostics["degenerate"] else ""
        if self.warnings:
            doubted += f", {len(self.warnings)} warning{'s' if len(self.warnings) > 1 else ''}"
        return f"<Discovery by {self.run}: {len(self.labels)} videos, K = {self.K}, {order}{doubted}>"


def discover(
    features: Videos,
    *,
    fps: float | str | Fraction | None = None,
    times: Times | None = None,
    method: str = "rgwot-plus",
    decoder: str = "consensus",
    K: int | str | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    seed: int = 0,
    device: str = "auto",
) -> Discovery:
    """Find the key steps of a task and their order from the features of its videos.

    Gives what the workflow gives for the same features, ids, settings and seed, label by label. Features are kept in
    float16, as there, and on disk (a temporary folder) while this runs.

    Parameters
    ----------
    features
        Features (T, C) or maps (T, C, h, w) of every video, of any floating-point type, finite and below 65520 in
        magnitude: a mapping from names, or a sequence, whose videos are then called 0, 1, ... T may differ between
        videos, the other axes may not. In place of an array, the path of a feature store (``.zarr``) of the workflow,
        which knows its times and the length of its video.
    fps
        Features per second of video, a number or a fraction such as ``"30000/1001"``; by default ``features.fps`` of
        the settings, 2. Feature i stands at i / fps seconds, and the video lasts T / fps.
    times
        Instead of ``fps``, the times (T,) of the features of every video, in seconds, increasing and of one usual step.
    method, decoder
        Ids as in paths of the workflow, with keys or without: ``whitened``, ``raw``, ``rgwot``, ``rgwot@alpha=0.5``,
        ``rgwot-plus``, ...; ``meanfield``, ``graphcut``, ``consensus``, ``kmeans@K=5``, ... With ``data.split=holdout``
        the videos drawn by ``data.split_seed`` are labelled and not learnt from.
    K
        Key steps, the same as ``decode.K`` of the settings: a number of 1 or more, or ``"auto"``; by default 7.
    settings
        Blocks of settings as in ``config.yaml``, such as ``{"train": {"iterations": 800}}``. What makes a method what
        it is takes precedence, and keys of an id take precedence over that.
    seed
        Seed of everything drawn at random, 0 or more.
    device
        Where an encoder is trained and used: ``auto``, ``cpu`` or ``cuda``.

    Raises
    ------
    RgwotError
        In one line, for features that cannot be used, an unknown id or setting, or too few videos for the method.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> steps = np.repeat(rng.normal(size=(3, 16)), 20, axis=0)
    >>> videos = [steps + rng.normal(scale=0.3, size=steps.shape) for _ in range(4)]
    >>> found = discover(videos, fps=2, K=3)
    >>> len(found.labels["0"]), sorted(set(found.labels["0"].tolist())), found.procedures["n_videos"].tolist()
    (60, [1, 2, 3], [4])
    >>> order = found.procedure.order
    >>> (order[0], order[1]) in found.procedure.graph.edges, len(found.deviations)
    (True, 0)
    """
    experiment = resolve(method, decoder, K, settings, seed)
    with TemporaryDirectory(prefix="rgwot-") as folder:
        return discover_in(Path(folder), features, experiment, fps=fps, times=times, device=device)


@dataclass(frozen=True)
class Experiment:
    """What to do: the canonical ids with their seed, and the settings of the method and of its decoder."""

    run: Run
    of_method: Settings
    of_decoder: Settings


def resolve(
    method: str, decoder: str, K: int | str | None, settings: Mapping[str, Mapping[str, Any]] | None, seed: int
) -> Experiment:
    """Resolve ids and settings as the workflow does; RgwotError for those that are wrong."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise RgwotError(f"seed: found {seed!r}, expected a whole number, 0 or more")
    given = {block: dict(keys) if isinstance(keys, Mapping) else keys for block, keys in (settings or {}).items()}
    for block, keys in given.items():
        if block not in BLOCKS:
            raise RgwotError(f"settings: unknown block {block!r}; {nearest(block, BLOCKS)}")
        if not isinstance(keys, Mapping):
            raise RgwotError(f"settings: {block}: found {keys!r}, expected keys and values")
    if K is not None:
        given["decode"] = {**given.get("decode", {}), "K": K}
    experiments = Experiments(load_config(given, "settings"))
    method = experiments.method(method)
    decoder = experiments.decoder(decoder, method)
    of_decoder = experiments.settings(method, decoder, "")
    asked = of_decoder.decode.K
    if asked != "auto" and not isinstance(asked, int):
        raise RgwotError(f"decode.K: found {asked!r}, expected a number or auto; arrays have no annotations to count")
    return Experiment(Run(method, decoder, int(seed)), experiments.settings(method, None, ""), of_decoder)


def discover_in(
    folder: Path,
    features: Videos,
    experiment: Experiment,
    *,
    fps: float | str | Fraction | None = None,
    times: Times | None = None,
    device: str = "auto",
) -> Discovery:
    """Run `discover` in a permanent folder, laid out as the workflow's results (`tree_in`)."""
    run, settings, tree = experiment.run, experiment.of_method, tree_in(folder)
    family, decoder = family_of(run.method), split_id(run.decoder)[0]
    if fps is not None and times is not None:
        raise RgwotError("fps and times are both given; expected one of them")
    index = tree.at(paths.INDEX)
    with named_plainly(folder), as_many_threads(family.trained):
        rate = None if times is not None else str(settings.features.fps if fps is None else fps)
        sources = write_arrays(features, times, folder)
        several = EMBEDDINGS[family.embedding].several
        if several and len(sources) < 2:
            raise RgwotError(f"features: found {len(sources)} video, expected at least 2 for the method {run.method!r}")
        _write_stores(sources, tree, rate)
        # As the workflow lists them; which pairs of videos are drawn depends on it.
        write_index([_store(tree, video) for video in sorted(sources)], index)
        stores = open_stores(index, index.parent)
        held_out: tuple[str, ...] = ()
        if settings.data.split == "holdout":
            held_out = split_videos(subjects_of(sources), settings.data.holdout, settings.data.split_seed).test
        if DECODERS[decoder].trivial:
            diagnostics = _trivial(tree, stores, decoder, experiment, held_out)
        else:
            model = None
            if family.trained:
                model = tree.at(paths.MODEL, run)
                _train(index, model, settings, run.seed, device, held_out)
            _embed(index, model, tree.at(paths.EMBEDDINGS, run), run, settings, device, held_out)
            diagnostics = decode(
                tree.at(paths.EMBEDDINGS, run), tree.keysteps(run), decoder, experiment.of_decoder, run.seed
            )
    as_given = sorted(stores, key=lambda store: list(sources).index(store.video))
    return _read(tree, run, experiment.of_decoder, as_given, diagnostics)


def tree_in(folder: Path) -> Tree:
    """Return the results that `discover_in` leaves in a folder."""
    # Not `results`, below which a path tells a store of the workflow from a copied one.
    return Tree(folder / "made", *_PLACE)


def write_arrays(features: Videos, times: Times | None, folder: Path) -> dict[str, Path]:
    """Write arrays as ``.npy`` files into a folder, and their times beside them; return the files by id of the video.

    Feature stores stay where they are. RgwotError for what is neither, two videos of one name, or times that do not go
    with the videos.
    """
    named = _by_name(features)
    when = _times(times, list(named))
    files: dict[str, Path] = {}
    for name, video in named.items():
        what = f"features[{name!r}]"
        ident = _id(name)
        if isinstance(video, (str, os.PathLike)):
            path = Path(video).absolute()
            if path.suffix != STORE or not path.is_dir():
                raise RgwotError(f"{what}: found {str(video)!r}, expected an array, or a feature store ({STORE})")
            files[ident] = path
            continue
        array = np.asarray(video)
        if array.dtype.kind != "f":
            raise RgwotError(f"{what}: array of {array.dtype}, expected floating-point numbers")
        if array.ndim not in (2, 4):
            raise RgwotError(f"{what}: shape {array.shape}, expected (T, C) or (T, C, h, w), one array per video")
        files[ident] = folder / f"{ident}.npy"
        np.save(files[ident], np.ascontiguousarray(array), allow_pickle=False)
        if name in when:
            beside = files[ident].with_name(f"{ident}{TIMES}.npy")
            np.save(beside, np.asarray(when[name], dtype=np.float64), allow_pickle=False)
    return files


@contextmanager
def named_plainly(folder: Path) -> Iterator[None]:
    """Remove the temporary folder from messages of errors: arrays are known by their names alone."""
    try:
        yield
    except RgwotError as error:
        index = tree_in(folder).at(paths.INDEX)
        text = str(error).replace(str(index), "features")
        places = "|".join(re.escape(str(place)) for place in (index.parent, folder / "features", folder))
        text = re.sub(rf"(?:{places})/([^/:]+)(?:\.npy|\.zarr)", lambda found: f"features[{stem_of(found[1])!r}]", text)
        raise RgwotError(text.replace(f"{folder}/", "")) from None


@contextmanager
def as_many_threads(encoder: bool) -> Iterator[None]:
    """Leave PyTorch with as many threads as it had, where an ``encoder`` is trained or used, which sets its own."""
    if not encoder:
        yield
        return
    from rgwot.runtime.threads import threads_kept

    with threads_kept():
        yield


def _by_name(features: Videos) -> dict[str, Any]:
    if isinstance(features, Mapping):
        named = dict(features)
    elif isinstance(features, (str, bytes, os.PathLike)) or not isinstance(features, (Sequence, np.ndarray)):
        raise RgwotError(
            f"features: found {type(features).__name__}, expected a mapping of names to arrays, or a sequence of arrays"
        )
    else:
        # Of one width, so that the order of the names, in which videos are read, is the order given.
        width = len(str(max(len(features) - 1, 0)))
        called = [
            stem_of(Path(video).name.removesuffix(STORE)) if isinstance(video, (str, os.PathLike)) else f"{n:0{width}}"
            for n, video in enumerate(features)
        ]
        named = dict(zip(called, features, strict=True))
        if len(named) < len(called):
            twice = next(name for name in called if called.count(name) > 1)
            raise RgwotError(f"features: two videos are called {twice!r}; expected different names; give a mapping")
    if not named:
        raise RgwotError("features: found no video, expected at least one")
    return named


def _id(name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise RgwotError(f"features: found the name {name!r}, expected a text that is not empty")
    ident = video_id(name)
    if len(ident) > LONGEST_ID:
        raise RgwotError(f"features: name {name[:40]!r}...: {len(ident)} characters, expected at most {LONGEST_ID}")
    return ident


def _times(times: Times | None, names: list[str]) -> Mapping[str, ArrayLike]:
    if times is None:
        return {}
    if not isinstance(times, Mapping):
        if len(times) != len(names):
            raise RgwotError(f"times: found those of {len(times)} videos, expected {len(names)}, one array per video")
        return dict(zip(names, times, strict=True))
    for name in names:
        if name not in times:
            raise RgwotError(f"times: found none of video {name!r}, expected one array per video")
    return times


def _store(tree: Tree, video: str) -> Path:
    return tree.at(paths.INDEX).with_name(paths.name_of(paths.FEATURES).format(video=video))


def _write_stores(sources: Mapping[str, Path], tree: Tree, rate: str | None) -> None:
    """Import arrays from their files, which are removed; link feature stores."""
    when = {"times": "times"} if rate is None else {"fps": rate}
    for video, path in sources.items():
        store = _store(tree, video)
        store.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == STORE:
            store.symlink_to(path, target_is_directory=True)
            continue
        axes = "TC" if np.load(path, mmap_mode="r", allow_pickle=False).ndim == 2 else "TCHW"
        try:
            form = ImportSettings.model_validate({"axes": axes, **when})
        except ValidationError as error:
            raise RgwotError(describe(error, ImportSettings)) from None
        import_features(path, store, form, FEATURES_ALONE)
        path.unlink()


def _train(index: Path, model: Path, settings: Settings, seed: int, device: str, held_out: tuple[str, ...]) -> None:
    from rgwot.embedding.train import train

    try:
        train(index, index.parent, model.parent, settings, seed, device=device, held_out=held_out)
    except SystemExit as stopped:
        # A job of the workflow ends when it is interrupted; whoever calls a function expects what Python does.
        if stopped.code == 128 + signal.SIGINT:
            raise KeyboardInterrupt from None
        raise


def _embed(
    index: Path, model: Path | None, output: Path, run: Run, settings: Settings, device: str, held_out: tuple[str, ...]
) -> None:
    from rgwot.embedding.embed import embed

    embed(
        index,
        index.parent,
        model,
        output,
        method=run.method,
        settings=settings,
        seed=run.seed,
        device=device if model else "cpu",
        threads=1,
        held_out=() if model else held_out,
    )


def _trivial(
    tree: Tree, stores: Sequence[FeatureStore], decoder: str, experiment: Experiment, held_out: tuple[str, ...]
) -> dict[str, Any]:
    from rgwot.bundles.apply import write_unannotated
    from rgwot.keysteps.trivial import decode_trivial

    settings, run = experiment.of_decoder, experiment.run
    write_unannotated(tree, [Input(store.path, False, store) for store in stores])
    return decode_trivial(
        tree.at(paths.MANIFEST),
        tree.keysteps(run),
        decoder,
        settings.decode.K,
        run.seed,
        stride=settings.evaluation.stride,
        held_out=held_out,
        learner=settings.procedure.learner,
    )


def _read(
    tree: Tree, run: Run, settings: Settings, stores: Sequence[FeatureStore], diagnostics: dict[str, Any]
) -> Discovery:
    """Read the files of a result, with videos under their own names."""
    segments, order = read_segments(tree.at(paths.SEGMENTS, run)), read_orders(tree.at(paths.ORDER, run))
    deviations = read_deviations(tree.at(paths.DEVIATIONS, run))
    of = {str(video): part for video, part in segments[segments["scope"] == "task"].groupby("video")}
    labels = {}
    for store in stores:
        own = of[store.video]
        found = predicted_labels(own["start_s"], own["end_s"], own["key_step"], store.time_s)
        labels[stem_of(store.video)] = found
    embedded = tree.at(paths.EMBEDDINGS, run)
    videos = read_embeddings(embedded).videos if embedded.exists() else {}
    return Discovery(
        run,
        settings,
        segments.assign(video=segments["video"].map(stem_of)),
        order.assign(video=order["video"].map(stem_of)),
        read_procedures(tree.at(paths.PROCEDURES, run)),
        _named(read_procedure(tree.at(paths.PROCEDURE, run))),
        deviations.assign(video=deviations["video"].map(stem_of)),
        diagnostics,
        labels,
        times={stem_of(store.video): store.time_s for store in stores},
        embeddings={stem_of(store.video): videos[store.video].embedding for store in stores if store.video in videos},
    )


def _named(procedure: Procedure) -> Procedure:
    """Return a procedure with videos under their own names."""
    videos = tuple(replace(video, video=stem_of(video.video)) for video in procedure.videos)
    return replace(procedure, videos=videos, typical_video=stem_of(procedure.typical_video))
