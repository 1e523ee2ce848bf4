"""Which GPU a job takes: made-up GPUs, real locks between real processes."""

import json
import subprocess
import sys
import time

import pytest
import torch

from rgwot.cli.records import record
from rgwot.runtime import device, gpus
from rgwot.runtime.errors import RgwotError
from rgwot.study import jobs
from rgwot.study.study import Study

DEVICES = ("auto", "cpu", "cuda")

HOLDER = """
import sys, time
from pathlib import Path
from rgwot.runtime.gpus import take_gpu
print(take_gpu(sys.argv[2].split(","), Path(sys.argv[1]), every_s=0.05), flush=True)
time.sleep(60)
"""


def test_a_device_of_another_name_is_refused():
    with pytest.raises(RgwotError, match="device: found 'gpu', expected auto, cpu or cuda"):
        device.resolve_device("gpu")


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


@pytest.mark.parametrize(
    ("wanted", "count", "variable", "place", "locks"),
    [
        # As a scheduler gives it.
        ("auto", 1, "3", "cuda:0", []),
        # Of several visible ones a free one, by its own name; without the variable they are numbered.
        ("cuda", 2, "2, 5", "cuda:0", ["gpu-2.lock"]),
        ("auto", 4, None, "cuda:0", ["gpu-0.lock"]),
        ("auto", 0, None, "cpu", []),
        ("auto", 0, "", "cpu", []),
        ("auto", 0, "0", "cpu", []),
        ("cpu", 2, None, "cpu", []),
    ],
)
def test_a_free_gpu_is_taken_where_one_is_wanted(monkeypatch, tmp_path, wanted, count, variable, place, locks):
    pretend(monkeypatch, tmp_path, count, variable)
    assert device.resolve_device(wanted) == torch.device(place)
    assert [path.name for path in tmp_path.rglob("*.lock")] == locks
    if count == 0:
        with pytest.raises(RgwotError, match="no usable GPU"):
            device.resolve_device("cuda")


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
        (["dxg"], None, True),
        (["nvidiactl", "nvidia-uvm", "nvidia-caps", "null"], None, False),
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
def test_planning_asks_for_a_gpu(monkeypatch, there):
    monkeypatch.setattr(jobs, "gpu_there", lambda: there)
    asked = {wanted: jobs.gpus(Study.of({"device": wanted})) for wanted in DEVICES}
    assert asked == {"auto": int(there), "cpu": 0, "cuda": 1}
