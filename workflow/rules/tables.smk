# Tables and their rows, each by name; what they show is in workflow/tables.


rule table_row:
    input:
        asked(lambda study, table, row: targets.table(study, table).files(study, row)),
    output:
        multiext("results/tables/{table}/{row}", csv=".csv", markdown=".md", latex=".tex"),
    log:
        "results/logs/table_row/{table}/{row}.log",
    localrule: True
    conda:
        "../../envs/evaluate.yaml"
    resources:
        **doubled(mem_mb=1000, runtime=30),
    params:
        table=asked(lambda study, table: targets.table(study, table)),
        content=asked(lambda study, table, row: targets.table(study, table).content(row)),
    message:
        "table: row {wildcards.row} of {wildcards.table}"
    script:
        "../scripts/table.py"


use rule table_row as table with:
    input:
        asked(lambda study, table: targets.table(study, table).files(study)),
    output:
        csv=listed(
            "results/tables/{table}.csv", "table", asked(lambda study, table: targets.table_labels(study, table))
        ),
        markdown="results/tables/{table}.md",
        latex="results/tables/{table}.tex",
    log:
        "results/logs/table/{table}.log",
    params:
        table=asked(lambda study, table: targets.table(study, table)),
        content=asked(lambda study, table: targets.table(study, table).content()),
        caption=asked(lambda study, table: targets.table(study, table).caption(study)),
    message:
        "table: {wildcards.table}"
