"""Settings of jobs stay what they were as keys come and go, so that results stay as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rgwot.cli.options import read_settings
from rgwot.config.configuration import read_file
from rgwot.config.methods import EMBEDDINGS
from rgwot.config.settings import FORMER, YOUNGER, defaults, flatten
from rgwot.study.jobs import JobCatalogue

CATALOGUE = JobCatalogue(read_file(Path(__file__).parents[2] / "config.yaml"))


def training(method: str) -> dict[str, object]:
    text = CATALOGUE.settings_json(EMBEDDINGS["encoder"].reads, "demo", "assembly", method, None)
    # What the workflow writes is what the command reads.
    read_settings(text)
    return flatten(json.loads(text))


@pytest.mark.parametrize("method", ["rgwot", "tcc", "vaot", "remap"])
def test_a_method_that_reads_no_new_key_has_the_settings_it_had(method: str) -> None:
    found = training(method)
    assert not set(YOUNGER) & set(found)
    assert {key: found[key] for key in FORMER} == {"loss.components": 3, "loss.eta": 1.0}


def test_the_method_that_read_a_key_that_is_gone_has_other_settings() -> None:
    assert not set(FORMER) & set(training("gtcc"))
    assert not set(FORMER) & set(defaults())


def test_a_new_key_away_from_its_default_is_told() -> None:
    assert training("cnc-released")["loss.distance"] == "elementwise"
    assert training("opel")["ot.last"] == "columns"
    assert training("tcc@loss.distance=elementwise").keys() - training("tcc").keys() == {"loss.distance"}


def test_settings_of_another_stage_have_none_of_it() -> None:
    for wanted in (("decode.K",), ("regression",)):
        text = CATALOGUE.settings_json(wanted, "demo", "assembly", "cte", None)
        assert not set(FORMER) & set(flatten(json.loads(text)))
    execution = CATALOGUE.settings_json(EMBEDDINGS["encoder"].reads, "demo", "assembly", "rgwot", None, True)
    assert not set(FORMER) & set(flatten(json.loads(execution)))
