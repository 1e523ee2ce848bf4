from __future__ import annotations

import pytest

from rgwot.reporting.tables.spec import expand
from rgwot.runtime.errors import RgwotError


def test_one_entry_per_value_as_experiment_ids_spell_it():
    entries = [
        {"id": "first", "method": "raw"},
        {"id": "r={r}", "at_all": True, "where": {"r": "{r}"}, "sweep": {"r": [1.0, 0.05, "gt+1"]}},
    ]
    first, *swept = expand(entries, "here")
    assert first == entries[0]
    assert [one["id"] for one in swept] == ["r=1", "r=0.05", "r=gt+1"]
    assert [one["where"] for one in swept] == [{"r": "1"}, {"r": "0.05"}, {"r": "gt+1"}]
    assert all(one["at_all"] is True and "sweep" not in one for one in swept)


def test_every_combination_the_last_value_fastest():
    (entry,) = [{"id": "{a}-{b}", "sweep": {"a": ["x", "y"], "b": [1, 2]}}]
    assert [one["id"] for one in expand([entry], "here")] == ["x-1", "x-2", "y-1", "y-2"]


def test_a_name_that_is_not_swept_is_refused():
    with pytest.raises(RgwotError, match=r"here: found \{alhpa\}, which is not swept; did you mean"):
        expand([{"id": "{alhpa}", "sweep": {"alpha": [1]}}], "here")
