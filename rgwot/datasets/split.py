"""Held-out videos of a task, which training and clustering do not use, so that scores measure generalisation.

With ``data.split = all``, as in prior work, every video is used for training and scoring. ``holdout`` draws videos that
are only scored. The draw has a separate seed. All training seeds and methods are therefore scored on the same videos,
and the spread over training seeds reflects training alone.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import accumulate

import numpy as np

from rgwot.datasets.names import stem_of
from rgwot.embedding.settings import SplitSettings
from rgwot.runtime.errors import RgwotError, errors_of

#: Alignment needs at least two videos, scoring at least one.
MIN_TRAIN, MIN_TEST = 2, 1


def subjects_of(videos: Iterable[str], pattern: str | None = None) -> dict[str, str]:
    r"""Return the person in each video, if its name identifies one.

    The group ``subject`` of a pattern (`rgwot.datasets.registry.TaskFacts.pattern`) names the person; without such a
    group, and for a name that does not match, the video stands for itself.

    >>> subjects_of(["P16-R03-BaconAndEggs"], r"(?P<subject>P\d+)-R03-.+")
    {'P16-R03-BaconAndEggs': 'p16'}
    """
    matches = {video: re.fullmatch(pattern or "", stem_of(video), re.IGNORECASE) for video in videos}
    subjects = {video: match.groupdict().get("subject") if match else None for video, match in matches.items()}
    return {video: subject.casefold() if subject else video for video, subject in subjects.items()}


def split_videos(subjects: Mapping[str, str], fraction: float, seed: int) -> tuple[str, ...]:
    """Return the sorted ids of the videos to hold out; all videos of a subject are held out, or none.

    Subjects are ranked by a hash of seed and name. The first of them are held out, as many as bring the number of
    held-out videos nearest to ``fraction`` of all (in a tie, to the smaller number). The order of the videos does not
    matter, a larger fraction holds out the same videos and more, and adding a video to a task moves few of the others.

    ``subjects`` maps each video id to its subject (or to itself, to split by video); ``fraction`` is the share of
    videos to hold out, in (0, 1); ``seed``, at least 0, is independent of the training seed.

    Raises RgwotError unless there are two videos to train on and one to hold out.
    """
    sizes = Counter(subjects.values())
    most = len(subjects) - MIN_TRAIN
    # A subject is not held out if too few videos would remain for training.
    rank = {name: hashlib.sha256(b"%d " % seed + os.fsencode(name)).digest() for name in sizes}
    ranked = sorted((name for name in sizes if sizes[name] <= most), key=rank.__getitem__)
    counts = np.array([count for count in accumulate(sizes[subject] for subject in ranked) if count <= most])
    if len(counts) == 0:
        raise RgwotError(
            f"found {_counted(len(subjects), 'video')} of {_counted(len(sizes), 'subject')}, expected at least "
            f"{MIN_TRAIN} to train on and {MIN_TEST} to hold out; add videos, or use data.split=all"
            + ("" if len(subjects) <= MIN_TRAIN else " or data.split_by=video")
        )
    out = set(ranked[: int(np.abs(counts - fraction * len(subjects)).argmin()) + 1])
    return tuple(sorted(video for video, subject in subjects.items() if subject in out))


def held_out(data: SplitSettings, videos: Iterable[str], subjects: Mapping[str, str], task: str) -> tuple[str, ...]:
    """Return the videos that these settings hold out; a video that is not in ``subjects`` is its own subject.

    Raises the errors of `split_videos`, with the name of the ``task``.
    """
    if data.split == "all":
        return ()
    with errors_of(task):
        return split_videos({video: subjects.get(video, video) for video in videos}, data.holdout, data.split_seed)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
