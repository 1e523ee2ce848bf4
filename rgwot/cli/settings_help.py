"""Verbs whose help also lists the settings that they read, with units and defaults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click


class SettingsCommand(click.Command):
    """A verb with ``--settings`` that ``reads`` blocks of them, or single dotted keys; all else as `click.Command`."""

    def __init__(self, *args: Any, reads: tuple[str, ...], **options: Any) -> None:
        super().__init__(*args, **options)
        self.reads = reads

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the settings, and then what to try."""
        with formatter.section("Settings that it reads, from the configuration"):
            formatter.write_dl(list(self._described()))
        super().format_epilog(ctx, formatter)

    def _described(self) -> Iterator[tuple[str, str]]:
        # Only help needs them, and they take a while to import.
        from rgwot.config.settings import Settings

        for wanted in self.reads:
            block, _, only = wanted.partition(".")
            model: Any = Settings.model_fields[block].annotation
            for name, field in model.model_fields.items():
                key = field.alias or name
                if only in ("", key):
                    yield f"{block}.{key}", f"{field.description}  [default: {field.default}]"
