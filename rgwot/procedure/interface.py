"""What goes into a procedure and what comes out: plain data, the same in Python and in ``procedure.json``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, PlainSerializer, TypeAdapter, ValidationError

from rgwot.runtime.errors import RgwotError

if TYPE_CHECKING:
    import networkx

VERSION = 1
Terminal = Literal["START", "END"]
START: Literal["START"] = "START"
END: Literal["END"] = "END"
#: Where it is not finite, None in JSON.
Number = Annotated[
    float,
    BeforeValidator(lambda value: math.nan if value is None else value),
    PlainSerializer(lambda value: value if math.isfinite(value) else None),
]
DeviationKind = Literal["missing", "added", "repeated", "too_early", "too_late"]


class Event(NamedTuple):
    """One stretch [start_s, end_s) of a video in which a key step (from 1) is done."""

    key_step: int
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Recording:
    """What one video shows: its events without background, which may overlap, sorted by start, and its length."""

    video: str
    events: tuple[Event, ...]
    duration_s: float

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
                    "expected a start that is not after the end"
                )
        object.__setattr__(self, "events", events)


@dataclass(frozen=True)
class Node:
    """A key step of a procedure.

    Attributes
    ----------
    n_videos, share
        Videos that show it, and their share of all videos that show any key step.
    optional
        Whether leaving it out is usual (`rgwot.procedure.learning.OPTIONAL_BELOW`).
    repeats
        Mean number of occurrences in the videos that have it.
    repeat_share
        Share of the videos that have it which show it more than once.
    place
        Median of the middle of the occurrence that gives its place over the length of the video, 0 to 1.
    duration_s
        Median of its total time in the videos that have it, in seconds.
    """

    key_step: int
    n_videos: int
    share: float
    optional: bool
    repeats: float
    repeat_share: float
    place: Number
    duration_s: float


@dataclass(frozen=True)
class Edge:
    """A need: ``before`` has to be done when ``after`` begins.

    Attributes
    ----------
    before, after
        Key steps; START precedes what needs nothing, END follows what nothing needs.
    confidence
        Estimated probability that the need is real, 0 to 1.
    agree, both
        Videos in which ``before`` begins earlier, of those that have both. At START and
        END both are the number of videos that have the key step.
    interval
        Interval of 95 % of the share agree / both (Jeffreys).
    """

    before: int | Terminal
    after: int | Terminal
    confidence: float
    agree: int
    both: int
    interval: tuple[Number, Number]


@dataclass(frozen=True)
class VideoFit:
    """How well a video fits: its weight in learning, 0 to 1, and its score, the surprise of its deviations in bits."""

    video: str
    weight: float
    score: Number


@dataclass(frozen=True)
class Procedure:
    """A task graph with what it was learned from.

    Attributes
    ----------
    learner, settings
        How it was learned (`rgwot.procedure.LEARNERS`).
    n_videos
        Videos with at least one key step.
    nodes
        One per key step, by number.
    edges
        Needs, transitively reduced, with START and END.
    needs
        All needs between key steps, those that follow from others included (the transitive closure).
    groups
        Key steps in either order (`rgwot.procedure.orders.either_order`).
    order
        The consensus: every key step once, in an order that the graph allows and nearest to those of the videos.
    order_distance
        Mean normalised Kendall distance of the videos' orders from it, 0 to 1; NaN where no video orders two key steps.
    typical_video
        The video with the smallest score; empty where there is none.
    videos
        All videos, also those without a key step.
    notes
        Words on what the data does not support, one line each.
    """

    learner: str
    settings: dict[str, Any]
    n_videos: int
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    needs: tuple[Edge, ...]
    groups: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]
    order_distance: Number
    typical_video: str
    videos: tuple[VideoFit, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def graph(self) -> networkx.DiGraph[Any]:
        """The task graph: nodes by key step, START and END; attributes are those of `Node` and `Edge`."""
        import networkx

        graph: networkx.DiGraph[Any] = networkx.DiGraph(learner=self.learner, n_videos=self.n_videos)
        graph.add_nodes_from((START, END))
        for node in self.nodes:
            facts = asdict(node)
            graph.add_node(facts.pop("key_step"), **facts)
        for edge in self.edges:
            facts = asdict(edge)
            before, after, (low, high) = (facts.pop(name) for name in ("before", "after", "interval"))
            graph.add_edge(before, after, **facts, low=low, high=high)
        return graph

    def to_json(self) -> dict[str, Any]:
        """Return what ``procedure.json`` holds; numbers that are not finite become None."""
        return {"version": VERSION, **_JSON.dump_python(self, mode="json")}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Procedure:
        """Read what `to_json` returns.

        Raises `RgwotError` for another version or where a field is missing or wrong.
        """
        if data.get("version") != VERSION:
            raise RgwotError(f"procedure: found version {data.get('version')!r}, expected {VERSION}; make it again")
        try:
            return _JSON.validate_python(data)
        except ValidationError as error:
            first = error.errors()[0]
            raise RgwotError(f"procedure: {'.'.join(map(str, first['loc']))}: {first['msg']}; make it again") from None


_JSON = TypeAdapter(Procedure)


@dataclass(frozen=True)
class Deviation:
    """What a video does differently from the procedure.

    Attributes
    ----------
    video, kind, key_step
        ``missing`` (left out), ``added`` (few videos have it), ``repeated`` (done again though few videos do),
        ``too_early`` (before something it needs), ``too_late`` (after something that needs it).
    start_s, end_s
        The event. For ``missing`` the time in which it would have been due: from the end of the last key step it
        needs (0 where there is none) to the start of the first that needs it (the end of the video); where that is
        no time at all, both are the start of what needs it.
    surprise
        −log2 of the estimated probability that a video does this, in bits.
    sureness
        Share of other segmentations of these videos in which it occurs, 0 to 1; None where there are none.
    """

    video: str
    kind: DeviationKind
    key_step: int
    start_s: float
    end_s: float
    surprise: float
    sureness: float | None = None
