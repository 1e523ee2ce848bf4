"""The procedure as a graph for Graphviz."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from networkx import DiGraph

from rgwot.runtime.files import write_text


def export_dot(graph: DiGraph[Any], folder: Path) -> None:
    """Write ``procedure.dot``: optional key steps are dashed, edges have the number of videos that agree."""
    lines = ["digraph procedure {", "  rankdir=LR;", "  node [shape=box, style=rounded];"]
    for node, facts in graph.nodes(data=True):
        if isinstance(node, str):
            lines.append(f"  {node} [shape=plaintext];")
            continue
        label = f"{facts['label']}\n{facts['n_videos']} of {graph.graph['n_videos']} videos"
        style = ', style="rounded,dashed"' if facts["optional"] else ""
        lines.append(f"  {node} [label={quoted(label)}{style}];")
    for before, after, facts in graph.edges(data=True):
        counted = not {"START", "END"} & {before, after}
        lines.append(f"  {before} -> {after}" + (f' [label="{facts["agree"]}/{facts["both"]}"];' if counted else ";"))
    write_text("\n".join([*lines, "}", ""]), folder / "procedure.dot")


def quoted(text: str) -> str:
    r"""Return a text as Graphviz quotes it.

    >>> print(quoted('a "b"\nc'))
    "a \"b\"\nc"
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
