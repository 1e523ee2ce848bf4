"""Names that look equal, and names of files that are parts of one recording."""

from __future__ import annotations

import pytest

from rgwot.datasets.names import chapters_among, parts_among, way_in
from rgwot.runtime.text import look_alike, plain_name


@pytest.mark.parametrize(
    "other",
    [
        "Pour Water", "pour_water", "pour-water", "pour  water", "pour water.", "pour wаter", "ｐｏｕｒ water",
        "pour\u2009water", "pour water\u3164", "po\u200bur water",
    ],
)  # fmt: skip
def test_names_that_look_equal_are_found(other: str) -> None:
    assert look_alike(["pour water", other, "stir"]) == [sorted(["pour water", other])]


@pytest.mark.parametrize(
    ("one", "other"), [("don't", "don\u2019t"), ("a-b", "a\u2013b"), ("fill", "\ufb01ll"), ("می‌خورم", "میخورم")]
)
def test_other_signs_look_equal(one: str, other: str) -> None:
    assert look_alike([one, other]) == [sorted([one, other])]


def test_different_names_do_not_look_equal() -> None:
    assert look_alike(["-1", "+1", "1", "step 1", "step 11", "step 1 1", "a", "b", "...", "?", "あ", "い"]) == []
    # All of these are one key step, because the differences are invisible.
    assert len({plain_name(name) for name in ("wash", "wash\u3164", "wash\u2060", "wash\u00ad", "wash\u2800")}) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("20260101_100000", "20260101_100010"),
        ("2026_0101_100000_001", "2026_0101_100010_002"),
        ("Screen Recording 2026-01-01 at 10.00.00", "Screen Recording 2026-01-01 at 10.00.10"),
        ("01.01.2026_10-00-00", "01.01.2026_10-00-10"),
        ("FILE260101-100000F", "FILE260101-100010F"),
        ("2026-01-01_10h00m00s", "2026-01-01_10h00m10s"),
        ("10-00-00", "10-00-10"),
        ("cam_1767261600000", "cam_1767261610000"),
        ("20251231_235955", "20260101_000005"),
        ("P01_GX010007", "P01_GX020007"),
    ],
)
def test_chapters_by_names(first: str, second: str) -> None:
    assert chapters_among({second: 10.0, first: 10.0, "other": 10.0}) == [[first, second]]
    if "GX" not in first:
        # The second file began later, so it is another take.
        assert chapters_among({first: 5.0, second: 10.0}) == []


def test_chapters_across_midnight() -> None:
    """A clock without a date begins again at midnight."""
    lengths = {"23-59-40": 10.0, "23-59-50": 10.0, "00-00-00": 10.0, "12-00-00": 10.0}
    assert chapters_among(lengths) == [["23-59-40", "23-59-50", "00-00-00"]]
    assert chapters_among({**lengths, "23-59-50": 4.0}) == [["23-59-40", "23-59-50"]]
    # With dates, the first second of the same day does not follow its last seconds.
    dated = {"20260101_235950": 10.0, "20260101_000000": 10.0, "20260102_000000": 10.0}
    assert chapters_among(dated) == [["20260101_235950", "20260102_000000"]]


@pytest.mark.parametrize(
    "names",
    [
        ("tea (part 1)", "tea (part 2)"), ("tea_1of3", "tea_2of3"), ("tea-0001-of-0003", "tea-0002-of-0003"),
        ("tea CD1", "tea CD2"), ("tea_parte1", "tea_parte2"), ("tea part I", "tea part II"), ("tea_seg1", "tea_seg2"),
    ],
)  # fmt: skip
def test_parts_by_names(names: tuple[str, str]) -> None:
    assert parts_among([*names, "tea_1", "tea_2", "sugar 3"]) == [list(names)]


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("a.mp4.crdownload", "finish the download"),
        (".a.mp4.icloud", "finish the download"),
        ("a.zip", "unpack the archive"),
        ("a.amv", "convert it to a kind that is read"),
        ("GX010001", "give the file the suffix of its kind"),
        ("a.docx", "export annotations as a table start_s,end_s,label, or from ELAN or BORIS"),
        ("a.eaf.001", None), ("a.eaf~", None), ("~$a.xlsx", None), (".DS_Store", None), ("Thumbs.db", None),
        ("a.LRV", None), ("LICENSE", None), ("README.md", None), (".a.json", None),
    ],
)  # fmt: skip
def test_ways_in(name: str, way: str | None) -> None:
    assert way_in(f"tea/{name}") == way
