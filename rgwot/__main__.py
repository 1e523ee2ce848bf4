"""``python -m rgwot``: the command line."""

from rgwot.cli import main

if __name__ == "__main__":
    main()
