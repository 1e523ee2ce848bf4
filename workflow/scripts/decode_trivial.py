"""Write key steps without looking at the videos, for comparison."""

from pathlib import Path

from rgwot.study.script import stage

with stage(snakemake, "decode") as job:
    from rgwot.evaluation import EvaluationSettings
    from rgwot.records import read_manifest
    from rgwot.stages.decode import decode_trivial

    manifest = Path(snakemake.input.manifest)
    decode_trivial(
        manifest,
        Path(snakemake.output.segments).parent,
        job.decoder,
        job.seed,
        stride=EvaluationSettings.of(snakemake.params.settings).stride,
        held_out=job.held_out(read_manifest(manifest)["video"]),
        annotations_csv=snakemake.input.annotations or None,
    )
