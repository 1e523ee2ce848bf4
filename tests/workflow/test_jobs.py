"""Jobs are the commands that stand in their logs."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest
from checkouts import Checkout

#: A row that is made from the configuration alone, by one job.
ROW = "results/tables/hyperparameters/alpha.csv"
# A limit that the shell of a job sets.
MORE = """
shell.prefix("umask 027; ")
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    checkout = Checkout.copied_to(tmp_path_factory.mktemp("jobs") / "checkout")
    with (checkout.path / "Snakefile").open("a", encoding="utf-8") as file:
        file.write(MORE)
    said = checkout.snakemake(ROW)
    assert said.returncode == 0, said.text[-4000:]
    return checkout


def test_a_job_obeys_its_shell(made: Checkout) -> None:
    assert stat.S_IMODE((made.path / ROW).stat().st_mode) == 0o640


def test_a_job_is_repeated_by_the_line_in_its_log(made: Checkout) -> None:
    before = (made.path / ROW).read_bytes()
    log = made.path / "results/logs/table_row/hyperparameters/alpha.log"
    line = log.read_text(encoding="utf-8").splitlines()[0]
    assert "--config results/provenance/" in line
    (made.path / ROW).unlink()
    command = line.replace("rgwot", f"{Path(sys.executable).parent / 'python'} -m rgwot", 1)
    subprocess.run(command, shell=True, cwd=made.path, check=True)
    assert (made.path / ROW).read_bytes() == before
