"""What the README lists is what there is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from rgwot.config.methods import DECODERS, FAMILIES

README = Path(__file__).resolve().parents[1] / "README.md"


def listed(head: str) -> list[str]:
    """The names in the first column of the table that begins with this head."""
    text = README.read_text(encoding="utf-8")
    (table,) = re.findall(rf"^\| {re.escape(head)} \|.*\n\|[ -|]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    return [name for row in table.splitlines() for name in re.findall(r"`([^`]+)`", row.split("|")[1])]


@pytest.mark.parametrize(("head", "there"), [("id", FAMILIES), ("decoder", DECODERS)])
def test_every_method_and_every_decoder_is_listed_once(head: str, there: Iterable[str]) -> None:
    assert sorted(listed(head)) == sorted(there)


def test_what_is_said_of_all_decoders_holds() -> None:
    """All take ``K=auto`` and the like but those that read no features, which stand last."""
    trivial = [name for name, decoder in DECODERS.items() if decoder.trivial]
    assert listed("decoder")[-4:] == trivial
    for name, decoder in DECODERS.items():
        assert (decoder.takes("decode.time") and decoder.takes("decode.surplus")) == (name not in trivial)
