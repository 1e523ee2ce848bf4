"""On a folder with every kind of fault, `rgwot doctor` reports each fault once, in one line, and quickly."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

from videos import picture, remux, together, write_audio, write_video

from rgwot.study.doctor import examine

ROWS = "start_s,end_s,label\n"
#: Annotations and other files by name.
FILES = {
    "m0.csv": f"{ROWS}0,3,pour\n3,5.9,stir\n",
    "m1.csv": f"{ROWS}0,3,Pour\n3,5.9,stir\n",
    "m2.csv": f"{ROWS}0,3,pour\n3,60,stir\n",
    "m3.csv": "onset,offset,label\n0,3,pour\n",
    "two.csv": f"{ROWS}0,3,pour_water\n3,5.9,pour water\n",
    "late.csv": f"{ROWS}1.5,3,pour\n3,7,stir\n",
    "ts.csv": "coder,start_s,end_s,label\nA,0,3,pour\nB,0,3.5,pour\n",
    "GX010007.eaf": "hello",
    "nobody.csv": f"{ROWS}0,3,pour\n",
    "copy.tsv": "Observation id\tMedia file name\tBehavior\tBehavior type\tTime\tSubject\n"
    "c\tcopy.mp4\tpour\tSTART\t1\t\nc\tcopy.mp4\tpour\tSTART\t5\t\n",
    "videos.csv": "video,group\nm0,expert\nm1,Expert\nm2,novice\n",
    "empty.mp4": "",
    "text.mp4": "no video",
    **dict.fromkeys(("m4.rm", "m5.mp4.part", "m6.zip", "m0.srt", "codes.xlsx", "m1.json", "m7", "m8.amv"), "x"),
    **dict.fromkeys(("README.md", "cover.jpg", "m0.psfx", "m0.eaf~", "Thumbs.db", "m0.wav"), "x"),
}
#: Expected findings: severity, file (or none), rule and a part of the message.
TOLD = [
    ("warning", "copy.mp4", "copy", "has the same content as"),
    ("note", "", "kind", "8 files of kinds that are not read"),
    ("note", "", "pairing", "7 videos without annotation"),
    ("warning", "", "pairing", "1 annotations without a video, left out, such as tea/nobody.csv"),
    ("warning", "", "key_steps", "steps 'Pour', 'pour' count as different"),
    ("warning", "", "key_steps", "steps 'pour water', 'pour_water' count as different"),
    ("error", "GX010007.eaf", "file", "not recognised; expected a tier of ELAN"),
    ("error", "copy.tsv", "pairing", "START of 'pour', which has run since 1 s (line 2)"),
    ("error", "cut.mp4", "video", "not a readable video"),
    ("error", "empty.mp4", "video", "empty file (0 bytes)"),
    ("warning", "late.mp4", "video", "the picture begins 1.50 s after the sound"),
    ("error", "m2.csv", "past_end", "segment 3-60 s of a video of 6.2 s"),
    ("error", "m3.mp4", "date", "was changed in the future"),
    ("error", "m3.csv", "columns", "found the columns onset, offset, label"),
    ("error", "text.mp4", "video", "not a readable video"),
    ("error", "ts.csv", "media", "is by 'B', but others are by 'A'"),
    ("warning", "two.mp4", "video", "2 picture tracks"),
    ("warning", "", "length", "GX010007, GX020007: chapters of one recording"),
    ("warning", "", "length", "cam_20260101_100000, cam_20260101_100005: chapters of one recording"),
    ("note", "", "groups", "groups by group: Expert 1, expert 1, novice 1"),
    ("warning", "videos.csv", "groups", "groups 'Expert', 'expert' count as different"),
]


def write_folder(tea: Path) -> int:
    """Write the folder, and return its number of files."""
    tea.mkdir(parents=True)

    def film(name: str, frames: int, first: int, size: tuple[int, int] = (96, 64)) -> Path:
        return write_video(tea / name, frames, 10, size, drawn=lambda i: picture((i + first) % 200, *size))

    for number in range(4):
        film(f"m{number}.mp4", 60 + number, 3 * number)
    for number, name in enumerate(("GX010007", "GX020007", "cam_20260101_100000", "cam_20260101_100005")):
        film(f"{name}.mp4", 50, 31 * (number + 1))
    other, sound = film("other.mp4", 60, 0, (192, 128)), write_audio(tea / "sound.mp4", 12)
    together(tea / "two.mp4", tea / "m0.mp4", other)
    together(tea / "late.mp4", tea / "m1.mp4", sound, late_s=(1.5, 0))
    together(tea / "long.mkv", tea / "m2.mp4", sound)
    remux(tea / "m3.mp4", tea / "ts.mts")
    other.unlink()
    sound.unlink()
    shutil.copy(tea / "m1.mp4", tea / "copy.mp4")
    (tea / "cut.mp4").write_bytes((tea / "m0.mp4").read_bytes()[:900])
    for name, text in FILES.items():
        (tea / name).write_text(text, encoding="utf-8")
    os.utime(tea / "m3.mp4", (time.time() + 9 * 3600,) * 2)
    return len(list(tea.iterdir()))


def test_every_kind_of_fault_is_named_once(tmp_path: Path) -> None:
    assert write_folder(tmp_path / "tea") >= 40
    entry = {"layout": "folder", "root": str(tmp_path), "settings": {"features": {"weights": "random"}}}
    began = time.process_time()
    report = examine({"datasets": {"own": entry}}, "own", jobs=2)
    assert time.process_time() - began < 20
    left = [(one.severity, (one.file or "").removeprefix("tea/"), one.rule, one.message) for one in report.findings]
    for severity, file, rule, message in TOLD:
        # Either the file or its copy may come first.
        names = {file, "m1.mp4"} if rule == "copy" else {file}
        match = [one for one in left if one[0] == severity and one[1] in names and one[2] == rule and message in one[3]]
        assert len(match) == 1, (file, rule, match)
        left.remove(match[0])
    assert left == []
