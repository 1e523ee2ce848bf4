"""The record that a stage which is still a verb writes next to its output."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rgwot.runtime.provenance import write_record

#: Files that a verb writes beside its output, where ``{}`` is the name of the output without its suffix.
BESIDE = {"table": ("{}.md", "{}.tex"), **dict.fromkeys(("plot", "figure"), ("{}.pdf", "{}.png"))}


def recorded(verb: str, run: Callable[..., Any] | None) -> Callable[..., None]:
    """Return the function of a verb with its record after it."""
    assert run is not None

    @functools.wraps(run)
    def with_record(output: Path, **arguments: Any) -> None:
        run(output=output, **arguments)
        others = [output.with_name(name.format(output.stem)) for name in BESIDE[verb]]
        write_record(output, verb, [path for path in others if path != output and path.exists()], arguments=arguments)

    return with_record
