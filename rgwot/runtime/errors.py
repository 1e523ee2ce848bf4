"""The exception for users' mistakes."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any


class RgwotError(ValueError):
    """A user's mistake or unusable data, in one line; a ``ValueError``.

    The message starts with the thing (file, row, key, video), followed by the fault, the expectation and the remedy.
    The command line prints it without a traceback and exits with a non-zero code; any other exception is a bug and
    keeps its traceback. Unprintable characters in names (line breaks, control characters, lone surrogates) are escaped.
    """

    def __init__(self, message: str) -> None:
        super().__init__(escaped(message))


def escaped(text: str) -> str:
    r"""Return a text on one line, with control characters, line ends and undecodable bytes as escapes.

    >>> print(escaped("two\nlines \x1b[31m"))
    two\nlines \x1b[31m
    """
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


def one_line(error: BaseException) -> str:
    """Return the message of an error in one line; a full disk or a forbidden folder is a user's mistake, too."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) if isinstance(error, OSError) else str(error)


def first_line(error: BaseException) -> str:
    """Return the first line of an exception's message, or its type if there is no message."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def nearest(word: str, choices: Iterable[str]) -> str:
    """Return a clause with the choice nearest to a word, or with all choices if none is near.

    >>> nearest("alhpa", ["alpha", "beta"])
    "did you mean 'alpha'?"
    """
    words = sorted(choices)
    close = [choice for choice in words if choice.lower() == word.lower()] or difflib.get_close_matches(
        word, words, n=1
    )
    if close:
        return f"did you mean {close[0]!r}?"
    if not words:
        return "known: none"
    more = f" and {len(words) - 16} more" if len(words) > 16 else ""
    return f"known: {', '.join(words[:16])}{more}"


#: The extra of rgwot that installs a package.
EXTRAS = {
    "av": "video",
    "dask": "video",
    "decord": "video",
    "filelock": "video",
    "h5py": "video",
    "jinja2": "page",
    "matplotlib": "page",
    "ot": "train",
    "PIL": "video",
    "starlette": "open",
    "torch": "train",
    "torchvision": "video",
    "uvicorn": "open",
}


@contextmanager
def errors_of(thing: object) -> Iterator[None]:
    """Begin the messages of errors from the code inside with ``thing``.

    >>> with errors_of("mine/tea"):
    ...     raise RgwotError("no video")
    Traceback (most recent call last):
    rgwot.runtime.errors.RgwotError: mine/tea: no video
    """
    try:
        yield
    except RgwotError as error:
        raise RgwotError(f"{thing}: {error}") from None


@contextmanager
def extras(needed_by: object) -> Iterator[None]:
    """Raise RgwotError, with the command that installs it, if the code inside imports a package that is missing.

    An import that fails for another reason, and a missing package that no extra installs, are left as they are.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        raise RgwotError(f"{needed_by}: needs {package}, which is not installed; {install(EXTRAS[package])}") from None


def install(extra: str) -> str:
    """Return the command that installs an extra of rgwot."""
    return f"pip install 'rgwot[{extra}]'"


def optional(module: str, needed_by: object, remedy: str) -> Any:
    """Import a module; raise RgwotError, with what needs it and the remedy, if its package is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise RgwotError(f"{needed_by}: needs {package}, which is not installed; {remedy}") from None
