"""What the machine lacks: weights, and room for the features."""

from __future__ import annotations

from pathlib import Path

import pytest
from doctor_helpers import content, entry, put, said

from rgwot.study.doctor import examine
from rgwot.study.doctor.machine import feature_bytes, torch_cache


def test_weights_and_disk_space(tea: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rgwot.config.settings import FeatureSettings

    # Two videos of 10 s at 2 per second, 11 x 11 maps of 1024 channels, two bytes each.
    assert feature_bytes([10.0, 10.0], FeatureSettings()) == 40 * 1024 * 11 * 11 * 2
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1000}))
    weights = {"features": {"weights": str(tmp_path / "none.pth")}}
    report = examine(content(mine=entry(tea) | {"settings": weights}), "mine")
    assert "none.pth" in said(report, rule="machine", severity="error")[0]
    assert "are free" in said(report, rule="machine", severity="warning")[0]
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    default = content(mine={"layout": "folder", "root": str(tea)})
    assert "downloads" in said(examine(default, "mine", quick=True), rule="machine", severity="note")[0]
    put(tmp_path / "hub" / "checkpoints" / "resnet50-0676ba61.pth", b"")
    assert not examine(default, "mine", quick=True).findings


def test_the_cache_of_weights_is_torchs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import torch.hub

    for variable in ("TORCH_HOME", "XDG_CACHE_HOME"):
        assert torch_cache() == Path(torch.hub.get_dir()) / "checkpoints"
        monkeypatch.setenv(variable, str(tmp_path / variable))
    assert torch_cache() == Path(torch.hub.get_dir()) / "checkpoints"
