"""The site, built once for the tests that look at it."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
#: What the site is made with: the extra `docs`.
NEEDED = ("sphinx", "myst_parser", "furo")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lacking = [name for name in NEEDED if find_spec(name) is None]
    if lacking:
        pytest.skip(f"no {', '.join(lacking)}; `make docs` installs what the site is made with")
    folder = tmp_path_factory.mktemp("site") / "docs"
    command = [sys.executable, "docs/site/build.py", "--output", str(folder)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    # Sphinx takes every warning for an error.
    assert done.returncode == 0, done.stderr
    return folder
