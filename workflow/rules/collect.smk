# Named targets: what to ask for when no single file is meant.


rule demo:
    input:
        "results/tables/demo.csv",
        "results/figures/segments/demo/assembly/seed0.pdf",
        "results/yardsticks/demo/assembly.json",
        "results/report/demo/assembly.html",
    localrule: True


rule paper:
    input:
        paper_files,
    localrule: True
