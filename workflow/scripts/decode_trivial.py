"""Write key steps without looking at the videos, for comparison."""

from pathlib import Path

from rgwot.study.script import stage

with stage(snakemake, "decode") as job:
    from rgwot.config.experiments import split_id
    from rgwot.keysteps.settings import resolved_K
    from rgwot.records import read_manifest
    from rgwot.stages.decode import decode_trivial

    manifest = Path(snakemake.input.manifest)
    decode_trivial(
        manifest,
        Path(snakemake.output.segments).parent,
        split_id(snakemake.wildcards.decoder)[0],
        resolved_K(job.settings.decode.K),
        job.seed,
        stride=job.settings.evaluation.stride,
        held_out=job.held_out(read_manifest(manifest)["video"]),
        learner=job.settings.procedure.learner,
        annotations_csv=snakemake.input.annotations or None,
    )
