"""Draw the transport plan between two videos of a trained result, as vector and as picture."""

from pathlib import Path

from rgwot.study.script import stage

with stage(snakemake, "figure"):
    from rgwot.blocks import flatten
    from rgwot.config.settings import defaults
    from rgwot.paths import Tree
    from rgwot.reporting.figures.plans import draw_plan
    from rgwot.reporting.figures.style import save, styled
    from rgwot.reporting.figures.videos import TaskLabels
    from rgwot.stages.embed import read_embeddings

    w = snakemake.wildcards
    with styled():
        drawn = draw_plan(
            read_embeddings(snakemake.input.embeddings).videos,
            TaskLabels.of(Tree(Path("results"), w.dataset, w.task), None),
            {**defaults(), **flatten(snakemake.params.settings)},
            f"{w.method} on {w.dataset}/{w.task}, seed {w.seed}",
        )
    save(drawn, snakemake.output.picture)
