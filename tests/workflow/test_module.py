"""The workflow inside another one, as a Snakemake module."""

from __future__ import annotations

import sys
from pathlib import Path

import yaml
from checkouts import REPOSITORY, SMALL, run

OTHER = """
from rgwot.study.study import Study, write_configuration


configfile: "mine.yaml"


# What jobs read: only the handlers of the main workflow run.
onstart:
    write_configuration(Study.of(config["procedures"]).config)


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
