# Helpers of all rules. Facts and decisions are in the library (rgwot.study); here they meet wildcards.
import sys
from functools import wraps
from inspect import signature
from pathlib import Path

from rgwot import paths
from rgwot.cli.records import record
from rgwot.config.methods import EMBEDDINGS, method_pattern
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.provenance import record_run
from rgwot.study.ending import failures, results
from rgwot.study.starting import check_clock, layers
from rgwot.study.targets import Catalogue
from snakemake.logging import logger


report: "../report/workflow.rst"


def plainly(function):
    """Let a user's mistake end the run with one line, even inside an input function."""

    @wraps(function)
    def run(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except RgwotError as error:
            raise SystemExit(f"rgwot: {error}") from None

    return run


TABLES = Path(workflow.current_basedir.get_path_or_uri(secret_free=False)).parent / "tables.yaml"
# The files behind the configuration, so that errors name the one with the wrong value.
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
FEATURED = f"(?!{FEATURELESS}/)[^/]+"
IMPORTED = "|".join(CATALOGUE.datasets_imported())


def study(question, part=lambda answer: answer):
    """An input or params function: the catalogue's answer, or a part of it, for those wildcards that the question takes."""
    ask = getattr(CATALOGUE, question)
    named = signature(ask).parameters

    @plainly
    def answer(wildcards):
        return part(ask(**{name: value for name, value in wildcards.items() if name in named}))

    return answer


def batch(question):
    """An input or params function: the catalogue's answer for the videos of a batch."""
    ask = plainly(getattr(CATALOGUE, question))
    return lambda wildcards: ask(
        wildcards.dataset, wildcards.task, plainly(CATALOGUE.batch)(wildcards.dataset, wildcards.task, wildcards.part)
    )


def lone(question):
    """The same for one video."""
    ask = plainly(getattr(CATALOGUE, question))
    return lambda wildcards: ask(wildcards.dataset, wildcards.task, [wildcards.video])


def warn(lines):
    for line in lines:
        logger.warning(f"rgwot: {line}")


def untracked(value):
    """A params function for how a job runs, not what it makes: its changes make no result outdated.

    Snakemake takes a param that asks for `resources` as derived and keeps no record of it.
    """
    return lambda wildcards, resources: value(wildcards) if callable(value) else value


def settings_of(*blocks, execution=False):
    """A params function: blocks (or single keys) of the resolved settings as JSON.

    With `execution`, only settings that no result depends on.
    """

    @plainly
    def settings(wildcards):
        method, decoder = wildcards.get("method", "none"), wildcards.get("decoder")
        return CATALOGUE.settings_json(
            blocks, wildcards.dataset, wildcards.task, method, None if execution else decoder, execution
        )

    return settings


@plainly
def train_threads(wildcards):
    """CPU threads of a training, the same on every machine, because they change rounding."""
    return CATALOGUE.experiments.settings(wildcards.method, None, wildcards.dataset).train.threads


def figure_labels(form):
    """The labels by which a report filters figures; vector and picture of a figure differ in `form` alone."""
    return lambda wildcards: {**study("figure_labels")(wildcards), "form": form}


def doubled(first):
    """A resource (megabytes, minutes) that doubles with every attempt."""
    return lambda wildcards, attempt: first * 2 ** (attempt - 1)


def check_times():
    """Stop before the first job where Snakemake would run it and then discard its output."""
    warn(plainly(check_clock)({str(path) for job in workflow.dag.needrun_jobs() for path in job.input}))


def record_this_run():
    """Keep the whole configuration below results; the records of all jobs point there."""
    record_run(CATALOGUE.config.model_dump(by_alias=True, mode="json"), TABLES.parent)


def say_what_failed():
    """Print every failed job with its reason, after all that other jobs have printed meanwhile."""
    # There is no scheduler where Snakemake failed before the first job, and has said why.
    failed = workflow.scheduler.failed if workflow.scheduler else []
    jobs = [inner for job in failed for inner in (job if job.is_group() else [job])]
    logger.error("\n".join(failures((job.message or job.rule.name, list(map(str, job.log))) for job in jobs)))


def say_where_results_are():
    """Print the requested files at the end of a run."""
    logger.info("\n".join(results(str(path) for job in workflow.dag.targetjobs for path in (job.output or job.input))))
