"""Test whether groups of videos differ, and draw the differences."""

import sys
from pathlib import Path

from rgwot.study.script import stage

with stage(snakemake, "compare-groups"):
    from rgwot.reporting.figures.groups import write_groups

    files, w = snakemake.input, snakemake.wildcards
    title = f"{w.dataset}/{w.task}: {w.method}/{w.decoder}, seed {w.seed}"
    folder, names = Path(files.segments).parent, Path(files.names[0]) if files.names else None
    lines = write_groups(Path(snakemake.output.table), folder, Path(files.videos), w.column, w.task, names, title)
    sys.stderr.write("\n".join([*lines, ""]))
