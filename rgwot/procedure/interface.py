"""Data types of procedures: recordings, the task graph and deviations, the same in Python and ``procedure.json``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field, PlainSerializer, TypeAdapter, ValidationError

from rgwot.runtime.errors import RgwotError
from rgwot.runtime.html import html_table

if TYPE_CHECKING:
    import networkx

VERSION = 1
FEWEST = 5
"""A need is known, and listed, only if at least this many videos show both of its key steps."""
Terminal = Literal["START", "END"]
START: Literal["START"] = "START"
END: Literal["END"] = "END"
#: A float; in JSON, null stands for values that are not finite.
Number = Annotated[
    float,
    BeforeValidator(lambda value: math.nan if value is None else value),
    PlainSerializer(lambda value: value if math.isfinite(value) else None),
]
# Limits that only files are checked for.
_KeyStep = Annotated[int, Field(ge=1)]
_Count = Annotated[int, Field(ge=0)]
_Share = Annotated[float, Field(ge=0, le=1)]
_Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Against = Literal["others", "own"]
DeviationKind = Literal["missing", "added", "repeated", "too_early", "too_late"]


class Event(NamedTuple):
    """A stretch [start_s, end_s) of a video in which a key step (from 1) is done."""

    key_step: int
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Recording:
    """The events of a video, without background, and its length. Events are sorted by start, and may overlap.

    ``pauses`` are the parts of events that do not count, between segments that do (methods 9.1).
    """

    video: str
    events: tuple[Event, ...]
    duration_s: float
    pauses: tuple[Event, ...] = ()

    @property
    def seconds(self) -> dict[int, float]:
        """The duration of each key step in seconds, summed over its events, without pauses."""
        total: dict[int, float] = {}
        for step, start_s, end_s in self.events:
            total[step] = total.get(step, 0.0) + end_s - start_s
        for step, start_s, end_s in self.pauses:
            total[step] -= end_s - start_s
        return total

    def __post_init__(self) -> None:
        events = tuple(sorted((Event(*event) for event in self.events), key=lambda event: event[1:] + event[:1]))
        for event in events:
            if event.key_step < 1:
                raise RgwotError(
                    f"video {self.video!r}: found key step {event.key_step}, expected 1 or above (0 is background)"
                )
            if not (math.isfinite(event.start_s) and math.isfinite(event.end_s) and event.start_s <= event.end_s):
                raise RgwotError(
                    f"video {self.video!r}: found key step {event.key_step} from {event.start_s} to {event.end_s} s, "
                    "expected finite times, and no start after its end"
                )
        object.__setattr__(self, "events", events)


@dataclass(frozen=True)
class Node:
    """A key step of a procedure.

    Attributes
    ----------
    n_videos, share
        Number of videos that show it, and their share of the videos that show any key step.
    optional
        Whether less than `rgwot.procedure.learning.OPTIONAL_BELOW` of the videos have it.
    repeats
        Mean number of occurrences in the videos that have it.
    repeat_share
        Share of the videos in which it occurs more than once, among those that have it.
    place
        Median relative time in the video, 0 to 1, of the middle of the `rgwot.procedure.orders.placed` occurrence.
    duration_s
        Its total time in seconds, the median over the videos that have it.
    usual_s
        The usual seconds of a segment, by which it was decided what is too short to count
        (`rgwot.procedure.differences.usual_lengths`); None if nothing was decided.
    """

    key_step: _KeyStep
    n_videos: _Count
    share: _Share
    optional: bool
    repeats: _Amount
    repeat_share: _Share
    place: Number
    duration_s: _Amount
    usual_s: _Amount | None = None


@dataclass(frozen=True)
class Edge:
    """A need: ``before`` has to be done when ``after`` begins.

    Attributes
    ----------
    before, after
        Key steps. START comes before key steps that need nothing, END after key steps that nothing needs.
    confidence
        Estimated probability that the need is real, 0 to 1.
    agree, both
        ``both`` is the number of videos that have both key steps, ``agree`` the number of those in which ``before``
        begins earlier. At START and END, each is the number of videos that have the key step.
    interval
        95 % interval of the share agree / both (Jeffreys).
    """

    before: _KeyStep | Terminal
    after: _KeyStep | Terminal
    confidence: _Share
    agree: _Count
    both: _Count
    interval: tuple[Number, Number]

    @property
    def known(self) -> bool:
        """Whether to list the need: `FEWEST` videos show both key steps, and the interval lies above one half.

        A need that was given, not learned, is known; it has the interval (1, 1) and no video.
        """
        return self.interval[0] > 0.5 and (self.both >= FEWEST or not self.both)


@dataclass(frozen=True)
class VideoFit:
    """Fit of a video: its weight in learning (0 to 1), and as score the total surprise of its deviations in bits."""

    video: str
    weight: float
    score: Number


@dataclass(frozen=True)
class Procedure:
    """A task graph, and how it was learned.

    Attributes
    ----------
    learner, settings
        Name and settings of the learner (`rgwot.procedure.LEARNERS`).
    n_videos
        Number of videos with at least one key step.
    nodes
        One per key step, by number.
    edges
        Needs, transitively reduced, with START and END.
    needs
        All needs between key steps, including those that follow from others (the transitive closure).
    either_order, unordered
        Groups of key steps that people do in any order, and groups of which no order is known
        (`rgwot.procedure.known.unordered`).
    order
        The consensus: every key step once, in the order that is nearest to the videos' orders, among those that the
        graph allows.
    order_distance
        Mean normalised Kendall distance between ``order`` and the videos' orders, 0 to 1; NaN if no video has two key
        steps.
    typical_video
        The video with the smallest score; empty if there is none.
    videos
        All videos, including those without a key step.
    notes
        Sentences on what the data does not support.
    """

    learner: str
    settings: dict[str, object]
    n_videos: _Count
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    needs: tuple[Edge, ...]
    either_order: Annotated[tuple[tuple[int, ...], ...], Field(alias="groups")]
    order: tuple[int, ...]
    order_distance: Number
    typical_video: str
    videos: tuple[VideoFit, ...]
    notes: tuple[str, ...] = field(default=())
    unordered: tuple[tuple[int, ...], ...] = field(default=())

    @property
    def most_typical(self) -> str:
        """The typical video, or an empty text if it is the only one or another one deviates as little."""
        scores = [fit.score for fit in self.videos if not math.isnan(fit.score)]
        return self.typical_video if len(scores) > 1 and scores.count(min(scores)) == 1 else ""

    @property
    def graph(self) -> networkx.DiGraph[Any]:
        """The task graph; its nodes are key steps, START and END, with the attributes of `Node` and `Edge`."""
        import networkx

        graph: networkx.DiGraph[Any] = networkx.DiGraph(learner=self.learner, n_videos=self.n_videos)
        graph.add_nodes_from((START, END))
        for node in self.nodes:
            facts = asdict(node)
            graph.add_node(facts.pop("key_step"), **facts)
        for edge in self.edges:
            facts = asdict(edge)
            before, after, (low, high) = (facts.pop(name) for name in ("before", "after", "interval"))
            graph.add_edge(before, after, **facts, low=low, high=high, known=edge.known)
        return graph

    def __str__(self) -> str:
        steps = " > ".join(map(str, self.order)) or "no key step"
        known = sum(edge.known for edge in self.edges if edge.before != START and edge.after != END)
        return f"Procedure of {self.n_videos} videos by {self.learner}: {steps} ({known} needs known)"

    def _repr_html_(self) -> str:
        nodes = {node.key_step: node for node in self.nodes}
        edges = [edge for edge in self.edges if edge.known and edge.before != START]
        needs = {step: [str(edge.before) for edge in edges if edge.after == step] for step in nodes}
        rows = [
            [
                str(step),
                f"{nodes[step].n_videos} of {self.n_videos}",
                f"{nodes[step].duration_s:.1f}",
                ", ".join(needs[step]),
            ]
            for step in self.order
        ]
        return html_table("Procedure, in the usual order", ["key step", "videos", "median seconds", "needs"], rows)

    def to_json(self) -> dict[str, object]:
        """Return the content of ``procedure.json``; numbers that are not finite become None."""
        return {"version": VERSION, **_JSON.dump_python(self, mode="json", by_alias=True)}

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Procedure:
        """Return the procedure that `to_json` turned into ``data``.

        Raises `RgwotError` for another version, and if a field is missing or wrong, or fields contradict each other.
        """
        if data.get("version") != VERSION:
            raise RgwotError(f"procedure: found version {data.get('version')!r}, expected {VERSION}; make it again")
        try:
            procedure = _JSON.validate_python(data)
        except ValidationError as error:
            first = error.errors()[0]
            raise RgwotError(f"procedure: {'.'.join(map(str, first['loc']))}: {first['msg']}; make it again") from None
        steps = [node.key_step for node in procedure.nodes]
        needs = [[(edge.before, edge.after) for edge in part] for part in (procedure.edges, procedure.needs)]
        joined = {step for part in needs for need in part for step in need}
        once = len({*steps}) == len(steps) and all(len({*part}) == len(part) for part in needs)
        if not once or sorted(procedure.order) != sorted(steps) or not joined <= {*steps, START, END}:
            raise RgwotError("procedure: its nodes, order and needs differ in key steps; make it again")
        return procedure


_JSON = TypeAdapter(Procedure)


@dataclass(frozen=True)
class Deviation:
    """A difference between a video and the procedure.

    Attributes
    ----------
    video, kind, key_step
        The kind is ``missing`` (left out), ``added`` (few videos have it), ``repeated`` (few videos repeat it),
        ``too_early`` (before a key step that it needs) or ``too_late`` (after a key step that needs it).
    start_s, end_s
        The event. For ``missing``, the time in which the key step was due: from the end of the last key step that it
        needs (or 0) to the start of the first that needs it (or the end of the video), also by needs that follow from
        others. If they overlap, both are the latter time; if they come in the wrong order, it is the whole video.
        If the video has segments of the key step that do not count, it is the time of the longest.
    surprise
        −log2 of the estimated probability that a video does this, in bits.
    sureness
        Share of other segmentations of the video in which the deviation occurs, times the steadiness of the procedure,
        0 to 1 (`rgwot.procedure.differences.with_sureness`); None without other segmentations.
    against
        What the video differs from: ``others``, what most videos do, or ``own``, the procedure that a user expects.
    """

    video: str
    kind: DeviationKind
    key_step: int
    start_s: float
    end_s: float
    surprise: float
    sureness: float | None = None
    against: Against = "others"
