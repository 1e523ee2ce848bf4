"""What a whole study costs: jobs, hours of GPUs and cores, disk of the feature cache.

Everything is linear in a few inputs, which are printed with the result: tasks, videos and hours of the collections
(`collections`), methods, seeds and decoders, and the rates of the stages (`Rates`), measured on named hardware. A stage
takes ``jobs × start + work / rate`` seconds on its devices, where work is frames or iterations:

    frames   = 3600 hours fps
    trainings = tasks × methods × seeds
    bytes of the cache = frames × 1024 × cells × 2
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, PositiveFloat, PositiveInt, ValidationError
from tabulate import tabulate

from rgwot.config.extractors import extractor
from rgwot.datasets import registry
from rgwot.runtime.errors import RgwotError, nearest

#: Frames per second at which videos are decoded, whatever is sampled of them; most of the collections have 25 to 30.
NATIVE_FPS = 30.0


@dataclass(frozen=True)
class Collection:
    """Videos planned for together: numbers of tasks and videos, total hours, and the source of these numbers."""

    name: str
    tasks: int
    videos: int
    hours: float
    source: str


@dataclass(frozen=True)
class Study:
    """What is run on every task."""

    methods: int  #: that train an encoder
    seeds: int  #: per method
    decoders: int  #: per method; every training is decoded and scored once per decoder
    iterations: int  #: of one training
    size: int  #: side of a frame in pixels
    group: int  #: short jobs per submission to a cluster, as in ``profiles/slurm``


class StageRate(BaseModel):
    """Speed of a stage: seconds to start a job, and work done per second."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    device: Literal["cpu", "gpu"] = Field(description="whose hours are counted")
    devices: PositiveInt = Field(1, description="cores or GPUs that one job takes")
    start_s: NonNegativeFloat = Field(description="seconds of a job before and after its work")
    per_s: PositiveFloat = Field(description="frames per second; iterations per second of train")
    decoded_per_s: PositiveFloat | None = Field(None, description="extract: native frames decoded per second")
    source: str = Field(description="where the rate is from")


class Rates(BaseModel):
    """The rates of all stages on one kind of machine."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    hardware: str
    cache_ratio: PositiveFloat = Field(1.0, description="bytes of the maps over bytes on disk")
    extract: StageRate
    train: StageRate
    embed: StageRate
    decode: StageRate
    evaluate: StageRate


@dataclass(frozen=True)
class Estimate:
    """Cost of a study at one sampling rate: jobs by rule, submissions to a cluster, hours, and 1e9 bytes of cache."""

    jobs: dict[str, int]
    submissions: int
    gpu_hours: float
    core_hours: float
    cache_gb: float
    cache_compressed_gb: float


def collections(names: Iterable[str] = (), hours: Mapping[str, float] | None = None) -> list[Collection]:
    """Return the published collections, all or those named, ``hours`` replacing theirs; RgwotError for other names."""
    table = files("rgwot.study").joinpath("datasets.csv").read_text(encoding="utf-8")
    known: dict[str, Collection] = {}
    for row in csv.DictReader(table.splitlines()):
        facts = [task for dataset in row["datasets"].split() for task in registry.tasks_of(dataset)]
        counted = sum(task.n_videos or 0 for task in facts)
        videos = int(row["videos"] or counted)
        known[row["collection"]] = Collection(row["collection"], len(facts), videos, float(row["hours"]), row["source"])
    for name, value in (hours or {}).items():
        name = registry.match(name, known, "collection")
        known[name] = replace(known[name], hours=value, source=f"{known[name].source}; hours: as given")
    chosen = [registry.match(name, known, "collection") for name in names]
    return [collection for name, collection in known.items() if not chosen or name in chosen]


def load_rates(name: str) -> Rates:
    """Return a set of rates of the package by name, or the rates in a JSON file.

    Raises RgwotError if there is no such set or file, or the file does not hold rates.
    """
    shipped = shipped_rates()
    if name in shipped:
        return shipped[name]
    path = Path(name)
    if not path.is_file():
        raise RgwotError(
            f"--rates: found {name!r}, expected a JSON file or a set of the package; {nearest(name, shipped)}"
        )
    try:
        return Rates.model_validate_json(path.read_text(encoding="utf-8"))
    except (ValidationError, UnicodeDecodeError) as error:
        problems = error.errors() if isinstance(error, ValidationError) else []
        why = "; ".join(f"{'.'.join(map(str, found['loc'])) or 'file'}: {found['msg']}" for found in problems[:3])
        raise RgwotError(f"{path}: not a file of rates ({why or error}); see rgwot plan --json for one") from None


def shipped_rates() -> dict[str, Rates]:
    """Return the sets of rates that come with the package, by name."""
    content = json.loads(files("rgwot.study").joinpath("rates.json").read_text(encoding="utf-8"))
    return {name: Rates.model_validate(value) for name, value in content.items()}


def estimate(found: Collection, study: Study, rates: Rates, fps: float) -> Estimate:
    """Return what a study of a collection costs at ``fps`` samples per second."""
    trainings = found.tasks * study.methods * study.seeds
    decodings = trainings * study.decoders
    jobs = {
        "manifest": found.tasks,
        "extract": found.videos,
        "index": found.tasks,
        "train": trainings,
        "embed": trainings,
        "decode": decodings,
        "evaluate": decodings,
    }
    grouped = math.ceil(found.videos / study.group) + math.ceil(trainings / study.group)
    frames = 3600 * found.hours * fps
    runs = study.methods * study.seeds
    work = {
        "extract": frames,
        "train": float(trainings * study.iterations),
        "embed": frames * runs,
        "decode": frames * runs * study.decoders,
        "evaluate": frames * runs * study.decoders,
    }
    hours = {"cpu": 0.0, "gpu": 0.0}
    for stage, amount in work.items():
        rate: StageRate = getattr(rates, stage)
        seconds = jobs[stage] * rate.start_s + amount / rate.per_s
        if stage == "extract" and rate.decoded_per_s is not None:
            seconds += 3600 * found.hours * NATIVE_FPS / rate.decoded_per_s
        hours[rate.device] += rate.devices * seconds / 3600
    backbone = extractor("resnet50")
    cache = frames * backbone.side(study.size) ** 2 * backbone.channels * 2 / 1e9
    return Estimate(
        jobs=jobs,
        submissions=grouped + 2 * found.tasks + trainings,
        gpu_hours=hours["gpu"],
        core_hours=hours["cpu"],
        cache_gb=cache,
        cache_compressed_gb=cache / rates.cache_ratio,
    )


def together(found: Iterable[Collection]) -> Collection:
    """Return several collections as one."""
    parts = list(found)
    tasks, videos = sum(part.tasks for part in parts), sum(part.videos for part in parts)
    return Collection("all", tasks, videos, sum(part.hours for part in parts), "")


def growth(found: Collection, study: Study, rates: Rates, fps: float) -> dict[str, Estimate]:
    """Return the cost with one input doubled at a time, by what is doubled."""
    variants: dict[str, tuple[Collection, Study]] = {
        "as above": (found, study),
        "twice the videos, as long each": (replace(found, videos=2 * found.videos, hours=2 * found.hours), study),
        "the same videos, twice as long": (replace(found, hours=2 * found.hours), study),
        "twice the methods": (found, replace(study, methods=2 * study.methods)),
        "twice the seeds": (found, replace(study, seeds=2 * study.seeds)),
    }
    return {name: estimate(*pair, rates, fps) for name, pair in variants.items()}


def plan(found: list[Collection], study: Study, rates: Mapping[str, Rates], fps: Sequence[float]) -> dict[str, Any]:
    """Return the inputs and the estimates for each set of rates, fps and collection (with ``all``) as plain data."""
    whole = together(found)
    each = [(name, rate, one_fps) for name, rate in rates.items() for one_fps in fps]
    return {
        "collections": [vars(one) for one in (*found, whole)],
        "study": vars(study),
        "rates": {name: rate.model_dump() for name, rate in rates.items()},
        "estimates": [
            {"rates": name, "fps": one_fps, "collection": one.name, **vars(estimate(one, study, rate, one_fps))}
            for name, rate, one_fps in each
            for one in (*found, whole)
        ],
        "growth": [
            {"rates": name, "fps": one_fps, "change": change, **vars(cost)}
            for name, rate, one_fps in each
            for change, cost in growth(whole, study, rate, one_fps).items()
        ],
    }


def render(planned: Mapping[str, Any]) -> str:
    """Return what `plan` worked out as tables in plain text."""
    study, whole = planned["study"], planned["collections"][-1]
    lines = ["Videos", *_table(("collection", "tasks", "videos", "hours", "source"), [
        (one["name"], f"{one['tasks']}", f"{one['videos']}", f"{one['hours']:g}", one["source"])
        for one in planned["collections"]
    ])]  # fmt: skip
    lines += [
        "",
        f"Study: {study['methods']} methods x {study['seeds']} seeds x {study['decoders']} decoders on every task, "
        f"{study['iterations']} iterations per training, frames of {study['size']} px",
    ]
    jobs = next(one for one in planned["estimates"] if one["collection"] == whole["name"])
    lines += [
        "",
        f"Jobs: {sum(jobs['jobs'].values())} = " + " + ".join(f"{n} {rule}" for rule, n in jobs["jobs"].items()),
        f"Submissions to a cluster, short jobs in groups of {study['group']}: {jobs['submissions']}",
    ]
    for name, rates in planned["rates"].items():
        lines += ["", f"Rates `{name}`: {rates['hardware']}", *_rates(rates)]
        lines += ["", *_costs("collection", [one for one in planned["estimates"] if one["rates"] == name])]
        lines += ["", "Growth", *_costs("change", [one for one in planned["growth"] if one["rates"] == name])]
    return "\n".join(lines)


def _rates(rates: Mapping[str, Any]) -> list[str]:
    rows = []
    for stage in ("extract", "train", "embed", "decode", "evaluate"):
        rate = rates[stage]
        unit = "iterations" if stage == "train" else "frames"
        work = f"{rate['per_s']:g} {unit}/s"
        if rate["decoded_per_s"]:
            work += f", decoding {rate['decoded_per_s']:g} native frames/s"
        device = f"{rate['devices']} {rate['device']}"
        rows.append((stage, device, f"{rate['start_s']:g} s", work, rate["source"]))
    cache = ("cache", "", "", f"compressed {rates['cache_ratio']:g} times", "")
    return _table(("stage", "devices", "start", "rate", "source"), [*rows, cache])


def _costs(first: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    header = ("fps", first, "jobs", "GPU h", "core h", "cache GB", "compressed GB")
    return _table(header, [
        (
            f"{one['fps']:g}", one[first], f"{sum(one['jobs'].values())}", f"{one['gpu_hours']:.0f}",
            f"{one['core_hours']:.0f}", f"{one['cache_gb']:.0f}", f"{one['cache_compressed_gb']:.0f}",
        )
        for one in rows
    ])  # fmt: skip


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    text: str = tabulate(rows, header, tablefmt="plain")
    return ["  " + line.rstrip() for line in text.splitlines()]
