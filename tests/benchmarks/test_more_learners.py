"""Learners of task graphs of the comparison: by hand, and as functions given to `rgwot.procedure.learn`."""

from __future__ import annotations

from learners import _softmax, likelihood, transitions

from rgwot.procedure import Event, Recording, learn


def recording(name: str, *steps: int) -> Recording:
    return Recording(name, tuple(Event(step, place, place + 1) for place, step in enumerate(steps)), len(steps))


VIDEOS = [recording("a", 1, 2, 3), recording("b", 1, 3, 2), recording("c", 1, 2, 3)]


def test_what_follows_directly() -> None:
    # 2 follows 1 directly in two of three videos, 3 in one; 3 follows 2 in two, 2 follows 3 in one, the weaker.
    procedure = learn(VIDEOS, learner=transitions)
    assert {(need.before, need.after) for need in procedure.needs} == {(1, 2), (1, 3), (2, 3)}
    assert procedure.learner == "transitions"


def test_people_without_mistakes_give_the_graph_they_follow() -> None:
    orders = [(1, 2, 3, 4), (1, 3, 2, 4)] * 10
    procedure = learn([recording(f"v{place}", *order) for place, order in enumerate(orders)], learner=likelihood)
    pairs = {(edge.before, edge.after) for edge in procedure.edges}
    assert pairs == {("START", 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, "END")}


def test_the_loss_of_the_likelihood_starts_as_in_the_paper() -> None:
    # One sequence START 1 END: from equal parameters 1 has START alone to need, END has START and 1.
    import torch

    allowed = torch.tensor([[False, True, False], [False, False, False], [True, True, False]])
    adjacency = _softmax(torch.zeros((3, 3)), allowed)
    assert adjacency.tolist() == [[0, 1, 0], [0, 0, 0], [0.5, 0.5, 0]]
