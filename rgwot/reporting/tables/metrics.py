"""What metrics are called in tables, and which protocol has which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rgwot.evaluation.protocols import GRAPH, SEGMENTATION


@dataclass(frozen=True)
class MetricLabel:
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


METRICS: Mapping[str, MetricLabel] = {
    "f1": MetricLabel("F1", reported="F1"),
    "iou": MetricLabel("IoU", reported="IoU"),
    "precision": MetricLabel("Precision", reported="Precision"),
    "recall": MetricLabel("Recall", reported="Recall"),
    "order_distance": MetricLabel("Order", lower_is_better=True),
    "mof": MetricLabel("MoF", SEGMENTATION),
    "miou": MetricLabel("mIoU", SEGMENTATION),
    "precision_sampled": MetricLabel("Precision of segments", SEGMENTATION),
    "recall_sampled": MetricLabel("Recall of segments", SEGMENTATION),
    "f1_sampled": MetricLabel("F1 of segments", SEGMENTATION),
    "f1_10": MetricLabel("F1@10", SEGMENTATION),
    "f1_25": MetricLabel("F1@25", SEGMENTATION),
    "f1_50": MetricLabel("F1@50", SEGMENTATION),
    "edit": MetricLabel("Edit", SEGMENTATION),
    "edge_precision": MetricLabel("Precision of edges", GRAPH),
    "edge_recall": MetricLabel("Recall of edges", GRAPH),
    "edge_f1": MetricLabel("F1 of edges", GRAPH),
    "consensus_distance": MetricLabel("One order", GRAPH, lower_is_better=True),
    "order_f1": MetricLabel("F1 of order errors", GRAPH),
    "missing_f1": MetricLabel("F1 of steps left out", GRAPH),
}
#: Protocols with metrics of their own.
OWN = frozenset(metric.protocol for metric in METRICS.values() if metric.protocol)


def metrics_of(protocol: str) -> tuple[str, ...]:
    """Return the metrics that a protocol has."""
    own = protocol if protocol in OWN else None
    return tuple(name for name, metric in METRICS.items() if metric.protocol == own)
