"""The device that a job uses, with simulated GPUs."""

import json

import pytest
import torch
from scripted import job

from rgwot.runtime import device
from rgwot.runtime.errors import RgwotError
from rgwot.study import jobs
from rgwot.study.script import Stage
from rgwot.study.study import Study

DEVICES = ("auto", "cpu", "cuda")


def test_a_device_of_another_name_is_refused():
    with pytest.raises(RgwotError, match="device: found 'gpu', expected auto, cpu or cuda"):
        device.resolve_device("gpu")


@pytest.fixture(autouse=True)
def let_go(monkeypatch):
    monkeypatch.setattr(device, "_given", [])


def pretend(monkeypatch, count, variable):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    if variable is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", variable)


@pytest.mark.parametrize(
    ("requested", "count", "place"),
    [("auto", 1, "cuda:0"), ("cuda", 2, "cuda:0"), ("auto", 0, "cpu"), ("cpu", 2, "cpu")],
)
def test_the_first_visible_gpu_is_taken_where_one_is_wanted(monkeypatch, requested, count, place):
    pretend(monkeypatch, count, None)
    assert device.resolve_device(requested) == torch.device(place)
    if count == 0:
        with pytest.raises(RgwotError, match="no usable GPU"):
            device.resolve_device("cuda")


def test_a_record_says_what_the_job_used(monkeypatch, tmp_path):
    pretend(monkeypatch, 2, None)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda place: f"GPU {place.index}")
    output = tmp_path / "a.csv"
    output.touch()

    def recorded():
        Stage(job("", output=[output]), "embed").record()
        return json.loads((tmp_path / ".a.csv.provenance.json").read_text(encoding="utf-8"))["device"]

    # A method without an encoder embeds on the CPU, whatever devices there are.
    assert recorded() == "cpu"
    device.resolve_device("auto")
    assert recorded() == "GPU 0"
    # The record belongs to this job, not to the previous job of the same process.
    assert recorded() == "cpu"
    device.resolve_device("cpu")
    assert recorded() == "cpu"


@pytest.mark.parametrize(
    ("files", "variable", "there"),
    [
        (["nvidia0", "nvidiactl"], None, True),
        # A container that has only the fourth GPU.
        (["nvidia3", "nvidiactl", "nvidia-uvm"], None, True),
        (["dxg"], None, True),
        (["nvidiactl", "nvidia-uvm", "nvidia-caps", "null"], None, False),
        (["nvidia0"], "", False),
        (["nvidia0"], "-1", False),
        (["nvidia0", "nvidia1"], "1", True),
        ([], "0", False),
    ],
)
def test_whether_there_is_a_gpu(monkeypatch, tmp_path, files, variable, there):
    pretend(monkeypatch, 0, variable)
    devices = tmp_path / "dev"
    devices.mkdir()
    for name in files:
        (devices / name).touch()
    assert jobs.gpu_there(devices) == there
    assert not jobs.gpu_there(tmp_path / "missing")


@pytest.mark.parametrize("there", [True, False])
def test_planning_asks_for_a_gpu(monkeypatch, there):
    monkeypatch.setattr(jobs, "gpu_there", lambda: there)
    asked = {wanted: jobs.gpus(Study.of({"device": wanted})) for wanted in DEVICES}
    assert asked == {"auto": int(there), "cpu": 0, "cuda": 1}
