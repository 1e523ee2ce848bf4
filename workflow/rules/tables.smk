# Tables and their rows, each by name; what they hold is data (workflow/tables.yaml).


rule table_row:
    input:
        row_scores,
    output:
        csv="results/tables/{table}/{row}.csv",
        markdown="results/tables/{table}/{row}.md",
        latex="results/tables/{table}/{row}.tex",
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
        tables=untracked(str(TABLES)),
        spelling=row_spelling,
        content=row_content,
    message:
        "table: row {wildcards.row} of {wildcards.table}"
    shell:
        "rgwot table --tables {params.tables:q} --row {wildcards.row} {params.spelling} {output.csv:q} {input:q} 2> {log:q}"


rule table:
    input:
        rows=table_rows,
        reported=reported_files,
    output:
        csv=report(
            "results/tables/{table}.csv",
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "{table}"},
        ),
        markdown="results/tables/{table}.md",
        latex="results/tables/{table}.tex",
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
        tables=untracked(str(TABLES)),
        content=table_content,
    message:
        "table: {wildcards.table}"
    shell:
        "rgwot table --tables {params.tables:q} {output.csv:q} {input.rows:q} 2> {log:q}"
