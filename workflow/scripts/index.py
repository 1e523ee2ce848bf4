"""Check the features of a task and list them."""

from rgwot.study.script import stage

with stage(snakemake, "index"):
    from rgwot.features.index import write_index

    write_index(list(snakemake.input), snakemake.output[0])
