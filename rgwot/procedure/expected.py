"""A procedure that people expect, as their own instructions say it, and how videos differ from it (methods 9.9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rgwot.procedure.differences import deviations, with_sureness
from rgwot.procedure.graphs import Step, restricted
from rgwot.procedure.interface import END, START, Deviation, Edge, Node, Procedure, Recording
from rgwot.procedure.orders import tally
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.runtime.text import pairing_key

_KEYS = ("needs", "optional", "repeatable")
#: Shares of videos that stand for required and optional steps, so that only the former can be left out.
_REQUIRED, _OPTIONAL = 1.0, 0.4


@dataclass(frozen=True)
class ExpectedStep:
    """A step of an expected procedure: its name, what it needs, and whether it may be left out or repeated."""

    name: str
    needs: tuple[str, ...] = ()
    optional: bool = False
    repeatable: bool = False


@dataclass(frozen=True)
class _OwnDifferences:
    """How videos differ from an expected procedure.

    Attributes
    ----------
    deviations
        ``against`` is ``own``.
    undone
        Steps that no key step has as its name, or that no video has.
    lacking
        Named key steps that videos have and the procedure lacks.
    unnamed
        Key steps of the videos that have no name, which are not compared.
    """

    deviations: tuple[Deviation, ...]
    undone: tuple[str, ...]
    lacking: tuple[str, ...]
    unnamed: tuple[int, ...]

    def sentences(self) -> list[str]:
        """Return sentences on steps that only the procedure or only the videos have, or that have no name."""
        lines = []
        if self.undone:
            lines.append(f"Nobody does {', '.join(self.undone)}, which your procedure has")
        if self.lacking:
            lines.append(f"Your procedure lacks {', '.join(self.lacking)}, which people do")
        if self.unnamed:
            steps = ", ".join(map(str, self.unnamed))
            lines.append(f"Not compared with your procedure, because they have no name: key steps {steps}")
        return [f"{line}." for line in lines]


#: The message if no key step has a name.
NAMELESS = (
    "Your procedure has names of steps, but no key step has a name: "
    "name the key steps under Key steps, or annotate videos."
)


def parse_expected(content: object, where: str) -> tuple[ExpectedStep, ...]:
    """Return the steps of an expected procedure from the content of its file.

    It is a list of steps in order, each a name or a mapping ``{step: NAME, optional: true, repeatable: true}``; or a
    mapping from names to ``{needs: [NAME, ...], optional: true, repeatable: true}``.

    Raises RgwotError, with a message that begins with ``where``, for other content, an unknown key or step, a step that
    occurs twice, and needs that form a circle.
    """
    if not isinstance(content, (list, dict)) or not content:
        found = "nothing" if not content and content is not False else type(content).__name__
        raise RgwotError(f"{where}: found {found}, expected a list of steps in order, or steps with their needs")
    if isinstance(content, dict):
        steps = [_step(where, name, {} if facts is None else facts, _KEYS) for name, facts in content.items()]
    else:
        steps = []
        for entry in content:
            facts = dict(entry) if isinstance(entry, dict) else {"step": entry}
            if "step" not in facts:
                raise RgwotError(f"{where}: found {entry!r}, expected a name, or a mapping with step: NAME")
            step = _step(where, facts.pop("step"), facts, _KEYS[1:])
            steps.append(replace(step, needs=tuple(other.name for other in steps[-1:])))
    names = [step.name for step in steps]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise RgwotError(f"{where}: found the step {twice!r} twice, expected every step once; set repeatable: true")
    for step in steps:
        for need in step.needs:
            if need not in names:
                raise RgwotError(f"{where}: {step.name!r}: found the need {need!r}, {nearest(need, names)}")
    _check_circles(where, steps)
    return tuple(steps)


def _step(where: str, name: object, facts: object, keys: Sequence[str]) -> ExpectedStep:
    if not isinstance(name, str) or not name.strip():
        raise RgwotError(f"{where}: found the step {name!r}, expected a name; put it in quotes")
    name = pairing_key(name).strip()
    if not isinstance(facts, dict):
        raise RgwotError(f"{where}: {name!r}: found {facts!r}, expected {', '.join(keys)}")
    for key, value in facts.items():
        if key not in keys:
            raise RgwotError(f"{where}: {name!r}: found the key {key!r}, {nearest(str(key), keys)}")
        if key != "needs" and not isinstance(value, bool):
            raise RgwotError(f"{where}: {name!r}: {key}: found {value!r}, expected true or false")
    needs = facts.get("needs") or []
    if not isinstance(needs, list) or not all(isinstance(need, str) for need in needs):
        raise RgwotError(f"{where}: {name!r}: needs: found {needs!r}, expected a list of names, such as [rinse]")
    own = tuple(pairing_key(need).strip() for need in needs)
    return ExpectedStep(name, own, facts.get("optional", False), facts.get("repeatable", False))


def _check_circles(where: str, steps: Sequence[ExpectedStep]) -> None:
    """Raise RgwotError if needs form a circle."""
    import networkx

    graph: networkx.DiGraph[str] = networkx.DiGraph((need, step.name) for step in steps for need in step.needs)
    if not networkx.is_directed_acyclic_graph(graph):
        circle = [before for before, _ in networkx.find_cycle(graph)]
        raise RgwotError(
            f"{where}: found the circle {' > '.join([*circle, circle[0]])}, expected needs without circles"
        )


def compare_with_own(
    expected: Sequence[ExpectedStep],
    names: Mapping[int, str],
    recordings: Sequence[Recording],
    others: Sequence[Sequence[Recording]] = (),
    every: Sequence[Recording] = (),
) -> _OwnDifferences | None:
    """Compare recordings with an expected procedure; None if no key step has a name.

    Parameters
    ----------
    expected
        From `parse_expected`.
    names
        Names of key steps by number; key steps of the same name are compared as one if the recordings have merged them.
    recordings
        The videos.
    others
        Other segmentations of them, from which deviations get their sureness (`with_sureness`).
    every
        All segments of the videos, if some do not count (`rgwot.procedure.deviations`).

    Examples
    --------
    >>> from rgwot.procedure import Event
    >>> sop = parse_expected(["wet", "soap", {"step": "scrub", "optional": True}, "dry"], "sop.yaml")
    >>> videos = [Recording("a", (Event(1, 0, 2), Event(3, 2, 4), Event(2, 4, 6)), 6)]
    >>> own = compare_with_own(sop, {1: "wet", 2: "soap", 3: "dry"}, videos)
    >>> [(one.kind, one.key_step) for one in own.deviations], own.undone
    ([('too_early', 3)], ('scrub',))
    """
    done = sorted({event.key_step for recording in recordings for event in recording.events})
    called = {step: pairing_key(name).strip() for step, name in names.items()}
    if not any(step in called for step in done):
        return None
    step_of: dict[str, int] = {}
    for step in (*done, *called):
        if step in called:
            step_of.setdefault(called[step], step)
    known = [step for step in expected if step.name in step_of]
    procedure = _procedure(expected, {step.name: step_of[step.name] for step in known}, recordings)
    told = with_sureness(deviations(procedure, recordings, every=every), procedure, others)
    return _OwnDifferences(
        tuple(replace(one, against="own") for one in told if one.key_step in called),
        tuple(step.name for step in expected if step_of.get(step.name) not in done),
        tuple(
            called[step] for step in done if called.get(step, "") and called[step] not in {one.name for one in expected}
        ),
        tuple(step for step in done if step not in called),
    )


def _procedure(
    expected: Sequence[ExpectedStep], step_of: Mapping[str, int], recordings: Sequence[Recording]
) -> Procedure:
    """Return the part of an expected procedure that key steps stand for; its needs are given, not learned."""
    counted = tally([recording for recording in recordings if recording.events])
    n_videos = len(counted.present)
    having = dict(zip(counted.steps.tolist(), counted.present.sum(axis=0).tolist(), strict=True))
    nodes = [
        Node(
            step_of[step.name],
            having.get(step_of[step.name], 0),
            _OPTIONAL if step.optional else _REQUIRED,
            step.optional,
            1.0,
            float(step.repeatable),
            0.0,
            0.0,
        )
        for step in expected
        if step.name in step_of
    ]
    names: set[tuple[Step, Step]] = {(need, step.name) for step in expected for need in step.needs}
    edges = {(before, after) for before, after in _closed(names, step_of)}
    given = tuple(Edge(step_of[before], step_of[after], 1.0, 0, 0, (1.0, 1.0)) for before, after in sorted(edges))
    order = tuple(step_of[step.name] for step in _in_order(expected) if step.name in step_of)
    return Procedure("own", {}, n_videos, tuple(nodes), given, given, (), order, float("nan"), "", ())


def _closed(edges: set[tuple[Step, Step]], names: Mapping[str, int]) -> set[tuple[str, str]]:
    """Return all needs between steps that key steps stand for, including those that follow through other steps."""
    import networkx

    kept = {(before, after) for before, after in restricted(edges, names) if before != START and after != END}
    graph: networkx.DiGraph[Step] = networkx.DiGraph(kept)
    return {(str(before), str(after)) for before, after in networkx.transitive_closure(graph).edges}


def _in_order(expected: Sequence[ExpectedStep]) -> list[ExpectedStep]:
    """Return the steps in an order that their needs allow, as near as possible to that of the file."""
    import networkx

    place = {step.name: at for at, step in enumerate(expected)}
    graph: networkx.DiGraph[str] = networkx.DiGraph()
    graph.add_nodes_from(place)
    graph.add_edges_from((need, step.name) for step in expected for need in step.needs)
    return [expected[place[name]] for name in networkx.lexicographical_topological_sort(graph, key=place.__getitem__)]
