"""Further learners of task graphs, which graphs.py compares with those of the library.

`transitions` learns what follows directly, `likelihood` is maximum likelihood by direct optimisation (Seminara,
Farinella, Furnari, NeurIPS 2024).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rgwot.procedure.learners import Needs, circles, shares_before, surest
from rgwot.procedure.orders import Tally, surest_first

if TYPE_CHECKING:
    import torch

BETA = 0.005
RATE = 0.1
EPOCHS = 1000
PATIENCE = 25
SATISFIED = 0.95


def transitions(tally: Tally) -> Needs:
    """Let l need k if k comes directly before l in a share of at least 1 / K of the videos that have l.

    K is the number of key steps. The transitions in the videos' orders are added by falling share, except those that
    would close a circle. The result is the directly-follows graph of process mining without circles.
    """
    n = len(tally.steps)
    follows = np.zeros((n, n))
    for order in tally.orders():
        follows[order[:-1], order[1:]] += 1
    share = follows / np.maximum(tally.present.sum(axis=0), 1)
    return surest(tally, share, (share >= 1 / max(n, 1)) & (follows > 0))


def likelihood(tally: Tally) -> Needs:
    """Learn A (K + 2, K + 2), row-wise softmax of free parameters over allowed pairs, by Adam from

        L = Σ_sequences Σ_i [ β log Σ_{a ∉ J_i, b ∈ J_i} A_ab − log Σ_{b ∈ J_i} A_{s_i, b} ]

    with J_i the key steps before place i and START and END at either end of every sequence (arXiv 2406.01486;
    identical sequences count once), starting from equal parameters. A_ab is how much a needs b; a need is taken if
    A_ab ≥ 1 / (K + 2), from the largest one, unless it would close a circle. Training ends after `PATIENCE` epochs
    without a larger share of satisfied needs, once that share has exceeded `SATISFIED`.
    """  # noqa: D205, D400
    n = len(tally.steps)
    orders = sorted({tuple(order.tolist()) for order in tally.orders() if len(order)})
    weights = np.ones(len(tally.present))
    if n < 2 or not orders:
        return Needs(np.zeros((n, n), dtype=bool), np.zeros((n, n)), weights)
    found = _adjacency(orders, n)
    wanted = (found >= 1 / (n + 2)).T[:n, :n]
    return Needs(surest_first(found.T[:n, :n], wanted), shares_before(tally), weights, circles(tally, wanted))


def _adjacency(orders: list[tuple[int, ...]], n: int) -> NDArray[np.float64]:
    import torch

    start, end = n, n + 1
    sequences = [(start, *order, end) for order in orders]
    allowed = ~torch.eye(n + 2, dtype=torch.bool)
    allowed[start] = False  # START needs nothing
    allowed[:, end] = False  # nothing needs END
    # One row per place of a sequence: its key step, those before it, and all others, which include the key step itself.
    who, before = [], []
    for sequence in sequences:
        done = torch.zeros(n + 2)
        done[start] = 1
        for step in sequence[1:]:
            who.append(step)
            before.append(done.clone())
            done[step] = 1
    comes, past = torch.tensor(who), torch.stack(before)
    free = torch.zeros((n + 2, n + 2), requires_grad=True)
    optimiser = torch.optim.Adam([free], lr=RATE)
    best, kept, since = -1.0, _softmax(free, allowed), 0
    for _ in range(EPOCHS):
        adjacency = _softmax(free, allowed)
        reached = past @ adjacency.T  # (rows, K + 2): how much of its needs each key step has done
        met = reached.gather(1, comes[:, None])[:, 0]
        waiting = (reached * (1 - past)).sum(dim=1)
        loss = (BETA * torch.log(waiting.clamp_min(1e-9)) - torch.log(met.clamp_min(1e-9))).sum()
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        with torch.no_grad():
            adjacency = _softmax(free, allowed)
            share = _satisfied(adjacency >= 1 / (n + 2), comes, past)
        if share > best:
            best, kept, since = share, adjacency, 0
        else:
            since += 1
        if best > SATISFIED and since >= PATIENCE:
            break
    return np.asarray(kept.detach().numpy(), dtype=np.float64)


def _softmax(free: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    """Row-wise softmax over allowed pairs; a row without any is 0."""
    return free.masked_fill(~allowed, float("-inf")).softmax(dim=1).nan_to_num(0.0)


def _satisfied(edges: torch.Tensor, comes: torch.Tensor, past: torch.Tensor) -> float:
    """Return the share of needs that are met, over all places of all sequences."""
    needed = edges[comes].float()
    return float((needed * past).sum() / needed.sum().clamp_min(1.0))
