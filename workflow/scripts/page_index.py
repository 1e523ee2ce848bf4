"""List all pages, with links to them."""

from pathlib import Path

from rgwot.study.script import stage

with stage(snakemake, "report-index"):
    from rgwot.paths import RESULTS
    from rgwot.reporting.page.render import list_pages

    list_pages(Path(RESULTS))
