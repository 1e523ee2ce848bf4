"""The procedure as a graph: for Graphviz, as a flowchart in Mermaid, as GraphML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from networkx import DiGraph, write_graphml_xml

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


def export_graphml(graph: DiGraph[Any], folder: Path) -> None:
    """Write ``procedure.graphml`` with the attributes of nodes and edges that ``procedure.json`` has."""
    write_graphml_xml(graph, folder / "procedure.graphml")
