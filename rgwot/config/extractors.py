"""The frozen networks that features come from, as their own files describe them (`rgwot.config.about`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rgwot.config.about import About, described


@dataclass(frozen=True)
class Extractor(About):
    """A network up to one of its layers.

    Attributes
    ----------
    layer
        Name of the layer.
    channels, stride
        Channels of its maps, and pixels per cell.
    mean, std
        Of red, green and blue, values between 0 and 1, by which frames are standardised.
    weights
        Address of each set of weights that can be fetched, by name; the file's name ends in the first digits of its
        SHA-256. ``random`` and the path of a checkpoint go without saying.
    megabytes
        Size of such a file.
    """

    layer: str = ""
    channels: int = 0
    stride: int = 0
    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    std: tuple[float, float, float] = (1.0, 1.0, 1.0)
    weights: Mapping[str, str] = field(default_factory=dict)
    megabytes: int = 0

    @property
    def transform(self) -> str:
        """What is done to a frame, as stores record it."""
        return f"RGB, whole frame squashed to a square, divided by 255, mean {self.mean}, std {self.std}"

    def side(self, size: int) -> int:
        """Return the side of the map of a square frame of ``size`` pixels (ResNet-50: 168 to 11, 112 to 7)."""
        return -(-size // self.stride)

    def is_file(self, weights: str) -> bool:
        """Whether a value of ``features.weights`` is the path of a checkpoint."""
        return weights != "random" and weights not in self.weights


EXTRACTORS: Mapping[str, Extractor] = described("features/extractors", Extractor)
