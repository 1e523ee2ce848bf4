"""Without its extras, rgwot handles features, labels, comparisons, exports to text and bundles."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from rgwot.runtime.errors import EXTRAS, RgwotError, extras

PYPROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
#: Names on PyPI of packages that are imported under another name.
ON_PYPI = {"ot": "POT", "PIL": "pillow"}

#: A script that blocks the packages of all extras, uses the light parts, and prints the errors of the other parts.
SCRIPT = f"""
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {set(EXTRAS) | {"snakemake"}!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())

import numpy as np
import pandas as pd
import rgwot

rng = np.random.default_rng(0)
steps = np.repeat([0, 1, 2, 3], [20, 30, 25, 25])
centres = rng.normal(size=(4, 16))
videos = {{f"v{{n}}": centres[steps] + rng.normal(0, 0.3, (100, 16)) for n in range(5)}}
found = rgwot.discover(videos, K=4, fps=1)
table = pd.DataFrame({{"start_s": [0, 20, 50, 75], "end_s": [20, 50, 75, 100], "label": list("abcd")}})
taught = rgwot.discover(videos, labels={{"v0": table}}, fps=1)
assert all(np.mean(taught.labels[name] == steps + 1) > 0.95 for name in videos)
assert found.compare(taught).agreement.kappa > 0.9
assert len(found.compare_groups({{"v0": "a", "v1": "a", "v2": "b", "v3": "b", "v4": "b"}}))
folder = found.save("results")
for name in ("csv", "elan", "boris"):
    found.export(name, name)
found.bundle("results/tea.rgwot")
again = rgwot.load("results")
assert again.segments.equals(found.segments)
assert np.array_equal(again.predict({{"v0": videos["v0"]}})["v0"], found.labels["v0"])
assert set(rgwot.how_many(found).labels(4)["v0"]) == {{1, 2, 3, 4}}
assert found._repr_html_() and found.probabilities and found.stability(2).mean > 0.9
assert np.array_equal(found.predict({{"v0": videos["v0"]}})["v0"], found.labels["v0"])
for heavy in (
    lambda: rgwot.discover(videos, method="rgwot", K=4, fps=1),
    lambda: found.plot(),
    lambda: found.page("tea.html"),
    lambda: found.export("clips", "clips"),
):
    try:
        heavy()
    except rgwot.RgwotError as error:
        print(error)

from rgwot.__main__ import main

for arguments in (["show", str(folder)], ["compare", str(folder), str(folder)]):
    sys.argv = ["rgwot", *arguments]
    try:
        main()
    except SystemExit as end:
        assert not end.code, arguments
"""


def test_the_light_parts_need_no_extra_and_the_others_name_theirs(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    needs = re.findall(r"^(.*): needs (\w+), which is not installed; pip install 'rgwot\[(\w+)\]'$", done.stdout, re.M)
    assert needs == [
        ("method rgwot", "torch", "train"),
        ("plot", "matplotlib", "page"),
        ("page", "jinja2", "page"),
        ("format clips", "PIL", "video"),
    ]


@pytest.mark.parametrize(("package", "extra"), EXTRAS.items())
def test_the_extra_that_is_named_brings_the_package(package: str, extra: str) -> None:
    required = {re.match(r"[\w-]+", line)[0] for line in PYPROJECT["optional-dependencies"][extra]}
    assert ON_PYPI.get(package, package) in required


def test_other_missing_packages_keep_their_traceback() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_package"), extras("this"):
        import no_such_package  # noqa: F401
    with pytest.raises(RgwotError, match=r"^this: needs av, .*'rgwot\[video\]'$"), extras("this"):
        raise ModuleNotFoundError("No module named 'av'", name="av.container")
