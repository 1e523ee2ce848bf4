"""Verbs that score predictions, and tasks before any method runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rgwot.cli.options import Folder, read_settings, seed_option, settings_option
from rgwot.cli.options import key_steps as resolved_key_steps
from rgwot.cli.settings_help import SettingsCommand


@click.command(
    cls=SettingsCommand, reads=("evaluation",), epilog="Leave the stride alone where scores are compared with others."
)
@click.argument("output", type=Folder)
@click.option("--manifest", required=True, type=Folder, help="Manifest of the task.")
@click.option("--annotations", required=True, type=Folder, help="Annotated segments of the task.")
@click.option("--segments", required=True, type=Folder, help="Predicted segments.")
@click.option("--diagnostics", required=True, type=Folder, help="Collapse diagnostics of the prediction.")
@click.option("--key-steps", type=click.IntRange(1), help="Annotated key steps of the task. Default: as many as occur.")
@click.option("--dataset", required=True, help="Dataset id, for the table.")
@click.option("--task", required=True, help="Task id, for the table.")
@click.option("--method", required=True, help="Method id, for the table.")
@click.option("--decoder", required=True, help="Decoder id, for the table.")
@settings_option
@seed_option
def evaluate(
    output: Path,
    manifest: Path,
    annotations: Path,
    segments: Path,
    diagnostics: Path,
    key_steps: int | None,
    settings: str,
    **identity: Any,
) -> None:
    """Score a prediction under every protocol into OUTPUT (CSV)."""
    from rgwot.evaluation.evaluate import evaluate as run

    stride = read_settings(settings).evaluation.stride
    run(manifest, annotations, segments, diagnostics, output, identity, key_steps, stride=stride)


@click.command(cls=SettingsCommand, reads=("decode.K",), epilog="Try the number of annotated key steps, and one more.")
@click.argument("output", type=Folder)
@click.option("--index", required=True, type=Folder, help="Feature index of the task.")
@click.option("--manifest", required=True, type=Folder, help="Manifest of the task.")
@click.option("--annotations", required=True, type=Folder, help="Annotated segments of the task.")
@settings_option
def yardsticks(output: Path, index: Path, manifest: Path, annotations: Path, settings: str) -> None:
    """Measure how hard a task is on its raw features, before any method: k-means and a supervised probe."""
    from rgwot.evaluation.yardsticks import measure

    measure(index, manifest, annotations, output, resolved_key_steps(read_settings(settings)))
