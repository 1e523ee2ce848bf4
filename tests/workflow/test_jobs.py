"""Jobs obey the shell that they run in."""

from __future__ import annotations

import stat
from pathlib import Path

from checkouts import Checkout

# A setting that the shell of a job makes.
MORE = """
shell.prefix("umask 027; ")
"""


def test_a_job_obeys_its_shell(tmp_path: Path) -> None:
    checkout = Checkout.copied_to(tmp_path / "checkout")
    with (checkout.path / "Snakefile").open("a", encoding="utf-8") as file:
        file.write(MORE)
    # One job makes this table, from the configuration alone.
    table = "results/tables/hyperparameters.csv"
    output = checkout.snakemake(table)
    assert output.returncode == 0, output.text[-4000:]
    assert stat.S_IMODE((checkout.path / table).stat().st_mode) == 0o640
