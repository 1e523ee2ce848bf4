"""The file of a trained model."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import remake
from rgwot.runtime.tensors import UnreadableTensors, load_tensors


def load_model(path: Path) -> dict[str, Any]:
    """Read ``model.pt``.

    Raises
    ------
    RgwotError
        If the file does not exist or is not a model of this library.
    """
    try:
        return parse_model(path.read_bytes())
    except FileNotFoundError:
        raise RgwotError(f"{path}: no such model; expected one that the workflow trained") from None
    except RgwotError as error:
        raise RgwotError(f"{path}: {error}; {remake(path)}") from None


def parse_model(content: bytes) -> dict[str, Any]:
    """Read a model from the bytes of its file; raise RgwotError if they are not a model of this library."""
    try:
        model = load_tensors(io.BytesIO(content))
    except UnreadableTensors as error:
        raise RgwotError(f"not a readable model ({error.why})") from None
    if not isinstance(model, dict) or not {"encoder", "architecture", "settings", "features", "seed"} <= set(model):
        raise RgwotError("not a model of this library")
    return model


def model_bytes(model: Mapping[str, object]) -> bytes:
    """Return a model as the bytes of its file."""
    written = io.BytesIO()
    torch.save(dict(model), written)
    return written.getvalue()
