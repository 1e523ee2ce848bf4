"""One experiment has one spelling, and mistakes are refused with the nearest known word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgwot.config.configuration import load_config
from rgwot.config.experiments import Experiments, join_id, split_id
from rgwot.config.methods import DECODERS, FAMILIES
from rgwot.runtime.errors import RgwotError

PLAIN = Experiments(load_config({}))
DEMO = Experiments(
    load_config({"datasets": {"demo": {"layout": "folder", "root": "x", "settings": {"cidm": {"sigma": 1}}}}})
)


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("rgwot", "rgwot"),
        ("rgwot@alpha=0.3", "rgwot"),
        ("rgwot@alpha=0.30", "rgwot"),
        ("rgwot@ot.alpha=0.5", "rgwot@alpha=0.5"),
        ("rgwot@lambda=2.0", "rgwot"),
        ("rgwot@lambda=3.0", "rgwot@lambda=3"),
        ("rgwot@beta=0", "vaot"),
        ("vaot@beta=1", "rgwot"),
        ("rgwot@beta=0,alpha=0.5", "vaot@alpha=0.5"),
        ("rgwot@zeta=0.4,alpha=0.5", "rgwot@alpha=0.5,zeta=0.4"),
        ("rgwot@r=0.1,loss.symmetric=true", "rgwot-active"),
        ("rgwot@r=0.1", "rgwot@r=0.1"),
        ("rgwot-parity@sigma=300", "rgwot-parity"),
        ("rgwot@train.lr=0.0001", "rgwot"),
        ("rgwot@train.lr=1e-3", "rgwot@train.lr=0.001"),
        ("vaot@loss.alignment=tcc,encoder.unit_norm=false", "tcc"),
        ("tcc@loss.tau=0.5,loss.lambda_v=1e-3", "tcc@tau=0.5"),
        ("cnc@cidm.gradient=false", "cnc-released"),
        ("cnc-released@cidm.gradient=true", "cnc"),
        ("cnc@beta=0.1", "cnc@beta=0.1"),
        ("lav@cidm.unit=native_frames,sigma=10,loss.gamma=0.10", "lav"),
        ("gtcc@loss.alignment=tcc", "tcc"),
        ("lav@beta=1,cidm.unit=seconds", "rgwot@loss.alignment=soft_dtw"),
        ("rgwot@encoder.batch_norm=per_video", "rgwot@encoder.batch_norm=per_video"),
        ("raw", "raw"),
        ("rgwot@data.split=all", "rgwot"),
        ("raw@data.split=all", "raw"),
        ("rgwot@data.split=holdout", "rgwot@data.split=holdout"),
        ("vaot@beta=1,data.split=holdout", "rgwot@data.split=holdout"),
        ("none@data.split_seed=0,data.split=holdout,data.holdout=0.35", "none@data.split=holdout"),
        ("raw@data.split=holdout,data.holdout=0.50", "raw@data.holdout=0.5,data.split=holdout"),
        ("rgwot@data.holdout=0.35", "rgwot"),
        ("gpl@graph.background=0.5", "gpl-nobg"),
        ("gpl-nobg@graph.background=0", "gpl"),
        ("gpl@graph.update=mean", "unitygraph"),
        ("gpl-nobg@graph.update=mean", "gpl-nobg@graph.update=mean"),
        ("gpl@graph.clip_s=2,data.split=holdout", "gpl@data.split=holdout,graph.clip_s=2"),
        ("cte@regression.E=200", "cte"),
        ("cte@regression.lr=1e-4,regression.E=20", "cte@regression.E=20,regression.lr=0.0001"),
        ("cte@data.n_train=5", "cte@data.n_train=5"),
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


@pytest.mark.parametrize(
    ("written", "method", "canonical"),
    [
        ("graphcut@K=7", "rgwot", "graphcut"),
        ("graphcut@decode.K=10", "rgwot", "graphcut@K=10"),
        ("graphcut@m=2", "rgwot-parity", "graphcut"),
        ("graphcut@m=2", "rgwot", "graphcut@m=2"),
        ("graphcut@K=gt+1", "rgwot", "graphcut@K=gt+1"),
        ("uniform@K=7", "none", "uniform"),
        ("subset@decode.restarts=50,decode.centres=30,K=15", "raw", "subset@K=15,decode.centres=30,decode.restarts=50"),
        ("subset@decode.restarts=1", "rgwot-parity", "subset"),
        ("viterbi@decode.background=75", "cte", "viterbi@decode.background=75"),
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
        ("rgwot@alpha=0.1,alpha=0.2", "twice"),
        ("rgwot@alpha=0.1,ot.alpha=0.2", "same key"),
        ("rgwot@alpha=inf", "finite"),
        ("rgwot@alpha=5", "less than 1"),
        ("rgwot@features.fps=1", "unknown key"),
        ("rgwot@K=3", "unknown key"),
        ("raw@alpha=0.5", "no keys but data.split"),
        ("none@data.n_train=3", "no keys but data.split"),
        ("cte@graph.D=3", "no keys but data.split.*data.n_train.*regression.E"),
        ("gpl@data.n_train=3", "no keys but data.split.*graph.clip_s"),
        ("rgwot@regression.E=3", "unknown key 'regression.E'"),
        ("gpl@graph.background=1", "graph.background: .*less than 1"),
        ("rgwot@data.split=held", "data.split"),
        ("rgwot@data.holdout=0,data.split=holdout", "data.holdout: .*greater than 0"),
        ("rgwot@data.holdout=0.5", "data.holdout has no effect .*add data.split=holdout"),
        ("raw@data.split=all,data.split_seed=1", "data.split_seed has no effect"),
        ("tcc@alpha=0.5", "ot.alpha has no effect with loss.alignment tcc; expected .*loss.tau"),
        ("rgwot@loss.alignment=soft_dtw,tau=0.2", "loss.tau has no effect with loss.alignment soft_dtw"),
        ("RGWOT", "expected base"),
    ],
)
def test_refused_methods(written, words):
    with pytest.raises(RgwotError, match="(?i)" + words):
        PLAIN.method(written)


def test_refused_decoders():
    with pytest.raises(RgwotError, match="does not go with method 'none'"):
        PLAIN.decoder("graphcut", "none")
    with pytest.raises(RgwotError, match="does not go with method 'rgwot'"):
        PLAIN.decoder("uniform", "rgwot")
    with pytest.raises(RgwotError, match="unknown key 'm'"):
        PLAIN.decoder("kmeans@m=2", "rgwot")


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
    assert experiments.settings("vaot", None, "d").cidm.beta == 0
    assert experiments.settings("rgwot", None, "d").cidm.beta == 0.5
    assert experiments.settings("rgwot-active", None, "d").ot.r == 0.1
    assert experiments.method("rgwot@beta=0") == "vaot"


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


@given(st.dictionaries(st.sampled_from(["alpha", "rho", "beta"]), st.sampled_from(["0", "0.1", "0.35", "1"])))
def test_spelling_does_not_change_settings(keys):
    if keys.get("alpha") == "1":
        keys["alpha"] = "0.5"
    written = join_id("rgwot", keys)
    canonical = PLAIN.method(written)
    assert PLAIN.settings(written, None, "d") == PLAIN.settings(canonical, None, "d")
    assert split_id(canonical)[0] in FAMILIES


def test_every_family_and_decoder_is_valid():
    for name, family in FAMILIES.items():
        assert PLAIN.method(name) == name
        for decoder in DECODERS.values():
            if decoder.trivial == (family.name == "none"):
                assert PLAIN.decoder(decoder.name, name) == decoder.name
