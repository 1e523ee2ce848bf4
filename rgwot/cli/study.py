"""Verbs for a study: start it, get data, run it, and check data and results."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import click

from rgwot.runtime.errors import RgwotError, install

Folder = click.Path(path_type=Path)


@click.command()
@click.argument("folder", type=Folder, default=Path())
@click.option(
    "--videos", type=Folder, help="Folder of your videos, with one folder per task in it. Default: FOLDER/videos."
)
def init(folder: Path, videos: Path | None) -> None:
    """Start a study in FOLDER (default: the current folder): write config.yaml, a Snakefile and .gitignore.

    If one of these files exists already, nothing is written.
    """
    from importlib.util import find_spec

    from rgwot.columns import readable
    from rgwot.study.shipped import STUDY_FILES, start_study

    if find_spec("snakemake") is None:
        click.echo(f"The workflow is not installed yet; {install('all')}")

    tasks = start_study(folder, videos)
    click.echo(f"{folder}: wrote {', '.join(STUDY_FILES)}")
    for task, what in tasks.items():
        click.echo(f"Task {readable(task)}: {what}")
    if not tasks:
        click.echo(f"Put your videos into {(videos or folder / 'videos') / 'TASK'}, two or more per task.")
    change_folder = "" if folder.resolve() == Path.cwd() else f"cd {shlex.quote(str(folder))} && "
    click.echo(f"Then check the videos with {change_folder}rgwot doctor, and get a first result with rgwot run first")


class _Verbatim(click.Command):
    """A command that passes its arguments on unchanged, including ``--``; it handles only a lone ``--help`` itself."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the arguments unchanged."""
        if args in (["--help"], ["-h"]):
            return super().parse_args(ctx, args)
        ctx.params["arguments"] = tuple(args)
        return []


@click.command(
    cls=_Verbatim,
    help="""Run the workflow in this folder: Snakemake with the workflow of the package, by default on all cores.

\b
  rgwot run first                           the pages of all tasks
  rgwot run results/report/mine/TASK.html   the page of a task
  rgwot run -n first                        show what would be done
  rgwot run --cores 4 --configfile more.yaml -- first

Without a target, the key steps of page.methods in config.yaml are made, without a page. The folder needs a config.yaml
(see rgwot init). A Snakefile in the folder is used instead of the workflow of the package.
""",
)
@click.argument("arguments", nargs=-1, metavar="[TARGET]... [OPTION OF SNAKEMAKE]...")
def run(arguments: tuple[str, ...]) -> None:
    """Run the workflow in this folder."""
    from rgwot.study.shipped import snakemake_command

    command = snakemake_command(arguments)
    sys.stdout.flush()
    os.execv(command[0], command)


@click.command()
@click.argument("dataset", required=False)
@click.option(
    "--config",
    "configs",
    multiple=True,
    type=Folder,
    default=["config.yaml"],
    show_default=True,
    help="Configuration file; several are merged in order.",
)
@click.option("--task", "tasks", multiple=True, help="Only this task; may be repeated. Default: all.")
@click.option(
    "--json", "json_to", metavar="FILE|-", help="Also write the report as JSON; - prints it instead of the text."
)
@click.option("--quick", is_flag=True, help="Check only names, sizes and annotations, without opening videos.")
@click.option("--strict", is_flag=True, help="Exit with code 1 also for warnings.")
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, type=click.IntRange(1), help="Videos at once.")
def doctor(
    dataset: str | None,
    configs: tuple[Path, ...],
    tasks: tuple[str, ...],
    json_to: str | None,
    strict: bool,
    **how: Any,
) -> None:
    """Check DATASET on disk before a run; by default all datasets with pages (page.datasets).

    Exit code 0: usable; 1: there are errors; 2: the check could not be made.
    """
    from rgwot.config.configuration import load_config, read_files
    from rgwot.runtime.files import write_json
    from rgwot.study.doctor import examine
    from rgwot.study.findings import as_json, as_text

    try:
        where, content = " + ".join(map(str, configs)), read_files(configs)
        datasets = [dataset] if dataset else load_config(content, where).page_datasets
        reports = [examine(content, name, tasks, where=where, **how) for name in datasets]
        contents = [as_json(report, strict) for report in reports]
        as_written = contents[0] if dataset else contents
        if json_to not in (None, "-"):
            write_json(as_written, str(json_to))
    except RgwotError as error:
        click.echo(f"rgwot: {error}", err=True)
        sys.exit(2)
    text = json.dumps(as_written, indent=2) if json_to == "-" else "\n\n".join(map(as_text, reports))
    # Characters of file names that the terminal cannot show are escaped.
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    click.echo(text.encode(encoding, "backslashreplace").decode(encoding))
    sys.exit(max((report.exit_code(strict) for report in reports), default=0))


@click.command()
@click.argument("results", type=Folder, default=Path("results"))
def verify(results: Path) -> None:
    """Compare every file of RESULTS with the SHA-256 in the record of its job, and list those that differ.

    In the folder of a study, videos and files of features are compared with those from which results were made.

    Exit code 0: all files are unchanged; 1: some differ. Each line ends with the command that makes the file again.
    """
    from rgwot.config.configuration import load_config, read_files
    from rgwot.paths import RESULTS
    from rgwot.runtime.provenance import differences
    from rgwot.study import datasets
    from rgwot.study.study import Study

    checked, lines = differences(results)
    # The sources are known only in the folder of the study.
    config = Path("config.yaml")
    if config.is_file() and results.resolve() == Path(RESULTS).resolve():
        study = Study(load_config(read_files([config]), str(config)))
        lines += [f"{source}: {datasets.CHANGED}" for source in datasets.every_changed_source(study)]
    for line in lines:
        click.echo(line)
    click.echo(f"{checked} files checked, {len(lines)} differ")
    sys.exit(1 if lines else 0)


@click.command("import-lerobot")
@click.argument("dataset", type=Folder)
@click.argument("output", type=Folder)
@click.option("--camera", help="Video feature (camera), such as observation.images.top. Default: the only one.")
@click.option(
    "--on-bad-video",
    default="fail",
    show_default=True,
    type=click.Choice(["fail", "skip"]),
    help="For missing video files: fail stops, skip leaves out their episodes.",
)
def import_lerobot(dataset: Path, output: Path, camera: str | None, on_bad_video: str) -> None:
    """Cut the episodes of a LeRobot DATASET (v2.1 or v3) into videos in OUTPUT, a folder per task (`layout: folder`).

    Subtasks become annotations. `rgwot export lerobot` with --root OUTPUT writes results as files to copy over the
    dataset.
    """
    from rgwot.datasets.lerobot import import_episodes

    number = import_episodes(dataset, output, camera, on_bad_video)
    click.echo(f"{output}: wrote {number} episodes of {dataset}; use it as root of a dataset with layout: folder")


@click.command()
@click.argument("name", required=False)
@click.option("--accept", is_flag=True, help="Download, and accept the terms, which are printed without this option.")
@click.option("--to", "data", type=Folder, default=Path("data"), show_default=True, help="Folder of all downloads.")
@click.option(
    "--from", "mirror", metavar="ADDRESS", help="A mirror of the folder of all downloads (file:// or https://)."
)
def fetch(name: str | None, accept: bool, data: Path, mirror: str | None) -> None:
    """Download published features into data/NAME, where published_features.yaml expects them, or list all names.

    Run the command again to resume an interrupted download. Proxies of the environment (https_proxy) are used.
    """
    from urllib.parse import urlsplit

    from rgwot.datasets.fetch import fetch as download
    from rgwot.datasets.fetch import sources

    if mirror and urlsplit(mirror).scheme not in ("file", "http", "https"):
        raise RgwotError(f"--from: found {mirror}, expected file:///folder or https://...")
    if name is None:
        for source in dict.fromkeys(row.name for row in sources()):
            click.echo(f"{source}: {', '.join(row.size for row in sources(source))}")
        return
    rows = sources(name)
    by_hand = list(dict.fromkeys(row.by_hand for row in rows if row.by_hand))
    for row in rows:
        if row.address and not mirror:
            checked = "SHA-256 is checked" if row.sha256 else "no checksum is published"
            click.echo(f"{row.address}\n  size: {row.size}; terms: {row.terms}; {checked}")
    if not accept:
        click.echo("\n".join(f"by hand, in {data / rows[0].folder}: {step}" for step in by_hand))
        if mirror or any(row.address for row in rows):
            more = f" --from {mirror}" if mirror else ""
            click.echo(f"nothing was downloaded; if you accept the terms: rgwot fetch {rows[0].name}{more} --accept")
        sys.exit(1)
    for path in download(rows, data, mirror or ""):
        click.echo(f"{path}: fetched")
    if not mirror:
        click.echo("\n".join(f"still by hand, in {data / rows[0].folder}: {step}" for step in by_hand))
