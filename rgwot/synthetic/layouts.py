"""Where the files of a synthetic dataset go, and how its labels are spelt: one function per layout."""

from __future__ import annotations

from dataclasses import dataclass

from rgwot.datasets.registry import datasets, tasks_of
from rgwot.errors import RgwotError, nearest
from rgwot.synthetic.settings import SynthSettings

DEFAULT_TASK = "assembly"
_EGO_CAMERA = "7150991"


@dataclass(frozen=True)
class Place:
    """Where one video and its annotation lie below the root, with forward slashes."""

    task: str
    stem: str
    video: str
    annotation: str


@dataclass(frozen=True)
class TaskPlaces:
    """One task of a layout.

    Attributes
    ----------
    task
        ``assembly`` in layout folder, ``cmu_mmac/Brownie`` in layout egoprocel.
    step_ids
        What the annotations call key steps 1 to K.
    label
        Format of the third column, with ``id`` and ``name``.
    places
        One per video.
    """

    task: str
    step_ids: tuple[int, ...]
    label: str
    places: tuple[Place, ...]


def task_places(settings: SynthSettings) -> list[TaskPlaces]:
    """Return the tasks that the settings ask for, with the place of every file.

    Raises
    ------
    RgwotError
        If a task is not part of the layout, or the released data has fewer videos than asked for.
    """
    if settings.layout == "folder":
        return [_folder_task(task, settings) for task in settings.tasks or (DEFAULT_TASK,)]
    known = {f"{dataset}/{facts.task}": facts for dataset in datasets("egoprocel") for facts in tasks_of(dataset)}
    chosen = []
    for task in settings.tasks or tuple(known):
        if task not in known:
            raise RgwotError(f"synth.tasks: {task!r} is not a task of EgoProceL; {nearest(task, known)}")
        facts = known[task]
        places = _EGOPROCEL[facts.dataset](facts.task)
        if len(places) < settings.n_videos:
            raise RgwotError(
                f"synth.n_videos: found {settings.n_videos}, but {task} has {len(places)} videos; lower it"
            )
        label = _LABELS.get(facts.dataset, "{id} {name}")
        chosen.append(TaskPlaces(task, facts.step_ids, label, tuple(places[: settings.n_videos])))
    return chosen


def _folder_task(task: str, settings: SynthSettings) -> TaskPlaces:
    digits = max(2, len(str(settings.n_videos)))
    stems = [f"{task}_{number:0{digits}d}" for number in range(1, settings.n_videos + 1)]
    places = tuple(Place(task, stem, f"{task}/{stem}.mp4", f"{task}/{stem}.csv") for stem in stems)
    return TaskPlaces(task, tuple(range(1, settings.K + 1)), "{id} {name}", places)


def _cmu(task: str) -> list[Place]:
    places = []
    for subject in _numbers(_CMU_SUBJECTS[task]):
        # The number behind the dash differs from take to take in the release; its meaning is not needed.
        stem = f"S{subject:02d}_{task}_{_EGO_CAMERA}-{1000 + 37 * subject % 900}"
        below = f"CMU-MMAC/{task}/S{subject:02d}_{task}_Video/{stem}"
        places.append(Place(task, stem, f"videos/{below}.avi", f"annotations/{below}.csv"))
    return places


def _egtea(task: str) -> list[Place]:
    session, people = _EGTEA_SESSIONS[task]
    stems = [f"{person}-{session}-{task}" for person in people.split()]
    return [
        Place(task, stem, f"videos/EGTEA_Gaze+/{stem}.mp4", f"annotations/EGTEA_Gaze+/{task}/{stem}.csv")
        for stem in stems
    ]


def _meccano(task: str) -> list[Place]:
    stems = [f"{number:04d}" for number in (3, 4, *range(6, 21))]
    return [Place(task, stem, f"videos/MECCANO/{stem}.mp4", f"annotations/MECCANO/{stem}.csv") for stem in stems]


def _tents(task: str) -> list[Place]:
    places = []
    for number, date in enumerate(_TENT_DATES.split(), start=1):
        stem = f"{number:02d}.tent.{date}.gopro"
        annotation = f"annotations/EPIC-Tents/{stem}.egoprocel.ann.csv"
        places.append(Place(task, stem, f"videos/EPIC-Tents/{number:02d}/{stem}.MP4", annotation))
    return places


def _pc(task: str) -> list[Place]:
    stems = [f"Head_{number}" for number in _numbers(_PC_NUMBERS[task])]
    return [Place(task, stem, f"videos/{task}/{stem}.mp4", f"annotations/{task}/{stem}.csv") for stem in stems]


def _numbers(text: str) -> list[int]:
    """Read ``7-9 12`` as 7, 8, 9 and 12."""
    numbers: list[int] = []
    for part in text.split():
        first, _, last = part.partition("-")
        numbers.extend(range(int(first), int(last or first) + 1))
    return numbers


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
    "PastaSalad": (
        "R01",
        "OP01 OP02 OP03 OP04 P01 P02 P03 P04 P05 P06 P07 P08 P09 P10 P11 P12 P13 P14 P15",
    ),
    "Pizza": ("R07", "OP01 OP02 OP03 OP04 OP05 OP06"),
    "TurkeySandwich": ("R02", "OP01 OP02 OP03 OP04 OP06 P01 P05 P06 P09 P10 P11 P12 P14"),
}
_TENT_DATES = (
    "090617 120617 061317 061417 061417 150617 160617 140717 170717 170717 190717 190717 200717 081119 "
    "150817 160817 140917 150917 150917 190917 200917 200917 200917 200917 061119 071119 071119 081119 081119"
)
_PC_NUMBERS = {
    "pc_assembly": "5 7 9 11 13 14 16 18 21 24 26 28 32 35",
    "pc_disassembly": "6 8 10 12 15 17 19 20 22 25 27 29-31 33",
}
_EGOPROCEL = {
    "cmu_mmac": _cmu,
    "egtea_gaze": _egtea,
    "meccano": _meccano,
    "epic_tents": _tents,
    "pc_assembly": _pc,
    "pc_disassembly": _pc,
}
# EGTEA's labels have a dot behind the number; MECCANO's names are long and contain commas.
_LABELS = {"egtea_gaze": "{id}. {name}", "meccano": "{id} {name}, then check it, put it aside"}
