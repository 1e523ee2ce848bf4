"""Figures as data: every mistake in one line, every experiment in its one spelling."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from figure_tree import TABLES

from rgwot.reporting.figures.bars import Bars
from rgwot.reporting.figures.kinds import KINDS, load_figures
from rgwot.reporting.figures.sweep import Sweep
from rgwot.runtime.errors import RgwotError

BARS = {
    "kind": "bars", "title": "t", "dataset": "procel", "beside": "scores",
    "runs": [{"label": "RGWOT", "method": "rgwot@beta=0"}],
}  # fmt: skip
PANEL = {"table": "t", "dataset": "d", "key": "alpha", "label": "α"}


def written(folder: Path, **figures: object) -> Path:
    path = folder / "tables.yaml"
    path.write_text(yaml.safe_dump({"datasets": {"d": {"label": "D"}}, "tables": {}, "figures": figures}))
    return path


def test_runs_get_their_one_spelling_and_files_their_place(tmp_path: Path) -> None:
    panel = PANEL | {"reported": {"file": "reported/a.csv", "x": 1}}
    path = written(tmp_path, one=BARS, two={"kind": "sweep", "title": "t", "panels": [panel]})
    loaded = load_figures(path, lambda method, decoder: (method.upper(), decoder + "!"))
    bars, sweep = loaded.figure("one"), loaded.figure("two")
    assert isinstance(bars, Bars)
    assert isinstance(sweep, Sweep)
    assert (bars.runs[0].method, bars.runs[0].decoder) == ("RGWOT@BETA=0", "graphcut!")
    assert sweep.panels[0].reported is not None
    assert sweep.panels[0].reported.file == tmp_path / "reported" / "a.csv"
    assert loaded.names["d"].label == "D"


@pytest.mark.parametrize(
    ("figure", "said"),
    [
        ({**BARS, "kind": "bar"}, "unknown kind 'bar'; did you mean 'bars'"),
        ({**BARS, "n_video": 2}, "unknown key 'n_video'; did you mean 'n_videos'"),
        ({**BARS, "runs": [{"label": "a", "method": "b", "decoders": "c"}]},
         "unknown key 'runs.0.decoders'; did you mean 'decoder'"),
        ({**BARS, "runs": []}, "runs: .*at least 1 item"),
        ({**BARS, "beside": "faces"}, "beside: Input should be 'collapse' or 'scores', found 'faces'"),
        ({"kind": "plans", "title": "t", "dataset": "d", "run": BARS["runs"][0], "radii": [0, 1]},
         "radii.0: .*greater than 0, found 0"),
        ({"kind": "plans", "title": "t", "dataset": "d"}, "run: Field required"),
    ],
)  # fmt: skip
def test_mistakes_are_told_in_one_line(tmp_path: Path, figure: dict, said: str) -> None:
    with pytest.raises(RgwotError, match=said) as caught:
        load_figures(written(tmp_path, mine=figure))
    assert "figure 'mine'" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_wrong_experiment_names_its_figure_and_run(tmp_path: Path) -> None:
    def canonical(method: str, decoder: str) -> tuple[str, str]:
        raise RgwotError("method 'rgwto': unknown base")

    with pytest.raises(RgwotError, match=r"figure 'mine': method 'rgwto'"):
        load_figures(written(tmp_path, mine=BARS), canonical)


def test_an_unknown_figure_is_told_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(RgwotError, match="figure 'too': not among the figures; did you mean 'two'"):
        load_figures(written(tmp_path, two=BARS)).figure("too")


def test_every_kind_is_shown_by_a_figure_of_the_paper() -> None:
    assert {type(figure) for figure in load_figures(TABLES).figures.values()} == set(KINDS.values())
