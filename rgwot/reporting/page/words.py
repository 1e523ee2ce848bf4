"""Collapse diagnostics in words: whether a result is worth looking at, and if not, what gave way first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_COLLAPSED = {
    "embedding": (
        "Collapsed: the embedding. Frames of every kind were mapped to nearly the same point, so what the decoder made "
        "of it is noise. Try a larger cidm.beta, which keeps frames of one video apart, or look at the features."
    ),
    "decoder": (
        "Collapsed: the decoder. Embeddings differ, but nearly all frames got one key step. Try a smaller decode.m or "
        "graphcut.pairwise, or another decode.K."
    ),
}


def soundness(diagnostics: Mapping[str, Any], trivial: bool = False) -> list[str]:
    """Say in sentences what ``diagnostics.json`` of a run tells.

    Parameters
    ----------
    diagnostics
        As written by the decoders; what a decoder does not know is left out.
    trivial
        Whether the answer is made without features.

    Returns
    -------
    list of str
        The verdict first.
    """
    task = diagnostics.get("task", {})
    task = task if isinstance(task, Mapping) else {}
    K = diagnostics.get("K")
    if trivial:
        said = ["A trivial answer: made without looking at the videos, it has nothing that could collapse."]
    elif diagnostics.get("degenerate"):
        cause = str(diagnostics.get("degenerate_cause"))
        said = [_COLLAPSED.get(cause, "Collapsed: one key step is all there is.")]
    else:
        said = ["No collapse: embeddings differ, and no key step takes everything."]
    labels = task.get("distinct_labels")
    if labels is not None and K is not None:
        share = task.get("dominant_label_share")
        most = f"; the largest holds {share:.0%} of the frames" if share is not None else ""
        said.append(f"{labels} of {K} key steps occur{most}.")
    elif K is not None:
        said.append(f"{K} key steps were asked for.")
    variance = task.get("relative_variance")
    if variance is not None:
        amount = "almost nothing" if variance < 0.01 else "little" if variance < 0.1 else "much"
        said.append(
            f"Embeddings differ by {amount}: {variance:.2g} of their power is variance (0: all the same, "
            "1: no common part)."
        )
    entropy = task.get("membership_entropy")
    if entropy is not None:
        amount = "clear-cut" if entropy < 0.35 else "soft" if entropy < 0.8 else "nearly undecided"
        said.append(f"Memberships are {amount}: entropy {entropy:.2f} (0: every frame has one key step, 1: undecided).")
    alone = diagnostics.get("video")
    if isinstance(alone, Mapping) and alone.get("degenerate_videos"):
        number = len(alone["degenerate_videos"])
        said.append(f"Clustered by itself, {number} of {diagnostics.get('n_videos', '?')} videos collapse.")
    empty = diagnostics.get("videos_without_frames")
    if empty:
        said.append(f"{len(empty)} videos have no frames and are left out.")
    split = diagnostics.get("split")
    if isinstance(split, Mapping):
        said.append(
            f"Trained and clustered on {len(split['train'])} videos; {len(split['test'])} were held out and are scored."
        )
    return said
