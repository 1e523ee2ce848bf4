"""The numbers that papers print, with their protocols, and notes that several tables share."""

from collections.abc import Mapping
from dataclasses import replace

from rgwot.reporting.tables.reported import Reported, ReportedRow, read_reported, same_value
from rgwot.reporting.tables.table import Row
from rgwot.study.shipped import TABLES_FOLDER

FOLDER = TABLES_FOLDER.parent / "reported"
SAME_FOR_ALL = "as printed; background as a class; features and backbone differ"
FROZEN = (
    "Measured rows use features of a frozen backbone, and all videos of a task for training and scoring; the papers "
    "fine-tune theirs."
)
BETA = (
    "β weighs the sum of C-IDM over frames, as in the paper, whose β is 1. Our default is 1/32, so that C-IDM is a "
    "mean, as the alignment loss is."
)

# If the code behind reported numbers is public, its protocol, and the measured row to which the numbers belong; the
# protocol of all other numbers is unknown.
AS_RGWOT = {"protocol": "micro_video", "background": "with", "label_rule": "cnc"}
AS_HIERO = {"protocol": "hiero", "background": "with", "label_rule": "cnc"}
MADE = {
    row.method: row
    for row in (
        ReportedRow("RGWOT", "rgwot", **AS_RGWOT),
        ReportedRow("VAOT", "vaot", **AS_RGWOT),
        ReportedRow("OT + K-means", "kmeans", **AS_RGWOT),
        ReportedRow("OT + SS", "subset", **AS_RGWOT),
        ReportedRow("OPEL", "opel", "macro_video", "with"),
        ReportedRow("CnC", "cnc", "macro_task", "with", "cnc"),
        ReportedRow("Random", "random", "macro_task", "with"),
        ReportedRow("GPL-2D", "gpl"),
        ReportedRow("UG-I3D", "unitygraph"),
        ReportedRow("GPL", "gpl"),
        ReportedRow("GPL-w BG", "gpl"),
        ReportedRow("GPL-w/o BG", "gpl-nobg"),
        ReportedRow("Kukleva CTE", "cte"),
        ReportedRow("HiERO (Omnivore)", **AS_HIERO),
        ReportedRow("HiERO (EgoVLP)", **AS_HIERO),
        ReportedRow("Omnivore features + spectral clustering", "raw_spectral", **AS_HIERO),
        ReportedRow("EgoVLP features + spectral clustering", "raw_spectral", **AS_HIERO),
    )
}


def printed(file: str, *methods: str | ReportedRow, note: str = SAME_FOR_ALL) -> Reported:
    """Return the rows that a file reports for some methods, in this order."""
    rows = [MADE.get(one, ReportedRow(one)) if isinstance(one, str) else one for one in methods]
    return Reported(FOLDER / f"{file}.csv", rows, note)


def made(method: str, **changes: object) -> ReportedRow:
    """Return the reported row of a method with changes to its usual facts, such as the measured ``row``."""
    return replace(MADE[method], **changes)


def printed_sweep(file: str, column: str, rows: Mapping[float | str, Row], note: str = SAME_FOR_ALL) -> Reported:
    """Return the rows that a file reports for RGWOT at the values of ``rows``; values not in the file get no row."""
    printed = read_reported(FOLDER / f"{file}.csv", [column])[column].unique()
    reported = [
        made("RGWOT", row=row.id, where={column: str(value)})
        for value, row in rows.items()
        if any(same_value(value, one) for one in printed)
    ]
    return Reported(FOLDER / f"{file}.csv", reported, note)
