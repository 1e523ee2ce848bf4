"""Draw the embeddings of a trained result in two dimensions, as vector and as picture."""

from rgwot.study.script import stage

with stage(snakemake, "figure"):
    from rgwot.records import read_manifest
    from rgwot.reporting.figures.style import save, styled
    from rgwot.reporting.figures.tsne import draw_embedding
    from rgwot.stages.embed import read_embeddings

    files, w = snakemake.input, snakemake.wildcards
    names = read_manifest(files.manifest).set_index("video")["name"].astype(str).to_dict()
    with styled():
        drawn = draw_embedding(
            read_embeddings(files.embeddings).videos,
            names,
            f"{w.method} on {w.dataset}/{w.task}, seed {w.seed}",
            int(w.seed),
        )
    save(drawn, snakemake.output.picture)
