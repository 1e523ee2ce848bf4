"""Verb that turns embeddings into key steps and their order."""

from __future__ import annotations

from pathlib import Path

import click

from rgwot.cli.options import (
    Folder,
    hold_out_option,
    key_steps,
    read_settings,
    seed_option,
    settings_option,
    video_ids,
)
from rgwot.cli.settings_help import SettingsCommand
from rgwot.config.about import blocks
from rgwot.config.methods import DECODERS
from rgwot.runtime.errors import RgwotError

CLUSTERING = [name for name, about in DECODERS.items() if not about.trivial]
TRIVIAL = [name for name, about in DECODERS.items() if about.trivial]


@click.command(
    cls=SettingsCommand,
    reads=("decode", *blocks(DECODERS.values())),
    epilog="Try another decode.K first; a larger graphcut.pairwise where key steps flicker, a smaller one, or a "
    "smaller decode.m, where one of them takes everything.",
)
@click.argument("output", type=Folder)
@click.option("--embeddings", type=Folder, help="Embeddings of the task.")
@click.option("--manifest", type=Folder, help="Manifest of the task, for the trivial decoders, which see no embedding.")
@click.option(
    "--decoder",
    required=True,
    help=f"{', '.join(CLUSTERING[:-1])} or {CLUSTERING[-1]}; or trivial: {', '.join(TRIVIAL)}.",
)
@hold_out_option
@settings_option
@seed_option
def decode(
    output: Path,
    embeddings: Path | None,
    manifest: Path | None,
    decoder: str,
    held_out: str,
    settings: str,
    seed: int,
) -> None:
    """Find key steps and their order; writes OUTPUT (segments.csv) and its companions beside it."""
    from rgwot.config.experiments import split_id

    name = split_id(decoder)[0]
    if (embeddings is None) == (manifest is None):
        raise RgwotError("decode: found neither or both of --embeddings and --manifest, expected one of them")
    if name not in DECODERS or DECODERS[name].trivial != (manifest is not None):
        raise RgwotError(f"--decoder {decoder!r}: expected one of {', '.join(TRIVIAL if manifest else CLUSTERING)}")
    if manifest is not None:
        from rgwot.keysteps.trivial import decode_trivial

        resolved = read_settings(settings)
        stride, kept = resolved.evaluation.stride, video_ids(held_out)
        decode_trivial(manifest, output.parent, name, key_steps(resolved), seed, stride=stride, held_out=kept)
    elif embeddings is not None:
        if held_out:
            raise RgwotError(
                "--hold-out: found it beside --embeddings, which say which videos were held out; remove it"
            )
        from rgwot.keysteps.decode import decode as run

        run(embeddings, output.parent, name, read_settings(settings), seed)
