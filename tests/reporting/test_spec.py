from __future__ import annotations

import copy

import pytest
import yaml
from table_helpers import REPOSITORY, SPEC, small_table

from rgwot.config import Config
from rgwot.errors import RgwotError
from rgwot.experiments import Experiments
from rgwot.reporting.spec import LEADING, find_table, load_tables


def test_the_tables_of_the_repository():
    tables = load_tables(REPOSITORY / "workflow" / "tables.yaml")
    egoprocel = tables["egoprocel"]
    assert list(egoprocel.datasets) == [
        "cmu_mmac", "egtea_gaze", "meccano", "epic_tents", "pc_assembly", "pc_disassembly",
    ]  # fmt: skip
    assert sum(dataset.n_tasks for dataset in egoprocel.datasets.values()) == 16
    assert list(tables["demo"].datasets) == ["demo"]
    every = ["one_label", "uniform", "random", "raw_kmeans", "raw_graphcut", "vaot", "rgwot"]
    rows = {name: [row.id for row in table.rows] for name, table in tables.items()}
    assert rows == {
        "egoprocel": every,
        "third_person": every,
        "demo": [name for name in every if name != "vaot"],
        "demo_contrast": ["vaot", "rgwot"],
    }
    for table in tables.values():
        assert [row.id for row in table.rows if row.trivial] == [row.id for row in table.rows if row.method == "none"]
        # macro_task with background leads, micro_video stands beside it.
        assert table.blocks[:2] == LEADING
    assert egoprocel.reported.file == REPOSITORY / "workflow" / "reported" / "egoprocel.csv"
    assert find_table(tables, "demo") is tables["demo"]
    with pytest.raises(RgwotError, match=r"table 'dmo': not among the tables; did you mean 'demo'\?"):
        find_table(tables, "dmo")


def test_rows_of_the_repository_are_experiments_in_their_one_spelling():
    experiments = Experiments(Config())

    def canonical(method, decoder):
        return experiments.method(method), experiments.decoder(decoder, method)

    path = REPOSITORY / "workflow" / "tables.yaml"
    assert load_tables(path, canonical) == load_tables(path)


def test_any_spelling_becomes_the_canonical_one(tmp_path):
    spec = copy.deepcopy(SPEC)
    spec["tables"]["small"]["rows"][1] |= {"method": "rgwot@beta=0"}
    table = small_table(tmp_path, spec, lambda method, decoder: (method.replace("rgwot@beta=0", "vaot"), decoder))
    assert table.row("ours").method == "vaot"

    def refuse(method, decoder):
        raise RgwotError(f"method {method!r}: unknown base")

    with pytest.raises(RgwotError, match=r"table 'small': row 'flat': method 'none': unknown base"):
        small_table(tmp_path, spec, refuse)


def _change(*path, value):
    def change(spec):
        *parents, last = path
        part = spec
        for key in parents:
            part = part[key]
        part[last] = value

    return change


SMALL = ("tables", "small")
MISTAKES = [
    (
        _change(*SMALL, "datasets", value=["one", "tow"]),
        r"table 'small': unknown dataset 'tow'; did you mean 'two'\?",
    ),
    (
        _change(*SMALL, "datasets", value=["one", "one"]),
        "datasets: found .* expected a list of different names",
    ),
    (_change(*SMALL, "datasets", value=[]), "no datasets; expected at least one"),
    (
        _change(*SMALL, "metric", value=["f1"]),
        r"table 'small': unknown key 'metric'; did you mean 'metrics'\?",
    ),
    (_change(*SMALL, "metrics", value=["f2"]), r"metrics\.0: input should be .*, found 'f2'"),
    (_change(*SMALL, "metrics", value=["f1", "f1"]), "metric 'f1' stands twice"),
    (_change(*SMALL, "rows", 2, "id", value="ours"), "row 'ours' stands twice"),
    (_change(*SMALL, "rows", 2, "id", value="reported"), "row 'reported': this id is taken"),
    (
        _change(*SMALL, "rows", 2, "id", value="../x"),
        r"rows\.2\.id: expected a lower-case word .* found '../x'",
    ),
    (
        _change(*SMALL, "rows", 2, "decodr", value="x"),
        r"unknown key 'rows\.2\.decodr'; did you mean 'decoder'\?",
    ),
    (
        _change(*SMALL, "rows", 2, value={"id": "x", "label": "X", "method": "raw"}),
        r"rows\.2\.decoder: field required",
    ),
    (_change(*SMALL, "rows", value=[]), "no rows; expected at least one"),
    (
        _change(*SMALL, "blocks", value=[{"protocol": "macro", "background": "with"}]),
        r"blocks\.0\.protocol: input",
    ),
    (
        _change(*SMALL, "reported", "methods", 1, "method", value="RGWOT"),
        "reported method 'RGWOT' stands twice",
    ),
    (
        _change("datasets", "two", value={"label": "Second"}),
        "dataset 'two' has no name in the reported numbers",
    ),
    (_change("datasets", "two", value={"name": "Second"}), "dataset 'two': .*label: field required"),
    (_change(*SMALL, value=None), "table 'small': found NoneType"),
    (_change("tables", "Big Table", value={}), "table 'Big Table': expected a lower-case word"),
    (_change("tables", value=[]), "tables: found list"),
    (_change("more", value={}), "expected the two keys datasets and tables"),
]


@pytest.mark.parametrize(("change", "message"), MISTAKES)
def test_mistakes_end_in_one_line(tmp_path, change, message):
    spec = copy.deepcopy(SPEC)
    change(spec)
    with pytest.raises(RgwotError, match=message) as caught:
        small_table(tmp_path, spec)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "tables.yaml"))


def test_unreadable_yaml_is_one_line(tmp_path):
    path = tmp_path / "tables.yaml"
    with pytest.raises(RgwotError, match="cannot be read as YAML"):
        load_tables(path)
    path.write_text("tables: [\n  open: {")
    with pytest.raises(RgwotError, match="cannot be read as YAML") as caught:
        load_tables(path)
    assert "\n" not in str(caught.value)
    path.write_text(yaml.safe_dump(["a"]))
    with pytest.raises(RgwotError, match="found list"):
        load_tables(path)
