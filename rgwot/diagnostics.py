"""Facts about the result of a decoding, as written to ``diagnostics.json``.

A field that is None was not measured and has no key in the file. A number that is not known is NaN, and ``null`` in the
file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from typing import Annotated

from pydantic import BeforeValidator, TypeAdapter, ValidationError

from rgwot.runtime.errors import RgwotError

#: Metadata of fields: written as ``null`` if None; written as several keys instead of one block.
NULL, SPREAD = {"null": True}, {"spread": True}


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What a decoder says about its result: a block of ``diagnostics.json``, whose keys are the fields of a subclass.

    ``videos`` is the number of videos that it learned from, if it did not learn from all.
    """

    videos: int | None = None


@dataclass(frozen=True, kw_only=True)
class TimeChoice:
    """How the weight of time was chosen (`rgwot.keysteps.common_time.choose_share`).

    ``agreement`` is J of labels made without time, and ``concordance`` is how much the orders of videos agree. If this
    is large enough, ``kept`` is J of labels made with common time, divided by J of those without, and ``differ`` the
    share of samples whose labels then change. ``why`` is the reason if nothing could be chosen.
    """

    chosen: float
    agreement: float | None = None
    concordance: float | None = None
    kept: float | None = None
    differ: float | None = None
    why: str | None = None


@dataclass(frozen=True, kw_only=True)
class Choices:
    """Settings that ``auto`` chose from the data."""

    time: TimeChoice | None = None


@dataclass(frozen=True, kw_only=True)
class LabelledFacts:
    """The annotated videos that a result learned from, the number of new key steps, and the names of key steps.

    ``marks`` is the number of marks by video, and ``silence`` how time without a segment is read in a video.
    """

    videos: Sequence[str] = ()
    extra: int = 0
    names: Mapping[int, str] = field(default_factory=dict)
    marks: Mapping[str, int] | None = None
    silence: Mapping[str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class UncoveredFacts:
    """The share of time between labels that no labelled key step resembles, and the videos that have such time."""

    share: float
    videos: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class LeftOutFacts:
    """The share of frames that get their label when each of ``videos`` is labelled from the other annotated videos.

    ``frames_right`` is the mean of ``shares``, one for each video; results of older versions lack the ``shares``.
    """

    videos: Sequence[str]
    frames_right: float
    shares: Sequence[float] = ()
    decoding_cpu_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Edits:
    """Numbers of deviations of a kind: ``made`` in copies of the videos, ``told`` (would be reported) and ``noticed``.

    In earlier results, ``told`` has the number of those that were noticed.
    """

    made: int
    told: int
    noticed: int | None = None


@dataclass(frozen=True, kw_only=True)
class SecondReadingFacts:
    """How well a second reading finds edits of the videos, by kind of deviation, and its CPU time in seconds."""

    missing: Edits
    order: Edits
    repeated: Edits
    decoding_cpu_s: float = 0.0

    def of(self, kind: str) -> Edits:
        """Return the edits of a kind of deviation."""
        return {"missing": self.missing, "order": self.order, "repeated": self.repeated}[kind]


@dataclass(frozen=True, kw_only=True)
class Split:
    """The videos that were learned from, and those that were held out."""

    train: Sequence[str]
    test: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class BundleFacts:
    """The bundle that labelled the videos."""

    file: str
    sha256: str
    rgwot_version: str


@dataclass(frozen=True, kw_only=True)
class ScopeFacts:
    """The clustering of all videos of a task, or of a single video (methods 5.9).

    ``decoder`` has the blocks of the decoder (`Facts`), which the file has beside the other keys. ``videos`` has the
    clusterings of single videos; ``degenerate_videos`` lists those that collapsed.
    """

    degenerate: bool | None = None
    degenerate_cause: str | None = field(default=None, metadata=NULL)
    samples: int | None = None
    mean_pairwise_cosine: float | None = None
    relative_variance: float | None = None
    lambda_1: float | None = None
    distinct_labels: int | None = None
    dominant_label_share: float | None = None
    background_share: float | None = None
    membership_entropy: float | None = None
    mean_max_membership: float | None = None
    decoder: Mapping[str, object] = field(default_factory=dict, metadata=SPREAD)
    seeds_differ: float | None = None
    equal_segments: float | None = None
    held_out: Scope | None = None
    segments: int | None = None
    distinct_labels_per_video: Mapping[str, int] | None = None
    segments_per_video: Mapping[str, int] | None = None
    degenerate_videos: Sequence[str] | None = None
    videos: Mapping[str, Scope] | None = None

    @property
    def without_library(self) -> bool:
        """Whether gco is not installed, so that the graph cut was solved exactly."""
        cut = self.decoder.get("graph_cut")
        return isinstance(cut, Mapping) and "instead_of" in cut


def _with_blocks(content: object) -> object:
    """Move the blocks of the decoder, which the file has beside other keys, into ``decoder``; read ``null`` as NaN."""
    if not isinstance(content, dict):
        return content
    known = {part.name for part in fields(ScopeFacts)}
    values = {name: value for name, value in content.items() if name in known}
    numbers = {name: math.nan for name in ("mean_pairwise_cosine", "seeds_differ") if values.get(name, 0) is None}
    return {**values, **numbers, "decoder": {name: value for name, value in content.items() if name not in known}}


Scope = Annotated[ScopeFacts, BeforeValidator(_with_blocks)]


@dataclass(kw_only=True)
class Diagnostics:
    """The content of ``diagnostics.json``: how key steps were found, and reasons to doubt them.

    ``background`` is true if key step 0 is one more cluster. ``known_videos`` are the videos whose key steps a bundle
    stores. docs/files.md explains the other fields.
    """

    K: int
    method: str = "none"
    decoder: str = ""
    background: bool | None = None
    seed: int = 0
    time: float | None = None
    surplus: int | None = None
    choices: Choices | None = None
    features_fps: float | None = None
    n_videos: int | None = None
    videos_without_frames: Sequence[str] = ()
    degenerate: bool = False
    degenerate_cause: str | None = field(default=None, metadata=NULL)
    warnings: list[str] | None = None
    task: Scope | None = None
    video: Scope | None = None
    labelled: LabelledFacts | None = None
    split: Split | None = None
    notes: Sequence[str] | None = None
    bundle: BundleFacts | None = None
    applied_by: str | None = None
    known_videos: Sequence[str] | None = None
    decoding_cpu_s: float | None = None
    uncovered: UncoveredFacts | None = None
    left_out: LeftOutFacts | None = None
    second_reading: SecondReadingFacts | None = None

    @property
    def taught(self) -> Sequence[str]:
        """The annotated videos that the key steps were learned from."""
        return () if self.labelled is None else self.labelled.videos

    @property
    def names(self) -> dict[int, str]:
        """The names that annotations gave to the key steps."""
        return {} if self.labelled is None else dict(self.labelled.names)

    def warn(self, *lines: str) -> None:
        """Add reasons to doubt the key steps."""
        self.warnings = [*(self.warnings or ()), *lines]


def as_json(part: object) -> dict[str, object]:
    """Return a dataclass of this module, or `Facts`, as the plain values that are written."""
    assert is_dataclass(part)
    content: dict[str, object] = {}
    for its in fields(part):
        value = getattr(part, its.name)
        if its.metadata == SPREAD:
            content |= plain(value)
        elif value is not None or its.metadata == NULL:
            content[its.name] = _plain(value)
    return content


def plain(blocks: Mapping[str, object]) -> dict[str, object]:
    """Return blocks by name as the plain values that are written."""
    return {str(name): _plain(block) for name, block in blocks.items()}


def _plain(value: object) -> object:
    if is_dataclass(value):
        return as_json(value)
    if isinstance(value, Mapping):
        return plain(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value


@cache
def _reader() -> TypeAdapter[Diagnostics]:
    return TypeAdapter(Diagnostics)


def diagnostics_of(where: object, content: object) -> Diagnostics:
    """Return diagnostics from the content of a file; raise RgwotError, with ``where``, if they are not valid."""
    if not isinstance(content, dict):
        raise RgwotError(f"{where}: found {type(content).__name__}, expected an object with the key K; decode again")
    K = content.get("K")
    if isinstance(K, bool) or not isinstance(K, int) or K < 0:
        raise RgwotError(f"{where}: found K {K!r}, expected the number of clusters; decode again")
    try:
        return _reader().validate_python(content)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise RgwotError(f"{where}: {key}: found {first['input']!r}; {first['msg']}; decode again") from None
