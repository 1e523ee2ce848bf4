"""What fits into one command: Linux takes 128 KiB for an argument, and a shell is given the whole of it as one."""

from __future__ import annotations

import base64
import binascii
import shlex
import zlib

from rgwot.runtime.errors import RgwotError

#: Bytes that the long part of a command may take; the rest is for its options, its output and its log.
LONGEST = 120_000
#: What packed text begins with.
_PACKED = "zlib:"


def argument(text: str, what: str) -> str:
    """Return a text as an argument, packed only where it is too long for a command; `unpacked` undoes it.

    Not always packed: another spelling of its settings would outdate a result. ``what`` names the text in the error
    that is raised where it is too long even so.
    """

    def fits(text: str) -> bool:
        return len(shlex.quote(text).encode()) <= LONGEST

    if fits(text):
        return text
    packed = _PACKED + base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode()
    if not fits(packed):
        raise RgwotError(
            f"{what}: {len(packed)} bytes, packed, for one command, expected at most {LONGEST}; ask for less at once"
        )
    return packed


def unpacked(text: str) -> str:
    """Return what `argument` packed, and any other text as it is; ValueError when packed text was cut or changed."""
    if not text.startswith(_PACKED):
        return text
    try:
        return zlib.decompress(base64.urlsafe_b64decode(text.removeprefix(_PACKED))).decode()
    except (binascii.Error, zlib.error, UnicodeDecodeError) as error:
        raise ValueError(f"packed text is not whole ({error})") from None
