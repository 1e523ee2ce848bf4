"""Tables of scores of all methods, including those of `peers`, on the same videos.

Makes missing results, then renews benchmarks/results/methods.csv and methods_segments.csv, and the tables of
benchmarks/report/comparison.md. With ``--datasets``, only tables on these datasets are written, below
results/comparison; the datasets may be in a ``--configfile``, such as workflow/published_features.yaml.

    python benchmarks/comparison.py [--cores 2] [--datasets breakfast --configfile workflow/published_features.yaml]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from pages import CONFIGS, HOUSE, REPORT, RESULTS, make, options_of, renew, study_of

from rgwot.reporting.tables.printed import DEGENERATE_SHARE, MARKDOWN, PRINTED_RULE, Value, pipe
from rgwot.reporting.tables.reported import METRICS
from rgwot.reporting.tables.scores import write_table
from rgwot.reporting.tables.table import Place, Row, Table
from rgwot.runtime.files import write_text
from rgwot.study.study import Study

LABELS = {"bench_made": "Made-up timelines", "bench_human": "Human timelines"}
#: Id, label, method, decoder, and what the implementation follows. Settings in native frames are a tenth for synthetic
#: clips, like the window of our own methods.
ROWS = (
    ("one_label", "Constant baseline", "none", "one_label", "trivial"),
    ("uniform", "K equal segments", "none", "uniform", "trivial"),
    ("random", "Random labels", "none", "random", "trivial"),
    ("raw_kmeans", "Raw features + k-means", "raw", "kmeans", "ours"),
    ("raw_graphcut", "Raw features + graph cut", "raw", "graphcut", "ours"),
    ("whitened_kmeans", "Whitened features + k-means", "whitened", "kmeans", "ours"),
    ("whitened_meanfield", "Whitened features + mean field", "whitened", "meanfield", "ours"),
    ("raw_spectral", "Raw features + spectral clustering", "raw", "spectral", "our reading"),
    ("cte", "CTE", "cte", "viterbi", "released code"),
    ("unitygraph", "UnityGraph", "unitygraph", "kmeans", "our reading"),
    ("gpl", "GPL with background", "gpl", "kmeans", "our reading"),
    ("gpl-nobg", "GPL without background", "gpl-nobg", "kmeans", "our reading"),
    ("tcc", "TCC", "tcc", "graphcut", "released code"),
    ("gtcc", "GTCC", "gtcc", "graphcut", "released code"),
    ("lav", "LAV", "lav@sigma=1", "graphcut", "released code"),
    ("cnc", "CnC", "cnc@sigma=30", "graphcut", "paper's equations"),
    ("cnc-released", "CnC as released", "cnc-released", "graphcut", "released code"),
    ("vava", "VAVA", "vava", "graphcut", "released code"),
    ("opel", "OPEL", "opel", "graphcut", "released code"),
    ("opel-gaussian", "OPEL with a Gaussian prior", "opel@loss.prior=gaussian", "graphcut", "released code"),
    ("remap", "REMAP", "remap", "graphcut", "our reading"),
    ("vaot", "VAOT", "vaot", "graphcut", "our reading"),
    ("rgwot-parity", "RGWOT (public code)", "rgwot-parity@sigma=30", "graphcut", "released code"),
    ("rgwot-active", "RGWOT, active structural prior", "rgwot-active", "graphcut", "ours"),
    ("rgwot", "RGWOT", "rgwot", "graphcut", "our reading"),
    ("rgwot_beta", "RGWOT at the paper's β", "rgwot@beta=1", "graphcut", "our reading"),
    ("rgwot_kmeans", "RGWOT + k-means", "rgwot", "kmeans", "our reading"),
    ("rgwot_subset", "RGWOT + subset selection", "rgwot", "subset", "our reading"),
    ("rgwot_spectral", "RGWOT + spectral clustering", "rgwot", "spectral", "ours"),
    ("rgwot_meanfield", "RGWOT + mean field", "rgwot", "meanfield", "ours"),
    ("rgwot-plus", "RGWOT+", "rgwot-plus", "consensus", "ours"),
    ("raw_twfinch", "TW-FINCH", "raw", "twfinch", "our reading"),
    ("whitened_twfinch", "TW-FINCH on whitened features", "whitened", "twfinch", "our reading"),
    ("raw_asot", "ASOT, stronger reading", "raw", "asot", "our reading"),
    ("whitened_asot", "ASOT, stronger reading, on whitened features", "whitened", "asot", "our reading"),
    ("raw_asot-released", "ASOT as released", "raw", "asot-released", "released code"),
    ("raw_vasot", "VASOT", "raw", "vasot", "our reading"),
    ("whitened_vasot", "VASOT on whitened features", "whitened", "vasot", "our reading"),
    ("raw_vasot-released", "VASOT as released", "raw", "vasot-released", "released code"),
    ("raw_hvq", "HVQ", "raw", "hvq", "our reading"),
    ("whitened_hvq", "HVQ on whitened features", "whitened", "hvq", "our reading"),
    ("whitened_semimarkov", "Whitened features + semi-Markov", "whitened", "semimarkov", "ours"),
    ("rgwot_semimarkov", "RGWOT + semi-Markov", "rgwot", "semimarkov", "ours"),
)
#: Rows of the second table, of methods for segmentation, in their order there.
SEGMENTERS = (
    *(row[0] for row in ROWS[:7]), "cte", *(row[0] for row in ROWS[31:42]), "rgwot", "rgwot_semimarkov", "rgwot-plus",
)  # fmt: skip
PROTOCOLS = ("macro_task", "micro_video", "macro_video", "strict_task")
METRICS_SHOWN = ("f1", "iou", "order_distance")
PAGE = REPORT / "comparison.md"


class Column(NamedTuple):
    """A column of a table: the dataset, the kind of value in the scores, and the head in print."""

    dataset: str
    protocol: str
    background: str
    metric: str
    head: str


def columns_of(dataset: str) -> list[Column]:
    """Return the columns that the page shows of a dataset."""
    return [
        Column(dataset, "macro_task", "without", "f1", "`macro_task` F1"),
        Column(dataset, "strict_task", "without", "f1", "`strict_task` F1"),
        Column(dataset, "macro_task", "without", "order_distance", "order distance ↓"),
        Column(dataset, "macro_task", "with", "f1", "`macro_task` F1, with background"),
        Column(dataset, "micro_video", "with", "f1", "`micro_video` F1, with background"),
    ]


def segments_of(dataset: str) -> list[Column]:
    """Return the columns on segments that the page shows of a dataset."""
    heads = {
        "mof": "MoF", "miou": "mIoU", "f1_sampled": "F1 of sampled frames", "f1_10": "F1@10", "f1_25": "F1@25",
        "f1_50": "F1@50", "edit": "edit",
    }  # fmt: skip
    return [Column(dataset, "segmentation", "without", metric, head) for metric, head in heads.items()]


def printed(table: Table, frame: pd.DataFrame, columns: Sequence[Column]) -> str:
    """Return a Markdown table of all rows in percent; the best value of a column is bold, and a collapse has an X."""
    measured = frame[(frame["kind"] == "measured") & (frame["label_rule"] == PRINTED_RULE)]
    texts: list[list[str]] = []
    for column in columns:
        here = measured[(measured["protocol"] == column.protocol) & (measured["background"] == column.background)]
        own = here.set_index("method").reindex([row.id for row in table.rows])
        mean, spread = (own[f"{column.dataset}_{column.metric}{end}"] for end in ("", "_sd"))
        runs, collapsed = (own[f"{column.dataset}_{what}"].astype(float) for what in ("task_runs", "degenerate"))
        out = (collapsed > 0) & (collapsed >= DEGENERATE_SHARE * runs)
        ranked = mean[~out]
        best = ranked.min() if METRICS[column.metric].lower_is_better else ranked.max()
        texts.append([
            Value(100 * value, 100 * around, int(cross), 1, best=value == best).text(MARKDOWN)
            for value, around, cross in zip(mean, spread, out, strict=True)
        ])  # fmt: skip
    lines = [[row.label, row.source, *cells] for row, cells in zip(table.rows, zip(*texts, strict=True), strict=True)]
    return pipe(["", "follows", *(column.head for column in columns)], lines)


def table_of(name: str, study: Study, datasets: Sequence[str]) -> Table:
    """Return one of the two tables, ``methods`` or ``methods_segments``, of some datasets."""
    rows = {row[0]: row for row in ROWS}
    made = []
    for one in SEGMENTERS if name == "methods_segments" else rows:
        _, label, method, decoder, source = rows[one]
        method = study.experiments.method(method)
        decoder = study.experiments.decoder(decoder, method)
        trivial = source == "trivial"
        made.append(Row(one, label, method, decoder, source, trivial))
    protocols, metrics = PROTOCOLS, METRICS_SHOWN
    if name == "methods_segments":
        protocols, metrics = ("segmentation",), tuple(column.metric for column in segments_of(""))
    return Table(
        id=name,
        title=name,
        datasets=[Place(dataset, LABELS.get(dataset, dataset)) for dataset in datasets],
        metrics=metrics,
        rows=made,
        blocks=[(protocol, background) for background in ("with", "without") for protocol in protocols],
    )


def written(table: Table, study: Study) -> tuple[Path, pd.DataFrame]:
    """Write a table from the scores of its rows."""
    path = HOUSE / "results" / "comparison" / f"{table.id}.csv"
    return path, write_table(table, [HOUSE / file for file in table.scores(study)], path)


def main() -> None:
    """Make both tables, save them, renew the pages, and print the time taken."""
    parser = options_of(__doc__)
    parser.add_argument("--datasets", nargs="+", default=list(LABELS), help="datasets of the configuration")
    parser.add_argument("--configfile", nargs="+", default=[], help="more configuration")
    options = parser.parse_args()
    configs = [*CONFIGS, *options.configfile]
    began = time.perf_counter()
    study = study_of(configs, options.datasets, options.cores)
    tables = [table_of(name, study, options.datasets) for name in ("methods", "methods_segments")]
    targets = dict.fromkeys(file for table in tables for file in table.scores(study))
    if done := make(targets, options.cores, configs):
        sys.exit(done)
    print(f"{(time.perf_counter() - began) / 60:.0f} minutes on {options.cores} cores", file=sys.stderr)
    for table, mark, columns in zip(tables, ("comparison", "segments"), (columns_of, segments_of), strict=True):
        path, frame = written(table, study)
        if options.datasets != list(LABELS):
            print(path.relative_to(HOUSE))
            continue
        write_text(path.read_text(encoding="utf-8"), RESULTS / f"{table.id}.csv")
        parts = [f"**{label}**\n\n{printed(table, frame, columns(dataset))}" for dataset, label in LABELS.items()]
        renew(PAGE, mark, "comparison", "\n\n".join(parts))


if __name__ == "__main__":
    main()
