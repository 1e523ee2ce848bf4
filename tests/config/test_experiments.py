"""One experiment has one spelling, and mistakes are refused with the nearest known word."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rgwot.config.configuration import load_config, read_files
from rgwot.config.experiments import Experiments, join_id, split_id, value_text
from rgwot.config.methods import DECODERS, EMBEDDING_KINDS, FAMILIES, without_effect
from rgwot.config.settings import flatten
from rgwot.runtime.errors import RgwotError

PLAIN = Experiments(load_config({}))
SHIPPED = Experiments(load_config(read_files([Path(__file__).parents[2] / "config.yaml"])))
DEMO = Experiments(
    load_config({"datasets": {"demo": {"layout": "folder", "root": "x", "settings": {"cidm": {"sigma": 1}}}}})
)


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("rgwot@alpha=0.30", "rgwot"),
        ("rgwot@ot.alpha=0.5", "rgwot@alpha=0.5"),
        ("rgwot@lambda=3.0", "rgwot@lambda=3"),
        ("rgwot@beta=0", "vaot"),
        ("vaot@beta=0.03125", "rgwot"),
        ("rgwot@beta=1.0", "rgwot@beta=1"),
        ("rgwot@beta=0,alpha=0.5", "vaot@alpha=0.5"),
        ("rgwot@zeta=0.4,alpha=0.5", "rgwot@alpha=0.5,zeta=0.4"),
        ("rgwot@r=0.1,loss.symmetric=true", "rgwot-active"),
        ("rgwot@train.lr=0.0001", "rgwot"),
        ("rgwot@train.lr=1e-3", "rgwot@train.lr=0.001"),
        ("vaot@loss.alignment=tcc,encoder.unit_norm=false", "tcc"),
        ("tcc@loss.tau=0.5,loss.lambda_v=1e-3", "tcc@tau=0.5"),
        ("cnc@cidm.gradient=false,loss.distance=elementwise", "cnc-released"),
        ("cnc-released@cidm.gradient=true,loss.distance=squared", "cnc"),
        ("cnc-released@beta=0,cidm.gradient=true", "cnc@beta=0,loss.distance=elementwise"),
        ("vava@loss.prior=gaussian,loss.lambda2=0.10", "vava"),
        ("tcc@loss.alignment=kantorovich", "vava"),
        ("vava@beta=0.03125,encoder.unit_norm=true", "rgwot@loss.alignment=kantorovich"),
        # What the loss does not read makes no second path, nor an id that is refused.
        ("cnc-released@loss.alignment=kantorovich,cidm.gradient=true", "cnc@loss.alignment=kantorovich"),
        ("rgwot-active@loss.alignment=tcc", "rgwot@loss.alignment=tcc"),
        ("rgwot@data.split=all", "rgwot"),
        ("raw@data.split=all", "raw"),
        ("none@data.split_seed=0,data.split=holdout,data.holdout=0.35", "none@data.split=holdout"),
        ("raw@data.split=holdout,data.holdout=0.50", "raw@data.holdout=0.5,data.split=holdout"),
        ("rgwot@data.holdout=0.35", "rgwot"),
        ("gpl@graph.background=0.5", "gpl-nobg"),
        ("gpl-nobg@graph.background=0", "gpl"),
        ("gpl@graph.update=mean", "unitygraph"),
        ("gpl@graph.clip_s=2,data.split=holdout", "gpl@data.split=holdout,graph.clip_s=2"),
        ("cte@regression.lr=1e-4,regression.E=20", "cte@regression.E=20,regression.lr=0.0001"),
    ],
)
def test_canonical_spelling(written, canonical):
    assert PLAIN.method(written) == canonical
    assert PLAIN.method(canonical) == canonical


def test_a_key_that_some_dataset_overrides_is_kept():
    assert DEMO.method("rgwot@sigma=10") == "rgwot@sigma=10"
    assert DEMO.settings("rgwot@sigma=10", None, "demo").cidm.sigma == 10
    assert DEMO.settings("rgwot", None, "demo").cidm.sigma == 1
    assert DEMO.settings("rgwot", None, "elsewhere").cidm.sigma == 10


def test_a_key_that_the_family_sets_is_dropped_whatever_a_dataset_says():
    # Datasets of config.yaml change sigma, and the family stands above them.
    assert SHIPPED.method("rgwot-literal@sigma=300") == "rgwot-literal"
    assert SHIPPED.method("rgwot@sigma=10") == "rgwot@sigma=10"


def of_dataset(**settings):
    return {"layout": "folder", "root": "x", "settings": settings}


def test_a_key_that_is_what_every_dataset_says_is_dropped():
    own = Experiments(load_config({"datasets": {"d": of_dataset(cidm={"sigma": 1}, train={"lr": "1e-3"})}}))
    assert own.method("rgwot@sigma=1,train.lr=0.001") == "rgwot"
    assert own.method("rgwot@sigma=10") == "rgwot@sigma=10"
    same = Experiments(load_config({"datasets": {"d": of_dataset(cidm={"sigma": 10}, decode={"K": 7})}}))
    assert same.method("rgwot@sigma=10") == "rgwot"
    assert same.decoder("graphcut@K=7", "rgwot") == "graphcut"
    fuzzy = Experiments(load_config({"datasets": {"d": of_dataset(decode={"m": 1.5, "time": 0.5})}}))
    assert fuzzy.decoder("graphcut@m=2", "rgwot-parity") == "graphcut"
    assert fuzzy.decoder("graphcut@m=2", "rgwot") == "graphcut@m=2"
    assert fuzzy.decoder("kmeans@decode.time=auto", "rgwot-plus") == "kmeans"


def test_families_are_one_only_where_every_dataset_agrees():
    written = "rgwot@encoder.input_norm=whitened,encoder.beside=0.8,cidm.unit=share"
    assert PLAIN.method(f"{written},sigma=0.02") == "rgwot-whitened"
    # Here sigma is 1 for one of two datasets and 10 for the other, but 0.02 for both with `rgwot-whitened`.
    two = Experiments(load_config({"datasets": {"d": of_dataset(cidm={"sigma": 1}), "e": of_dataset()}}))
    assert split_id(two.method(written))[0] == "rgwot"
    assert two.method(f"{written},sigma=0.02") == "rgwot-whitened"


def test_a_split_that_nothing_makes_is_refused_where_a_dataset_names_another_share():
    experiments = Experiments(load_config({"datasets": {"d": of_dataset(data={"holdout": 0.5})}}))
    with pytest.raises(RgwotError, match=r"data\.holdout has no effect"):
        experiments.method("rgwot@data.holdout=0.35")


def meaning(experiments, method):
    """What is behind an id, dataset by dataset: every setting but those that its alignment loss does not read."""
    found = []
    for name in experiments.config.datasets:
        values = flatten(experiments.settings(method, None, name).model_dump(by_alias=True))
        alignment = values["loss.alignment"]
        found.append({key: value for key, value in values.items() if not without_effect(key, alignment)})
    return found


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_is_one_path_whichever_of_its_own_keys_is_spelt_out(name):
    family = FAMILIES[name]
    for key, value in family.overrides.items():
        if EMBEDDING_KINDS[family.embedding].takes(key):
            assert SHIPPED.method(f"{name}@{key}={value_text(value)}") == name
        for base, decoder in DECODERS.items():
            if decoder.takes(key) and decoder.trivial == (name == "none"):
                assert SHIPPED.decoder(f"{base}@{key}={value_text(value)}", name) == base


#: Every key that some family sets, with its values, and two that datasets of config.yaml change besides.
VALUES = {"cidm.sigma": {1.0}, "encoder.channels": {64, 512}, "train.lr": {1e-3, 1e-4}, "encoder.unit_norm": {True}}
for _family in FAMILIES.values():
    for _key, _value in _family.overrides.items():
        if EMBEDDING_KINDS["encoder"].takes(_key):
            VALUES.setdefault(_key, set()).add(_value)
IDS = st.tuples(
    st.sampled_from([name for name, family in FAMILIES.items() if family.trained]),
    st.lists(st.sampled_from([(key, value) for key in VALUES for value in sorted(VALUES[key], key=str)]), max_size=4),
)


@given(IDS, IDS)
@settings(deadline=None)
def test_ids_share_a_path_exactly_when_they_mean_the_same_on_every_dataset(one, other):
    found = []
    for base, pairs in (one, other):
        keys = dict(pairs)
        alignment = keys.get("loss.alignment", FAMILIES[base].overrides.get("loss.alignment", "gromov_wasserstein"))
        keys = {key: value for key, value in keys.items() if not without_effect(key, alignment)}
        canonical = SHIPPED.method(join_id(base, {key: value_text(value) for key, value in keys.items()}))
        assert SHIPPED.method(canonical) == canonical
        meant = meaning(SHIPPED, canonical)
        # It means what was written, above the family, above what the dataset says.
        wanted = {key: value for key, value in {**FAMILIES[base].overrides, **keys}.items() if key in meant[0]}
        assert all({key: settings[key] for key in wanted} == wanted for settings in meant)
        found.append((canonical, meant))
    assert (found[0][0] == found[1][0]) == (found[0][1] == found[1][1])


@pytest.mark.parametrize(
    ("written", "method", "canonical"),
    [
        ("graphcut@K=7", "rgwot", "graphcut"),
        ("graphcut@decode.K=10", "rgwot", "graphcut@K=10"),
        ("graphcut@m=2", "rgwot-parity", "graphcut"),
        ("subset@decode.restarts=50,decode.centres=30,K=15", "raw", "subset@K=15,decode.centres=30,decode.restarts=50"),
        ("subset@decode.restarts=1", "rgwot-parity", "subset"),
        ("viterbi@decode.background=75", "cte", "viterbi@decode.background=75"),
        ("labelled@labelled.n=3", "rgwot-plus", "labelled@n=3"),
        ("labelled@n=all,labelled.extra=2,draw=suggested", "rgwot-plus", "labelled@draw=suggested,extra=2"),
        ("labelled@labelled.n=all,extra=0,draw=random", "rgwot", "labelled"),
        ("labelled@procedure.learner=chain,n=2", "raw", "labelled@n=2,procedure.learner=chain"),
    ],
)
def test_canonical_decoder(written, method, canonical):
    assert PLAIN.decoder(written, method) == canonical


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("rgwot@alhpa=0.5", "did you mean 'alpha'"),
        ("rgwt", "did you mean 'rgwot'"),
        ("rgwot@alpha", "key=value"),
        ("rgwot@alpha=0.1,alpha=0.2", "repeated"),
        ("rgwot@alpha=0.1,ot.alpha=0.2", "same key"),
        ("rgwot@alpha=inf", "finite"),
        ("rgwot@alpha=5", "less than 1"),
        ("rgwot@features.fps=1", "unknown key"),
        ("rgwot@K=3", "unknown key"),
        ("rgwot@n=3", "unknown key 'n'"),
        ("raw@alpha=0.5", "only the keys data.split"),
        ("none@data.n_train=3", "only the keys data.split"),
        ("cte@graph.D=3", "only the keys data.n_train.*data.split.*regression.E"),
        ("gpl@data.n_train=3", "only the keys data.split.*graph.clip_s"),
        ("rgwot@regression.E=3", "unknown key 'regression.E'"),
        ("gpl@graph.background=1", "graph.background: .*less than 1"),
        ("rgwot@data.split=held", "data.split"),
        ("rgwot@data.holdout=0,data.split=holdout", "data.holdout: .*greater than 0"),
        ("rgwot@data.holdout=0.5", "data.holdout has no effect .*add data.split=holdout"),
        ("raw@data.split=all,data.split_seed=1", "data.split_seed has no effect"),
        ("tcc@alpha=0.5", "ot.alpha has no effect with loss.alignment tcc; expected .*loss.tau"),
        ("vava@tau=0.2", "loss.tau has no effect with loss.alignment kantorovich"),
        ("gtcc", "an extension now: copy benchmarks/peers/gtcc.py .* add extensions: .gtcc.py. to config.yaml"),
        ("lav@sigma=1", "an extension now: copy benchmarks/peers/lav.py"),
        ("rgwot@loss.alignment=soft_dtw", "loss.alignment: .*benchmarks/peers/lav.py"),
        ("RGWOT", "expected base"),
    ],
)
def test_refused_methods(written, words):
    with pytest.raises(RgwotError, match="(?i)" + words):
        PLAIN.method(written)


@pytest.mark.parametrize(
    ("decoder", "method", "words"),
    [
        ("graphcut", "none", "does not fit method 'none'"),
        ("uniform", "rgwot", "does not fit method 'rgwot'"),
        ("kmeans@m=2", "rgwot", "unknown key 'm'"),
        ("labelled@K=5", "rgwot-plus", "unknown key 'K'"),
        ("labelled@n=0", "rgwot-plus", "labelled.n: "),
        ("kmeans@n=3", "rgwot-plus", "unknown key 'n'"),
        ("labelled", "none", "does not fit method 'none'"),
        # Earlier ids, with which labels taught any decoder.
        ("consensus@labelled.n=3", "rgwot-plus", "does not learn from annotated videos; expected 'labelled@n=3'"),
        ("kmeans@labelled.extra=1,labelled.n=all", "raw", "expected 'labelled@extra=1'"),
        (
            "meanfield@labelled.draw=suggested,meanfield.alpha=0.1,labelled.n=2",
            "raw",
            "expected 'labelled@draw=suggested,meanfield.alpha=0.1,n=2'",
        ),
    ],
)
def test_refused_decoders(decoder, method, words):
    with pytest.raises(RgwotError, match=words):
        PLAIN.decoder(decoder, method)


def test_precedence():
    content = {
        "ot": {"rho": 0.5},
        "datasets": {"d": {"layout": "folder", "root": "x", "settings": {"ot": {"rho": 0.6}, "cidm": {"sigma": 2}}}},
    }
    experiments = Experiments(load_config(content))
    assert experiments.settings("rgwot-active", None, "other").ot.rho == 0.5
    assert experiments.settings("rgwot-active", None, "d").ot.rho == 0.6
    assert experiments.settings("rgwot-active@rho=0.7", None, "d").ot.rho == 0.7
    # What makes a family a family stands above the configuration; an id can undo it.
    assert experiments.settings("rgwot-parity", None, "d").cidm.sigma == 300
    assert experiments.settings("rgwot-parity@sigma=200", None, "d").cidm.sigma == 200


def test_a_family_stays_what_it_is():
    experiments = Experiments(load_config({"cidm": {"beta": 0.5}, "ot": {"r": 0.05}}))
    assert experiments.method("vaot") == "vaot"
    assert experiments.method("rgwot@beta=0") == "vaot"
    assert experiments.settings("vaot", None, "d").cidm.beta == 0
    assert experiments.settings("rgwot", None, "d").cidm.beta == 0.5
    assert experiments.settings("rgwot-active", None, "d").ot.r == 0.1


def test_a_split_of_the_configuration_holds_for_every_method():
    everywhere = Experiments(load_config({"data": {"split": "holdout"}}))
    for base in ("rgwot", "raw", "none"):
        assert everywhere.method(base) == base
        assert everywhere.settings(base, None, "d").data.split == "holdout"
        assert everywhere.method(f"{base}@data.split=all") == f"{base}@data.split=all"
        assert everywhere.method(f"{base}@data.split_seed=3") == f"{base}@data.split_seed=3"
    entry = {"layout": "folder", "root": "x", "settings": {"data": {"split": "holdout"}}}
    of_one = Experiments(load_config({"datasets": {"d": entry}}))
    assert of_one.method("raw@data.split=all") == "raw@data.split=all"
    assert of_one.settings("raw", None, "d").data.split == "holdout"
    # What a dataset splits is not known from the id, so the share may be given alone.
    assert of_one.method("raw@data.holdout=0.5") == "raw@data.holdout=0.5"


def test_every_family_and_decoder_is_valid():
    for name, family in FAMILIES.items():
        assert PLAIN.method(name) == name
        for base, decoder in DECODERS.items():
            if decoder.trivial == (family.name == "none"):
                assert PLAIN.decoder(base, name) == base
