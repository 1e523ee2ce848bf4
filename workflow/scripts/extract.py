"""Decode the videos of a batch, or one video, run the frozen backbone and write the features."""

from functools import partial
from pathlib import Path

from rgwot.study.script import stage

with stage(snakemake, "extract") as job:
    from rgwot.features.backbone import load_backbone
    from rgwot.features.extract import extract
    from rgwot.features.index import write_part
    from rgwot.features.settings import FeatureSettings
    from rgwot.timing import parse_rate

    features, reading = FeatureSettings.of({"features": job.settings["features"]}), snakemake.params.settings["reading"]
    how = {
        "settings": features,
        "on_bad_video": reading["on_bad_video"],
        "threads": snakemake.threads,
        "device": job.device,
        "frames_fps": reading["frames_fps"] and parse_rate(reading["frames_fps"]),
        "backbone": load_backbone(features.weights, features.seed, features.precision, features.backbone),
    }
    stores = {video: partial(extract, path, **how) for video, path in snakemake.params.videos.items()}
    output = Path(snakemake.output[0])
    if output.suffix == ".csv":
        job.others = write_part(stores, output)
    else:
        stores[snakemake.wildcards.video](output)
