# Tables and their rows, each by name; what they hold is data (workflow/tables.yaml).


rule table_row:
    input:
        row_scores,
    output:
        "results/tables/{table}/{row}.csv",
        multiext("results/tables/{table}/{row}", ".md", ".tex"),
    log:
        "results/logs/table_row/{table}/{row}.log",
    localrule: True
    conda:
        "../../envs/evaluate.yaml"
    threads: 1
    resources:
        mem_mb=by_attempt(1000),
        runtime="30m",
    params:
        tables=str(TABLES),
    message:
        "table: row {wildcards.row} of {wildcards.table}"
    shell:
        "rgwot table --tables {params.tables:q} --row {wildcards.row} {output[0]:q} {input:q} 2> {log:q}"


rule table:
    input:
        table_rows,
    output:
        report(
            "results/tables/{table}.csv",
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "{table}"},
        ),
        multiext("results/tables/{table}", ".md", ".tex"),
    log:
        "results/logs/table/{table}.log",
    localrule: True
    conda:
        "../../envs/evaluate.yaml"
    threads: 1
    resources:
        mem_mb=by_attempt(1000),
        runtime="30m",
    params:
        tables=str(TABLES),
    message:
        "table: {wildcards.table}"
    shell:
        "rgwot table --tables {params.tables:q} {output[0]:q} {input:q} 2> {log:q}"
