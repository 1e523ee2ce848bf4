"""What is looked at of a source that is too long to be read whenever a run is planned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rgwot.runtime.integrity import source


@pytest.mark.parametrize(("where", "seen"), [(0, True), (0.5, True), (1, True), (0.3, False), (0.7, False)])
def test_the_parts_of_a_long_source_are_its_first_middle_and_last_megabyte(
    tmp_path: Path, where: float, seen: bool
) -> None:
    path = tmp_path / "long.bin"
    content = np.random.default_rng(0).integers(0, 256, 5 * 2**20 + 3, dtype=np.uint8)
    path.write_bytes(content.tobytes())
    before = source(path)["parts_sha256"]
    content[round(where * (len(content) - 1))] ^= 1
    path.write_bytes(content.tobytes())
    assert (source(path)["parts_sha256"] != before) == seen
