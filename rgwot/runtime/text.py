"""Names as they look: composed accents, no invisible characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

# Characters without a picture; joiners between letters of scripts that need them are kept.
_INVISIBLE = re.compile("[\u034f\ufe00-\ufe0f]")
_JOINERS = re.compile("(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])")


def pairing_key(stem: str) -> str:
    """Return the key by which the file stems of videos and annotations are compared.

    It has composed accents and no invisible characters, and keeps the case. Some systems store decomposed accents, so
    the bytes of a name can change when a file is copied. Case matters because YouTube ids are case-sensitive.
    """
    if stem.isascii():
        return stem
    visible = (
        letter
        for letter in _INVISIBLE.sub("", stem)
        if unicodedata.category(letter) != "Cf" or letter in "\u200c\u200d"
    )
    return unicodedata.normalize("NFC", _JOINERS.sub("", "".join(visible)))


def plain_name(name: str) -> str:
    """Return the name of a key step or group as it looks: as in `pairing_key`, with single blanks.

    >>> plain_name(" fu\u0308llen\u200b\u00a0 up") == "f\u00fcllen up"
    True
    """
    return " ".join(pairing_key(name).split())


def look_alike(names: Iterable[str]) -> list[list[str]]:
    """Return groups of names that differ only in case, form or blanks.

    >>> look_alike(["novice", "Expert", "expert"])
    [['Expert', 'expert']]
    """
    alike: dict[str, list[str]] = {}
    for name in sorted(set(names)):
        alike.setdefault(plain_name(unicodedata.normalize("NFKC", name)).casefold(), []).append(name)
    return [group for group in alike.values() if len(group) > 1]
