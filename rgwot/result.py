"""`rgwot.Discovery`: the key steps of a task, and what can be done with them."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rgwot.bundles.learned import LearnedResult, learned_result
from rgwot.choosing import Stability, embeddings_of, repeated
from rgwot.columns import ANNOTATION_COLUMNS, MANIFEST_COLUMNS
from rgwot.config.experiments import Experiment, resolved
from rgwot.datasets.names import id_of, name_of_recording, stem_of
from rgwot.diagnostics import as_json
from rgwot.embedding.interface import (
    ArrayFeatures,
    Embedded,
    EmbeddedTask,
    EmbedVideo,
    Fitted,
    VideoFeatures,
)
from rgwot.evaluation.metrics import contingency, match
from rgwot.features.store import FeatureStore
from rgwot.intake import Times, Videos
from rgwot.keysteps.interface import Given
from rgwot.keysteps.labelled import Kept, calibrated
from rgwot.keysteps.ordering import KeySteps, Order, first_order, rank_procedures
from rgwot.keysteps.settings import LABELLED, Decoder, Labelled
from rgwot.labels import Labels, n_labelled, read_labels
from rgwot.names import names_text
from rgwot.others import labelled_others, labelled_samples
from rgwot.paths import ANNOTATIONS, EMBEDDINGS, MANIFEST, NAMES, RESULTS, SEGMENTS, VIEW, Run, Tree, name_of
from rgwot.procedure import Deviation, Procedure, recordings_from_segments
from rgwot.procedure.facts import step_facts, step_table
from rgwot.procedure.groups import compare_groups
from rgwot.procedure.known import told
from rgwot.reporting.named import named
from rgwot.runtime.csv_files import write_csv, write_rows
from rgwot.runtime.errors import RgwotError, extras, nearest
from rgwot.runtime.files import write_text
from rgwot.runtime.html import html_table
from rgwot.runtime.progress import progress_shown
from rgwot.stages.decode import check_labels, decode_task, write_keysteps
from rgwot.stages.embed import write_embedded
from rgwot.stages.procedure import deviation_table
from rgwot.study.refusals import check_rule
from rgwot.timing import predicted_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rgwot.reporting.compare import Comparison

log = logging.getLogger(__name__)


def _gone(store: VideoFeatures) -> Embedded:
    """Take the place of the function that embeds a video in a result that was pickled."""
    raise RgwotError(f"{store.video}: cannot be embedded by a result that was pickled; use predict")


@dataclass(frozen=True)
class Stored(KeySteps):
    """Key steps from files, with stored deviations (``told``), because the segmentations behind them are not kept."""

    told: Sequence[Deviation] = ()

    @property
    def deviations(self) -> list[Deviation]:
        """The deviations that were stored."""
        return list(self.told)


@dataclass(frozen=True)
class Made:
    """Features and embeddings of a task, from which other key steps are found without embedding again.

    ``named`` are all videos in the given order, ``videos`` the features of those with frames, by id. ``settings`` are
    those of `discover`, ``doubts`` are reasons to doubt the features, and ``kept`` caches the parts of decoding that do
    not depend on labels. A loaded result has neither features nor ``embed``, the function that embeds a video.
    """

    named: Sequence[str]
    videos: Sequence[FeatureStore]
    embedded: EmbeddedTask
    embed: EmbedVideo | None
    model: Mapping[str, object] | None
    settings: Mapping[str, Mapping[str, object]] | None
    doubts: tuple[str, ...] = ()
    kept: Kept = field(default_factory=Kept)

    def __getstate__(self) -> dict[str, object]:
        # Functions cannot be pickled. Of `embed`, only what it learned is needed again.
        if self.embed is None:
            return self.__dict__
        learned = self.embed.learned if isinstance(self.embed, Fitted) else None
        return {**self.__dict__, "embed": _gone if learned is None else Fitted(_gone, learned)}

    def found(self, chosen: Experiment, times: dict[str, NDArray[np.float64]], given: Given | None) -> Discovery:
        """Return the result of a decoder, which learns from ``given`` labels, if any."""
        run, decoder = chosen.run, chosen.decoder
        key_steps = decode_task(self.embedded, decoder, run.seed, alone=False, given=given, kept=self.kept)
        on_labels = () if given is None else given.doubts
        for line in on_labels:
            log.warning("%s", line)
        with_doubts(key_steps, [*self.doubts, *on_labels])
        learned: LearnedResult | str
        try:
            if self.embed is None:
                raise RgwotError(
                    "what was learned: found none, because labels were given to a loaded result, without features; "
                    "expected labels in discover, or learn in the session of discover, to label other videos"
                )
            learned = learned_result(
                run=run, method=chosen.embedding, rule=decoder, stores=self.videos, embedded=self.embedded,
                embedding=self.embed, model=self.model, key_steps=key_steps,
            )  # fmt: skip
        except RgwotError as error:
            learned = str(error)
        names = {} if given is None else dict(given.names)
        return Discovery(chosen, key_steps, times, self.embedded, learned, names, self, given)

    def timed(self) -> list[VideoFeatures]:
        """Return the videos with frames, with embeddings instead of features; labels are read by their times."""
        fps = self.embedded.features_fps
        return [
            ArrayFeatures(video, own.embedding, own.time_s, own.duration_s, Fraction(own.native_fps), fps)
            for video, own in self.embedded.videos.items()
        ]


@dataclass(frozen=True, repr=False)
class Discovery:
    """The key steps of a task, the result of `discover`.

    Tables and diagnostics are those that the workflow writes into the folder of a result, with the given names of the
    videos (diagnostics have their ids, in which spaces and other characters are percent-encoded).

    Attributes
    ----------
    experiment
        The method and the decoder with all their settings, resolved, and their ids (``run``).
    key_steps
        The result behind the properties below, with the ids of videos.
    times : dict of numpy.ndarray
        The times (T,) of the features of each video in seconds.
    embedded
        The clustered embeddings behind ``embeddings``; None for the method ``none``.
    learned
        What was learned, with which `predict` labels other videos; a text with the reason if this is not possible.
    names : dict
        Names of key steps by number for pictures, exports and bundles; set them by ``found.names.update``.
    made
        The features and embeddings from which `learn` decodes again; None for the method ``none``.
    given
        The labels that were given, if any.

    Examples
    --------
    ``found.learn({"monday": key_steps})``; ``found.predict({"friday": features})``;
    ``found.bundle("tea.rgwot")`` for ``rgwot apply``;
    ``found.plot().savefig("tea.png")``; ``found.save("results")``, then ``rgwot show``, ``rgwot compare`` and
    ``rgwot export`` with the folder that it returns; ``found.export("elan", "to_elan")``;
    ``found.compare("second_coder.eaf").agreement.kappa``;
    ``found.compare_groups({"monday": "expert", "tuesday": "novice", ...})``; ``found.suggest(moments=10)``.
    """

    experiment: Experiment
    key_steps: KeySteps
    times: dict[str, NDArray[np.float64]]
    embedded: EmbeddedTask | None = None
    learned: LearnedResult | str = ""
    names: dict[int, str] = field(default_factory=dict)
    made: Made | None = None
    given: Given | None = None

    @cached_property
    def segments(self) -> pd.DataFrame:
        """``video, scope, start_s, end_s, key_step, shows, counts``, times in seconds.

        The scope is ``task``, the clusters of all videos (trivial decoders also have ``video``). Key steps are numbered
        from 1; 0 is background. ``counts`` says whether a segment is an occurrence of the key step that it ``shows``;
        others are too short, or look like their neighbours, and are in no order, procedure or deviation.
        """
        return _by_name(self.key_steps.segment_table)

    @cached_property
    def order(self) -> pd.DataFrame:
        """``video, order``: orders by mean times, as in the paper, such as ``3>1>2``; ``orders`` is easier to read."""
        return _by_name(self.key_steps.order_table)

    @cached_property
    def procedures(self) -> pd.DataFrame:
        """``rank, order, n_videos, share``: the different orders by mean times, the most frequent first."""
        return rank_procedures(self.key_steps.orders)

    @cached_property
    def procedure(self) -> Procedure:
        """The task graph.

        ``procedure.graph`` is a `networkx.DiGraph` with START and END, and ``procedure.order`` a consensus order that
        the graph allows. A procedure also has nodes, edges with their confidence, groups in either order, and notes.
        """
        procedure = self.key_steps.procedure
        videos = tuple(replace(video, video=stem_of(video.video)) for video in procedure.videos)
        return replace(procedure, videos=videos, typical_video=stem_of(procedure.typical_video))

    @cached_property
    def deviations(self) -> pd.DataFrame:
        """``video, kind, key_step, start_s, end_s, surprise, sureness, against``: the deviations of every video.

        The kinds are ``missing``, ``added``, ``repeated``, ``too_early`` and ``too_late``. The surprise is in bits. The
        sureness comes from a second reading of the videos by appearance (methods 9.10): 0.8 is plain (only with
        annotated videos), 0.5 perhaps, 0.1 doubtful. Without a second reading (fewer than four or only annotated
        videos, more than 24 key steps, or videos that were not learned from) it is the share of other segmentations
        that have the deviation, or NaN if there are none. Most rows with 0.1 are false: read
        ``deviations.query("sureness >= 0.5")`` first. ``against`` is ``others`` (what most videos do) or, in a result
        of the workflow, ``own`` (the expected procedure). Key steps of a group in ``procedure.groups`` may come in
        either order, so their order never deviates.
        """
        return _by_name(deviation_table(self.key_steps.deviations))

    @property
    def run(self) -> Run:
        """Canonical ids of method and decoder, and the seed: ``run.method``, ``run.decoder``, ``run.seed``."""
        return self.experiment.run

    @property
    def diagnostics(self) -> dict[str, object]:
        """The content of ``diagnostics.json``, such as whether a part collapsed (``degenerate``), and ``warnings``."""
        return as_json(self.key_steps.diagnostics)

    @cached_property
    def labels(self) -> dict[str, NDArray[np.int64]]:
        """The key steps (T,) int64 of the features of each video, of scope ``task``."""
        task = self.key_steps.segments["task"]
        return {
            video: predicted_labels(
                segments_here["start_s"], segments_here["end_s"], segments_here["key_step"], self.times[video]
            )
            for video, segments_here in ((video, task[id_of(video)]) for video in self.times)
        }

    @property
    def embeddings(self) -> dict[str, NDArray[np.float64]]:
        """The clustered embeddings (T, D) float64 of each video; empty for the method ``none``."""
        videos = {} if self.embedded is None else self.embedded.videos
        return {name: videos[id_of(name)].embedding for name in self.times if videos}

    @property
    def probabilities(self) -> dict[str, NDArray[np.float64]]:
        """The memberships (T, K + 1) float64 of the features of each video: background, then key steps 1 to K.

        Rows add up to 1. They come from the decoder before smoothing, if it smooths. With labels they are calibrated:
        on recordings that were not learned from, the expected calibration error is 0.06 in the mean over ten real tasks
        (methods 5.10). Without labels they are far too sure: use them to rank samples, not as chances.

        Raises RgwotError if the decoder has none (``kmeans``, trivial ones, any with ``decode.surplus``), or the result
        was loaded, because `save` does not store them.
        """
        shares = self.key_steps.probabilities
        if shares is None:
            if isinstance(self.key_steps, Stored):
                raise RgwotError(
                    f"probabilities: found a loaded result of {self.run}, and save stores no probabilities; expected a "
                    "result of discover; discover or learn again"
                )
            raise self._without_memberships("probabilities")
        return {name: self._calibrated(shares[id_of(name)]) for name in self.times}

    def _calibrated(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        return calibrated(shares) if isinstance(self.experiment.decoder, Labelled) else shares

    def _without_memberships(self, what: str) -> RgwotError:
        return RgwotError(
            f"{what}: found none for {self.run}; expected a decoder with memberships, such as consensus, without "
            "decode.surplus"
        )

    @property
    def K(self) -> int:
        """Number of key steps, set or chosen."""
        return self.key_steps.diagnostics.K

    @property
    def warnings(self) -> tuple[str, ...]:
        """Reasons to doubt the result, a line each; they are logged once per fit, by the logger ``rgwot``."""
        collapsed: tuple[str, ...] = ()
        diagnostics = self.key_steps.diagnostics
        if diagnostics.degenerate:
            collapsed = (f"degenerate: the {diagnostics.degenerate_cause} collapsed, so the key steps are noise",)
        return (*collapsed, *(diagnostics.warnings or ()))

    @property
    def orders(self) -> dict[str, Order]:
        """The order in which the key steps of each video first occur, as numbers; ``(0,)`` if there are none."""
        return {stem_of(recording.video): first_order(recording.events) for recording in self.key_steps.recordings}

    @property
    def samples(self) -> pd.DataFrame:
        """One row per feature: ``video, time_s, key_step``."""
        parts = [
            pd.DataFrame({"video": video, "time_s": self.times[video], "key_step": labels})
            for video, labels in self.labels.items()
        ]
        return pd.concat(parts, ignore_index=True)

    def learn(
        self, labels: Labels, *, silence: str | None = None, decoder: str | Decoder | None = None, progress: bool = True
    ) -> Discovery:
        """Learn from labels of some of the videos: the same as `discover` with these labels, but faster.

        Embeddings are reused and, from the second time on, also the parts of decoding that do not depend on labels. A
        loaded result learns from its stored embeddings; the new result cannot label other videos.

        Parameters
        ----------
        labels, silence, progress
            As in `discover`. Labels replace former ones, so give all of them.
        decoder
            By default ``labelled``, with the keys that it had in this result.

        Returns
        -------
        Discovery
            Equal to the result of `discover` with the same videos, settings, seed and labels; after `rgwot.load`, with
            default settings apart from those in the ids.

        Raises
        ------
        rgwot.RgwotError
            As in `discover`, and for a result without embeddings (the method ``none``, or one that was loaded without
            them).

        Examples
        --------
        >>> import rgwot
        >>> rng = np.random.default_rng(0)
        >>> steps = np.repeat(rng.normal(size=(3, 16)), 20, axis=0)
        >>> found = rgwot.discover([steps + rng.normal(scale=0.3, size=steps.shape) for _ in range(4)], K=3)
        >>> taught = found.learn([np.repeat([1, 2, 3], 20), None, None, None])
        >>> taught.run.decoder, taught.labels["3"][::20].tolist()
        ('labelled', [1, 2, 3])
        """
        embeddings_of(self, "learn")
        assert self.made is not None
        if decoder is None:
            decoder = self.run.decoder if isinstance(self.experiment.decoder, Labelled) else LABELLED
        chosen = resolved(self.run.method, decoder, None, self.made.settings, self.run.seed)
        check_labels(chosen.decoder, n_labelled(labels))
        given = read_labels(labels, self.made.named, self.made.timed(), silence)
        with progress_shown(progress):
            return self.made.found(chosen, self.times, given)

    def predict(
        self,
        videos: Videos,
        *,
        times: Times | None = None,
        missing: str | None = None,
        n_jobs: int | None = None,
        progress: bool = True,
    ) -> dict[str, NDArray[np.int64]]:
        """Label videos by what was learned; each is labelled separately, with fixed clusters.

        Parameters
        ----------
        videos
            Features of any number of videos, as `discover` takes them, of the same kind.
        times
            As in `discover`; required if, and only if, times were given there.
        missing, progress
            As in `discover`.
        n_jobs
            Number of processes, as in scikit-learn: -1 for all processors, by default one.

        Returns
        -------
        dict of numpy.ndarray
            The key steps (T,) int64 of each video, as in ``labels``. Videos that were learned from keep their labels.

        Raises
        ------
        rgwot.RgwotError
            For features of another kind, or if the decoder or the embedding has no rule for other videos.
        """
        others = labelled_others(self._rule(), videos, times, missing, n_jobs, progress)
        return {name: other.key_steps for name, other in others.items()}

    def predict_proba(
        self,
        videos: Videos,
        *,
        times: Times | None = None,
        missing: str | None = None,
        n_jobs: int | None = None,
        progress: bool = True,
    ) -> dict[str, NDArray[np.float64]]:
        """Return the memberships of videos in key steps by what was learned, like ``probabilities``.

        Parameters
        ----------
        videos, times, missing, n_jobs, progress
            As in `predict`.

        Returns
        -------
        dict of numpy.ndarray
            Memberships (T, K + 1) float64 of each video: background, then key steps 1 to K. Videos that were learned
            from keep those in ``probabilities``.

        Raises
        ------
        rgwot.RgwotError
            As from `predict`, and for a decoder without memberships.
        """
        others, own = labelled_others(self._rule(), videos, times, missing, n_jobs, progress), {}
        if self.made is not None and self.key_steps.probabilities is not None:
            own = {str(s.attributes.get("source_sha256")): stem_of(s.video) for s in self.made.videos}
        shares = {}
        for name, other in others.items():
            known = self.probabilities.get(own.get(other.source, "")) if own else None
            if known is not None and len(known) == len(other.key_steps):
                shares[name] = known
            elif other.probabilities is None:
                raise self._without_memberships("predict_proba")
            else:
                shares[name] = self._calibrated(other.probabilities)
        return shares

    def embed(
        self,
        videos: Videos,
        *,
        times: Times | None = None,
        missing: str | None = None,
        n_jobs: int | None = None,
        progress: bool = True,
    ) -> dict[str, NDArray[np.float64]]:
        """Return the embeddings (T, D) float64 of videos by what was learned, like ``embeddings``.

        The parameters and errors are those of `predict`.
        """
        others = labelled_others(self._rule(), videos, times, missing, n_jobs, progress)
        return {name: other.embedding for name, other in others.items()}

    def score(
        self, videos: Videos, labels: Labels, *, times: Times | None = None, missing: str | None = None, **how: Any
    ) -> float:
        """Return the share of the labelled samples of videos that get their label, 0 to 1.

        Key steps that were found without labels are first matched with the labels, one to one, so that most samples
        agree; background is compared with background.

        Parameters
        ----------
        videos, times, missing
            As in `predict`; ``how`` are its further parameters.
        labels
            Labels of some of these videos, as in `discover`.

        Raises
        ------
        rgwot.RgwotError
            As from `predict`, and if no sample is labelled.
        """
        names = {} if self.given is None else dict(self.given.names)
        truth = labelled_samples(self._rule(), videos, labels, times, missing, names)
        found = self.predict(videos, times=times, missing=missing, **how)
        true, key_steps = (np.concatenate([part[name] for name in truth]) for part in (truth, found))
        key_steps, true = key_steps[true >= 0], true[true >= 0]
        if self.given is None:
            overlap = contingency(true, key_steps, int(true.max()) + 1, self.K + 1)[1:, 1:]
            pairs = match(overlap)
            numbers = np.full(self.K + 1, -1)
            numbers[0], numbers[1 + pairs.clusters] = 0, 1 + pairs.classes
            key_steps = numbers[key_steps]
        return float((true == key_steps).mean())

    def bundle(self, path: str | os.PathLike[str], dataset: str = "arrays", task: str = "task") -> Path:
        """Write what was learned as a bundle (``NAME.rgwot``), with which ``rgwot apply`` labels other videos.

        Parameters
        ----------
        path
            The file to write; it is returned.
        dataset, task
            Names of the data set and the task in the bundle.

        Raises
        ------
        rgwot.RgwotError
            If the decoder or the embedding has no rule for other videos.
        """
        from rgwot.bundles.make import write_bundle

        learned, model = self._rule(), None
        assert self.embedded is not None
        if learned.model is not None:
            from rgwot.stages.models import model_bytes

            model = model_bytes(learned.model)
        write_bundle(
            path,
            learned,
            dataset=dataset,
            task=task,
            embedded=self.embedded,
            key_steps=self.key_steps,
            names=self.names,
            model=model,
        )
        return Path(path)

    def _rule(self) -> LearnedResult:
        """Return what was learned; raise RgwotError if there is no rule for other videos."""
        check_rule(self.run.decoder)
        if isinstance(self.learned, str):
            raise RgwotError(self.learned)
        return self.learned

    def plot(self, videos: int | Sequence[object] = 4, title: str | None = None, *, ax: Axes | None = None) -> Figure:
        """Draw key steps over time; return the figure.

        Parameters
        ----------
        videos
            How many videos to draw, from the first one on, or their names.
        title
            By default, method, decoder and seed.
        ax
            Where to draw, a row per video; by default, a new figure.
        """
        given, from_name = videos, self._manifest().set_index("name", drop=False)
        if isinstance(videos, (str, bool)) or not isinstance(videos, (int, np.integer, Sequence)):
            videos = -1
        if isinstance(videos, (int, np.integer)):
            if videos < 1:
                raise RgwotError(
                    f"videos: found {given!r}, expected an integer ≥ 1 or a list of names; to save the figure, use "
                    "plot().savefig('x.png')"
                )
            names = list(self.times)[:videos]
        else:
            names = [str(name_of_recording(name)) for name in videos]
        for name in names:
            if name not in from_name.index:
                raise RgwotError(f"videos: no video {name!r}; {nearest(name, self.times)}")
        if not names:
            raise RgwotError("videos: found no name, expected at least one")
        manifest, table = from_name.loc[names].reset_index(drop=True), self.key_steps.segment_table
        label = f"{self.run.method}/{self.run.decoder}"
        some = f", {len(names)} of {len(self.times)} videos" if len(names) < len(self.times) else ""
        title = f"{label}, seed {self.run.seed}{some}" if title is None else title
        with extras("plot"):
            from rgwot.reporting.figures.segments import segment_bars, segment_rows

            if ax is not None:
                ax.set_title(title)
                return segment_rows(ax, manifest, table[table["video"].isin(manifest["video"])], self.names)
            nothing = pd.DataFrame(columns=list(ANNOTATION_COLUMNS))
            return segment_bars(manifest, nothing, {label: table}, title, len(names), {label: self.names})

    def page(self, path: str | os.PathLike[str], dataset: str = "arrays", task: str = "task") -> Path:
        """Write the page of the result, one HTML file without pictures of the videos; return its path.

        It has the procedure, the segments, the deviations and, with embeddings, the tree for choosing K. Paths on the
        page, such as for typed names, are those of ``save("results", dataset, task)``. Needs the extra ``page``.

        Parameters
        ----------
        path
            The file to write.
        dataset, task
            The title of the page.
        """
        with TemporaryDirectory() as folder, extras("page"):
            from rgwot.reporting.page.render import write_page
            from rgwot.reporting.page.view import write_view

            tree, root = Tree(Path(folder), dataset, task), Path(folder)
            found = self.save(folder, dataset, task)
            write_rows(ANNOTATION_COLUMNS, [], tree.at(ANNOTATIONS))
            if self.embedded is not None:
                view, segments = tree.at(VIEW, self.run), tree.at(SEGMENTS, self.run)
                write_view(tree.at(EMBEDDINGS, self.run), segments, tree.at(MANIFEST), root, view, self.run.seed)
            made = root / "page.html"
            write_page(tree, root, [self.run], made, found / name_of(NAMES))
            # The page names files of the result as `save("results")` writes them.
            write_text(made.read_text(encoding="utf-8").replace(root.as_posix(), RESULTS), path)
        return Path(path)

    def plot_procedure(self, ax: Axes | None = None) -> Figure:
        """Draw the procedure as a graph from left to right; return the figure.

        A box is a key step, with the number of videos that show it; its border is dashed if fewer than half of them do.
        An arrow is a need (one key step must come before another), with the number of videos that agree if some do not;
        it is dashed if it is doubtful. Key steps have the same colours as in `plot`.

        Parameters
        ----------
        ax
            Where to draw; by default, a new figure.
        """
        with extras("plot_procedure"):
            from rgwot.reporting.figures.procedure import draw_procedure

            return draw_procedure(self.procedure, self.names, ax)

    def stability(self, n: int = 5, *, n_jobs: int | None = None, progress: bool = True) -> Stability:
        """Repeat the decoding with n seeds, and compare the results.

        Embeddings stay; only decoding is repeated, with the seeds that follow that of the result. A result that learned
        from labels is decoded again with the same labels, and compared on samples without a label.

        Parameters
        ----------
        n
            Number of seeds, including that of the result, at least 2.
        n_jobs
            Number of processes, as in scikit-learn: -1 for all processors, by default one.
        progress
            As in `discover`.

        Returns
        -------
        rgwot.choosing.Stability
            The ``answers``, and the ``table`` of their adjusted Rand indices with its ``mean``.

        Raises
        ------
        rgwot.RgwotError
            For a result without embeddings, one that was loaded without its labels, or one in which every sample has a
            label.
        """
        return repeated(self, n, n_jobs, progress)

    def save(self, folder: str | os.PathLike[str], dataset: str = "arrays", task: str = "task") -> Path:
        """Write result, embeddings and a manifest of the videos below a folder, like the workflow below ``results``.

        `rgwot.load` reads this folder.

        Parameters
        ----------
        folder
            Where to write; other results in it stay.
        dataset, task
            Names of the folders below the folders of method and decoder.

        Returns
        -------
        pathlib.Path
            The folder of key steps, which ``rgwot show``, ``rgwot compare``, ``rgwot export`` and
            ``rgwot compare-groups`` accept; an existing folder is replaced.
        """
        tree = Tree(Path(folder), dataset, task)
        result_folder = tree.keysteps(self.run)
        write_csv(self._manifest(), tree.at(MANIFEST))
        if self.embedded is not None:
            embedded = self.embedded
            facts = {"held_out": embedded.held_out, "notes": embedded.notes, "scales": embedded.scales}
            about: dict[str, object] = {
                "method": self.run.method,
                "seed": self.run.seed,
                "features_fps": embedded.features_fps,
            }
            about |= {name: fact for name, fact in facts.items() if fact}
            write_embedded(tree.at(EMBEDDINGS, self.run), embedded.videos, about)
        write_keysteps(result_folder, self.key_steps)
        if self.names:
            text = names_text(str(self.run), self.key_steps.segment_table, self.names)
            write_text(text, result_folder / name_of(NAMES))
        return result_folder

    def export(self, name: str, folder: str | os.PathLike[str], root: str | os.PathLike[str] | None = None) -> str:
        """Export the result into a folder in the format of another program; return a line on the written files.

        Parameters
        ----------
        name
            A format of ``rgwot export``: ``elan``, ``boris``, ``csv``, ...
        folder
            A new folder, or that of an unchanged export.
        root
            Folder of the video files, which are named like the videos.
        """
        from rgwot.reporting.export import FORMATS, export, videos_of, with_labels

        if name in FORMATS and FORMATS[name].graph:
            return export(name, with_labels(told(self.procedure).graph, self.names), folder)
        key_steps, place = self.key_steps, None if root is None else Path(root)
        task = key_steps.segment_table.query("scope == 'task'")
        read = named(task, self.names, key_steps.procedure, key_steps.deviations)
        videos = videos_of(
            read.segments, self._manifest(), self.names, place, deviations=read.deviations, annotated=self._teaching
        )
        return export(name, videos, folder)

    def compare(self, other: Discovery | str | os.PathLike[str]) -> Comparison:
        """Compare with another result, or with annotations of a person.

        Parameters
        ----------
        other
            A result, a folder of key steps, or annotations, as for ``rgwot compare``.

        Returns
        -------
        rgwot.reporting.compare.Comparison
            ``common`` videos (ids), those that are ``alone`` in one of the two, those that ``taught`` a result and are
            not compared, and the `rgwot.evaluation.agreement.Agreement`: ``kappa`` and ``segments_f1`` overall,
            ``kappas`` and ``segments_f1s`` by key step, ...

        Raises
        ------
        RgwotError
            Without a common video, or for a file that cannot be read.
        """
        from rgwot.reporting.compare import answer_of, compare, compare_with, shared

        answer, taught = answer_of(self.key_steps.segment_table), self._teaching
        if isinstance(other, Discovery):
            taught = taught | other._teaching
            return shared(compare(answer, answer_of(other.key_steps.segment_table), taught=taught), taught=taught)
        return compare_with(answer, Path(other), taught=taught)

    @property
    def _teaching(self) -> frozenset[str]:
        """The ids of the labelled videos that the result learned from."""
        return frozenset(self.key_steps.diagnostics.taught)

    @overload
    def suggest(self, *, videos: int, moments: None = None) -> list[str]: ...

    @overload
    def suggest(self, *, videos: None = None, moments: int) -> pd.DataFrame: ...

    def suggest(self, *, videos: int | None = None, moments: int | None = None) -> list[str] | pd.DataFrame:
        """Suggest what to annotate next: videos, or single moments of all videos (methods 5.10).

        Parameters
        ----------
        videos
            Number of videos without labels to suggest. They are chosen as a set, so a video may lack steps that others
            show.
        moments
            Number of moments to suggest. Give either ``videos`` or ``moments``, not both.

        Returns
        -------
        list of str or pandas.DataFrame
            Names of videos (fewer if fewer are without labels), or a table of moments, ``video,time_s,label``; the best
            come first. With labels filled in (``-`` for background), the table can be given to `discover` as
            ``labels``; add earlier answers by `pandas.concat`. Moments whose label is still empty are ignored.

        Raises
        ------
        rgwot.RgwotError
            For a number below 1, more moments than there are samples without a label, or a result without embeddings.

        Examples
        --------
        >>> import rgwot
        >>> rng = np.random.default_rng(0)
        >>> steps = np.repeat(rng.normal(size=(3, 16)), 20, axis=0)
        >>> videos = [steps + rng.normal(scale=0.3, size=steps.shape) for _ in range(4)]
        >>> table = rgwot.discover(videos, fps=2, K=3).suggest(moments=3)
        >>> sorted(int(time_s // 10) for time_s in table["time_s"])
        [0, 1, 2]
        >>> table["label"] = table["time_s"] // 10 + 1
        >>> taught = rgwot.discover(videos, fps=2, K=3, labels=table.rename(columns={"label": "key_step"}))
        >>> [sorted(set(taught.labels[name][:20].tolist())) for name in ("0", "3")]
        [[1], [1]]
        """
        from rgwot.keysteps.suggest import moments_of, number_of_key_steps, videos_of

        if (videos is None) == (moments is None):
            raise RgwotError(
                f"suggest: found videos={videos} and moments={moments}, expected one number; give videos or moments"
            )
        what, number = ("videos", videos) if moments is None else ("moments", moments)
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 1:
            raise RgwotError(f"{what}: found {number!r}, expected a whole number, 1 or more")
        embeddings_of(self, "suggest")
        assert self.embedded is not None
        K, seed = number_of_key_steps(self.key_steps.segment_table), self.run.seed
        if moments is not None:
            return _by_name(moments_of(self.embedded, self.given, K, seed, int(number)))
        annotated = () if self.given is None else self.given.labels
        return [stem_of(video) for video in videos_of(self.embedded, annotated, K, seed, int(number))]

    def compare_groups(self, groups: Mapping[str, object], subjects: Mapping[str, str] | None = None) -> pd.DataFrame:
        """Test for every key step whether groups of videos differ (`rgwot.procedure.groups.compare_groups`).

        Parameters
        ----------
        groups
            The group of each video; videos without a group are left out with a warning.
        subjects
            The person in each video. If given, people are compared instead of videos.
        """
        deviations = [replace(each, video=stem_of(each.video)) for each in self.key_steps.deviations]
        named = {name_of_recording(name): group for name, group in groups.items()}
        people = {str(name_of_recording(name)): str(person) for name, person in (subjects or {}).items()}
        return compare_groups(recordings_from_segments(self.segments), deviations, named, subjects=people)

    def _manifest(self) -> pd.DataFrame:
        """Return a manifest of the videos, for which only features are known."""
        ends = self.segments.groupby("video")["end_s"].max()
        names = list(self.times)
        # The rate of a video follows from the median time between two samples.
        steps = [
            float(np.median(np.diff(times_here))) if len(times_here) > 1 else ends[name]
            for name, times_here in self.times.items()
        ]
        rates = [Fraction(1 / step).limit_denominator(10_000) for step in steps]
        table: dict[str, object] = {
            "video": [id_of(name) for name in names], "name": names, "path": names, "annotation": "",
            "duration_s": [ends[name] for name in names], "fps": rates, "width": 0, "height": 0, "status": "unscored",
            "reason": "no annotation", "start_s": 0.0,
        }  # fmt: skip
        return pd.DataFrame(table, columns=list(MANIFEST_COLUMNS))

    def _repr_html_(self) -> str:
        recordings, every = (recordings_from_segments(self.segments, every=one) for one in (False, True))
        rows = step_facts(self.procedure, recordings, every)
        return html_table(repr(self), *step_table(rows, self.names), self.warnings)

    def __repr__(self) -> str:
        order = " > ".join(map(str, self.procedure.order)) or "no key step"
        doubted = ", degenerate" if self.key_steps.diagnostics.degenerate else ""
        if self.warnings:
            doubted += f", {len(self.warnings)} warning{'s' if len(self.warnings) > 1 else ''}"
        videos = f"{len(self.times)} video{'s' if len(self.times) > 1 else ''}"
        return f"<Discovery by {self.run}: {videos}, K = {self.K}, {order}{doubted}>"


def with_doubts(key_steps: KeySteps, doubts: Sequence[str]) -> None:
    """Insert reasons for doubt before those of the decoding."""
    if doubts:
        key_steps.diagnostics.warnings = [*doubts, *(key_steps.diagnostics.warnings or ())]


def _by_name(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the names of videos instead of their ids."""
    return table.assign(video=table["video"].map(stem_of))
