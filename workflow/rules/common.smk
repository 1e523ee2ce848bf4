# Helpers of all rules. Decisions are made by functions of the library (rgwot.study), which rules call by `asked`.
import os
import time
from pathlib import Path

from rgwot.config.methods import method_pattern
from rgwot.reporting import targets
from rgwot.runtime.files import check_writable
from rgwot.runtime.notes import FOLDER_VARIABLE, follow
from rgwot.runtime.provenance import note_revision, stamp
from rgwot.study import datasets, jobs, pages, refusals
from rgwot.study.asked import answer, mistakes_in_one_line
from rgwot.study.study import CONFIGURATIONS, Study, configuration_of_the_run


report: "../report/workflow.rst"


with mistakes_in_one_line():
    # A job on a cluster reads the workflow again, when configuration files may have been edited since the run began.
    began_with = configuration_of_the_run(config)
    config.clear()
    config.update(began_with)
    # Report a folder that cannot be written in one line, before Snakemake fails because of it.
    check_writable(Path.cwd())
    STUDY = Study.of(config)


envvars:
    CONFIGURATIONS,


STARTED = time.time()
GPUS = jobs.gpus(STUDY)
# Patterns of methods that read no features, that embed without an encoder, that train an encoder, and that read
# features. An unknown name matches the third pattern, whose rules refuse it by `refusals.check_result`.
FEATURELESS = method_pattern(lambda family: family.name == "none")
OTHERWISE_EMBEDDED = method_pattern(lambda family: not family.trained and family.name != "none")
ENCODED, FEATURED = f"(?!(?:{FEATURELESS}|{OTHERWISE_EMBEDDED})/)[^/]+", f"(?!{FEATURELESS}/)[^/]+"
# Pattern of the datasets with imported features; if there are none, it matches no name.
IMPORTED = "|".join(sorted(name for name, entry in STUDY.config.datasets.items() if entry.imported)) or "(?!)"
# Categories of results in a report of Snakemake, by the captions of workflow/report.
CATEGORIES = {
    "segments": "Key steps over time", "page": "Pages", "index": "Pages", "table": "Tables", "figure": "Figures",
    "groups": "Groups",
}  # fmt: skip
# Labels by which a report filters the results of a task, and those of a run.
OF_TASK = {"dataset": "{dataset}", "task": "{task}"}
OF_RUN = {**OF_TASK, "method": "{method}", "decoder": "{decoder}", "seed": "{seed}"}


def asked(function):
    """Return an input or params function that calls ``function`` with the wildcards and task that its parameters name.

    A user's mistake ends the run with one line.
    """

    def said(wildcards):
        with mistakes_in_one_line():
            return answer(STUDY, dict(wildcards.items()), function)

    return said


def checked(files, *checks):
    """Return an input function for ``files``, a path or a function; ``checks`` may refuse the result before any job."""

    def allowed(wildcards):
        for check in checks:
            asked(check)(wildcards)
        return files.format(**wildcards) if isinstance(files, str) else asked(files)(wildcards)

    return allowed


def stamped(*functions):
    """Return a params function for the `stamp` of the files that ``functions`` return, without files below results."""

    def stamps(wildcards):
        files = [asked(function)(wildcards) for function in functions]
        files = [name for some in files for name in ([some] if isinstance(some, str) else some)]
        return stamp(file for file in files if Path(file).parts[0] != "results")

    return stamps


def doubled(gpu=None, **first):
    """Return resources (megabytes, minutes) that double at the second and third attempt, and ``gpu`` GPUs if given."""
    more = {name: lambda wildcards, attempt, one=one: one * 2 ** min(attempt - 1, 2) for name, one in first.items()}
    # Scripts also get the attempt, so as not to repeat a user's mistake, and how they run (rgwot.study.script).
    more["attempt"] = lambda wildcards, attempt: attempt
    more["execution"] = lambda wildcards: jobs.execution(STUDY, wildcards.get("dataset", ""))
    return more if gpu is None else {**more, "gpu": gpu}


def listed(path, caption, labels):
    """Mark a path as a result that Snakemake's reports show, with a caption from workflow/report."""
    return report(path, f"../report/{caption}.rst", category=CATEGORIES[caption], labels=labels)
