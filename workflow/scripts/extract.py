"""Decode videos, run the frozen backbone and write the features: of a batch, or of one video."""

from functools import partial
from pathlib import Path

from rgwot.study.script import stage

with stage(snakemake, "extract") as job:
    from rgwot.features.backbone import load_backbone
    from rgwot.features.extract import extract
    from rgwot.features.index import write_part
    from rgwot.timing import parse_rate

    features, rate = job.settings.features, snakemake.params.frames_fps
    how = {
        "settings": features,
        "on_bad_video": snakemake.params.on_bad_video,
        "threads": snakemake.threads,
        "device": job.study.config.device,
        "frames_fps": rate and parse_rate(rate),
        "backbone": load_backbone(features.weights, features.seed, features.precision, features.backbone),
    }
    stores = {video: partial(extract, path, **how) for video, path in snakemake.params.videos.items()}
    output = Path(snakemake.output[0])
    if output.suffix == ".csv":
        job.others = write_part(stores, output)
    else:
        stores[snakemake.wildcards.video](output)
