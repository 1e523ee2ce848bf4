"""Pairs of videos for tests of alignment losses, and plain loops for the contrast between two videos."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from rgwot.losses.interface import PairBatch


def pair(seed: int = 0, batch: int = 3, n: int = 6, m: int = 4, d: int = 5) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x, y = (torch.randn(batch, size, d, dtype=torch.float64, generator=generator) for size in (n, m))
    return x, y


def plain_inter(distance: Tensor, score: Tensor) -> float:
    n, m = distance.shape
    best = worst = 0.0
    for i in range(n):
        order = sorted(range(m), key=lambda j: float(score[i, j]))
        best, worst = best + float(distance[i, order[-1]]) / n, worst + float(distance[i, order[0]]) / n
    for j in range(m):
        order = sorted(range(n), key=lambda i: float(score[i, j]))
        best, worst = best + float(distance[order[-1], j]) / m, worst + float(distance[order[0], j]) / m
    logits = math.exp(best / 0.5), math.exp(worst / 0.5)
    return -math.log(logits[1] / sum(logits))


def batch_of(seed: int, batch: int = 4, n: int = 6) -> PairBatch:
    x, y = pair(seed, batch, n, n)
    generator = torch.Generator().manual_seed(seed)
    times = torch.rand(2, batch, n, dtype=torch.float64, generator=generator).sort(2).values * 9
    lengths = torch.full((batch,), 10.0, dtype=torch.float64)
    return PairBatch(x, y, times[0], lengths, times[1], lengths, torch.arange(0, 900 * batch, 900))
