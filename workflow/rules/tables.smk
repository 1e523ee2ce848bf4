# Tables and their rows, each by name; what they hold is data (workflow/tables.yaml).


rule table_row:
    input:
        made=row_inputs,
        reported=reported_files,
    output:
        csv="results/tables/{table}/{row}.csv",
        markdown="results/tables/{table}/{row}.md",
        latex="results/tables/{table}/{row}.tex",
    log:
        "results/logs/table_row/{table}/{row}.log",
    benchmark:
        "results/benchmarks/table_row/{table}/{row}.tsv"
    localrule: True
    conda:
        "../../envs/evaluate.yaml"
    threads: 1
    resources:
        mem_mb=memory_for("table_row"),
        runtime=time_for("table_row"),
    params:
        tables=untracked(str(TABLES)),
        options=row_options,
        content=row_content,
    message:
        "table: row {wildcards.row} of {wildcards.table}"
    shell:
        "rgwot table --tables {params.tables:q} --row {wildcards.row:q} {params.options}"
        " {output.csv:q} {input.made:q} 2> {log:q}"


rule table:
    input:
        rows=table_rows,
        reported=reported_files,
    output:
        csv=report(
            "results/tables/{table}.csv",
            caption="../report/table.rst",
            category="Tables",
            labels=table_labels,
        ),
        markdown="results/tables/{table}.md",
        latex="results/tables/{table}.tex",
    log:
        "results/logs/table/{table}.log",
    benchmark:
        "results/benchmarks/table/{table}.tsv"
    localrule: True
    conda:
        "../../envs/evaluate.yaml"
    threads: 1
    resources:
        mem_mb=memory_for("table"),
        runtime=time_for("table"),
    params:
        tables=untracked(str(TABLES)),
        content=table_content,
        caption=table_caption,
    message:
        "table: {wildcards.table}"
    shell:
        "rgwot table --tables {params.tables:q} {output.csv:q} {input.rows:q} 2> {log:q}"
