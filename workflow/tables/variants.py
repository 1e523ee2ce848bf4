"""Ablations and sensitivities for other readings of the paper.

Their names end with ``_literal`` (C-IDM as printed) or ``_parity`` (the public code), such as
results/tables/ablation_components_parity.csv.
"""

from collections.abc import Callable
from dataclasses import replace

from rgwot.reporting.tables.table import Row, Table

from . import paper

READINGS = {"literal": "rgwot-literal", "parity": "rgwot-parity"}
ABLATIONS = [
    paper.ablation_components,
    paper.ablation_clustering,
    paper.ablation_k,
    paper.sensitivity_alpha,
    paper.sensitivity_radius,
    paper.sensitivity_rho,
    paper.sensitivity_lambda,
    paper.sensitivity_beta,
]


def read_as(table: Callable[[], Table], reading: str) -> Callable[[], Table]:
    """Return a function that makes a table of RGWOT with another reading of the paper."""

    def of(row: Row) -> Row:
        name, at, keys = row.method.partition("@")
        return replace(row, method=f"{reading}{at}{keys}") if name == "rgwot" else row

    def make() -> Table:
        own = table()
        return replace(own, rows=[of(row) for row in own.rows], paper=False)

    make.__doc__ = f"{(table.__doc__ or '').splitlines()[0].removesuffix('.')}, for `{reading}`."
    return make


TABLES = {
    f"{table.__name__}_{word}": read_as(table, reading) for word, reading in READINGS.items() for table in ABLATIONS
}
