# Named targets, each for several files.


# The pages of all tasks of page.datasets.
rule first:
    input:
        asked(pages.index_pages),
    message:
        "first: the pages of all tasks are there"


rule demo:
    input:
        "results/tables/demo.csv",
        "results/figures/segments/demo/assembly/seed0.pdf",
        "results/report/demo/assembly.html",
        # `make demo` prints this file, which no job would make if the page is finished.
        "results/keysteps/rgwot-plus/consensus/demo/assembly/seed0/procedures.csv",


rule paper:
    input:
        asked(targets.paper_files),
    message:
        "paper: tables and figures are there"
