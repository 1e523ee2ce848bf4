"""Our Adam is PyTorch's, bit for bit, and a training job does without PyTorch's compiler."""

from __future__ import annotations

import subprocess
import sys
from copy import deepcopy

import pytest
import torch
from torch import Tensor, nn

from rgwot.embedding.adam import Adam


def model() -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(7, 5), nn.BatchNorm1d(5), nn.Tanh(), nn.Linear(5, 3))


def loss(network: nn.Module, step: int) -> Tensor:
    x = torch.randn(11, 7, generator=torch.Generator().manual_seed(step))
    return (network(x) ** 2).mean() * 10 ** (step % 3)


@pytest.mark.parametrize("weight_decay", [0.0, 1e-2])
def test_steps_are_those_of_torch(weight_decay: float) -> None:
    ours = model()
    theirs = deepcopy(ours)
    mine = Adam(ours.parameters(), lr=3e-3, weight_decay=weight_decay)
    other = torch.optim.Adam(theirs.parameters(), lr=3e-3, weight_decay=weight_decay, fused=True)
    before = [value.clone() for value in ours.parameters()]
    for step in range(25):
        # Now and then a parameter has no gradient, and then its step count and moments stay.
        frozen = list(ours.parameters())[0], list(theirs.parameters())[0]
        for value in frozen:
            value.requires_grad_(step % 4 != 1)
        mine.zero_grad()
        other.zero_grad()
        loss(ours, step).backward()
        loss(theirs, step).backward()
        mine.step()
        other.step()
        for found, expected in zip(ours.parameters(), theirs.parameters(), strict=True):
            assert torch.equal(found, expected), step
    assert not any(torch.equal(now, was) for now, was in zip(ours.parameters(), before, strict=True))


def test_decoupled_decay_is_adamw() -> None:
    torch.manual_seed(3)
    ours = nn.Sequential(nn.Linear(7, 5), nn.Tanh(), nn.Linear(5, 3))
    theirs = deepcopy(ours)
    mine = Adam(ours.parameters(), lr=3e-3, weight_decay=0.2, decoupled=True)
    other = torch.optim.AdamW(theirs.parameters(), lr=3e-3, weight_decay=0.2)
    for step in range(25):
        mine.zero_grad()
        other.zero_grad()
        loss(ours, step).backward()
        loss(theirs, step).backward()
        mine.step()
        other.step()
    for found, expected in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(found, expected)


def test_a_run_goes_on_from_its_state() -> None:
    def run(network: nn.Module, optimiser: Adam, steps: range) -> None:
        for step in steps:
            optimiser.zero_grad()
            loss(network, step).backward()
            optimiser.step()

    whole = model()
    run(whole, Adam(whole.parameters(), lr=1e-2, weight_decay=1e-3), range(12))
    first = model()
    begun = Adam(first.parameters(), lr=1e-2, weight_decay=1e-3)
    run(first, begun, range(5))
    second = deepcopy(first)
    resumed = Adam(second.parameters(), lr=1e-2, weight_decay=1e-3)
    saved = deepcopy(begun.state_dict())
    resumed.load_state_dict(saved)
    run(second, resumed, range(5, 12))
    for found, expected in zip(second.parameters(), whole.parameters(), strict=True):
        assert torch.equal(found, expected)
    # What was saved is a copy of its own.
    assert saved["steps"][0] == 5


def test_no_compiler_is_imported() -> None:
    code = (
        "import sys, torch\nfrom rgwot.embedding.adam import Adam\nvalue = torch.ones(3, requires_grad=True)\n"
        "adam = Adam([value], lr=0.1, weight_decay=0.1)\nadam.zero_grad()\nvalue.sum().backward()\nadam.step()\n"
        "adam.load_state_dict(adam.state_dict())\nprint('torch._dynamo' in sys.modules, value[0].item() < 1)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
