"""Verbs before the first feature: write synthetic videos, check a dataset, list its videos."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from rgwot.cli.options import Folder, read_object
from rgwot.config.layouts import WRITTEN
from rgwot.runtime.errors import RgwotError


@click.command()
@click.argument("root", type=Folder)
@click.option(
    "--layout",
    type=click.Choice(list(WRITTEN)),
    help=f"Layout of the tree. Default: {next(iter(WRITTEN))}.",
)
@click.option("--videos", type=click.IntRange(1), help="Videos per task. Default: 10.")
@click.option("--seconds", type=float, nargs=2, metavar="MIN MAX", help="Length of a clip, seconds. Default: 40 90.")
@click.option(
    "--recipe",
    type=int,
    help="Real human timelines of this CaptainCook4D recipe (1 to 29) drive the clips; try 8. Default: none.",
)
@click.option("--seed", type=click.IntRange(0), help="The same seed gives the same ground truth. Default: 0.")
@click.option("--settings", default="{}", metavar="JSON", help="Any other setting of a `synth` block, as JSON.")
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, type=click.IntRange(1), help="Processes.")
def synth(
    root: Path,
    layout: str | None,
    videos: int | None,
    seconds: tuple[float, float] | None,
    recipe: int | None,
    seed: int | None,
    settings: str,
    jobs: int,
) -> None:
    """Write synthetic procedure videos with ground truth into ROOT."""
    from rgwot.config.synthetic import synth_settings
    from rgwot.synthetic.write import write_dataset

    told: dict[str, Any] = {"layout": layout, "n_videos": videos, "seed": seed}
    if seconds:
        told |= {"min_s": seconds[0], "max_s": seconds[1]}
    if recipe is not None:
        told |= {"driver": "captaincook4d", "recipe": recipe}
    told = {key: value for key, value in told.items() if value is not None}
    write_dataset(synth_settings(read_object(settings, "--settings") | told), root, jobs=jobs)


@click.command()
@click.argument("dataset")
@click.option(
    "--config",
    "configs",
    multiple=True,
    type=Folder,
    default=["config.yaml"],
    show_default=True,
    help="Configuration; several are merged in order.",
)
@click.option("--task", "tasks", multiple=True, help="Only this task; may be repeated. Default: all of the dataset.")
@click.option("--json", "json_to", metavar="FILE|-", help="Also write the whole report as JSON; - prints it instead.")
@click.option("--quick", is_flag=True, help="Open no video: names, sizes and annotations alone.")
@click.option("--strict", is_flag=True, help="Warnings give exit code 1, too.")
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, type=click.IntRange(1), help="Videos at once.")
def doctor(
    dataset: str,
    configs: tuple[Path, ...],
    tasks: tuple[str, ...],
    json_to: str | None,
    quick: bool,
    strict: bool,
    jobs: int,
) -> None:
    """Say what is wrong with DATASET on disk before anything is computed.

    Exit code 0: fit for use; 1: errors were found; 2: the request itself cannot be met.
    """
    from rgwot.config.configuration import read_files
    from rgwot.runtime.files import write_json
    from rgwot.study.doctor import as_json, as_text, escaped, examine

    try:
        where = " + ".join(map(str, configs))
        report = examine(read_files(configs), dataset, tasks, where=where, quick=quick, jobs=jobs)
        if json_to not in (None, "-"):
            write_json(as_json(report, strict), str(json_to))
    except RgwotError as error:
        click.echo(f"rgwot: {escaped(str(error))}", err=True)
        sys.exit(2)
    text = json.dumps(as_json(report, strict), indent=2) if json_to == "-" else as_text(report)
    # A terminal may lack letters of file names.
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    click.echo(text.encode(encoding, "backslashreplace").decode(encoding))
    sys.exit(report.exit_code(strict))


@click.command()
@click.argument("output", type=Folder)
@click.option("--dataset", required=True, help="Dataset id, such as meccano.")
@click.option("--task", required=True, help="Task id, such as meccano or Brownie.")
@click.option("--options", required=True, metavar="JSON", help='Such as \'{"layout": "folder", "root": "videos"}\'.')
@click.option("--annotations", required=True, type=Folder, help="Where to write the table of annotated segments.")
def manifest(output: Path, dataset: str, task: str, options: str, annotations: Path) -> None:
    """Probe the videos of a task and read their annotations into OUTPUT, the manifest."""
    from rgwot.datasets.manifest import write_manifest

    told = read_object(options, "--options")
    expected = {"layout", "root", "options", "on_bad_video"}
    if set(told) != expected:
        raise RgwotError(f"--options: found the keys {sorted(told)}, expected {sorted(expected)}")
    write_manifest(dataset, task, output_csv=output, annotations_csv=annotations, **told)
