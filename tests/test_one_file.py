"""A loss, decoder, embedding, extractor, layout and kind of figure are one file each, and are called as it is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from videos import write_video

import rgwot
from rgwot.config.about import described
from rgwot.config.extractors import EXTRACTORS
from rgwot.config.layouts import LAYOUTS
from rgwot.config.methods import ALIGNMENTS, DECODERS, EMBEDDINGS, Decoder
from rgwot.config.settings import BLOCKS, defaults
from rgwot.datasets.finding import layout_module
from rgwot.reporting.figures.interface import KINDS, kind_of
from rgwot.runtime.lazy import load

REPOSITORY = Path(__file__).resolve().parents[1]

DECODER = '''"""Every video in K equal pieces."""

import numpy as np

from rgwot.keysteps.interface import Decoded

ABOUT = {"description": "equal pieces", "source": "this test", "reads": ("decode.restarts", "consensus")}


def decode_pieces(frames, K, settings, generator):
    labels = [np.arange(length) * K // length for length in frames.lengths]
    return Decoded(np.concatenate(labels), facts={"pieces": settings.consensus.D})
'''
LOSS = '''"""Mean squared distance of frames at the same position."""

ABOUT = {
    "description": "distance of frames at the same position",
    "reads": ("loss.gamma", "ot.zeta"),
}


def align_position(batch, settings):
    return settings.loss.gamma * ((batch.x - batch.y) ** 2).sum(2).mean(1)
'''
EMBEDDING = '''"""The time of a frame."""

from rgwot.embedding.interface import Embedded

ABOUT = {"description": "nothing but time", "reads": ("whiten.D", "regression")}


def fit_clock(stores, settings, seed):
    return lambda store: Embedded(store.time_s[:, None] / settings.whiten.D)
'''
EXTRACTOR = '''"""Colours averaged over squares of 8 pixels, mixed."""

from torch import nn

ABOUT = {
    "description": "mean colours",
    "source": "this test",
    "layer": "mixed",
    "channels": 5,
    "stride": 8,
    "mean": (0.5, 0.5, 0.5),
    "std": (0.25, 0.25, 0.25),
}


def network_colours():
    return nn.Sequential(nn.AvgPool2d(8, ceil_mode=True), nn.Conv2d(3, 5, 1, bias=False))


def randomise_colours(network, generator):
    network[1].weight.normal_(generator=generator)
'''
LAYOUT = '''"""All videos in one folder: ``<task>-<number>.mp4``."""

from rgwot.datasets.annotations import Annotation
from rgwot.datasets.base import Found, FoundTask, VideoEntry

ABOUT = {"description": "one folder for all tasks"}
OPTIONS = frozenset({"subset"})
EXPECTED = "<task>-<number>.mp4"


def find(root, dataset, options):
    tasks = {}
    for path in sorted(root.glob("*-*.mp4")):
        tasks.setdefault(path.stem.split("-")[0], []).append(VideoEntry(path.stem, path.stem, path.name, None))
    return Found(dataset, str(root), {task: FoundTask(tuple(videos)) for task, videos in tasks.items()})


def read_annotation(root, entry, facts, clock, options) -> Annotation:
    raise NotImplementedError
'''
FIGURE = '''"""How many videos a training reads."""

from typing import ClassVar

from rgwot import paths
from rgwot.reporting.figures.interface import Figure, Plan, seeding
from rgwot.reporting.figures.style import sheet, tell

ABOUT = {"description": "Videos of a task, counted."}


class VideoCountsPlan(Plan):
    videos: dict[str, int]


class VideoCounts(Figure):
    PLAN: ClassVar = VideoCountsPlan

    kind: str
    dataset: str
    colour: str = "#000000"

    def plan(self, study):
        videos = {task: len(study.videos(self.dataset, task)) for task in study.tasks(self.dataset)}
        label, seeds = study.in_print(self.dataset), study.config.seeds
        return self.planned(study, {self.dataset: label}, [label, seeding(seeds)], seeds, videos=videos)

    def files(self, plan):
        return [paths.at(paths.MANIFEST, dataset=self.dataset, task=task) for task in plan.videos]

    def draw(self, plan):
        drawn, axes = sheet(height=2)
        axes[0, 0].bar(list(plan.videos), list(plan.videos.values()), color=self.colour)
        tell(drawn, self.title, plan.about)
        return drawn
'''
ADDED = {
    "keysteps/pieces.py": DECODER,
    "losses/position.py": LOSS,
    "embedding/clock.py": EMBEDDING,
    "features/extractors/colours.py": EXTRACTOR,
    "datasets/flat.py": LAYOUT,
    "reporting/figures/video_counts.py": FIGURE,
}

CATALOGUE = """
import json, sys
from pathlib import Path
import yaml
from rgwot.study.targets import Catalogue
repository, here = Path(sys.argv[1]), Path(sys.argv[2])
config = yaml.safe_load((repository / "config.yaml").read_text())
for name in ("mine", "brew"):
    config["datasets"][name] = {"layout": "flat", "root": str(here / "videos")}
    config["datasets"][name]["settings"] = {"features": {"backbone": "colours", "weights": "random"}}
catalogue = Catalogue(config, repository / "workflow/tables.yaml")
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the library, six files and a registered task more in it, and videos in the new layout."""
    folder = tmp_path_factory.mktemp("library")
    shutil.copytree(Path(rgwot.__file__).parent, folder / "rgwot")
    for name, text in ADDED.items():
        assert not (folder / "rgwot" / name).exists()
        (folder / "rgwot" / name).write_text(text, encoding="utf-8")
    with (folder / "rgwot/datasets/registry.csv").open("a", encoding="utf-8") as registry:
        registry.write("brew,tea,Tea,Tea,3,1-2 4,flat,,,,,,this test\n")
    (folder / "videos").mkdir()
    for name in ("tea-1", "tea-2", "soup-1", "soup-2"):
        (folder / "videos" / f"{name}.mp4").touch()
    return folder


def run(library: Path, code: str) -> Any:
    """Run a script with the library of a folder and return what it prints, which is JSON."""
    done = subprocess.run(
        [sys.executable, "-c", code, str(REPOSITORY), str(library)],
        env={**os.environ, "PYTHONPATH": str(library)},
        cwd=library,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_planning_knows_them_and_imports_none(library: Path) -> None:
    found = run(
        library,
        CATALOGUE
        + """
from rgwot.runtime.errors import RgwotError
def refused(ask, *told):
    try:
        return ask(*told)
    except RgwotError as error:
        return str(error)
method, decoder = catalogue.experiments.method, catalogue.experiments.decoder
catalogue.check_targets(["results/keysteps/clock/pieces/mine/tea/seed0/segments.csv"])
print(json.dumps({
    "tasks": catalogue.tasks("mine"),
    "videos": list(catalogue.videos("mine", "tea")),
    "registered": [catalogue.tasks("brew"), catalogue.key_steps("brew", "tea"), catalogue.key_steps("mine", "tea")],
    "decoder": decoder("pieces@decode.restarts=9,K=3", "rgwot"),
    "no decoder": refused(decoder, "pieces@meanfield.alpha=0.1", "rgwot"),
    "read by the decoder": json.loads(catalogue.decoder_settings("mine", "tea", "rgwot", "pieces@decode.restarts=9")),
    "method": method("rgwot@loss.gamma=0.5,loss.alignment=position"),
    "no method": refused(method, "rgwot@loss.alignment=position,loss.tau=0.5"),
    "embedding": method("clock@whiten.D=3"),
    "no embedding": refused(method, "clock@graph.D=3"),
    "options": catalogue.embedding_options("mine", "tea", "clock@whiten.D=3"),
    "extraction": json.loads(catalogue.settings_json(("features",), "mine", "tea", "none", None))["features"],
    "extraction by default": catalogue.settings_json(("features",), "meccano", "meccano", "none", None),
    "imported": [name for name in sys.modules if name in ("torch", "scipy", "sklearn", "pandas") or "pieces" in name],
}))
""",
    )
    assert found["tasks"] == ["soup", "tea"]
    assert found["videos"] == ["tea-1", "tea-2"]
    # A published dataset is its rows of the registry and nothing else.
    assert found["registered"] == [["tea"], 3, None]
    assert found["decoder"] == "pieces@K=3,decode.restarts=9"
    assert "unknown key 'meanfield.alpha'" in found["no decoder"]
    assert found["read by the decoder"] == {
        "decode": {"K": 7, "time": 0.0, "surplus": 0, "restarts": 9},
        "consensus": {"partitions": 24, "blocks": 1, "epsilon": 0.1, "rounds": 8, "D": 24, "refinements": 3},
        "procedure": {"learner": "robust"},
    }
    assert found["method"] == "rgwot@loss.alignment=position,loss.gamma=0.5"
    assert "expected keys it reads (loss.gamma, ot.zeta)" in found["no method"]
    assert found["embedding"] == "clock@whiten.D=3"
    assert "clock trains no encoder; it takes no keys but" in found["no embedding"]
    assert '"whiten": {"D": 3}' in found["options"]
    assert '"epochs": 90' in found["options"]
    assert found["extraction"]["backbone"] == "colours"
    # Settings of jobs that were there before the key are as they were.
    assert found["imported"] == []


def test_all_three_run_by_name(library: Path) -> None:
    found = run(
        library,
        """
import json
from types import SimpleNamespace
import numpy as np, torch
from rgwot.config.settings import build
from rgwot.embedding.registry import FITS
from rgwot.keysteps.interface import Frames
from rgwot.keysteps.registry import DECODERS
from rgwot.losses.interface import PairBatch
from rgwot.losses.registry import ALIGNMENTS, learned_by
settings = build({"loss.alignment": "position", "loss.gamma": 0.5, "whiten.D": 2, "consensus.D": 5}, "test")
x, times, length = torch.zeros(3, 4, 2), torch.zeros(3, 4), torch.ones(3)
batch = PairBatch(x, x + 1, times, length, times, length, torch.arange(3), learned_by(settings, 0))
decoded = DECODERS["pieces"](Frames(np.zeros((6, 2)), (4, 2), 2.0), 2, settings, np.random.default_rng(0))
store = SimpleNamespace(time_s=np.array([0.0, 1.0, 2.0]))
print(json.dumps({
    "loss": ALIGNMENTS[settings.loss.alignment](batch, settings).tolist(),
    "labels": decoded.labels.tolist(),
    "facts": decoded.facts,
    "embedding": FITS["clock"]([store], settings, 0)(store).embedding.tolist(),
}))
""",
    )
    assert found == {
        "loss": [1.0, 1.0, 1.0],
        "labels": [0, 0, 1, 1, 0, 1],
        "facts": {"pieces": 5},
        "embedding": [[0.0], [0.5], [1.0]],
    }


def test_an_extractor_makes_features_of_its_own_shape_for_an_encoder(library: Path) -> None:
    for name in "ab":
        write_video(library / f"{name}.mp4", 90)
    found = run(
        library,
        """
import json, sys
from pathlib import Path
from rgwot.config.settings import build
from rgwot.embedding.pooled import fit_pooled
from rgwot.embedding.train import train
from rgwot.features.extract import extract
from rgwot.features.index import write_index
from rgwot.features.store import open_store
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.tensors import load_tensors
here = Path(sys.argv[2])
small = {"encoder.channels": 4, "encoder.hidden": 4, "train.N": 4, "train.iterations": 2, "train.threads": 1}
extraction = {"features.backbone": "colours", "features.weights": "random", "features.fps": 10, "features.size": 44}
settings = build({**extraction, **small}, "test")
stores = [here / f"{name}.zarr" for name in "ab"]
for name, path in zip("ab", stores):
    extract(here / f"{name}.mp4", path, settings.features, device="cpu")
write_index(stores, here / "index.csv")
train(here / "index.csv", here, here / "model", settings, 0, device="cpu")
store = open_store(stores[0])
try:
    build({"features.backbone": "colors"}, "test")
except RgwotError as error:
    unknown = str(error)
print(json.dumps({
    "shape": store.shape,
    "facts": {key: store.attributes[key] for key in ("backbone", "layer", "weights")},
    "embedding": fit_pooled([store], settings, 0)(store).embedding.shape,
    "encoder": load_tensors(here / "model" / "model.pt")["architecture"]["features"],
    "unknown": unknown,
}))
""",
    )
    assert found["shape"] == [30, 5, 6, 6]
    assert found["facts"] == {"backbone": "colours", "layer": "mixed", "weights": "random"}
    assert found["embedding"] == [30, 5]
    assert found["encoder"] == 5
    assert found["unknown"] == "test: features.backbone: unknown network 'colors'; did you mean 'colours'?"


def test_a_kind_of_figure_is_read_planned_and_drawn(library: Path) -> None:
    entry = "{kind: video_counts, title: Videos, dataset: mine}"
    for name, text in (("tables", entry), ("wrong", entry.replace("dataset", "color: red, dataset"))):
        (library / f"{name}.yaml").write_text(f"datasets: {{}}\ntables: {{}}\nfigures: {{counts: {text}}}\n")
    found = run(
        library,
        CATALOGUE
        + """
from rgwot.runtime.errors import RgwotError
catalogue = Catalogue(config, here / "tables.yaml")
text = catalogue.figure_plan("counts").text()
from rgwot.reporting.figures.interface import KINDS, kind_of
kinds = [kind_of(name).__name__ for name in KINDS]
heavy = [name for name in ("torch", "scipy", "pandas", "matplotlib") if name in sys.modules]
try:
    Catalogue(config, here / "wrong.yaml").figures
except RgwotError as error:
    refused = str(error)
from click.testing import CliRunner
from rgwot.cli import cli
done = CliRunner().invoke(cli, ["figure", "--plan", text, "counts.pdf"], catch_exceptions=False)
print(json.dumps({
    "files": catalogue.figure_plan("counts").files(),
    "caption": catalogue.figure_plan("counts").caption(),
    "imported": heavy,
    "kinds": kinds,
    "refused": refused,
    "drawn": done.exit_code == 0 and (here / "counts.png").stat().st_size > 0,
}))
""",
    )
    assert found["files"] == ["results/manifest/mine/soup.csv", "results/manifest/mine/tea.csv"]
    random = "backbone with random weights: not the paper's numbers"
    other = "features by colours: not the paper's numbers"
    assert found["caption"] == ["Videos. Videos of a task, counted.", f"mine; seeds 0, 1, 2; {random}; {other}"]
    # Nor with all the others.
    assert {"Teaser", "Tsne", "VideoCounts"} <= set(found["kinds"])
    assert found["imported"] == []
    assert "figure 'counts': unknown key 'color'; did you mean 'colour'?" in found["refused"]
    assert found["drawn"]


def test_they_stand_in_schema_and_help_and_a_layout_without_a_writer_is_not_written(library: Path) -> None:
    found = run(
        library,
        """
import json
from click.testing import CliRunner
from rgwot.cli import cli
from rgwot.config.configuration import Config
def help_of(verb):
    return " ".join(CliRunner().invoke(cli, [verb, "--help"]).output.split())
verbs = ("decode", "embed", "synth")
print(json.dumps({"schema": json.dumps(Config.model_json_schema()), **{verb: help_of(verb) for verb in verbs}}))
""",
    )
    assert '"none", "position"]' in found["schema"]
    assert '["resnet50", "efficientnet_lite0", "colours"]' in found["schema"]
    assert "hvq or pieces; or trivial: one_label" in found["decode"]
    assert "regression.epochs" in found["embed"]
    assert "egoprocel" in found["synth"]
    assert "flat" not in found["synth"]


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ('{"description": "x", "read": ()}', "ABOUT: .*unexpected keyword argument 'read'"),
        ('{"description": "x", "reads": ("decode.m")}', "ABOUT: reads: found 'decode.m', expected a tuple of keys"),
        ('{"description": words()}', "ABOUT: malformed node"),
    ],
)
def test_a_mistake_is_told_with_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, told: str
) -> None:
    (tmp_path / "keysteps").mkdir()
    (tmp_path / "keysteps/wrong.py").write_text(f"ABOUT = {written}\n", encoding="utf-8")
    monkeypatch.setattr("rgwot.config.about.LIBRARY", tmp_path)
    with pytest.raises(ValueError, match=f"wrong.py: {told}"):
        described("keysteps", Decoder)


def test_what_a_file_says_is_true() -> None:
    for kind, verb in ((ALIGNMENTS, "align"), (DECODERS, "decode"), (EMBEDDINGS, "fit")):
        for name, about in kind.items():
            assert about.description
            assert set(about.reads) <= {*BLOCKS, *defaults()}, name
            assert not about.module or callable(load(f"{about.module}:{verb}_{name}"))
    # What vasot does is that loss as well.
    assert {*ALIGNMENTS["gromov_wasserstein"].reads} <= {*DECODERS["vasot"].reads}
    for name, extractor in EXTRACTORS.items():
        assert extractor.description
        assert extractor.members or min(extractor.channels, extractor.stride) > 0
        for verb in ("network", "randomise"):
            assert callable(load(f"{extractor.module}:{verb}_{name}"))
    for name, about in LAYOUTS.items():
        assert layout_module(name).__name__ == about.module
    for name, about in KINDS.items():
        assert kind_of(name).__module__ == about.module
