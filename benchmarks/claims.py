"""What synthetic tasks say of the paper's claims: the table ``claims``, kept, and put into benchmarks/report/claims.md.

Runs what is missing of ``results/tables/claims.csv``, then renews benchmarks/results/claims.csv and the table of the
page.

    python benchmarks/claims.py [--cores 2]
"""

from __future__ import annotations

import sys
import time

from pages import CONFIGS, HOUSE, REPORT, RESULTS, make, options_of, renew

from rgwot.reporting.tables.spec import find_table, load_tables
from rgwot.runtime.files import write_text

TABLE = HOUSE / "results" / "tables" / "claims.csv"
RECORD, PAGE = RESULTS / "claims.csv", REPORT / "claims.md"


def main() -> None:
    """Make the table, keep it, and print how long it took."""
    cores = options_of(__doc__).parse_args().cores
    began = time.perf_counter()
    # Snakemake 9.27 looks at all jobs again every second, once for each that has finished: after half a thousand of
    # them it takes an eighth of a core. So every row is a run of its own.
    table = find_table(load_tables(HOUSE / "workflow" / "tables.yaml"), "claims")
    for target in (*(f"results/tables/claims/{row.id}.csv" for row in table.rows), str(TABLE.relative_to(HOUSE))):
        if done := make([target], cores, CONFIGS):
            sys.exit(done)
    print(f"{(time.perf_counter() - began) / 60:.0f} minutes on {cores} cores", file=sys.stderr)
    write_text(TABLE.read_text(encoding="utf-8"), RECORD)
    _, _, printed = TABLE.with_suffix(".md").read_text(encoding="utf-8").partition("\n\n")
    renew(PAGE, "claims", "claims", printed.strip())
    print(f"written: {RECORD.relative_to(HOUSE)}, {PAGE.relative_to(HOUSE)}")


if __name__ == "__main__":
    main()
