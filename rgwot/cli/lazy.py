"""A command group that knows its verbs by name and imports the module of a verb only when it is called."""

from __future__ import annotations

import functools
from collections import UserDict
from collections.abc import Callable, Mapping
from typing import Any

import click

from rgwot.runtime.lazy import load


class LazyCommands(UserDict[str, Any]):
    """Commands by name, each ``module:function`` until it is looked up."""

    def __getitem__(self, name: str) -> Any:
        command = self.data[name]
        if isinstance(command, str):
            command = self.data[name] = load(command)
            command.callback = _recorded(name, command.callback)
        return command


def _recorded(name: str, callback: Callable[..., Any]) -> Callable[..., None]:
    """Leave a record of a verb beside its output."""

    @functools.wraps(callback)
    def run(**arguments: Any) -> None:
        from rgwot.cli.records import record

        callback(**arguments)
        record(name, arguments)

    return run


class LazyGroup(click.Group):
    """A group of verbs, ``(module:function, help in one line)`` by name, in this order; listing them imports none."""

    def __init__(self, *, verbs: Mapping[str, tuple[str, str]], **options: Any) -> None:
        super().__init__(**options)
        self.commands = LazyCommands({name: place for name, (place, _) in verbs.items()})
        self._helps = [(name, line) for name, (_, line) in verbs.items()]

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the verbs, in the order of the stages."""
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of the verbs."""
        with formatter.section("Commands"):
            formatter.write_dl(self._helps)
