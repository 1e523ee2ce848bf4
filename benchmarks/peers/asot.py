r"""ASOT: an embedding and K centres, learned from transport plans between frames and key steps (peers 2).

Xu and Gould, "Temporally consistent unbalanced optimal transport for unsupervised action segmentation", CVPR 2024.

Key steps have centres :math:`A_k`, frames unit embeddings :math:`f_i`. A plan T sends every frame's mass 1/N to key
steps and minimises

.. math::
    F(T) = (1-\alpha) \langle C, T\rangle + \tfrac{\alpha}{2} \langle C^v T C^a, T\rangle
           + \epsilon \sum_{ik} T_{ik} \log T_{ik} + \lambda \sum_k m_k \log(K m_k), \qquad
    m_k = \sum_i T_{ik}, \quad \sum_k T_{ik} = \tfrac1N

with :math:`C^v_{ij} = 1/r` for :math:`0 < |i-j| \le N r`, else 0, and :math:`C^a_{kl} = [k \ne l]`: it costs if
neighbours in time go to different key steps, or if key steps have unequal shares. The band is summed by differences of
cumulative sums, so everything takes O(NK) time and memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from rgwot.baselines.regression import standardised, weights_of, with_weights
from rgwot.blocks import Count, Fraction01, NonNegative, Positive
from rgwot.config.extensions import Extension
from rgwot.diagnostics import Facts
from rgwot.embedding.encoder import seeded
from rgwot.keysteps.interface import Decoded, Frames, Learned, Predict
from rgwot.keysteps.kmeans import kmeans
from rgwot.keysteps.meanfield import decoded
from rgwot.keysteps.settings import Clustering
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.limits import one_thread
from rgwot.transport.costs import neighbour_sum, relative_positions, structure_radius

#: Settings with which videos and steps are treated as in the released code, and in that of VASOT.
RELEASED: Mapping[str, Any] = {"asot.pad": True, "asot.by_root": True, "asot.capped": False}


class Asot(Clustering):
    """Embedding and centres from transport plans between frames and key steps, as for Breakfast; the stronger reading.

    Peers 2.
    """

    NAME = "asot"
    FUNCTION = "asot:decode_asot"
    RESTORE = "asot:restore_asot"
    SOURCE = "ASOT, Xu and Gould, CVPR 2024"
    SLOW = True

    rho: NonNegative = Field(0.2, description="weight of the prior on relative time; YouTube 0.15")
    r: Annotated[float, Field(gt=0, le=1)] = Field(
        0.04, description="radius of the structural term, share of the frames; Desktop Assembly 0.02"
    )
    alpha: Fraction01 = Field(0.4, description="weight of the structural term while training")
    alpha_test: Fraction01 = Field(0.7, description="the same when frames are labelled")
    lambda_: NonNegative = Field(
        0.1, alias="lambda", description="pull towards equal shares while training; YouTube 0.12"
    )
    lambda_test: NonNegative = Field(0.01, description="the same when frames are labelled")
    epsilon: Positive = Field(0.07, description="weight of the entropy while training")
    epsilon_test: Positive = Field(0.04, description="the same when frames are labelled")
    iterations: Count = Field(25, description="mirror steps per plan")
    N: Annotated[int, Field(ge=2)] = Field(256, description="frames drawn per video and epoch")
    pad: bool = Field(
        False, description="whether shorter videos count as N frames while training, scaled as drawn; released code"
    )
    capped: bool = Field(
        True, description="whether a mirror step is a video's own and at most 1/(epsilon + lambda); released code: no"
    )
    by_root: bool = Field(False, description="whether features are divided by the root of their number; released code")
    start: Literal["kmeans", "random"] = Field("kmeans", description="first centres; released code of VASOT: random")
    epochs: Count = Field(15, description="passes over the videos")
    lr: Positive = Field(1e-3, description="learning rate of Adam")
    hidden: Count = Field(128, description="units of the hidden layer")
    D: Count = Field(40, description="dimensions of the embedding")


BATCH = 2
"""Number of videos per step; published."""

TEMPERATURE = 0.1
"""Temperature of the softmax over centres that plans are compared with; published."""

SAME = 1e-10
"""Embeddings of length 1 count as equal up to this mean squared distance from their mean; otherwise k-means would
cluster rounding errors of float32."""

# Largest change of an entry of log T in the first step; as in the released code.
_FIRST_CHANGE = 4.0

SMALLEST_GRADIENT = 1e-3
"""Least value of the largest entry of a gradient: smaller ones would give infinite or backward steps (ours)."""


PairLoss = Callable[[Tensor, Tensor], Tensor]
"""A function from the drawn embeddings (N, D) of the two videos of a step to their common loss, a scalar."""


@dataclass(frozen=True)
class Weights:
    """Weights of F: alpha in [0, 1], epsilon > 0, lambda >= 0; r > 0 is a share of ``length``, by default of N."""

    alpha: float
    r: float
    epsilon: float
    lambda_: float
    length: int | None = None


@dataclass(frozen=True)
class Segmenter:
    """A learned network, and centres (K', D) of length 1, K' <= K."""

    network: nn.Module
    centres: Tensor
    settings: Asot

    def plan(self, x: NDArray[np.float32]) -> tuple[Tensor, float]:
        """Return log (N T), (N, K'), of a video's features (N, F), and its residual (`segmentation_residual`)."""
        block = self.settings
        cost = segmentation_cost(embed(self.network, x)[None], self.centres, block.rho)
        weights = Weights(block.alpha_test, radius(len(x), block.r), block.epsilon_test, block.lambda_test)
        log_plan = solve_segmentation(cost, weights, block.iterations, step_size(cost, weights, block.capped))
        return torch.log_softmax(log_plan[0], 1), float(segmentation_residual(log_plan, cost, weights))

    def memberships(self, frames: Frames) -> tuple[NDArray[np.float64], float]:
        """Return N T, (frames, K'), from a separate plan for every video, and the largest residual."""
        with one_thread(), torch.inference_mode():
            plans = [self.plan(video) for video in videos_of(frames, self.settings.by_root)]
        memberships = torch.cat([log_plan.exp() for log_plan, _ in plans]).numpy()
        return memberships, max(residual for _, residual in plans)


def split_videos(frames: Frames) -> list[NDArray[np.float32]]:
    """Return every video's features (N, F) as they are."""
    return [part.astype(np.float32) for part in np.split(frames.x, np.cumsum(frames.lengths)[:-1])]


def scaled(x: NDArray[np.float32], by_root: bool = False) -> NDArray[np.float32]:
    """Return features (N, F), each of mean 0 and deviation 1 over the frames, constant ones 0.

    ``by_root`` divides them by the root of F.
    """
    return standardised(x) / np.float32(math.sqrt(x.shape[1]) if by_root else 1)


def videos_of(frames: Frames, by_root: bool = False) -> list[NDArray[np.float32]]:
    """Return every video's features (N, F), `scaled` over all of its frames."""
    return [scaled(video, by_root) for video in split_videos(frames)]


def embed(network: nn.Module, x: NDArray[np.float32]) -> Tensor:
    """Return the embeddings (N, D), of length 1, of features (N, F)."""
    return directions_of(network(torch.from_numpy(x)), "asot")


def directions_of(z: Tensor, name: str) -> Tensor:
    """Scale the vectors (N, D) that the network of a decoder makes to length 1.

    Raises
    ------
    RgwotError
        If a vector is not finite.
    """
    if not bool(z.isfinite().all()):
        raise RgwotError(f"{name}: found embeddings that are not finite, expected numbers; take a smaller {name}.lr")
    return F.normalize(z, dim=1)


def first_centres(f: Tensor, K: int, generator: np.random.Generator) -> Tensor:
    """Return the directions of the k-means centres of vectors (N, D) of length 1, (K', D).

    K' is K, or the number of vectors that differ by more than rounding if that is smaller.
    """
    f = f.detach()
    if float((f - f.mean(0)).square().sum(1).mean()) <= SAME:
        return F.normalize(f[:1], dim=1)
    clusters = kmeans(f.double().numpy(), K, generator)
    used = np.unique(clusters.labels)
    return F.normalize(torch.from_numpy(clusters.centres[used]), dim=1).to(f.dtype)


def radius(N: int, r: float) -> float:
    """Return r, but at least 1/N, so that a frame has a neighbour on either side.

    Without neighbours, a plan has the temperature epsilon / (1 - alpha), which is above that of the softmax trained to
    match it, and training draws the centres together.
    """
    return max(r, 1 / N)


def draw_frames(length: int, N: int, generator: np.random.Generator, last: bool = True) -> NDArray[np.int64]:
    """Draw a frame from each of N nearly equal parts of a video; return all frames if there are at most N.

    Without ``last``, the parts of a video with more than N frames end before its last frame, as in the released code.
    """
    if length <= N:
        return np.arange(length)
    borders = np.arange(N + 1) * (length - (not last)) // N
    return generator.integers(borders[:-1], borders[1:])


def counted_frames(n: int, block: Asot) -> int:
    """Return the number of frames in formulas: ``n`` drawn frames, or N if ``pad`` adds frames without mass."""
    return max(n, block.N) if block.pad else n


def padded(x: NDArray[np.float32], block: Asot, generator: np.random.Generator) -> NDArray[np.float32]:
    """Draw N frames of a video (T, F) as the released code does; a short video is padded with copies of its last frame.

    The frames are `scaled` after padding, so the copies influence mean and deviation.
    """
    rows = draw_frames(len(x), block.N, generator, last=False)
    return scaled(x[np.pad(rows, (0, block.N - len(rows)), mode="edge")], block.by_root)


def steps(videos: int, pairs: bool, generator: np.random.Generator) -> list[list[int]]:
    """Return the videos of each step of an epoch: two videos, each used once, or with ``pairs`` each video and another.

    Without ``pairs``, the last of an odd number of videos is alone in its step, as is a single video in any case.
    """
    order = [int(video) for video in generator.permutation(videos)]
    if not pairs or videos == 1:
        return [order[first : first + BATCH] for first in range(0, videos, BATCH)]
    return [[video, (video + int(generator.integers(1, videos))) % videos] for video in order]


def segmentation_losses(videos: Sequence[Tensor], centres: Tensor, block: Asot, shared: bool = False) -> list[Tensor]:
    r"""Cross-entropies of plans with the softmax over centres, for groups of videos (B, N, D); returns (B,) for each.

    .. math:: L = -\sum_{ik} T_{ik} \log \mathrm{softmax}_k (f_i \cdot A_k / 0.1)

    T, whose entries add up to 1, is a constant. If a video counts as P > N frames, the prior uses i/P, the band has Pr
    frames, and L gets the factor N/P, so that it is a mean over P frames. With ``shared``, all videos take mirror steps
    of the least length of any.
    """
    problems = []
    with torch.no_grad():
        for f in videos:
            length = counted_frames(f.shape[1], block)
            weights = Weights(block.alpha, radius(length, block.r), block.epsilon, block.lambda_, length)
            problems.append((segmentation_cost(f, centres, block.rho, length), weights))
        etas = [step_size(*problem, block.capped) for problem in problems]
        if shared:
            etas = [torch.stack([eta.min() for eta in etas]).min()] * len(etas)
        plans = [
            solve_segmentation(*problem, block.iterations, eta).exp()
            for problem, eta in zip(problems, etas, strict=True)
        ]
    losses = []
    for f, plan in zip(videos, plans, strict=True):
        log_p = torch.log_softmax(f @ centres.T / TEMPERATURE, 2)
        share = f.shape[1] / counted_frames(f.shape[1], block)
        losses.append(-(plan.to(log_p) * log_p).sum((1, 2)) * share)
    return losses


def learn(
    frames: Frames, K: int, block: Asot, generator: np.random.Generator, pair_loss: PairLoss | None = None
) -> tuple[Segmenter, list[float]]:
    """Train a network and centres on videos, two at a time; return both and the mean loss of every epoch.

    A step minimises the sum of both videos' segmentation losses and of ``pair_loss``, if there is one. See `steps`.

    Raises
    ------
    RgwotError
        If training diverges.
    """
    videos = split_videos(frames) if block.pad else videos_of(frames, block.by_root)
    width = frames.x.shape[1]
    with seeded(int(generator.integers(2**63))):
        network = network_of(width, block)
    with torch.no_grad():
        if block.start == "random":
            centres = F.normalize(torch.from_numpy(generator.normal(size=(K, block.D))).float(), dim=1)
        else:
            shown = [padded(video, block, generator) for video in videos] if block.pad else videos
            centres = first_centres(torch.cat([embed(network, video) for video in shown]), K, generator)
    centres.requires_grad_()
    optimiser = torch.optim.Adam([*network.parameters(), centres], lr=block.lr, fused=True)
    losses = []
    for _ in range(block.epochs):
        total = 0.0
        for step in steps(len(videos), pair_loss is not None, generator):
            drawn = []
            for video in (videos[number] for number in step):
                if block.pad:
                    x = padded(video, block, generator)[: len(video)]
                else:
                    x = video[draw_frames(len(video), block.N, generator)]
                drawn.append(embed(network, x))
            # The released code has one step length per batch, and treats a pair as two batches.
            shared = not block.capped and pair_loss is None
            loss = torch.cat(segmentation_losses(_stacked(drawn), centres, block, shared)).sum()
            if pair_loss is not None and len(drawn) == BATCH:
                loss = loss + pair_loss(*drawn)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            with torch.no_grad():
                centres.copy_(F.normalize(centres, dim=1))
            total += loss.item()
        losses.append(total / len(videos))
    return Segmenter(network.eval(), centres.detach(), block), losses


def decode_asot(frames: Frames, K: int, generator: np.random.Generator, settings: Asot) -> Decoded:
    """Learn an embedding and centres, and label every frame by its plan: the decoder ``asot``."""
    with one_thread():
        learned, losses = learn(frames, K, settings, generator)
    return labelled(learned, losses, frames, K, "asot")


@dataclass(frozen=True, kw_only=True)
class AsotFacts(Facts):
    """Numbers of key steps and epochs, the first and last loss, shares, and the distance from a mean field."""

    key_steps: int
    epochs: int
    loss_first: float
    loss_last: float
    shares: Sequence[float]
    residual: float


def labelled(learned: Segmenter, losses: Sequence[float], frames: Frames, K: int, name: str) -> Decoded:
    """Label the frames of videos with a learned segmenter, and record facts under a decoder's name."""
    memberships, residual = learned.memberships(frames)
    facts = AsotFacts(
        key_steps=len(learned.centres),
        epochs=len(losses),
        loss_first=losses[0],
        loss_last=losses[-1],
        shares=memberships.mean(axis=0).tolist(),
        residual=residual,
    )
    kept = {**weights_of(learned.network), "centres": learned.centres.numpy()}
    return replace(decoded(memberships, K, {name: facts}), learned=kept)


def restore_asot(learned: Learned, K: int, block: Asot) -> Predict:
    """Label other videos by plans of the same network and centres."""
    width = learned["0.weight"].shape[1]
    with seeded(0):
        network = with_weights(network_of(width, block), learned)
    segmenter = Segmenter(network, torch.from_numpy(learned["centres"]), block)
    return lambda others: decoded(segmenter.memberships(others)[0], K)


def network_of(width: int, block: Asot) -> nn.Module:
    """Return a network from features (N, width) to embeddings (N, D)."""
    return nn.Sequential(nn.Linear(width, block.hidden), nn.ReLU(), nn.Linear(block.hidden, block.D))


def _stacked(drawn: Sequence[Tensor]) -> list[Tensor]:
    """Return the videos of a step (B, N, D) at once if they have the same number of frames, else one by one."""
    if len({len(f) for f in drawn}) == 1:
        return [torch.stack(list(drawn))]
    return [f[None] for f in drawn]


def segmentation_cost(f: Tensor, centres: Tensor, rho: float, length: int | None = None) -> Tensor:
    r"""Cost of every frame at every key step, cosine distance and temporal prior.

    .. math:: C_{ik} = 1 - f_i \cdot A_k + \rho\, |i/N - k/K|

    with i and k counted from 0. The prior depends on the numbers of key steps, although these are arbitrary.

    Parameters
    ----------
    f : Tensor, shape (B, N, D)
        Embeddings of the frames of B videos in order of time, of length 1.
    centres : Tensor, shape (K, D)
        A, rows of length 1.
    rho : float
        Weight of the prior, >= 0.
    length : int, optional
        Used instead of N in the formula.

    Returns
    -------
    Tensor, shape (B, N, K), float64
    """
    n, K = f.shape[1], len(centres)
    frames, places = (relative_positions(size, dtype=torch.float64, device=f.device) for size in (n, K))
    return 1 - f.double() @ centres.double().T + rho * (frames[:, None] * (n / (length or n)) - places).abs()


def segmentation_gradient(log_plan: Tensor, cost: Tensor, weights: Weights) -> Tensor:
    r"""Gradient of F, up to a constant.

    .. math:: \nabla F = (1-\alpha) C + \alpha\, C^v T C^a + \epsilon \log T + \lambda (\log(K m) + 1), \qquad
              (C^v T C^a)_{ik} = \frac1r \sum_{0 < |j-i| \le Nr} \Big(\sum_l T_{jl} - T_{jk}\Big)

    The constant is that of the entropy, epsilon, which does not matter because rows have a fixed mass. log T, finite,
    and C are (B, N, K), float64.
    """
    K = cost.shape[2]
    linear = _linear(log_plan.exp(), cost, weights)
    return linear + weights.epsilon * log_plan + weights.lambda_ * (_log_shares(log_plan) + math.log(K) + 1)


def step_size(cost: Tensor, weights: Weights, capped: bool = True) -> Tensor:
    r"""Length of the mirror steps of every video, (B, 1, 1), from the gradient at the start.

    .. math:: \eta = \min\Big(\frac{4}{\max |\nabla F|}, \frac{1}{\epsilon + \lambda}\Big)

    Longer steps than the second value overshoot even if there are only entropy and shares. Without this cap, as in the
    released code, eta is 4 over the largest entry of the gradient, not of its absolute value.
    """
    gradient = segmentation_gradient(_start(cost), cost, weights)
    if capped:
        longest = 1 / (weights.epsilon + weights.lambda_)
        return (_FIRST_CHANGE / gradient.abs().amax((1, 2), keepdim=True)).clamp_max(longest)
    return _FIRST_CHANGE / gradient.amax((1, 2), keepdim=True).clamp_min(SMALLEST_GRADIENT)


def solve_segmentation(cost: Tensor, weights: Weights, iterations: int, eta: Tensor | None = None) -> Tensor:
    r"""Descend from T = 1/(NK) by mirror steps, as published (peers 2).

    .. math:: T \leftarrow T \exp(-\eta \nabla F(T)), \quad \text{rows rescaled to } 1/N

    At convergence, p = NT is a mean field: see :func:`segmentation_residual`.

    Parameters
    ----------
    cost : Tensor, shape (B, N, K), float64
        C, finite.
    weights : Weights
    iterations : int
        Steps, >= 0.
    eta : Tensor, optional
        Length of the steps, by default that of `step_size`.

    Returns
    -------
    Tensor, shape (B, N, K), float64
        Logarithm of T, whose rows add up to 1/N.
    """
    log_n = math.log(cost.shape[1])
    eta = step_size(cost, weights) if eta is None else eta
    log_plan = _start(cost)
    for _ in range(iterations):
        gradient = segmentation_gradient(log_plan, cost, weights)
        log_plan = torch.log_softmax(log_plan - eta * gradient, 2) - log_n
    return log_plan


def segmentation_residual(log_plan: Tensor, cost: Tensor, weights: Weights) -> Tensor:
    r"""Distance of p = NT from a mean field, which it is at convergence.

    .. math::
        p_{ik} \propto \exp\left(-\left[(1-\alpha) C_{ik} + \frac{\alpha}{Nr} \sum_{0 < |j-i| \le Nr} (1 - p_{jk})
        + \lambda \log(K m_k)\right] / \epsilon\right)

    Returns
    -------
    Tensor, shape (B,)
        The largest difference of two probabilities, in [0, 1].
    """
    linear = _linear(log_plan.exp(), cost, weights) + weights.lambda_ * _log_shares(log_plan)
    field = torch.softmax(-linear / weights.epsilon, 2)
    return (torch.softmax(log_plan, 2) - field).abs().amax((1, 2))


def _start(cost: Tensor) -> Tensor:
    """Log T, all entries 1/(NK), of the shape of costs (B, N, K)."""
    return torch.full_like(cost, -math.log(cost.shape[1] * cost.shape[2]))


def _linear(plan: Tensor, cost: Tensor, weights: Weights) -> Tensor:
    """(1 - alpha) C + alpha C^v T C^a."""
    reach = structure_radius(weights.length or plan.shape[1], weights.r)
    near = neighbour_sum(plan.sum(2, keepdim=True) - plan, reach, dim=1)
    return (1 - weights.alpha) * cost + weights.alpha / weights.r * near


def _log_shares(log_plan: Tensor) -> Tensor:
    """Log m_k, (B, 1, K)."""
    return torch.logsumexp(log_plan, 1, keepdim=True)


class AsotReleased(Asot):
    """ASOT with the preprocessing of its code: features over the root of their number, short videos padded."""

    NAME = "asot-released"
    SETS = RELEASED


EXTENSION = Extension(decoders=[Asot, AsotReleased])
