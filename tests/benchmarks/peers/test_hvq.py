"""HVQ: hand-worked assignments, moving means, dead codes and gradients, and the decoder (peers 4)."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from asot import seeded
from decoder_task import task
from hvq import DEAD, Codebook, Convolutions, Hvq, _started, learn, quantisation_loss, videos_of

from rgwot.keysteps.interface import Frames


def codebook(dead: float = 0.0, counts: tuple[float, ...] = (4.0, 4.0)) -> Codebook:
    return Codebook(torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor(counts), decay=0.8, dead=dead)


def unit(*degrees: float) -> torch.Tensor:
    angles = torch.deg2rad(torch.tensor(degrees))
    return torch.stack([angles.cos(), angles.sin()], dim=1)


def test_a_vector_gets_the_code_of_largest_cosine() -> None:
    book = codebook()
    assert book.assign(unit(0, 40, 45, 50, 170, -100)).tolist() == [0, 0, 0, 1, 1, 0]
    torch.testing.assert_close(book.quantise(unit(40, 50), torch.tensor([0, 1])), torch.eye(2))
    # Codes are assigned by cosine, whatever their lengths.
    book.codes = torch.tensor([[0.1, 0.0], [0.0, 1.0]])
    assert book.assign(unit(40)).tolist() == [0]


def test_the_gradient_goes_straight_through() -> None:
    z = unit(40, 50, 10).requires_grad_()
    values = codebook().quantise(z, torch.tensor([0, 1, 0]))
    weights = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    (values * weights).sum().backward()
    assert z.grad is not None
    assert torch.equal(z.grad, weights)


def test_codes_move_a_fifth_of_the_way_to_the_mean_direction_by_hand() -> None:
    book = codebook()
    z = torch.tensor([[1.0, 0.0], [0.28, 0.96]])
    book.update(z, torch.tensor([0, 0]), np.random.default_rng(0))
    torch.testing.assert_close(book.counts, torch.tensor([0.8 * 4 + 0.2 * 2, 0.8 * 4]))
    # The mean direction is (1.28, 0.96) / 1.6; the other code gets nothing and stays.
    torch.testing.assert_close(book.codes, torch.tensor([[0.8 + 0.2 * 0.8, 0.2 * 0.6], [0.0, 1.0]]))
    assert book.replaced == 0


def test_a_dead_code_becomes_a_vector_of_the_step() -> None:
    book = codebook(dead=3.0, counts=(4.0, 3.5))
    z = unit(-10, 10, 20)
    book.update(z, torch.tensor([0, 0, 0]), np.random.default_rng(0))
    # 0.8 x 3.5 = 2.8 is below the limit; 0.8 x 4 + 0.2 x 3 = 3.8 is not.
    torch.testing.assert_close(book.counts, torch.tensor([3.8, 3.0]))
    drawn = np.random.default_rng(0).integers(3, size=1)[0]
    torch.testing.assert_close(book.codes[1], z[drawn])
    assert book.replaced == 1
    # A code whose count equals the limit stays as long as it gets that many vectors.
    book.update(unit(0, 1, 2, 3, 18, 19, 20, 21), torch.tensor([0, 0, 0, 0, 1, 1, 1, 1]), np.random.default_rng(0))
    assert book.counts[1].item() == pytest.approx(0.8 * 3 + 0.2 * 4)
    assert book.replaced == 1


def test_the_loss_by_hand_and_what_it_pulls() -> None:
    z = torch.tensor([[1.0, 0.0], [0.6, 0.8]], requires_grad=True)
    q1 = z + (torch.tensor([[0.8, 0.6], [0.6, 0.8]]) - z).detach()
    q2 = q1 + (torch.tensor([[0.0, 1.0], [0.0, 1.0]]) - q1).detach()
    x, found = torch.tensor([[2.0], [3.0]]), torch.tensor([[1.0], [5.0]])
    # The first two terms are means over two frames and two dimensions; the reconstruction has one dimension.
    loss = quantisation_loss(z, q1, q2, x, found, 0.002)
    first, second = [0.04 + 0.36, 0.0], [0.64 + 0.16, 0.36 + 0.04]
    assert loss.item() == pytest.approx((sum(first) + sum(second)) / 4 + 0.002 * (1 + 4) / 2)
    loss.backward()
    # Codes are constants in the gradient: z is pulled towards its first code and, through it, towards the second.
    assert z.grad is not None
    torch.testing.assert_close(z.grad, torch.tensor([[0.2 + 0.8, -0.6 - 0.4], [0.6, -0.2]]) / 2)


def test_layers_are_convolutions_with_zeros_beyond_the_ends() -> None:
    torch.manual_seed(0)
    network = Convolutions(3, hidden=4, layers=2, stages=2)
    x = torch.randn(11, 3)
    h = x
    for stage in range(2):
        h = h @ network.first[stage].weight[:, :, 0].T + network.first[stage].bias
        for layer in range(2):
            taps, mix = network.taps[2 * stage + layer], network.mixes[2 * stage + layer]
            beyond = torch.zeros(2**layer, 4)
            padded = torch.cat([beyond, h, beyond])
            convolved = taps.bias + sum(
                padded[tap * 2**layer : tap * 2**layer + 11] @ taps.weight[:, :, tap].T for tap in range(3)
            )
            h = h + torch.relu(convolved) @ mix.weight[:, :, 0].T + mix.bias
    torch.testing.assert_close(network(x), h)
    # The defaults are the sizes of the released code.
    assert (Hvq().stages, Hvq().layers, Hvq().hidden) == (2, 10, 32)


def test_codes_move_before_vectors_are_replaced_by_them() -> None:
    """The loss of an epoch equals one that is computed without learning and without `Codebook.update`."""
    frames = Frames(task(noise=1.0)[0].x[:96], (48, 48), 2.0)
    _, (loss,) = learn(frames, 2, Hvq(epochs=1, lr=1e-12), np.random.default_rng(0))
    normalize, rng, videos = torch.nn.functional.normalize, np.random.default_rng(0), videos_of(frames)
    with seeded(int(rng.integers(2**63))):
        encoder = Convolutions(16, 32, 10, 2)
    with seeded(int(rng.integers(2**63))):
        decoder = torch.nn.Sequential(Convolutions(32, 32, 10, 2), torch.nn.Linear(32, 16))
    moved, unmoved = [], []
    with torch.no_grad():
        z = torch.cat([normalize(encoder(video), dim=1) for video in videos])
        fine = _started(z, 4, 2, 0.8, DEAD[0], rng)
        coarse = _started(normalize(fine.codes[fine.assign(z)], dim=1), 2, 2, 0.8, DEAD[1], rng)
        for video in rng.permutation(2):
            x = videos[video]
            seen = z = normalize(encoder(x), dim=1)
            levels = []
            for book in (fine, coarse):
                labels, before = book.assign(seen), book.codes
                means = [normalize(seen[labels == k].sum(0), dim=0) for k in range(len(before))]
                assert all(mean.norm() > 0 for mean in means)
                book.codes = torch.stack([code + 0.2 * (mean - code) for code, mean in zip(before, means, strict=True)])
                levels.append((book.codes[labels], before[labels]))
                seen = normalize(book.codes[labels], dim=1)
            for losses, (q1, q2) in zip((moved, unmoved), zip(*levels, strict=True), strict=True):
                losses.append(quantisation_loss(z, q1, q2, x, decoder(q2), 0.002).item())
    assert loss == pytest.approx(np.mean(moved), rel=1e-5)
    assert abs(loss - np.mean(unmoved)) > 1e-3 * loss


def test_few_frames_do_not_kill_every_code() -> None:
    # Sixteen frames cannot give eight codes three each; the limit is half of the mean count.
    frames = Frames(task()[0].x[::12], (4,) * 4, 2.0)
    learned, _ = learn(frames, 4, Hvq(epochs=1), np.random.default_rng(0))
    assert learned.fine.dead == 4 / 2 / len(learned.fine.codes)
    assert Codebook(torch.eye(2), torch.ones(2), 0.8, 3.0).dead == 3.0
