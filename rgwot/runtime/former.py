"""Names used by earlier versions, whose files are still read."""

from __future__ import annotations

import re

#: Metrics of scores, tables and their definitions, by their former names.
FORMER_METRICS = {"order_tau": "order_distance"}
_FORMER = {name: former for former, name in FORMER_METRICS.items()}


def present_metric(name: str) -> str:
    """Return the present name of a metric."""
    return FORMER_METRICS.get(name, name)


def former_metric(name: str) -> str:
    """Return the name that earlier versions gave a metric."""
    return _FORMER.get(name, name)


def present_column(column: str) -> str:
    """Return the column of a table of comparison by the present name of its metric.

    >>> present_column("meccano_order_tau_sd")
    'meccano_order_distance_sd'
    """
    for former, name in FORMER_METRICS.items():
        column = re.sub(rf"(?<=_){former}(?=(_sd|_degenerate)?$)", name, column)
    return column
