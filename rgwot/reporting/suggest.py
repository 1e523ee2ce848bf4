"""The videos of a result that are worth annotating first, and the command that opens them."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np

from rgwot import paths
from rgwot.datasets.names import stem_of
from rgwot.keysteps.settings import MeanfieldSettings
from rgwot.keysteps.suggest import frames_of, suggest
from rgwot.paths import Run, Tree, name_of
from rgwot.procedure.words import join_words
from rgwot.records import read_diagnostics, read_manifest
from rgwot.runtime.errors import RgwotError
from rgwot.stages.embedded import read_embeddings


def suggestion(keysteps: Path, number: int = 3) -> list[str]:
    """Return, in lines, which videos to annotate beside those that are annotated, and the command that opens them.

    Raises RgwotError for a folder that holds no result by embeddings, or where every video is annotated.
    """
    run, folder = Run.of_folder(keysteps.absolute()), keysteps.absolute()
    if run is None or not (folder / name_of(paths.SEGMENTS)).is_file():
        raise RgwotError(
            f"{keysteps}: found no key steps there, expected a folder such as "
            f"{paths.RESULTS}/keysteps/rgwot-plus/consensus/demo/assembly/seed0"
        )
    tree = Tree(folder.parents[5], folder.parents[1].name, folder.parents[0].name)
    videos = suggested(tree, run, number)
    if not videos:
        raise RgwotError(f"{keysteps}: every video of the task is annotated, so none is left to suggest")
    names = [stem_of(video) for video in videos]
    chosen = " ".join(f"--videos {shlex.quote(name)}" for name in names)
    return [
        f"Worth annotating next: {join_words(names)}. They open in ELAN with the present answer after",
        f"  rgwot export elan {shlex.quote(str(keysteps))} to_annotate {chosen}",
    ]


def suggested(tree: Tree, run: Run, number: int) -> list[str]:
    """Return the ids of the videos of a result that are worth annotating beside those that are annotated."""
    task = read_embeddings(tree.at(paths.EMBEDDINGS, run))
    manifest = read_manifest(tree.at(paths.MANIFEST))
    annotated = set(manifest.loc[manifest["status"] == "ok", "video"])
    order = list(task.videos)
    known = [place for place, video in enumerate(order) if video in annotated]
    K = read_diagnostics(tree.at(paths.DIAGNOSTICS, run))["K"]
    frames = frames_of(task.videos, task.features_fps)
    found = suggest(frames, K, number, MeanfieldSettings(), np.random.default_rng(run.seed), known)
    return [order[place] for place in found]
