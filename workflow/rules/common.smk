# Helpers of all rules. Facts and decisions are in the library (rgwot.study); input functions pass wildcards on to it.
import os
from functools import wraps
from inspect import signature
from itertools import chain
from pathlib import Path

from snakemake.io import IOFile

from rgwot import paths
from rgwot.config.experiments import family_of
from rgwot.config.methods import method_pattern
from rgwot.reporting import targets
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import check_writable
from rgwot.runtime.notes import FOLDER_VARIABLE, follow
from rgwot.runtime.provenance import note_revision, stamp
from rgwot.study import datasets, jobs, pages
from rgwot.study.study import CONFIGURATIONS, Study, configuration_of_the_run


report: "../report/workflow.rst"


def one_line_errors(function):
    """Let a user's mistake end the run with one line, even inside an input function."""

    @wraps(function)
    def run(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except RgwotError as error:
            raise SystemExit(f"rgwot: {error}") from None

    # Snakemake asks for it once per job.
    run.__signature__ = signature(function)
    return run


# A job on a cluster reads the files of the configuration again, which somebody may have edited since the run began.
began_with = one_line_errors(configuration_of_the_run)(config, not workflow.is_main_process)
config.clear()
config.update(began_with)
# Check this before Snakemake fails because of it.
one_line_errors(check_writable)(Path.cwd())
STUDY = one_line_errors(Study.of)(config)


envvars:
    CONFIGURATIONS,


GPUS = jobs.gpus(STUDY)
# Patterns of methods that read no features, that embed without an encoder, that train one, and that read features.
# An unknown name matches the third pattern, whose rules refuse it by `known`.
FEATURELESS = method_pattern(lambda family: family.name == "none")
OTHERWISE_EMBEDDED = method_pattern(lambda family: not family.trained and family.name != "none")
ENCODED, FEATURED = f"(?!(?:{FEATURELESS}|{OTHERWISE_EMBEDDED})/)[^/]+", f"(?!{FEATURELESS}/)[^/]+"
# Categories of results in a report of Snakemake, by the captions of workflow/report.
CATEGORIES = {
    "segments": "Key steps over time", "page": "Pages", "index": "Pages", "table": "Tables", "figure": "Figures",
    "groups": "Groups",
}  # fmt: skip
LOCKED = "another run is at work on these results, or one was killed; wait for it, or if none runs, rgwot run --unlock"
# Models (method and dataset of each) and pages of this run, noted when Snakemake asks for the input of their rules.
MODELS, PAGES = {}, {}
# Pattern of the datasets with imported features; if there are none, it matches no name.
IMPORTED = "|".join(sorted(name for name, entry in STUDY.config.datasets.items() if entry.imported)) or "(?!)"


def known(template):
    """An input function that refuses, before any job runs, ids that are unknown or not in canonical form."""

    @one_line_errors
    def files(wildcards):
        w = wildcards
        jobs.check_result(STUDY, w.dataset, w.task, w.method, w.get("decoder"))
        return template.format(**w)

    return files


def of_result(function):
    """An input function: what a function of `rgwot.study` returns for a method and decoder on a task."""
    return one_line_errors(lambda w: function(STUDY, w.dataset, w.task, w.method, w.decoder))


@one_line_errors
def unedited(wildcards, template):
    """A file behind key steps; edited key steps are refused, unless they are to be made again."""
    forced = (getattr(workflow.dag_settings, name, None) for name in ("forceall", "forcetargets", "forcerun"))
    if not any(forced):
        jobs.check_unedited(Path(paths.SEGMENTS.format(**wildcards)).parent)
    return known(template)(wildcards)


def decoded_from(wildcards):
    """The files behind the key steps of a method: embeddings, and annotations if these teach."""
    embeddings = unedited(wildcards, paths.EMBEDDINGS)
    return {"embeddings": embeddings, "annotations": of_result(jobs.teaching)(wildcards)}


@one_line_errors
def expected_by(wildcards):
    """The procedure that the dataset expects, if labels name the key steps of the result."""
    w = wildcards
    return pages.expected_there(STUDY, w.dataset, w.task) if jobs.learns_from_labels(w.decoder) else []


@one_line_errors
def training_files(wildcards):
    """The index behind a training, whose model is noted; methods without an encoder are refused."""
    w, index = wildcards, known(paths.INDEX)(wildcards)
    jobs.check_trained(w.method)
    MODELS[paths.MODEL.format(**w)] = w.method, w.dataset
    return index


@one_line_errors
def trained_embeddings(wildcards):
    """The embeddings of a method that trains an encoder; other methods are refused."""
    jobs.check_trained(wildcards.method)
    return known(paths.EMBEDDINGS)(wildcards)


@one_line_errors
def bundled_files(wildcards):
    """The model and names of a bundle, if there are any; decoders without a rule for other videos are refused."""
    w = wildcards
    jobs.check_rule(w.decoder)
    model = paths.MODEL.format(**w) if family_of(w.method).trained else []
    return {"model": model, "names": pages.names_there(STUDY, w.dataset, w.task)}


@one_line_errors
def page_files(wildcards):
    """The files behind a page, which is noted."""
    w = wildcards
    PAGES[paths.PAGE.format(**w)] = w
    return pages.page_files(STUDY, w.dataset, w.task)


@one_line_errors
def groups_file(wildcards):
    """The table with the groups of a task."""
    w = wildcards
    return datasets.groups_file(STUDY, w.dataset, w.task, w.column)


def of_task(function):
    """An input or params function: what a function of `rgwot.study` returns for the task."""
    return one_line_errors(lambda wildcards: function(STUDY, wildcards.dataset, wildcards.task))


def of_dataset(function):
    """The same for the dataset."""
    return one_line_errors(lambda wildcards: function(STUDY, wildcards.dataset))


def batch(function):
    """The same for the videos of a batch."""

    @one_line_errors
    def of_batch(wildcards):
        task = STUDY, wildcards.dataset, wildcards.task
        return function(*task, datasets.batch(*task, wildcards.part))

    return of_batch


def own_batch(function):
    """The same, if the part of the index is none of another study, which Snakemake would take for its own."""
    files = batch(function)

    @one_line_errors
    def of_batch(wildcards):
        part = IOFile(paths.INDEX_PART.format(**wildcards))
        if workflow.is_main_process and Path(part).is_file() and not workflow.persistence.metadata(part):
            jobs.check_features_of_others(STUDY, wildcards.dataset, wildcards.task, wildcards.part)
        return files(wildcards)

    return of_batch


def lone(function):
    """The same for one video."""
    return one_line_errors(lambda wildcards: function(STUDY, wildcards.dataset, wildcards.task, [wildcards.video]))


def each(wrap, **functions):
    """Several input or params functions by name, each wrapped as by `of_task`, `batch` or `lone`."""
    return {name: wrap(function) for name, function in functions.items()}


def result(*names):
    """Files of a result, a task or a method, named as in `rgwot.paths`; by default all those of a result."""
    return {name: getattr(paths, name.upper()) for name in names or [Path(file).stem for file in paths.KEYSTEPS]}


def compared_files(wildcards):
    """The files behind a comparison of groups: key steps, their names if there are any, and the table of groups."""
    files = {name: path.format(**wildcards) for name, path in result("segments", "deviations").items()}
    return {**files, "names": of_task(pages.names_there)(wildcards), "videos": groups_file(wildcards)}


def stamped(function):
    """A params function: the `stamp` of the files of people, which no job writes, among those of an input function."""

    def sources(wildcards):
        files = function(wildcards)
        if isinstance(files, dict):
            files = chain.from_iterable([file] if isinstance(file, str) else file for file in files.values())
        return stamp(file for file in files if Path(file).parts[0] != paths.RESULTS)

    return sources


def forms(path, caption, labels):
    """A figure as vector, which a report of Snakemake lists, and as picture."""
    return {"vector": listed(path, caption, labels), "picture": paths.beside(path, ".png")}


def listed(path, caption, labels):
    """A result that a report of Snakemake shows, with a caption of workflow/report."""
    return report(path, f"../report/{caption}.rst", category=CATEGORIES[caption], labels=labels)


@one_line_errors
def table_labels(wildcards):
    """The labels by which a report filters tables."""
    return targets.table_labels(STUDY, wildcards.table)


def figure_labels(form):
    """The labels by which a report filters figures; vector and picture of a figure differ in `form` alone."""
    return one_line_errors(lambda w: {**targets.figure_labels(STUDY, w.figure), "form": form})


def labels(*names, **more):
    """The labels by which a report filters results: wildcards by name, and others as they are."""
    return {name: f"{{{name}}}" for name in names} | more


def group_labels(form):
    """The labels by which a report filters comparisons of groups."""
    return labels("dataset", "task", "method", "decoder", "seed", "column", form=form)


def page_labels(what):
    """The labels by which a report filters pages and their tables."""
    return labels("dataset", "task", what=what)


@one_line_errors
def settings_behind(wildcards):
    """The settings of the method and of the decoder, if there is one, which the script reads."""
    w = wildcards
    return jobs.settings_behind(STUDY, w.dataset, w.task, w.method, w.get("decoder"))


@one_line_errors
def settings_of_scoring(wildcards):
    """The same, and those of scoring."""
    w = wildcards
    return jobs.settings_behind(STUDY, w.dataset, w.task, w.method, w.decoder, scored=True)


def untracked(value):
    """A params function for a value that affects no result, so that a change makes none outdated.

    Snakemake takes a param that asks for `resources` as derived and keeps no record of it.
    """
    return lambda wildcards, resources: value(wildcards) if callable(value) else value


def doubled(gpu=None, **first):
    """Resources (megabytes, minutes) that double with the second and third attempt, and GPUs, if a rule may use one."""
    more = {name: lambda wildcards, attempt, one=one: one * 2 ** min(attempt - 1, 2) for name, one in first.items()}
    # What a script is told, so that it does not repeat what cannot succeed (rgwot.study.script).
    more["attempt"] = lambda wildcards, attempt: attempt
    return more if gpu is None else {**more, "gpu": gpu}


def pages_made():
    """The pages of this run, a line each."""
    return "\n".join(f"The page: {Path(page).absolute()}" for page in PAGES)


def in_our_words(record):
    """A filter of Snakemake's messages: it names the pages if nothing is to be done, and tells a lock in one line."""
    if PAGES and str(record.msg).startswith("Nothing to be done"):
        record.msg = f"{record.msg}\n{pages_made()}"
    if str(record.msg).startswith("LockException"):
        record.msg = f"rgwot: {Path.cwd()}: {LOCKED}"
    return True


def announce():
    """Warn, before the first job, of settings that methods replace and of hours of training; then tell progress."""
    trainings = [training for model, training in MODELS.items() if not Path(model).exists()]
    lines = [*jobs.replaced(STUDY, [Path("config.yaml")]), jobs.long_trainings(STUDY, trainings)]
    for line in filter(None, lines):
        logger.warning(f"note: {line}")
    folder = Path(os.environ.setdefault(FOLDER_VARIABLE, str(Path(".snakemake/progress").absolute())))
    for left_over in folder.glob("*.json"):
        left_over.unlink(missing_ok=True)
    follow(folder, logger)
