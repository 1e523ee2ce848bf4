from __future__ import annotations

import copy
import itertools

import pytest
from table_helpers import REPOSITORY, SPEC, small_table

from rgwot.config.configuration import Config
from rgwot.config.experiments import Experiments
from rgwot.config.methods import FAMILIES
from rgwot.datasets.registry import datasets, tasks_of
from rgwot.evaluation.protocols import PROTOCOLS
from rgwot.reporting.tables.spec import LEADING, Table, expand, find_table, load_tables
from rgwot.runtime.errors import RgwotError

TABLES = load_tables(REPOSITORY / "workflow" / "tables.yaml")


def test_the_tables_of_the_repository():
    tables, egoprocel = TABLES, TABLES["egoprocel"]
    assert tuple(egoprocel.datasets) == datasets("egoprocel")
    assert [place.n_tasks for place in egoprocel.datasets.values()] == [
        len(tasks_of(name)) for name in egoprocel.datasets
    ]
    for table in (table for table in tables.values() if isinstance(table, Table) and not table.own):
        assert [row.id for row in table.rows if row.trivial] == [row.id for row in table.rows if row.method == "none"]
        # macro_task with background leads, micro_video stands beside it; HiERO's tables begin with its own.
        assert tuple(block for block in table.blocks if block.protocol != "hiero")[:2] == LEADING
    assert egoprocel.reported.file == REPOSITORY / "workflow" / "reported" / "egoprocel.csv"
    assert find_table(tables, "demo") is tables["demo"]
    with pytest.raises(RgwotError, match=r"table 'dmo': not among the tables; did you mean 'demo'\?"):
        find_table(tables, "dmo")


def test_rows_of_the_repository_are_experiments_and_a_default_value_is_the_default_model():
    experiments = Experiments(Config())

    def canonical(method, decoder):
        return experiments.method(method), decoder and experiments.decoder(decoder, method)

    tables = load_tables(REPOSITORY / "workflow" / "tables.yaml", canonical)
    defaults = {
        "sensitivity_alpha": "alpha=0.3", "sensitivity_radius": "r=0.02", "sensitivity_rho": "rho=0.35",
        "sensitivity_lambda": "lambda=2", "sensitivity_beta": "beta=1", "ablation_k": "K=7",
        "ablation_components": "full", "ablation_training_videos": "rgwot-n=17",
    }  # fmt: skip
    for table, row in defaults.items():
        assert (tables[table].row(row).method, tables[table].row(row).decoder) == ("rgwot", "graphcut")
        others = [other for other in tables[table].rows if not other.trivial and other.id != row]
        assert ("rgwot", "graphcut") not in [(other.method, other.decoder) for other in others]
    assert tables["ablation_components"].row("no_contrastive").method == "vaot"
    clustering = [row for row in tables["ablation_clustering"].rows if not row.trivial]
    assert {row.method for row in clustering} == {"rgwot"}


def test_the_table_of_protocols_has_every_method():
    table = TABLES["protocols"]
    assert {row.method for row in table.rows} == set(FAMILIES)
    assert {row.decoder for row in table.rows if row.trivial} == {"one_label", "uniform", "random"}
    shown = {(block.protocol, block.background) for block in table.blocks}
    assert shown == set(itertools.product(PROTOCOLS, ("with", "without")))


def test_how_numbers_of_a_method_were_made_is_said_once(tmp_path):
    made = {"GPL": {"protocol": "macro_task", "background": "with"}, "RGWOT": {"protocol": "strict_task"}}
    rgwot, gpl = small_table(tmp_path, {**SPEC, "made": made}).reported.methods
    assert (gpl.protocol, gpl.background, gpl.label_rule) == ("macro_task", "with", "unknown")
    # An entry's own keys win.
    assert rgwot.protocol == "micro_video"


def test_single_tasks_and_all_tasks_of_a_dataset_are_places(tmp_path):
    spec = copy.deepcopy(SPEC)
    spec["datasets"]["procel"] = {"label": "ProceL", "reported": "PROCEL", "n_tasks": 12}
    spec["datasets"]["crosstask"] = {"label": "CrossTask", "reported": "CROSS"}
    spec["tables"]["small"]["datasets"] = ["one", "procel/make_coffee", "crosstask/*"]
    places = small_table(tmp_path, spec).datasets
    assert list(places)[:2] == ["one", "make_coffee"]
    assert len(places) == 1 + 1 + 18
    coffee, tire = places["make_coffee"], places["40567"]
    assert (coffee.dataset, coffee.task, coffee.label, coffee.reported) == ("procel", "make_coffee", "Coffee", "PROCEL")
    assert set(coffee.reported_tasks) == {"make_coffee", "Coffee"}
    assert (tire.task, tire.label, tire.n_tasks) == ("40567", "Change a Tire", None)
    assert (places["one"].task, places["one"].reported_tasks) == (None, ("all",))


def test_another_form_of_a_dataset_has_its_names(tmp_path):
    spec = copy.deepcopy(SPEC)
    spec["tables"]["small"]["datasets"] = ["one", [{"name": "{of}_more", "sweep": {"of": ["one"]}}, "two"]]
    places = small_table(tmp_path, spec).datasets
    assert list(places) == ["one", "one_more", "two"]
    assert places["one_more"] == places["one"].model_copy(update={"dataset": "one_more"})


def test_figures_and_shared_parts_are_left_to_others_and_rows_may_be_in_lists(tmp_path):
    rows = SPEC["tables"]["small"]["rows"]
    tables = {"small": SPEC["tables"]["small"] | {"rows": [rows[:2], rows[2]]}}
    spec = SPEC | {"tables": tables, "figures": {"any": {"thing": 1}}, "shared": [1]}
    assert small_table(tmp_path, spec) == small_table(tmp_path)


def test_an_entry_is_written_out_once_per_value_the_last_fastest():
    entries = [{"id": "first"}, {"id": "{r}-{n}", "on": True, "where": {"r": "{r}"},
                                 "sweep": {"r": [1.0, 0.05, "gt+1"], "n": [1, 2]}}]  # fmt: skip
    first, *swept = expand(entries, "here")
    assert first == entries[0]
    assert [one["id"] for one in swept] == ["1-1", "1-2", "0.05-1", "0.05-2", "gt+1-1", "gt+1-2"]
    assert [one["where"] for one in swept[::2]] == [{"r": "1"}, {"r": "0.05"}, {"r": "gt+1"}]
    assert all(one["on"] is True and "sweep" not in one for one in swept)
    # Other braces are no place for a value.
    (told,) = expand([{"label": "10^{-{n}} { {}", "sweep": {"n": [3]}}], "here")
    assert told == {"label": "10^{-3} { {}"}


def test_any_spelling_becomes_the_canonical_one(tmp_path):
    spec = copy.deepcopy(SPEC)
    spec["tables"]["small"]["rows"][1] |= {"method": "rgwot@beta=0"}
    table = small_table(tmp_path, spec, lambda method, decoder: (method.replace("rgwot@beta=0", "vaot"), decoder))
    assert table.row("ours").method == "vaot"

    def refuse(method, decoder):
        raise RgwotError(f"method {method!r}: unknown base")

    with pytest.raises(RgwotError, match=r"table 'small': method 'none': unknown base"):
        small_table(tmp_path, spec, refuse)


#: Where something is put into the small table or, from the root of the file, elsewhere; what; and what is said of it.
MISTAKES = [
    (
        "small.datasets",
        ["one", "tow"],
        r"unknown dataset 'tow'; did you mean 'two'\?; one of your own needs a line in `datasets`",
    ),
    ("small.datasets", ["one", "one"], "datasets: found .* expected a list of different names"),
    ("small.datasets", ["one/*"], r"unknown task 'one/\*'; name each task"),
    ("small.metric", ["f1"], r"table 'small': unknown key 'metric'; did you mean 'metrics'\?"),
    ("small.metrics", ["f2"], r"metrics\.0: unknown metric; .*, found 'f2'"),
    ("small.rows.2.id", "ours", "rows: 'ours' is there twice"),
    ("small.rows.2.id", "../x", r"rows\.2\.id: String should match .* found '../x'"),
    ("small.rows.2.decodr", "x", r"unknown key 'rows\.2\.decodr'; did you mean 'decoder'\?"),
    ("small.rows", [], "rows: expected at least one"),
    ("small.rows.1.sweep", {"alpha": [1, 2]}, "rows: 'ours' is there twice"),
    ("small.rows.1", {"id": "{alhpa}", "sweep": {"alpha": [1]}}, r"found \{alhpa\}, which is not swept; did you mean"),
    ("small.datasets", [{"name": "{of}", "sweep": {"of": "one"}}], "sweep: found {'of': 'one'}, expected a list of"),
    ("small.rows.1.sweep", 5, "sweep: found 5, expected a list of values for every name"),
    ("small.reported.methods", [None], "methods.0.method: Input should be a valid string"),
    ("small.reported.methods.1.method", "RGWOT", "reported.methods: 'RGWOT' is there twice"),
    ("small.reported.methods.0.row", "our", r"reported row 'our' is not there; did you mean"),
    ("small.kind", "score", r"unknown kind 'score'; did you mean 'scores'\?"),
    ("datasets.two", {"label": "Second"}, "dataset 'two' has no name in the reported numbers"),
    ("tables.Big Table", {}, r"tables\.Big Table.*: String should match pattern"),
    ("tables", [], r"tables: Input should be a valid dictionary, found \[\]"),
    ("more", {}, "unknown key 'more'; "),
]


@pytest.mark.parametrize(("path", "value", "message"), MISTAKES)
def test_mistakes_end_in_one_line(tmp_path, path, value, message):
    spec = part = copy.deepcopy(SPEC)
    *parents, last = path.replace("small", "tables.small", 1).split(".")
    for key in parents:
        part = part[int(key) if key.isdigit() else key]
    part[int(last) if last.isdigit() else last] = value
    with pytest.raises(RgwotError, match=message) as caught:
        small_table(tmp_path, spec)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "tables.yaml"))
