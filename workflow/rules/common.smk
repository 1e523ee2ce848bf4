# Helpers of all rules. Facts and decisions are in the library (rgwot.study); here they meet wildcards.
import shlex
import sys
from functools import wraps
from pathlib import Path

from rgwot.study import Catalogue, own_commands_first
from rgwot.runtime.errors import RgwotError
from rgwot.config.methods import EMBEDDINGS, method_pattern
from rgwot.study.needs import NEEDS, features_mb, map_cells, megabytes, memory_mb, runtime, train_minutes
from rgwot.runtime.provenance import record_run
from rgwot.study.starting import layers
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
# The files behind the configuration, so that a mistake is told with the one that it stands in.
LAYERS = plainly(layers)(map(Path, workflow.configfiles), workflow.config_settings.config)
CATALOGUE = plainly(Catalogue)(config, TABLES, LAYERS)
# Checked before any job runs: paths on the command line that name an unknown dataset, task, method or decoder.
plainly(CATALOGUE.check_targets)(sys.argv[1:])

# And the tables and figures themselves, whatever was asked for.
plainly(lambda: (CATALOGUE.tables, CATALOGUE.figures))()

GPUS = CATALOGUE.gpus()
# Which methods train an encoder, read no features at all, or embed in some other way.
ENCODED, FEATURELESS = method_pattern("encoder"), method_pattern("none")
OTHERWISE_EMBEDDED = method_pattern(*EMBEDDINGS.keys() - {"encoder", "none"})
IMPORTED = "|".join(CATALOGUE.datasets_imported())


def noticing(output, files):
    """These files, after an output made from them is marked as outdated where one of them has changed since."""
    for line in CATALOGUE.notice_sources(output, files):
        logger.warning(f"rgwot: {line}")
    return files


def whole(*outputs):
    """See to it that finished files that nobody reads are what was written; else the next run makes them anew."""
    for output in outputs:
        for line in CATALOGUE.notice_damage(output, keep=workflow.executor_plugin is None or workflow.dryrun):
            logger.warning(f"rgwot: {line}")


@plainly
def dataset_files(wildcards):
    """Everything on disk a task's manifest rests on: its videos and annotations, or the synthetic dataset."""
    files = CATALOGUE.files(wildcards.dataset, wildcards.task)
    return noticing(f"results/manifest/{wildcards.dataset}/{wildcards.task}.csv", files)


@plainly
def video_file(wildcards):
    """The file of one video, or the synthetic dataset that holds it."""
    task = (wildcards.dataset, wildcards.task)
    CATALOGUE.check_left_out(*task, wildcards.video)
    store = f"results/features/{'/'.join(task)}/{wildcards.video}.zarr"
    return noticing(store, [CATALOGUE.video_file(*task, wildcards.video)])[0]


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
    task = (wildcards.dataset, wildcards.task)
    store = f"results/features/{'/'.join(task)}/{wildcards.video}.zarr"
    return noticing(store, [CATALOGUE.feature_file(*task, wildcards.video)])[0]


@plainly
def import_options(wildcards):
    """What has to be told about features made elsewhere."""
    return CATALOGUE.import_options(wildcards.dataset)


@plainly
def feature_stores(wildcards):
    """The feature stores of all videos of a task."""
    CATALOGUE.check_left_out(wildcards.dataset, wildcards.task)
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
def embedding_options(wildcards):
    """The settings that an embedding made without an encoder reads, as an option."""
    return CATALOGUE.embedding_options(wildcards.dataset, wildcards.task, wildcards.method)


@plainly
def paper_files(wildcards):
    """Every table and every figure of the paper."""
    figures = [f"results/figures/{figure}.pdf" for figure in CATALOGUE.figures.figures]
    return CATALOGUE.paper_tables() + figures


@plainly
def row_inputs(wildcards):
    """The files behind one row of a table: scores, or times of trainings."""
    whole(f"results/tables/{wildcards.table}/{wildcards.row}.csv")
    return CATALOGUE.row_inputs(wildcards.table, wildcards.row)


@plainly
def table_rows(wildcards):
    """The rows of a table."""
    whole(f"results/tables/{wildcards.table}.csv")
    return [f"results/tables/{wildcards.table}/{row.id}.csv" for row in CATALOGUE.any_table(wildcards.table).rows]


@plainly
def row_options(wildcards):
    """What a row is told besides its files: method and decoder as score files spell them, or resolved settings."""
    return CATALOGUE.row_options(wildcards.table, wildcards.row)


@plainly
def row_content(wildcards):
    """What a row is made from; tracked, so that an edited tables.yaml renews what it changes."""
    return CATALOGUE.table_content(wildcards.table, wildcards.row)


@plainly
def table_content(wildcards):
    """What a table is made from, labels and notes included."""
    return CATALOGUE.table_content(wildcards.table)


def table_caption(wildcards, resources):
    """What the report says of a table: data, seeds, protocols, methods. Not tracked."""
    return plainly(CATALOGUE.table_caption)(wildcards.table)


@plainly
def table_labels(wildcards):
    """What the report can filter tables by."""
    return CATALOGUE.table_labels(wildcards.table)


@plainly
def reported_files(wildcards):
    """The reported numbers of a table, or of one row of it."""
    return CATALOGUE.reported_files(wildcards.table, wildcards.get("row"))


@plainly
def figure_files(wildcards):
    """The files that a figure is drawn from."""
    whole(f"results/figures/{wildcards.figure}.pdf")
    return CATALOGUE.figure_plan(wildcards.figure).files()


@plainly
def figure_plan(wildcards):
    """What a figure is drawn from, as JSON; tracked, so that an edited tables.yaml renews what it changes."""
    return CATALOGUE.figure_plan(wildcards.figure).model_dump_json(exclude_defaults=True)


def figure_caption(wildcards, resources):
    """What the report says of a figure: its title, what it shows, of which data, with which settings. Not tracked."""
    return plainly(CATALOGUE.figure_plan)(wildcards.figure).caption()


def figure_labels(form):
    """What a report can be filtered by; the vector and the picture of a figure differ in their form alone."""
    return plainly(lambda wildcards: {**CATALOGUE.figure_plan(wildcards.figure).labels(), "form": form})


def dataset_root(wildcards):
    """The folder of a dataset."""
    return str(CATALOGUE.root(wildcards.dataset))


def task_videos(output):
    """An input function: the video files of a task, or the synthetic dataset that holds them, for a rule's output."""

    @plainly
    def videos(wildcards):
        return noticing(output.format(**wildcards), CATALOGUE.task_videos(wildcards.dataset, wildcards.task))

    return videos


@plainly
def names_file(wildcards):
    """The names that people gave to the key steps of a task, once there are some."""
    return CATALOGUE.names_there(wildcards.dataset, wildcards.task)


@plainly
def names_option(wildcards):
    """The option that tells where the names of key steps are."""
    return shlex.join(["--names", CATALOGUE.names_file(wildcards.dataset, wildcards.task)])


@plainly
def first_files(wildcards):
    """Pages and tables of what needs no training."""
    return CATALOGUE.first_files()


@plainly
def page_files(wildcards):
    """Everything the page of a task is made from."""
    whole(f"results/report/{wildcards.dataset}/{wildcards.task}.html")
    return CATALOGUE.page_files(wildcards.dataset, wildcards.task)


@plainly
def page_options(wildcards):
    """Which results a page shows, those that are there without being asked for last; where videos and names are."""
    return CATALOGUE.page_options(wildcards.dataset, wildcards.task)


@plainly
def page_views(wildcards):
    """The results that somebody wanted to see in detail."""
    return CATALOGUE.page_views(wildcards.dataset, wildcards.task)


@plainly
def index_pages(wildcards):
    """The pages that the list of pages leads to."""
    return CATALOGUE.index_pages()


@plainly
def other_pages(wildcards):
    """The pages that are there without being asked for."""
    return CATALOGUE.other_pages()


def record_this_run():
    """Keep the whole configuration below results; the records of all jobs point there."""
    record_run(CATALOGUE.config.model_dump(by_alias=True, mode="json"), TABLES.parent)


def say_where_results_are():
    """Say, at the end of a run, where what was asked for is."""
    jobs = workflow.dag.targetjobs
    paths = sorted({str(path) for job in jobs for path in (job.output or job.input)})
    logger.info("\n".join(["Results:", *(f"  {path}" for path in paths[:12])]))
    if len(paths) > 12:
        logger.info(f"  and {len(paths) - 12} more below results/")


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


@plainly
def size_of(name, wildcards, input):
    """The size of a job's input, in what its rule's need is counted in."""
    counted = NEEDS[name].size
    if counted == "file_mb":
        return megabytes(input[:1])
    if counted == "features_mb":
        settings = CATALOGUE.experiments.settings(wildcards.method, None, wildcards.dataset)
        held = features_mb(input[0], map_cells(settings.features.size))
        return min(held, 1000 * settings.train.memory_gb)
    if counted == "videos":
        tasks = [wildcards.task] if hasattr(wildcards, "task") else CATALOGUE.tasks(wildcards.dataset)
        return sum(len(CATALOGUE.videos(wildcards.dataset, task)) for task in tasks)
    return 0


def memory_for(name):
    """The memory of a job of a rule, by the size of its input, doubled with every attempt."""
    return lambda wildcards, input, attempt: memory_mb(name, size_of(name, wildcards, input), attempt)


def time_for(name):
    """The time of a job of a rule, by the size of its input and what its settings ask for, doubled with every attempt."""

    @plainly
    def time(wildcards, input, attempt):
        more = 0
        if NEEDS[name].size == "features_mb":  # a training
            settings = CATALOGUE.experiments.settings(wildcards.method, None, wildcards.dataset)
            # A submit host without a GPU says nothing about the nodes; only `device: cpu` means the slow way.
            device = "cpu" if CATALOGUE.config.device == "cpu" else "gpu"
            more = train_minutes(settings.train.iterations, settings.train.N, settings.encoder.channels, device)
        return runtime(name, size_of(name, wildcards, input), attempt, more)

    return time
