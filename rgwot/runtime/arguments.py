"""What fits into one command: Linux takes 128 KiB for an argument, and a shell is given the whole of it as one."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

#: Bytes that the long part of a command may take; the rest is for its options, its output and its log.
LONGEST = 120_000


def split_words(words: Iterable[str], longest: int | None = None) -> list[list[str]]:
    """Return words in lists, in their order, that take at most so many bytes each, quoted (`LONGEST` by default).

    >>> split_words(["aa", "bb", "c d"], longest=6)
    [['aa', 'bb'], ['c d']]
    """
    lists: list[list[str]] = []
    longest, left = longest or LONGEST, 0
    for word in words:
        taken = len(shlex.quote(word).encode()) + 1
        if not lists or taken > left:
            lists.append([])
            left = longest
        lists[-1].append(word)
        left -= taken
    return lists
