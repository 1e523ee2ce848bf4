# Procedure learning from unlabelled videos by RGWOT: from videos to tables.
# This file is the table of contents; the stages are in workflow/rules, in the order in which data flows.
import os
import sys
from pathlib import Path

from snakemake.utils import min_version

from rgwot.runtime.errors import RgwotError
from rgwot.study.starting import check_configuration

min_version("9.14")
# Jobs find the rgwot of this environment, activated or not; the environment of a rule takes precedence.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])

# Before Snakemake reads it, so that what is wrong with the file is reported in one line.
try:
    check_configuration([Path("config.yaml")])
except RgwotError as error:
    raise SystemExit(f"rgwot: {error}")


configfile: "config.yaml"


# One training at a time on a local GPU, without throttling a cluster to one.
resource_scopes:
    gpu="local",


include: "workflow/rules/common.smk"


wildcard_constraints:
    dataset="[a-z][a-z0-9_]*",
    task="[^/]+",
    video="[^/]+",
    part="0|[1-9][0-9]*",
    method="[^/]+",
    decoder="[^/]+",
    seed="0|[1-9][0-9]*",
    table="[a-z0-9_]+",
    row="[A-Za-z0-9_.=+-]+",
    figure="[a-z0-9_]+",


include: "workflow/rules/synthetic.smk"
include: "workflow/rules/features.smk"
include: "workflow/rules/training.smk"
include: "workflow/rules/keysteps.smk"
include: "workflow/rules/evaluation.smk"
include: "workflow/rules/bundles.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/collect.smk"


rule all:
    default_target: True
    input:
        rules.demo.input,
        paths.PAGES,


onstart:
    check_times()
    record_this_run()


onsuccess:
    say_where_results_are()


onerror:
    say_what_failed()
