"""Run the notebooks of the documentation and store their outputs (`make docs`).

python docs/notebooks.py [NAME ...]
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nbclient
import nbformat

FOLDER = Path(__file__).parent / "notebooks"


def main() -> None:
    """Run the named notebooks, or all of them."""
    # Progress bars would be stored with the outputs.
    os.environ["TQDM_DISABLE"] = "1"
    for path in [FOLDER / f"{name}.ipynb" for name in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", record_timing=False).execute()
        # Remove metadata that differ between machines and runs.
        notebook.metadata.pop("widgets", None)
        notebook.metadata.language_info = {"name": "python"}
        nbformat.write(notebook, path)


if __name__ == "__main__":
    main()
