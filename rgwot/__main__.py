"""``python -m rgwot``: the command line."""

import sys

from rgwot.runtime.errors import RgwotError


def main() -> None:
    """Run the command line; a mistake in the file of extensions, which is read on import, is reported in one line."""
    try:
        from rgwot.cli import main
    except RgwotError as error:
        sys.exit(f"rgwot: {error}")
    main()


if __name__ == "__main__":
    main()
