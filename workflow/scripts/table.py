"""Write a table of the paper, or one row of it, with Markdown and LaTeX beside it."""

from pathlib import Path

from rgwot.study.script import stage

with stage(snakemake, "table") as job:
    from rgwot.reporting.targets import write_table

    w = snakemake.wildcards
    write_table(job.study, w.table, Path(snakemake.output.csv), w.get("row"))
