"""Tables of claims: what the scores of some experiments say of each, with an interval and a verdict (methods 6.7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from rgwot.evaluation.bootstrap import FAILS, HOLDS, UNKNOWN, judge
from rgwot.records import read_history, read_scores
from rgwot.reporting.tables.forms import write_flat
from rgwot.reporting.tables.printed import PRINTED_RULE, block_title
from rgwot.reporting.tables.scores import Paths
from rgwot.reporting.tables.spec import Block, Claim, ClaimsTable, Experiment
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import read_csv, write_csv

COLUMNS = (
    "claim", "tasks", "protocol", "background", "metric", "of", "over", "n_tasks", "n_runs", "effect", "low", "high",
    "margin", "verdict",
)  # fmt: skip
ALL = "all"


def make_row(table: ClaimsTable, row_id: str, inputs: Paths, output: Path, facts: Mapping[str, str]) -> None:
    """Write what measurements say of one claim, for every block of the table and every group of tasks.

    ``inputs`` are scores, or for ``metric: seconds`` histories of trainings. Of the facts nothing is read.

    Raises
    ------
    RgwotError
        When a file cannot be read, or an experiment lacks a task or seed that another one has.
    """
    claim: Claim = table.row(row_id)
    seconds = claim.metric == "seconds"
    values = _seconds(inputs) if seconds else read_scores(inputs)
    lines = []
    for block in [None] if seconds else claim.blocks or table.blocks:
        here = values if block is None else _under(values, block, claim.metric)
        for group, places in {ALL: tuple(table.datasets), **table.groups}.items():
            chosen = {table.datasets[name].dataset for name in places}
            part = here[here["dataset"].isin(chosen)]
            if part.empty:
                continue
            by_experiment = {
                name: _of(part, table.experiments[name], f"claim {row_id!r}, experiment {name!r}")
                for name in claim.experiments
            }
            found = judge(by_experiment, claim.pairs, margin=claim.margin, ratio=seconds)
            lines.append({
                "claim": row_id,
                "tasks": group,
                "protocol": block.protocol if block else "",
                "background": block.background if block else "",
                "metric": claim.metric,
                **found._asdict(),
                "n_runs": sum(map(len, by_experiment[found.of])),
                "margin": claim.margin,
            })  # fmt: skip
    if not lines:
        raise RgwotError(f"table {table.id!r}, claim {row_id!r}: found no value, expected those of its experiments")
    write_csv(pd.DataFrame(lines, columns=list(COLUMNS)), output)


def _under(scores: pd.DataFrame, block: Block, metric: str) -> pd.DataFrame:
    cell = (scores["protocol"] == block.protocol) & (scores["background"] == block.background)
    return scores[cell & (scores["label_rule"] == PRINTED_RULE) & (scores["metric"] == metric)]


def _seconds(histories: Paths) -> pd.DataFrame:
    """Return the seconds per iteration of trainings, by run."""
    rows = []
    for path in map(Path, histories):
        *_, method, dataset, task, seed, _ = path.parts
        last = read_history(path).iloc[-1]
        rows.append({
            "method": method,
            "dataset": dataset,
            "task": task,
            "seed": seed.removeprefix("seed"),
            "value": float(last["seconds"]) / float(last["step"]),
        })  # fmt: skip
    return pd.DataFrame(rows)


def _of(values: pd.DataFrame, experiment: Experiment, where: str) -> list[Sequence[float]]:
    """Return the values of an experiment by task, each over its seeds."""
    own = values[values["method"] == experiment.method]
    if "decoder" in own:
        own = own[own["decoder"] == experiment.decoder]
    by_task = {task: part.sort_values("seed")["value"].tolist() for task, part in own.groupby(["dataset", "task"])}
    expected = values[["dataset", "task"]].drop_duplicates()
    if len(by_task) < len(expected) or len(set(map(len, by_task.values()))) > 1:
        raise RgwotError(
            f"{where}: found {len(by_task)} of {len(expected)} tasks, or seeds that differ among "
            "them; expected every seed of every task"
        )
    return list(by_task.values())


def render_table(table: ClaimsTable, csv: Path) -> None:
    """Write the printed forms next to the CSV: of every claim the leading block, and what it is elsewhere."""
    frame = read_csv(csv, COLUMNS, {})
    lines = []
    for claim in table.rows:
        own = frame[frame["claim"] == claim.id]
        if own.empty:
            continue
        whole = own[own["tasks"] == ALL].to_dict("records")
        lead = whole[0]
        unit = " %" if lead["metric"] == "seconds" else ""
        effect, low, high = (f"{100 * float(lead[key]):+.1f}" for key in ("effect", "low", "high"))
        groups = own[(own["protocol"] == lead["protocol"]) & (own["background"] == lead["background"])]
        lines.append([
            claim.label,
            f"{effect}{unit} [{low}, {high}]",
            f"{lead['of']} − {lead['over']}",
            lead["verdict"],
            *(
                next(iter(groups.loc[groups["tasks"] == group, "verdict"]), "–")
                for group in table.groups
            ),
            _elsewhere(whole),
        ])  # fmt: skip
    block = table.blocks[0]
    notes = [
        f"Effect and verdict by {block_title(block)}, exact label rule, in points of F1 (collapse: of the runs; "
        "time: percent), with the interval of the paired bootstrap over tasks and seeds.",
        "Of a claim with several comparisons the one that comes out lowest is shown. Margins, every protocol and the "
        "groups of tasks with their intervals are in the CSV.",
    ]
    heads = ["claim", "effect", "of − over", "verdict", *table.groups, "by the other protocols"]
    write_flat(table, csv, heads, lines, notes)


def _elsewhere(whole: Sequence[Mapping[Any, Any]]) -> str:
    """Say under which of the other protocols a claim holds, does not hold, or cannot be decided."""
    by_verdict: dict[str, list[str]] = {}
    for line in whole[1:]:
        by_verdict.setdefault(line["verdict"], []).append(f"{line['protocol']} {line['background']}")
    if len(by_verdict) == 1:
        return f"{next(iter(by_verdict))} under all"
    return "; ".join(
        f"{verdict}: {', '.join(by_verdict[verdict])}" for verdict in (HOLDS, FAILS, UNKNOWN) if verdict in by_verdict
    )
