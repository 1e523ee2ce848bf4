r"""Generalised temporal cycle consistency (GTCC): several neighbours per frame, and frames that may be dropped.

The loss is computed as in the released code (peers 9), but on the frames that are sampled for a training step
instead of whole videos. Cycles lead from some frames of a video, the anchors, by K soft neighbours each to the other
video and back:

.. math::
    \alpha_j = \mathrm{softmax}_j \left(-|u_i - v_j| / \tau\right) \approx \sum_k \psi_k \mathcal N_k(j), \qquad
    \tilde v_k = \sum_j \mathcal N_k(j)\, v_j

    \beta_{kf} = \mathrm{softmax}_{f \in W_i} \left(-|\tilde v_k - u_f| / \tau\right), \quad
    \mu_k = \sum_f f \beta_{kf}, \quad \ell_i = \sum_k \psi_k (i - \mu_k)^2, \quad
    L = \sum_i B_i \ell_i + (1 - B_i) / \ell_i

with a mixture of K Gaussians over the positions of the frames for alpha (`fit_mixtures`), a window W on one side of the
anchor (`windows`) and the weight B with which the anchor is kept (`DropFunction`).

Mixtures are fitted by L-BFGS on many small problems at once, each with its own history and line search (`minimise`).
`torch.optim.LBFGS` solves a single problem: solving forty in turn takes longer than a training step, and minimising
their sum ends far above the separate minima and makes the result of each problem depend on the others. Here problems
are rows, which never mix. Directions, line search and stopping rules follow PyTorch's optimiser, so that a minimisation
that is cut short ends where PyTorch's would. The line search looks for a step that satisfies the strong Wolfe
conditions (Nocedal and Wright, "Numerical optimization", 2006, algorithms 3.5 and 3.6, with cubic interpolation).
Newer versions of PyTorch also end a search early when the step has no evaluations left; those of GTCC's time did not.

References
----------
G. Donahue, E. Elhamifar, "Learning to predict activity progress by self-supervised video alignment", CVPR 2024.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, NamedTuple

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from rgwot.blocks import Count
from rgwot.config.extensions import Extension
from rgwot.config.methods import Family
from rgwot.losses.interface import PairBatch, accurate
from rgwot.losses.settings import Softmax
from rgwot.transport.fused_gromov_wasserstein import where_state


class Gtcc(Softmax):
    """Several cycles per frame and frames that may be dropped (peers 9)."""

    NAME = "gtcc"
    FUNCTION = "gtcc:align_gtcc"
    LEARNED = "gtcc:learned_gtcc"
    SOURCE = "GTCC, CVPR 2024"

    mixture: Count = Field(15, description="Gaussians for the matches of a frame; EgoProceL 15, other datasets 5")
    delta: Annotated[float, Field(gt=0, le=1)] = Field(
        0.2, description="window of the way back, share of N; EgoProceL 0.2, other datasets 0.5"
    )
    keep: Annotated[float, Field(gt=0, le=1)] = Field(
        0.95, description="smallest weight of a frame, to the power of the epoch; EgoProceL 0.95, other datasets 1"
    )


Objective = Callable[[Tensor], tuple[Tensor, Tensor]]
"""A function from points (R, n), one per problem, to values (R,) and gradients (R, n)."""

KEPT_MOVES = 10
# Constants of the strong Wolfe conditions: for the decrease, and for the slope.
DECREASE, SLOPE = 1e-4, 0.9
TRIALS = 26
LEAST_GRADIENT, LEAST_CHANGE, LEAST_CURVATURE = 1e-7, 1e-9, 1e-10


class _Point(NamedTuple):
    """A point on the search line of each problem: step (R,), value (R,), slope along the line (R,), gradient (R, n)."""

    t: Tensor
    value: Tensor
    slope: Tensor
    gradient: Tensor


class _History:
    """The last moves of every problem and changes of its gradient, for the inverse Hessian; unused entries are 0."""

    def __init__(self, x: Tensor) -> None:
        self.moves, self.changes = (x.new_zeros(KEPT_MOVES, *x.shape) for _ in range(2))
        self.inverse, self.scale = x.new_zeros(KEPT_MOVES, len(x)), x.new_ones(len(x))

    def add(self, move: Tensor, change: Tensor) -> None:
        """Keep moves (R, n) along which the slope rose; with others, the Hessian would not be positive definite."""
        along = (move * change).sum(1)
        learned = along > LEAST_CURVATURE
        self.moves, self.changes, self.inverse = (
            torch.where(learned[:, None] if old.ndim == 3 else learned, torch.cat([old[1:], new[None]]), old)
            for old, new in ((self.moves, move), (self.changes, change), (self.inverse, 1 / along))
        )
        self.scale = torch.where(learned, along / (change * change).sum(1), self.scale)

    def direction(self, gradient: Tensor) -> Tensor:
        """Return minus the inverse Hessian times the gradient, (R, n)."""
        q, shares = -gradient, []
        for k in reversed(range(KEPT_MOVES)):
            shares.append(self.inverse[k] * (self.moves[k] * q).sum(1))
            q = q - shares[-1][:, None] * self.changes[k]
        q = q * self.scale[:, None]
        for k in range(KEPT_MOVES):
            share = shares.pop() - self.inverse[k] * (self.changes[k] * q).sum(1)
            q = q + share[:, None] * self.moves[k]
        return q


def minimise(objective: Objective, start: Tensor, *, steps: int, iterations: int, rate: float) -> Tensor:
    """Minimise R objectives of n numbers each by L-BFGS with the strong conditions of Wolfe.

    Every evaluation serves all problems, wherever each of them is in its line search.

    Parameters
    ----------
    objective
        Values and gradients.
    start : Tensor, shape (R, n)
        Starting point of each problem, preferably in float64.
    steps, iterations : int
        Number of steps, and largest number of iterations of a step. A step also ends after ``iterations + 1``
        evaluations of the objective, including one at its beginning; for 4 iterations ``torch.optim.LBFGS`` does so.
    rate : float
        Length first tried in every line search, as a share of the direction.

    Returns
    -------
    Tensor, shape (R, n)
    """
    x = start.clone()
    value, gradient = objective(x)
    history = _History(x)
    direction, t = -gradient, rate / gradient.abs().sum(1).clamp_min(1)
    here = _Point(torch.zeros_like(t), value, (gradient * direction).sum(1), gradient)
    low = high = here
    closed = near = torch.zeros_like(t, dtype=torch.bool)
    tried, evaluated, iteration, step = torch.zeros(4, len(x), dtype=torch.int64, device=x.device)
    evaluated = evaluated + 1
    running = here.slope < -LEAST_CHANGE
    while bool(running.any()):
        value, gradient = objective(x + t[:, None] * direction)
        new = _Point(t, value, (gradient * direction).sum(1), gradient)
        tried, evaluated = tried + 1, evaluated + 1
        rises = (value > here.value + DECREASE * t * here.slope) | ((value >= low.value) & (closed | (tried > 2)))
        flat = ~rises & (new.slope.abs() <= -SLOPE * here.slope)
        # ``beyond``: a minimum lies between low, the best point so far, and the new point, which becomes the other end
        # of the interval.
        beyond = ~rises & ~flat & (torch.where(closed, new.slope * (high.t - low.t), new.slope) >= 0)
        last = low
        high = where_state(rises, new, where_state(beyond, low, high))
        low = where_state(rises, low, new)
        closed = closed | rises | beyond
        swapped = closed & (high.value < low.value)
        low, high = where_state(swapped, high, low), where_state(swapped, low, high)
        narrow = closed & ((high.t - low.t).abs() * direction.abs().amax(1) < LEAST_CHANGE)
        ended = running & (flat | narrow | (tried >= TRIALS))
        t, near = _next(low, where_state(closed, high, last), closed, near)
        if not bool(ended.any()):
            continue

        move = torch.where(ended, low.t, 0.0)[:, None] * direction
        x = x + move
        history.add(move, low.gradient - here.gradient)
        iteration = iteration + ended
        small = (move.abs().amax(1) <= LEAST_CHANGE) | ((low.value - here.value).abs() < LEAST_CHANGE)
        rested = ended & ((iteration == iterations) | (evaluated > iterations) | small)
        iteration, evaluated = iteration.masked_fill(rested, 0), evaluated.masked_fill(rested, 1)
        step = step + rested
        moved = torch.where(ended[:, None], low.gradient, here.gradient)
        direction = torch.where(ended[:, None], history.direction(moved), direction)
        slope = (moved * direction).sum(1)
        fresh = _Point(torch.zeros_like(t), low.value, slope, moved)
        here, low, high = (where_state(ended, fresh, point) for point in (here, low, high))
        closed, near, tried = closed & ~ended, near & ~ended, tried.masked_fill(ended, 0)
        t = t.masked_fill(ended, rate)
        going = (step < steps) & (slope < -LEAST_CHANGE) & (moved.abs().amax(1) > LEAST_GRADIENT)
        running = running & (~ended | going)
    return x


def _next(low: _Point, other: _Point, closed: Tensor, near: Tensor) -> tuple[Tensor, Tensor]:
    """Return the steps to try next (R,), and whether each of them is near an end of its interval (R,).

    A step is the minimum of the cubic through both ends: between them if the interval is closed, otherwise farther on.
    A minimum at an end, or near an end as in the previous call (``near``), is moved a tenth of the interval away from
    this end.
    """
    before = other.t < low.t
    left, right = where_state(before, other, low), where_state(before, low, other)
    width = right.t - left.t
    bend = left.slope + right.slope + 3 * (left.value - right.value) / width
    square = bend * bend - left.slope * right.slope
    root = square.clamp_min(0).sqrt()
    turn = right.t - width * (right.slope + root - bend) / (right.slope - left.slope + 2 * root)
    # While the interval is open, ``low`` is the last point tried; the next point lies beyond, at most ten times as far.
    first = torch.where(closed, left.t, low.t + 0.01 * width)
    last = torch.where(closed, right.t, 10 * low.t)
    turn = torch.where((square >= 0) & turn.isfinite(), turn, (first + last) / 2).clamp(first, last)
    margin = 0.1 * width
    beside = closed & (torch.minimum(last - turn, turn - first) < margin)
    pushed = beside & (near | (turn >= last) | (turn <= first))
    away = torch.where((turn - last).abs() < (turn - first).abs(), last - margin, first + margin)
    return torch.where(pushed, away, turn), beside & ~pushed


# Number of anchors of a video in one step, and of epochs of a training run: constants of the public code.
ANCHORS, EPOCHS = 20, 50
# Units of the hidden layers of the network that drops frames.
WIDTHS = (256, 1024, 512, 256)
# Number of steps of the fit, iterations in each step, and length of the first step.
STEPS, ITERATIONS, RATE = 8, 4, 0.5
# Smallest variance, and the number added to a probability before its logarithm is taken.
VARIANCE_FLOOR, PROBABILITY_FLOOR = 0.5, 1e-30
# Least squared error in the term of dropped frames (0.1 frames squared), so that an exact cycle does not divide by 0.
ERROR_FLOOR = 0.01


class Draw(NamedTuple):
    """Random draws of a step for a video in P pairs: sorted anchors (P, Q), and whether windows precede them (P,)."""

    anchors: Tensor
    before: Tensor


class Mixtures(NamedTuple):
    """Mixtures of K Gaussians: their values at M positions (..., K, M) and their weights (..., K), each of sum 1."""

    parts: Tensor
    weights: Tensor


def align_gtcc(batch: PairBatch, settings: Gtcc) -> Tensor:
    """Return the loss of cycle consistency with several neighbours and dropped frames (GTCC; peers 9), (P,)."""
    score = batch.learned
    if score is None or batch.chance is None:
        raise ValueError(
            "learned, chance: found None for one or both, expected the drop function and training's random numbers"
        )
    # Each pair has one generator, for the draws of its first and then of its second video.
    generators = [batch.chance(iteration) for iteration in batch.iterations.tolist()]
    x_draw, y_draw = (draw(video.shape[1], generators, video.device) for video in (batch.x, batch.y))
    epoch = EPOCHS * batch.iterations // batch.planned
    least = (settings.keep ** (epoch + 1).double())[:, None]
    return gtcc_loss(
        batch.x,
        batch.y,
        x_draw,
        y_draw,
        least + (1 - least) * score(batch.x, batch.y).sigmoid(),
        least + (1 - least) * score(batch.y, batch.x).sigmoid(),
        settings.tau,
        settings,
    )


def draw(n: int, generators: list[np.random.Generator], device: torch.device) -> Draw:
    """Draw anchors and the side of their windows for videos of n frames, one per generator."""
    drawn = [
        (np.sort(generator.choice(n, size=min(ANCHORS, n), replace=False)), bool(generator.integers(2)))
        for generator in generators
    ]
    anchors = torch.from_numpy(np.stack([frames for frames, _ in drawn])).to(device)
    return Draw(anchors, torch.tensor([before for _, before in drawn], device=device))


def gtcc_loss(
    x: Tensor,
    y: Tensor,
    x_draw: Draw,
    y_draw: Draw,
    x_kept: Tensor,
    y_kept: Tensor,
    tau: float,
    gtcc: Gtcc,
) -> Tensor:
    """Return the sum of B l + (1 - B) / l over the anchors of both videos (module docstring).

    Parameters
    ----------
    x : Tensor, shape (P, N, D)
        Embeddings of the first video of each pair, of any length, in order of time.
    y : Tensor, shape (P, M, D)
        Embeddings of the second video of each pair.
    x_draw, y_draw : Draw
        Anchors of both videos, and the sides of their windows.
    x_kept, y_kept : Tensor, shape (P, N) and (P, M)
        Weight B with which each frame is kept, in (0, 1].
    tau : float
        Softmax temperature, > 0, in units of distance.
    gtcc
        ``mixture``, the number K of Gaussians per anchor; ``delta``, the width of the window as a share of a video's
        frames.

    Returns
    -------
    Tensor, shape (P,)
        One value per pair. No gradient flows through alpha and the mixtures.
    """
    with torch.autocast(device_type=x.device.type, enabled=False):
        x, y, x_kept, y_kept = accurate(x, y, x_kept, y_kept)
        ways = ((x, y, x_draw, x_kept), (y, x, y_draw, y_kept))
        with torch.no_grad():
            alphas = [
                torch.softmax(-distance(_at(u, chosen.anchors), v) / tau, 2).flatten(0, 1) for u, v, chosen, _ in ways
            ]
            mixtures = _fitted(alphas, gtcc.mixture)
        total = x.new_zeros(len(x))
        for (u, v, chosen, keep), mixture in zip(ways, mixtures, strict=True):
            shape = (*chosen.anchors.shape, gtcc.mixture)
            parts, weights = mixture.parts.view(*shape, -1).to(u.dtype), mixture.weights.view(shape).to(u.dtype)
            error = cycle_errors(u, v, chosen, Mixtures(parts, weights), gtcc.delta, tau)
            share = keep.gather(1, chosen.anchors)
            total = total + (share * error + (1 - share) / error.clamp_min(ERROR_FLOOR)).sum(1)
        return total


def cycle_errors(u: Tensor, v: Tensor, chosen: Draw, mixtures: Mixtures, delta: float, tau: float) -> Tensor:
    """Error l (P, Q) of the cycles from the anchors in u (P, N, D) through v (P, M, D), in squared positions.

    ``mixtures`` (P, Q, K, M) and (P, Q, K) replace the matches of the anchors in v; gradients flow through v on the way
    from u to v, and through both on the way back.
    """
    neighbours = mixtures.parts @ v[:, None]
    inside = windows(u.shape[1], chosen, delta)[:, :, None]
    far = distance(neighbours.flatten(1, 2), u).view(*neighbours.shape[:3], -1)
    back = torch.softmax((-far / tau).masked_fill(~inside, -torch.inf), 3)
    mean = back @ torch.arange(u.shape[1], dtype=u.dtype, device=u.device)
    return (mixtures.weights * (chosen.anchors[:, :, None] - mean) ** 2).sum(2)


def windows(n: int, chosen: Draw, delta: float) -> Tensor:
    """Return the frames at which the way back from each anchor may end, (P, Q, n) bool.

    A window has w = round(delta n) frames: the anchor and those after it, or those before it. If the anchor is among
    the first or last w frames of the video, these w frames also belong to its window, so that no window is empty.
    """
    width = max(1, round(delta * n))
    frame = torch.arange(n, device=chosen.anchors.device)
    anchor = chosen.anchors[:, :, None]
    first = torch.where(chosen.before[:, None, None], anchor - width, anchor)
    inside = (frame >= first) & (frame < first + width)
    at_start, at_end = (anchor < width) & (frame < width), (anchor >= n - width) & (frame >= n - width)
    return inside | at_start | at_end


def fit_mixtures(alpha: Tensor, components: int) -> Mixtures:
    r"""Fit a mixture of K Gaussians over the positions of the frames to each of R distributions.

    .. math::
        \min \sum_j \alpha_j \log\frac{\alpha_j}{g_j} + g_j \log\frac{g_j}{\alpha_j}, \qquad
        g = \sum_k \psi_k \mathcal N_k, \qquad
        \mathcal N_k(j) = \mathrm{softmax}_j \left(-\frac{(j - m_k)^2}{2 s_k}\right)

    over means m in [0, M - 1], variances s of at least 1/2 and the logits of the weights psi, by 8 steps of L-BFGS of
    up to 4 iterations from means 1 + k (M - 2) / K, variances M and equal weights. In float64.

    Parameters
    ----------
    alpha : Tensor, shape (R, M)
        Distributions over the frames, rows of sum 1.
    components : int
        Number K of Gaussians.

    Returns
    -------
    Mixtures
        float64, without gradient.
    """
    alpha = alpha.detach().double()
    means = 1 + torch.arange(components, dtype=alpha.dtype, device=alpha.device) * (alpha.shape[1] - 2) / components
    start = torch.cat([means, torch.full_like(means, alpha.shape[1]), torch.ones_like(means)])
    place = torch.arange(alpha.shape[1], dtype=alpha.dtype, device=alpha.device)
    log_alpha = (alpha + PROBABILITY_FLOOR).log()
    least = (alpha * log_alpha).sum(1)

    def objective(numbers: Tensor) -> tuple[Tensor, Tensor]:
        # The gradient is written out, which takes half as long as automatic differentiation.
        (parts, weights), offsets, mean, variance = _mixtures(numbers, place)
        g = (weights[:, None] @ parts)[:, 0]
        floored = g + PROBABILITY_FLOOR
        log_g = floored.log()
        ratio = log_g - log_alpha
        value = least - (alpha * log_g).sum(1) + (g * ratio).sum(1)
        slope = ratio + (g - alpha) / floored
        each = (parts @ slope[:, :, None])[:, :, 0]
        pull = parts * (slope[:, None] - each[..., None]) * offsets
        by_mean = weights * pull.sum(2) / variance * ((mean >= 0) & (mean <= place[-1]))
        of_variance = numbers[:, components : 2 * components]
        by_variance = weights * (pull * offsets).sum(2) / (2 * variance**2) * (of_variance >= VARIANCE_FLOOR)
        by_weight = weights * (each - (weights * each).sum(1, keepdim=True))
        return value, torch.cat([by_mean, by_variance, by_weight], 1)

    minimum = minimise(objective, start.expand(len(alpha), -1), steps=STEPS, iterations=ITERATIONS, rate=RATE)
    return _mixtures(minimum, place)[0]


def _mixtures(numbers: Tensor, place: Tensor) -> tuple[Mixtures, Tensor, Tensor, Tensor]:
    """Return mixtures, offsets (R, K, M), raw means, bounded variances for rows of means, variances, logits (R, 3K)."""
    mean, variance, logits = numbers.view(len(numbers), 3, -1).unbind(1)
    bounded = variance.clamp_min(VARIANCE_FLOOR)
    offsets = place - mean.clamp(0, float(len(place) - 1))[..., None]
    parts = torch.softmax(offsets**2 * (-0.5 / bounded)[..., None], 2)
    return Mixtures(parts, torch.softmax(logits, 1)), offsets, mean, bounded


def _fitted(alphas: list[Tensor], components: int) -> list[Mixtures]:
    """Fit the mixtures of both directions, together if both videos have the same number of frames."""
    if alphas[0].shape[1] != alphas[1].shape[1]:
        return [fit_mixtures(alpha, components) for alpha in alphas]
    parts, weights = fit_mixtures(torch.cat(alphas), components)
    first = len(alphas[0])
    return [Mixtures(parts[:first], weights[:first]), Mixtures(parts[first:], weights[first:])]


def distance(u: Tensor, v: Tensor) -> Tensor:
    """Return the distances (P, N, M) between the rows of u and v; the gradient is 0 where they coincide."""
    return torch.cdist(u, v, compute_mode="donot_use_mm_for_euclid_dist")


def _at(u: Tensor, anchors: Tensor) -> Tensor:
    """Return the rows (P, Q, D) of u (P, N, D) at the anchors (P, Q)."""
    return u.gather(1, anchors[..., None].expand(-1, -1, u.shape[2]))


class DropFunction(nn.Module):
    """Learned scores for keeping frames of a video when the video is aligned with another one.

    Scores are given by a linear classifier of frames that depends on the other video: its D + 1 numbers are the mean,
    over the other video's frames, of the outputs of a network D-256-1024-512-256-(D + 1) with ReLU between the layers.
    Over the frames of the video, scores are scaled to mean 0 and standard deviation 1.
    """

    def __init__(self, D: int) -> None:  # noqa: N803 - the paper's symbol
        super().__init__()
        sizes = (D, *WIDTHS, D + 1)
        layers: list[nn.Module] = []
        for inside, outside in zip(sizes, sizes[1:], strict=False):
            layers += [nn.Linear(inside, outside), nn.ReLU()]
        self.network = nn.Sequential(*layers[:-1])

    def forward(self, frames: Tensor, other: Tensor) -> Tensor:
        """Return the scores (P, N) of the frames (P, N, D) of one video, given the frames (P, M, D) of the other."""
        with torch.autocast(device_type=frames.device.type, enabled=False):
            weight = next(self.parameters())
            frames, other = (value.to(weight.dtype) for value in (frames, other))
            classifier: Tensor = self.network(other).mean(1)
            scores = (frames @ classifier[:, :-1, None])[..., 0] + classifier[:, -1:]
            offsets = scores - scores.mean(1, keepdim=True)
            variance = (offsets**2).sum(1, keepdim=True) / max(1, frames.shape[1] - 1)
            return offsets / variance.clamp_min(torch.finfo(variance.dtype).tiny).sqrt()


def learned_gtcc(D: int) -> nn.Module:
    """Make the drop function."""
    return DropFunction(D)


EXTENSION = Extension(
    losses=[Gtcc],
    methods=(
        Family(
            "gtcc",
            "several cycles per frame, frames may be dropped; as released, on sampled frames",
            sets={"loss.alignment": "gtcc", "encoder.unit_norm": False, "cidm.beta": 0.0, "train.clip": 1.0},
        ),
    ),
)
