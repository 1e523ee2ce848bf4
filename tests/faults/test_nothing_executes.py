"""No code of the package can be made to execute the content of a file by pickle, YAML objects or a shell."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import rgwot
from rgwot.datasets import arrays
from rgwot.runtime.errors import RgwotError

FORBIDDEN = {
    "pickle.load", "pickle.loads", "pickle.Unpickler", "marshal.load", "marshal.loads", "shelve.open", "joblib.load",
    "pandas.read_pickle", "pd.read_pickle", "dill.load",
    "yaml.load", "yaml.load_all", "yaml.unsafe_load", "yaml.full_load",
    "os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput", "eval", "exec", "tempfile.mktemp",
    "tarfile.open", "shutil.unpack_archive",
}  # fmt: skip
# Calls that are safe only with these arguments.
REQUIRED = {
    "torch.load": ("weights_only", True),
    "np.load": ("allow_pickle", False),
    "numpy.load": ("allow_pickle", False),
}
NEVER = {("shell", True), ("allow_pickle", True), ("weights_only", False)}
METHODS_THAT_UNPACK = {"extractall"}


def faults(source: str) -> Iterator[str]:
    """Yield the unsafe calls of a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module in ("pickle", "marshal", "shelve", "dill"):
            yield f"line {node.lineno}: from {node.module} import"
        if isinstance(node, ast.ImportFrom) and {f"{node.module}.{name.name}" for name in node.names} & (
            FORBIDDEN | set(REQUIRED)
        ):
            yield f"line {node.lineno}: from {node.module} import, which hides the call"
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        given = {word.arg: getattr(word.value, "value", "?") for word in node.keywords}
        if name in FORBIDDEN or (isinstance(node.func, ast.Attribute) and node.func.attr in METHODS_THAT_UNPACK):
            yield f"line {node.lineno}: {name}"
        if name in REQUIRED and (REQUIRED[name][0], given.get(REQUIRED[name][0])) != REQUIRED[name]:
            yield f"line {node.lineno}: {name} without {REQUIRED[name][0]}={REQUIRED[name][1]}"
        yield from (f"line {node.lineno}: {key}={value}" for key, value in given.items() if (key, value) in NEVER)


MODULES = sorted(Path(rgwot.__file__).parent.rglob("*.py"))


def test_no_module_has_unsafe_calls() -> None:
    assert len(MODULES) > 100
    found = {path.name: list(faults(path.read_text(encoding="utf-8"))) for path in MODULES}
    assert {name: calls for name, calls in found.items() if calls} == {}


@pytest.mark.parametrize(
    "line",
    [
        "pickle.load(file)", "torch.load(path)", "torch.load(path, weights_only=False)", "yaml.load(text)",
        "np.load(path)", "np.load(path, allow_pickle=True)", "subprocess.run(line, shell=True)", "os.system(line)",
        "from pickle import loads", "from torch import load", "eval(text)", "archive.extractall(folder)",
    ],
)  # fmt: skip
def test_the_check_finds_unsafe_calls(line: str) -> None:
    assert len(list(faults(line))) >= 1


def test_an_archive_that_unpacks_to_far_more_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "UNCHECKED", 2**20)
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, maps=np.zeros((2, 2**18), np.float32))
    with pytest.raises(RgwotError, match=r"bomb.npz: \d+ bytes that unpack to 2097280"):
        arrays.open_array(path, None).__enter__()
    monkeypatch.setattr(arrays, "UNCHECKED", 2**22)
    with arrays.open_array(path, None) as array:
        assert array.shape == (2, 2**18)
