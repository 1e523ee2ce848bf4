"""Options that several verbs share, and how their values are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from rgwot.runtime.arguments import unpacked
from rgwot.runtime.errors import RgwotError

Folder = click.Path(path_type=Path)

execution = click.option(
    "--execution", default="{}", metavar="JSON", help="As --settings, for keys on which no result depends."
)
settings = click.option(
    "--settings",
    default="{}",
    metavar="JSON",
    help='Blocks of settings as one JSON object, such as \'{"ot": {"alpha": 0.5}}\'. Default: all defaults.',
)
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
    help="auto takes a GPU when there is one; cuda fails without one.",
)
hold_out = click.option(
    "--hold-out",
    "held_out",
    default="",
    metavar="VIDEO,...",
    help="Videos that only the scoring may see (data.split: holdout), by id.",
)
on_bad_video = click.option(
    "--on-bad-video",
    default="fail",
    show_default=True,
    type=click.Choice(["fail", "skip"]),
    help="fail ends with the reason; skip writes a store without frames, or with those that decode.",
)
frames_fps = click.option(
    "--frames-fps", metavar="RATE", help="Rate of frames stored as .h5 whose file states none, like 30000/1001."
)


def video_ids(text: str) -> tuple[str, ...]:
    """Parse ``--hold-out``; an id has no comma."""
    try:
        return tuple(video for video in unpacked(text).split(",") if video)
    except ValueError as error:
        raise RgwotError(f"--hold-out: {error}; expected ids of videos, or all of what a log shows") from None


def read_object(text: str, option: str) -> dict[str, Any]:
    """Parse an option that holds a JSON object."""
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise RgwotError(f"{option}: found {text!r}, expected a JSON object ({error})") from None
    if not isinstance(content, dict):
        raise RgwotError(f"{option}: found {text!r}, expected a JSON object")
    return content


def read_settings(text: str, execution: str = "{}") -> Any:
    """Parse ``--settings`` (and ``--execution``) into validated blocks."""
    from rgwot.config.settings import BLOCKS, build, flatten
    from rgwot.runtime.errors import nearest

    content = read_object(text, "--settings")
    for block, keys in read_object(execution, "--execution").items():
        content[block] = {**content.get(block, {}), **keys}
    if not all(isinstance(block, dict) for block in content.values()):
        raise RgwotError(f'--settings: found {text!r}, expected a JSON object of blocks such as {{"ot": {{}}}}')
    for block in content:
        if block not in BLOCKS:
            raise RgwotError(f"--settings: unknown block {block!r}; {nearest(block, BLOCKS)}")
    return build(flatten(content), "--settings")


def key_steps(settings: Any) -> int:
    """Return K, which the workflow has resolved to a number."""
    from rgwot.config.settings import resolved_K

    K = resolved_K(settings.decode.K)
    if K == "auto":
        raise RgwotError("decode.K: found auto, expected a number; only decoders that read embeddings choose it")
    return K


def read_rate(text: str | None, option: str) -> Any:
    """Parse a rate such as 30000/1001."""
    from rgwot.timing import parse_rate

    try:
        return None if text is None else parse_rate(text)
    except ValueError as error:
        raise RgwotError(f"{option}: {error}") from None
