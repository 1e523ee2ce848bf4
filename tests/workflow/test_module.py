"""The workflow as a Snakemake module of another workflow."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from checkouts import REPOSITORY, SMALL, SMALL_CLIPS, run

OTHER = """
configfile: "mine.yaml"


module rgwot:
    snakefile:
        "{snakefile}"
    config:
        config["procedures"]


use rule * from rgwot as rgwot_*


rule mine:
    default_target: True
    input:
        "results/tables/demo/rgwot.csv",
    output:
        "mine.csv",
    shell:
        "cat {{input}} > {{output}}"
"""


def test_another_repository_uses_the_rules_with_its_own_configuration(tmp_path: Path) -> None:
    whole = yaml.safe_load((REPOSITORY / "config.yaml").read_text(encoding="utf-8"))
    small = yaml.safe_load((REPOSITORY / SMALL).read_text(encoding="utf-8"))
    demo = {**whole["datasets"]["demo"]}
    demo["synth"] = {**demo["synth"], "n_videos": 4}
    mine = {**whole, **small, "datasets": {"demo": demo}, "seeds": [5, 7]}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump({"procedures": mine}), encoding="utf-8")
    (tmp_path / "Snakefile").write_text(OTHER.format(snakefile=REPOSITORY / "Snakefile"), encoding="utf-8")
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--cores", "1", "--quiet", "rules"]
    jobs = run(command, tmp_path).jobs
    assert jobs == {
        "mine": 1, "rgwot_table_row": 1, "rgwot_synth": 1, "rgwot_manifest": 1, "rgwot_extract": 1, "rgwot_index": 1,
        "rgwot_train": 2, "rgwot_embed": 2, "rgwot_decode": 2, "rgwot_evaluate": 2,
    }  # fmt: skip


DEPLOYED = """
configfile: "config/config.yaml"


module rgwot:
    snakefile:
        "{snakefile}"
    config:
        config


use rule * from rgwot
"""


@pytest.mark.long
@pytest.mark.skipif(not (REPOSITORY / ".git").exists(), reason="there is no repository to clone")
def test_a_deployed_workflow_runs_as_the_catalogue_imports_it(tmp_path: Path) -> None:
    """In an imported module, Snakemake skips handlers such as onstart, so no job may depend on them."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", "--local", REPOSITORY, clone], check=True)
    whole = yaml.safe_load((clone / "config/config.yaml").read_text(encoding="utf-8"))
    demo = {**whole["datasets"]["demo"]}
    demo["synth"] = {**demo["synth"], **SMALL_CLIPS, "n_videos": 2}
    (tmp_path / "config").mkdir()
    (tmp_path / "config/config.yaml").write_text(json.dumps({**whole, "datasets": {"demo": demo}}))
    (tmp_path / "workflow").mkdir()
    snakefile = clone / "workflow/Snakefile"
    (tmp_path / "workflow/Snakefile").write_text(DEPLOYED.format(snakefile=snakefile), encoding="utf-8")
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--quiet", "rules"]
    jobs = run([*command, "--dry-run"], tmp_path).jobs
    assert jobs["default"] == 1
    assert not (tmp_path / "results").exists()
    target = "results/keysteps/none/uniform/demo/assembly/seed0/segments.csv"
    said = run([*command, "--", target], tmp_path)
    assert said.returncode == 0, said.text
    assert (tmp_path / target).is_file()
    catalogue = yaml.safe_load((clone / ".snakemake-workflow-catalog.yml").read_text(encoding="utf-8"))
    assert {"conda", "apptainer"} <= set(catalogue["usage"]["software-stack-deployment"])
