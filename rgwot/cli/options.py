"""Options that several verbs share, and the parsing of their values."""

from __future__ import annotations

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
frames_fps = click.option(
    "--frames-fps", metavar="RATE", help="Rate of frames stored as .h5, if the file does not state it, like 30000/1001."
)


def resolved(
    configs: tuple[Path, ...], stage: str, dataset: str, task: str, method: str = "none", decoder: str | None = None
) -> tuple[Study, Settings, dict[str, dict[str, Any]]]:
    """Return the study of configuration files, and the settings of a stage in it, as the workflow resolves them.

    First as an object, in which blocks that the stage does not read have their defaults; then those that it reads.
    """
    from rgwot.study.jobs import settings_from, stage_settings
    from rgwot.study.study import Study

    study = Study.read(configs)
    blocks = stage_settings(study, stage, dataset, task, method, decoder)
    return study, settings_from(blocks), blocks


def key_steps(settings: Settings) -> int:
    """Return K as a number."""
    from rgwot.config.settings import resolved_K

    K = resolved_K(settings.decode.K)
    if K == "auto":
        raise RgwotError("decode.K: found auto, expected a number; only decoders that read embeddings choose it")
    return K


def read_rate(text: str | float | None, option: str) -> Any:
    """Parse a rate such as 30000/1001."""
    from rgwot.timing import parse_rate

    try:
        return None if text is None else parse_rate(text)
    except ValueError as error:
        raise RgwotError(f"{option}: {error}") from None
