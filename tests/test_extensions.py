"""Custom losses, decoders and settings, added by the setting ``extensions`` or by `rgwot.extend`."""

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

from rgwot.blocks import load
from rgwot.config import extensions
from rgwot.config.configuration import load_config
from rgwot.config.experiments import Experiments
from rgwot.config.methods import DECODERS, FAMILIES
from rgwot.losses.settings import LOSSES
from rgwot.runtime.errors import RgwotError

REPOSITORY = Path(__file__).resolve().parents[1]

MINE = """
import numpy as np
from pydantic import Field

from rgwot import Extension
from rgwot.baselines.settings import Tcc
from rgwot.blocks import Count, Positive
from rgwot.config.methods import Family
from rgwot.embedding.interface import Embedded
from rgwot.embedding.settings import Embedding
from rgwot.keysteps.interface import Decoded
from rgwot.keysteps.settings import Clustering
from rgwot.losses.settings import Loss


class Position(Tcc):
    "Distance, same place."

    NAME = "position"
    FUNCTION = "mine:align_position"


class Timed(Loss):
    "The same, scaled."

    NAME = "timed"
    BLOCK = "clock"
    FUNCTION = "mine:align_clock"

    unit_s: Positive = Field(16.0, description="seconds")


class Clock(Embedding):
    "Nothing but time."

    NAME = "clock"
    FUNCTION = "mine:fit_clock"

    unit_s: Positive = Field(16.0, description="seconds")


class Pieces(Clustering):
    "Equal pieces."

    NAME = "pieces"
    FUNCTION = "mine:decode_pieces"

    restarts: Count = Field(4, description="starts")


def align_position(batch, settings):
    return settings.lambda_v * ((batch.x - batch.y) ** 2).sum(2).mean(1)


def align_clock(batch, settings):
    return settings.unit_s * ((batch.x - batch.y) ** 2).sum(2).mean(1)


def fit_clock(videos, seed, settings):
    return lambda video: Embedded((video.time_s[:, None] / settings.unit_s).astype(np.float32))


def decode_pieces(frames, K, generator, settings):
    return Decoded(np.concatenate([np.arange(length) * K // length for length in frames.lengths]))


EXTENSION = Extension(
    losses=[Position, Timed],
    embeddings=[Clock],
    decoders=[Pieces],
    methods=(Family("slow", "a slow clock", {"clock.unit_s": 32.0}, Clock),),
)
"""
PLANNED = """
import sys
from rgwot.config.configuration import load_config
from rgwot.config.experiments import Experiments
from rgwot.config.experiments import Experiments
experiments = Experiments(load_config({"extensions": ["mine.py"], "clock": {"unit_s": 8}}))
print(experiments.method("rgwot@loss.lambda_v=0.5,loss.alignment=position"))
print(experiments.method("slow@clock.unit_s=3"))
print(experiments.decoder("pieces@restarts=9,K=3", "rgwot"))
print(experiments.method("rgwot@clock.unit_s=3,loss.alignment=timed"))
print([experiments.embedding(method, "").unit_s for method in ("clock", "slow", "slow@unit_s=3")])
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
    """Return a function that runs code in the folder and returns the lines that it prints."""
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
    assert embedding == "slow@unit_s=3"
    assert decoder == "pieces@K=3,restarts=9"
    assert own_block == "rgwot@clock.unit_s=3,loss.alignment=timed"
    assert values == "[8.0, 32.0, 3.0]"
    for error, part in zip(
        errors,
        (
            "unknown key 'loss.phi_rate'",
            "unknown key 'meanfield.alpha'",
            "unknown key 'clock.unit_s'",
            "unknown key 'clock.unit'; known: ",
            "unknown key 'clock.unit'; did you mean 'unit_s'?",
        ),
        strict=True,
    ):
        assert part in error
    # Planning with an extension imports nothing but what the extension itself imports.
    assert imported == "[]"


def test_an_extension_changes_no_settings_of_other_methods(printed: Callable[[str], list[str]]) -> None:
    code = """
from pathlib import Path
from rgwot.study.study import Study, Task
from rgwot.study.jobs import settings_behind
for given in ({}, {"extensions": ["mine.py"]}):
    study = Study.of({**given, "datasets": {"x": {"layout": "folder", "root": "r"}}})
    print([settings_behind(Task(study, "x", "y"), "rgwot"), study.experiments.method("rgwot@beta=0"),
           settings_behind(Task(study, "x", "y"), "raw", "kmeans"), study.experiments.method("opel")])
print(settings_behind(Task(study, "x", "y"), "rgwot@loss.alignment=timed")["clock"])
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
from rgwot.config.methods import DECODERS, FAMILIES
from rgwot.config.settings import owners
from rgwot.losses.settings import LOSSES
from mine import EXTENSION, Clustering
class Wrong(Clustering):
    NAME = "pieces"
    BLOCK = "subset"
    restart: int = 1
try:
    rgwot.extend(replace(EXTENSION, decoders=[Wrong]))
except rgwot.RgwotError as error:
    print(error)
print([name for name in ("pieces", "slow", "timed", "clock") for known in (DECODERS, FAMILIES, LOSSES, owners())
       if name in known])
Path("sub").mkdir()
load_extensions(["sub/../mine.py"])
print("pieces" in DECODERS)
"""
    refused, known, dots = printed(code)
    assert "unknown key 'subset.restart', and the block subset is the library's; did you mean 'restarts'?" in refused
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
for ask in ("pieces", "pieces@jitter=1"):
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
for decoder in ("angular", "angular@restarts=9"):
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
        ('NAME = "position"', 'NAME = "tcc"', "mine.py: losses: tcc: the name is used by the library already"),
        ('NAME = "position"', 'NAME = "My Loss"', "losses: My Loss: expected a name of a-z"),
        ('NAME = "clock"', 'NAME = "cnc"', "methods: cnc: the name is used by the library already"),
        ('Family("slow"', 'Family("vaot"', "methods: vaot: the name is used by the library already"),
        ('NAME = "pieces"', 'NAME = "uniform"', "decoders: uniform: the name is used by the library already"),
        ('BLOCK = "clock"', 'BLOCK = "ot"', "timed: unknown key 'ot.unit_s', and the block ot is"),
        ("decoders=[Pieces]", "decoders=['pieces']", "found 'pieces', expected a class that extends"),
        ("losses=[Position, Timed]", "losses=[Pieces]", "expected a class that extends rgwot.losses.settings.Loss"),
        ('Field(4, description="starts")', 'Field(description="starts")', "pieces: restarts: found no default"),
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
        ('"mine:decode_pieces"', '"mne:decode_pieces"', "'mne:decode_pieces': No module named 'mne'; expected"),
        ('"mine:decode_pieces"', '"mine:pieces"', "'mine:pieces': module 'mine' has no attribute 'pieces'; expected"),
    ],
)
def test_what_an_extension_makes_is_checked(
    folder: Path, printed: Callable[[str], list[str]], right: str, wrong: str, message: str
) -> None:
    (folder / "mine.py").write_text(MINE.replace(right, wrong), encoding="utf-8")
    with pytest.raises(RgwotError, match=f"^{message}"):
        printed(FOUND.split("made =")[0] + FOUND.splitlines()[-1])


@pytest.mark.usefixtures("printed")
def test_a_decoder_that_cannot_label_other_videos_is_refused_before_a_run(folder: Path) -> None:
    (folder / "mine.py").write_text(MINE, encoding="utf-8")
    experiments = Experiments(load_config({"extensions": ["mine.py"]}))
    assert experiments.decoder("pieces", "raw") == "pieces"
    with pytest.raises(RgwotError, match="decoder 'pieces': cannot label held-out videos; expected data.split=all"):
        experiments.decoder("pieces", "raw@data.split=holdout")


def test_functions_take_the_models_that_name_them() -> None:
    embeddings = [family.embedding for family in FAMILIES.values()]
    for model in (*LOSSES.values(), *embeddings, *DECODERS.values()):
        assert model.about()
        for function in (load(place) for place in (model.FUNCTION, model.RESTORE) if place):
            # A parameter of the function has the model, or a base of it, as its type.
            kinds = [kind for kind in get_type_hints(function).values() if isinstance(kind, type)]
            assert any(issubclass(model, kind) for kind in kinds), function
        assert callable(load(getattr(model, "LEARNED", "") or print))
