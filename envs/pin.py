"""Set the pins of envs/*.yaml to the versions of envs/lock.txt (`make lock`); what they name is left alone."""

from __future__ import annotations

import re
from pathlib import Path

from packaging.requirements import Requirement

ENVS = Path(__file__).resolve().parent
PYTHON = "3.11"
"""The Python of these environments."""


def locked(python: str = PYTHON, system: str = "linux", machine: str = "x86_64") -> dict[str, str]:
    """Return the version of every package that the lock has for a Python and a platform."""
    where = {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": system}
    where |= {
        "platform_machine": machine,
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }
    found = {}
    for line in (ENVS / "lock.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate(where):
                (pin,) = requirement.specifier
                found[requirement.name] = pin.version
    return found


def pinned(text: str) -> str:
    """Return the text of an environment with the versions of the lock."""
    versions = locked()
    return re.sub(
        r"^( +- )([\w-]+) ==\S+$", lambda pin: f"{pin[1]}{pin[2]} =={versions[pin[2].lower()]}", text, flags=re.M
    )


if __name__ == "__main__":
    for path in ENVS.glob("*.yaml"):
        path.write_text(pinned(path.read_text(encoding="utf-8")), encoding="utf-8")
