"""Groups of videos as the page shows them: the rows of `rgwot compare-groups`, for results that have them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rgwot.paths import GROUPS, Run, Tree, at
from rgwot.procedure.groups import LEVEL, MEASURES, OF_GROUP, few_videos
from rgwot.reporting.groups import about, impossible, read_group_table, sizes


def shown_groups(tree: Tree, runs: Sequence[Run], column: str | None, corrections: int) -> dict[str, Any] | None:
    """Return what the page shows of the groups in a column; None where no run has any.

    ``corrections`` is how many the results have.

    ``runs`` has, by place, what was tested (``about``), a warning (``few``), the groups, and the ``rows``: key step,
    measure, successor, groups of the pair, p, adjusted p, star, and of every group n, mean and interval.
    """
    found = {}
    for place, run in enumerate(runs):
        path = at(GROUPS, tree.results, column=column, dataset=tree.dataset, task=tree.task, **asdict(run))
        if column is None or not path.exists():
            continue
        table = read_group_table(path)
        groups = sizes(table)
        rows = [
            [
                row["key_step"], row["measure"], _finite(row["successor"]), row["group_a"], row["group_b"],
                _finite(row["p"]), _finite(row["p_adjusted"]), row["star"] == "*",
                [[_finite(row[f"{what}_{group}"]) for what in OF_GROUP] for group in groups],
            ]
            for row in table.to_dict("records")
        ]  # fmt: skip
        few = few_videos(groups)
        edits = f"with {corrections} correction{'s' * (corrections > 1)}" if corrections else ""
        interval = f"in brackets {100 * LEVEL:.0f} % bootstrap intervals of the mean"
        said = "; ".join(filter(None, [about(table), edits, interval]))
        said = ". ".join(filter(None, [said, impossible(table)]))
        found[str(place)] = {"about": said, "few": few, "groups": list(groups), "rows": rows}
    return {"column": column, "measures": MEASURES, "runs": found} if found else None


def _finite(value: float) -> float | None:
    return round(value, 5) if math.isfinite(value) else None
