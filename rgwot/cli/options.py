"""What several verbs share: options and their values, the job that they stand for, help that lists settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rgwot.runtime.errors import RgwotError

if TYPE_CHECKING:
    from rgwot.config.settings import Settings
    from rgwot.study.study import Study

Folder = click.Path(path_type=Path)

config = click.option(
    "--config",
    "configs",
    multiple=True,
    type=Folder,
    help="Configuration as config.yaml; several are merged in order. Default: all defaults.",
)
dataset = click.option("--dataset", default="", help="Dataset id, whose settings in the configuration are used.")
task = click.option("--task", default="", help="Task id.")
seed = click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed of everything drawn at random."
)
threads = click.option(
    "--threads", default=1, show_default=True, type=click.IntRange(1), help="CPU threads. Does not change results."
)
device = click.option(
    "--device",
    default="auto",
    show_default=True,
    type=click.Choice(["auto", "cpu", "cuda"]),
    help="auto uses a GPU if there is one; cuda fails without one.",
)
on_bad_video = click.option(
    "--on-bad-video",
    default="fail",
    show_default=True,
    type=click.Choice(["fail", "skip"]),
    help="fail ends with the reason; skip writes a store without frames, or with those that decode.",
)
frames_fps_option = click.option(
    "--frames-fps", metavar="RATE", help="Rate of frames stored as .h5, if the file does not state it, like 30000/1001."
)


class SettingsCommand(click.Command):
    """A verb with ``--settings`` that ``reads`` blocks of them, or single dotted keys; all else as `click.Command`."""

    def __init__(self, *args: Any, reads: tuple[str, ...], **options: Any) -> None:
        super().__init__(*args, **options)
        self.reads = reads

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the settings, and then what to try."""
        # Only help needs them, and they take a while to import.
        from rgwot.config.settings import Settings

        described = []
        for wanted in self.reads:
            block, _, only = wanted.partition(".")
            model: Any = Settings.model_fields[block].annotation
            for name, field in model.model_fields.items():
                key = field.alias or name
                if only in ("", key):
                    described.append((f"{block}.{key}", f"{field.description}  [default: {field.default}]"))
        with formatter.section("Settings that it reads, from the configuration"):
            formatter.write_dl(described)
        super().format_epilog(ctx, formatter)


@dataclass(frozen=True)
class Job:
    """A stage on a task, with its settings as the workflow resolves them.

    Blocks that the stage does not read have their defaults in ``settings``; ``reads`` are those that it reads.
    """

    study: Study
    settings: Settings
    reads: dict[str, dict[str, Any]]
    dataset: str
    task: str
    method: str

    def held_out(self, videos: Iterable[str]) -> tuple[str, ...]:
        """Return the videos, of all those of the task, that the method must not see."""
        from rgwot.study.jobs import held_out

        return held_out(self.study, self.dataset, self.task, self.method, videos)

    @property
    def K(self) -> int:  # noqa: N802
        """The number of key steps."""
        from rgwot.keysteps.settings import resolved_K

        return resolved_K(self.settings.decode.K)


def resolved(
    configs: tuple[Path, ...], stage: str, dataset: str, task: str, method: str = "none", decoder: str | None = None
) -> Job:
    """Return a stage on a task by configuration files."""
    from rgwot.config.settings import Settings, validated
    from rgwot.study.jobs import stage_settings
    from rgwot.study.study import Study

    study = Study.read(configs)
    if decoder is not None:
        study.experiments.decoder(decoder, method)
    blocks = stage_settings(study, stage, dataset, task, method, decoder)
    return Job(study, validated(Settings, blocks, "settings"), blocks, dataset, task, method)


def job(stage: str) -> Callable[[Callable[..., None]], Callable[..., dict[str, Any]]]:
    """Give a verb its `Job` in place of the options that name it; its settings are for the record."""

    def decorate(run: Callable[..., None]) -> Callable[..., dict[str, Any]]:
        @wraps(run)
        def with_job(
            configs: tuple[Path, ...], dataset: str, task: str = "", method: str = "none", **others: Any
        ) -> dict[str, Any]:
            found = resolved(configs, stage, dataset, task, method, others.get("decoder"))
            run(job=found, **others)
            return found.reads

        return with_job

    return decorate


def read_rate(text: str | float | None, option: str) -> Any:
    """Parse a rate such as 30000/1001."""
    from rgwot.timing import parse_rate

    try:
        return None if text is None else parse_rate(text)
    except ValueError as error:
        raise RgwotError(f"{option}: {error}") from None
