"""The real Snakefile makes tables from downloads of published features."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from checkouts import Checkout
from click.testing import CliRunner
from mock_downloads import EGOPROCEL, write

from rgwot.cli import cli
from rgwot.config.configuration import read_file
from rgwot.datasets.fetch import sources

ENTRIES = "workflow/published_features.yaml"
#: One task of every set, as the mock downloads have.
TASKS = dict(task.split("/") for task in EGOPROCEL) | {"crosstask": "40567"}
#: Tasks to train on; they have vectors of every width in the downloads, from 2048 to 3200.
TRAINED = (
    "cmu_mmac_fact/Brownie", "pc_assembly_vjepa/pc_assembly", "epic_tents_omnivore/tent", "meccano_egovlp/meccano",
    "crosstask_features/40567",
)  # fmt: skip


@pytest.fixture(scope="module")
def downloaded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Checkout, str]:
    """Return a checkout with all downloads, and a configuration file with the tasks that they have."""
    checkout = Checkout.copied_to(tmp_path_factory.mktemp("downloaded") / "checkout")
    mirror = checkout.path.parent / "downloads"
    write(mirror)
    for name in {source.folder for source in sources()}:
        words = ["fetch", name, "--accept", "--from", mirror.as_uri(), "--to", str(checkout.path / "data")]
        invoked = CliRunner().invoke(cli, words)
        assert invoked.exit_code == 0, invoked.output
    lines = ["datasets:"]
    for name, entry in read_file(checkout.path / ENTRIES)["datasets"].items():
        lines += [f'  {name}: {{tasks: ["{TASKS[entry["subset"]]}"]}}'] if "subset" in entry else []
    (checkout.path / "few.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return checkout, "few.yaml"


def test_every_table_of_published_features_can_be_planned(downloaded: tuple[Checkout, str]) -> None:
    checkout, few = downloaded
    names = ("fact", "omnivore", "egovlp", "vjepa")
    tables = [f"egoprocel_{name}" for name in names] + ["crosstask_features", "gtea", "published_features"]
    jobs = checkout.plan(*(f"results/tables/{table}.csv" for table in tables), more=[ENTRIES, few]).jobs
    # Every entry is read once, whatever the number of tables: 4 x 6, CrossTask, and five sets of action segmentation.
    assert (jobs["manifest"], jobs["import_features"]) == (30, 30)
    assert jobs["table"] == len(tables)


@pytest.mark.long
def test_one_table_of_every_entry_and_trainings_on_vectors(
    downloaded: tuple[Checkout, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout, few = downloaded
    monkeypatch.chdir(checkout.path)
    for name in read_file(Path(ENTRIES))["datasets"]:
        examined = CliRunner().invoke(cli, ["doctor", name, "--config", ENTRIES, "--config", few])
        assert examined.exit_code == 0, examined.output
    scores = [f"results/scores/rgwot/graphcut/{task}/seed0.csv" for task in TRAINED]
    row = "results/tables/published_features/raw_kmeans.csv"
    output = checkout.snakemake(row, *scores, more=[ENTRIES, few])
    assert output.returncode == 0, output.text[-4000:]
    table = pd.read_csv(Path(checkout.path / row))
    values = table[[f"{name}_f1" for name in read_file(checkout.path / ENTRIES)["datasets"]]]
    # The features show the steps, so that k-means finds most of them in every form. Steps last half a second here and
    # CrossTask has one sample per second: only the rule that counts both ends gives a sample the step that it shows.
    counted = (table["protocol"] == "macro_task") & (table["label_rule"] == "cnc")
    assert counted.sum() == 2
    assert (values[counted].to_numpy() > 0.5).all()
