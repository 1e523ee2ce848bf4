"""How well annotated videos label each other: each is labelled by all others in turn (methods 5.10)."""

from __future__ import annotations

import logging
from time import process_time
from typing import NamedTuple

import numpy as np

from rgwot.diagnostics import LeftOutFacts
from rgwot.embedding.interface import EmbeddedTask
from rgwot.embedding.values import usual_length
from rgwot.keysteps.interface import UNKNOWN, Decode, Given, learned_from
from rgwot.keysteps.labelling import ByVideo, labelling_of, split_by_video, with_given
from rgwot.keysteps.ordering import generator_for
from rgwot.runtime.progress import with_progress

log = logging.getLogger(__name__)

FEWEST = 3
"""Least number of teaching videos, the annotated ones that are learned from; of two, one would label the other
alone."""

MOST = 8
"""At most this many videos are left out, each in a decoding of its own; if there are more, only evenly spaced ones."""


class _LeftOut(NamedTuple):
    """The result of `leave_one_out`: facts for ``diagnostics.json``, and the key steps that each decoding found.

    The key steps (T,), 0 for background, are those of all videos that took part, except the teaching ones.
    """

    facts: LeftOutFacts
    found: tuple[ByVideo, ...]


def leave_one_out(task: EmbeddedTask, given: Given, decode: Decode, extra: int, seed: int) -> _LeftOut | None:
    """Label teaching videos by the others, and count how many of their labelled samples get their label.

    The decoder sees the unlabelled videos, too, as it does for the result itself; if there are many videos, it sees
    only those that it learns from (`learned_from`).

    Parameters
    ----------
    task
        Embeddings; held-out videos are not used.
    given
        Labels of the teaching videos.
    decode
        The decoder with its settings.
    extra
        Number of key steps beyond those of the labels.
    seed
        Seed of every decoding.

    Returns
    -------
    LeftOut or None
        Its facts are the ``videos`` that were left out; ``shares``, the share of the labelled samples of each, in
        [0, 1], that get their label; ``frames_right``, their mean; and ``decoding_cpu_s``, the CPU time in seconds.
        None with fewer than three teaching videos.
    """
    training = task.part(held_out=False)
    teachers = [name for name in training if name in given.labels and (given.labels[name] >= 0).any()]
    if len(teachers) < FEWEST:
        return None
    from threadpoolctl import threadpool_limits

    began = process_time()
    names = list(training)
    sizes = [len(video.time_s) for video in training.values()]
    seen = {names[at] for at in learned_from(sizes)} | set(teachers)
    plain = {name: video for name, video in training.items() if name in seen}
    with_labels = {name: with_given(video, given, name) for name, video in plain.items()}
    chosen = [teachers[at] for at in np.unique(np.linspace(0, len(teachers) - 1, MOST).round().astype(int))]
    K = given.K + extra
    shares, found_by = [], []
    # One thread, as for the result itself, because sums depend on the number of threads.
    with threadpool_limits(limits=1):
        for hidden in with_progress(log, "annotated videos left out", chosen, "video"):
            videos = {**with_labels, hidden: plain[hidden]}
            found = labelling_of(
                videos.values(),
                task.features_fps,
                K,
                lambda frames: decode(frames, K, generator_for(seed)),
                usual_length(sizes),
            )
            truth = given.labels[hidden] - 1
            labelled = truth != UNKNOWN
            labels = split_by_video(videos, found.labels)
            shares.append(round(float(np.mean(labels[hidden][labelled] == truth[labelled])), 4))
            found_by.append({name: row + 1 for name, row in labels.items() if name not in teachers})
    right, cpu_s = round(float(np.mean(shares)), 4), round(process_time() - began, 3)
    facts = LeftOutFacts(videos=chosen, frames_right=right, shares=shares, decoding_cpu_s=cpu_s)
    return _LeftOut(facts, tuple(found_by))


def left_out_sentence(found: LeftOutFacts, teachers: int) -> str:
    """Return a sentence on the facts of `leave_one_out`, with ``teachers`` teaching videos.

    >>> left_out_sentence(LeftOutFacts(videos=["a", "b", "c"], frames_right=0.8512, shares=[0.7, 0.9, 0.9536]), 3)
    'Each of 3 annotated videos, labelled by the other 2: about 85 of 100 frames right (70 to 95). Videos without \
annotations were not checked.'
    """
    videos = len(found.videos)
    among = f"{videos} of {teachers}" if videos < teachers else f"{teachers}"
    least, most = (f"{100 * end(found.shares, default=0):.0f}" for end in (min, max))
    return (
        f"Each of {among} annotated videos, labelled by the other {teachers - 1}: about "
        f"{100 * found.frames_right:.0f} of 100 frames right{'' if least == most else f' ({least} to {most})'}. Videos "
        "without annotations were not checked."
    )
