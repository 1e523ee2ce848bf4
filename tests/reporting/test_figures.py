"""Bars are at the times of segments, and a cluster has the colour of the step that it is matched with."""

from fractions import Fraction

import matplotlib.colors
import pandas as pd
import pytest

from rgwot.records import read_annotations, read_manifest, read_segments
from rgwot.reporting.figures.segments import segment_bars
from rgwot.reporting.figures.style import BACKGROUND_COLOUR, STEP_COLOURS, save
from rgwot.runtime.errors import RgwotError

SEGMENT = ["video", "start_s", "end_s", "key_step"]
TRUTH = pd.DataFrame([("a", 2.0, 4.0, 1), ("a", 5.0, 9.0, 2), ("b", 1.0, 6.0, 2)], columns=SEGMENT)
MANIFEST = pd.DataFrame(
    [("a", 10.0, "ok"), ("b", 8.0, "ok"), ("c", 5.0, "skipped")], columns=["video", "duration_s", "status"]
).assign(name=list("abc"), fps=Fraction(30))


def prediction():
    # Clusters 5, 6 and 7 are step 2, background and step 1; cluster 4 is a single second that belongs to none of them.
    rows = [("a", 0, 2, 6), ("a", 2, 4, 7), ("a", 4, 5, 6), ("a", 5, 9, 5), ("a", 9, 10, 4)]
    rows += [("b", 0, 1, 6), ("b", 1, 6, 5), ("b", 6, 8, 6)]
    table = pd.DataFrame(rows, columns=SEGMENT).assign(scope="task")
    return pd.concat([table, table.assign(scope="video", key_step=1)])


def bars(axis):
    found = {}
    for patches in axis.collections:
        for path in patches.get_paths():
            (left, bottom), (right, top) = path.get_extents().get_points()
            colour = matplotlib.colors.to_hex(patches.get_facecolor()[0]).upper()
            found[round((bottom + top) / 2), round(left, 6), round(right, 6)] = colour
    return found


def test_bars_lie_where_the_segments_are_in_the_colour_of_their_step(tmp_path):
    figure = segment_bars(MANIFEST, TRUTH, {"ours": prediction()}, "title")
    assert len(figure.axes) == 2
    first = bars(figure.axes[0])
    one, two = STEP_COLOURS[0].upper(), STEP_COLOURS[1].upper()
    assert first[0, 2.0, 4.0] == first[1, 2.0, 4.0] == one
    assert first[0, 5.0, 9.0] == first[1, 5.0, 9.0] == two
    assert first[1, 0.0, 2.0] == BACKGROUND_COLOUR
    assert first[1, 9.0, 10.0] not in (one, two, BACKGROUND_COLOUR)
    save(figure, tmp_path / "bars.pdf")
    assert (tmp_path / "bars.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "bars.png").exists()


def test_videos_without_annotation_show_their_clusters():
    manifest = MANIFEST.assign(status=["unscored", "unscored", "skipped"])
    figure = segment_bars(manifest, TRUTH.iloc[:0], {"ours": prediction(), "other": prediction()}, "title")
    assert len(figure.axes) == 2
    first = bars(figure.axes[0])
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["ours", "other"]
    assert first[0, 0.0, 2.0] == first[0, 4.0, 5.0] == STEP_COLOURS[5].upper()
    assert first[1, 2.0, 4.0] == STEP_COLOURS[6].upper()
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["step 4", "step 5", "step 6", "step 7", "background"]


def test_a_task_without_a_usable_video_is_refused_in_one_line():
    with pytest.raises(RgwotError, match="title: no usable video among 3"):
        segment_bars(MANIFEST.assign(status="skipped"), TRUTH.iloc[:0], {"ours": prediction()}, "title")


FILES = {
    "manifest": "video,name,path,annotation,duration_s,fps,width,height,status,reason\n"
    "0003,a,a.mp4,a.csv,4,30,1,1,ok,\n",
    "annotations": "video,start_s,end_s,key_step,name\n0003,1,2,1,stir\n",
    "segments": "video,scope,start_s,end_s,key_step\n0003,task,0,2,1\n0003,task,2,4,2\n",
}


def drawn(folder, **texts):
    for name, text in (FILES | texts).items():
        (folder / f"{name}.csv").write_text(text)
    manifest, annotations = read_manifest(folder / "manifest.csv"), read_annotations(folder / "annotations.csv")
    return segment_bars(manifest, annotations, {"ours": read_segments(folder / "segments.csv")}, "")


@pytest.mark.parametrize("name", FILES)
def test_files_are_drawn_and_a_missing_column_is_named(tmp_path, name):
    assert len(drawn(tmp_path).axes) == 1
    text = "\n".join(line.rpartition(",")[0] for line in FILES[name].splitlines())
    column = FILES[name].splitlines()[0].rpartition(",")[2]
    with pytest.raises(RgwotError, match=rf"{name}\.csv: no column {column}; expected "):
        drawn(tmp_path, **{name: text})
