"""Write small pictures of every video of a task, evenly spaced."""

from pathlib import Path

from rgwot.study.script import stage

with stage(snakemake, "strips"):
    from rgwot.reporting.page.pictures import write_strips

    manifest, root = Path(snakemake.input.manifest), Path(snakemake.params.root)
    write_strips(manifest, root, Path(snakemake.output[0]), jobs=snakemake.threads)
