"""What a terminal is told about yardsticks and procedures."""

import json

import pytest

from rgwot.reporting.show import procedure_lines, yardstick_lines
from rgwot.runtime.errors import RgwotError


def test_the_first_procedure_is_named_with_its_share(tmp_path):
    path = tmp_path / "procedures.csv"
    path.write_text("rank,order,n_videos,share\n1,3>1>2,2,0.6666666666666666\n2,1>2,1,0.3333333333333333\n")
    text = "\n".join(procedure_lines(path))
    assert "3 > 1 > 2" in text
    assert "2 of 3 videos" in text


def test_a_single_key_step_is_not_read_as_a_number(tmp_path):
    path = tmp_path / "procedures.csv"
    path.write_text("rank,order,n_videos,share\n1,3,4,1.0\n")
    assert procedure_lines(path)[-1].split() == ["key", "steps", "3"]


def test_no_procedure(tmp_path):
    path = tmp_path / "procedures.csv"
    path.write_text("rank,order,n_videos,share\n")
    assert len(procedure_lines(path)) == 1


def test_yardsticks(tmp_path):
    path = tmp_path / "yardsticks.json"
    path.write_text(json.dumps({"kmeans_f1": 0.256, "probe_accuracy": 0.96, "largest_step_share": 0.2, "K": 7}))
    text = "\n".join(yardstick_lines(path))
    assert "25.6  k-means" in text
    assert "96.0  supervised probe" in text


@pytest.mark.parametrize("content", ["[]", "{", '{"kmeans_f1": null}'])
def test_another_file_is_refused_in_one_line(tmp_path, content):
    path = tmp_path / "yardsticks.json"
    path.write_text(content)
    with pytest.raises(RgwotError, match="yardsticks"):
        yardstick_lines(path)
    with pytest.raises(RgwotError, match="n_videos"):
        procedure_lines(path)
