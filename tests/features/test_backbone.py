from __future__ import annotations

from pathlib import Path
from urllib.error import URLError

import pytest
import torch
from torchvision.models import ResNet50_Weights, resnet50
from with_defaults import load_backbone

from rgwot.features.backbone import weights_digest
from rgwot.features.settings import EXTRACTORS
from rgwot.runtime.errors import RgwotError


@pytest.fixture(scope="module")
def whole() -> torch.nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        network = resnet50(weights=None)
    # Random statistics, so that a missing batch norm would be noticed.
    for i, module in enumerate(network.modules()):
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.fill_(0.01 * (i % 7))
            module.running_var.fill_(1 + 0.1 * (i % 5))
    return network.eval()


@pytest.fixture(scope="module")
def checkpoint(whole: torch.nn.Module, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weights") / "resnet50.pth"
    torch.save(whole.state_dict(), path)
    return path


def frames(count: int = 2, height: int = 64, width: int = 64) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randint(0, 256, (count, height, width, 3), dtype=torch.uint8, generator=generator)


def test_equals_torchvision_bit_for_bit(whole: torch.nn.Module, checkpoint: Path) -> None:
    backbone = load_backbone(str(checkpoint))
    pixels = backbone.normalise(frames(2, 70, 96))
    mean, std = (
        torch.tensor(one, dtype=torch.float64).view(1, 3, 1, 1)
        for one in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    )
    assert torch.allclose(pixels.double(), (frames(2, 70, 96).permute(0, 3, 1, 2).double() / 255 - mean) / std)
    with torch.inference_mode():
        maps = backbone.network(pixels)
        x = pixels
        for name in ("conv1", "bn1", "relu", "maxpool", "layer1", "layer2"):
            x = whole.get_submodule(name).to(memory_format=torch.channels_last)(x)
        expected = whole.get_submodule("layer3").to(memory_format=torch.channels_last)[:3](x)  # type: ignore[index]
    assert torch.equal(maps, expected)


def test_batch_norm_in_the_convolutions_changes_nothing_but_rounding(checkpoint: Path) -> None:
    # The statistics of the checkpoint differ from layer to layer, and the input size is not a multiple of the stride.
    backbone = load_backbone(str(checkpoint))
    fused = backbone.fused()
    assert not any(isinstance(module, torch.nn.BatchNorm2d) for module in fused.modules())
    assert sum(isinstance(module, torch.nn.Conv2d) for module in fused.modules()) == 34
    for pixels in (frames(3, 168, 168), frames(2, 70, 96)):
        expected = backbone(pixels)
        error = (fused(pixels) - expected).norm() / expected.norm()
        assert 0 < float(error) < 1e-5
    # The original network, and so its digest, is unchanged.
    assert isinstance(backbone.network.bn1, torch.nn.BatchNorm2d)
    assert weights_digest(backbone) == weights_digest(load_backbone(str(checkpoint)))


@pytest.mark.parametrize(("size", "side"), [(168, 11), (112, 7), (33, 3)])
def test_map_size(size: int, side: int) -> None:
    assert EXTRACTORS["resnet50"].side(size) == side
    assert load_backbone("random")(frames(1, size, size)).shape == (1, 1024, side, side)


def test_frozen_and_always_in_inference_mode() -> None:
    backbone = load_backbone("random")
    before = weights_digest(backbone)
    backbone.train()
    assert not any(module.training for module in backbone.modules())
    assert not any(p.requires_grad for p in backbone.parameters())
    backbone(frames())
    assert weights_digest(backbone) == before


def test_random_weights_follow_the_seed_and_leave_the_global_generator_alone() -> None:
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    first, again, other = load_backbone("random", 0), load_backbone("random", 0), load_backbone("random", 1)
    assert torch.equal(torch.rand(4), expected)
    assert weights_digest(first) == weights_digest(again) != weights_digest(other)
    # Stores of earlier versions have this digest.
    assert weights_digest(first).startswith("443b79f13ad3b64a952dfdf17815ee81")


def test_random_features_fit_float16_and_are_alive() -> None:
    maps = load_backbone("random")(frames(4, 112, 112))
    assert maps.half().isfinite().all()
    assert 0.05 < float((maps == 0).float().mean()) < 0.7


def test_bfloat16_is_close() -> None:
    full = load_backbone("random")(frames())
    half = load_backbone("random", precision="bfloat16")(frames())
    assert half.dtype == torch.float32
    assert 0 < float((half - full).norm() / full.norm()) < 0.05
    fused = load_backbone("random", precision="bfloat16").fused()(frames())
    assert 0 < float((fused - full).norm() / full.norm()) < 0.05


@pytest.mark.parametrize("form", ["plain", "wrapped", "module prefix", "conv4c only"])
def test_checkpoints_in_any_usual_form(whole: torch.nn.Module, checkpoint: Path, tmp_path: Path, form: str) -> None:
    state = {name: value for name, value in whole.state_dict().items() if "num_batches" not in name}
    if form == "conv4c only":
        state = {name: state[name] for name in load_backbone("random").network.state_dict() if name in state}
    if form == "module prefix":
        state = {f"module.{name}": value for name, value in state.items()}
    path = tmp_path / "weights.pth"
    torch.save({"state_dict": state, "epoch": 3} if form == "wrapped" else state, path)
    assert weights_digest(load_backbone(str(path))) == weights_digest(load_backbone(str(checkpoint)))


def test_bad_checkpoints_are_refused_in_one_line(whole: torch.nn.Module, tmp_path: Path) -> None:
    path = tmp_path / "weights.pth"
    with pytest.raises(RgwotError, match="no such file; expected imagenet1k_v1"):
        load_backbone(str(path))
    path.write_text("hello")
    with pytest.raises(RgwotError, match="not a checkpoint of plain tensors"):
        load_backbone(str(path))
    torch.save([1, 2], path)
    with pytest.raises(RgwotError, match="holds a list, expected a state dict"):
        load_backbone(str(path))
    state = dict(whole.state_dict())
    del state["layer3.2.conv1.weight"]
    torch.save(state, path)
    with pytest.raises(RgwotError, match=r"1 of \d+ tensors .* missing, first 'layer3.2.conv1.weight'"):
        load_backbone(str(path))
    torch.save({**whole.state_dict(), "conv1.weight": torch.zeros(64, 3, 3, 3)}, path)
    with pytest.raises(RgwotError, match=r"conv1.weight is \(64, 3, 3, 3\), expected \(64, 3, 7, 7\)"):
        load_backbone(str(path))
    # A pickle that would run code when loaded is not accepted as a checkpoint.
    torch.save(Path, path)
    with pytest.raises(RgwotError, match="not a checkpoint of plain tensors"):
        load_backbone(str(path))


def test_a_failed_download_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: object, **_kwargs: object) -> None:
        raise URLError("no route to host\nmore")

    monkeypatch.setattr(torch.hub, "load_state_dict_from_url", fail)
    with pytest.raises(RgwotError, match="could not be downloaded .*features.weights") as caught:
        load_backbone("imagenet1k_v1")
    assert "\n" not in str(caught.value)


def test_the_published_weights_are_those_of_torchvision() -> None:
    assert EXTRACTORS["resnet50"].weights == {"imagenet1k_v1": ResNet50_Weights.IMAGENET1K_V1.url}
