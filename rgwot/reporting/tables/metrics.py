"""The metrics that tables, figures and pages can show: one line each, columns of a file of scores by their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rgwot.evaluation.protocols import GRAPH, SEGMENTATION


@dataclass(frozen=True)
class Shown:
    """How a metric is shown, in percent: its label, and whether lower is better.

    ``protocol`` is the one that alone has it; None: all but those with metrics of their own. ``reported`` is what
    papers call it, whose numbers stand beside ours.
    """

    label: str
    protocol: str | None = None
    lower_is_better: bool = False
    reported: str | None = None

    @property
    def head(self) -> str:
        """The label with an arrow where lower is better."""
        return f"{self.label} ↓" if self.lower_is_better else self.label


METRICS: Mapping[str, Shown] = {
    "f1": Shown("F1", reported="F1"),
    "iou": Shown("IoU", reported="IoU"),
    "precision": Shown("Precision", reported="Precision"),
    "recall": Shown("Recall", reported="Recall"),
    "order_distance": Shown("Order", lower_is_better=True),
    "mof": Shown("MoF", SEGMENTATION),
    "miou": Shown("mIoU", SEGMENTATION),
    "precision_sampled": Shown("Precision of segments", SEGMENTATION),
    "recall_sampled": Shown("Recall of segments", SEGMENTATION),
    "f1_sampled": Shown("F1 of segments", SEGMENTATION),
    "f1_10": Shown("F1@10", SEGMENTATION),
    "f1_25": Shown("F1@25", SEGMENTATION),
    "f1_50": Shown("F1@50", SEGMENTATION),
    "edit": Shown("Edit", SEGMENTATION),
    "edge_precision": Shown("Precision of edges", GRAPH),
    "edge_recall": Shown("Recall of edges", GRAPH),
    "edge_f1": Shown("F1 of edges", GRAPH),
    "consensus_distance": Shown("One order", GRAPH, lower_is_better=True),
    "order_f1": Shown("F1 of order errors", GRAPH),
    "missing_f1": Shown("F1 of steps left out", GRAPH),
}
#: Protocols with metrics of their own.
OWN = frozenset(metric.protocol for metric in METRICS.values() if metric.protocol)


def metrics_of(protocol: str) -> tuple[str, ...]:
    """Return the metrics that a protocol has."""
    own = protocol if protocol in OWN else None
    return tuple(name for name, metric in METRICS.items() if metric.protocol == own)
