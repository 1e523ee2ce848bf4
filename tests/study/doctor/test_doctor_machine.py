"""What the machine lacks: weights."""

from __future__ import annotations

from pathlib import Path

import pytest
from doctor_helpers import content, entry, put, said

from rgwot.study.doctor import examine, torch_cache


def test_weights(tea: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = {"features": {"weights": str(tmp_path / "none.pth")}}
    report = examine(content(mine=entry(tea) | {"settings": weights}), "mine")
    assert "none.pth" in said(report, rule="machine", severity="error")[0]
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
