"""The data that a page hands to its script as JSON; ``parts/types.js`` has its types as JSDoc."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rgwot.names import RunNames


@dataclass(frozen=True)
class Video:
    """A video of the task.

    ``status`` and ``reason`` are those of the manifest, ``duration`` is in seconds, ``aspect`` is width over height.
    ``strip`` says whether the page has pictures of the video, ``pictured`` whether there is a video and not only
    features. ``start`` is when a player shows the first frame, in seconds; other times count from the first frame.
    ``file`` is its address relative to the page, None if a browser cannot play it; ``size`` is its width and height.
    """

    id: str
    name: str
    status: str
    reason: str
    duration: float
    fps: float
    aspect: float
    strip: bool
    pictured: bool
    start: float
    path: str
    file: str | None
    size: tuple[int, int]


@dataclass(frozen=True)
class RunFacts:
    """Facts of a result.

    ``kind`` is annotated, trivial, untrained or trained. ``steps`` are the key steps by number, and ``order`` in the
    order of the procedure, with those that it lacks last. ``result`` is the id of its key steps, to which typed names
    belong. By key step: ``names``, ``labels`` (names from annotated videos), ``match`` (the annotated step, 0 for
    background) and ``colour`` (from 1). ``given`` are the annotated videos that the result learned from, and
    ``learned_from`` is a sentence on them; ``lost`` is a sentence on names typed for an earlier result that fit no key
    step. ``collapsed`` and ``warnings`` are sentences, ``soundness`` are cells by their headings. ``view`` says whether
    the page has typical frames and a tree; ``figures`` are addresses of figures of the result. ``folder`` and
    ``score_file`` are paths of the workflow; without a video to score, ``score_file`` is empty. ``another`` is the
    command for another number of key steps, empty if the number cannot be chosen.
    """

    id: str
    method: str
    decoder: str
    seed: int
    kind: str
    K: int | None
    steps: Sequence[int]
    order: Sequence[int]
    result: str
    names: Mapping[str, str]
    labels: Mapping[str, str]
    match: Mapping[str, int]
    given: Sequence[str]
    learned_from: str
    lost: str
    collapsed: str
    soundness: Mapping[str, str]
    warnings: Sequence[str]
    view: bool
    folder: str
    another: str
    score_file: str
    colour: Mapping[str, int] = field(default_factory=dict)
    figures: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RankedOrder:
    """An order of key steps, and the number of videos that follow it."""

    order: Sequence[int]
    n: int


@dataclass(frozen=True)
class Curve:
    """Losses of a training, averaged over equal parts of it."""

    method: str
    seed: int
    step: Sequence[float]
    loss: Sequence[float]
    align: Sequence[float]
    cidm: Sequence[float]


@dataclass(frozen=True)
class SeedScores:
    """Scores of one seed, by ``protocol background rule metric``, each in [0, 1]."""

    seed: int
    value: Mapping[str, float]


@dataclass(frozen=True)
class ScoreRow:
    """Scores of a method and decoder: mean and standard deviation over ``n`` seeds, and each seed."""

    method: str
    decoder: str
    kind: str
    n: int
    mean: Mapping[str, float]
    sd: Mapping[str, float]
    seeds: Sequence[SeedScores]


@dataclass(frozen=True)
class PageScores:
    """Scores of all results that have any, and the axes of their keys."""

    protocols: Sequence[str]
    backgrounds: Sequence[str]
    rules: Sequence[str]
    metrics: Sequence[str]
    rows: Sequence[ScoreRow]


@dataclass(frozen=True)
class GroupRow:
    """A test of a measure of a key step between groups.

    ``a`` and ``b`` name the pair of groups, and are empty for a test of all groups. ``numbers`` has n, mean, and low
    and high end of the interval of every group.
    """

    step: int
    measure: str
    successor: float | None
    a: str
    b: str
    p: float | None
    adjusted: float | None
    star: bool
    numbers: Sequence[Sequence[float | None]]


@dataclass(frozen=True)
class GroupsOfRun:
    """The comparison of groups in a result; ``about`` describes the tests, ``few`` warns of small groups."""

    about: str
    few: str
    groups: Sequence[str]
    rows: Sequence[GroupRow]


@dataclass(frozen=True)
class Groups:
    """Groups in a column of the table of videos, the words for each measure, and ``runs`` by index of the result."""

    column: str
    measures: Mapping[str, str]
    runs: Mapping[str, GroupsOfRun]


@dataclass(frozen=True)
class Suggestion:
    """The videos to annotate next, and for each result, by its id, the command that exports them with its key steps."""

    videos: Sequence[str]
    commands: Mapping[str, str]


@dataclass(frozen=True)
class PageData:
    """The data of all tabs of a page.

    ``frames`` is the number of pictures in a strip, ``colours`` the number of colours. ``steps`` are the annotated
    steps, ``truth`` the annotated segments and marks (start, end, step; 0 is background) of every video in seconds.
    """

    dataset: str
    task: str
    version: str
    frames: int
    colours: int
    videos: Sequence[Video]
    steps: Mapping[str, str]
    truth: Sequence[Sequence[tuple[float, float, int]]]
    true_procedures: Sequence[RankedOrder]
    runs: Sequence[RunFacts]
    notices: Sequence[str]
    names_path: str
    typed: Mapping[str, RunNames]
    curves: Sequence[Curve]
    scores: PageScores | None
    groups: Groups | None
    next: Suggestion | None
