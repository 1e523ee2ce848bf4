"""Corrections from a file that somebody has edited in another program: the difference to the result."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from rgwot.corrections.edits import Edit, Segment, checked_name
from rgwot.corrections.replay import Result, Row, ms, reference
from rgwot.datasets.doors import read_segments
from rgwot.datasets.names import pairing_key, stem_of
from rgwot.runtime.errors import RgwotError
from rgwot.timing import BACKGROUND

_LOG = logging.getLogger(__name__)

#: Borders this near are one: other programs round to milliseconds.
SAME_MS = 1


class Wanted(NamedTuple):
    """A segment that somebody wants: start and end in milliseconds, and the label, of background empty."""

    start: int
    end: int
    label: str


def read_edited(
    paths: Sequence[Path], videos: Iterable[str], tier: str | None = None, fps: str | None = None
) -> pd.DataFrame:
    """Read edited files of any format of `rgwot.datasets.doors`.

    ``videos`` are the ids of the result. Returns ``video`` (id), ``start_s``, ``end_s``, ``label``, ``where`` and
    ``key_step`` (see `settled`); of a file without a segment, whose name is that of a video, one row with an
    empty label. RgwotError for a video that is not one of them, or is in two files.
    """
    ids = {pairing_key(stem_of(video)): video for video in videos} | {video: video for video in videos}
    found: list[pd.DataFrame] = []
    seen: dict[str, Path] = {}
    for path in paths:
        table = read_segments(path, tier=tier, fps=fps, numbers=True)
        table["where"] = f"{path}: " + table["where"]
        if table.empty:
            table = pd.DataFrame([(path.stem, 0.0, 0.0, "", "", None)], columns=list(table.columns))
        called = [pairing_key(str(video)) for video in table["video"]]
        # A file of the video's own name that holds one video is of that, whatever it calls it.
        if len(set(called)) == 1 and called[0] not in ids:
            called = [pairing_key(path.stem)] * len(called)
        for video in dict.fromkeys(called):
            if video not in ids:
                known = ", ".join(ids)[:200]
                raise RgwotError(f"{path}: video {video!r} is not in the result; expected one of {known}")
            if (other := seen.setdefault(ids[video], path)) != path:
                raise RgwotError(f"{path}: video {video!r} is in {other}, too; expected every video in one file")
        found.append(table.assign(video=[ids[video] for video in called]))
    if missing := sorted({*ids.values()} - seen.keys()):
        # A table without a row of a video does not say that it has no key step.
        _LOG.info(
            "videos in none of the files stay as they are: %d, such as %r; to delete all of one, leave a row of it "
            "without a name",
            len(missing), missing[0],
        )  # fmt: skip
    return pd.concat(found, ignore_index=True)


def settled(edited: pd.DataFrame, results: Sequence[tuple[pd.DataFrame, Mapping[int, str]]]) -> pd.DataFrame:
    """Return what `read_edited` read with the label of every row that is meant by its label and its key step.

    Where the two contradict each other, the one that differs from what the row's time has in the result was edited.

    Parameters
    ----------
    edited
        From `read_edited`.
    results
        Segments and names of every result that the files may have been exported from: before its corrections and
        after, the likelier one first.

    Raises
    ------
    RgwotError
        Where both were edited, or the number is none of the result.
    """
    known = []
    for segments, names in results:
        own = _of_task(segments)
        called = {str(step): label_of(step, names) for step in (BACKGROUND, *own["key_step"].unique())}
        known.append((Result(own, names), called))
    labels, doubtful = [], []
    for row in edited.to_dict("records"):
        meant = [label for one in known if (label := _meant(row, *one)) is not None]
        # They agree; of a merge, maybe only afterwards.
        if any(called.get(row["key_step"]) == row["label"] for _, called in known):
            meant = [row["label"]]
        if not meant:
            raise RgwotError(
                f"{row['where']}: found key step {row['key_step']!r} and name {row['label']!r}, expected a key step of "
                "the result and its name, or one of the two edited; edit one column and delete the other"
            )
        labels.append(meant[0])
        doubtful += [row] if len(set(meant)) > 1 else []
    if doubtful:
        where, step, label = (doubtful[0][key] for key in ("where", "key_step", "label"))
        _LOG.warning(
            "%s: found key step %s and name %r, which fits the result before its corrections and after; taken as "
            "edited before, in %d such rows; to say otherwise, edit one column and delete the other",
            where, step, label, len(doubtful),
        )  # fmt: skip
    return edited.assign(label=labels)


def difference(
    segments: pd.DataFrame, names: Mapping[int, str], edited: pd.DataFrame, said: Mapping[str, str] | None = None
) -> list[Edit]:
    """Return the edits that make a result what somebody wants.

    Replayed on the result they give every moment of the edited videos its label there; borders count to the
    millisecond. A key step that has become another, or background, wherever it was is one edit; borders that were moved
    are edits of segments, and what is left are segments that are given to another key step.

    Parameters
    ----------
    segments, names
        The result, as of `rgwot.corrections.apply_corrections`. A key step is labelled by its name, else
        "key step 3".
    edited
        ``video, start_s, end_s, label``; gaps are background. Other videos stay as they are.
    said
        ``by``, ``when`` and ``why`` of all edits.

    Raises
    ------
    RgwotError
        Where segments of a video overlap.
    """
    found = _Difference(Result(_of_task(segments), names), dict(said or {}))
    wanted = {
        str(video): _wanted(str(video), rows, found.result) for video, rows in edited.groupby("video", sort=False)
    }
    found.whole_steps(wanted)
    for video, parts in wanted.items():
        found.borders(video, parts)
        found.rest(video, parts)
    return found.edits


class _Difference:
    def __init__(self, result: Result, said: Mapping[str, str]) -> None:
        self.result, self.said = result, said
        self.edits: list[Edit] = []

    def edit(self, kind: str, **values: object) -> None:
        if values.get("name"):
            # A file of corrections with another could not be read again.
            checked_name("edited files", values["name"])
        edit = Edit(kind, **values, **self.said)  # type: ignore[arg-type]
        if not self.result.replay(edit):
            self.edits.append(edit)

    def meant(self, step: int) -> tuple[Segment, ...]:
        return reference(self.result.table(), step)

    def label(self, step: int) -> str:
        return label_of(step, self.result.names)

    def step(self, label: str) -> int | None:
        """Return the key step with a label, None where there is none in the result."""
        present = sorted({step for rows in self.result.rows.values() for _, _, step in rows} - {BACKGROUND})
        return next((step for step in present if self.label(step) == label), None)

    def whole_steps(self, wanted: Mapping[str, Sequence[Wanted]]) -> None:
        """Find key steps that have become another one, got another name, or are background, all of them."""
        used = {part.label for parts in wanted.values() for part in parts}
        places: dict[int, set[str]] = {}
        for video, rows in self.result.rows.items():
            for _, _, step in rows:
                places.setdefault(step, set()).add(video)
        for step in sorted(places.keys() - {BACKGROUND}):
            if self.label(step) in used or not places[step] <= wanted.keys():
                continue
            times: Counter[str] = Counter()
            for video in places[step]:
                for start, end, own in self.result.rows[video]:
                    for part in wanted[video] if own == step else ():
                        times[part.label] += max(0, min(end, part.end) - max(start, part.start))
            (label, most), *_ = times.most_common(1)
            if 2 * most <= times.total():
                continue
            other = self.step(label)
            if not label:
                self.edit("background", step=self.meant(step))
            elif other is None:
                self.edit("rename", step=self.meant(step), name=label)
            else:
                self.edit("merge", step=self.meant(step), into=self.meant(other))

    def borders(self, video: str, parts: Sequence[Wanted]) -> None:
        """Find borders that were moved, where that alone makes the time between what is wanted."""
        for part in parts:
            step = self.step(part.label)
            if step is None:
                continue
            segment = (video, part.start / 1000, part.end / 1000)
            for side in ("start", "end"):
                now = self.result.segment(segment)
                if now is None or now[2] != step:
                    break
                old, new = (now[0], part.start) if side == "start" else (now[1], part.end)
                low, high = min(old, new), max(old, new)
                rows = self.result.rows[video]
                at = rows.index(now) + (-1 if side == "start" else 1)
                beyond = rows[at][2] if 0 <= at < len(rows) else BACKGROUND
                label = self.label(step if (new < old) == (side == "start") else beyond)
                if low < high and all(one.label == label for one in parts if one.start < high and one.end > low):
                    self.edit("border", segment=(video, now[0] / 1000, now[1] / 1000), **{side: new / 1000})

    def rest(self, video: str, parts: Sequence[Wanted]) -> None:
        """Give what is not yet as wanted to its key step."""
        for part in parts:
            while (gap := self._first(video, part)) is not None:
                start, end, now = gap
                segment = (video, start / 1000, end / 1000)
                step = self.step(part.label)
                if step is not None:
                    self.edit("assign", segment=segment, step=self.meant(step))
                elif not part.label and (start, end, now) in self.result.rows[video]:
                    self.edit("delete", segment=segment)
                else:
                    # A name of its own, or none: background.
                    self.edit("assign", segment=segment, name=part.label)

    def _first(self, video: str, part: Wanted) -> Row | None:
        """Return the first time of a wanted segment that another key step has, and this key step."""
        for start, end, step in self.result.rows[video]:
            low, high = max(start, part.start), min(end, part.end)
            if low < high and self.label(step) != part.label:
                return low, high, step
        return None


def label_of(step: int, names: Mapping[int, str]) -> str:
    """Return what a key step is called in exported files, in one line; background is not."""
    return "" if step == BACKGROUND else " ".join(names.get(step, f"key step {step}").split())


def _of_task(segments: pd.DataFrame) -> pd.DataFrame:
    return segments[segments["scope"] == "task"] if "scope" in segments else segments


def _meant(row: Mapping[Hashable, Any], result: Result, called: Mapping[str, str]) -> str | None:
    """Return the label that a row means, if it was exported from this result; None where that is not clear."""
    label, written = str(row["label"]), row["key_step"]
    shared, _ = result.shared([(row["video"], row["start_s"], row["end_s"])])
    had = str(max(shared, key=shared.__getitem__, default=BACKGROUND))
    # Without a column of names the label is the number, or a name is under key_step.
    alone = label.removesuffix(".0") == written
    if written is None or (alone and not written.isdecimal()) or (written == had and not alone):
        return label
    if alone or label == called[had]:
        return called.get(written)
    # A name without a number, or of a new key step.
    return label if not written or (written not in called and label not in called.values()) else None


def _wanted(video: str, rows: pd.DataFrame, result: Result) -> list[Wanted]:
    """Return what is wanted of a video, all of its time, with borders of the result where they are meant."""
    borders = sorted({border for start, end, _ in result.rows[video] for border in (start, end)})
    last = borders[-1]

    def snapped(seconds: float) -> int:
        near = min(borders, key=lambda border: abs(border - ms(seconds)))
        return near if abs(near - ms(seconds)) <= SAME_MS else ms(seconds)

    found: list[Wanted] = []
    at = 0
    for start_s, end_s, label in sorted(rows[["start_s", "end_s", "label"]].itertuples(index=False, name=None)):
        start, end = snapped(start_s), min(snapped(end_s), last)
        if label and snapped(end_s) > last:
            _LOG.warning(
                "video %r: %r from %g to %g s goes on after the end at %g s; what is after it is left out",
                video, label, start_s, end_s, last / 1000,
            )  # fmt: skip
        if not label or start >= end:
            continue
        if start < at:
            raise RgwotError(
                f"video {video!r}: {label!r} at {start_s:g} s begins before {found[-1].label!r} has ended; "
                "expected one key step at a time"
            )
        found += [Wanted(at, start, ""), Wanted(start, end, label)]
        at = end
    return [part for part in (*found, Wanted(at, last, "")) if part.start < part.end]
