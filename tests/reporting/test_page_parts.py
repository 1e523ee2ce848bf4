"""The parts of a page, each tested by itself: typical frames, names, words, pictures, the JSON."""

from __future__ import annotations

import io
import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from videos import number, write_video

from rgwot.names import match_to_steps, named_order, names_in, names_of, names_text, read_names, result_id
from rgwot.reporting.figures.style import BACKGROUND_COLOUR, STEP_COLOURS, UNMATCHED, ink_on
from rgwot.reporting.page.pictures import STRIP_FRAMES, STRIP_HEIGHT, strip_times, write_strips
from rgwot.reporting.page.shell import embedded, part, policy, script, style_sheet
from rgwot.reporting.page.view import APART_S, Samples, typical_frames
from rgwot.runtime.errors import RgwotError


def samples(seed: int, length: int = 40, steps: int = 3) -> Samples:
    rng = np.random.default_rng(seed)
    return Samples(rng.normal(size=(length, 5)), np.arange(length) * 0.5, rng.integers(1, steps + 1, length))


def test_typical_frames_are_the_nearest_to_the_mean_of_different_videos_first() -> None:
    videos = {f"v{seed}": samples(seed) for seed in range(4)}
    frames_by_step = typical_frames(videos)
    assert sorted(frames_by_step) == [1, 2, 3]
    for step, frames in frames_by_step.items():
        every = [(name, t, x) for name, v in videos.items() for x, t, k in zip(*v, strict=True) if k == step]
        mean = np.mean([x for _, _, x in every], axis=0)
        distances = {(name, t): float(np.linalg.norm(x - mean)) for name, t, x in every}
        # First the nearest frame of each video, by distance; then the next that is far enough away.
        nearest = {name: min((d, t) for (other, t), d in distances.items() if other == name) for name in videos}
        first = sorted(nearest, key=lambda name: nearest[name])
        assert [frame.video for frame in frames[:4]] == first
        assert [frame.time_s for frame in frames[:4]] == [nearest[name][1] for name in first]
        assert len({frame.video for frame in frames[4:]}) == 2
        for frame in frames[4:]:
            away = {
                t: d
                for (name, t), d in distances.items()
                if name == frame.video and abs(t - nearest[name][1]) >= APART_S
            }
            assert frame.distance == pytest.approx(min(away.values()))
        for frame in frames:
            assert frame.distance == pytest.approx(distances[frame.video, frame.time_s])
    # Key steps may have very few frames.
    one = Samples(np.eye(3), np.array([0.0, 0.5, 1.0]), np.array([1, 1, 2]))
    frames_by_step = typical_frames({"a": one})
    # The two frames of key step 1 are less than `APART_S` apart, so only one is shown.
    assert [frame.time_s for frame in frames_by_step[1]] == [0.0]
    assert [(frame.time_s, frame.distance) for frame in frames_by_step[2]] == [(1.0, 0.0)]


def luminance(colour: str) -> float:
    """Return the relative luminance of ``#RRGGBB``, 0 for black to 1 for white (WCAG 2.2)."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    """Return the contrast ratio of two colours, 1 to 21 (WCAG 2.2)."""
    dark, light = sorted((luminance(first), luminance(second)))
    return (light + 0.05) / (dark + 0.05)


def test_colours_of_steps_are_read_with_their_ink() -> None:
    for colour in (*STEP_COLOURS, BACKGROUND_COLOUR, UNMATCHED):
        assert contrast(colour, ink_on(colour)) >= 4.5
        assert ink_on(colour) == max(("#000000", "#FFFFFF"), key=lambda ink: contrast(ink, colour))
    assert all(f"background-color:{colour}" in style_sheet() for colour in STEP_COLOURS)


#: What readers without one kind of cone see, from linear RGB (Machado, Oliveira and Fernandes 2009).
VISION = {
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
    "all cones": np.eye(3).tolist(),
}


def oklab(colour: str, vision: list[list[float]]) -> np.ndarray:
    """Return lightness (0 to 1) and two axes of hue of ``#RRGGBB`` (Ottosson 2020), as a reader sees it."""
    sent = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(sent <= 0.04045, sent / 12.92, ((sent + 0.055) / 1.055) ** 2.4)
    cones = [[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]]
    axes = [[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]]
    seen: np.ndarray = np.array(axes) @ np.cbrt(np.array(cones) @ np.clip(np.array(vision) @ linear, 0, 1))
    return seen


@pytest.mark.parametrize("vision", VISION)
def test_colours_of_steps_differ_to_every_reader_and_none_is_nearly_black(vision: str) -> None:
    seen = [oklab(colour, VISION[vision]) for colour in STEP_COLOURS]
    assert min(lightness for lightness, _, _ in seen) > 0.33

    def nearest(colours: list[np.ndarray]) -> float:
        return min(float(np.linalg.norm(one - other)) for one, other in combinations(colours, 2))

    # The first twelve are as far apart as Okabe and Ito's.
    assert nearest(seen[:12]) >= min(0.075, nearest(seen[:7]))
    assert nearest(seen) > 0.04


def test_a_key_step_goes_to_the_annotated_step_it_shares_most_frames_with() -> None:
    videos = pd.DataFrame({"video": ["a"], "duration_s": [10.0], "fps": ["30"]})
    truth = pd.DataFrame({"video": "a", "start_s": [0.0, 4.0], "end_s": [4.0, 8.0], "key_step": [1, 2]})
    found = pd.DataFrame(
        {"video": "a", "start_s": [0, 5.0, 8.0, 9.0], "end_s": [5.0, 8.0, 9.0, 10.0], "key_step": [7, 3, 5, 3]}
    )
    # Cluster 7 covers all of step 1, cluster 3 three quarters of step 2, and cluster 5 is on background. Pairs without
    # a common frame are not matched.
    assert match_to_steps(videos, truth, found) == {7: 1, 3: 2, 5: 0}
    assert match_to_steps(videos, truth, found.assign(key_step=7)) == {7: 1}
    assert match_to_steps(videos, truth, found[found["video"] == "b"]) == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1, 2]", ["list", "rgwot/graphcut/seed0"]),
        ("rgwot/graphcut/seed0: {names: {1: a}}", ["['names']", "'result' and 'names'"]),
        ("rgwot/graphcut/seed0: {result: x, names: {0: a}}", ["key step 0", "1 or above"]),
        ("rgwot/graphcut/seed0: {result: x, names: {1: true}}", ["True", "put it in quotes"]),
        ('rgwot/graphcut/seed0: {result: x, names: {1: "a\\nb"}}', ["in one line"]),
        (f"rgwot/graphcut/seed0: {{result: x, names: {{1: {'a' * 81}}}}}", ["1 to 80"]),
        ("rgwot/graphcut/seed0: {result: x, names: {1: a}, segments: {v: '1 2 3'}}", ["ends in milliseconds"]),
        ("rgwot/graphcut/seed0: !!python/object/apply:os.getcwd []", ["names.yaml"]),
    ],
)
def test_a_mistake_in_the_file_of_names_is_refused_in_one_line(tmp_path: Path, text: str, words: list[str]) -> None:
    path = tmp_path / "names.yaml"
    path.write_text(text)
    with pytest.raises(RgwotError) as told:
        read_names(path)
    assert str(told.value).startswith(str(path))
    assert "\n" not in str(told.value)
    assert all(word in str(told.value) for word in words)


@pytest.mark.parametrize("decoder", ["consensus@labelled.n=all", "kmeans@labelled.n=all"])
def test_names_typed_under_an_earlier_id_with_labels_are_kept(tmp_path: Path, decoder: str) -> None:
    table = pd.DataFrame({"video": "0003", "scope": "task", "start_s": [0, 1.5], "end_s": [1.5, 3], "key_step": [2, 1]})
    path = tmp_path / "typed.yaml"
    entry = f"{{result: {result_id(table)!r}, names: {{2: pour}}}}"
    path.write_text(f"rgwot-plus/{decoder}/seed0: {entry}\nraw/kmeans@labelled.extra=1,labelled.n=2/seed1: {entry}\n")
    names = read_names(path)
    assert names_of(names, "rgwot-plus/labelled/seed0", table).names == {2: "pour"}
    assert names_of(names, "raw/labelled@extra=1,n=2/seed1", table).names == {2: "pour"}
    # A folder that an earlier version wrote has its names, too.
    for now in (decoder, "labelled"):
        folder = tmp_path / "keysteps/rgwot-plus" / now / "mine/tea/seed0"
        folder.mkdir(parents=True)
        table.to_csv(folder / "segments.csv", index=False)
        assert names_in(folder, path) == {2: "pour"}
    # Names typed under the present id count.
    path.write_text(path.read_text() + f"rgwot-plus/labelled/seed0: {entry.replace('pour', 'drink')}\n")
    assert names_of(read_names(path), "rgwot-plus/labelled/seed0", table).names == {2: "drink"}


def test_names_hold_for_one_result(tmp_path: Path) -> None:
    folder = tmp_path / "keysteps/rgwot/graphcut/mine/tea/seed0"
    folder.mkdir(parents=True)
    table = pd.DataFrame({"video": "0003", "scope": "task", "start_s": [0, 1.5], "end_s": [1.5, 3], "key_step": [2, 1]})
    table.to_csv(folder / "segments.csv", index=False)
    path = tmp_path / "typed.yaml"
    path.write_text(f"rgwot/graphcut/seed0: {{result: {result_id(table)!r}, names: {{2: pour}}}}")
    names = read_names(path)
    assert names_in(folder, path) == {2: "pour"}
    assert named_order("2>1", names_in(folder, path)) == "pour > 1"
    assert names_in(tmp_path, path) == {}
    # It is the same result with another scope, or if times differ by less than half a millisecond, but not with another
    # border.
    other = pd.concat([table, table.assign(scope="video", end_s=9)])
    assert names_of(names, "rgwot/graphcut/seed0", other.assign(end_s=other["end_s"] + 1e-5)).names == {2: "pour"}
    # Names without segments, as an earlier version wrote them, cannot be carried over.
    assert names_of(names, "rgwot/graphcut/seed0", table.assign(end_s=[1.6, 3])) == ({}, ["pour"])
    assert names_of(names, "rgwot/graphcut/seed1", table) == ({}, [])
    assert read_names(tmp_path / "nowhere.yaml") == read_names(None) == {}


def test_names_go_over_to_the_same_frames_of_a_later_result(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def table(**videos: str) -> pd.DataFrame:
        """Return segments with a letter per second: the key step."""
        rows = [
            (video, "task", at, at + 1.0, int(step)) for video, steps in videos.items() for at, step in enumerate(steps)
        ]
        return pd.DataFrame(rows, columns=["video", "scope", "start_s", "end_s", "key_step"])

    run, file = "rgwot/graphcut/seed0", tmp_path / "typed.yaml"
    called = {1: "pour", 2: "stir", 3: "drink"}
    file.write_text(names_text(run, table(a="1112223330", b="3332221110"), called))
    names = read_names(file)
    # The later result has another video, other numbers, and a border that moved.
    later = table(a="3332211120", b="1112223330", c="1232222222")
    assert names_of(names, run, later) == ({1: "drink", 2: "stir", 3: "pour"}, [])
    # If there are more key steps, one has no name; if fewer, one name has no key step.
    assert names_of(names, run, table(a="1442223330")) == ({4: "pour", 2: "stir", 3: "drink"}, [])
    fewer = table(a="1111112220", b="2221111110")
    assert names_of(names, "rgwot/graphcut@K=2/seed0", fewer) == ({1: "pour", 2: "drink"}, ["stir"])
    # A key step at other times gets no name, and neither does background.
    assert names_of(names, run, table(a="4444440000")) == ({4: "pour"}, ["stir", "drink"])
    assert names_of(names, run, table(c="1112223330")) == ({}, list(called.values()))
    for other in ("rgwot/graphcut/seed1", "rgwot/graphcut@pairwise=1/seed0", "rgwot/kmeans/seed0"):
        assert names_of(names, other, later) == ({}, [])
    folder = tmp_path / "keysteps/rgwot/graphcut/mine/tea/seed0"
    folder.mkdir(parents=True)
    fewer.to_csv(folder / "segments.csv", index=False)
    assert names_in(folder, file) == {1: "pour", 2: "drink"}
    assert "could not be given to its key steps: stir;" in caplog.text


@given(st.recursive(st.text() | st.floats(allow_nan=False, allow_infinity=False), st.lists, max_leaves=6))
@settings(max_examples=150, deadline=None)
def test_json_inside_a_page_is_read_back_and_never_markup(content: object) -> None:
    dangerous = [content, "</script><!--<script>]]>&lt;\u2028\u2029"]
    text = embedded(dangerous)
    # Without any of these characters, nothing in the text begins or ends an element.
    assert not set(text) & set("<>&\u2028\u2029")
    assert json.loads(text) == dangerous


def test_the_policy_names_style_and_script_and_nothing_else() -> None:
    rules = dict(rule.split(" ", 1) for rule in policy("a", "b").split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["script-src"] == "'sha256-PiPoFgA5WUoziU9lZOGxNIu9egCI1CxKy3PurtWcAJ0='"
    assert "unsafe" not in policy("a", "b")
    assert "http" not in policy("a", "b")


def test_strips_show_the_frames_of_their_times_and_bad_videos_none(tmp_path: Path) -> None:
    write_video(tmp_path / "wide.mp4", 120, size=(192, 96))
    (tmp_path / "broken.mp4").write_bytes(b"no video" * 100)
    rows = [
        "wide,wide,wide.mp4,,4.0,30,192,96,ok,",
        "broken,broken,broken.mp4,,4.0,30,192,96,ok,",
        "left,left,left.mp4,,,,,,skipped,broken",
    ]
    header = "video,name,path,annotation,duration_s,fps,width,height,status,reason"
    (tmp_path / "manifest.csv").write_text("\n".join([header, *rows]) + "\n")
    write_strips(tmp_path / "manifest.csv", tmp_path, tmp_path / "strips", jobs=2)
    assert [path.name for path in (tmp_path / "strips").glob("[!.]*")] == ["wide.jpg"]
    content = (tmp_path / "strips/wide.jpg").read_bytes()
    strip = np.asarray(Image.open(io.BytesIO(content)))
    assert strip.shape == (STRIP_HEIGHT, STRIP_FRAMES * 2 * STRIP_HEIGHT, 3)
    shown = [number(part) for part in np.split(strip, STRIP_FRAMES, axis=1)]
    assert shown == [int(time * 30) for time in strip_times(4.0)]


def test_the_scripts_of_a_page_use_no_way_from_text_to_markup_or_code() -> None:
    forbidden = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function")
    forbidden += ("XMLHttpRequest", "http:", "https:", 'setAttribute("style')
    assert [word for word in forbidden if word in script()] == []
    # One module asks the server of the window, and one takes the markup of a procedure from it, which Python escaped.
    for word, only in (("fetch(", "server.js"), ("DOMParser", "live.js")):
        assert script().count(word) == part(only).count(word) > 0
