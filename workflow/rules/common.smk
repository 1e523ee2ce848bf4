# Helpers of all rules. Facts and decisions are in the library (rgwot.study); input functions pass wildcards on to it.
import shlex
from functools import wraps
from pathlib import Path

from rgwot import paths
from rgwot.config.experiments import family_of
from rgwot.config.methods import EMBEDDING_KINDS, method_pattern
from rgwot.reporting import targets
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.provenance import note_revision
from rgwot.study import datasets, jobs, pages
from rgwot.study.study import Study, configuration_path, write_configuration


report: "../report/workflow.rst"


def one_line_errors(function):
    """Let a user's mistake end the run with one line, even inside an input function."""

    @wraps(function)
    def run(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except RgwotError as error:
            raise SystemExit(f"rgwot: {error}") from None

    return run


STUDY = one_line_errors(Study.of)(config)
# Tables and figures are checked whatever is asked for.
one_line_errors(targets.targets)(STUDY)

GPUS = jobs.gpus(STUDY)
# Which methods train an encoder, read no features at all, or embed in some other way.
# A name that is none of them goes to the first, where `known` refuses it.
FEATURELESS, OTHERWISE_EMBEDDED = method_pattern("none"), method_pattern(*EMBEDDING_KINDS.keys() - {"encoder", "none"})
ENCODED, FEATURED = f"(?!(?:{FEATURELESS}|{OTHERWISE_EMBEDDED})/)[^/]+", f"(?!{FEATURELESS}/)[^/]+"
# Models and pages of this run, and what each is of: noted when Snakemake asks for the input of their rules.
MODELS, PAGES = {}, {}
IMPORTED = "|".join(sorted(name for name, entry in STUDY.config.datasets.items() if entry.imported))


@one_line_errors
def known(wildcards):
    """An input function without files: refuse, before any job runs, what is unknown or not spelt in its one way."""
    w = wildcards
    jobs.check_result(STUDY, w.dataset, w.task, w.method, w.get("decoder"))
    return []


def noted(asked, template):
    """An input function without files, which notes the output that is asked for."""

    def note(wildcards):
        asked[template.format(**dict(wildcards.items()))] = wildcards
        return []

    return note


def batch(function):
    """An input or params function: what a function of `rgwot.study.datasets` returns for the videos of a batch."""

    @one_line_errors
    def of_batch(wildcards):
        task = STUDY, wildcards.dataset, wildcards.task
        return function(*task, datasets.batch(*task, wildcards.part))

    return of_batch


def lone(function):
    """The same for one video."""
    return one_line_errors(lambda wildcards: function(STUDY, wildcards.dataset, wildcards.task, [wildcards.video]))


def options(**files):
    """Options of a command, for the files that are there."""
    return " ".join(f"--{name} {shlex.quote(str(file))}" for name, file in files.items() if file)


def result(*names):
    """The files of a result by name, all of them by default."""
    files = {Path(file).stem: file for file in paths.KEYSTEPS}
    return {name: files[name] for name in names or files}


@one_line_errors
def table_labels(wildcards):
    """The labels by which a report filters tables."""
    return targets.table_labels(STUDY, wildcards.table)


def figure_labels(form):
    """The labels by which a report filters figures; vector and picture of a figure differ in `form` alone."""
    return one_line_errors(lambda w: {**targets.figure_labels(STUDY, w.figure), "form": form})


def result_labels(**more):
    """The labels by which a report filters what is about a single result."""
    return {name: f"{{{name}}}" for name in ("dataset", "task", "method", "decoder", "seed")} | more


def settings_of(stage):
    """A params function: the settings by which a stage and those before it go; a change makes its results outdated.

    The job itself resolves them in the same way, from the configuration of the run.
    """

    @one_line_errors
    def settings(wildcards):
        w = wildcards
        return jobs.tracked_settings(STUDY, stage, w.dataset, w.task, w.get("method", "none"), w.get("decoder"))

    return settings


def untracked(value):
    """A params function for what changes no result: its changes make none outdated.

    Snakemake takes a param that asks for `resources` as derived and keeps no record of it.
    """
    return lambda wildcards, resources: value(wildcards) if callable(value) else value


def doubled(**first):
    """Resources (megabytes, minutes) that double with every attempt."""
    return {name: lambda wildcards, attempt, one=one: one * 2 ** (attempt - 1) for name, one in first.items()}


def announce():
    """Say before the first job what may surprise: settings that methods replace, hours of training."""
    trainings = [(w.method, w.dataset) for model, w in MODELS.items() if not Path(model).exists()]
    lines = [*jobs.replaced(STUDY, [Path("config.yaml")]), jobs.long_trainings(STUDY, trainings)]
    for line in filter(None, lines):
        logger.warning(f"note: {line}")


# Where jobs read the configuration of the run. What of it concerns a job is among its params.
CONFIGURATION = untracked(str(configuration_path(STUDY.config)))
