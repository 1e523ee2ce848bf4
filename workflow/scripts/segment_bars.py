"""Draw key steps over time, ground truth above predictions, as vector and as picture."""

from pathlib import Path

from rgwot.study.script import stage

with stage(snakemake, "plot"):
    from rgwot.names import names_in
    from rgwot.records import read_annotations, read_manifest, read_segments
    from rgwot.reporting.figures.segments import segment_bars
    from rgwot.reporting.figures.style import save

    files, w = snakemake.input, snakemake.wildcards
    names = files.names[0] if files.names else None
    segments = {"/".join(Path(file).parts[-6:-4]): file for file in files.segments}
    drawn = segment_bars(
        read_manifest(files.manifest),
        read_annotations(files.annotations),
        {label: read_segments(file) for label, file in segments.items()},
        f"{w.dataset}/{w.task}, seed {w.seed}",
        names={label: names_in(Path(file).parent, names) for label, file in segments.items()},
    )
    save(drawn, snakemake.output.vector)
