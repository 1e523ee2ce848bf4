# Procedure learning from unlabelled videos by RGWOT: from videos to tables.
# This file is the table of contents; the stages are in workflow/rules, in the order in which data flows.
import gc
import sys
from pathlib import Path

from snakemake.logging import logger
from snakemake.utils import min_version

# Snakemake's objects exist until the end, so the garbage collector need not examine them.
gc.freeze()

from rgwot.config.configuration import read_file
from rgwot.study.asked import mistakes_in_one_line
from rgwot.study.shipped import SNAKEFILE, configuration_files
from rgwot.study.study import in_job

min_version("9.14")

# A job on a cluster gets the configuration that its run has read, so the files may change during the run.
if not in_job():
    # rgwot reads the files first, to report a faulty one in one line.
    with mistakes_in_one_line():
        for file in configuration_files(sys.argv[1:]):
            read_file(file)

    # Snakemake skips this in a module, which gets its configuration from the workflow that imports it.
    configfile: "config.yaml"


# One training at a time on a local GPU; a cluster may run several.
resource_scopes:
    gpu="local",


include: "workflow/rules/common.smk"


wildcard_constraints:
    dataset="[a-z][a-z0-9_]*",
    task="[^/]+",
    video="[^/]+",
    column="[^/]+",
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


# Without a target: the key steps of page.methods. Training starts only if one of its outputs is requested.
rule all:
    default_target: True
    input:
        asked(pages.key_step_tables),
    message:
        "key steps of page.methods are there; `rgwot run first` makes the page, too"


onstart:
    note_revision(SNAKEFILE.parent)
    for line in pages.notes(STUDY, sys.argv):
        logger.warning(f"note: {line}")
    folder = Path(os.environ.setdefault(FOLDER_VARIABLE, str(Path(".snakemake/progress").absolute())))
    for left_over in folder.glob("*.json"):
        left_over.unlink(missing_ok=True)
    follow(folder, logger)


onsuccess:
    for page in pages.made_since(STARTED):
        logger.info(f"The page: {page.absolute()}")
