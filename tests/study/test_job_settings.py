"""Settings that jobs get."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rgwot.blocks import flatten
from rgwot.config.configuration import read_file
from rgwot.runtime.errors import RgwotError
from rgwot.study.datasets import annotated_steps, known_K
from rgwot.study.jobs import decoder_for, execution, replaced, settings_behind
from rgwot.study.shipped import DEFAULTS
from rgwot.study.study import Study, Task

STUDY = Study.of(read_file(Path(__file__).parents[2] / "config.yaml"))


def training(method: str) -> dict[str, object]:
    return flatten(settings_behind(Task(STUDY, "demo", "assembly"), method))


def test_a_family_and_an_id_change_settings() -> None:
    assert training("cnc-released")["loss.distance"] == "elementwise"
    assert training("opel")["ot.last"] == "columns"
    assert training("tcc@loss.distance=elementwise").items() - training("tcc").items() == {
        ("loss.distance", "elementwise")
    }


def test_the_settings_name_the_learner_of_the_procedure() -> None:
    for decoder in ("graphcut", "graphcut@procedure.learner=chain"):
        found = flatten(settings_behind(Task(STUDY, "demo", "assembly"), "rgwot", decoder))
        assert found["procedure.learner"] == ("chain" if "chain" in decoder else "robust")
    assert STUDY.experiments.decoder("graphcut@procedure.learner=robust", "rgwot") == "graphcut"


@pytest.mark.parametrize("decoder", [None, "kmeans"])
def test_settings_of_a_training_outdate_all_results_after_it(decoder: str | None) -> None:
    for method in ("rgwot", "rgwot@N=16"):
        found = flatten(settings_behind(Task(STUDY, "demo", "assembly"), method, decoder))
        assert found["train.N"] == (16 if "@" in method else 32)
        assert "train.save_every_s" not in found


def test_settings_of_the_packaged_demo_are_not_reported_as_replaced(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"

    def said(text: str) -> list[str]:
        mine.write_text(f"page: {{methods: [rgwot-whitened/graphcut]}}\n{text}")
        return replaced(Study.read((DEFAULTS, mine)), [DEFAULTS, mine])

    assert said("") == []
    (line,) = said("datasets: {demo: {settings: {cidm: {sigma: 3}}}}")
    assert line.startswith("cidm.sigma: found 3, but rgwot-whitened sets it to 0.02")
    assert said("datasets: {mine: {layout: folder, root: x, settings: {cidm: {sigma: 3}}}}") == [line]


def test_a_job_computes_with_the_blocks_it_reads_and_no_result_depends_on_how_it_runs() -> None:
    kept = settings_behind(Task(STUDY, "demo", "assembly"), "rgwot-active@N=16")
    assert (kept["ot"]["r"], kept["loss"]["symmetric"]) == (0.1, True)
    assert "decode" not in kept
    assert "save_every_s" not in kept["train"]
    assert kept["train"]["N"] == 16


def test_device_extensions_and_limits_are_kept_apart_from_settings() -> None:
    content = read_file(Path(__file__).parents[2] / "config.yaml")
    changed = Study.of({**content, "device": "cpu", "train": {**content["train"], "memory_gb": 3}})
    how = [json.loads(execution(study, "demo")) for study in (STUDY, changed)]
    assert [(told["device"], told["settings"]["train"]["memory_gb"]) for told in how] == [("auto", 8), ("cpu", 3)]
    behind = [settings_behind(Task(study, "demo", "assembly"), "rgwot", "graphcut") for study in (STUDY, changed)]
    assert behind[0] == behind[1]


def test_annotated_steps_of_a_task_nobody_registered_are_counted(tmp_path: Path) -> None:
    """A key step counts if it has a length in any video; numbers may have gaps, as in the manifest."""
    for name, rows in (
        ("one", "0,1,2 pour\n1,2,9 stir\n"),
        ("two", "0,1,4 drink\n1,2,9 stir\n2,2,5 never\n"),
        ("three", None),
    ):
        (tmp_path / "tea").mkdir(exist_ok=True)
        (tmp_path / "tea" / f"{name}.mp4").touch()
        if rows:
            (tmp_path / "tea" / f"{name}.csv").write_text(rows)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "one.mp4").touch()
    content = {"datasets": {"mine": {"layout": "folder", "root": str(tmp_path)}}}
    study = Study.of(content)

    def number(task: str, decoder: str) -> object:
        return decoder_for(Task(study, "mine", task), "rgwot", decoder).by_block()["decode"]["K"]

    assert number("tea", "graphcut@K=gt") == 3
    assert number("tea", "graphcut@K=gt+1") == 4
    with pytest.raises(
        RgwotError, match=r"mine/other: K=gt depends on the number .* no video of the task is annotated; give K"
    ):
        number("other", "graphcut@K=gt")
    assert known_K(Task(study, "mine", "tea")) is None
    (tmp_path / "tea" / "two.csv").write_text("0,1,pour\n")
    with pytest.raises(RgwotError, match=r"two\.csv: line 1"):
        annotated_steps(Task(Study.of(content), "mine", "tea"))
