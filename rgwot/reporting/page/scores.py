"""Scores of all runs of a task side by side, under every protocol."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from rgwot.evaluation.protocols import BACKGROUNDS, PROTOCOLS
from rgwot.paths import Run, Tree
from rgwot.records import read_scores
from rgwot.reporting.page.runs import kind_of
from rgwot.reporting.tables.make import summarise
from rgwot.timing import RULES

METRICS = ("f1", "iou", "precision", "recall", "order_tau")


def read_task_scores(tree: Tree, runs: Sequence[Run]) -> dict[str, Any] | None:
    """Return the scores of the runs that have any, None where none has.

    Returns
    -------
    dict
        ``protocols``, ``backgrounds``, ``rules``, ``metrics``: the axes; ``rows``: one per method and decoder with
        ``mean`` and ``sd`` over seeds and one per seed with its value, each a dictionary from
        ``protocol background rule metric`` to a share in [0, 1], rounded to 5 digits.
    """
    scored = [run for run in runs if tree.scores(run).exists()]
    if not scored:
        return None
    table = read_scores([tree.scores(run) for run in scored])
    table = table[table["metric"].isin(METRICS)]
    key = table["protocol"] + " " + table["background"] + " " + table["label_rule"] + " " + table["metric"]
    table = table.assign(key=key)
    rows = []
    for method, decoder in dict.fromkeys((run.method, run.decoder) for run in scored):
        seeds = [run for run in scored if (run.method, run.decoder) == (method, decoder)]
        own = table[(table["method"] == method) & (table["decoder"] == decoder)]
        means, spreads = {}, {}
        for name, values in own.groupby("key", sort=False)["value"]:
            mean, spread = summarise(values.tolist())
            means[str(name)], spreads[str(name)] = mean, spread
        rows.append(
            {
                "method": method,
                "decoder": decoder,
                "kind": kind_of(seeds[0]),
                "n": len(seeds),
                "mean": _finite(means),
                "sd": _finite(spreads),
                "seeds": [{"seed": run.seed, "value": _finite(_values(own, run.seed))} for run in seeds],
            }
        )
    axes = {
        "protocols": list(PROTOCOLS),
        "backgrounds": list(BACKGROUNDS),
        "rules": list(RULES),
        "metrics": list(METRICS),
    }
    return {**axes, "rows": rows}


def _values(table: pd.DataFrame, seed: int) -> dict[str, float]:
    own = table[table["seed"].astype(int) == seed]
    return dict(zip(own["key"], own["value"].astype(float), strict=True))


def _finite(values: Mapping[str, float]) -> dict[str, float]:
    return {key: round(value, 5) for key, value in values.items() if math.isfinite(value)}
