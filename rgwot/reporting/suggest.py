"""The videos of a result that are worth annotating first, and the command that opens them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rgwot import paths
from rgwot.datasets.names import stem_of
from rgwot.keysteps.settings import MeanfieldSettings
from rgwot.keysteps.suggest import frames_of, suggest
from rgwot.paths import Run, Tree, name_of
from rgwot.procedure.words import join_words
from rgwot.records import read_manifest, read_segments
from rgwot.runtime.errors import RgwotError
from rgwot.stages.embed import read_embeddings

if TYPE_CHECKING:
    import pandas as pd

    from rgwot.embedding.interface import EmbeddedTask


def suggestion(keysteps: Path, number: int = 3) -> list[str]:
    """Return, in lines, which videos to annotate beside those that are annotated, and the command that opens them.

    Raises RgwotError for a folder that holds no result by embeddings, or where every video is annotated.
    """
    folder = keysteps.absolute()
    run, tree = Run.of_folder(folder), Tree.of_folder(folder)
    if run is None or tree is None or not (folder / name_of(paths.SEGMENTS)).is_file():
        raise RgwotError(
            f"{keysteps}: found no key steps there, expected a folder such as "
            f"{paths.RESULTS}/keysteps/rgwot-plus/consensus/demo/assembly/seed0"
        )
    task, manifest = read_embeddings(tree.at(paths.EMBEDDINGS, run)), read_manifest(tree.at(paths.MANIFEST))
    videos = suggested(task, manifest, read_segments(folder / name_of(paths.SEGMENTS)), run.seed, number)
    if not videos:
        raise RgwotError(f"{keysteps}: every video of the task is annotated, so none is left to suggest")
    names = [stem_of(video) for video in videos]
    return [
        f"Worth annotating next: {join_words(names)}. They open in ELAN with the present answer after",
        f"  {export_command(str(keysteps), names)}",
    ]


def export_command(keysteps: str, names: Sequence[str]) -> str:
    """Return the command that writes videos for ELAN with the answer in a folder of key steps."""
    chosen = [word for name in names for word in ("--videos", name)]
    return shlex.join(["rgwot", "export", "elan", keysteps, "to_annotate", *chosen])


def suggested(
    task: EmbeddedTask, manifest: pd.DataFrame, segments: pd.DataFrame, seed: int, number: int = 3
) -> list[str]:
    """Return the ids of the ``number`` videos that are worth annotating beside those that are annotated.

    Parameters
    ----------
    task
        The embeddings of a result.
    manifest, segments
        As of `rgwot.records`: what is annotated, and the segments found, whose key steps are counted.
    seed
        That of the result.

    Returns
    -------
    The best one first; none where every video is annotated.
    """
    annotated = set(manifest.loc[manifest["status"] == "ok", "video"])
    order = list(task.videos)
    known = [place for place, video in enumerate(order) if video in annotated]
    if len(known) == len(order):
        return []
    K = segments.loc[(segments["scope"] == "task") & (segments["key_step"] > 0), "key_step"].nunique()
    frames = frames_of(task.videos, task.features_fps)
    from threadpoolctl import threadpool_limits

    # Thousands of small products: threads would wait for each other, and take turns that change their sums.
    with threadpool_limits(limits=1):
        found = suggest(frames, max(K, 2), number, MeanfieldSettings(), np.random.default_rng(seed), known)
    return [order[place] for place in found]
