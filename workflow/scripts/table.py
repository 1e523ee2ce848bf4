"""Write a table of the paper, or one row of it, with Markdown and LaTeX beside it."""

from pathlib import Path

from rgwot.study.script import stage

with stage(snakemake, "table"):
    from rgwot.reporting.targets import write_table_files

    row = snakemake.wildcards.get("row")
    write_table_files(snakemake.params.table, snakemake.input, Path(snakemake.output.csv), row)
