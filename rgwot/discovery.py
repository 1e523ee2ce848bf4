"""Key steps of arrays, without files and without the workflow: `rgwot.discover`.

The functions are those that the commands of the workflow call, so that the same features, settings and seed give the
same key steps here as there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rgwot.columns import ANNOTATION_COLUMNS, MANIFEST_COLUMNS
from rgwot.config.configuration import load_config
from rgwot.config.experiments import Experiments, family_of, replaced_settings, split_id
from rgwot.config.methods import DECODERS, EMBEDDING_KINDS
from rgwot.config.settings import Settings, flatten, known_blocks
from rgwot.datasets.arrays import check_no_clock, column_names
from rgwot.datasets.names import id_of, stem_of
from rgwot.datasets.split import split_videos, subjects_of
from rgwot.embedding.arrays import array_features
from rgwot.embedding.interface import EmbeddedTask, VideoFeatures
from rgwot.features.importing import seconds
from rgwot.features.index import check_alike, common_attributes
from rgwot.features.store import FeatureStore, open_store
from rgwot.keysteps.decode import check_number
from rgwot.keysteps.ordering import KeySteps, Order, rank_procedures
from rgwot.keysteps.settings import resolved_K
from rgwot.keysteps.trivial import trivial_key_steps, trivial_segments
from rgwot.labels import Labels, read_labels
from rgwot.paths import MANIFEST, NAMES, STORE, Run, Tree, name_of
from rgwot.procedure import Procedure, recordings_from_segments
from rgwot.procedure.groups import compare_groups
from rgwot.reporting.names import names_text
from rgwot.runtime.errors import RgwotError, first_line, nearest
from rgwot.runtime.files import write_csv, write_text
from rgwot.runtime.limits import threads_kept
from rgwot.stages.decode import decode_task, write_keysteps
from rgwot.stages.embed import Embedder, embedded_task, embedder
from rgwot.stages.procedure import deviation_table
from rgwot.timing import parse_rate, predicted_labels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rgwot.reporting.compare import Comparison

Video = ArrayLike | str | os.PathLike[str]
"""Features (T, C) or (T, C, h, w) of a video, or the path of a feature store that the workflow wrote."""

Videos = Mapping[str, Video] | Sequence[Video] | NDArray[Any]
"""Videos by name, or one after the other."""

Times = Mapping[str, ArrayLike] | Sequence[ArrayLike] | NDArray[Any]
"""The times (T,) of the features of every video, in seconds, by name or one after the other."""


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
    key_steps
        What the properties below are read from.
    times : dict of numpy.ndarray
        By video, the time (T,) of every feature, seconds.
    embeddings : dict of numpy.ndarray
        By video, what was clustered, (T, D) float64; empty for the method ``none``.
    names : dict
        Names of key steps by number, which pictures and exports have; give them by ``dataclasses.replace``.

    Examples
    --------
    ``found.plot().savefig("tea.png")``; ``found.save("results")``, then ``rgwot show``, ``rgwot compare`` and
    ``rgwot export`` with the folder that it returns; ``found.export("elan", "to_elan")``;
    ``found.compare("second_coder.eaf").agreement.kappa``;
    ``found.compare_groups({"monday": "expert", "tuesday": "novice", ...})``.
    """

    run: Run
    settings: Settings
    key_steps: KeySteps
    times: dict[str, NDArray[np.float64]]
    embeddings: dict[str, NDArray[np.float64]]
    names: dict[int, str] = field(default_factory=dict)

    @cached_property
    def segments(self) -> pd.DataFrame:
        """``video, scope, start_s, end_s, key_step``, times in seconds.

        The scope is ``task``, with the clusters of all videos (trivial decoders have ``video``, too). Key steps count
        from 1, 0 is background.
        """
        return self.key_steps.segment_table

    @cached_property
    def order(self) -> pd.DataFrame:
        """``video, order``: the order of the key steps of every video, such as ``3>1>2``."""
        return self.key_steps.order_table

    @cached_property
    def procedures(self) -> pd.DataFrame:
        """``rank, order, n_videos, share``: the different orders, the most frequent first."""
        return rank_procedures(self.key_steps.orders)

    @property
    def procedure(self) -> Procedure:
        """The task graph.

        ``procedure.graph`` is a `networkx.DiGraph` with START and END, ``procedure.order`` one order for all that the
        graph allows; nodes, edges with their confidence, groups in either order and notes.
        """
        return self.key_steps.procedure

    @cached_property
    def deviations(self) -> pd.DataFrame:
        """``video, kind, key_step, start_s, end_s, surprise, sureness``: what every video does differently.

        The kinds are ``missing``, ``added``, ``repeated``, ``too_early`` and ``too_late``; the surprise is in bits, the
        sureness the share of other segmentations that have it, NaN where there are none. Key steps of one of
        ``procedure.groups`` may come in either order, so that no order of these deviates.
        """
        return deviation_table(self.key_steps.deviations)

    @property
    def diagnostics(self) -> dict[str, Any]:
        """How the answer came about, whether embedding or decoder collapsed (``degenerate``), and ``warnings``."""
        return self.key_steps.diagnostics

    @cached_property
    def labels(self) -> dict[str, NDArray[np.int64]]:
        """By video, the key step (T,) int64 of every feature, of scope ``task``."""
        task = self.key_steps.segments["task"]
        return {
            video: predicted_labels(
                segments_here["start_s"], segments_here["end_s"], segments_here["key_step"], self.times[video]
            )
            for video, segments_here in ((video, task[video]) for video in self.times)
        }

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
        return dict(self.key_steps.orders)

    @property
    def samples(self) -> pd.DataFrame:
        """One row per feature: ``video, time_s, key_step``."""
        parts = [
            pd.DataFrame({"video": video, "time_s": self.times[video], "key_step": labels})
            for video, labels in self.labels.items()
        ]
        return pd.concat(parts, ignore_index=True)

    def plot(self, videos: int = 4, title: str | None = None) -> Figure:
        """Draw the key steps of the first ``videos`` videos, 1 or more, over time."""
        if isinstance(videos, bool) or not isinstance(videos, (int, np.integer)) or videos < 1:
            raise RgwotError(f"videos: found {videos!r}, expected 1 or more; a file is plot().savefig('x.png')")
        from rgwot.reporting.figures.segments import segment_bars

        label = f"{self.run.method}/{self.run.decoder}"
        some = f", {videos} of {len(self.times)} videos" if videos < len(self.times) else ""
        title = f"{label}, seed {self.run.seed}{some}" if title is None else title
        nothing, table = pd.DataFrame(columns=list(ANNOTATION_COLUMNS)), self._by_id.segment_table
        return segment_bars(self._manifest(), nothing, {label: table}, title, videos, {label: self.names})

    def save(self, folder: str | os.PathLike[str], dataset: str = "arrays", task: str = "task") -> Path:
        """Write the result and a manifest of its videos below a folder, as the workflow does below ``results``.

        Returns
        -------
        pathlib.Path
            The folder of key steps, which ``rgwot show``, ``rgwot compare``, ``rgwot export`` and
            ``rgwot compare-groups`` take; an existing one is replaced.
        """
        tree = Tree(Path(folder), dataset, task)
        there = tree.keysteps(self.run)
        write_csv(self._manifest(), tree.at(MANIFEST))
        write_keysteps(there, self._by_id)
        if self.names:
            write_text(names_text(str(self.run), self._by_id.segment_table, self.names), there / name_of(NAMES))
        return there

    def export(self, name: str, folder: str | os.PathLike[str], root: str | os.PathLike[str] | None = None) -> str:
        """Write the result in the format of another program into a folder; return what was written.

        Parameters
        ----------
        name
            As of ``rgwot export``: ``elan``, ``boris``, ``csv``, ...
        folder
            A new one, or one of an export that nobody changed since.
        root
            Folder that the paths of videos start from; they have the names that were given.
        """
        from rgwot.reporting.export import FORMATS, export, videos_of, with_labels

        if name in FORMATS and FORMATS[name].graph:
            return export(name, with_labels(self.procedure.graph, self.names), folder)
        task = self._by_id.segment_table.query("scope == 'task'")
        return export(name, videos_of(task, self._manifest(), self.names, None if root is None else Path(root)), folder)

    def compare(self, other: Discovery | str | os.PathLike[str]) -> Comparison:
        """Say how far another result, or a person, agrees.

        Parameters
        ----------
        other
            A result, a folder of key steps, or annotations, as ``rgwot compare`` takes them.

        Returns
        -------
        rgwot.reporting.compare.Comparison
            ``common`` videos (ids), those ``alone`` in one, and the `rgwot.evaluation.agreement.Agreement`: ``kappa``
            and ``segments_f1`` overall, ``kappas`` and ``segments_f1s`` by key step, ...

        Raises
        ------
        RgwotError
            Without a video in common, or for a file that cannot be read.
        """
        from rgwot.reporting.compare import answer_of, compare, compare_with, shared

        answer = answer_of(self._by_id.segment_table)
        if isinstance(other, Discovery):
            return shared(compare(answer, answer_of(other._by_id.segment_table)))
        return compare_with(answer, Path(other))

    def compare_groups(self, groups: Mapping[str, Any]) -> pd.DataFrame:
        """Test key step by key step whether groups of videos differ (`rgwot.procedure.groups.compare_groups`).

        ``groups`` has the group of every video that is compared; the others are logged.
        """
        return compare_groups(recordings_from_segments(self.segments), self.key_steps.deviations, groups)

    @property
    def _by_id(self) -> KeySteps:
        """The key steps with videos by their ids, as files have them."""
        return _renamed(self.key_steps, id_of)

    def _manifest(self) -> pd.DataFrame:
        """Return the manifest of the videos, which are known by their features alone."""
        ends = self.segments.groupby("video")["end_s"].max()
        names = list(self.times)
        # The usual number of samples per second.
        steps = [
            float(np.median(np.diff(times_here))) if len(times_here) > 1 else ends[name]
            for name, times_here in self.times.items()
        ]
        rates = [Fraction(1 / step).limit_denominator(10_000) for step in steps]
        table: dict[str, Any] = {
            "video": [id_of(name) for name in names], "name": names, "path": names, "annotation": "",
            "duration_s": [ends[name] for name in names], "fps": rates, "width": 0, "height": 0, "status": "unscored",
            "reason": "no annotation",
        }  # fmt: skip
        return pd.DataFrame(table, columns=list(MANIFEST_COLUMNS))

    def __repr__(self) -> str:
        order = " > ".join(map(str, self.procedure.order)) or "no key step"
        doubted = ", degenerate" if self.diagnostics["degenerate"] else ""
        if self.warnings:
            doubted += f", {len(self.warnings)} warning{'s' if len(self.warnings) > 1 else ''}"
        videos = f"{len(self.times)} video{'s' if len(self.times) > 1 else ''}"
        return f"<Discovery by {self.run}: {videos}, K = {self.K}, {order}{doubted}>"


def discover(
    features: Videos,
    *,
    fps: float | str | Fraction | None = None,
    times: Times | None = None,
    method: str = "rgwot-plus",
    decoder: str = "consensus",
    K: int | str | None = None,
    labels: Labels | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    seed: int = 0,
    device: str = "auto",
) -> Discovery:
    """Find the key steps of a task and their order from the features of its videos.

    Gives what the workflow gives for the same features, ids, settings and seed, label by label. Features are kept in
    float16 or float32, as there, and in memory; nothing is written.

    Parameters
    ----------
    features
        Features (T, C) or maps (T, C, h, w) of every video, of any floating-point type, finite and, for maps, at most
        65504 in magnitude: a mapping from names, or a sequence, whose videos are then called ``"0"``, ``"1"``, ..., or
        ``"00"``, ``"01"``, ... where there are more than ten. T may differ between videos, the other axes may not. In
        place of an array, the path of a feature store (``.zarr``) of the workflow, which knows its times and the length
        of its video.
    fps
        Features per second of video, a number or a fraction such as ``"30000/1001"``; by default ``features.fps`` of
        the settings, 2. Feature i stands at i / fps seconds, and the video lasts T / fps.
    times
        Instead of ``fps``, the times (T,) of the features of every video, in seconds, increasing and of one usual step.
    method, decoder
        Ids as in paths of the workflow, with keys or without: ``whitened``, ``raw``, ``rgwot``, ``rgwot@alpha=0.5``,
        ``rgwot-plus``, ...; ``meanfield``, ``graphcut``, ``consensus``, ``kmeans@K=5``, ... With ``data.split=holdout``
        the videos drawn by ``data.split_seed`` are labelled and not learned from.
    K
        Key steps, the same as ``decode.K`` of the settings: a number of 2 or more; by default 7.
    labels
        What people say of some of the videos, by name: a label (T,) of every feature, from 1, 0 for background and -1
        where nothing is said, or a table of segments, ``start_s``, ``end_s``, and ``key_step`` or ``label``
        (`rgwot.labels.read_labels`). These stay as they are and teach the other videos, key steps have the numbers and
        names of people, and K is not read. None: nothing is said.
    settings
        Blocks of settings as in ``config.yaml``, such as ``{"train": {"iterations": 800}}``. What makes a method what
        it is can only be changed by keys of an id, such as ``consensus@decode.time=0``; here it is refused.
    seed
        Seed of everything drawn at random, 0 or more.
    device
        Where an encoder is trained and used: ``auto``, ``cpu`` or ``cuda``.

    Returns
    -------
    Discovery
        With the key step of every feature in ``labels``, their ``segments`` in seconds, the ``procedure`` and what each
        video does differently in ``deviations``, and in ``warnings`` why to doubt them.

    Raises
    ------
    rgwot.RgwotError
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
    asked = method, decoder, K, settings, seed
    return find(features, *asked, fps=fps, times=times, device=device, labels=labels).discovery


def _resolved(
    method: str, decoder: str, K: int | str | None, settings: Mapping[str, Mapping[str, Any]] | None, seed: int
) -> tuple[Run, Settings, Settings]:
    """Return the canonical ids with their seed, and the settings of the method and of its decoder, as the workflow."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise RgwotError(f"seed: found {seed!r}, expected a whole number, 0 or more")
    if settings is not None and not isinstance(settings, Mapping):
        raise RgwotError(f"settings: found {settings!r}, expected blocks such as {{'train': {{'iterations': 800}}}}")
    given = {block: dict(keys) if isinstance(keys, Mapping) else keys for block, keys in (settings or {}).items()}
    for block, keys in given.items():
        if block not in known_blocks():
            raise RgwotError(f"settings: unknown block {block!r}; {nearest(block, known_blocks())}")
        if not isinstance(keys, Mapping):
            raise RgwotError(f"settings: {block}: found {keys!r}, expected keys and values")
    if K is not None:
        given["decode"] = {**given.get("decode", {}), "K": K}
    experiments = Experiments(load_config(given, "settings"))
    written, method = method, experiments.method(method)
    decoder = experiments.decoder(decoder, method)
    for line in replaced_settings(written, decoder, flatten(given)):
        raise RgwotError(f"settings: {line}")
    of_decoder = experiments.settings(method, decoder, "")
    resolved_K(of_decoder.decode.K)
    return Run(method, decoder, int(seed)), experiments.settings(method, None, ""), of_decoder


@dataclass(frozen=True)
class Findings:
    """A `Discovery`, and what it was made from and by: what other videos are labelled with.

    ``rate`` are the features per second of arrays, None where times were given. The rest is None for a trivial decoder.
    """

    discovery: Discovery
    key_steps: KeySteps
    rate: float | str | Fraction | None
    embedded: EmbeddedTask | None = None
    embedder: Embedder | None = None
    model: Mapping[str, Any] | None = None


def find(
    features: Videos,
    method: str,
    decoder: str,
    K: int | str | None,
    given: Mapping[str, Mapping[str, Any]] | None,
    seed: int,
    *,
    fps: float | str | Fraction | None,
    times: Times | None,
    device: str,
    labels: Labels | None = None,
) -> Findings:
    """Find the key steps of a task, as `discover` describes; ``given`` are its settings."""
    if labels is not None:
        # For the record, and for the rule by which other videos are labelled.
        given = {**(given or {}), "labelled": {**(given or {}).get("labelled", {}), "n": "all"}}
    run, settings, decoding = _resolved(method, decoder, K, given, seed)
    if labels is None and decoding.labelled.n:
        raise RgwotError(f"labelled.n: found {decoding.labelled.n}; expected the labels themselves, as `labels`")
    family, rule = family_of(run.method), split_id(run.decoder)[0]
    if fps is not None and times is not None:
        raise RgwotError("fps and times are both given; expected one of them")
    rate = settings.features.fps if fps is None and times is None else fps
    every = video_features(features, times, rate)
    if EMBEDDING_KINDS[family.embedding].several and len(every) < 2:
        raise RgwotError(f"features: found {len(every)} video, expected at least 2 for the method {run.method!r}")
    # In the order of their ids, as the workflow lists them; which pairs of videos are drawn depends on it.
    shown = [video for video in every if len(video)]
    videos = sorted(shown, key=lambda video: video.video)
    if not videos:
        raise RgwotError("features: found no video with a frame, expected at least one")
    held_out: tuple[str, ...] = ()
    if settings.data.split == "holdout":
        subjects = subjects_of(video.video for video in every)
        held_out = split_videos(subjects, settings.data.holdout, settings.data.split_seed).test
    model = embedded = embed = None
    read = None if labels is None else read_labels(labels, list(named_videos(features)), videos)
    if DECODERS[rule].trivial:
        if read is not None:
            raise RgwotError(f"labels: decoder {rule!r} looks at no video; expected another beside labels")
        facts = [(video.video, video.duration_s, video.native_fps) for video in videos]
        K, learner = decoding.decode.K, decoding.procedure.learner
        segments = trivial_segments(facts, rule, K, run.seed, decoding.evaluation.stride)
        key_steps = trivial_key_steps(segments, rule, int(K), run.seed, held_out, learner)
    else:
        seen = [video for video in videos if video.video not in held_out]
        if read is None:
            check_number(resolved_K(decoding.decode.K), decoding.decode.surplus, sum(map(len, seen)))
        # An encoder sets their number.
        with threads_kept() if family.trained else nullcontext():
            if family.trained:
                from rgwot.stages.train import fit_encoder

                about = common_attributes(seen[0]) if isinstance(seen[0], FeatureStore) else {}
                model = fit_encoder(seen, settings, run.seed, device=device, held_out=held_out, features=about).model
            embed = embedder(videos, settings, model, run.method, run.seed, device if model else "cpu", 1, held_out)
            embedded = embedded_task(videos, embed)
        key_steps = decode_task(embedded, rule, decoding, run.seed, alone=False, given=read)
    discovery = Discovery(
        run,
        decoding,
        _renamed(key_steps, stem_of),
        times={stem_of(video.video): video.time_s for video in shown},
        embeddings={stem_of(video.video): embedded.videos[video.video].embedding for video in shown if embedded},
        names={} if read is None else dict(read.names),
    )
    return Findings(discovery, key_steps, rate, embedded, embed, model)


def video_features(features: Videos, times: Times | None, fps: float | str | Fraction | None) -> list[VideoFeatures]:
    """Return the features of videos in the order given: arrays as they are kept, and open feature stores.

    RgwotError for what is neither an array nor a feature store, two videos of one name, times that do not go with
    the videos, or features of different sizes.
    """
    named = named_videos(features)
    when = times_of(times, list(named))
    try:
        rate = None if fps is None else parse_rate(fps)
    except ValueError:
        raise RgwotError(f"fps: expected a positive rate like 30 or 30000/1001, found {str(fps)!r}") from None
    collected: list[tuple[Path, VideoFeatures, str, bool]] = []
    first: tuple[str, NDArray[Any]] | None = None
    for name, video in named.items():
        what, ident = f"features[{name!r}]", id_of(name)
        if isinstance(video, (str, os.PathLike)):
            store = store_at(what, video, ident)
            collected.append((store.path, store, store.columns, store.imported))
            continue
        array, columns = array_of(what, video), column_names(getattr(video, "columns", ()))
        if not columns:
            first = first or (what, array)
            if array.shape[1:] != first[1].shape[1:]:
                expected = f"(T, {', '.join(map(str, first[1].shape[1:]))}) as of {first[0]}"
                raise RgwotError(
                    f"{what}: shape {array.shape}, expected {expected}: time first, the same channels in all"
                )
        store_here = array_features(what, ident, array, rate, seconds(what, when[name]) if when else None)
        collected.append((Path(what), store_here, columns, True))
    check_alike(collected)
    return [video for _, video, _, _ in collected]


def store_at(what: str, path: str | os.PathLike[str], ident: str) -> FeatureStore:
    """Open a feature store whose video has the id ``ident``; RgwotError for another path."""
    there = Path(path).absolute()
    if there.suffix != STORE or not there.is_dir():
        raise RgwotError(f"{what}: found {str(path)!r}, expected an array, or a feature store ({STORE})")
    return replace(open_store(there), called=ident)


def array_of(what: str, video: Any) -> NDArray[Any]:
    """Return the features of a video as an array (T, C) or (T, C, h, w); RgwotError for anything else."""
    try:
        array = np.asarray(video)
    # np.asarray raises these for ragged lists and for tensors that require grad or are bfloat16.
    except (RuntimeError, TypeError, ValueError) as error:
        raise RgwotError(f"{what}: no array of numbers ({first_line(error)})") from None
    # np.asarray drops the mask and would expose the masked values.
    if isinstance(video, np.ma.MaskedArray) and video.mask.any():
        raise RgwotError(f"{what}: found masked numbers, expected a number everywhere; fill them")
    if array.dtype.kind == "f" and array.ndim not in (2, 4):
        raise RgwotError(
            f"{what}: shape {array.shape}, expected (T, C) or (T, C, h, w), one array per video; of a single video "
            "give [array]"
        )
    check_no_clock(Path(what), getattr(video, "columns", ()))
    return array


def named_videos(features: Videos) -> dict[str, Any]:
    """Return videos by name; RgwotError for what is no collection of them, or two of one name."""
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


def times_of(times: Times | None, names: list[str]) -> Mapping[str, ArrayLike]:
    """Return the times of videos by name, none where they were not given."""
    if times is None:
        return {}
    if not isinstance(times, Mapping):
        if np.isscalar(times):
            raise RgwotError(f"times: found {times!r}, expected one array of seconds per video; for a rate give fps")
        if len(times) != len(names):
            raise RgwotError(f"times: found those of {len(times)} videos, expected {len(names)}, one array per video")
        return dict(zip(names, times, strict=True))
    for name in names:
        if name not in times:
            raise RgwotError(f"times: found none of video {name!r}, expected one array per video")
    return times


def _renamed(found: KeySteps, called: Callable[[str], str]) -> KeySteps:
    """Return key steps with videos under other names, their own or their ids, and without what was learned."""
    videos = tuple(replace(video, video=called(video.video)) for video in found.procedure.videos)
    typical = found.procedure.typical_video

    def renamed(part: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
        return {called(video): table for video, table in part.items()}

    return KeySteps(
        {scope: renamed(part) for scope, part in found.segments.items()},
        {called(video): order for video, order in found.orders.items()},
        replace(found.procedure, videos=videos, typical_video=called(typical) if typical else ""),
        found.diagnostics,
        evidence=None if found.evidence is None else renamed(found.evidence),
        alternatives=[renamed(part) for part in found.alternatives],
        annotated=[called(video) for video in found.annotated],
    )
