"""Common parts of the workflow's scripts: log, errors in one line, settings, and records of outputs.

A script reads its settings from ``params``, and how it runs, which changes no result, from ``resources``: Snakemake
repeats a job if its params change, but not if its resources do.
"""

from __future__ import annotations

import atexit
import gc
import json
import logging
import os
import shutil
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from rgwot.runtime.errors import RgwotError, one_line
from rgwot.runtime.notes import Notes
from rgwot.runtime.progress import listeners

if TYPE_CHECKING:
    from rgwot.embedding.settings import Embedding
    from rgwot.keysteps.settings import Decoder


class Stage:
    """A job of the workflow: the `snakemake` object of its script, and its settings."""

    def __init__(self, snakemake: Any, name: str) -> None:
        self.snakemake, self.name = snakemake, name
        #: Files and folders that the job writes besides its Snakemake outputs, for the record.
        self.others: Iterable[Path] = ()
        #: How the job runs (`rgwot.study.jobs.execution`).
        self.execution: dict[str, Any] = json.loads(snakemake.resources.get("execution", "{}"))

    @property
    def device(self) -> str:
        """The device to compute on."""
        return str(self.execution.get("device", "auto"))

    @cached_property
    def settings(self) -> dict[str, dict[str, Any]]:
        """The settings in ``params``, and those that change no result; extensions, which may read them, are loaded."""
        from rgwot.config.extensions import load_extensions
        from rgwot.config.settings import merged

        load_extensions(self.execution.get("extensions", ()))
        return merged(self.execution.get("settings", {}), self.snakemake.params.settings)

    @cached_property
    def embedding(self) -> Embedding:
        """The method."""
        from rgwot.config.experiments import family_of

        settings = self.settings  # first, because this also loads extensions, which may add the method
        return family_of(self.snakemake.wildcards.method).embedding.of(settings)

    @cached_property
    def decoder(self) -> Decoder:
        """The decoder."""
        from rgwot.config.experiments import decoder_of

        settings = self.settings  # first, because this also loads extensions, which may add the decoder
        return decoder_of(self.snakemake.wildcards.decoder).of(settings)

    @property
    def seed(self) -> int:
        """The seed of all random draws."""
        return int(self.snakemake.wildcards.seed)

    def held_out(self, videos: Iterable[str]) -> tuple[str, ...]:
        """Return the held-out videos of the task, which the method must not see."""
        from rgwot.datasets.split import held_out

        w, subjects = self.snakemake.wildcards, self.snakemake.params.settings.get("subjects", {})
        return held_out(self.embedding.data, videos, subjects, f"{w.dataset}/{w.task}")

    def record(self) -> None:
        """Write the record of the output: its inputs and settings, and its digests."""
        from rgwot.runtime.provenance import study_id, write_record

        wildcards = dict(self.snakemake.wildcards.items())
        content: dict[str, Any] = {**dict(self.snakemake.params.items()), "execution": self.execution}
        content["study"] = study_id()
        if "seed" in wildcards:
            content["seed"] = self.seed
        if self.name in ("extract", "train", "embed"):
            # A job that has not imported PyTorch by now needed no GPU; importing it here would only cost time.
            device = sys.modules.get("rgwot.runtime.device")
            content["device"] = (device and device.hardware(device.used_device())["gpu"]) or "cpu"
        content |= {"wildcards": wildcards, "input": list(self.snakemake.input)}
        output, *others = map(Path, self.snakemake.output)
        for path in self.others:
            others += [path] if path.is_file() else (file for file in sorted(path.rglob("*")) if file.is_file())
        write_record(output, self.name, others, **content)


@contextmanager
def stage(snakemake: Any, name: str) -> Iterator[Stage]:
    """Run the body of a script as a stage, with its messages in the log of the rule and a record of its output.

    A user's mistake ends the job with one line in the log, any other error with a traceback. After a user's mistake,
    further attempts (``retries``) repeat the line and end at once, because the same files and settings would give the
    same line; after errors of the system, the job is tried again.
    """
    atexit.register(_leave)
    # The progress of a job is also reported to the run, which shows it.
    note = Notes()
    listeners.append(note)
    # Snakemake removes the log before each attempt.
    refusal = Path(snakemake.log[0]).with_name(f".{Path(snakemake.log[0]).name}.refusal")
    if snakemake.resources.get("attempt", 1) > 1 and refusal.is_file():
        shutil.copyfile(refusal, snakemake.log[0])
        sys.exit(1)
    refusal.unlink(missing_ok=True)
    with open(snakemake.log[0], "w", encoding="utf-8", buffering=1) as log, redirect_stderr(log):
        stderr = os.dup(2)
        # FFmpeg, OpenMP and CUDA write to file descriptor 2 itself, so it is replaced to bring their messages into the
        # log: a rule with a script has no shell command whose streams could be redirected.
        os.dup2(log.fileno(), 2)
        try:
            with messages(log):
                job = Stage(snakemake, name)
                yield job
                job.record()
        except (RgwotError, OSError) as error:
            line = f"rgwot: {one_line(error)}\n"
            log.write(line)
            if isinstance(error, RgwotError):
                refusal.write_text(line, encoding="utf-8")
            sys.exit(1)
        except KeyboardInterrupt:
            log.write("rgwot: interrupted\n")
            sys.exit(130)
        except Exception:  # noqa: BLE001 - a bug: its traceback belongs in the log
            traceback.print_exc(file=log)
            sys.exit(1)
        finally:
            note.close()
            listeners.remove(note)
            os.dup2(stderr, 2)
            os.close(stderr)


@contextmanager
def messages(stream: TextIO, level: int = logging.INFO) -> Iterator[None]:
    """Print messages of rgwot to a stream, and only warnings of other libraries."""
    root, handler = logging.getLogger(), logging.StreamHandler(stream)
    before = root.level
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S"))
    root.addHandler(handler)
    root.setLevel(level)
    for name in ("matplotlib", "fontTools", "PIL", "asyncio", "gensim", "smart_open"):
        logging.getLogger(name).setLevel(logging.WARNING)
    # Zarr warns of the files that Snakemake and the records add to a store.
    warnings.filterwarnings("ignore", r"Object at \.\S+ is not recognized", category=UserWarning)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(before)


def _leave() -> None:
    """Skip garbage collection at exit (a fifth of the time of a short job), unless Triton would report leftovers."""
    if "triton" not in sys.modules:
        gc.freeze()
