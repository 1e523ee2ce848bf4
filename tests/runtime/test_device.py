"""Which GPU a job takes: made-up GPUs, real locks between real processes."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from rgwot.cli.records import record
from rgwot.runtime import device, gpus
from rgwot.runtime.errors import RgwotError
from rgwot.study import jobs
from rgwot.study.doctor import machine
from rgwot.study.study import Study

DEVICES = ("auto", "cpu", "cuda")

HOLDER = """
import sys, time
from pathlib import Path
from rgwot.runtime.gpus import take_gpu
print(take_gpu(sys.argv[2].split(","), Path(sys.argv[1]), every_s=0.05), flush=True)
time.sleep(60)
"""


@pytest.fixture
def start(tmp_path):
    """A function that starts a process which takes a GPU and keeps it."""
    running = []

    def start(names):
        command = [sys.executable, "-c", HOLDER, str(tmp_path), ",".join(names)]
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture(autouse=True)
def let_go(monkeypatch):
    held = {}
    monkeypatch.setattr(gpus, "_held", held)
    monkeypatch.setattr(device, "_given", [])
    yield
    for lock in held.values():
        lock.release()


def pretend(monkeypatch, folder, count, variable):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    if variable is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", variable)


def test_jobs_spread_over_gpus_and_the_third_waits_for_the_first_to_end(start, tmp_path):
    first = start(["0", "1"])
    assert first.stdout.readline() == "0\n"
    second = start(["0", "1"])
    assert second.stdout.readline() == "1\n"
    third = start(["0", "1"])
    assert "waiting" in third.stderr.readline()
    assert third.poll() is None
    # Killed, not ended: no file tells a later job that the GPU is taken for ever.
    first.kill()
    began = time.monotonic()
    assert third.stdout.readline() == "0\n"
    assert time.monotonic() - began < 600


def test_a_process_keeps_its_gpu(tmp_path):
    assert gpus.take_gpu(["0", "1"], tmp_path) == 0
    assert gpus.take_gpu(["0", "1"], tmp_path) == 0


def test_a_scheduled_gpu_is_taken_as_given(monkeypatch, tmp_path, start):
    pretend(monkeypatch, tmp_path, 1, "3")
    assert device.resolve_device("auto") == torch.device("cuda", 0)
    assert not list(tmp_path.rglob("*.lock"))


def test_of_several_visible_ones_a_free_one_is_taken_by_its_own_name(monkeypatch, tmp_path):
    pretend(monkeypatch, tmp_path, 2, "2, 5")
    assert device.resolve_device("cuda") == torch.device("cuda", 0)
    assert [path.name for path in tmp_path.rglob("*.lock")] == ["gpu-2.lock"]


def test_without_the_variable_gpus_are_numbered(monkeypatch, tmp_path):
    pretend(monkeypatch, tmp_path, 4, None)
    assert device.resolve_device("auto") == torch.device("cuda", 0)
    assert [path.name for path in tmp_path.rglob("*.lock")] == ["gpu-0.lock"]


@pytest.mark.parametrize("variable", [None, "", "0"])
def test_no_gpu_means_the_cpu_unless_one_is_insisted_on(monkeypatch, tmp_path, variable):
    pretend(monkeypatch, tmp_path, 0, variable)
    assert device.resolve_device("auto") == torch.device("cpu")
    assert device.resolve_device("cpu") == torch.device("cpu")
    with pytest.raises(RgwotError, match="no usable GPU"):
        device.resolve_device("cuda")


def test_cpu_takes_no_gpu(monkeypatch, tmp_path):
    pretend(monkeypatch, tmp_path, 2, None)
    assert device.resolve_device("cpu") == torch.device("cpu")
    assert not list(tmp_path.rglob("*.lock"))


def test_a_record_says_what_the_job_used_and_takes_no_gpu(monkeypatch, tmp_path):
    pretend(monkeypatch, tmp_path, 2, None)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda place: f"GPU {place.index}")
    output = tmp_path / "a.csv"
    output.touch()

    def recorded():
        record("embed", {"output": output, "device": "auto"}, None)
        return json.loads((tmp_path / ".a.csv.provenance.json").read_text(encoding="utf-8"))["device"]

    # `rgwot embed --method cte` embeds on the CPU, whatever there is, and must not wait for a GPU in the end.
    assert recorded() == "cpu"
    assert not list(tmp_path.rglob("*.lock"))
    device.resolve_device("auto")
    assert recorded() == "GPU 0"
    # Of the verb, not of the one before it in the same process.
    assert recorded() == "cpu"
    device.resolve_device("cpu")
    assert recorded() == "cpu"


@pytest.mark.parametrize(
    ("files", "variable", "there"),
    [
        (["nvidia0", "nvidiactl"], None, True),
        # A container that is given the fourth GPU alone.
        (["nvidia3", "nvidiactl", "nvidia-uvm"], None, True),
        (["nvidia12"], "GPU-8a5f", True),
        (["dxg"], None, True),
        (["nvidiactl", "nvidia-uvm", "nvidia-caps", "null"], None, False),
        ([], None, False),
        (["nvidia0"], "", False),
        (["nvidia0"], "-1", False),
        (["nvidia0", "nvidia1"], "1", True),
        ([], "0", False),
    ],
)
def test_whether_there_is_a_gpu(monkeypatch, tmp_path, files, variable, there):
    pretend(monkeypatch, tmp_path, 0, variable)
    devices = tmp_path / "dev"
    devices.mkdir()
    for name in files:
        (devices / name).touch()
    assert gpus.gpu_there(devices) == there
    assert not gpus.gpu_there(tmp_path / "missing")


@pytest.mark.parametrize("there", [True, False])
def test_planning_and_doctor_have_the_same_answer(monkeypatch, there):
    monkeypatch.setattr(jobs, "gpu_there", lambda: there)
    monkeypatch.setattr(machine, "gpu_there", lambda: there)
    asked = {wanted: jobs.gpus(Study.of({"device": wanted})) for wanted in DEVICES}
    assert asked == {"auto": int(there), "cpu": 0, "cuda": 1}
    assert len(machine.lacking("cuda", None, [], Path("results"))) == 1 - there
