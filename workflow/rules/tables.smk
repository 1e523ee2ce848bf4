# Tables and their rows, each by name; what they hold is data (workflow/tables.yaml).


rule table_row:
    input:
        made=study("row_inputs"),
        reported=study("reported_files"),
    output:
        csv=paths.ROW,
        markdown=paths.beside(paths.ROW, ".md"),
        latex=paths.beside(paths.ROW, ".tex"),
    log:
        paths.log("table_row/{table}/{row}"),
    localrule: True
    conda:
        "../../envs/evaluate.yaml"
    threads: 1
    resources:
        mem_mb=doubled(1000),
        runtime=doubled(30),
    params:
        tables=untracked(str(TABLES)),
        options=study("row_options"),
        content=study("table_content"),
    message:
        "table: row {wildcards.row} of {wildcards.table}"
    shell:
        "rgwot table --tables {params.tables:q} --row {wildcards.row:q} {params.options}"
        " {output.csv:q} {input.made:q} 2> {log:q}"


rule table:
    input:
        rows=study("table_rows"),
        reported=study("reported_files"),
    output:
        csv=report(
            paths.TABLE,
            caption="../report/table.rst",
            category="Tables",
            labels=study("table_labels"),
        ),
        markdown=paths.beside(paths.TABLE, ".md"),
        latex=paths.beside(paths.TABLE, ".tex"),
    log:
        paths.log("table/{table}"),
    localrule: True
    conda:
        "../../envs/evaluate.yaml"
    threads: 1
    resources:
        mem_mb=doubled(1000),
        runtime=doubled(30),
    params:
        tables=untracked(str(TABLES)),
        content=study("table_content"),
        caption=untracked(study("table_caption")),
    message:
        "table: {wildcards.table}"
    shell:
        "rgwot table --tables {params.tables:q} {output.csv:q} {input.rows:q} 2> {log:q}"
