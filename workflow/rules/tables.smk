# Tables and their rows, each by name; what they hold is data (workflow/tables.yaml).


rule table_row:
    input:
        made=one_line_errors(lambda w: tables.row_inputs(STUDY, w.table, w.row)),
        reported=one_line_errors(lambda w: tables.reported_files(STUDY, w.table, w.row)),
    output:
        csv="results/tables/{table}/{row}.csv",
        markdown="results/tables/{table}/{row}.md",
        latex="results/tables/{table}/{row}.tex",
    log:
        "results/logs/table_row/{table}/{row}.log",
    localrule: True
    conda:
        "../../envs/evaluate.yaml"
    resources:
        **doubled(mem_mb=1000, runtime=30),
    params:
        config=CONFIGURATION,
        tables=untracked(TABLES),
        content=one_line_errors(lambda w: tables.table_content(STUDY, w.table, w.row)),
    message:
        "table: row {wildcards.row} of {wildcards.table}"
    shell:
        "rgwot table --config {params.config} --tables {params.tables:q} --row {wildcards.row:q}"
        " {output.csv:q} {input.made:q} 2> {log:q}"


rule table:
    input:
        rows=one_line_errors(lambda w: tables.table_rows(STUDY, w.table)),
        reported=one_line_errors(lambda w: tables.reported_files(STUDY, w.table)),
    output:
        csv=report(
            "results/tables/{table}.csv",
            caption="../report/table.rst",
            category="Tables",
            labels=one_line_errors(lambda w: tables.table_labels(STUDY, w.table)),
        ),
        markdown="results/tables/{table}.md",
        latex="results/tables/{table}.tex",
    log:
        "results/logs/table/{table}.log",
    localrule: True
    conda:
        "../../envs/evaluate.yaml"
    resources:
        **doubled(mem_mb=1000, runtime=30),
    params:
        tables=untracked(TABLES),
        content=one_line_errors(lambda w: tables.table_content(STUDY, w.table)),
        caption=untracked(one_line_errors(lambda w: tables.table_caption(STUDY, w.table))),
    message:
        "table: {wildcards.table}"
    shell:
        "rgwot table --tables {params.tables:q} {output.csv:q} {input.rows:q} 2> {log:q}"
