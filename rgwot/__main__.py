"""``python -m rgwot``: the command line."""

import atexit
import gc
import sys

from rgwot.runtime.errors import RgwotError


def main() -> None:
    """Run the command line; a mistake in the file of extensions, which is read on import, ends in one line."""
    try:
        from rgwot.cli import main
    except RgwotError as error:
        sys.exit(f"rgwot: {error}")
    atexit.register(_leave)
    main()


def _leave() -> None:
    """Spare the search for cycles in what was imported, a fifth of a short job; Triton would print what is left."""
    if "triton" not in sys.modules:
        gc.freeze()


if __name__ == "__main__":
    main()
