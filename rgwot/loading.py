"""Reading results that `rgwot.Discovery.save` or the workflow wrote."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rgwot.bundles.learned import LearnedResult
from rgwot.config.experiments import resolved, split_id
from rgwot.config.methods import DECODERS
from rgwot.datasets.names import stem_of
from rgwot.embedding.interface import EmbeddedTask
from rgwot.keysteps.ordering import KeySteps, order_of_text
from rgwot.names import names_of, read_names
from rgwot.paths import (
    BUNDLE,
    DEVIATIONS,
    DIAGNOSTICS,
    EMBEDDINGS,
    MANIFEST,
    NAMES,
    ORDER,
    PROCEDURE,
    SEGMENTS,
    Run,
    Tree,
    name_of,
)
from rgwot.records import read_diagnostics, read_manifest, read_orders, read_segments
from rgwot.result import Discovery, Made, Stored
from rgwot.runtime.errors import RgwotError
from rgwot.stages.embed import read_embeddings
from rgwot.stages.procedure import read_deviation_list, read_procedure


def load(folder: str | os.PathLike[str]) -> Discovery:
    """Return a result that `rgwot.Discovery.save` or the workflow wrote.

    Parameters
    ----------
    folder
        The folder of key steps, ``…/keysteps/METHOD/DECODER/DATASET/TASK/seedN``, or a folder with a single such folder
        below it, such as the folder given to ``save``.

    Returns
    -------
    Discovery
        It can ``predict`` if there is a bundle: where the workflow writes it (``bundles/…/seedN.rgwot``), or as the
        only ``.rgwot`` file in the given folder. With stored embeddings, as `save` writes them, it also has ``learn``,
        ``suggest`` and ``stability``; without embeddings, times follow from the rate of the features. Settings come
        from the ids and K, or from the bundle; ``probabilities`` and the given labels are not stored.

    Raises
    ------
    RgwotError
        If there is no result, or more than one, or a file is damaged or edited.

    Examples
    --------
    >>> import rgwot
    >>> example = rgwot.example()
    >>> found = rgwot.discover(example.videos, fps=example.fps, method="whitened", decoder="kmeans", K=4)
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = found.save(folder)
    ...     again = rgwot.load(folder)
    >>> again.segments.equals(found.segments), again.warnings == found.warnings
    (True, True)
    """
    given, path = Path(folder), _key_steps_in(Path(folder))
    run, tree = Run.of_folder(path.absolute()), Tree.of_folder(path)
    assert run is not None
    assert tree is not None
    segments = read_segments(path / name_of(SEGMENTS))
    diagnostics = read_diagnostics(path / name_of(DIAGNOSTICS))
    orders = read_orders(path / name_of(ORDER))
    key_steps = Stored(
        {
            str(scope): {
                str(video): rows.drop(columns=["video", "scope"]).reset_index(drop=True)
                for video, rows in table.groupby("video", sort=False)
            }
            for scope, table in segments.groupby("scope", sort=False)
        },
        {video: order_of_text(order) for video, order in zip(orders["video"], orders["order"], strict=True)},
        read_procedure(path / name_of(PROCEDURE)),
        diagnostics,
        told=read_deviation_list(path / name_of(DEVIATIONS)),
    )
    store = tree.at(EMBEDDINGS, run)
    embedded = read_embeddings(store) if store.is_dir() else None
    decoder = DECODERS.get(split_id(run.decoder)[0])
    K = None if decoder is None or decoder.LABELS else diagnostics.K
    chosen, learned = resolved(run.method, run.decoder, K, None, run.seed), _learned(given, tree, run)
    chosen = replace(chosen, run=run)
    if isinstance(learned, LearnedResult):
        chosen = replace(chosen, embedding=learned.method, decoder=learned.rule)
    names = names_of(read_names(path / name_of(NAMES)), str(run), segments).names
    times = _times(key_steps, embedded, tree)
    made = None
    if embedded is not None:
        # Doubts on features begin with "features" and are kept; doubts on key steps do not apply to other key steps.
        doubts = tuple(line for line in diagnostics.warnings or () if line.startswith("features"))
        made = Made(list(times), (), embedded, None, None, None, doubts)
    return Discovery(chosen, key_steps, times, embedded, learned, diagnostics.names | names, made)


def _key_steps_in(folder: Path) -> Path:
    """Return the only folder of key steps in a folder, or the folder itself."""
    if Tree.of_folder(folder) is not None and (folder / name_of(SEGMENTS)).is_file():
        return folder
    inside = sorted(path.parent for path in folder.glob(f"**/{name_of(SEGMENTS)}") if Tree.of_folder(path.parent))
    if len(inside) != 1:
        some = ", ".join(str(path) for path in inside[:3])
        found = f"{len(inside)} results ({some})" if inside else "no result" if folder.is_dir() else "no such folder"
        raise RgwotError(f"{folder}: {found}; expected one folder of key steps, as Discovery.save returns it")
    return inside[0]


def _learned(given: Path, tree: Tree, run: Run) -> LearnedResult | str:
    """Return what the bundle beside a result learned, or why there is none."""
    from rgwot.bundles.apply import restore
    from rgwot.bundles.file import SUFFIX, read_bundle

    inside = sorted(given.glob(f"*{SUFFIX}"))
    path = tree.at(BUNDLE, run) if tree.at(BUNDLE, run).is_file() else inside[0] if len(inside) == 1 else None
    if path is None:
        return f"{given}: found {len(inside) or 'no'} bundles, expected one; write one there by Discovery.bundle"
    bundle = read_bundle(path)
    if bundle.facts.run != run:
        return f"{path}: is a bundle of {bundle.facts.run}, expected one of {run}"
    return replace(restore(bundle)[0], name=str(path))


def _times(key_steps: KeySteps, embedded: EmbeddedTask | None, tree: Tree) -> dict[str, NDArray[np.float64]]:
    """Return the times (T,) of the features of each video by name, in the order of the manifest."""
    task = key_steps.segments["task"]
    path = tree.at(MANIFEST)
    videos = read_manifest(path)["video"].tolist() if path.is_file() else list(task)
    rate = float(key_steps.diagnostics.features_fps or 1.0)
    times = {}
    for video in [video for video in videos if video in task]:
        if embedded is not None and video in embedded.videos:
            times[stem_of(video)] = embedded.videos[video].time_s
            continue
        length = max(1, math.ceil(float(pd.Series(task[video]["end_s"]).max()) * rate - 1e-6))
        times[stem_of(video)] = np.arange(length) / rate
    return times
