"""Continuous temporal embedding (CTE): a network learns to predict the relative time of a frame (methods 4.9).

Kukleva et al., "Unsupervised learning of action classes with continuous temporal embedding", CVPR 2019.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rgwot.baselines.settings import Regression
from rgwot.embedding.encoder import seeded
from rgwot.embedding.interface import Embedded, EmbedVideo, Fitted, Learned, VideoFeatures, spatial_means
from rgwot.embedding.sampler import draw_videos
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.limits import one_thread
from rgwot.runtime.progress import Progress

log = logging.getLogger(__name__)

DECAY, DECAY_EPOCHS = 0.1, 30
INITIAL_STD = 0.01


class TimeRegressor(nn.Module):
    """Two layers of 2E and E sigmoid units, and a linear unit for relative time; weights N(0, 0.01), biases 0."""

    def __init__(self, F: int, E: int, seed: int) -> None:
        super().__init__()
        self.first = nn.Linear(F, 2 * E)
        self.second = nn.Linear(2 * E, E)
        self.last = nn.Linear(E, 1)
        generator = torch.Generator().manual_seed(seed)
        for layer in (self.first, self.second, self.last):
            nn.init.normal_(layer.weight, 0.0, INITIAL_STD, generator=generator)
            nn.init.zeros_(layer.bias)

    def embed(self, x: Tensor) -> Tensor:
        """Return the embedding: the second layer before its sigmoid, (n, F) to (n, E)."""
        return self.second(torch.sigmoid(self.first(x)))  # type: ignore[no-any-return]

    def forward(self, x: Tensor) -> Tensor:
        """Return the relative time predicted for each frame, (n, F) to (n,)."""
        return self.last(torch.sigmoid(self.embed(x)))[:, 0]  # type: ignore[no-any-return]


def standardised(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Give every feature of a video (T, F) mean 0 and standard deviation 1 over its frames; constant ones become 0."""
    offsets = x - x.mean(axis=0)
    deviation = offsets.std(axis=0)
    scaled = np.divide(offsets, deviation, out=np.zeros_like(offsets), where=deviation > 1e-6)
    return np.asarray(scaled, dtype=np.float32)


def weights_of(network: nn.Module) -> dict[str, NDArray[np.floating]]:
    """Return the weights of a network as arrays."""
    return {name: value.numpy() for name, value in network.state_dict().items()}


Network = TypeVar("Network", bound=nn.Module)


def with_weights(network: Network, weights: Mapping[str, NDArray[np.floating]]) -> Network:
    """Load the weights of a network from arrays by name (others are ignored), and leave training mode."""
    network.load_state_dict({name: torch.from_numpy(np.asarray(weights[name])) for name in network.state_dict()})
    return network.eval()


def train_regressor(x: Tensor, times: Tensor, settings: Regression, seed: int) -> TimeRegressor:
    """Minimise sum (predicted - true)^2 over batches of shuffled frames by Adam; lr drops tenfold every 30 epochs.

    The loss is the sum, not the mean, as in the public code: Adam's weight decay is coupled, and would weigh 256 times
    as much against a mean. ``x`` (n, F) has the frames of all videos, ``times`` (n,) their relative times in [0, 1).
    Initial weights and the order of the frames follow from the seed.

    Raises
    ------
    RgwotError
        When the error is not finite.
    """
    with seeded(seed):
        model = TimeRegressor(x.shape[1], settings.E, seed)
    optimiser = torch.optim.Adam(model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay, fused=True)
    generator = torch.Generator().manual_seed(seed)
    with Progress(log, "regress relative time", settings.epochs, unit="epoch") as progress:
        for epoch in range(settings.epochs):
            optimiser.param_groups[0]["lr"] = settings.lr * DECAY ** (epoch // DECAY_EPOCHS)
            total = 0.0
            for rows in torch.split(torch.randperm(len(x), generator=generator), settings.batch):
                loss = (model(x[rows]) - times[rows]).square().sum()
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                total += loss.item()
            if not np.isfinite(total):
                raise RgwotError(
                    f"regression: found the loss {total}, expected a finite number; set a smaller regression.lr"
                )
            progress.advance(1, f"mean squared error {total / len(x):.4g}")
    return model.eval()


def fit_regression(stores: Sequence[VideoFeatures], seed: int, settings: Regression) -> EmbedVideo:
    """Train on the videos, or on ``data.n_train`` of them drawn from the seed; return the function that embeds videos.

    Features are used unchanged, or standardised within their video (``regression.standardise``). Training and
    embedding use one thread, because the number of threads changes rounding.
    """
    n_train = settings.data.n_train
    if n_train is not None and n_train > len(stores):
        raise RgwotError(f"data.n_train: found {n_train}, expected at most {len(stores)}, all videos with features")
    if n_train is not None:
        stores = [stores[index] for index in draw_videos(len(stores), n_train, seed)]
    x = np.concatenate([_read(store, settings) for store in stores])
    times = np.concatenate([np.arange(len(store), dtype=np.float32) / len(store) for store in stores])
    with one_thread():
        model = train_regressor(torch.from_numpy(x), torch.from_numpy(times), settings, seed)
    return Fitted(_embedded_by(model, settings), weights_of(model))


def restore_regression(learned: Learned, settings: Regression) -> EmbedVideo:
    """Return the function that embeds videos by the learned network."""
    with seeded(0):
        model = TimeRegressor(learned["first.weight"].shape[1], settings.E, seed=0)
    return _embedded_by(with_weights(model, learned), settings)


def _embedded_by(model: TimeRegressor, settings: Regression) -> EmbedVideo:
    def embed(store: VideoFeatures) -> Embedded:
        with one_thread(), torch.inference_mode():
            return Embedded(model.embed(torch.from_numpy(_read(store, settings))).numpy())

    return embed


def _read(store: VideoFeatures, settings: Regression) -> NDArray[np.float32]:
    means = spatial_means(store)
    return standardised(means) if settings.standardise else means
