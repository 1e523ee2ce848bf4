"""Write synthetic clips in the tree of a released dataset: `write_tree.py ROOT layout=crosstask n_videos=3 ...`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import yaml
from synthetic_trees import TreeSettings, write_tree

if __name__ == "__main__":
    root, *given = sys.argv[1:]
    settings = {key: yaml.safe_load(value) for key, _, value in (text.partition("=") for text in given)}
    write_tree(TreeSettings.model_validate(settings), Path(root), jobs=os.cpu_count() or 1)
