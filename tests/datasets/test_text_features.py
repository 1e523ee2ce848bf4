"""Features in text tables, as spreadsheets and sensors write them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rgwot.datasets.arrays import open_array
from rgwot.runtime.errors import RgwotError

WHOLE = (slice(None), slice(None))


@pytest.mark.parametrize(
    "text",
    [
        "x;y\n0,5;1\n2;-0,25\n",
        "0,5;1,0\n2,0;-0,25\n",
        "x\ty\n0,5\t1\n2\t-0,25\n",
        "x y\n0,5 1\n2 -0,25\n",
        "x,y\n0.5,1\n2,-0.25\n",
        "x;y\n0.5;1\n2;-0.25\n",
    ],
)
def test_decimal_commas_are_read_where_the_columns_have_another_sign(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with open_array(tmp_path / "a.csv", None) as array:
        assert array.read(WHOLE).tolist() == [[0.5, 1.0], [2.0, -0.25]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,y\nm/s2,m/s2\n1,2\n", "line 2: 'm/s2', expected numbers; delete a row of units"),
        ("# Android, 100 Hz\nx,y\n1,2\n", "line 2: 'x', expected numbers"),
        ("# recorded at home\nx,y\n1,2\n", "line 2 has 1 cells, and the one before 4; delete a comment"),
        ("x,y\n1,2\n# end\n3,4\n", "line 3 has 1 cells, and the one before 2; delete a comment"),
        ("x,y\n1,2\n3,4,5\n", "line 3 has 3 cells, and the one before 2"),
        # Tables as loggers write them: flysight-2-firmware#61, gpslogger#529, opentx#6169.
        ("FIRMWARE_VER,v2024.12.30,,,\n1,2,3,4,5\n", "line 1 has 3 cells without a name; .* delete lines before it"),
        ("x,y\n1,2\n3,4\nx,y\n5,6\n", "line 4: 'x', expected numbers"),
        ("x,y\n1,2\n3,4\n5,6,7\n", "line 4 has 3 cells, and the one before 2"),
        ("x;y\n0,5;0.5\n", "line 2: '0.5', expected numbers; .* decimal points"),
        # ActiGraph writes times as dates, with seconds without decimals (GGIR#705).
        (
            "when,y\n2026-01-01 10:00:00,2\n",
            "line 2: '2026-01-01 10:00:00', expected numbers; replace dates by seconds",
        ),
        ("when,y\n1/31/2026 10:00,2\n", "line 2: '1/31/2026 10:00', expected numbers; replace dates by seconds"),
        ("x\ty\n1,234\t2,345\n", "'1,234', in which the comma may separate thousands"),
    ],
)
def test_a_line_without_numbers_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(RgwotError, match=message) as caught, open_array(tmp_path / "a.csv", None):
        pass
    assert "\n" not in str(caught.value)


def test_counts_are_not_called_frames(tmp_path: Path) -> None:
    for array, said in (
        (np.zeros((20, 6), np.int16), r"array of int16 \(20, 6\); .* counts of a sensor, convert them"),
        (np.zeros((20, 8, 8, 3), np.uint8), "frames are not features: make them the dataset's videos"),
    ):
        np.save(tmp_path / "a.npy", array)
        with pytest.raises(RgwotError, match=said), open_array(tmp_path / "a.npy", None):
            pass
