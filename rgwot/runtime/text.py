"""Names as they look: composed accents, no invisible characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

# Invisible characters; joiners between letters of scripts that need them are kept.
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u2800\u3164\uffa0\ufe00-\ufe0f]")
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


# Cyrillic and Greek letters that look like Latin ones, and other forms of quotes and dashes.
_PICTURES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0406"
    "\u03bf\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u0131",
    "aeopcyxijsABEKMHOPCTXIoABEZHIKMNOPTYXi",
) | str.maketrans(
    "\u2018\u2019\u02bc\u00b4`\u201c\u201d\u2010\u2011\u2012\u2013\u2014\u2212", "'" * 5 + '"' * 2 + "-" * 6
)
_JOINED = re.compile(r"(?<=\w)[\s_-]+(?=\w)")
_SMALL = re.compile("[\u200c\u200d\u0307]")


def look_alike(names: Iterable[str]) -> list[list[str]]:
    """Return groups of names that differ only in case, form, blanks (or signs in their place) or a last full stop.

    >>> look_alike(["novice", "Expert", "expert"])
    [['Expert', 'expert']]
    >>> look_alike(["pour water", "pour_water", "pour milk", "+1", "-1"])
    [['pour water', 'pour_water']]
    """
    alike: dict[str, list[str]] = {}
    for name in sorted(set(names)):
        key = plain_name(unicodedata.normalize("NFKC", name).translate(_PICTURES)).casefold()
        key = _JOINED.sub(" ", _SMALL.sub("", key)).rstrip(".:;, ")
        alike.setdefault(key or name, []).append(name)
    return [group for group in alike.values() if len(group) > 1]
