"""What jobs are given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rgwot.cli.options import read_settings
from rgwot.config.configuration import read_file
from rgwot.config.methods import EMBEDDINGS
from rgwot.config.settings import flatten
from rgwot.runtime.errors import RgwotError
from rgwot.study.jobs import JobCatalogue

CATALOGUE = JobCatalogue(read_file(Path(__file__).parents[2] / "config.yaml"))


def training(method: str) -> dict[str, object]:
    text = CATALOGUE.settings_json(EMBEDDINGS["encoder"].reads, "demo", "assembly", method, None)
    # What the workflow writes is what the command reads.
    read_settings(text)
    return flatten(json.loads(text))


def test_a_family_and_an_id_change_settings() -> None:
    assert training("cnc-released")["loss.distance"] == "elementwise"
    assert training("opel")["ot.last"] == "columns"
    assert training("tcc@loss.distance=elementwise").items() - training("tcc").items() == {
        ("loss.distance", "elementwise")
    }


def test_the_learner_of_the_procedure_is_told_where_it_is_another() -> None:
    for decoder in ("graphcut", "graphcut@procedure.learner=chain"):
        found = flatten(json.loads(CATALOGUE.decoder_settings("demo", "assembly", "rgwot", decoder)))
        assert found["procedure.learner"] == ("chain" if "chain" in decoder else "robust")
    assert CATALOGUE.experiments.decoder("graphcut@procedure.learner=robust", "rgwot") == "graphcut"


def test_annotated_steps_of_a_task_nobody_registered_are_counted(tmp_path: Path) -> None:
    """Those of all its videos; the numbers may have holes, as they may in the manifest."""
    for name, rows in (("one", "0,1,2 pour\n1,2,9 stir\n"), ("two", "0,1,4 drink\n1,2,9 stir\n"), ("three", None)):
        (tmp_path / "tea").mkdir(exist_ok=True)
        (tmp_path / "tea" / f"{name}.mp4").touch()
        if rows:
            (tmp_path / "tea" / f"{name}.csv").write_text(rows)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "one.mp4").touch()
    catalogue = JobCatalogue({"datasets": {"mine": {"layout": "folder", "root": str(tmp_path)}}})

    def number(task: str, decoder: str) -> object:
        return json.loads(catalogue.decoder_settings("mine", task, "rgwot", decoder))["decode"]["K"]

    assert number("tea", "graphcut@K=gt") == 3
    assert number("tea", "graphcut@K=gt+1") == 4
    with pytest.raises(
        RgwotError, match=r"mine/other: K=gt is the number .* no video of the task is annotated; give K"
    ):
        number("other", "graphcut@K=gt")
    # The scores of such a task are as before: nothing that was made is outdated by the count.
    assert catalogue.annotated_key_steps("mine", "tea") == ""
    (tmp_path / "tea" / "two.csv").write_text("0,1,pour\n")
    with pytest.raises(RgwotError, match=r"two\.csv: line 1"):
        JobCatalogue(catalogue.config.model_dump(by_alias=True)).annotated_steps("mine", "tea")
