# Tables and their rows, each by name; what they show is in workflow/tables.


rule table_row:
    input:
        one_line_errors(lambda w: targets.table(STUDY, w.table).files(STUDY, w.row)),
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
        content=one_line_errors(lambda w: targets.table(STUDY, w.table).content(STUDY, w.row)),
    message:
        "table: row {wildcards.row} of {wildcards.table}"
    script:
        "../scripts/table.py"


use rule table_row as table with:
    input:
        one_line_errors(lambda w: targets.table(STUDY, w.table).files(STUDY)),
    output:
        csv=listed("results/tables/{table}.csv", "table", table_labels),
        markdown="results/tables/{table}.md",
        latex="results/tables/{table}.tex",
    log:
        "results/logs/table/{table}.log",
    params:
        content=one_line_errors(lambda w: targets.table(STUDY, w.table).content(STUDY)),
        caption=untracked(one_line_errors(lambda w: targets.table(STUDY, w.table).caption(STUDY))),
    message:
        "table: {wildcards.table}"
