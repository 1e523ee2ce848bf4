"""The decoders by name, each imported when it runs."""

from __future__ import annotations

from collections.abc import Mapping

from rgwot.config import methods
from rgwot.keysteps.interface import Decoder
from rgwot.runtime.lazy import lazily

DECODERS: Mapping[str, Decoder] = {
    name: lazily(f"{about.module}:decode_{name}") for name, about in methods.DECODERS.items() if about.module
}
