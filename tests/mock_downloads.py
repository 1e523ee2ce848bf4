"""Miniature downloads of published features: `mock_downloads.py FOLDER` writes FOLDER/NAME with the files of a site.

Every form has the names, keys, types and quirks of the published one (docs/datasets.md). The timelines are synthetic,
played at four times the speed, and each feature shows the key step at its time.
"""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
import sys
import zipfile
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from rgwot.datasets.registry import tasks_of
from rgwot.synthetic.settings import SynthSettings
from rgwot.synthetic.timelines import parametric
from rgwot.timing import truth_labels

FASTER = 4
#: Three videos of every task; of a take with several videos, the first-person one.
EGOPROCEL = {
    "cmu_mmac/Brownie": ("S07_Brownie_7150991-1431", "S08_Brownie_7150991-1431", "S09_Brownie_7150991-1431"),
    "egtea_gaze/BaconAndEggs": ("OP01-R03-BaconAndEggs", "P16-R03-BaconAndEggs", "P17-R03-BaconAndEggs"),
    "meccano/meccano": ("0003", "0004", "0006"),
    "epic_tents/tent": ("01.tent.090617.gopro", "02.tent.120617.gopro", "03.tent.061317.gopro"),
    "pc_assembly/pc_assembly": ("Head_5", "Head_7", "Head_9"),
    "pc_disassembly/pc_disassembly": ("Head_6", "Head_8", "Head_10"),
}
#: The names of the datasets in pJEPA's table, where all videos of the PC sets (Head_*) have the task disassembly.
PJEPA = {
    "cmu_mmac": "CMU_Kitchens", "egtea_gaze": "EGTEA_Gaze+", "meccano": "MECCANO", "epic_tents": "EPIC-Tents",
    "pc_assembly": "pc_disassembly", "pc_disassembly": "pc_disassembly",
}  # fmt: skip
THIRD_PERSON = ("S07_Brownie_7151062-1103", "S08_Brownie_7151062-1103")
RATES = {"cmu_mmac": "30", "egtea_gaze": "24", "meccano": "12", "epic_tents": "60000/1001"}
PC_RATE = "25"
HIERO = {
    "cmu_mmac": "CMU_Kitchens", "egtea_gaze": "EGTEA", "meccano": "MECCANO", "epic_tents": "EPIC-Tent",
    "pc_assembly": "PC", "pc_disassembly": "PC",
}  # fmt: skip
CROSSTASK = ("-aB_cD3eF-g", "bB_cD3eF-gh", "cB_cD3eF-gh")
ACTIVITIES = {
    "breakfast": ("P03_cam01_P03_cereals", "P04_webcam01_P04_cereals", "P05_stereo_P05_cereals"),
    "50salads": ("rgb-01-1", "rgb-01-2", "rgb-02-1"),
    "gtea": ("S1_Cheese_C1", "S2_Cheese_C1", "S3_Cheese_C1"),
    "YTI": ("changing_tire_0001", "changing_tire_0002", "changing_tire_0003"),
    "desktop_assembly": ("2020-04-02-150120", "2020-04-02-150256", "2020-04-02-150744"),
}


@dataclass(frozen=True)
class Take:
    """A recording: its duration, and its segments (start, end, step from 1 to 7), in seconds."""

    duration_s: float
    segments: tuple[tuple[float, float, int], ...]

    def labels(self, fps: Fraction | int) -> NDArray[np.int64]:
        """Return the key step of every frame at a rate, 0 for background."""
        start, end, step = zip(*self.segments, strict=True)
        return truth_labels(start, end, step, np.arange(round(self.duration_s * fps)), Fraction(fps), "exact")


def take(number: int, task: int = 0) -> Take:
    clip = parametric(7, SynthSettings(n_videos=3), np.random.default_rng(task))[number % 3]
    return Take(
        round(clip.duration_s / FASTER, 1),
        tuple((round(s.start_s / FASTER, 3), round(s.end_s / FASTER, 3), s.key_step) for s in clip.segments),
    )


def vectors(labels: NDArray[np.int64], D: int, seed: int) -> NDArray[np.float32]:
    """Return features (T, D): a vector for each label, the same for every seed, plus noise that the seed decides."""
    shown = np.random.default_rng(D).normal(size=(8, D))
    return (shown[labels] + 0.5 * np.random.default_rng(seed).normal(size=(len(labels), D))).astype(np.float32)


def egoprocel_takes() -> dict[str, dict[str, Take]]:
    """Return the recordings of every task of EgoProceL by uid, including the third-person ones of CMU-MMAC."""
    found = {
        task: {name: take(number, place) for number, name in enumerate(names)}
        for place, (task, names) in enumerate(EGOPROCEL.items())
    }
    found["cmu_mmac/Brownie"] |= {name: take(number) for number, name in enumerate(THIRD_PERSON)}
    return found


def packed(folder: Path, archive: str, table: str, D: int, dense: bool) -> None:
    """Write pJEPA's archive and its table of segments; with ``dense``, times are irregular, as in FACT's features."""
    paths, tokens, times, rows = [], [], [], []
    for number, (task, takes) in enumerate(egoprocel_takes().items()):
        for seed, (uid, one) in enumerate(takes.items()):
            truth = one.labels(10)
            index = np.floor(10 * np.arange(0, len(truth) / 10, 0.25) + 1e-6).astype(int)
            index = index[index < len(truth)]
            paths.append(f"{uid}.pt")
            tokens.append(vectors(truth[index], D, seed))
            times.append(index / 10 if dense else np.arange(len(index)) / 4)
            rows += segment_rows(uid, task, truth, 10 * number, seed)
    (folder / archive).parent.mkdir(parents=True, exist_ok=True)
    content = {
        "paths": paths,
        "tokens": torch.from_numpy(np.concatenate(tokens)),
        "times": torch.from_numpy(np.concatenate(times).astype(np.float32)),
        "offsets": torch.from_numpy(np.cumsum([0, *map(len, tokens)])),
    }
    torch.save(content, folder / archive)
    (folder / table).parent.mkdir(parents=True, exist_ok=True)
    with (folder / table).open("w", newline="", encoding="utf-8") as file:
        names = list(rows[0]) if dense else list(rows[0])[:-1]
        writer = csv.DictWriter(file, names, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    (folder / "LICENSE.md").write_text("The terms of the sources hold.\n")
    (folder / "manifest.json").write_text(json.dumps({"files": [archive, table]}) + "\n")
    sums = (f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in (archive, table))
    (folder / "SHA256SUMS").write_text("".join(sums))


def runs(labels: NDArray[np.int64]) -> list[tuple[int, int, int]]:
    """Return first, stop and label of every run of equal labels."""
    borders = [0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), len(labels)]
    return [(a, b, int(labels[a])) for a, b in zip(borders, borders[1:], strict=False)]


def segment_rows(uid: str, task: str, truth: NDArray[np.int64], first_id: int, seed: int) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    dataset, procedure = task.split("/")
    named = PJEPA[dataset]
    procedure = named if dataset.startswith("pc_") else procedure
    for number, (a, b, step) in enumerate(runs(truth)):
        rows.append(
            {
                "video_path": f"{uid}.pt",
                "official_split": "test" if seed == 2 else "train",
                "fact_step_id": first_id + step if step else 0,
                "sample_uid": f"{uid}_{number}",
                "task_name": f"{named}::{procedure}",
                "start_sec": f"{a / 10:.6f}",
                "end_sec": f"{b / 10:.6f}",
                "fact_step_name": f"step_{step}" if step else "background",
            }
        )
    return rows


def hiero(folder: Path, name: str, family: str, D: int) -> None:
    """Write the zip of one family: a tensor per annotation, with one feature for every 16 frames."""
    with zipfile.ZipFile(made(folder / f"{name}.zip"), "w") as archive:
        for task, takes in egoprocel_takes().items():
            dataset = task.split("/")[0]
            for seed, (uid, one) in enumerate(takes.items()):
                rate = Fraction(RATES.get(dataset, PC_RATE))
                frames = one.labels(rate)
                rows = vectors(frames[8 : len(frames) // 16 * 16 : 16], D, seed)
                stem = f"{uid}.egoprocel.ann" if dataset == "epic_tents" else uid
                with archive.open(f"{family}/{HIERO[dataset]}/{stem}.pt", "w") as file:
                    torch.save(torch.from_numpy(rows), file)


def annotations(root: Path) -> None:
    """Write EgoProceL's annotations, and a table of rates of the PC videos, beside HiERO's features."""
    rates = ["video,fps,frames"]
    for task, takes in egoprocel_takes().items():
        (facts,) = (row for row in tasks_of(task.split("/")[0]) if row.task == task.split("/")[1])
        suffix = ".egoprocel.ann.csv" if facts.folder == "EPIC-Tents" else ".csv"
        inner = facts.task if facts.dataset in ("cmu_mmac", "egtea_gaze") else ""
        for uid, one in takes.items():
            lines = (f"{start},{end},{step} step {step}\n" for start, end, step in one.segments)
            made(root / "annotations" / facts.folder / inner / f"{uid}{suffix}").write_text("".join(lines))
            if facts.dataset.startswith("pc_"):
                rates.append(f"{uid},{PC_RATE},{len(one.labels(int(PC_RATE)))}")
    (root / "videos.csv").write_text("\n".join(rates) + "\n")


def fact(root: Path) -> None:
    """Write FACT's folder: features (T, 2048) at 10 per second, and labels with a name per line."""
    names = ["0 background"]
    listed: dict[str, list[str]] = {"train": [], "test": []}
    for number, (task, takes) in enumerate(egoprocel_takes().items()):
        names += [f"{10 * number + step} {task.split('/')[1]}_step_{step}" for step in range(1, 8)]
        for seed, (uid, one) in enumerate(takes.items()):
            truth = one.labels(10)
            np.save(made(root / f"egoprocel/features/{uid}.npy"), vectors(truth, 2048, seed))
            words = [f"{task.split('/')[1]}_step_{step}" if step else "background" for step in truth]
            made(root / f"egoprocel/groundTruth/{uid}.txt").write_text("\n".join(words) + "\n")
            listed["test" if seed == 2 else "train"].append(uid)
    (root / "egoprocel/mapping.txt").write_text("\n".join(names) + "\n")
    for part, uids in listed.items():
        (root / f"egoprocel/split1.{part}").write_text("\n".join(uids) + "\n")


def crosstask(folder: Path) -> None:
    """Write the zip of CrossTask's features, one per second, and the release of its annotations."""
    release = folder / "crosstask_release"
    steps = [f"step {step}" for step in range(1, 8)]
    made(release / "tasks_primary.txt").write_text(f"40567\nChange a Tire\nhttp://x\n7\n{','.join(steps)}\n\n")
    with zipfile.ZipFile(made(folder / "crosstask_features.zip"), "w") as archive:
        for seed, video in enumerate(CROSSTASK):
            one = take(seed)
            frames = one.labels(30)
            rows = vectors(frames[15::30], 3200, seed)
            with archive.open(f"crosstask_features/{video}.npy", "w") as file:
                np.save(file, rows)
            lines = (f"{step},{start},{end}\n" for start, end, step in one.segments)
            made(release / f"annotations/40567_{video}.csv").write_text("".join(lines))


def ms_tcn(folder: Path) -> None:
    """Write the zip of Breakfast, 50 Salads and GTEA: features (2048, T), and lists of splits with .txt in names."""
    with zipfile.ZipFile(made(folder / "data.zip"), "w") as archive:
        for name, fps, nothing in (
            ("breakfast", 15, "SIL"),
            ("50salads", 30, "action_start"),
            ("gtea", 15, "background"),
        ):
            names = [nothing, *(f"step_{step}" for step in range(1, 8))] + ["action_end"] * (name == "50salads")
            for seed, video in enumerate(ACTIVITIES[name]):
                truth = take(seed).labels(fps)
                with archive.open(f"data/{name}/features/{video}.npy", "w") as file:
                    np.save(file, np.ascontiguousarray(vectors(truth, 2048, seed).T))
                lines = "\n".join(names[step] for step in truth) + "\n"
                archive.writestr(f"data/{name}/groundTruth/{video}.txt", lines)
            mapping = "".join(f"{number} {word}\n" for number, word in enumerate(names))
            archive.writestr(f"data/{name}/mapping.txt", mapping)
            for part, videos in (("train", ACTIVITIES[name][:2]), ("test", ACTIVITIES[name][2:])):
                archive.writestr(f"data/{name}/splits/{part}.split1.bundle", "".join(f"{v}.txt\n" for v in videos))


def asot(root: Path, name: str, D: int, text: bool, nothing: str) -> None:
    """Write ASOT's layout: label files without suffix, features (T, D) as text or array in a folder per activity."""
    for seed, video in enumerate(ACTIVITIES[name]):
        truth = take(seed).labels(30)
        rows = vectors(truth, D, seed)
        activity = video.rpartition("_")[0]
        place = made(root / name / "features" / activity / f"{video}.npy")
        if text:
            np.savetxt(place.with_suffix(".txt"), rows, fmt="%.5f")
        else:
            np.save(place, rows)
        words = [f"step_{step}" if step else nothing for step in truth]
        made(root / name / "groundTruth" / video).write_text("\n".join(words) + "\n")
    mapping = f"{-1 if nothing == 'bg' else 0} {nothing}\n" + "".join(f"{step} step_{step}\n" for step in range(1, 8))
    made(root / name / "mapping/mapping.txt").write_text(mapping)


def made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def write(folder: Path) -> None:
    """Write every download into a folder of its own."""
    packed(
        folder / "egoprocel_fact", "egoprocel_small/fact_npy_features_4fps_full.pt",
        "egoprocel_annotations/egoprocel_fact_features_segments.csv", 2048, True,
    )  # fmt: skip
    packed(
        folder / "egoprocel_vjepa", "egoprocel_small/pooled_features_fact.pt",
        "egoprocel_annotations/egoprocel_segments.csv", 1408, False,
    )  # fmt: skip
    for name, family, D in (
        ("egoprocel_omnivore", "omnivore_video_swinl_window-16", 1536), ("egoprocel_egovlp", "egovlp", 256)
    ):  # fmt: skip
        hiero(folder / name, name, family, D)
        annotations(folder / name)
    fact(folder / "fact")
    crosstask(folder / "crosstask_features")
    ms_tcn(folder / "ms_tcn")
    asot(folder / "youtube_instructions", "YTI", 64, True, "bg")
    asot(folder / "desktop_assembly", "desktop_assembly", 64, False, "step_0")


def unpack(downloads: Path, data: Path) -> None:
    """Put the downloads where `rgwot fetch` puts them, and unpack zips."""
    shutil.copytree(downloads, data)
    for path in list(data.rglob("*.zip")):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(path.parent)
        path.unlink()


if __name__ == "__main__":
    write(Path(sys.argv[1]))
