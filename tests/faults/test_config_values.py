"""Any content of the configuration gives valid settings, or an error of one line that names the key."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rgwot.blocks import nested
from rgwot.config.configuration import Config, load_config, read_files
from rgwot.config.settings import checked, defaults
from rgwot.runtime.errors import RgwotError

SHIPPED = yaml.safe_load((Path(__file__).resolve().parents[2] / "config.yaml").read_text(encoding="utf-8"))
KEYS = sorted(defaults())
NUMBERS = (
    st.floats() | st.integers() | st.sampled_from([math.nan, math.inf, -math.inf, -1, 0, 1e308, 10**400, -0.0, 2**63])
)
TEXTS = st.text(max_size=8) | st.sampled_from(["nan", "inf", "1e999", "auto", "cpu", "$(touch x)", "\n", "\0", "0x10"])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
QUICK = settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def numbers_in(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [number for item in value.values() for number in numbers_in(item)]
    if isinstance(value, (list, tuple)):
        return [number for item in value for number in numbers_in(item)]
    return [value] if isinstance(value, float) else []


def check(content: dict[str, Any], *keys: str) -> None:
    """Check that a configuration is valid and finite, or refused in one line that names a key."""
    try:
        found = load_config(content)
    except RgwotError as error:
        message = str(error)
        assert message.startswith("config.yaml: ")
        assert "\n" not in message
        assert any(key in message for key in keys), message
    else:
        assert all(math.isfinite(number) for number in numbers_in([found.model_dump(), found.blocks]))
        # Validating the recorded settings again succeeds, so a recorded run can be repeated.
        assert load_config({**found.model_dump(by_alias=True, mode="json"), **found.blocks}) == found


@QUICK
@given(key=st.sampled_from(KEYS), value=VALUES)
def test_any_value_of_any_setting(key: str, value: Any) -> None:
    block, name = key.split(".", 1)
    check({**SHIPPED, block: {**SHIPPED.get(block, {}), name: value}}, key, name, block)


@QUICK
@given(key=st.sampled_from(sorted(Config.model_fields)), value=VALUES)
def test_anything_in_place_of_a_block(key: str, value: Any) -> None:
    alias = Config.model_fields[key].alias or key
    inside = [str(name) for name in value] if isinstance(value, dict) else []
    check({**SHIPPED, alias: value}, alias, *inside)


@QUICK
@given(name=st.text(min_size=1, max_size=10), value=VALUES)
def test_any_unknown_key(name: str, value: Any) -> None:
    if name not in Config.model_fields:
        check({**SHIPPED, name: value}, repr(name), name)


@pytest.mark.parametrize("name", ["\n", "a\r\nb", "\x1b[31m", "\u2028"])
def test_a_name_that_does_not_print_is_shown_escaped(name: str) -> None:
    with pytest.raises(RgwotError) as told:
        load_config({**SHIPPED, "datasets": {name: None}})
    assert str(told.value).isprintable()
    assert ascii(name)[1:-1] in str(told.value).replace("\\\\", "\\")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_refused(value: float) -> None:
    for key in KEYS:
        with pytest.raises(RgwotError, match=key.replace(".", r"\.")):
            checked(nested({key: value}))


@QUICK
@given(content=st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes_as_a_file(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(content)
    said = f"{path}: "
    try:
        read_files([path])
    except RgwotError as error:
        said = str(error)
    assert said.startswith(f"{path}: ")
    assert "\n" not in said
