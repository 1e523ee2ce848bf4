"""A procedure as a table of facts with two sentences, and the deviations of videos as a table.

The terminal and the page show the same cells. ``names`` maps key steps to their names; a key step without a name is
written as its number.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from rgwot.columns import readable
from rgwot.procedure.differences import POSSIBLE
from rgwot.procedure.interface import END, FEWEST, START
from rgwot.procedure.known import told

if TYPE_CHECKING:
    from rgwot.procedure.interface import Deviation, Edge, Event, Node, Procedure, Recording

#: Headings of the tables of `_StepFacts` and `DeviationFacts`.
STEP_HEADINGS = (
    "Key step", "Found in", "Times per video", "Median time", "Share of time", "After", "Next to it in any order",
    "Next to it, order unknown",
)  # fmt: skip
_TIMES, _UNORDERED = (STEP_HEADINGS.index(heading) for heading in ("Times per video", "Next to it, order unknown"))
DEVIATION_HEADINGS = ("Video", "Key step", "Deviation", "Time", "Sureness", "Surprise (bits)")
_KINDS = {
    "missing": "left out", "added": "added", "repeated": "again", "too_early": "too early", "too_late": "too late",
}  # fmt: skip
#: If videos do a key step only once, at most this many of them are named.
MOST_NAMED = 5
#: Marks deviations from the procedure that a user expects.
OWN = "against your procedure"
#: At most this many needs are listed in the sentence on what to doubt.
MOST_DOUBTED = 3
#: A deviation is sure if its sureness is at least `SURE`, doubtful below `PERHAPS`, and written with "perhaps" between.
SURE, PERHAPS = 0.7, 0.25
_RANKS = {"sure": 0, "perhaps": 1, "doubtful": 2}
#: Marks deviations that no counted segment of the result shows.
ALONE = "by a second reading alone"


def step_title(key_step: int, names: Mapping[int, str] | None = None) -> str:
    """Return the name of a key step, or its number, written as "step 3" if other key steps have names.

    >>> step_title(3), step_title(3, {3: "pour water"}), step_title(3, {1: "open the box"})
    ('3', 'pour water', 'step 3')
    """
    return names.get(key_step, f"step {key_step}") if names else str(key_step)


def moment(seconds: float) -> str:
    """Format a time as minutes and seconds, rounded to the nearest second, like `clock` in the script of the page.

    >>> moment(65.9), moment(59.5), moment(3600)
    ('1:06', '1:00', '60:00')
    """
    minutes, rest = divmod(math.floor(seconds + 0.5), 60)
    return f"{minutes}:{rest:02d}"


def length_in_words(seconds: float) -> str:
    """Write how long something takes, in seconds or, from 100 s, in minutes and seconds.

    >>> length_in_words(0.42), length_in_words(12.5), length_in_words(130)
    ('0.4 s', '13 s', '2:10 min')
    """
    if seconds < 9.95:
        return f"{seconds:.1f} s" if seconds < 1.95 else f"{math.floor(seconds + 0.5)} s"
    return f"{math.floor(seconds + 0.5)} s" if seconds < 99.5 else f"{moment(seconds)} min"


def join_words(parts: Sequence[str]) -> str:
    """Join parts with commas and "and".

    >>> join_words(["1", "2", "5"]), join_words(["4"])
    ('1, 2 and 5', '4')
    """
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else "".join(parts)


def repeats(node: Node) -> bool:
    """Return whether at least half of the videos that have a key step show it more than once."""
    return node.repeat_share >= 0.5


def questioned(need: Edge) -> bool:
    """Return whether a need has a question mark: a video with both key steps contradicts it."""
    return need.agree < need.both


#: If a missing key step was due within an interval of at most this many seconds, only its middle is given.
SHORT_S = 5.0
#: Says that a video has a key step only in segments that do not count.
HARDLY = "hardly recognised here"
#: Stands for segments that do not count as an occurrence of a key step.
UNCOUNTED = -1


@dataclass(frozen=True)
class _StepFacts:
    """A row of the table of facts: a key step, the background (key step 0), or what does not count (`UNCOUNTED`).

    Attributes
    ----------
    n_videos, of
        Number of videos in which the key step was found, and of all videos with any key step.
    times
        Mean number of occurrences in the videos that have it.
    seconds
        Median over these videos of its total time.
    share
        Its share of the time of all videos, 0 to 1; None without recordings.
    needs
        The edges that lead to it from other key steps.
    either_order, unordered
        The key steps that people do before or after it, and those whose order with it is not known.
    """

    key_step: int
    n_videos: int
    of: int
    times: float
    seconds: float
    share: float | None
    needs: tuple[Edge, ...]
    either_order: tuple[int, ...]
    unordered: tuple[int, ...] = ()

    def cells(self, names: Mapping[int, str] | None = None) -> tuple[str, ...]:
        """Return the texts under `STEP_HEADINGS`.

        A need has the number of videos that agree with it, of those that have both key steps, and a question mark if it
        is `questioned`. A need that was given, and not learned, has no numbers.
        """
        share = "" if self.share is None else f"{100 * self.share:.0f} %"
        if self.key_step in (0, UNCOUNTED):
            return ("parts that do not count" if self.key_step else "no key step", "", "", "", share, "", "", "")
        needs = []
        for need in self.needs:
            title = step_title(int(need.before), names) + ("?" if questioned(need) else "")
            needs.append(title + (f" ({need.agree} of {need.both})" if need.both else ""))
        return (
            step_title(self.key_step, names),
            f"{self.n_videos} of {self.of}",
            f"{self.times:.1f}".removesuffix(".0"),
            length_in_words(self.seconds),
            share,
            ", ".join(needs),
            *(", ".join(step_title(step, names) for step in group) for group in (self.either_order, self.unordered)),
        )


def step_facts(
    procedure: Procedure, recordings: Sequence[Recording] = (), every: Sequence[Recording] | None = None
) -> list[_StepFacts]:
    """Return the facts of a procedure: a row per key step in the consensus order, and rows for the remaining time.

    ``recordings`` are the occurrences in the videos, which give the shares of time, and ``every`` all their segments,
    if some do not count. Only the needs that are known are listed.
    """
    procedure = told(procedure)
    nodes = {node.key_step: node for node in procedure.nodes}
    whole = sum(recording.duration_s for recording in recordings)
    total = {**dict.fromkeys(procedure.order, 0.0), **_seconds(recordings)}
    rows = [
        _StepFacts(
            step,
            nodes[step].n_videos,
            procedure.n_videos,
            nodes[step].repeats,
            nodes[step].duration_s,
            total[step] / whole if whole else None,
            tuple(edge for edge in procedure.edges if edge.after == step and edge.before != START),
            *(
                tuple(other for group in groups if step in group for other in group if other != step)
                for groups in (procedure.either_order, procedure.unordered)
            ),
        )
        for step in procedure.order
    ]
    occupied = sum(total.values())
    labelled = max(occupied, sum(_seconds(recordings if every is None else every).values()))
    rest = {UNCOUNTED: labelled - occupied, 0: whole - labelled}
    shares = {step: seconds / whole for step, seconds in rest.items() if whole and seconds > 1e-6 * whole}
    return [*rows, *(_StepFacts(step, 0, 0, 0.0, 0.0, share, (), ()) for step, share in shares.items())]


def step_table(rows: Sequence[_StepFacts], names: Mapping[int, str] | None = None) -> tuple[list[str], list[list[str]]]:
    """Return the headings and cells of a table of facts, without the columns that say nothing.

    These are empty ones, the times per video if every key step occurs once in each video that has it, and the unknown
    orders if none is known.
    """
    cells = [row.cells(names) for row in rows]
    nothing = {at: ("", "1") if at == _TIMES else ("",) for at in range(len(STEP_HEADINGS))}
    told = [at for at, empty in nothing.items() if any(row[at] not in empty for row in cells)]
    steps = [row for row in rows if row.key_step not in (0, UNCOUNTED)]
    if all(len(row.unordered) == len(steps) - 1 for row in steps):
        told = [at for at in told if at != _UNORDERED]
    return [STEP_HEADINGS[at] for at in told], [[row[at] for at in told] for row in cells]


def _seconds(recordings: Sequence[Recording]) -> dict[int, float]:
    """Return the duration of each key step in all recordings, in seconds, without pauses."""
    total: dict[int, float] = {}
    for recording in recordings:
        for step, seconds in recording.seconds.items():
            total[step] = total.get(step, 0.0) + seconds
    return total


def order_sentence(procedure: Procedure, names: Mapping[int, str] | None = None) -> str:
    """Return the consensus order in words, with the number of videos of each optional key step.

    It says which key steps were found in any order, of which no order is known, and whether every "then" is known.
    """
    if not procedure.nodes:
        return "No key step was found: everything is background."
    n = procedure.n_videos
    seldom = {node.key_step: f" (found in {node.n_videos} of {n})" for node in procedure.nodes if node.optional}
    group_of = {step: group for group in (*procedure.either_order, *procedure.unordered) for step in group}
    parts: dict[tuple[int, ...], list[str]] = {}
    for step in procedure.order:
        title = step_title(step, names) + seldom.get(step, "")
        parts.setdefault(group_of.get(step, (step,)), []).append(title)
    if len(procedure.nodes) == 1:
        return f"One key step was found: {parts.popitem()[1][0]}."
    if len(parts) == 1:
        group, titles = parts.popitem()
        if group in procedure.either_order:
            return f"No fixed order was found: {join_words(titles)} may come in any order."
        if agreed_by_few(procedure):
            who = {1: "The only video shows", 2: "Both videos show"}.get(n, f"All {n} videos show")
            return f"{who} {join_words(titles)} in this order; with fewer than {FEWEST} videos this may be chance."
        why = f"with fewer than {FEWEST} videos" if n < FEWEST else "because the videos show none often enough"
        return f"The order that best fits the videos is {', '.join(titles)}; no order is known {why}."
    how = {1: "", 2: ", found in either order"}
    texts = [
        join_words(titles)
        + (", no order known" if group in procedure.unordered else how.get(len(titles), ", found in any order"))
        for group, titles in parts.items()
    ]
    order = f"The order that best fits the videos is {', then '.join(texts)}."
    known = _every_then_is_known(procedure, list(parts))
    return order if known else f'{order} Not every "then" is known: see After in the table.'


def _every_then_is_known(procedure: Procedure, parts: Sequence[Sequence[int]]) -> bool:
    """Return whether the known needs imply that every key step comes after all those of the part before its own."""
    before: dict[int, set[int]] = {step: set() for step in procedure.order}
    needs = [(need.before, need.after) for need in procedure.needs if need.known and need.after in before]
    for step in procedure.order:
        # The consensus order agrees with the needs, so the sets of earlier key steps are complete.
        for first in (int(first) for first, then in needs if then == step):
            before[step] |= {first, *before[first]}
    return all(before[step] >= {*earlier} for earlier, later in pairwise(parts) for step in later)


def agreed_by_few(procedure: Procedure) -> bool:
    """Return whether all videos show all key steps in one order, but are too few for this order to be known."""
    complete = all(node.n_videos == procedure.n_videos for node in procedure.nodes)
    return procedure.n_videos < FEWEST and complete and procedure.order_distance == 0


def again_sentences(
    procedure: Procedure, recordings: Sequence[Recording], names: Mapping[int, str] | None = None
) -> list[str]:
    """Return a sentence for each key step that at least half of the videos repeat: after what, and who has it once.

    >>> from rgwot.procedure import Event, Recording, learn
    >>> orders = {"a": [1, 2, 1], "b": [1, 2, 1], "c": [1, 2]}
    >>> videos = [
    ...     Recording(name, tuple(Event(step, at, at + 1) for at, step in enumerate(order)), 9)
    ...     for name, order in orders.items()
    ... ]
    >>> again_sentences(learn(videos), videos)
    ['In 2 of 3 videos, 1 was found again after 2; only once in c.']
    """
    sentences = []
    for step in (
        step for step in procedure.order for node in procedure.nodes if node.key_step == step and repeats(node)
    ):
        before: dict[int, int] = {}
        again, once = 0, list[str]()
        for recording in recordings:
            steps = [event.key_step for event in recording.events]
            places = [at for at, other in enumerate(steps) if other == step]
            if len(places) > 1:
                again += 1
                other = next((steps[at] for at in range(places[1] - 1, places[0], -1) if steps[at] != step), step)
                before[other] = before.get(other, 0) + 1
            elif places:
                once.append(readable(recording.video))
        if not before:
            continue
        usual = max(before, key=lambda other: (before[other], -other))
        title, middle = step_title(step, names), step_title(usual, names)
        mostly = "mostly " if len(before) > 1 else ""
        chain = f"again {mostly}after {middle}" if usual != step else f"{mostly}twice in a row"
        who = join_words(once) if len(once) <= MOST_NAMED else f"{len(once)} videos"
        rest = f"; only once in {who}" if once else ""
        sentences.append(f"In {again} of {again + len(once)} videos, {title} was found {chain}{rest}.")
    return sentences


def doubt_sentence(
    procedure: Procedure,
    deviations: Sequence[DeviationFacts],
    names: Mapping[int, str] | None = None,
    clauses: Sequence[str] = (),
) -> str:
    """Return a sentence on what to doubt about a procedure, or an empty text.

    It consists of the notes of the procedure, the videos in which another order was found (`deviation_facts`), the
    `MOST_DOUBTED` needs of least confidence among those with a question mark (`questioned`) that these videos do not
    explain, and further ``clauses``.
    """
    procedure = told(procedure)
    # The sentence begins with a colon, so colons in its parts become dashes.
    doubts = [note.replace(": ", " \N{EN DASH} ") for note in procedure.notes]
    moved = [row for row in deviations if row.deviation.kind in ("too_early", "too_late")]
    if moved:
        doubts.append(f"another order was found {_another_order(procedure, moved)}")
    needs = [edge for edge in procedure.edges if edge.before != START and edge.after != END]
    needs = [need for need in needs if questioned(need) and not _explained(need, moved)]
    weak = sorted(needs, key=lambda need: (need.confidence, need.agree / need.both))
    if weak:
        doubts.append(_weak_needs(weak[:MOST_DOUBTED], len(weak) - MOST_DOUBTED, names or {}))
    doubts += clauses
    return f"Reliability: {'; '.join(doubts)}." if doubts else ""


def _another_order(procedure: Procedure, moved: Sequence[DeviationFacts]) -> str:
    """Return words on the videos with key steps too early or too late, each as surely as its surest deviation.

    A key step that was taken for another one looks as if it had moved, so this is said of videos that are not sure.
    """
    surest: dict[str, DeviationFacts] = {}
    for row in moved:
        other = surest.setdefault(row.deviation.video, row)
        surest[row.deviation.video] = min(other, row, key=lambda one: _RANKS.get(one.sureness, 1))
    shown = {row.deviation.video for row in moved if not row.unseen}
    by_rank: dict[int, list[str]] = {}
    place = {fit.video: at for at, fit in enumerate(procedure.videos)}
    for video in sorted(surest, key=lambda video: place.get(video, len(place))):
        row = surest[video]
        name = readable(video) + (f" ({ALONE})" if video not in shown else "")
        by_rank.setdefault(_RANKS.get(row.sureness, 1), []).append(name)
    texts = [
        f"{('', 'perhaps ', 'doubtfully ')[rank]}in "
        + (join_words(group) if len(group) <= MOST_NAMED else f"{len(group)} videos")
        for rank, group in sorted(by_rank.items())
    ]
    return join_words(texts) + (", unless key steps were confused there" if any(by_rank) else "")


def _explained(need: Edge, moved: Sequence[DeviationFacts]) -> bool:
    """Return whether as many videos as contradict a need have ``after`` too early, or ``before`` too late."""
    ways = ("too_early", need.after), ("too_late", need.before)
    videos = {row.deviation.video for row in moved if (row.deviation.kind, row.deviation.key_step) in ways}
    return len(videos) >= need.both - need.agree


def complete_sentence(procedure: Procedure, deviations: Sequence[Deviation]) -> str:
    """Return what may hide behind videos that have every key step and no deviation; empty if any video differs."""
    if deviations or procedure.n_videos < 2 or any(node.n_videos < procedure.n_videos for node in procedure.nodes):
        return ""
    return "All key steps were found in every video, but one may hold two steps, of which somebody left one out."


def _weak_needs(weak: Sequence[Edge], more: int, names: Mapping[int, str]) -> str:
    """Return a clause on the videos that contradict some needs; ``more`` is the number of further ones."""

    def title(step: int | str) -> str:
        return names.get(int(step), f"step {step}")

    first, *others = weak
    told = [
        f"{title(first.after)} was found after {title(first.before)} in only {first.agree} of the {first.both} videos "
        "that have both"
    ]
    told += [f"{title(need.after)} after {title(need.before)} in {need.agree} of {need.both}" for need in others]
    return join_words([*told, f"{more} more have a question mark"] if more > 0 else told)


@dataclass(frozen=True)
class DeviationFacts:
    """A row of the table of deviations.

    ``kind`` says what differs, ``also`` for which other numbers of key steps this holds, if known. ``sureness`` is
    "sure", "perhaps" or "doubtful". ``pieces_s`` is the time in seconds of segments of a missing key step that do not
    count, if there are any, and ``part`` says that the deviation has the time of one of them. ``any_time`` says that a
    missing key step was due at any time of the video, and ``unseen`` that the occurrences in the result do not show the
    deviation.
    """

    deviation: Deviation
    kind: str
    sureness: str
    also: str = ""
    any_time: bool = False
    part: bool = False
    unseen: bool = False
    pieces_s: float | None = None

    @property
    def told(self) -> str:
        """The difference in words, with "perhaps" or "doubtful" unless it is sure."""
        words = self._words
        return {"perhaps": f"perhaps {words}", "doubtful": f"doubtful: {words}"}.get(self.sureness, words)

    @property
    def _words(self) -> str:
        """The kind of the deviation, with the length of the uncounted segments of a missing key step."""
        if self.pieces_s is None:
            return self.kind
        return self.kind.replace(HARDLY, f"{HARDLY} ({length_in_words(self.pieces_s)})")

    @property
    def time(self) -> str:
        """When the deviation occurs, or when a missing key step was due: the middle of a short time, or all of it.

        It is empty if that may have been at any time of the video. A part that does not count may lie elsewhere, so it
        was not due there.
        """
        one = self.deviation
        if one.kind != "missing":
            return moment(one.start_s)
        if self.part:
            return f"at {moment(one.start_s)}"
        if self.any_time:
            return ""
        if one.end_s - one.start_s <= SHORT_S:
            return f"due about {moment((one.start_s + one.end_s) / 2)}"
        return f"due between {moment(one.start_s)} and {moment(one.end_s)}"

    def cells(self, names: Mapping[int, str] | None = None) -> tuple[str, ...]:
        """Return the texts under `DEVIATION_HEADINGS`."""
        step = step_title(self.deviation.key_step, names)
        video, bits = readable(self.deviation.video), f"{self.deviation.surprise:.1f}"
        return (video, step, self._words, self.time, self.sureness, bits)


def deviation_facts(
    deviations: Sequence[Deviation],
    recordings: Sequence[Recording],
    annotated: Collection[str] = (),
    every: Sequence[Recording] | None = None,
) -> list[DeviationFacts]:
    """Return the facts of deviations, the most surprising first and doubtful ones last.

    ``recordings`` are the occurrences in the videos, and ``every`` all their segments, if some do not count. A key step
    with a segment that does not count is missing only perhaps, and the sureness in the row says so, too. If a key step
    without any is due at the start or the end of a video, it may have been done outside the recording. What the
    occurrences do not show is found by a second reading of the video alone (methods 9.10), which the row says. Without
    a sureness, what ``annotated`` videos show is sure, and the rest is written with "perhaps".
    """
    length = {recording.video: recording.duration_s for recording in (*recordings, *(every or ()))}
    counted, seen = _events(recordings), _events(every or ())
    rows = []
    for deviation in deviations:
        kind, sureness = _KINDS[deviation.kind], _sureness(deviation, annotated)
        own = f" ({OWN})" if deviation.against == "own" else ""
        what = deviation.video, deviation.key_step
        any_time, part, unseen, pieces_s = False, False, False, None
        if deviation.kind == "missing":
            # Times in files are rounded.
            ends = deviation.start_s == 0, deviation.end_s > length.get(deviation.video, math.inf) - 0.01
            any_time, unseen = all(ends), what in counted and not own
            if what in counted or what in seen:
                kind = kind if unseen else f"{HARDLY} or left out"
                if what not in counted:
                    pieces_s = sum(event.end_s - event.start_s for event in seen[what])
                part = not unseen and any(_near(deviation, event) for event in seen.get(what, ()))
                sureness = "doubtful" if sureness == "doubtful" else "perhaps"
                deviation = replace(deviation, sureness=_at_most(deviation.sureness, POSSIBLE))
            elif any(ends):
                kind = "left out or not recorded"
        else:
            unseen = deviation.video in length and not _is_shown(deviation, counted.get(what, ()))
        kind += f", {ALONE}" if unseen else ""
        rows.append(
            DeviationFacts(
                deviation, kind + own, sureness, any_time=any_time, part=part, unseen=unseen, pieces_s=pieces_s
            )
        )
    # The sort keeps the order of videos and times among equals.
    return sorted(rows, key=lambda row: (row.sureness == "doubtful", -row.deviation.surprise))


def _events(recordings: Sequence[Recording]) -> dict[tuple[str, int], list[Event]]:
    """Return the events by video and key step."""
    events: dict[tuple[str, int], list[Event]] = {}
    for recording in recordings:
        for event in recording.events:
            events.setdefault((recording.video, event.key_step), []).append(event)
    return events


def _at_most(sureness: float | None, most: float) -> float | None:
    return None if sureness is None else min(sureness, most)


def _is_shown(deviation: Deviation, events: Sequence[Event]) -> bool:
    """Return whether one of the events of its key step covers at least half of the time of a deviation."""
    start, end = deviation.start_s, deviation.end_s
    return any(min(event.end_s, end) - max(event.start_s, start) >= 0.5 * (end - start) for event in events)


def _near(deviation: Deviation, event: Event) -> bool:
    """Return whether a deviation and an event have the same times, up to the rounding of files."""
    return max(abs(deviation.start_s - event.start_s), abs(deviation.end_s - event.end_s)) < 0.01


def _sureness(deviation: Deviation, annotated: Collection[str]) -> str:
    if deviation.sureness is None:
        return "sure" if deviation.video in annotated else "perhaps"
    return "sure" if deviation.sureness >= SURE else "perhaps" if deviation.sureness >= PERHAPS else "doubtful"
