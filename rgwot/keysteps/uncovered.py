"""Unlabelled time of annotated videos that is unlike every labelled key step (methods 5.10)."""

from __future__ import annotations

import numpy as np

from rgwot.diagnostics import UncoveredFacts
from rgwot.embedding.interface import EmbeddedTask
from rgwot.keysteps.interface import Given, directions
from rgwot.keysteps.labelled import STRANGE
from rgwot.timing import runs

MOSTLY_UNLIKE = 0.4
"""A step is taken to be missing if at least this share of the unlabelled time is unlike every labelled step."""

LEAST_SHARE = 0.01
"""Least share of the time between the first and the last label that is worth a warning."""

FEWEST = 2
"""Number of annotated videos that must have such time; in a single video, it may be an interruption."""


def uncovered(task: EmbeddedTask, given: Given) -> UncoveredFacts | None:
    """Look for a key step that no label covers.

    The likeness of a sample is its largest cosine with a class mean of the *other* annotated videos, and that of a
    stretch is the mean over its samples. An unlabelled stretch between labels is unlike every labelled step if its
    likeness is below the quantile `STRANGE` of that of labelled segments, weighted by their numbers of samples.

    Parameters
    ----------
    task
        Embeddings; held-out videos are not used.
    given
        Labels of the teaching videos. Those with marks are not used, because marks leave time unlabelled that belongs
        to their key steps.

    Returns
    -------
    UncoveredFacts or None
        ``share`` of the time between the first and the last label of a video that is unlabelled and unlike every
        labelled step, in [0, 1], and the ``videos`` that have such time. None if no key step seems to be missing.
    """
    training = task.part(held_out=False)
    labels = {name: given.labels[name] for name in training if name in given.labels and name not in given.marks}
    x = {name: directions(training[name].embedding) for name in labels}
    segments, stretches, inside = [], [], 0
    for video, labels_here in labels.items():
        known = [(x[name], steps) for name, steps in labels.items() if name != video]
        classes = sorted({int(step) for _, steps in known for step in np.unique(steps) if step >= 0})
        places = np.flatnonzero(labels_here >= 0)
        if not classes or not len(places):
            continue
        sums = [np.sum([part[steps == step].sum(axis=0) for part, steps in known], axis=0) for step in classes]
        likeness = (x[video] @ directions(np.stack(sums)).T).max(axis=1)
        inside += int(places[-1] + 1 - places[0])
        for step, start, end in zip(*runs(labels_here), strict=True):
            part = (float(likeness[start:end].mean()), int(end - start), video)
            if step >= 0:
                segments.append(part)
            elif places[0] < start < places[-1]:
                stretches.append(part)
    if not stretches:
        return None
    segments.sort()
    sizes = np.cumsum([size for _, size, _ in segments])
    limit = segments[int(np.searchsorted(sizes, STRANGE * sizes[-1]))][0]
    unlike = [(size, video) for value, size, video in stretches if value < limit]
    samples, videos = sum(size for size, _ in unlike), sorted({video for _, video in unlike})
    unlabelled = sum(size for _, size, _ in stretches)
    if samples < max(MOSTLY_UNLIKE * unlabelled, LEAST_SHARE * inside) or len(videos) < FEWEST:
        return None
    return UncoveredFacts(share=round(samples / inside, 4), videos=videos)


def uncovered_sentence(found: UncoveredFacts) -> str:
    """Return the warning on the result of `uncovered`.

    >>> uncovered_sentence(UncoveredFacts(share=0.1234, videos=["a", "b", "c"]))[:72]
    '12% of the time between labels, in 3 annotated videos, is unlabelled and'
    """
    return (
        f"{found.share:.0%} of the time between labels, in {len(found.videos)} annotated videos, is unlabelled "
        "and unlike every labelled step; expected a label for every step; label it, or let labelled@extra=1 find one"
    )
