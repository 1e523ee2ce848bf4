"""Write a table of the paper, or one row of it, with Markdown and LaTeX beside it."""

from pathlib import Path

from rgwot.study.script import stage

with stage(snakemake, "table") as job:
    from rgwot.reporting.targets import write_table_files

    w = snakemake.wildcards
    write_table_files(job.study, w.table, Path(snakemake.output.csv), w.get("row"))
