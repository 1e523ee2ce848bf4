"""Verbs that turn embeddings into key steps and their order, and score them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rgwot.cli import options
from rgwot.cli.options import Folder, SettingsCommand
from rgwot.config.methods import CLUSTERING, DECODERS, TRIVIAL
from rgwot.config.registry import blocks
from rgwot.keysteps.settings import LEARNER_NAMES
from rgwot.runtime.errors import RgwotError


@click.command(
    cls=SettingsCommand,
    reads=("decode", *blocks(DECODERS.values())),
    epilog="Try another decode.K first; a larger graphcut.pairwise where key steps flicker, a smaller one, or a "
    "smaller decode.m, where one of them takes everything.",
)
@click.argument("output", type=Folder)
@click.option("--embeddings", type=Folder, help="Embeddings of the task.")
@click.option("--manifest", type=Folder, help="Manifest of the task, for the trivial decoders.")
@click.option(
    "--decoder",
    required=True,
    help=f"Decoder id: {', '.join(CLUSTERING)}; or trivial: {', '.join(TRIVIAL)}.",
)
@click.option("--annotations", type=Folder, help="Annotated segments of the task, for the decoder annotated.")
@click.option("--method", help="Method id. Default: raw with --embeddings, none with --manifest.")
@click.option(
    "--task-only",
    is_flag=True,
    help="With --embeddings: leave out the key steps of each video by itself, which only scores need.",
)
@options.dataset
@options.task
@options.config
@options.seed
def decode(
    output: Path,
    embeddings: Path | None,
    manifest: Path | None,
    decoder: str,
    annotations: Path | None,
    method: str | None,
    task_only: bool,
    dataset: str,
    task: str,
    configs: tuple[Path, ...],
    seed: int,
) -> dict[str, Any]:
    """Find key steps and their order; writes OUTPUT (segments.csv) and further files next to it."""
    from rgwot.config.experiments import split_id

    name = split_id(decoder)[0]
    if (embeddings is None) == (manifest is None):
        raise RgwotError("decode: found neither or both of --embeddings and --manifest, expected one of them")
    method = method or ("none" if manifest else "raw")
    job = options.resolved(configs, "decode", dataset, task, method, decoder)
    if manifest is not None:
        from rgwot.records import read_manifest
        from rgwot.stages.decode import decode_trivial

        decode_trivial(
            manifest,
            output.parent,
            name,
            job.K,
            seed,
            stride=job.settings.evaluation.stride,
            held_out=job.held_out(read_manifest(manifest)["video"]),
            learner=job.settings.procedure.learner,
            annotations_csv=annotations,
        )
    elif embeddings is not None:
        from rgwot.stages.decode import decode as run

        run(embeddings, output.parent, name, job.settings, seed, alone=not task_only)
    return job.reads


@click.command()
@click.argument("segments", type=Folder)
@click.option("--output", "folder", required=True, type=Folder, help="Folder for procedure.json and deviations.csv.")
@click.option(
    "--learner",
    default=next(iter(LEARNER_NAMES)),
    show_default=True,
    type=click.Choice(list(LEARNER_NAMES)),
    help="; ".join(f"{name}: {what}" for name, what in LEARNER_NAMES.items()) + ".",
)
@click.option("--found", is_flag=True, help="A decoder found the key steps, so that every video has errors.")
def procedure(segments: Path, folder: Path, learner: str, found: bool) -> None:
    """Learn the procedure from any table of SEGMENTS (CSV), and print it.

    The columns are video, start_s, end_s (seconds) and key_step (whole numbers from 1, background 0); name is optional.
    Where there is a column scope, rows of the scope task are read.
    """
    from rgwot.procedure import FOUND, deviations, learn
    from rgwot.reporting.show import drawn
    from rgwot.stages.procedure import read_recordings, write_procedure

    if found and learner not in FOUND:
        raise RgwotError(f"--found: found the learner {learner}, expected one that allows for it: {', '.join(FOUND)}")
    recordings, names = read_recordings(segments)
    learned = learn(recordings, learner, **(FOUND[learner] if found else {}))
    deviating = deviations(learned, recordings)
    folder.mkdir(parents=True, exist_ok=True)
    write_procedure(folder, learned, deviating)
    click.echo("\n".join(drawn(learned, deviating, names)))


@click.command(cls=SettingsCommand, reads=("evaluation",), epilog="Keep the stride if scores are compared with others.")
@click.argument("output", type=Folder)
@click.option("--manifest", required=True, type=Folder, help="Manifest of the task.")
@click.option("--annotations", required=True, type=Folder, help="Annotated segments of the task.")
@click.option("--segments", required=True, type=Folder, help="Predicted segments.")
@click.option("--diagnostics", required=True, type=Folder, help="Collapse diagnostics of the prediction.")
@click.option("--procedure", type=Folder, help="Procedure of the prediction. Without it: no scores of task graphs.")
@click.option(
    "--graph", type=Folder, help="True task graph (CSV: key_step, needs). Default: as learned from the annotations."
)
@click.option("--method", required=True, help="Method id, for the table.")
@click.option("--decoder", required=True, help="Decoder id, for the table.")
@click.option("--dataset", required=True, help="Dataset id, for the table.")
@click.option("--task", required=True, help="Task id, for the table.")
@options.config
@options.seed
def evaluate(
    output: Path,
    manifest: Path,
    annotations: Path,
    segments: Path,
    diagnostics: Path,
    procedure: Path | None,
    graph: Path | None,
    configs: tuple[Path, ...],
    **identity: Any,
) -> dict[str, Any]:
    """Score a prediction by every protocol into OUTPUT (CSV)."""
    from functools import partial

    from rgwot.procedure.scoring import graph_table
    from rgwot.stages.evaluate import evaluate as run
    from rgwot.stages.procedure import read_procedure, read_task_graph
    from rgwot.study.datasets import known_K

    more = None
    if procedure is not None:
        true = None if graph is None else read_task_graph(graph)
        more = partial(graph_table, found=read_procedure(procedure), graph=true)
    dataset, task = identity["dataset"], identity["task"]
    job = options.resolved(configs, "evaluate", dataset, task)
    annotated = known_K(job.study, dataset, task) if dataset in job.study.config.datasets else None
    files = (manifest, annotations, segments, diagnostics, output)
    scoring = job.settings.evaluation
    run(*files, identity, annotated, stride=scoring.stride, more=more, also=scoring.also)
    return job.reads
