# Helpers of all rules. Facts and decisions are in the library (rgwot.catalogue); here they meet wildcards.
import sys
from functools import wraps
from pathlib import Path

from rgwot.catalogue import Catalogue, own_commands_first
from rgwot.errors import RgwotError
from snakemake.logging import logger


report: "../report/workflow.rst"


def plainly(function):
    """A user's mistake ends the run with its one line, also from inside an input function."""

    @wraps(function)
    def told(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except RgwotError as error:
            raise SystemExit(f"rgwot: {error}") from None

    return told


own_commands_first()
TABLES = Path(workflow.current_basedir.get_path_or_uri(secret_free=False)).parent / "tables.yaml"
CATALOGUE = plainly(Catalogue)(config, TABLES)
# Checked before any job runs: paths on the command line that name an unknown dataset, task, method or decoder.
plainly(CATALOGUE.check_targets)(sys.argv[1:])

GPUS = CATALOGUE.gpus()
IMPORTED = "|".join(CATALOGUE.datasets_imported())


@plainly
def dataset_files(wildcards):
    """Everything on disk a task's manifest rests on: its videos and annotations, or the synthetic dataset."""
    return CATALOGUE.files(wildcards.dataset, wildcards.task)


@plainly
def video_file(wildcards):
    """The file of one video, or the synthetic dataset that holds it."""
    return CATALOGUE.video_file(wildcards.dataset, wildcards.task, wildcards.video)


@plainly
def weights_file(wildcards):
    """The checkpoint of the backbone, where the configuration names a file."""
    return CATALOGUE.weights_file(wildcards.dataset)


@plainly
def video_path(wildcards):
    """The path of one video, there already or yet to be written."""
    return CATALOGUE.video_path(wildcards.dataset, wildcards.task, wildcards.video)


@plainly
def frames_rate(wildcards):
    """The option that tells the rate of stored frames, where the configuration has it."""
    rate = CATALOGUE.frames_fps(wildcards.dataset)
    return f"--frames-fps {rate}" if rate else ""


@plainly
def feature_file(wildcards):
    """The file with features of one video that were made elsewhere."""
    return CATALOGUE.feature_file(wildcards.dataset, wildcards.task, wildcards.video)


@plainly
def import_options(wildcards):
    """What has to be told about features made elsewhere."""
    return CATALOGUE.import_options(wildcards.dataset)


@plainly
def feature_stores(wildcards):
    """The feature stores of all videos of a task."""
    videos = CATALOGUE.videos(wildcards.dataset, wildcards.task)
    return [f"results/features/{wildcards.dataset}/{wildcards.task}/{video}.zarr" for video in videos]


@plainly
def manifest_options(wildcards):
    """What the manifest stage has to know of the dataset, as JSON."""
    return CATALOGUE.manifest_options(wildcards.dataset)


@plainly
def train_threads(wildcards):
    """The CPU threads of one training; the same on every machine, because they change rounding."""
    warning = CATALOGUE.warn_inactive_prior(wildcards.method, wildcards.dataset)
    if warning:
        logger.warning(f"note: {warning}")
    return CATALOGUE.experiments.settings(wildcards.method, None, wildcards.dataset).train.threads


@plainly
def annotated_key_steps(wildcards):
    """The option that tells the number of annotated key steps, where it is known before the annotations are read."""
    number = CATALOGUE.key_steps(wildcards.dataset, wildcards.task)
    return "" if number is None else f"--key-steps {number}"


@plainly
def hold_out(wildcards):
    """The option that names the videos kept from training and clustering, where the method holds some out."""
    videos = CATALOGUE.held_out(wildcards.dataset, wildcards.task, wildcards.method)
    return f"--hold-out {','.join(videos)}" if videos else ""


@plainly
def row_scores(wildcards):
    """The score files behind one row of a table."""
    return CATALOGUE.score_files(wildcards.table, wildcards.row)


@plainly
def table_rows(wildcards):
    """The rows of a table."""
    return [f"results/tables/{wildcards.table}/{row.id}.csv" for row in CATALOGUE.table(wildcards.table).rows]


@plainly
def row_spelling(wildcards):
    """The options that tell method and decoder of a row as score files spell them."""
    row = CATALOGUE.table(wildcards.table).row(wildcards.row)
    return f"--method {row.method} --decoder {row.decoder}"


@plainly
def row_content(wildcards):
    """What a row is made from; tracked, so that an edited tables.yaml renews what it changes."""
    return CATALOGUE.table_content(wildcards.table, wildcards.row)


@plainly
def table_content(wildcards):
    """What a table is made from, labels and notes included."""
    return CATALOGUE.table_content(wildcards.table)


@plainly
def reported_files(wildcards):
    """The reported numbers of a table."""
    return CATALOGUE.reported_files(wildcards.table)


def settings_of(*blocks):
    """A params function: the named blocks (or single keys) of the resolved settings as JSON, and nothing more."""

    @plainly
    def settings(wildcards):
        return CATALOGUE.settings_json(
            blocks,
            wildcards.dataset,
            wildcards.task,
            getattr(wildcards, "method", "none"),
            getattr(wildcards, "decoder", None),
        )

    return settings


def execution_of(*blocks):
    """A params function: the settings of the named blocks on which no result depends, as JSON; not tracked."""

    @plainly
    def settings(wildcards, resources):
        method = getattr(wildcards, "method", "none")
        return CATALOGUE.settings_json(blocks, wildcards.dataset, wildcards.task, method, None, True)

    return settings


def untracked(value):
    """A params function for how a job runs, not what it makes: a change of it makes no result outdated.

    Snakemake holds a param that asks for `resources` to be derived, and keeps no record of it.
    """
    return lambda wildcards, resources: value


def by_attempt(megabytes):
    """Memory that doubles with every attempt."""
    return lambda wildcards, attempt: megabytes * 2 ** (attempt - 1)
