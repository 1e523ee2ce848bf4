"""Values and gradients of the encoder, compared with textbook layers, and its groups of batch norm."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from with_defaults import initialised

from rgwot.embedding.encoder import Encoder, convolve, dropout_masks

SMALL = {"D": 5, "channels": 6, "hidden": 7, "features": 16}


class Textbook(nn.Module):
    """The layers of the encoder, as PyTorch's own modules in the usual order."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        features, channels = encoder.conv1.in_channels, encoder.conv1.out_channels
        self.conv1 = nn.Conv3d(features, channels, 3, padding=1)
        self.bn1 = nn.BatchNorm3d(channels)
        self.conv2 = nn.Conv3d(channels, channels, 3, padding=1)
        self.bn2 = nn.BatchNorm3d(channels)
        self.fc1 = nn.Linear(channels, encoder.fc1.out_features)
        self.fc2 = nn.Linear(encoder.fc1.out_features, encoder.fc2.out_features)
        self.projection = nn.Linear(encoder.fc2.out_features, encoder.projection.out_features)
        state = {key: value for key, value in encoder.state_dict().items() if not key.startswith("input_")}
        self.load_state_dict(state)

    def forward(self, x: Tensor) -> Tensor:
        y = x.movedim(1, 2)  # channels before time
        y = F.relu(self.bn1(self.conv1(y)))
        y = F.relu(self.bn2(self.conv2(y)))
        y = F.adaptive_max_pool3d(y, 1).flatten(1)
        y = F.relu(self.fc2(F.relu(self.fc1(y))))
        y = self.projection(y)
        return y / y.norm(dim=1, keepdim=True)


def clips(n: int, c: int, seed: int = 0, features: int = 16) -> Tensor:
    return torch.randn(n, c, features, 5, 4, generator=torch.Generator().manual_seed(seed))


def stacks(n: int, c: int, seed: int = 0, features: int = 16) -> Tensor:
    """Return clips in the memory order of the encoder, (c, n, h, w, features)."""
    return clips(n, c, seed, features).permute(1, 0, 3, 4, 2)


@pytest.mark.parametrize("c", [1, 2, 3, 4])
@pytest.mark.parametrize(("dtype", "error"), [(torch.float32, 1e-5), (torch.bfloat16, 1e-2)])
@pytest.mark.parametrize("outputs", [8, 160])
def test_convolution_equals_conv3d_in_value_and_gradients(
    c: int, dtype: torch.dtype, error: float, outputs: int
) -> None:
    conv = nn.Conv3d(16, outputs, 3, padding=1)
    x = stacks(4, c).requires_grad_()
    weighting = stacks(4, c, seed=1, features=outputs)
    expected = conv(x.permute(1, 4, 0, 2, 3)).permute(2, 0, 3, 4, 1)
    actual = convolve(x, conv.weight, conv.bias, dtype)
    assert actual.dtype == torch.float32
    of = (x, conv.weight, conv.bias)
    mine = [actual, *torch.autograd.grad((actual * weighting).sum(), of)]
    theirs = [expected, *torch.autograd.grad((expected * weighting).sum(), of)]
    for ours, reference in zip(mine, theirs, strict=True):
        assert (ours - reference).norm() < error * reference.norm()


@pytest.mark.parametrize("c", [1, 2, 3])
@pytest.mark.parametrize("training", [True, False])
def test_encoder_equals_textbook_layers(c: int, training: bool) -> None:
    encoder = initialised(1, c=c, **SMALL)
    nn.init.normal_(encoder.bn1.weight, 1, 0.3, generator=torch.Generator().manual_seed(2))
    encoder.bn1.running_mean += 0.1
    reference = Textbook(encoder).train(training)
    encoder.train(training)
    x, weighting = clips(12, c), clips(12, 1)[:, 0, :5, 0, 0]
    found, expected = encoder(x), reference(x)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(found.norm(dim=1), torch.ones(12))
    (found * weighting).sum().backward()
    (expected * weighting).sum().backward()
    theirs = dict(reference.named_parameters())
    for name, parameter in encoder.named_parameters():
        torch.testing.assert_close(parameter.grad, theirs[name].grad, atol=1e-5, rtol=1e-4)
    state = encoder.state_dict()
    for name, value in reference.state_dict().items():
        torch.testing.assert_close(state[name], value, atol=1e-5, rtol=1e-5)


def test_float16_input_in_the_memory_order_of_the_bank_gives_the_same() -> None:
    encoder = initialised(0, **SMALL).eval()
    x = clips(4, 2).half()
    banked = x.movedim(2, -1).contiguous().movedim(-1, 2)
    torch.testing.assert_close(encoder(x), encoder(banked), atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(encoder(x), encoder(x.float()), atol=1e-6, rtol=1e-6)


def test_standardised_input_is_the_hand_made_one() -> None:
    encoder = initialised(0, input_norm=True, **SMALL).eval()
    encoder.input_mean.copy_(torch.linspace(-1, 1, 16))
    encoder.input_std.copy_(torch.linspace(0.5, 2, 16))
    plain = initialised(0, **SMALL).eval()
    x = clips(3, 2)
    by_hand = (x - encoder.input_mean[:, None, None]) / encoder.input_std[:, None, None]
    torch.testing.assert_close(encoder(x), plain(by_hand), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("mode", ["joint", "per_video"])
def test_pairs_in_one_batch_equal_pairs_one_by_one(mode: str) -> None:
    together, apart = (initialised(0, batch_norm=mode, **SMALL) for _ in range(2))
    x = clips(3 * 8, 2)
    masks = dropout_masks(np.random.default_rng(0), 24, (6, 7), 0.3)
    embeddings = together(x, pairs=3, masks=masks)
    parts = [apart(x[i : i + 8], masks=[mask[i : i + 8] for mask in masks]) for i in (0, 8, 16)]
    torch.testing.assert_close(embeddings, torch.cat(parts), atol=1e-5, rtol=1e-5)
    for (name, mine), theirs in zip(together.state_dict().items(), apart.state_dict().values(), strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-6, rtol=1e-5, msg=name)


def test_per_video_statistics_are_those_of_two_replicas() -> None:
    """Compare with two devices under DataParallel: each normalises its video, and the first keeps the averages."""
    encoder = initialised(0, batch_norm="per_video", **SMALL)
    first, second = Textbook(encoder), Textbook(encoder)
    joint = initialised(0, batch_norm="joint", **SMALL)
    x = clips(8, 2) + torch.arange(8)[:, None, None, None, None].ge(4) * 2.0
    embeddings = encoder(x)
    torch.testing.assert_close(embeddings, torch.cat([first(x[:4]), second(x[4:])]), atol=1e-5, rtol=1e-5)
    assert not torch.allclose(embeddings, joint(x), atol=1e-2)
    torch.testing.assert_close(encoder.bn1.running_mean, first.bn1.running_mean)
    torch.testing.assert_close(encoder.bn2.running_var, first.bn2.running_var)


def test_dropout_masks_keep_the_expectation() -> None:
    wide, narrow = dropout_masks(np.random.default_rng(0), 500, (64, 32), 0.25)
    assert wide.shape == (500, 64)
    assert narrow.shape == (500, 32)
    assert wide.unique().tolist() == pytest.approx([0, 4 / 3])
    assert wide.mean() == pytest.approx(1, abs=0.02)


def test_initial_weights_depend_on_the_seed_alone() -> None:
    before = torch.random.get_rng_state()
    one = initialised(3, **SMALL)
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.manual_seed(99)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), initialised(3, **SMALL).parameters(), strict=True))
    assert not torch.equal(one.conv1.weight, initialised(4, **SMALL).conv1.weight)


@pytest.mark.parametrize("batch_norm", ["joint", "per_video"])
def test_embedding_takes_any_number_of_clips(batch_norm: str) -> None:
    # In eval mode there are no groups, so the number of clips need not be a multiple of them.
    encoder = initialised(0, c=2, D=8, channels=8, hidden=8, features=16, batch_norm=batch_norm).eval()
    x = clips(7, 2)
    with torch.no_grad():
        torch.testing.assert_close(encoder(x), torch.cat([encoder(x[:3]), encoder(x[3:])]))


def test_vectors_go_through_fully_connected_layers_as_by_hand() -> None:
    encoder = initialised(0, c=3, D=4, channels=6, hidden=5, features=7, vectors=True).eval()
    x = torch.randn(8, 3, 7, generator=torch.Generator().manual_seed(0))
    y = torch.relu(encoder.bn1(encoder.stack1(x.flatten(1))[..., None, None])[..., 0, 0])
    y = torch.relu(encoder.bn2(encoder.stack2(y)[..., None, None])[..., 0, 0])
    y = encoder.projection(torch.relu(encoder.fc2(torch.relu(encoder.fc1(y)))))
    assert torch.allclose(encoder(x[..., None, None]), y / y.norm(dim=1, keepdim=True), atol=1e-6)


def test_pairs_of_vectors_have_statistics_of_their_own() -> None:
    settings = {"c": 2, "D": 4, "channels": 6, "hidden": 5, "features": 7, "vectors": True, "dropout": 0.0}
    x = torch.randn(16, 2, 7, 1, 1, generator=torch.Generator().manual_seed(0))
    together = initialised(0, **settings).train()(x, pairs=2)
    apart = initialised(0, **settings).train()
    assert torch.allclose(together, torch.cat([apart(x[:8]), apart(x[8:])]), atol=1e-6)
    with torch.no_grad():
        bfloat16 = initialised(0, **settings, precision="bfloat16").eval()(x)
        assert 0 < float((bfloat16 - initialised(0, **settings).eval()(x)).norm()) < 0.5
