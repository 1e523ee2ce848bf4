"""``rgwot`` and ``python -m rgwot``: the command line, in a process that has imported it already where there is one."""

from __future__ import annotations

import sys

from rgwot.runtime.lazy import load
from rgwot.runtime.warm import hand_over

COMMANDS = "rgwot.cli:main"


def main() -> None:
    """Run the command line, here or in a fork (`rgwot.runtime.warm`)."""
    # `rgwot run` becomes Snakemake, for which a fork could not answer.
    code = None if sys.argv[1:2] == ["run"] else hand_over(sys.argv, COMMANDS)
    if code is not None:
        sys.exit(code)
    load(COMMANDS)()


if __name__ == "__main__":
    main()
