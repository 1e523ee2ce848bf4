"""Files of tables and figures: the files of the package, and errors for mistakes."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from table_helpers import ONE, REPOSITORY, ROWS, small_table, written

from rgwot.config.methods import FAMILIES
from rgwot.datasets.registry import datasets, tasks_of
from rgwot.evaluation.protocols import PROTOCOLS
from rgwot.reporting import targets
from rgwot.reporting.tables.table import LEADING, Place, Row, Table
from rgwot.runtime.errors import RgwotError
from rgwot.study.shipped import TABLES_FOLDER
from rgwot.study.study import Study

LOADED = targets.load_targets()
TABLES = {name: LOADED.table(name) for name in LOADED.tables}


def test_the_tables_of_the_repository():
    tables, egoprocel = TABLES, TABLES["egoprocel"]
    assert tuple(egoprocel.places) == datasets("egoprocel")
    assert [place.n_tasks for place in egoprocel.datasets] == [len(tasks_of(name)) for name in egoprocel.places]
    for table in (table for table in tables.values() if isinstance(table, Table) and not table.own):
        assert [row.id for row in table.rows if row.trivial] == [row.id for row in table.rows if row.method == "none"]
        # macro_task with background comes first, then micro_video; only HiERO's tables begin with HiERO's protocol.
        assert tuple(block for block in table.blocks if block[0] != "hiero")[:2] == LEADING
    assert egoprocel.reported.file == REPOSITORY / "workflow" / "reported" / "egoprocel.csv"
    assert (egoprocel.id, egoprocel.title) == ("egoprocel", "EgoProceL, six sub-datasets")


def test_rows_of_the_repository_are_experiments_and_a_default_value_is_the_default_model():
    study = Study.of({})
    tables = {name: targets.table(study, name) for name in targets.targets(study).tables}
    defaults = {
        "sensitivity_alpha": "alpha=0.3", "sensitivity_radius": "r=0.02", "sensitivity_rho": "rho=0.35",
        "sensitivity_lambda": "lambda=2", "sensitivity_beta": "beta=0.03125", "ablation_k": "K=7",
        "ablation_components": "full", "ablation_training_videos": "rgwot-n=17",
    }  # fmt: skip
    for table, row in defaults.items():
        assert (tables[table].row(row).method, tables[table].row(row).decoder) == ("rgwot", "graphcut")
        others = [other for other in tables[table].rows if not other.trivial and other.id != row]
        assert ("rgwot", "graphcut") not in [(other.method, other.decoder) for other in others]
    assert tables["ablation_components"].row("no_contrastive").method == "vaot"
    clustering = [row for row in tables["ablation_clustering"].rows if not row.trivial]
    assert {row.method for row in clustering} == {"rgwot"}


@pytest.mark.parametrize(("word", "reading"), [("literal", "rgwot-literal"), ("parity", "rgwot-parity")])
def test_ablations_of_other_readings_differ_in_the_method_alone(word, reading):
    study = Study.of({})
    for name in ("ablation_components", "ablation_k", "sensitivity_beta", "ablation_clustering"):
        table, own = (targets.table(study, one) for one in (f"{name}_{word}", name))
        assert table.title == f"{own.title}, for `{reading}`"
        assert not table.paper
        assert [row.id for row in table.rows] == [row.id for row in own.rows]
        methods = {row.method.partition("@")[0] for row in table.rows if not row.trivial}
        assert methods == {reading}
    assert targets.table(study, f"ablation_components_{word}").row("no_contrastive").method == f"{reading}@beta=0"


def test_the_table_of_protocols_has_every_method():
    table = TABLES["protocols"]
    assert {row.method for row in table.rows} == {*FAMILIES, "opel@loss.prior=gaussian"}
    assert {row.decoder for row in table.rows if row.trivial} == {"one_label", "uniform", "random"}
    assert set(table.blocks) == set(itertools.product(PROTOCOLS, ("with", "without")))


def test_single_tasks_and_all_tasks_of_a_dataset_are_places():
    (coffee,) = Place("procel", "ProceL", reported="PROCEL", n_tasks=12).tasks("make_coffee")
    assert (coffee.name, coffee.dataset, coffee.task, coffee.label) == (
        "make_coffee",
        "procel",
        "make_coffee",
        "Coffee",
    )
    assert coffee.reported == "PROCEL"
    assert set(coffee.reported_tasks) == {"make_coffee", "Coffee"}
    every = {place.name: place for place in Place("crosstask", "CrossTask", n_tasks=18).tasks()}
    assert len(every) == 18
    assert (every["40567"].label, every["40567"].n_tasks) == ("Change a Tire", None)
    assert [place.label for place in Place("mine", "Mine").tasks("tea")] == ["tea"]
    assert ONE.by("more") == replace(ONE, dataset="one_more")
    with pytest.raises(RgwotError, match="unknown task 'make_coffe'; did you mean 'make_coffee'"):
        Place("procel", "ProceL").tasks("make_coffe")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"datasets": [ONE, ONE]}, "datasets: found 'one' twice"),
        ({"datasets": []}, "datasets: found none"),
        ({"datasets": [ONE, Place("three", "Three")]}, "dataset 'three': its Place has no `reported`"),
        ({"rows": [*ROWS, ROWS[0]]}, "rows: found 'flat' twice"),
        ({"rows": []}, "rows: found none, expected at least one"),
        ({"metrics": ["f2"]}, "unknown metric 'f2'"),
        ({"metrics": ["f1", "mof"]}, "protocol macro_task has only the metrics"),
        ({"metrics": ["mof"], "blocks": [("segmentation", "with"), ("macro_task", "with")]},
         "protocol macro_task has only the metrics"),
        ({"blocks": [("macro_tasks", "with")]}, "unknown protocol 'macro_tasks'; did you mean 'macro_task'"),
        ({"blocks": [("macro_task", "width")]}, "unknown background 'width'; did you mean 'with'"),
        ({"lines": "row"}, "unknown lines 'row'; did you mean 'rows'"),
    ],
)  # fmt: skip
def test_an_invalid_table_is_refused(tmp_path, changes, said):
    with pytest.raises(RgwotError, match=said):
        small_table(tmp_path, **changes)


def test_a_reported_row_needs_its_measured_row_and_is_there_once(tmp_path):
    reported = small_table(tmp_path).reported
    rgwot, gpl = reported.rows
    for rows, said in (
        ([replace(rgwot, row="our"), gpl], "unknown measured row of a reported one: 'our'; did you mean 'ours'"),
        ([rgwot, rgwot], "reported rows: found 'RGWOT' twice"),
    ):
        with pytest.raises(RgwotError, match=said):
            small_table(tmp_path, reported=replace(reported, rows=rows))


def test_a_row_has_a_name_of_a_file_and_a_known_source():
    with pytest.raises(RgwotError, match=r"row '\.\./x': expected a name of"):
        Row("../x", "X", "rgwot")
    with pytest.raises(RgwotError, match="unknown source of row 'x': 'our'; did you mean 'ours'"):
        Row("x", "X", "rgwot", source="our")


HEAD = "from rgwot.reporting.tables.table import Place, Row, Table\nfrom .rows import TRIVIAL\n"
MINE = '''
def mine() -> Table:
    """My videos."""
    return Table(datasets=[Place("mine", "Mine")], rows=[*TRIVIAL, Row("rgwot", "RGWOT", "rgwot@beta=0")], paper=False)

TABLES = {"mine": mine}
'''


def test_a_study_adds_a_table_by_a_function_in_a_file(tmp_path, monkeypatch):
    written(tmp_path / "tables", HEAD + MINE)
    monkeypatch.chdir(tmp_path)
    study = Study.of({})
    assert set(targets.targets(study).tables) == {*TABLES, "mine"}
    mine = targets.table(study, "mine")
    assert (mine.id, mine.title) == ("mine", "My videos")
    # Experiments have one spelling.
    assert mine.row("rgwot").method == "vaot"


def test_a_file_of_the_same_name_replaces_that_of_the_package(tmp_path):
    text = (TABLES_FOLDER / "rows.py").read_text(encoding="utf-8")
    folder = written(tmp_path, text.replace("Constant baseline", "One label"), "rows")
    assert targets.load_targets(folder).table("egoprocel").row("one_label").label == "One label"
    # The tables of the package are not changed by the file.
    assert targets.load_targets().table("egoprocel") == TABLES["egoprocel"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('TABLES = {"mine": lambda: TRIVIAL}', r"table 'mine': found list, expected a table \(AnyTable\)"),
        (MINE.replace("Place(", "Plaice("), r"mine\.py:\d: NameError: name 'Plaice' is not defined"),
        (MINE.replace("paper", "papers"), r"mine\.py:\d: TypeError: .*unexpected keyword argument 'papers'"),
        (MINE.replace('"rgwot", "RGWOT"', '"random", "RGWOT"'), r"table 'mine': rows: found 'random' twice"),
        (MINE.replace('{"mine"', '{"Mine"'), r"mine\.py: TABLES: found the name 'Mine', expected only a-z"),
        (MINE.replace('{"mine"', '{"protocols"'),
         r"paper\.py: TABLES: another file makes 'protocols', too; rename one"),
        (MINE.replace('{"mine": mine}', "[mine]"), r"mine\.py: TABLES: found list, expected functions by name"),
        (MINE.replace("TABLES =", "TABLE ="), r"table 'mine': unknown; .*; a file in tables names its own in TABLES"),
        ("from .rows import TRIVAL\n", r"mine\.py: ImportError: cannot import name 'TRIVAL'"),
        ("def mine(:\n", r"mine\.py: SyntaxError: .*line 3"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_file_is_one_line(tmp_path, text, said):
    with pytest.raises(RgwotError, match=said) as caught:
        targets.load_targets(written(tmp_path, HEAD + text)).table("mine")
    assert "\n" not in str(caught.value)


def test_a_mistake_names_the_line_where_it_is_and_not_one_that_calls_it(tmp_path):
    text = (TABLES_FOLDER / "paper.py").read_text(encoding="utf-8")
    before, table, after = text.partition("def egoprocel()")
    folder = written(tmp_path, before + table + after.replace("datasets=", "dataset=", 1), "paper")
    # The table egoprocel_fact, in another file, calls this function.
    with pytest.raises(RgwotError, match=r"paper\.py:\d+: TypeError: .*'dataset'"):
        targets.load_targets(folder).table("egoprocel_fact")


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ('"OPEL", "VAOT", "RGWOT"', '"OPEL", "VAOT", "RGWTO"',
         r"table 'egoprocel': .*egoprocel\.csv: found no line of 'RGWTO', expected one for a reported row"),
        ('where={part: "no"}', 'where={part: "non"}',
         r"table 'ablation_components': .*found no line of 'RGWOT', virtual_frame non, expected one"),
        ('row.label, row.id) for row in (OPEL', 'row.id, row.id) for row in (OPEL',
         r"table 'runtime': .*runtime\.csv: found no line of 'opel', expected one"),
    ],
)  # fmt: skip
def test_reported_rows_of_a_study_are_looked_up_before_anything_is_made(tmp_path, right, wrong, said):
    text = (TABLES_FOLDER / "paper.py").read_text(encoding="utf-8")
    assert right in text
    with pytest.raises(RgwotError, match=said):
        targets.load_targets(written(tmp_path, text.replace(right, wrong), "paper")).table(said.split("'")[1])


@pytest.mark.parametrize("name", TABLES)
def test_the_package_reports_every_number_that_its_tables_show(name):
    TABLES[name].check()


def test_a_value_of_a_sweep_needs_no_reported_row(tmp_path):
    text = (TABLES_FOLDER / "paper.py").read_text(encoding="utf-8")
    for right, wrong in (("KS = [7, 10,", "KS = [7, 9, 10,"), ("0.05, 0.1, 1, 10, 50]", "0.05, 0.08, 0.1, 1, 10, 50]")):
        assert right in text
        text = text.replace(right, wrong)
    loaded = targets.load_targets(written(tmp_path, text, "paper"))
    tables = {name: loaded.table(name) for name in ("ablation_k", "sensitivity_beta")}
    for name, row in (("ablation_k", "K=9"), ("sensitivity_beta", "beta=0.08")):
        assert len(tables[name].rows) > len(TABLES[name].rows)
        assert tables[name].reported == TABLES[name].reported
        assert tables[name].alone(row).reported is None


def test_a_wrong_experiment_names_its_table(tmp_path, monkeypatch):
    written(tmp_path / "tables", HEAD + MINE.replace("beta=0", "bta=0"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RgwotError, match=r"table 'mine': row 'rgwot': experiment 'rgwot@bta=0': unknown key 'bta'"):
        targets.table(Study.of({}), "mine")


def test_unknown_tables_are_refused_with_the_known_ones():
    study = Study.of({})
    assert targets.table(study, "demo").id == "demo"
    with pytest.raises(RgwotError, match=r"table 'dmo': unknown; did you mean 'demo'\?"):
        targets.table(study, "dmo")
    with pytest.raises(RgwotError, match=r"figure 'teasers': unknown; did you mean 'teaser'\?"):
        targets.figure(study, "teasers")
    with pytest.raises(RgwotError, match=r"table 'runtime': has no files for single rows"):
        targets.table(study, "runtime").files(study, "opel")
