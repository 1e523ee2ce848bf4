"""Draw a figure of the paper, as vector and as picture."""

from rgwot.study.script import stage

with stage(snakemake, "figure"):
    from rgwot.reporting.figures.style import save

    save(snakemake.params.figure.drawn(), snakemake.output.vector)
