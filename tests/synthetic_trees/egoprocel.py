"""Trees of EgoProceL: six datasets side by side, with the names of the real files."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from rgwot.datasets.registry import datasets, numbers, tasks_of
from rgwot.synthetic.timelines import FPS
from synthetic_trees.base import Place, TaskPlaces, TreeSettings

# Each camera of a take starts this many frames before the previous camera in the list.
_LEAD_FRAMES = 3
# Frames per second as in the release, or 30 if the rate is not known.
_CMU_RATES = {"8421130": Fraction(60)}
_EGTEA_RATE, _MECCANO_RATE, _TENT_RATE = Fraction(24), Fraction(12), Fraction(60000, 1001)


def tasks(settings: TreeSettings) -> list[TaskPlaces]:
    """Return the tasks that the settings ask for, with the place of every video."""
    known = {f"{dataset}/{facts.task}": facts for dataset in datasets("egoprocel") for facts in tasks_of(dataset)}
    listed = []
    for task in settings.tasks or known:
        facts = known[task]
        cameras = tuple(facts.views.values())[: settings.cameras]
        places = _places(facts.dataset, facts.task, cameras)
        kept = tuple(place for place in places if place.take < settings.n_videos)
        listed.append(TaskPlaces(task, facts.step_ids, kept, _LABELS.get(task, TaskPlaces.label)))
    return listed


def _places(dataset: str, task: str, cameras: Sequence[str]) -> list[Place]:
    """Return the places of all takes of a task, by every camera."""
    if dataset == "cmu_mmac":
        return _cmu(task, cameras)
    if dataset == "epic_tents":
        return _tents()
    if dataset == "egtea_gaze":
        session, people = _EGTEA_SESSIONS[task]
        stems = [f"{person}-{session}-{task}" for person in people.split()]
        return _in_folders(stems, "EGTEA_Gaze+", f"EGTEA_Gaze+/{task}", _EGTEA_RATE)
    if dataset == "meccano":
        return _in_folders([f"{number:04d}" for number in numbers("3 4 6-20")], "MECCANO", "MECCANO", _MECCANO_RATE)
    return _in_folders([f"Head_{number}" for number in numbers(_PC_NUMBERS[task])], task, task, Fraction(FPS))


def _in_folders(stems: Sequence[str], videos: str, annotations: str, fps: Fraction) -> list[Place]:
    return [
        Place(stem, f"videos/{videos}/{stem}.mp4", f"annotations/{annotations}/{stem}.csv", take, fps=fps)
        for take, stem in enumerate(stems)
    ]


def _cmu(task: str, cameras: Sequence[str]) -> list[Place]:
    places = []
    for take, subject in enumerate(numbers(_CMU_SUBJECTS[task])):
        for number, camera in enumerate(cameras):
            lead = number * _LEAD_FRAMES
            # The number after the dash, probably of frames cut at the start, differs between takes and cameras.
            stem = f"S{subject:02d}_{task}_{camera}-{1000 + 37 * subject % 900 - lead}"
            below = f"CMU-MMAC/{task}/S{subject:02d}_{task}_Video/{stem}"
            paths = f"videos/{below}.avi", f"annotations/{below}.csv"
            places.append(Place(stem, *paths, take, camera, lead, _CMU_RATES.get(camera, Fraction(FPS))))
    return places


def _tents() -> list[Place]:
    places = []
    dates = dict(enumerate(_TENT_DATES.split(), start=1))
    # The number of the first video also occurs in the date of the second, so wrong pairing shows with two videos.
    for take, number in enumerate([_TENT_FIRST, *(number for number in dates if number != _TENT_FIRST)]):
        date = dates[number]
        stem = f"{number:02d}.tent.{date}.gopro"
        annotation = f"annotations/EPIC-Tents/{stem}.egoprocel.ann.csv"
        video = f"videos/EPIC-Tents/{number:02d}/{stem}.MP4"
        places.append(Place(stem, video, annotation, take, fps=_TENT_RATE))
    return places


_CMU_SUBJECTS = {
    "Brownie": "7-9 12-20 22 24 25 28-37 40 41 47-50 53-55",
    "Eggs": "7-9 11-18 20 25 28-37 40 41 47-51 53-55",
    "Pizza": "7-9 11 14-20 22 25 28-37 40 41 47 49-51 53-55",
    "Salad": "7-9 11-20 22 25 28 29 31-37 40 41 47-51 53-55",
    "Sandwich": "7 8 12 13 15-20 22 25 28-37 40 41 47-50 53-55",
}
_EGTEA_SESSIONS = {
    "BaconAndEggs": ("R03", "OP01 OP02 OP03 OP04 OP05 OP06 P02 P16 P17 P18 P19 P20 P21 P22 P23 P24"),
    "Cheeseburger": ("R05", "OP01 OP02 OP03 OP04 OP06 P02 P04 P10 P21 P26"),
    "ContinentalBreakfast": ("R04", "OP01 OP02 OP03 OP04 OP05 OP06 P02 P17 P18 P19 P20 P21"),
    "GreekSalad": ("R06", "OP01 OP02 OP03 OP04 OP06 P02 P04 P10 P21 P25"),
    "PastaSalad": ("R01", "OP01 OP02 OP03 OP04 P01 P02 P03 P04 P05 P06 P07 P08 P09 P10 P11 P12 P13 P14 P15"),
    "Pizza": ("R07", "OP01 OP02 OP03 OP04 OP05 OP06"),
    "TurkeySandwich": ("R02", "OP01 OP02 OP03 OP04 OP06 P01 P05 P06 P09 P10 P11 P12 P14"),
}
_TENT_DATES = (
    "090617 120617 061317 061417 061417 150617 160617 140717 170717 170717 190717 190717 200717 081119 "
    "150817 160817 140917 150917 150917 190917 200917 200917 200917 200917 061119 071119 071119 081119 081119"
)
_TENT_FIRST = 17
_PC_NUMBERS = {
    "pc_assembly": "5 7 9 11 13 14 16 18 21 24 26 28 32 35",
    "pc_disassembly": "6 8 10 12 15 17 19 20 22 25 27 29-31 33",
}
# EGTEA's labels have a dot behind the number, Pizza's a slash; MECCANO's names are long and contain commas.
_LABELS = {
    **{f"egtea_gaze/{task}": "{id}. {name}" for task in _EGTEA_SESSIONS},
    "egtea_gaze/Pizza": "{id}. {name}/do it again",
    "meccano/meccano": "{id} {name}, then check it, put it aside",
}
