"""A study of five tiny videos: features of a network with random weights, results of several methods, and bundles."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import torch
from studies import FEATURES, Study
from videos import write_video

from rgwot.features.extract import extract
from rgwot.features.index import write_index
from rgwot.paths import Tree


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("study")
    videos, stores = {}, []
    tree = Tree(folder / "results", "tiny", "clips")
    features = tree.results / "features/tiny/clips"
    for number, (first, frames) in enumerate([(0, 75), (9, 90), (40, 66), (97, 81), (150, 72)]):
        name = f"v{number}"
        videos[name] = write_video(folder / f"{name}.mp4", frames, first=first)
        extract(videos[name], features / f"{name}.zarr", FEATURES, device="cpu")
        stores.append(features / f"{name}.zarr")
    write_index(stores, features / "index.csv")
    return Study(videos, tree, features / "index.csv")


@pytest.fixture(scope="session")
def results(study: Study) -> Callable[..., tuple[Path, Path]]:
    """A function that returns the folder of key steps and the bundle of a result, and makes each result only once."""
    return cache(study.result)
