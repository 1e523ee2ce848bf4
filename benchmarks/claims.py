"""What synthetic tasks say of the paper's claims: the table ``claims``, kept, and put into benchmarks/report/claims.md.

Runs what is missing of ``results/tables/claims.csv``, then renews benchmarks/results/claims.csv and the table of the
page.

    python benchmarks/claims.py [--cores 2]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from pages import renew

from rgwot.reporting.tables.spec import find_table, load_tables
from rgwot.runtime.files import write_text

HOUSE = Path(__file__).resolve().parents[1]
TABLE = HOUSE / "results" / "tables" / "claims.csv"
RECORD = HOUSE / "benchmarks" / "results" / "claims.csv"
PAGE = HOUSE / "benchmarks" / "report" / "claims.md"
CONFIGS = ("config.yaml", "benchmarks/tasks.yaml")


def main() -> None:
    """Make the table, keep it, and print how long it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1, help="jobs at a time")
    cores = parser.parse_args().cores
    began = time.perf_counter()
    command = [sys.executable, "-m", "snakemake", "--cores", str(cores), "--configfile", *CONFIGS]
    command += ["--quiet", "host", "reason", "--keep-going"]
    # Snakemake 9.27 looks at all jobs again every second, once for each that has finished: after half a thousand of
    # them it takes an eighth of a core. So every row is a run of its own.
    table = find_table(load_tables(HOUSE / "workflow" / "tables.yaml"), "claims")
    for target in (*(f"results/tables/claims/{row.id}.csv" for row in table.rows), str(TABLE.relative_to(HOUSE))):
        subprocess.run([*command, "--", target], cwd=HOUSE, check=True)
    print(f"{(time.perf_counter() - began) / 60:.0f} minutes on {cores} cores", file=sys.stderr)
    write_text(TABLE.read_text(encoding="utf-8"), RECORD)
    _, _, printed = TABLE.with_suffix(".md").read_text(encoding="utf-8").partition("\n\n")
    renew(PAGE, "claims", "claims", printed.strip())
    print(f"written: {RECORD.relative_to(HOUSE)}, {PAGE.relative_to(HOUSE)}")


if __name__ == "__main__":
    main()
