"""Every experiment has a single spelling, and mistakes are refused with the nearest known word."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rgwot.baselines.settings import Kantorovich, Regression, Tcc
from rgwot.blocks import flatten, join_id, value_text
from rgwot.config.configuration import load_config, read_files
from rgwot.config.experiments import Experiments, parsed, split_id
from rgwot.config.methods import DECODERS, FAMILIES
from rgwot.embedding.settings import DataSettings, SplitSettings, TrainedEncoder, TrainSettings, Whitened
from rgwot.keysteps.settings import Consensus, Graphcut, Labelled, Meanfield, MeanfieldSettings
from rgwot.losses.settings import LOSSES, CidmSettings, GromovWasserstein
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
        ("cnc-released@beta=0,cidm.gradient=true", "cnc-released@beta=0,cidm.gradient=true"),
        ("vava@loss.prior=gaussian,loss.lambda2=0.10", "vava"),
        ("tcc@loss.alignment=kantorovich", "vava"),
        ("vava@beta=0.03125,encoder.unit_norm=true", "vava@beta=0.03125,encoder.unit_norm=true"),
        ("rgwot@data.split=all", "rgwot"),
        ("raw@data.split=all", "raw"),
        ("none@data.split_seed=0,data.split=holdout,data.holdout=0.35", "none@data.split=holdout"),
        ("raw@data.split=holdout,data.holdout=0.50", "raw@data.holdout=0.5,data.split=holdout"),
        ("rgwot@data.holdout=0.35", "rgwot"),
        ("gpl@graph.background=0.5", "gpl-nobg"),
        ("gpl-nobg@graph.background=0", "gpl"),
        ("gpl@graph.update=mean", "unitygraph"),
        ("gpl@graph.clip_s=2,data.split=holdout", "gpl@clip_s=2,data.split=holdout"),
        ("cte@regression.lr=1e-4,E=20", "cte@E=20,lr=0.0001"),
    ],
)
def test_canonical_spelling(written, canonical):
    assert PLAIN.method(written) == canonical
    assert PLAIN.method(canonical) == canonical


def test_a_key_that_some_dataset_overrides_is_kept():
    assert DEMO.method("rgwot@sigma=10") == "rgwot@sigma=10"
    assert DEMO.embedding("rgwot@sigma=10", "demo").cidm.sigma == 10
    assert DEMO.embedding("rgwot", "demo").cidm.sigma == 1
    assert DEMO.embedding("rgwot", "elsewhere").cidm.sigma == 10


def test_a_key_that_the_family_sets_is_dropped_whatever_a_dataset_says():
    # Some datasets of config.yaml change sigma, but the settings of the family take precedence.
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
    fuzzy = Experiments(load_config({"datasets": {"d": of_dataset(graphcut={"m": 1.5}, decode={"time": 0.5})}}))
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
    """Return the resolved settings of an id for each dataset."""
    return [flatten(experiments.embedding(method, name).by_block()) for name in experiments.config.datasets]


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_is_one_path_whichever_of_its_own_keys_is_spelt_out(name):
    family = FAMILIES[name]
    for key, value in family.sets.items():
        if key in flatten(SHIPPED.embedding(name, "").by_block()):
            assert SHIPPED.method(f"{name}@{key}={value_text(value)}") == name
        for base, decoder in DECODERS.items():
            if (name == "none") == decoder.TRIVIAL and key in flatten(decoder().by_block()):
                assert SHIPPED.decoder(f"{base}@{key}={value_text(value)}", name) == base


#: Every key that some family sets, with its values, and two more that datasets in config.yaml change.
VALUES = {"cidm.sigma": {1.0}, "encoder.channels": {64, 512}, "train.lr": {1e-3, 1e-4}, "encoder.unit_norm": {True}}
for _family in FAMILIES.values():
    for _key, _value in _family.sets.items():
        if _key.split(".")[0] in ("ot", "loss", "cidm", "encoder", "train", "data"):
            VALUES.setdefault(_key, set()).add(_value)
IDS = st.tuples(
    st.sampled_from([name for name, family in FAMILIES.items() if family.trained]),
    st.lists(st.sampled_from([(key, value) for key in VALUES for value in sorted(VALUES[key], key=str)]), max_size=4),
)


@given(IDS, IDS)
@settings(deadline=None)
def test_ids_with_one_path_mean_the_same_on_every_dataset(one, other):
    actual = []
    for base, pairs in (one, other):
        keys = dict(pairs)
        alignment = keys.get("loss.alignment", FAMILIES[base].sets.get("loss.alignment", "gromov_wasserstein"))
        own = {"loss.alignment", *(f"{block}.{key}" for key, block in LOSSES[alignment].places().items())}
        keys = {key: value for key, value in keys.items() if key.split(".")[0] not in ("ot", "loss") or key in own}
        canonical = SHIPPED.method(join_id(base, {key: value_text(value) for key, value in keys.items()}))
        assert SHIPPED.method(canonical) == canonical
        meant = meaning(SHIPPED, canonical)
        # The value in the id wins over those of the family and the dataset.
        expected = {key: value for key, value in {**FAMILIES[base].sets, **keys}.items() if key in meant[0]}
        assert all({key: settings[key] for key in expected} == expected for settings in meant)
        actual.append((canonical, meant))
    assert actual[0][0] != actual[1][0] or actual[0][1] == actual[1][1]


@pytest.mark.parametrize(
    ("written", "method", "canonical"),
    [
        ("graphcut@K=7", "rgwot", "graphcut"),
        ("graphcut@decode.K=10", "rgwot", "graphcut@K=10"),
        ("graphcut@m=2", "rgwot-parity", "graphcut"),
        ("subset@decode.restarts=50,decode.centres=30,K=15", "raw", "subset@K=15,centres=30,restarts=50"),
        ("subset@decode.restarts=1", "rgwot-parity", "subset"),
        ("viterbi@decode.background=75", "cte", "viterbi@background=75"),
        ("graphcut@graphcut.solver=exact", "rgwot", "graphcut@solver=exact"),
        ("consensus@meanfield.alpha=0.3,consensus.order=0", "raw", "consensus@meanfield.alpha=0.3,order=0"),
        ("labelled@labelled.n=3", "rgwot-plus", "labelled@n=3"),
        ("labelled@n=all,labelled.extra=2,draw=suggested", "rgwot-plus", "labelled@draw=suggested,extra=2"),
        ("labelled@labelled.n=all,extra=auto,draw=random", "rgwot", "labelled"),
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
        ("rgwot@alpha=0.1,ot.alpha=0.2", "are one key; give it once"),
        ("rgwot@alpha=inf", "finite"),
        ("rgwot@alpha=5", "less than 1"),
        ("rgwot@features.fps=1", "unknown key"),
        ("rgwot@K=3", "unknown key"),
        ("rgwot@n=3", "unknown key 'n'"),
        ("raw@alpha=0.5", "unknown key 'alpha'; known: data.holdout, data.split"),
        ("none@data.n_train=3", "unknown key 'data.n_train'"),
        ("cte@graph.D=3", "unknown key 'graph.D'; known: E, batch, data.holdout, data.n_train"),
        ("gpl@data.n_train=3", "unknown key 'data.n_train'"),
        ("rgwot@regression.E=3", "unknown key 'regression.E'"),
        ("gpl@graph.background=1", "graph.background: .*less than 1"),
        ("rgwot@data.split=held", "data.split"),
        ("rgwot@data.holdout=0,data.split=holdout", "data.holdout: .*greater than 0"),
        ("rgwot@data.holdout=0.5", "data.holdout has no effect .*add data.split=holdout"),
        ("raw@data.split=all,data.split_seed=1", "data.split_seed has no effect"),
        ("tcc@alpha=0.5", "unknown key 'ot.alpha'"),
        ("vava@tau=0.2", "unknown key 'loss.tau'"),
        ("gtcc", "an extension now: copy benchmarks/peers/gtcc.py .* add extensions: .gtcc.py. to config.yaml"),
        ("lav@sigma=1", "an extension now: copy benchmarks/peers/lav.py"),
        ("rgwot@loss.alignment=soft_dtw", "loss.alignment: .*benchmarks/peers/lav.py"),
        ("RGWOT", "expected base"),
        ("kantorovich@epsilon=1", "a loss is a setting of a method: rgwot@loss.alignment=kantorovich"),
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
        ("labelled@m=5", "rgwot-plus", "unknown key 'm'"),
        ("labelled@n=0", "rgwot-plus", "labelled.n: "),
        ("kmeans@n=3", "rgwot-plus", "unknown key 'n'"),
        ("labelled", "none", "does not fit method 'none'"),
        # Ids of earlier versions, in which any decoder learned from labels.
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
    assert experiments.embedding("rgwot-active", "other").loss.rho == 0.5
    assert experiments.embedding("rgwot-active", "d").loss.rho == 0.6
    assert experiments.embedding("rgwot-active@rho=0.7", "d").loss.rho == 0.7
    # The settings that define a family win over the configuration; an id can change them.
    assert experiments.embedding("rgwot-parity", "d").cidm.sigma == 300
    assert experiments.embedding("rgwot-parity@sigma=200", "d").cidm.sigma == 200


def test_a_family_stays_what_it_is():
    experiments = Experiments(load_config({"cidm": {"beta": 0.5}, "ot": {"r": 0.05}}))
    assert experiments.method("vaot") == "vaot"
    assert experiments.method("rgwot@beta=0") == "vaot"
    assert experiments.embedding("vaot", "d").cidm.beta == 0
    assert experiments.embedding("rgwot", "d").cidm.beta == 0.5
    assert experiments.embedding("rgwot-active", "d").loss.r == 0.1


def test_a_split_of_the_configuration_holds_for_every_method():
    everywhere = Experiments(load_config({"data": {"split": "holdout"}}))
    for base in ("rgwot", "raw", "none"):
        assert everywhere.method(base) == base
        assert everywhere.embedding(base, "d").data.split == "holdout"
        assert everywhere.method(f"{base}@data.split=all") == f"{base}@data.split=all"
        assert everywhere.method(f"{base}@data.split_seed=3") == f"{base}@data.split_seed=3"
    entry = {"layout": "folder", "root": "x", "settings": {"data": {"split": "holdout"}}}
    of_one = Experiments(load_config({"datasets": {"d": entry}}))
    assert of_one.method("raw@data.split=all") == "raw@data.split=all"
    assert of_one.embedding("raw", "d").data.split == "holdout"
    # The id does not show whether a dataset is split, so the share may be given alone.
    assert of_one.method("raw@data.holdout=0.5") == "raw@data.holdout=0.5"


def test_every_family_and_decoder_is_valid():
    for name, family in FAMILIES.items():
        assert PLAIN.method(name) == name
        for base, decoder in DECODERS.items():
            if (family.name == "none") == decoder.TRIVIAL:
                assert PLAIN.decoder(base, name) == base


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (Graphcut(K=5, pairwise=4), "graphcut@K=5,pairwise=4"),
        (Graphcut(), "graphcut"),
        (Consensus(time="auto", meanfield=MeanfieldSettings(lambda_=0.1)), "consensus@meanfield.lambda=0.1,time=auto"),
        (Meanfield(lambda_=0.1), "meanfield@lambda=0.1"),
        (Labelled(n=3, draw="suggested"), "labelled@draw=suggested,n=3"),
        (Whitened(grid=2, data=SplitSettings(split="holdout")), "whitened@data.split=holdout,grid=2"),
        (Regression(E=20, lr=1e-4), "cte@E=20,lr=0.0001"),
        (
            TrainedEncoder(
                loss=GromovWasserstein(alpha=0.5, virtual="none"),
                cidm=CidmSettings(beta=0.0),
                train=TrainSettings(clip=None),
                data=DataSettings(n_train=2),
            ),
            "rgwot@alpha=0.5,beta=0,data.n_train=2,ot.virtual=none,train.clip=null",
        ),
    ],
)
def test_the_text_of_a_model_is_its_id_and_gives_it_back(model, text):
    assert str(model) == text
    assert parsed(text) == model


def test_a_loss_has_its_own_keys():
    assert str(GromovWasserstein(alpha=0.5, symmetric=True)) == "gromov_wasserstein@alpha=0.5,symmetric=true"
    assert str(Kantorovich(last="columns")) == "kantorovich@last=columns"
    chosen = TrainedEncoder.of({"loss": {"alignment": "tcc", "tau": 0.5}, "ot": {"alpha": 0.5}})
    assert chosen.loss == Tcc(tau=0.5)
