"""Which videos of a task are kept from training and clustering, so that scores say how a method does on new ones.

``data.split = all`` is what prior work does: every video trains and is scored. ``holdout`` draws videos that only the
scoring sees. The draw has a seed of its own, so that every training seed and every method is scored on the same
videos, and a spread over training seeds says something about training alone.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from rgwot.datasets.names import stem_of
from rgwot.runtime.errors import RgwotError

#: A pair of videos is the least that can be aligned, one video the least that can be scored.
MIN_TRAIN, MIN_TEST = 2, 1


class Split(NamedTuple):
    """Video ids of both parts, each sorted; together all videos, none in both."""

    train: tuple[str, ...]
    test: tuple[str, ...]


def subjects_of(videos: Iterable[str], pattern: str | None = None) -> dict[str, str]:
    r"""Return the person in each video, where its name identifies one.

    The group ``subject`` of a pattern (`rgwot.datasets.registry.TaskFacts.pattern`) names the person; without such a
    group, and for a name that does not match, the video stands for itself.

    >>> subjects_of(["P16-R03-BaconAndEggs"], r"(?P<subject>P\d+)-R03-.+")
    {'P16-R03-BaconAndEggs': 'p16'}
    """
    matches = {video: re.fullmatch(pattern or "", stem_of(video), re.IGNORECASE) for video in videos}
    subjects = {video: match.groupdict().get("subject") if match else None for video, match in matches.items()}
    return {video: subject.casefold() if subject else video for video, subject in subjects.items()}


def split_videos(subjects: Mapping[str, str], fraction: float, seed: int) -> Split:
    """Divide videos into a training part and a held-out part, all videos of a subject on one side.

    Subjects are ranked by a hash of seed and name, and the first of them are held out: as many as bring the number
    of held-out videos nearest to ``fraction`` of all (on a tie the fewer). The order of the videos has no influence,
    a larger fraction holds out the same videos and more, and a video added to a task, or another task with the same
    people, disturbs few of the others.

    ``subjects`` has the subject of each video id, the id itself to split by video; ``fraction`` is the share of the
    videos to hold out, in (0, 1); ``seed``, at least 0, is not that of training.

    Raises RgwotError when two videos to train on and one to hold out cannot be found.
    """
    sizes = Counter(subjects.values())
    most = len(subjects) - MIN_TRAIN
    # A subject that would leave too few videos to train on can only be trained on.
    rank = {name: hashlib.sha256(b"%d " % seed + os.fsencode(name)).digest() for name in sizes}
    ranked = sorted((name for name in sizes if sizes[name] <= most), key=rank.__getitem__)
    held = np.array([count for count in accumulate(sizes[subject] for subject in ranked) if count <= most])
    if len(held) == 0:
        raise RgwotError(
            f"found {_counted(len(subjects), 'video')} of {_counted(len(sizes), 'subject')}, expected at least "
            f"{MIN_TRAIN} to train on and {MIN_TEST} to hold out; add videos, or use data.split=all"
            + ("" if len(subjects) <= MIN_TRAIN else " or data.split_by=video")
        )
    out = set(ranked[: int(np.abs(held - fraction * len(subjects)).argmin()) + 1])
    return Split(
        tuple(sorted(video for video, subject in subjects.items() if subject not in out)),
        tuple(sorted(video for video, subject in subjects.items() if subject in out)),
    )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
