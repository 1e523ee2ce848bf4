"""List all pages, with links to them."""

from pathlib import Path

from rgwot.study.script import stage

with stage(snakemake, "report-index"):
    from rgwot.reporting.page.render import write_page_list

    write_page_list([Path(page) for page in snakemake.input], Path(snakemake.output[0]))
