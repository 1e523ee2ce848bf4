"""Write features made elsewhere as stores, for a batch or for one video."""

from functools import partial
from pathlib import Path

from rgwot.study.script import stage

with stage(snakemake, "import-features") as job:
    from rgwot.datasets.settings import ImportSettings
    from rgwot.features.importing import import_video
    from rgwot.features.index import write_part
    from rgwot.timing import parse_rate

    reading = snakemake.params.settings["reading"]
    how = {
        "settings": ImportSettings(**snakemake.params.settings["form"]),
        "on_bad_video": reading["on_bad_video"],
        "frames_fps": reading["frames_fps"] and parse_rate(reading["frames_fps"]),
    }
    videos = snakemake.params.videos
    stores = {name: partial(import_video, video, features, **how) for name, (video, features) in videos.items()}
    output = Path(snakemake.output[0])
    if output.suffix == ".csv":
        job.others = write_part(stores, output)
    else:
        stores[snakemake.wildcards.video](output)
