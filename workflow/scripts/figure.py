"""Draw a figure of the paper, as vector and as picture."""

from rgwot.study.script import stage

with stage(snakemake, "figure") as job:
    from rgwot.reporting.figures.style import save
    from rgwot.reporting.targets import draw_figure

    save(draw_figure(job.study, snakemake.wildcards.figure), snakemake.output.vector)
