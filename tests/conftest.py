"""Beside this file lie helper modules; it makes pytest put their folder on the module path."""

from hypothesis import settings

# How long an example takes says more about what else the machine does than about the code; every run draws the same.
settings.register_profile("rgwot", deadline=None, derandomize=True)
settings.load_profile("rgwot")
