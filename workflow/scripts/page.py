"""Write the page of a task, its ranked procedures as a table, and the list of all pages."""

from pathlib import Path

from rgwot.study.script import stage

with stage(snakemake, "report"):
    from rgwot.paths import RESULTS, Run, Tree
    from rgwot.reporting.page.render import list_pages, write_page
    from rgwot.runtime.provenance import write_record

    params = snakemake.params
    write_page(
        Tree(Path(RESULTS), snakemake.wildcards.dataset, snakemake.wildcards.task),
        Path(params.root),
        [Run.of_text(run) for run in params.shown["runs"]],
        Path(snakemake.output.page),
        Path(params.names),
        params.shown["groups"],
    )
    write_record(list_pages(Path(RESULTS)), "report-index")
