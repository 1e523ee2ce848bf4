# Helpers of all rules. Facts and decisions are in the library (rgwot.study); here they meet wildcards.
import sys
from functools import wraps
from inspect import signature
from pathlib import Path

from rgwot import paths
from rgwot.config.methods import EMBEDDINGS, method_pattern
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.provenance import record_run
from rgwot.study import Catalogue, own_commands_first
from rgwot.study.starting import check_clock, layers
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
FEATURED = f"(?!{FEATURELESS}/)[^/]+"
IMPORTED = "|".join(CATALOGUE.datasets_imported())


def study(question, whole=None, sources_of=None):
    """An input or params function: what the study answers, asked with the wildcards that the question names.

    `whole` is an output that nobody reads and checks afterwards: where it is not what was written, it is made anew.
    `sources_of` is an output that is made from the answer, files of a dataset: where one of them has changed since,
    the output is outdated, whatever the times of modification.
    """
    ask = getattr(CATALOGUE, question)
    named = signature(ask).parameters

    @plainly
    def answer(wildcards):
        if whole:
            output, plan = whole.format(**wildcards), workflow.executor_plugin is None or workflow.dryrun
            damage = CATALOGUE.notice_damage(output, keep=plan)
            if damage:
                # Snakemake alone misses a printed form that is gone: it goes by what was asked for, the table.
                workflow.dag.forcefiles.add(output)
            warn(damage)
        found = ask(**{name: value for name, value in wildcards.items() if name in named})
        if sources_of:
            warn(CATALOGUE.notice_sources(sources_of.format(**wildcards), found))
        return found

    return answer


def warn(lines):
    for line in lines:
        logger.warning(f"rgwot: {line}")


def untracked(value):
    """A params function for how a job runs, not what it makes: a change of it makes no result outdated.

    Snakemake holds a param that asks for `resources` to be derived, and keeps no record of it.
    """
    return lambda wildcards, resources: value(wildcards) if callable(value) else value


def settings_of(*blocks, execution=False):
    """A params function: the named blocks (or single keys) of the resolved settings as JSON, and nothing more.

    With `execution`, of these blocks the settings on which no result depends.
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
    """The CPU threads of one training; the same on every machine, because they change rounding."""
    warning = CATALOGUE.warn_inactive_prior(wildcards.method, wildcards.dataset)
    if warning:
        logger.warning(f"note: {warning}")
    return CATALOGUE.experiments.settings(wildcards.method, None, wildcards.dataset).train.threads


def figure_labels(form):
    """What a report can be filtered by; the vector and the picture of a figure differ in their form alone."""
    return lambda wildcards: {**study("figure_labels")(wildcards), "form": form}


def memory_for(rule):
    """The memory of a job of a rule, by the size of its input, doubled with every attempt."""
    return lambda wildcards, input, attempt: plainly(CATALOGUE.memory_mb)(rule, input, attempt, **wildcards)


def time_for(rule):
    """The time of a job of a rule, by the size of its input and its settings, doubled with every attempt."""
    return lambda wildcards, input, attempt: plainly(CATALOGUE.runtime)(rule, input, attempt, **wildcards)


def check_times():
    """Stop before the first job where Snakemake would run it and then discard its output."""
    warn(plainly(check_clock)({str(path) for job in workflow.dag.needrun_jobs() for path in job.input}))


def record_this_run():
    """Keep the whole configuration below results; the records of all jobs point there."""
    record_run(CATALOGUE.config.model_dump(by_alias=True, mode="json"), TABLES.parent)


def say_where_results_are():
    """Say, at the end of a run, where what was asked for is."""
    jobs = workflow.dag.targetjobs
    found = sorted({str(path) for job in jobs for path in (job.output or job.input)})
    logger.info("\n".join(["Results:", *(f"  {path}" for path in found[:12])]))
    if len(found) > 12:
        logger.info(f"  and {len(found) - 12} more below results/")
