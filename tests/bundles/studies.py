"""A study of tiny videos, which makes results and their bundles one at a time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rgwot.bundles.make import make_bundle
from rgwot.config.methods import DECODERS, FAMILIES
from rgwot.embedding.settings import TrainedEncoder
from rgwot.features.settings import FeatureSettings
from rgwot.paths import EMBEDDINGS, SEGMENTS, Run, Tree
from rgwot.records import read_segments
from rgwot.stages.decode import decode
from rgwot.stages.embed import embed
from rgwot.stages.train import train

# This backbone has 112 channels instead of 1,024, which makes decoding by `raw` fast.
FEATURES = FeatureSettings(backbone="efficientnet_lite0", weights="random", size=64, fps=10.0)
SMALL: dict[str, Any] = {
    "encoder": {"channels": 8, "hidden": 8, "D": 8},
    "train": {"N": 6, "iterations": 10, "lr": 1e-3, "threads": 1},
    "whiten": {"D": 6, "smooth": 0.1},
    "regression": {"epochs": 4, "E": 4},
    "graph": {"clip_s": 0.2, "neighbours": 3, "walks": 2, "walk_length": 6, "D": 6, "epochs": 1},
    "consensus": {"partitions": 4},
    # Clips last only seconds: at the default, no switch between key steps would be worth its cost.
    "graphcut": {"pairwise": 0.1, "restarts": 2},
    "decode": {"K": 3},
}


@dataclass(frozen=True)
class Study:
    """Videos by id, and a tree of results."""

    videos: dict[str, Path]
    tree: Tree
    index: Path

    def result(self, method: str, decoder: str, held_out: tuple[str, ...] = (), **changes: Any) -> tuple[Path, Path]:
        """Return the folder of key steps of a result, and its bundle; ``changes`` are keys of the block ``decode``."""
        # The label keeps results with different videos or changes apart; in bundles only the method is named.
        label = "".join([method, *held_out, *(f"{key}{value}" for key, value in changes.items())])
        run = Run(label, decoder, 0)
        blocks = {**SMALL, "decode": {**SMALL["decode"], **changes}}
        if held_out:
            blocks["data"] = {"split": "holdout"}
        settings, rule = FAMILIES[method].embedding.of(blocks), DECODERS[decoder].of(blocks)
        segments, embeddings = self.tree.at(SEGMENTS, run), self.tree.at(EMBEDDINGS, run)
        model = None
        if isinstance(settings, TrainedEncoder):
            model = embeddings.with_suffix(".model") / "model.pt"
            train(self.index, self.index.parent, model.parent, settings, 0, device="cpu", held_out=held_out)
        own = () if model else held_out
        embed(self.index, self.index.parent, model, embeddings, method=method, settings=settings, held_out=own, seed=0)
        decode(embeddings, segments.parent, rule, 0)
        found = read_segments(segments).query("scope == 'task'")
        assert found["key_step"].nunique() > 1, "one label everywhere would make every comparison pass"
        bundle = segments.parent.with_suffix(".rgwot")
        names = self.tree.results / "names.yaml"
        make_bundle(
            bundle,
            index_csv=self.index,
            embeddings_zarr=embeddings,
            segments_csv=segments,
            model_path=model,
            run=Run(method, decoder, 0),
            dataset="tiny",
            task="clips",
            method=settings,
            rule=rule,
            names_yaml=names,
        )
        return segments.parent, bundle
