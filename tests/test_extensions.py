"""Losses, decoders and settings of one's own, in a file that the setting ``extensions`` names, or by `rgwot.extend`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_type_hints

import pytest
from registries import own_registries

from rgwot.blocks import Block
from rgwot.config import extensions
from rgwot.config.configuration import load_config
from rgwot.config.methods import CLUSTERING, DECODERS, EMBEDDING_KINDS, LOSSES, load
from rgwot.config.settings import defaults
from rgwot.runtime.errors import RgwotError

REPOSITORY = Path(__file__).resolve().parents[1]

MINE = """
import numpy as np
from pydantic import Field

from rgwot import Extension
from rgwot.config.methods import Decoder, Embedding, Family, Loss
from rgwot.baselines.settings import RegressionSettings, TccSettings
from rgwot.blocks import Block, Positive
from rgwot.embedding.interface import Embedded
from rgwot.keysteps.interface import Decoded
from rgwot.keysteps.settings import ConsensusSettings, RestartSettings
from rgwot.losses.settings import VirtualFrameSettings


class ClockSettings(Block):
    "Nothing but time."

    BLOCK = "clock"

    unit_s: Positive = Field(16.0, description="seconds")


def align_position(batch, loss, frame):
    return loss.lambda_v * ((batch.x - batch.y) ** 2).sum(2).mean(1)


def align_clock(batch, clock):
    return clock.unit_s * ((batch.x - batch.y) ** 2).sum(2).mean(1)


def fit_clock(videos, seed, clock, regression):
    return lambda video: Embedded((video.time_s[:, None] / clock.unit_s).astype(np.float32))


def decode_pieces(frames, K, generator, starts, consensus):
    return Decoded(np.concatenate([np.arange(length) * K // length for length in frames.lengths]))


EXTENSION = Extension(
    losses={
        "position": Loss(align_position, "distance, same place", settings=(TccSettings, VirtualFrameSettings)),
        "timed": Loss(align_clock, "the same, scaled", settings=(ClockSettings,)),
    },
    embeddings={"clock": Embedding(fit_clock, "nothing but time", settings=(ClockSettings, RegressionSettings))},
    decoders={"pieces": Decoder(decode_pieces, "equal pieces", settings=(RestartSettings, ConsensusSettings))},
    methods=(Family("slow", "a slow clock", {"clock.unit_s": 32.0}, "clock"),),
)
"""
PLANNED = """
import sys
from rgwot.config.configuration import load_config
from rgwot.config.experiments import Experiments
experiments = Experiments(load_config({"extensions": ["mine.py"], "clock": {"unit_s": 8}}))
print(experiments.method("rgwot@loss.lambda_v=0.5,loss.alignment=position"))
print(experiments.method("slow@clock.unit_s=3"))
print(experiments.decoder("pieces@decode.restarts=9,K=3", "rgwot"))
print(experiments.method("rgwot@clock.unit_s=3,loss.alignment=timed"))
print([experiments.settings(method, None, "").clock.unit_s for method in ("rgwot", "slow", "slow@clock.unit_s=3")])
for ask in (lambda: experiments.method("rgwot@loss.alignment=position,loss.phi_rate=0.5"),
            lambda: experiments.decoder("pieces@meanfield.alpha=0.1", "rgwot"),
            lambda: experiments.method("rgwot@clock.unit_s=3"),
            lambda: experiments.method("slow@clock.unit=3"),
            lambda: load_config({"clock": {"unit": 1}})):
    try:
        ask()
        print("no error")
    except Exception as error:
        print(error)
print([name for name in ("torch", "scipy", "sklearn", "pandas") if name in sys.modules])
"""
FOUND = """
import numpy as np
import rgwot
from mine import EXTENSION
rgwot.extend(EXTENSION)
rgwot.extend(EXTENSION)
videos = [np.random.default_rng(n).normal(size=(12, 4)) for n in range(2)]
small = {"encoder": {"channels": 4, "hidden": 4, "D": 4}, "train": {"N": 4, "iterations": 3, "threads": 1}}
method = "rgwot@loss.alignment=position,loss.lambda_v=0.5"
made = rgwot.discover(videos, method=method, decoder="pieces", K=3, settings=small, device="cpu")
print(made.labels["0"].tolist())
print(rgwot.discover(videos, method="slow", decoder="pieces", K=3, fps=2).embeddings["0"][:, 0].max() * 32)
"""


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    return tmp_path


@pytest.fixture
def printed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[[str], list[str]]]:
    """A function that runs code in the folder and returns the lines that it prints."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    modules = set(sys.modules)

    def lines(code: str) -> list[str]:
        exec(code, {})
        return capsys.readouterr().out.splitlines()

    with own_registries():
        yield lines
    for name in set(sys.modules) - modules:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").is_relative_to(folder):
            del sys.modules[name]


def test_planning_knows_extensions(folder: Path) -> None:
    light = MINE.replace("from rgwot.embedding.interface import Embedded\n", "").replace(
        "from rgwot.keysteps.interface import Decoded\n", ""
    )
    (folder / "mine.py").write_text(light, encoding="utf-8")
    done = run(PLANNED, folder)
    assert done.returncode == 0, done.stderr
    loss, embedding, decoder, own_block, values, *errors, imported = done.stdout.splitlines()
    assert loss == "rgwot@loss.alignment=position,loss.lambda_v=0.5"
    assert embedding == "slow@clock.unit_s=3"
    assert decoder == "pieces@K=3,decode.restarts=9"
    assert own_block == "rgwot@clock.unit_s=3,loss.alignment=timed"
    assert values == "[8.0, 32.0, 3.0]"
    for error, part in zip(
        errors,
        (
            "expected keys that this loss reads (loss.tau, loss.lambda_v, loss.distance, ot.zeta)",
            "unknown key 'meanfield.alpha'",
            "clock.unit_s has no effect with loss.alignment gromov_wasserstein",
            "it takes only the keys",
            "clock: unknown key 'unit'; did you mean 'unit_s'?",
        ),
        strict=True,
    ):
        assert part in error
    # Planning an extension costs what the extension imports.
    assert imported == "[]"


def test_settings_of_other_methods_are_what_they_are_without(printed: Callable[[str], list[str]]) -> None:
    code = """
from pathlib import Path
from rgwot.study.study import Study
from rgwot.study.jobs import tracked_settings
for given in ({}, {"extensions": ["mine.py"]}):
    study = Study.of({**given, "datasets": {"x": {"layout": "folder", "root": "r"}}})
    print([tracked_settings(study, "train", "x", "y", "rgwot"), study.experiments.method("rgwot@beta=0"),
           tracked_settings(study, "decode", "x", "y", "raw", "kmeans"), study.experiments.method("opel")])
print(tracked_settings(study, "embed", "x", "y", "rgwot@loss.alignment=timed")["clock"])
"""
    without, beside, own = printed(code)
    assert without == beside
    assert own == "{'unit_s': 16.0}"


def test_a_refused_extension_adds_nothing_and_a_path_may_have_dots(printed: Callable[[str], list[str]]) -> None:
    code = """
from pathlib import Path
from dataclasses import replace
import rgwot
from rgwot.config.extensions import load_extensions
from rgwot.config.methods import CLUSTERING, FAMILIES, LOSSES
from rgwot.config.settings import ADDED_BLOCKS
from mine import EXTENSION, Block
class Wrong(Block):
    BLOCK = "decode"
    restart: int = 1
wrong = {"pieces": replace(EXTENSION.decoders["pieces"], settings=(Wrong,))}
try:
    rgwot.extend(replace(EXTENSION, decoders=wrong))
except rgwot.RgwotError as error:
    print(error)
print([name for name in ("pieces", "slow", "timed", "clock") for known in (CLUSTERING, FAMILIES, LOSSES, ADDED_BLOCKS)
       if name in known])
Path("sub").mkdir()
load_extensions(["sub/../mine.py"])
print("pieces" in CLUSTERING)
"""
    refused, known, dots = printed(code)
    assert "unknown key 'decode.restart'; did you mean 'decode.restarts'?" in refused
    assert known == "[]"
    assert dots == "True"


def test_the_example_of_the_docstring_runs(folder: Path, printed: Callable[[str], list[str]]) -> None:
    (example,) = re.findall(r"(?ms)^    import numpy.*?^    EXTENSION = .*?$", extensions.__doc__ or "")
    (folder / "mine.py").write_text(textwrap.dedent(example), encoding="utf-8")
    code = """
import numpy as np
import rgwot
from mine import EXTENSION
rgwot.extend(EXTENSION)
for ask in ("pieces", "pieces@pieces.jitter=1"):
    made = rgwot.discover([np.eye(30)] * 2, method="raw", decoder=ask, K=3)
    print(made.labels["0"].tolist())
"""
    equal, moved = printed(code)
    assert equal == str([1] * 10 + [2] * 10 + [3] * 10)
    assert moved != equal


def test_the_decoder_of_the_documentation_runs(folder: Path, printed: Callable[[str], list[str]]) -> None:
    page = (REPOSITORY / "docs/architecture.md").read_text(encoding="utf-8").partition("### A decoder")[2]
    (folder / "angular.py").write_text(page.split("```")[1].removeprefix("python"), encoding="utf-8")
    code = """
import numpy as np
import angular
import rgwot
rgwot.extend(angular.EXTENSION)
steps = np.eye(3)[np.repeat([0, 1, 2], 8)] * np.linspace(1, 9, 24)[:, None]
for decoder in ("angular", "angular@angular.restarts=9"):
    print(rgwot.discover([steps] * 2, method="raw", decoder=decoder, K=3).labels["0"].tolist())
try:
    rgwot.extend("angular.py")
except rgwot.RgwotError as error:
    print(error)
"""
    first, second, refused = printed(code)
    assert first == second == str([1] * 8 + [2] * 8 + [3] * 8)
    assert refused == "extension: found str, expected a rgwot.config.extensions.Extension"


def test_extensions_run_by_name(printed: Callable[[str], list[str]]) -> None:
    assert printed(FOUND) == ["[1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]", "5.5"]


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ('"position": Loss', '"tcc": Loss', "mine.py: losses: tcc: the name is used by the library already"),
        ('"position": Loss', '"My Loss": Loss', "losses: My Loss: expected a name of a-z"),
        ('"clock": Embedding', '"cnc": Embedding', "methods: cnc: the name is used by the library already"),
        ('Family("slow"', 'Family("vaot"', "methods: vaot: the name is used by the library already"),
        ('"pieces": Decoder', '"uniform": Decoder', "decoders: uniform: the name is used by the library already"),
        ('BLOCK = "clock"', 'BLOCK = "ot"', "timed: settings: unknown key 'ot.unit_s'"),
        (
            "settings=(TccSettings, VirtualFrameSettings)",
            'settings="ot"',
            "settings: found 'ot', expected",
        ),
        ('BLOCK = "clock"', 'BLOCK = ""', "expected a tuple of subclasses of Block, each with a name in BLOCK"),
        ('"distance, same', 'read=1, description="distance, same', "unexpected keyword argument 'read'"),
        ("EXTENSION =", "OTHER =", "mine.py: found no EXTENSION, expected"),
        ("import numpy as np", "import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        (None, "other.py", "no such file; expected a Python file that defines EXTENSION"),
        (None, "sub/json.py", "there is another module named json; rename the file"),
        (None, "mine.yaml", "expected the name of an importable Python file"),
    ],
)
@pytest.mark.usefixtures("printed")
def test_mistakes_are_reported_in_one_line(folder: Path, right: str | None, wrong: str, message: str) -> None:
    name = "mine.py"
    if right is None:
        name = wrong
        if wrong != "other.py":
            (folder / "sub").mkdir()
            (folder / wrong).write_text(MINE, encoding="utf-8")
    else:
        assert right in MINE
        (folder / name).write_text(MINE.replace(right, wrong), encoding="utf-8")
    with pytest.raises(RgwotError) as told:
        load_config({"extensions": [name]})
    assert message in str(told.value)
    assert "\n" not in str(told.value)


def test_the_command_line_reports_a_mistake_in_one_line(folder: Path) -> None:
    (folder / "config.yaml").write_text("extensions: [other.py]\n", encoding="utf-8")
    command = [sys.executable, "-m", "rgwot", "doctor", "--config", "config.yaml"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("rgwot: ")
    assert "no such file; expected a Python file that defines EXTENSION" in line


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        (
            "video.time_s[:, None]",
            "video.time_s[1:, None]",
            r"embedding of 0: found shape \(11, 1\), expected \(12, D\)",
        ),
        ("video.time_s[:, None]", "video.read()", r"embedding of 0: found shape \(12, 4, 1, 1\), expected \(12, D\)"),
        ("length) * K", "length) * (K + 1)", "decoder: found labels from 0 to 3, expected 24 .* from -1 to 2"),
        ("length) * K", "length - 1) * K", r"decoder: found labels of shape \(22,\) and type int64, expected 24 whole"),
        ("return Decoded(", "return (", "decoder: found ndarray, expected rgwot.keysteps.interface.Decoded"),
    ],
)
def test_what_an_extension_makes_is_checked(
    folder: Path, printed: Callable[[str], list[str]], right: str, wrong: str, message: str
) -> None:
    (folder / "mine.py").write_text(MINE.replace(right, wrong), encoding="utf-8")
    with pytest.raises(RgwotError, match=f"^{message}"):
        printed(FOUND.split("made =")[0] + FOUND.splitlines()[-1])


def test_entries_are_true() -> None:
    for entry in (*LOSSES.values(), *EMBEDDING_KINDS.values(), *CLUSTERING.values()):
        assert entry.description
        places = [entry.function, getattr(entry, "restore", "")]
        for function in (load(place) for place in places if place):
            # What planning knows of a function is what its signature says.
            taken = list(get_type_hints(function).values())
            blocks = [kind for kind in taken if isinstance(kind, type) and issubclass(kind, Block)]
            assert blocks == list(entry.settings), function
        assert callable(load(getattr(entry, "learned", "") or print))


def test_settings_has_the_keys_that_entries_take() -> None:
    known = set(defaults())
    for entry in (*LOSSES.values(), *EMBEDDING_KINDS.values(), *DECODERS.values()):
        assert known.issuperset(entry.dotted())
