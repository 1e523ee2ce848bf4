"""The procedure as GraphML."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from networkx import DiGraph


def export_graphml(graph: DiGraph[Any], folder: Path) -> None:
    """Write ``procedure.graphml`` with the attributes of nodes and edges that ``procedure.json`` has."""
    from networkx import write_graphml_xml

    write_graphml_xml(graph, folder / "procedure.graphml")
