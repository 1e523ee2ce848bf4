"""The further learners of task graphs: hand-worked cases, and their use in `rgwot.procedure.learn`."""

from __future__ import annotations

from learners import _softmax, likelihood, transitions

from rgwot.procedure import Event, Recording, learn


def recording(name: str, *steps: int) -> Recording:
    return Recording(name, tuple(Event(step, place, place + 1) for place, step in enumerate(steps)), len(steps))


VIDEOS = [recording("a", 1, 2, 3), recording("b", 1, 3, 2), recording("c", 1, 2, 3)]


def test_what_follows_directly() -> None:
    # 1 is directly followed by 2 in two of three videos, and by 3 in one. 3 directly follows 2 in two videos, and 2
    # follows 3 in only one, so this direction is dropped.
    procedure = learn(VIDEOS, learner=transitions)
    assert {(need.before, need.after) for need in procedure.needs} == {(1, 2), (1, 3), (2, 3)}
    assert procedure.learner == "transitions"


def test_people_without_mistakes_give_the_graph_they_follow() -> None:
    orders = [(1, 2, 3, 4), (1, 3, 2, 4)] * 10
    procedure = learn([recording(f"v{place}", *order) for place, order in enumerate(orders)], learner=likelihood)
    pairs = {(edge.before, edge.after) for edge in procedure.edges}
    assert pairs == {("START", 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, "END")}


def test_the_loss_of_the_likelihood_starts_as_in_the_paper() -> None:
    # There is one sequence, START 1 END. With equal parameters, 1 can need only START, and END can need START or 1.
    import torch

    allowed = torch.tensor([[False, True, False], [False, False, False], [True, True, False]])
    adjacency = _softmax(torch.zeros((3, 3)), allowed)
    assert adjacency.tolist() == [[0, 1, 0], [0, 0, 0], [0.5, 0.5, 0]]
