"""Beside this file lie helper modules; it makes pytest put their folder on the module path."""

import os

from hypothesis import settings

# How long an example takes says more about what else the machine does than about the code; every run draws the same.
settings.register_profile("rgwot", deadline=None, derandomize=True)
settings.load_profile("rgwot")

# Every job of a workflow is a process, and would compile the project again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
