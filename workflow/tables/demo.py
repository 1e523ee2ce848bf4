"""The tables of the demo, on synthetic clips; `make demo` makes the first one."""

from dataclasses import replace

from rgwot.reporting.tables.table import LEADING, Row, Table

from .datasets import DEMO
from .rows import TRIVIAL, UNTRAINED

RGWOT = Row("rgwot", "RGWOT", "rgwot")
# VAOT is in a separate table, demo_contrast, because three more trainings would double the time of the demo.
ROWS = [*TRIVIAL, *UNTRAINED, RGWOT, Row("rgwot-plus", "RGWOT+", "rgwot-plus", "consensus")]
WORTH = (
    "Recordings of people score far lower on average: RGWOT+ stays ahead of K equal segments there, RGWOT falls below "
    "them."
)


def demo() -> Table:
    """Synthetic clips."""
    return Table(
        paper=False,
        datasets=[DEMO],
        metrics=["f1", "iou", "order_distance"],
        rows=ROWS,
        blocks=[*LEADING, ("macro_task", "without"), ("strict_task", "without")],
        notes=[
            "EfficientNet-Lite0 with ImageNet weights in place of the paper's ResNet-50, and clips about 14 times "
            "faster than life with settings shrunk to fit: these are not the paper's numbers.",
            WORTH,
        ],
    )


def demo_graphs() -> Table:
    """Procedures of synthetic clips."""
    return Table(
        paper=False,
        datasets=[DEMO],
        metrics=["edge_f1", "consensus_distance", "order_f1", "missing_f1"],
        rows=[
            Row("annotated", "Annotated key steps", "none", "annotated"),
            *ROWS,
            Row("rgwot-plus-chain", "RGWOT+, one order", "rgwot-plus", "consensus@procedure.learner=chain"),
        ],
        blocks=[("graph", "with")],
        notes=[
            "Task graphs against the one that the same learner learns from the annotations, which differ as people do: "
            "F1 of edges, START and END included; one order for all, as a Kendall distance to the order of every video "
            "(lower is better, 50 means no information); F1 of steps out of order and of steps left out.",
            WORTH,
        ],
    )


def demo_contrast() -> Table:
    """Synthetic clips, with and without the contrastive term."""
    return replace(demo(), rows=[Row("vaot", "VAOT", "vaot"), RGWOT])


TABLES = {
    "demo": demo,
    "demo_graphs": demo_graphs,
    "demo_contrast": demo_contrast,
}
