"""Annotations by ELAN and Praat, which have tiers."""

from __future__ import annotations

import mimetypes
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path, PureWindowsPath
from typing import Any

from rgwot.datasets.segment_rows import SegmentRow, check_offset, media_stem
from rgwot.datasets.settings import Options
from rgwot.datasets.text import DataFault, encoding_of, excerpt, read_bytes
from rgwot.runtime.errors import optional

#: The tier that exports write and that readers prefer if there are several.
TIER = "key steps"
#: The tier of marks: each of its annotations is a mark at its start, because ELAN has no annotation without length.
MARKS_TIER = "key step marks"
PYMPI = "pip install pympi-ling"
#: ELAN's units of time, per second.
_UNITS = {"milliseconds": Fraction(1000), "PAL-frames": Fraction(25), "NTSC-frames": Fraction(30000, 1001)}


def chosen_tier(path: Path, options: Options, tiers: Iterable[str]) -> str:
    """Return the tier to read: by name, `TIER`, or the only one; raise DataFault if there is none."""
    names = list(tiers)
    tier = options.tier or (TIER if TIER in names else names[0] if len(names) == 1 else None)
    if tier not in names:
        fault = f"no tier {options.tier!r}; " if options.tier else ""
        fault += f"found {', '.join(map(repr, names)) or 'no tier of intervals'}"
        raise DataFault("tier", path, "", f"{fault}; expected one tier to read; set tier")
    return str(tier)


def read_elan(path: Path, options: Options) -> Iterator[SegmentRow]:
    """Read the chosen tier of an ELAN file.

    The annotated video is the linked media file (`_film`) or, without one, the video with the name of the ELAN file.

    A gap or an empty value is background. Annotations of the tier `MARKS_TIER` are marks at their starts.
    """
    document = _elan_document(path)
    video = path.stem
    if linked := document.get_linked_files():
        medium = _film(path.stem, linked)
        video = media_stem(medium["MEDIA_URL"])
        # If no medium is named like the ELAN file, which may have another name, any of them may give the clock.
        films = [medium] if video == path.stem else [medium, *(other for other in linked if not _sound(other))]
        for film in films:
            name = excerpt(media_stem(film["MEDIA_URL"]))
            check_offset(path, f"its medium {name}", film.get("TIME_ORIGIN"), "ms")
    units = document.header.get("TIME_UNITS", "milliseconds")
    if units not in _UNITS:
        raise DataFault("time", path, "", f"TIME_UNITS {excerpt(units)}; expected one of {', '.join(_UNITS)}")
    # By default, choose among tiers with their own times; the other tiers have the times of their parents.
    timed = [name for name, (aligned, *_) in document.tiers.items() if aligned]
    tiers = [MARKS_TIER] if MARKS_TIER in timed and options.tier != MARKS_TIER else []
    # A file may have only marks.
    if timed != tiers or options.tier:
        known = document.tiers if options.tier else timed or document.tiers
        tiers.append(chosen_tier(path, options, [name for name in known if name not in tiers]))
    for tier in tiers:
        spans = _elan_spans(document, tier)
        children = [name for name, (*_, about, _) in document.tiers.items() if about.get("PARENT_REF") == tier]
        if options.tier is None and children and spans and all(not value or value.isdecimal() for *_, value in spans):
            raise DataFault(
                "tier", path, "",
                f"tier {tier!r} has only numbers; tiers below it: {', '.join(map(repr, children))}; set tier to "
                "the tier with the names of steps",
            )  # fmt: skip
        for start, end, value in spans:
            if start is None or end is None:
                raise DataFault("time", path, tier, f"{value!r} has no time; expected a tier with times")
            start_s, end_s = (float(at / _UNITS[units]) for at in (start, start if tier == MARKS_TIER else end))
            yield SegmentRow(video, start_s, end_s, value, f"tier {tier!r} at {start_s:.3f} s")


class _Attributes(dict[str, str]):
    """The attributes of an ELAN file; pympi deletes an attribute that files of other programs lack."""

    def __delitem__(self, key: str) -> None:
        self.pop(key, None)


def _elan_document(path: Path) -> Any:
    """Read an ELAN file of any version, with or without a schema."""
    document = optional("pympi", path, PYMPI).Eaf()
    document.tiers.clear()
    document.adocument = _Attributes()
    optional("pympi.Elan", path, PYMPI).parse_eaf(str(path), document, suppress_version_warning=True)
    return document


def _elan_spans(document: Any, tier: str) -> list[tuple[float | None, float | None, str]]:
    """Return start, end (None if unknown) and value of the annotations of a tier.

    Times are as ELAN shows them: parts of an annotation without times of their own are equally long, and other children
    have the times of their parents.
    """

    def depth(name: str) -> int:
        parent = document.tiers[name][2].get("PARENT_REF")
        return 0 if parent not in document.tiers else 1 + depth(parent)

    times, spans = dict(document.timeslots), dict[str, tuple[Any, Any]]()
    for name in sorted(document.tiers, key=depth):
        aligned, references, *_ = document.tiers[name]
        following = {begin: end for begin, end, *_ in aligned.values()}
        for begin in following:
            chain = [begin, following[begin]]
            while times[chain[-1]] is None and chain[-1] in following and len(chain) <= len(following):
                chain.append(following[chain[-1]])
            first, last = times[chain[0]], times[chain[-1]]
            if first is not None and last is not None:
                times |= {slot: first + (last - first) * at / (len(chain) - 1) for at, slot in enumerate(chain)}
        spans |= {ident: (times[begin], times[end]) for ident, (begin, end, *_) in aligned.items()}
        parts: dict[str, list[str]] = defaultdict(list)
        for ident, (parent, _, previous, _) in references.items():
            siblings = parts[parent]
            siblings.insert(siblings.index(previous) + 1 if previous in siblings else len(siblings), ident)
        for parent, siblings in parts.items():
            start, end = spans[parent]
            length = None if start is None or end is None else (end - start) / len(siblings)
            for at, ident in enumerate(siblings):
                spans[ident] = (None, None) if length is None else (start + at * length, start + (at + 1) * length)
    aligned, references, *_ = document.tiers[tier]
    values = {ident: value for ident, (*_, value, _) in aligned.items()}
    values |= {ident: value for ident, (_, value, *_) in references.items()}
    return [(*spans[ident], value) for ident, value in values.items()]


def _film(stem: str, linked: Iterable[Mapping[str, str]]) -> Mapping[str, str]:
    """Return the medium of an ELAN file that is the video: no sound, and preferably named like the file (``stem``)."""
    return min(linked, key=lambda medium: (_sound(medium), media_stem(medium["MEDIA_URL"]) != stem))


def _sound(medium: Mapping[str, str]) -> bool:
    kind = mimetypes.guess_type(PureWindowsPath(medium["MEDIA_URL"]).name)[0] or medium.get("MIME_TYPE", "")
    return kind.startswith("audio")


def read_textgrid(path: Path, options: Options) -> Iterator[SegmentRow]:
    """Read the chosen tier of a TextGrid of Praat; intervals without text are background, points are marks."""
    praat = optional("pympi.Praat", path, PYMPI)
    grid = praat.TextGrid(str(path), codec=encoding_of(path, read_bytes(path)))
    tiers = {tier.name: tier for tier in grid.get_tiers()}
    if len(tiers) < grid.tier_num:
        raise DataFault("tier", path, "", "two tiers have the same name; expected different names; rename one")
    tier = tiers[chosen_tier(path, options, tiers)]
    for start_s, *end_s, text in tier.get_intervals(sort=True):
        until_s = end_s[0] if end_s else start_s
        yield SegmentRow(path.stem, start_s, until_s, text, f"tier {tier.name!r} at {start_s:.3f} s")
