"""A notebook as a page: its cells as they stand, with the outputs that are stored in it."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def notebook_page(content: dict[str, Any], folder: Path) -> str:
    """Return the Markdown of a notebook (nbformat 4); its pictures are written into a folder."""
    language = content["metadata"].get("language_info", {}).get("name", "python")
    parts: list[str] = []
    for number, cell in enumerate(content["cells"]):
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
        elif cell["cell_type"] == "code" and text:
            parts.append(f"````{language}\n{text}\n````")
            parts += _outputs(cell["outputs"], f"notebook{number}", folder)
    return "\n\n".join(parts) + "\n"


def _outputs(outputs: list[dict[str, Any]], name: str, folder: Path) -> Iterator[str]:
    for number, output in enumerate(outputs):
        data = output.get("data", {})
        if "image/png" in data:
            picture = f"{name}_{number}.png"
            (folder / "docs" / "images" / picture).write_bytes(base64.b64decode(data["image/png"]))
            yield f"![Drawn by the cell above](images/{picture})"
        elif text := "".join(data.get("text/plain", output.get("text", ""))):
            yield f"````text\n{text.rstrip()}\n````"
