"""Text for a terminal: the procedure of a result, and which of its videos to annotate first."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rgwot import paths
from rgwot.columns import readable
from rgwot.datasets.names import stem_of
from rgwot.keysteps.settings import MeanfieldSettings
from rgwot.keysteps.suggest import frames_of, suggest
from rgwot.paths import DEVIATIONS, PROCEDURE, SEGMENTS, Run, Tree, name_of
from rgwot.procedure import Deviation, Procedure
from rgwot.procedure.sentences import call, deviations_in_words, join_words, need_layers, repeats, sentence
from rgwot.records import read_manifest, read_segments
from rgwot.reporting.names import names_in
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.provenance import unedited
from rgwot.stages.embed import read_embeddings
from rgwot.stages.procedure import read_deviation_list, read_procedure

if TYPE_CHECKING:
    import pandas as pd

    from rgwot.embedding.interface import EmbeddedTask

#: The deviations of at most this many videos are listed.
MOST_VIDEOS = 20


def procedure_lines(folder: Path, names_yaml: str | os.PathLike[str] | None = None) -> list[str]:
    """Return the procedure in a folder of key steps and its deviations as lines, with the names of key steps."""
    # Raises an error if a user edited the segments, because the other files would not match them.
    unedited(folder / name_of(SEGMENTS))
    procedure = read_procedure(folder / name_of(PROCEDURE))
    deviations = read_deviation_list(folder / name_of(DEVIATIONS))
    run = Run.of_folder(folder.absolute())
    head = [f"Found by {run}."] if run is not None else []
    return head + drawn(procedure, deviations, names_in(folder, names_yaml))


def drawn(procedure: Procedure, deviations: Sequence[Deviation], names: Mapping[int, str] | None = None) -> list[str]:
    """Return the procedure as lines: a sentence, notes, a line per key step, and a line per video with its deviations.

    Key steps of the same layer share a number: each needs a key step of the layer above, and none of its own layer.
    """
    lines = [f"The procedure: {sentence(procedure, names)}", *(f"Note: {note}." for note in procedure.notes)]
    if procedure.nodes:
        total = f"{procedure.n_videos} video{'s' if procedure.n_videos > 1 else ''}"
        lines += ["", f"What comes before what, in {total} (learner {procedure.learner}):", *_steps(procedure, names)]
        order = " > ".join(call(step, names) for step in procedure.order)
        lines += [f"  One order for all: {order}"]
    if deviations or len(procedure.videos) > 1:
        lines += ["", "Deviations by video, with their total surprise in bits:", *_videos(procedure, deviations, names)]
    return lines


def _steps(procedure: Procedure, names: Mapping[int, str] | None) -> list[str]:
    """Return a line per key step, by layer: its number of videos, usual time, needs, and whether it is optional etc."""
    nodes = {node.key_step: node for node in procedure.nodes}
    width = max(len(_titled(step, names)) for step in nodes)
    lines = []
    for number, layer in enumerate(need_layers(procedure), 1):
        for step in layer:
            node = nodes[step]
            facts = [f"{node.n_videos} of {procedure.n_videos}, {node.duration_s:.1f} s"]
            facts += ["in some videos only"] if node.optional else []
            needs = [
                call(edge.before, names) + ("" if edge.agree == edge.both else f" ({edge.agree} of {edge.both})")
                for edge in procedure.edges
                if edge.after == step and isinstance(edge.before, int)
            ]
            facts += [f"after {join_words(needs)}"] if needs else []
            partners = [
                call(partner, names)
                for group in procedure.groups
                if step in group
                for partner in group
                if partner != step
            ]
            facts += (
                [f"in {'either' if len(partners) == 1 else 'any'} order with {join_words(partners)}"]
                if partners
                else []
            )
            facts += [f"{node.repeats:.1f} times"] if repeats(node) else []
            place = str(number) if step == layer[0] else ""
            lines.append(f"  {place:>2}  {_titled(step, names):<{width}}  {'; '.join(facts)}")
    return lines


def _titled(step: int, names: Mapping[int, str] | None) -> str:
    return f"{step} {names[step]}" if names and step in names else f"key step {step}"


def _videos(procedure: Procedure, deviations: Sequence[Deviation], names: Mapping[int, str] | None) -> list[str]:
    """Return a line per video, or only for the videos that deviate most if there are many."""
    of_video: dict[str, list[Deviation]] = {}
    for deviation in deviations:
        of_video.setdefault(deviation.video, []).append(deviation)
    empty = {video.video for video in procedure.videos if math.isnan(video.score)}
    videos = list(dict.fromkeys([*(video.video for video in procedure.videos), *of_video]))
    bits = {video: sum(deviation.surprise for deviation in of_video.get(video, ())) for video in videos}
    listed = videos if len(videos) <= MOST_VIDEOS else sorted(videos, key=lambda video: -bits[video])[:MOST_VIDEOS]
    width = max(len(readable(video)) for video in listed)
    lines = [
        f"  {readable(video):<{width}}  {bits[video]:5.1f}  "
        + ("no key step" if video in empty else deviations_in_words(of_video.get(video, ()), names))
        + (" (most typical)" if video == procedure.most_typical else "")
        for video in listed
    ]
    return lines + ([f"  ... and {len(videos) - MOST_VIDEOS} more videos"] if len(videos) > MOST_VIDEOS else [])


def suggestion(keysteps: Path, number: int = 3) -> list[str]:
    """Return lines that suggest videos to annotate next, with the command that exports them to ELAN.

    Raises RgwotError if the folder has no key steps, their embeddings are missing, or every video is annotated.
    """
    folder = keysteps.absolute()
    run, tree = Run.of_folder(folder), Tree.of_folder(folder)
    if run is None or tree is None or not (folder / name_of(paths.SEGMENTS)).is_file():
        raise RgwotError(
            f"{keysteps}: found no key steps, expected a folder such as "
            f"{paths.RESULTS}/keysteps/rgwot-plus/consensus/demo/assembly/seed0"
        )
    task, manifest = read_embeddings(tree.at(paths.EMBEDDINGS, run)), read_manifest(tree.at(paths.MANIFEST))
    videos = suggested(task, manifest, read_segments(folder / name_of(paths.SEGMENTS)), run.seed, number)
    if not videos:
        raise RgwotError(f"{keysteps}: every video of the task is annotated, so none is left to suggest")
    names = [stem_of(video) for video in videos]
    return [
        f"Annotate next: {join_words(names)}. To open them in ELAN with the present key steps, run",
        f"  {export_command(str(keysteps), names)}",
    ]


def export_command(keysteps: str, names: Sequence[str]) -> str:
    """Return the command that exports videos for ELAN, with the key steps of a folder."""
    chosen = [word for name in names for word in ("--videos", name)]
    return shlex.join(["rgwot", "export", "elan", keysteps, f"to_annotate_{names[0]}", *chosen])


def suggested(
    task: EmbeddedTask, manifest: pd.DataFrame, segments: pd.DataFrame, seed: int, number: int = 3
) -> list[str]:
    """Return the ids of the ``number`` videos to annotate next.

    Parameters
    ----------
    task
        The embeddings of a result.
    manifest, segments
        Tables of `rgwot.records`: which videos are annotated, and the decoded segments, which tell the number of key
        steps.
    seed
        The seed of the result.

    Returns
    -------
    The best video first; empty if every video is annotated.
    """
    annotated = set(manifest.loc[manifest["status"] == "ok", "video"])
    order = list(task.videos)
    annotated_places = [place for place, video in enumerate(order) if video in annotated]
    if len(annotated_places) == len(order):
        return []
    K = segments.loc[(segments["scope"] == "task") & (segments["key_step"] > 0), "key_step"].nunique()
    frames = frames_of(task.videos, task.features_fps)
    from threadpoolctl import threadpool_limits

    # Threads would slow down thousands of small products, and change the rounding of their sums.
    with threadpool_limits(limits=1):
        places = suggest(frames, max(K, 2), number, MeanfieldSettings(), np.random.default_rng(seed), annotated_places)
    return [order[place] for place in places]
