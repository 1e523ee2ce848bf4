"""A page per video to print: its key steps over time, their occurrences, and what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from rgwot.columns import readable
from rgwot.procedure.facts import length_in_words, moment
from rgwot.reporting.export import ExportedVideo, key_steps_of
from rgwot.reporting.figures.style import BACKGROUND_COLOUR, STEP_COLOURS, ink_on
from rgwot.runtime.files import write_text

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ font: 11pt sans-serif; max-width: 18cm; margin: 1cm auto; color: #111; }}
svg {{ width: 100%; height: 1cm; }}
table {{ border-collapse: collapse; width: 100%; }}
th, td {{ text-align: left; padding: 2pt 6pt; border-bottom: 0.5pt solid #aaa; }}
tr {{ break-inside: avoid; }}
.out td {{ color: #555; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>{length}</p>
{bar}
<h2>What differs</h2>
{deviations}
<h2>Key steps</h2>
{segments}
</body>
</html>
"""


def export_sheets(videos: Sequence[ExportedVideo], folder: Path) -> None:
    """Write ``VIDEO.html`` for every video; segments that do not count are grey, with the reason.

    The pages load no other files. Colours are those of a page of the task that shows this result alone.
    """
    labels = key_steps_of(videos)
    colours = {step: STEP_COLOURS[at % len(STEP_COLOURS)] for at, step in enumerate(step for step in labels if step)}
    for video in videos:
        differs = [
            (
                row.time,
                video.called(row.deviation.key_step),
                row.told,
                row.sureness,
                row.deviation.against,
            )
            for row in video.told
        ]
        rows = [
            (moment(segment.start_s), length_in_words(segment.end_s - segment.start_s), segment.label, segment.note)
            for segment in video.segments
        ]
        doubtful = len(video.deviations) - len(video.told)
        occurrences = sum(not segment.note for segment in video.segments)
        page = _PAGE.format(
            title=escape(readable(video.name)),
            length=f"{moment(video.duration_s)} minutes, {occurrences} occurrences.",
            bar=_bar(video, colours),
            deviations=(
                _table(("At", "Key step", "Deviation", "Sureness", "Against"), differs)
                if differs
                else "<p>Nothing unusual was found.</p>"
            )
            + (f"<p>{doubtful} doubtful deviations are left out.</p>" if doubtful else ""),
            segments=_table(("From", "For", "Key step", "Note"), rows),
        )
        write_text(page, folder / f"{video.stem}.html")


def _bar(video: ExportedVideo, colours: Mapping[int, str]) -> str:
    """Return the segments of a video as a drawing; those that do not count are a thin line."""
    scale = 1000 / max(video.duration_s, 1e-9)
    parts = [f'<rect width="1000" height="40" fill="{BACKGROUND_COLOUR}"/>']
    for segment in video.segments:
        colour, x = colours.get(segment.key_step, BACKGROUND_COLOUR), scale * segment.start_s
        width, (y, height) = scale * (segment.end_s - segment.start_s), (30, 10) if segment.note else (0, 40)
        parts.append(
            f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}" fill="{colour}" stroke="#fff"/>'
            + (
                f'<text x="{x + 4:.1f}" y="26" fill="{ink_on(colour)}">{segment.key_step}</text>'
                if not segment.note
                else ""
            )
        )
    shape = 'viewBox="0 0 1000 40" preserveAspectRatio="none" role="img" aria-label="key steps"'
    return f"<svg {shape}>{''.join(parts)}</svg>"


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in HTML; a row is grey if its last cell has a note."""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(
        f"<tr{' class=out' if headings[-1] == 'Note' and row[-1] else ''}>"
        + "".join(f"<td>{escape(cell)}</td>" for cell in row)
        + "</tr>\n"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table>"
