"""What is too long for a command is split or packed, and what is not stays as it is."""

import random
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgwot.cli.options import video_ids
from rgwot.runtime import arguments
from rgwot.runtime.arguments import LONGEST, argument, split_words, unpacked
from rgwot.runtime.errors import RgwotError

#: Linux takes no longer argument, its end included.
MAX_ARG_STRLEN = 128 * 1024


@given(st.lists(st.text(min_size=1, max_size=9)), st.integers(40, 90))
def test_words_are_split_in_their_order_and_each_list_is_short(words, longest):
    found = split_words(words, longest)
    assert [word for part in found for word in part] == words
    assert all(part and len(arguments.shlex.join(part).encode()) < longest for part in found)


def test_a_short_text_stays_as_it_is_and_a_long_one_comes_back():
    assert argument('{"a": 1}', "plan") == '{"a": 1}'
    assert unpacked('{"a": 1}') == '{"a": 1}'
    text = ",".join(f"küche {number}" for number in range(30_000))
    short = argument(text, "plan")
    assert short.startswith("zlib:")
    assert len(short) < LONGEST < MAX_ARG_STRLEN < len(text)
    assert unpacked(short) == text
    assert video_ids(short) == tuple(text.split(","))


def test_what_the_limit_is_for():
    """A shell is given a command as one argument: this is what a command of a byte more ends in."""
    assert subprocess.run(["sh", "-c", f": {'x' * LONGEST}"], check=False).returncode == 0
    with pytest.raises(OSError, match="too long"):
        subprocess.run(["sh", "-c", f": {'x' * MAX_ARG_STRLEN}"], check=False)


def test_a_text_that_no_packing_makes_short_enough_is_told_in_one_line():
    noise = random.Random(0).randbytes(LONGEST).hex()
    with pytest.raises(RgwotError, match=r"plan of figure 'x': \d+ bytes, packed, .* at most 120000; ask for less"):
        argument(noise * 2, "plan of figure 'x'")


@pytest.mark.parametrize("cut", ["zlib:", "zlib:abc", "zlib:!!!!"])
def test_packed_text_that_was_cut_is_told(cut):
    with pytest.raises(RgwotError, match="--hold-out: packed text is not whole"):
        video_ids(cut)
