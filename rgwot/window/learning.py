"""Key steps computed in the server with the functions of the workflow, from embeddings kept in memory.

The workflow writes the same files later: equal labels, settings and seed give equal key steps, to the byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from rgwot import paths
from rgwot.config.experiments import decoder_of
from rgwot.datasets.manifest import annotations_now
from rgwot.embedding.interface import EmbeddedTask
from rgwot.keysteps.interface import Given
from rgwot.keysteps.labelled import Kept
from rgwot.keysteps.labelling import extra_of
from rgwot.keysteps.left_out import left_out_sentence
from rgwot.keysteps.ordering import KeySteps
from rgwot.keysteps.settings import LABELLED, Decoder, Numbered, resolved_K
from rgwot.keysteps.suggest import frames_of, moments_of
from rgwot.keysteps.warnings import COMPETING
from rgwot.names import read_names, result_id
from rgwot.paths import RESULTS, Run, Tree
from rgwot.records import read_annotations, read_diagnostics, read_manifest, read_segments
from rgwot.reporting.page.content import against_trivial, shown_truth, shown_video
from rgwot.reporting.page.runs import MOST_LINES, picture, read_run
from rgwot.reporting.page.shell import filled, in_window
from rgwot.runtime.csv_files import write_csv
from rgwot.runtime.errors import RgwotError
from rgwot.stages.decode import decode_task, given_of, write_keysteps
from rgwot.stages.embed import read_embeddings
from rgwot.study.datasets import annotated
from rgwot.study.jobs import decoder_for, learns_from_labels
from rgwot.study.pages import names_file, page_runs
from rgwot.study.study import Study, Task
from rgwot.timing import predicted_labels

#: Why deviations have no sureness yet: the second reading of all videos, which decides it, takes longer.
BEING_CHECKED = (
    "Deviations are being checked: a second reading of all videos decides which of them hold. It "
    "is made with the files of the results, within minutes, and then shown here."
)
NOT_CHECKED = (
    "Deviations with this number of key steps are not checked: a second reading of all videos decides which of them "
    "hold, when the number is saved."
)
#: Doubts about an answer from labels that no run has written yet.
JUST_LEARNED = (
    "Just learned: only your labels are certain. What can be known of the rest is told when the results are updated, "
    "within minutes."
)
#: An answer changes little if it gives fewer than this share of all samples another label.
LITTLE = 0.01
#: After this many successive answers with little change, more labels are unlikely to help.
IN_A_ROW = 3


@dataclass
class _Memory:
    """The cache of a task between two computations.

    Attributes
    ----------
    embedded
        Embeddings by method, with the time of their store.
    kept
        Parts of decoding that do not depend on labels, by method.
    asked
        The same parts for suggesting moments, by method and seed.
    named
        The names (T,) of the key steps of each video in the last answer.
    shares
        The shares of samples that the last answers have changed, one per answer.
    result
        The id of the key steps of the last answer.
    by_K
        Key steps found without labels, by their number K, the run that they belong to and the time of its embeddings.
    """

    embedded: dict[str, tuple[int, EmbeddedTask]] = field(default_factory=dict)
    kept: dict[str, Kept] = field(default_factory=dict)
    asked: dict[tuple[str, int], Kept] = field(default_factory=dict)
    named: dict[str, NDArray[np.str_]] = field(default_factory=dict)
    shares: list[float] = field(default_factory=list)
    result: str = ""
    by_K: dict[tuple[int, Run, int], KeySteps] = field(default_factory=dict)


@dataclass(frozen=True)
class _Labels:
    """The labels of a task as they are now: the table of annotations, and why annotated videos cannot be scored."""

    table: pd.DataFrame
    reasons: Mapping[str, str]


class Learner:
    """Computes answers for one task of a study."""

    def __init__(self, dataset: str, task: str) -> None:
        self.dataset, self.task = dataset, task
        self.tree = Tree(Path(RESULTS), dataset, task)
        self.memory = _Memory()

    def labelled_run(self, study: Study) -> Run | None:
        """Return the result that learns from labels, or None if there are no labels, or no embeddings for it yet."""
        run = next(
            (run for run in page_runs(Task(study, self.dataset, self.task)) if learns_from_labels(run.decoder)), None
        )
        return run if run is not None and self.tree.at(paths.EMBEDDINGS, run).is_dir() else None

    def plain_run(self, study: Study) -> Run:
        """Return the first result of the page that needs no labels; raise RgwotError if there is none yet."""
        for run in page_runs(Task(study, self.dataset, self.task)):
            kind = decoder_of(run.decoder)
            if not kind.LABELS and not kind.TRIVIAL and self.tree.at(paths.EMBEDDINGS, run).is_dir():
                return run
        raise RgwotError(f"{self.dataset}/{self.task}: no result yet; wait for the first answer")

    def warm(self, study: Study) -> None:
        """Read the embeddings for the first answer, and import the modules that decoding imports only when needed."""
        for module in ("networkx", "sklearn.cluster", "sklearn.covariance"):
            import_module(module)
        run = self.plain_run(study)
        labelled = Run(run.method, LABELLED, run.seed)
        embedded, kept = self._embedded(labelled), self.memory.kept.setdefault(labelled.method, Kept())
        with threadpool_limits(limits=1):
            kept.contexts(frames_of(embedded.videos, embedded.features_fps))

    def learned(self, study: Study) -> dict[str, Any] | None:
        """Return the answer from the current labels or, without labels, the result that does not learn from any.

        It is None if the result has no files yet.
        """
        run = self.labelled_run(study)
        if run is None:
            return self._unlabelled(study)
        labelled = self._labels(study)
        key_steps, given = self._learned(study, run, labelled)
        changed = self._changes(self._embedded(run), key_steps, given)
        answer = self._shown(study, run, key_steps, labelled, BEING_CHECKED)
        self.memory.result = answer["facts"]["result"]
        return {**answer, **changed}

    def written(self, study: Study) -> dict[str, Any] | None:
        """Return the last answer as a run has written it, with deviations confirmed or dropped by a second reading.

        It is None if there is no such file, or if it was made from other labels.
        """
        run = self.labelled_run(study)
        if run is None or not self._is_written(run):
            return None
        if result_id(read_segments(self.tree.at(paths.SEGMENTS, run))) != self.memory.result:
            return None
        unchanged: dict[str, Any] = {"changed": {}, "share": self.memory.shares[-1] if self.memory.shares else None}
        return {**self._read(study, run, self.tree, self._labels(study)), **unchanged, "settled": self._settled()}

    def _is_written(self, run: Run) -> bool:
        return all(self.tree.at(path, run).exists() for path in (paths.SEGMENTS, paths.DEVIATIONS))

    def _unlabelled(self, study: Study) -> dict[str, Any] | None:
        self.memory.named, self.memory.shares, self.memory.result = {}, [], ""
        labelled, run = self._labels(study), self.plain_run(study)
        if len(labelled.table) or not self._is_written(run):
            return None
        return {**self._read(study, run, self.tree, labelled), "changed": {}, "share": None, "settled": False}

    def key_steps(self, study: Study, run: Run) -> KeySteps:
        """Return the key steps of a result from the labels as they are now."""
        return self._learned(study, run, self._labels(study))[0]

    def with_K(self, study: Study, K: int) -> dict[str, Any]:
        """Return the answer without labels with K key steps."""
        run = self.plain_run(study)
        key = self.tree.at(paths.EMBEDDINGS, run).stat().st_mtime_ns, run, K
        if key not in self.memory.by_K:
            decoder = self._decoder(study, run).model_copy(update={"K": K})
            self.memory.by_K[key] = self._decoded(study, run, decoder, None)
        # Names and labels may have changed since.
        return self._shown(study, run, self.memory.by_K[key], self._labels(study), NOT_CHECKED)

    def labels_now(self, study: Study) -> dict[str, Any]:
        """Return annotations by the id of a video, annotated steps and typed names, as their files are now."""
        shown = self._shown_labels(self._labels(study))
        manifest, names = read_manifest(self.tree.at(paths.MANIFEST)), names_file(Task(study, self.dataset, self.task))
        return {
            "truth": dict(zip(manifest["video"], shown["truth"], strict=True)),
            "steps": shown["steps"],
            "typed": {name: asdict(typed) for name, typed in read_names(names).items()},
        }

    def _shown_labels(self, labelled: _Labels) -> dict[str, Any]:
        steps = labelled.table[labelled.table["key_step"] > 0].to_dict("records")
        return {
            "truth": shown_truth(read_manifest(self.tree.at(paths.MANIFEST)), labelled.table),
            "steps": {str(row["key_step"]): str(row["name"]) for row in steps},
        }

    def question(self, study: Study, number: int) -> list[dict[str, Any]]:
        """Return the moments (``video``, ``time_s``) from whose labels all videos would learn most, the best first."""
        run = self.labelled_run(study) or self.plain_run(study)
        embedded, labelled = self._embedded(run), self._labels(study)
        given = given_of(embedded, labelled.table) if len(labelled.table) else None
        K = self._K(study) if given is None else max(given.K + extra_of(self._decoder(study, run), given), 2)
        left = sum(len(video.time_s) for video in embedded.videos.values())
        left -= sum(int((labels >= 0).sum()) for labels in given.labels.values()) if given is not None else 0
        if left < 1:
            return []
        kept = self.memory.asked.setdefault((run.method, run.seed), Kept())
        moments = moments_of(embedded, given, K, run.seed, min(number, left), kept=kept)
        return [{"video": str(row["video"]), "time_s": float(row["time_s"])} for row in moments.to_dict("records")]

    def _learned(self, study: Study, run: Run, labelled: _Labels) -> tuple[KeySteps, Given]:
        given = given_of(self._embedded(run), labelled.table)
        return self._decoded(study, run, self._decoder(study, run), given), given

    def _decoder(self, study: Study, run: Run) -> Decoder:
        return decoder_for(Task(study, self.dataset, self.task), run.method, run.decoder)

    def _K(self, study: Study) -> int:
        decoder = self._decoder(study, self.plain_run(study))
        return resolved_K(decoder.K if isinstance(decoder, Numbered) else Numbered().K)

    def _embedded(self, run: Run) -> EmbeddedTask:
        store = self.tree.at(paths.EMBEDDINGS, run)
        made, known = store.stat().st_mtime_ns, self.memory.embedded.get(run.method)
        if known is None or known[0] != made:
            known = self.memory.embedded[run.method] = made, read_embeddings(store)
        return known[1]

    def _decoded(self, study: Study, run: Run, decoder: Decoder, given: Given | None) -> KeySteps:
        # Jobs have one thread for such sums, and more would change their rounding.
        with threadpool_limits(limits=1):
            return decode_task(
                self._embedded(run),
                decoder,
                run.seed,
                alone=annotated(Task(study, self.dataset, self.task)),
                given=given,
                kept=self.memory.kept.setdefault(run.method, Kept()),
                check=False,
            )

    def _known_before(self, run: Run) -> list[str]:
        """Return sentences on how far to trust an answer that no run has checked, from the last one that was."""
        with suppress(RgwotError, OSError):
            written = read_diagnostics(self.tree.at(paths.DIAGNOSTICS, run))
            if written.left_out is not None:
                before = left_out_sentence(written.left_out, len(written.labelled_videos))
                return [JUST_LEARNED, f"Checked before your last labels: {before[0].lower()}{before[1:]}"]
        return [JUST_LEARNED]

    def _labels(self, study: Study) -> _Labels:
        entry = study.config.dataset(self.dataset)
        manifest = read_manifest(self.tree.at(paths.MANIFEST))
        root = study.config.root_of(self.dataset)
        table, reasons = annotations_now(self.dataset, self.task, root, entry.layout, entry.options(), manifest)
        with TemporaryDirectory() as folder:
            # Written and read as in the workflow, so that numbers and texts are the same.
            write_csv(table, Path(folder) / "annotations.csv")
            return _Labels(read_annotations(Path(folder) / "annotations.csv", background=True), reasons)

    def _changes(self, embedded: EmbeddedTask, key_steps: KeySteps, given: Given) -> dict[str, Any]:
        """Return what differs from the last answer: spans (ms) by video, their share, and whether it stays small."""
        named, spans, differing, total = {}, {}, 0, 0
        task = key_steps.segments["task"]
        names = {0: "-"} | {step: given.names.get(step, str(step)) for step in range(1, given.K + 1)}
        for video, own in embedded.videos.items():
            rows, time_s = task[video], own.time_s
            labels = predicted_labels(rows["start_s"], rows["end_s"], rows["key_step"], time_s)
            named[video] = np.array([names.get(int(step), str(step)) for step in labels])
            before = self.memory.named.get(video)
            if before is None or len(before) != len(named[video]):
                continue
            changed = before != named[video]
            differing, total = differing + int(changed.sum()), total + len(changed)
            ends = np.append((time_s[1:] + time_s[:-1]) / 2, own.duration_s)
            starts = np.concatenate([[0.0], ends[:-1]])
            edges = np.flatnonzero(np.diff(np.concatenate([[0], changed.astype(np.int8), [0]])))
            spans[video] = [
                [round(1000 * float(starts[first])), round(1000 * float(ends[last - 1]))]
                for first, last in zip(edges[::2], edges[1::2], strict=True)
            ]
        if self.memory.named:
            self.memory.shares = [*self.memory.shares, differing / max(total, 1)][-IN_A_ROW:]
        self.memory.named = named
        share = self.memory.shares[-1] if self.memory.shares else None
        changed = {video: some for video, some in spans.items() if some}
        return {"changed": changed, "share": share, "settled": self._settled()}

    def _settled(self) -> bool:
        """Return whether the last answers have changed little."""
        return len(self.memory.shares) == IN_A_ROW and max(self.memory.shares) < LITTLE

    def _shown(self, study: Study, run: Run, key_steps: KeySteps, labelled: _Labels, pending: str) -> dict[str, Any]:
        """Return key steps as a page shows them, with a sentence on why deviations are not decided yet."""
        with TemporaryDirectory() as folder:
            tree = Tree(Path(folder), self.dataset, self.task)
            write_keysteps(tree.keysteps(run), key_steps)
            return self._read(study, run, tree, labelled, pending)

    def _read(self, study: Study, run: Run, tree: Tree, labelled: _Labels, pending: str = "") -> dict[str, Any]:
        """Return a result in a tree as a page shows it: its facts, segments and procedure, and the annotations."""
        manifest = read_manifest(self.tree.at(paths.MANIFEST))
        used = manifest["status"] != "skipped"
        reasons = pd.Series([labelled.reasons.get(video, "no annotation") for video in manifest["video"]], dtype=object)
        manifest = manifest.assign(
            status=manifest["status"].where(~used, np.where(reasons == "", "ok", "unscored")),
            reason=manifest["reason"].where(~used, reasons),
        )
        annotations = labelled.table[labelled.table["key_step"] > 0]
        root, page = study.config.root_of(self.dataset), self.tree.at(paths.PAGE).parent
        names = read_names(names_file(Task(study, self.dataset, self.task)))
        shown = read_run(tree, run, manifest, annotations, names, viewed=False)
        videos = [shown_video(row, page, root, strip=False) for row in manifest.to_dict("records")]
        assert shown.procedure is not None
        procedure, deviations = shown.procedure
        doubts = shown.cautions or against_trivial(run, {}, annotated=False, labelled=False)
        warnings = [in_window(warning) for warning in shown.facts.warnings]
        if pending and shown.facts.given:
            warnings = [*self._known_before(run), *warnings]
        facts = replace(
            shown.facts,
            folder=self.tree.keysteps(run).as_posix(),
            warnings=warnings,
            colour={str(step): place for place, step in enumerate(shown.facts.order, 1)},
        )
        drawn = picture(
            0, procedure, deviations, shown.recordings, videos, doubts, facts.given, shown.every, shown.own,
            shown.number, blind=shown.blind, pending=pending,
            competing=[warning for warning in facts.warnings if warning.lower().startswith(COMPETING)],
        )  # fmt: skip
        return {
            "facts": asdict(facts),
            "body": shown.body,
            "picture": in_window(filled("picture.html.j2", picture=drawn, most_lines=MOST_LINES)),
            **self._shown_labels(labelled),
            "status": [[video.status, video.reason] for video in videos],
        }
