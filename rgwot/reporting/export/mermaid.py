"""The procedure as a flowchart in Mermaid, which GitHub, GitLab and many editors draw."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rgwot.runtime.files import write_text

if TYPE_CHECKING:
    from networkx import DiGraph


def export_mermaid(graph: DiGraph[Any], folder: Path) -> None:
    """Write ``procedure.mmd``: optional key steps are dashed, edges have the number of videos that agree."""
    lines = ["flowchart LR", "  classDef optional stroke-dasharray: 5 5"]
    for node, facts in graph.nodes(data=True):
        if isinstance(node, str):
            lines.append(f"  {_id(node)}([{node}])")
            continue
        said = f"{_escaped(facts['label'])}<br/>{facts['n_videos']} of {graph.graph['n_videos']} videos"
        lines.append(f'  {_id(node)}["{said}"]' + (":::optional" if facts["optional"] else ""))
    for before, after, facts in graph.edges(data=True):
        counted = not {"START", "END"} & {before, after}
        arrow = f'-->|"{facts["agree"]}/{facts["both"]}"|' if counted else "-->"
        lines.append(f"  {_id(before)} {arrow} {_id(after)}")
    write_text("\n".join([*lines, ""]), folder / "procedure.mmd")


def _id(node: int | str) -> str:
    # "end" in lower case is a word of the language, and a number alone is no name of its.
    return node if isinstance(node, str) else f"step{node}"


def _escaped(text: str) -> str:
    """Return a text with all that HTML, Markdown and Mermaid would read in it as character codes."""
    return "".join(letter if letter.isalnum() or letter in " .,-" else f"#{ord(letter)};" for letter in text)
