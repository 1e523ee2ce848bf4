"""``python -m rgwot.cli``: the command line without the installed script."""

from rgwot.cli import main

main()
