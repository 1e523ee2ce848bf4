"""A command group that knows its verbs by name and imports the module of a verb only when it is called."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

import click

from rgwot.runtime.lazy import load


class LazyCommands(MutableMapping[str, click.Command]):
    """Commands by name, each imported when it is looked up.

    Parameters
    ----------
    places
        ``module:function`` of every command by name.
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        self._commands: dict[str, str | click.Command] = dict(places)

    def __getitem__(self, name: str) -> click.Command:
        command = self._commands[name]
        if isinstance(command, str):
            command = load(command)
            assert isinstance(command, click.Command)
            command.callback = _recorded(name, command.callback)
            self._commands[name] = command
        return command

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._commands[name] = command

    def __delitem__(self, name: str) -> None:
        del self._commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._commands)

    def __len__(self) -> int:
        return len(self._commands)


def _recorded(name: str, callback: Callable[..., Any] | None) -> Callable[..., None]:
    """Return the function behind a verb: its input is compared with the records beside it, and its output gets one."""
    assert callback is not None

    @functools.wraps(callback)
    def run(**arguments: Any) -> None:
        from rgwot.cli.records import check_input, record, seen

        check_input(name, arguments)
        told = seen(name, arguments)
        callback(**arguments)
        record(name, arguments, told)

    return run


class LazyGroup(click.Group):
    """A group of verbs, listed in the order given; listing them imports none.

    Parameters
    ----------
    verbs
        ``(module:function, help in one line)`` by name.
    **options
        As of `click.Group`.
    """

    def __init__(self, *, verbs: Mapping[str, tuple[str, str]], **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self.commands = LazyCommands({name: place for name, (place, _) in verbs.items()})
        self._helps = {name: told for name, (_, told) in verbs.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the verbs, in the order of the stages."""
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of the verbs."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._helps[name]) for name in self.list_commands(ctx)])
