"""The command line: one verb per stage of the workflow. Thin: parse, call, write.

Every rule of the workflow is one such line, so a job is replayed by copying it from its log. Settings are given as one
JSON object of blocks, as in ``config.yaml``; what is left out has the default that ``config.yaml`` documents.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from rgwot import __version__
from rgwot.errors import RgwotError

F = TypeVar("F", bound=Callable[..., Any])
Folder = click.Path(path_type=Path)


def main() -> None:
    """Run the command line; a user's mistake ends in one line and exit code 1."""
    try:
        cli(standalone_mode=False)
    except RgwotError as error:
        click.echo(f"rgwot: {error}", err=True)
        sys.exit(1)
    except click.exceptions.Abort:
        click.echo("rgwot: interrupted", err=True)
        sys.exit(130)
    except click.exceptions.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except OSError as error:
        # A full disk or a forbidden folder is the user's to mend, not a bug to trace.
        told = (
            f"{error.filename}: {error.strerror}" if error.filename and error.strerror else " ".join(str(error).split())
        )
        click.echo(f"rgwot: {told}", err=True)
        sys.exit(1)


def execution_option(function: F) -> F:
    """Add ``--execution``."""
    return click.option(
        "--execution", default="{}", metavar="JSON", help="As --settings, for keys on which no result depends."
    )(function)


def settings_option(function: F) -> F:
    """Add ``--settings``."""
    return click.option(
        "--settings",
        default="{}",
        metavar="JSON",
        help='Blocks of settings as one JSON object, such as \'{"ot": {"alpha": 0.5}}\'. Default: all defaults.',
    )(function)


def seed_option(function: F) -> F:
    """Add ``--seed``."""
    return click.option(
        "--seed",
        default=0,
        show_default=True,
        type=click.IntRange(0),
        help="Seed of everything drawn at random.",
    )(function)


def threads_option(function: F) -> F:
    """Add ``--threads``."""
    return click.option(
        "--threads",
        default=1,
        show_default=True,
        type=click.IntRange(1),
        help="CPU threads. Does not change results.",
    )(function)


def device_option(function: F) -> F:
    """Add ``--device``."""
    return click.option(
        "--device",
        default="auto",
        show_default=True,
        type=click.Choice(["auto", "cpu", "cuda"]),
        help="auto takes a GPU when there is one; cuda fails without one.",
    )(function)


def hold_out_option(function: F) -> F:
    """Add ``--hold-out``."""
    return click.option(
        "--hold-out",
        "held_out",
        default="",
        metavar="VIDEO,...",
        help="Videos that only the scoring may see (data.split: holdout), by id.",
    )(function)


def video_ids(text: str) -> tuple[str, ...]:
    """Parse ``--hold-out``; an id has no comma."""
    return tuple(video for video in text.split(",") if video)


def read_object(text: str, option: str) -> dict[str, Any]:
    """Parse an option that holds a JSON object."""
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise RgwotError(f"{option}: found {text!r}, expected a JSON object ({error})") from None
    if not isinstance(content, dict):
        raise RgwotError(f"{option}: found {text!r}, expected a JSON object")
    return content


def read_settings(text: str, execution: str = "{}") -> Any:
    """Parse ``--settings`` (and ``--execution``) into validated blocks."""
    from rgwot.errors import nearest
    from rgwot.settings import BLOCKS, build, flatten

    content = read_object(text, "--settings")
    for block, keys in read_object(execution, "--execution").items():
        content[block] = {**content.get(block, {}), **keys}
    if not all(isinstance(block, dict) for block in content.values()):
        raise RgwotError(f'--settings: found {text!r}, expected a JSON object of blocks such as {{"ot": {{}}}}')
    for block in content:
        if block not in BLOCKS:
            raise RgwotError(f"--settings: unknown block {block!r}; {nearest(block, BLOCKS)}")
    return build(flatten(content), "--settings")


def key_steps(settings: Any) -> int:
    """Return K, which the workflow has resolved to a number."""
    K = settings.decode.K
    if not isinstance(K, int):
        raise RgwotError(f"decode.K: found {K!r}, expected a number here; the workflow resolves {K!r} per task")
    return K


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="rgwot")
@click.option("-v", "--verbose", is_flag=True, help="Also print debugging messages.")
def cli(verbose: bool) -> None:
    """Procedure learning from unlabelled videos: key steps, where they happen, and in what order.

    Each verb is one stage; the workflow (`snakemake results/tables/demo.csv`) calls them in order.
    """
    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.INFO,
        format="%(asctime)s %(levelname)s %(message)s",
        datefmt="%H:%M:%S",
        stream=sys.stderr,
    )
    # Chatter of libraries would bury our own lines.
    for name in ("matplotlib", "PIL", "asyncio", "numba"):
        logging.getLogger(name).setLevel(logging.WARNING)


@cli.command()
@click.argument("root", type=Folder)
@click.option(
    "--layout",
    type=click.Choice(["folder", "egoprocel", "procel", "procel_csv", "procel_stepfirst", "crosstask"]),
    help="Layout of the tree. Default: folder.",
)
@click.option("--videos", type=click.IntRange(1), help="Videos per task. Default: 10.")
@click.option("--seconds", type=float, nargs=2, metavar="MIN MAX", help="Length of a clip, seconds. Default: 40 90.")
@click.option("--recipe", type=int, help="Real human timelines of this CaptainCook4D recipe (1 to 29) drive the clips.")
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
    from rgwot.catalogue import synth_settings
    from rgwot.synthetic.write import write_dataset

    told: dict[str, Any] = {"layout": layout, "n_videos": videos, "seed": seed}
    if seconds:
        told |= {"min_s": seconds[0], "max_s": seconds[1]}
    if recipe is not None:
        told |= {"driver": "captaincook4d", "recipe": recipe}
    told = {key: value for key, value in told.items() if value is not None}
    write_dataset(synth_settings(read_object(settings, "--settings") | told), root, jobs=jobs)


@cli.command()
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
    from rgwot.config import read_files
    from rgwot.doctor import as_json, as_text, escaped, examine
    from rgwot.files import write_json

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


@cli.command()
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


def bad_video_options(function: F) -> F:
    """Add ``--on-bad-video`` and ``--frames-fps``."""
    function = click.option(
        "--on-bad-video",
        default="fail",
        show_default=True,
        type=click.Choice(["fail", "skip"]),
        help="fail ends with the reason; skip writes a store without frames, or with those that decode.",
    )(function)
    return click.option(
        "--frames-fps", metavar="RATE", help="Rate of frames stored as .h5 whose file states none, like 30000/1001."
    )(function)


def read_rate(text: str | None, option: str) -> Any:
    """Parse a rate such as 30000/1001."""
    from rgwot.rates import parse_rate

    try:
        return None if text is None else parse_rate(text)
    except ValueError as error:
        raise RgwotError(f"{option}: {error}") from None


@cli.command()
@click.argument("output", type=Folder)
@click.option("--source", required=True, type=Folder, help="The video file.")
@bad_video_options
@settings_option
@execution_option
@threads_option
@device_option
def extract(
    output: Path,
    source: Path,
    on_bad_video: Literal["fail", "skip"],
    frames_fps: str | None,
    settings: str,
    execution: str,
    threads: int,
    device: str,
) -> None:
    """Decode a video, run the frozen backbone, write the features into OUTPUT (Zarr)."""
    from rgwot.features.extract import extract as run

    run(
        source, output, read_settings(settings, execution).features,
        on_bad_video=on_bad_video, threads=threads, device=device, frames_fps=read_rate(frames_fps, "--frames-fps"),
    )  # fmt: skip


@cli.command("import-features")
@click.argument("output", type=Folder)
@click.option("--source", required=True, type=Folder, help="Features of one video: .npy, .npz, .h5, .hdf5 or .pt.")
@click.option(
    "--axes",
    required=True,
    type=click.Choice(["TCHW", "THWC", "TC", "CT"]),
    help="Order of the axes: T time, C the 1024 channels, H and W space. Never guessed.",
)
@click.option("--fps", required=True, metavar="RATE", help="Features per second, like 30 or 30000/1001.")
@click.option("--key", help="Array inside the file, where it holds several.")
@click.option("--start-s", default=0.0, show_default=True, help="Time of the first feature, seconds.")
@click.option("--duration", type=float, help="Length of the video, seconds. Or --footage.")
@click.option("--native-fps", metavar="RATE", help="Frame rate of the video, beside --duration. Default: as --fps.")
@click.option("--footage", type=Folder, help="The video file, which knows its length and rate.")
@bad_video_options
@click.option(
    "--on-mismatch",
    default="error",
    show_default=True,
    type=click.Choice(["error", "trim"]),
    help="Where number, rate and duration disagree by a sample or more: trim drops surplus features and marks a video "
    "with too few as partial.",
)
@click.option("--backbone", default="imported", show_default=True, help="Name of the network, to record.")
@click.option("--weights", default="imported", show_default=True, help="Name of its weights, to record.")
def import_features(
    output: Path,
    source: Path,
    duration: float | None,
    native_fps: str | None,
    footage: Path | None,
    on_bad_video: Literal["fail", "skip"],
    frames_fps: str | None,
    **told: Any,
) -> None:
    r"""Turn features made elsewhere into OUTPUT (Zarr), as `extract` writes it.

    For a whole dataset, let the workflow do it: an entry of config.yaml with a block `imported`, such as

    \b
      datasets:
        mine:
          layout: folder
          root: videos
          imported: {folder: features, axes: TCHW, fps: 2}

    takes features/TASK/VIDEO.npy (or features/VIDEO.npy) instead of running a network. By hand, the workflow expects
    a store at results/features/DATASET/TASK/VIDEO.zarr.
    """
    from pydantic import ValidationError

    from rgwot.features.import_settings import ImportSettings
    from rgwot.features.importing import Footage, import_video
    from rgwot.features.importing import import_features as run
    from rgwot.settings import describe

    try:
        settings = ImportSettings.model_validate(told)
    except ValidationError as error:
        raise RgwotError(f"import-features: {describe(error, ImportSettings)}") from None
    if footage is not None and duration is None and native_fps is None:
        rate = read_rate(frames_fps, "--frames-fps")
        import_video(footage, source, output, settings, on_bad_video=on_bad_video, frames_fps=rate)
    elif duration is not None and footage is None:
        run(source, output, settings, Footage(duration, read_rate(native_fps or str(settings.fps), "--native-fps")))
    else:
        raise RgwotError("import-features: expected either --duration or --footage; give one of them")


@cli.command()
@click.argument("output", type=Folder)
@click.argument("stores", type=Folder, nargs=-1, required=True)
def index(output: Path, stores: tuple[Path, ...]) -> None:
    """Check the feature STORES of a task and list them in OUTPUT (CSV)."""
    from rgwot.features.index import write_index

    write_index(list(stores), output)


@cli.command()
@click.argument("output", type=Folder)
@click.option("--index", required=True, type=Folder, help="Feature index of the task; the stores lie beside it.")
@hold_out_option
@settings_option
@execution_option
@seed_option
@device_option
def train(output: Path, index: Path, held_out: str, settings: str, execution: str, seed: int, device: str) -> None:
    """Train one encoder on the features of a task; writes OUTPUT (model.pt) and history.csv beside it."""
    from rgwot.training import train as run

    kept = video_ids(held_out)
    run(index, index.parent, output.parent, read_settings(settings, execution), seed, device=device, held_out=kept)


@cli.command()
@click.argument("output", type=Folder)
@click.option("--index", required=True, type=Folder, help="Feature index of the task; the stores lie beside it.")
@click.option("--model", type=Folder, help="Trained model. Left out: raw features, averaged over space.")
@click.option("--method", default="raw", show_default=True, help="Method id to record beside the embeddings.")
@hold_out_option
@seed_option
@threads_option
@device_option
def embed(
    output: Path,
    index: Path,
    model: Path | None,
    method: str,
    held_out: str,
    seed: int,
    threads: int,
    device: str,
) -> None:
    """Embed every video of a task into OUTPUT (Zarr); a model knows by itself which videos were held out."""
    from rgwot.embedding import embed as run

    run(
        index, index.parent, model, output,
        method=method, seed=seed, device=device, threads=threads, held_out=video_ids(held_out),
    )  # fmt: skip


@cli.command()
@click.argument("output", type=Folder)
@click.option("--embeddings", type=Folder, help="Embeddings of the task.")
@click.option("--manifest", type=Folder, help="Manifest of the task, for the trivial decoders, which see no embedding.")
@click.option("--decoder", required=True, help="graphcut, kmeans, or trivial: one_label, uniform, random.")
@hold_out_option
@settings_option
@seed_option
def decode(
    output: Path,
    embeddings: Path | None,
    manifest: Path | None,
    decoder: str,
    held_out: str,
    settings: str,
    seed: int,
) -> None:
    """Find key steps and their order; writes OUTPUT (segments.csv) and its companions beside it."""
    from rgwot.experiments import split_id
    from rgwot.methods import DECODERS

    name = split_id(decoder)[0]
    if (embeddings is None) == (manifest is None):
        raise RgwotError("decode: found neither or both of --embeddings and --manifest, expected one of them")
    if name not in DECODERS or DECODERS[name].trivial != (manifest is not None):
        fitting = [d.name for d in DECODERS.values() if d.trivial == (manifest is not None)]
        raise RgwotError(f"--decoder {decoder!r}: expected one of {', '.join(fitting)}")
    if manifest is not None:
        from rgwot.keysteps.trivial import decode_trivial

        resolved = read_settings(settings)
        stride, kept = resolved.evaluation.stride, video_ids(held_out)
        decode_trivial(manifest, output.parent, name, key_steps(resolved), seed, stride=stride, held_out=kept)
    elif embeddings is not None:
        if held_out:
            raise RgwotError(
                "--hold-out: found it beside --embeddings, which say which videos were held out; remove it"
            )
        from rgwot.keysteps.decode import decode as run

        run(embeddings, output.parent, name, read_settings(settings), seed)


@cli.command()
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


@cli.command()
@click.argument("output", type=Folder)
@click.option("--index", required=True, type=Folder, help="Feature index of the task.")
@click.option("--manifest", required=True, type=Folder, help="Manifest of the task.")
@click.option("--annotations", required=True, type=Folder, help="Annotated segments of the task.")
@settings_option
def yardsticks(output: Path, index: Path, manifest: Path, annotations: Path, settings: str) -> None:
    """Measure how hard a task is on its raw features, before any method: k-means and a supervised probe."""
    from rgwot.evaluation.difficulty import measure

    measure(index, manifest, annotations, output, key_steps(read_settings(settings)))


@cli.command()
@click.argument("output", type=Folder)
@click.argument("inputs", type=Folder, nargs=-1, required=True)
@click.option("--tables", required=True, type=Folder, help="The file that defines all tables (workflow/tables.yaml).")
@click.option("--row", help="Make this row alone, from score files. Left out: join rows into the table.")
@click.option("--method", help="With --row: method id as the score files spell it. Default: as the table does.")
@click.option("--decoder", help="With --row: decoder id as the score files spell it. Default: as the table does.")
def table(
    output: Path, inputs: tuple[Path, ...], tables: Path, row: str | None, method: str | None, decoder: str | None
) -> None:
    """Make OUTPUT (CSV) from score files (--row) or from rows, and the Markdown and LaTeX forms beside it."""
    from rgwot.reporting.render import render_table
    from rgwot.reporting.spec import find_table, load_tables
    from rgwot.reporting.tables import join_rows, make_row

    loaded = load_tables(tables)
    spec = find_table(loaded, output.parent.name if row else output.stem)
    if row:
        spelling = {key: value for key, value in {"method": method, "decoder": decoder}.items() if value}
        spec = spec.model_copy(update={"rows": (spec.row(row).model_copy(update=spelling),)})
        make_row(spec, row, inputs, output)
    else:
        join_rows(spec, inputs, output)
    render_table(spec, output)


@cli.command()
@click.argument("output", type=Folder)
@click.option("--manifest", required=True, type=Folder, help="Manifest of the task.")
@click.option("--annotations", required=True, type=Folder, help="Annotated segments of the task.")
@click.option(
    "--segments",
    required=True,
    multiple=True,
    metavar="LABEL=PATH",
    help="Predicted segments; once per row of bars.",
)
@click.option("--title", default="", help="Title: dataset, task, seed, settings.")
@click.option("--videos", default=4, show_default=True, type=click.IntRange(1), help="How many videos are drawn.")
def plot(output: Path, manifest: Path, annotations: Path, segments: tuple[str, ...], title: str, videos: int) -> None:
    """Draw key steps over time, ground truth above predictions, into OUTPUT (PDF, and PNG beside it)."""
    import pandas as pd

    from rgwot.datasets.manifest import read_manifest
    from rgwot.reporting.figures import labels_and_paths, save, segment_bars

    predictions = {label: pd.read_csv(path, dtype={"video": str}) for label, path in labels_and_paths(segments).items()}
    truth = pd.read_csv(annotations, dtype={"video": str})
    save(segment_bars(read_manifest(manifest), truth, predictions, title, videos), output)


@cli.command()
@click.argument("table", type=Folder)
@click.option("--tables", default="workflow/tables.yaml", show_default=True, type=Folder, help="Defines all tables.")
@click.option("--yardsticks", type=Folder, help="Also say how hard the clips are.")
@click.option("--procedures", type=Folder, help="Also print the procedure ranked first.")
def show(table: Path, tables: Path, yardsticks: Path | None, procedures: Path | None) -> None:
    """Print a TABLE (CSV) for people, with the yardsticks and the top-ranked procedure beside it."""
    from rgwot.reporting.render import terminal_table
    from rgwot.reporting.show import procedure_lines, yardstick_lines
    from rgwot.reporting.spec import find_table, load_tables

    click.echo(terminal_table(find_table(load_tables(tables), table.stem), table))
    for lines in (
        yardstick_lines(yardsticks) if yardsticks else [],
        procedure_lines(procedures) if procedures else [],
    ):
        click.echo()
        click.echo("\n".join(lines))


if __name__ == "__main__":
    main()
