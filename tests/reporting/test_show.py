"""Procedures as lines of a terminal."""

from click.testing import CliRunner

from rgwot.cli.results import show
from rgwot.procedure import Event, Recording, deviations, learn
from rgwot.reporting.show import drawn, procedure_lines
from rgwot.stages.procedure import write_procedure


def recordings(*orders: tuple[int, ...]) -> list[Recording]:
    """Videos a, b, ... with key steps of 2 s, one every 3 s."""
    return [
        Recording(video, tuple(Event(k, 3.0 * at, 3.0 * at + 2) for at, k in enumerate(order)), 30.0)
        for video, order in zip("abcde", orders, strict=False)
    ]


def test_the_procedure_is_drawn_in_layers_with_what_deviates():
    videos = recordings((1, 2, 3, 4), (1, 3, 2, 4), (1, 2, 3, 4), (1, 3, 2, 4, 5), (1, 3, 4))
    procedure = learn(videos, "intersection")
    assert drawn(procedure, deviations(procedure, videos), {1: "open the box", 5: "wipe"}) == [
        "The procedure: With five key steps, the order of those found in at least 80 % of the videos is: "
        "first open the box; "
        "then step 3 and step 2, in either order; "
        "last step 4. "
        "Found in some videos only: wipe, in one of five videos.",
        "",
        "What comes before what, in 5 videos (learner intersection):",
        "   1  1 open the box  5 of 5, 2.0 s",
        "   2  key step 3      5 of 5, 2.0 s; after open the box; in either order with 2",
        "      key step 2      4 of 5, 2.0 s; after open the box; in either order with 3",
        "   3  key step 4      5 of 5, 2.0 s; after 2 and 3",
        "   4  5 wipe          1 of 5, 2.0 s; in some videos only; after 4",
        "  One order for all: open the box > 3 > 2 > 4 > wipe",
        "",
        "Deviations by video, with their total surprise in bits:",
        "  a    0.0  nothing unusual found",
        "  b    0.0  nothing unusual found",
        "  c    0.0  nothing unusual found",
        "  d    2.0  wipe added (0:12)",
        "  e    2.0  2 left out",
    ]


def test_videos_have_their_names_and_not_ids():
    videos = [
        Recording(name, one.events, 30.0) for name, one in zip(("tues%20day", "w"), recordings((1,), (1,)), strict=True)
    ]
    procedure = learn(videos)
    *_, first, second = drawn(procedure, [])
    assert first.startswith("  tues day    0.0  nothing")
    assert second.startswith("  w           0.0  nothing")


def test_a_folder_of_key_steps_is_read(tmp_path):
    videos = recordings((1, 2, 3), (1, 2, 3), (1, 3, 2))
    procedure = learn(videos)
    write_procedure(tmp_path, procedure, deviations(procedure, videos))
    assert procedure_lines(tmp_path) == drawn(procedure, deviations(procedure, videos))
    folder = tmp_path / "results/keysteps/raw/kmeans/d/t/seed0"
    folder.mkdir(parents=True)
    write_procedure(folder, procedure, [])
    assert procedure_lines(folder) == ["Found by raw/kmeans/seed0.", *drawn(procedure, [])]


def test_a_file_of_key_steps_is_shown_by_its_folder(tmp_path):
    for name in ("order.csv", "procedure.json"):
        (tmp_path / name).touch()
    told = CliRunner().invoke(show, [str(tmp_path / "order.csv")]).exception
    assert str(told).endswith(f"found a file of key steps, expected their folder; run `rgwot show {tmp_path}`")
