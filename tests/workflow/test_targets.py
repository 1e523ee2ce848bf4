"""Which target paths are refused before anything is planned; `test_mistakes` sees some of them through Snakemake."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml
from checkouts import REPOSITORY, touch_tree

from rgwot.runtime.errors import RgwotError
from rgwot.study.study import Study
from rgwot.study.targets import check_targets

CONFIG = yaml.safe_load((REPOSITORY / "config.yaml").read_text(encoding="utf-8"))
SCORES = "results/scores/rgwot/graphcut/meccano/meccano/seed0.csv"
KEYSTEPS = "results/keysteps/rgwot/graphcut/meccano/meccano/seed0"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    root = tmp_path_factory.mktemp("egoprocel")
    touch_tree(root, "egoprocel", videos=2)
    return Study.of({**CONFIG, "roots": {"egoprocel": str(root)}})


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("results/yardsticks/mecano/meccano.json", "dataset 'mecano'"),
        ("results/yardsticks/cmu_mmac/Browny.json", "did you mean 'Brownie'?"),
        ("results/figures/segments/mecano/meccano/seed0.pdf", "dataset 'mecano'"),
        ("results/figures/segments/cmu_mmac/Browny/seed0.png", "did you mean 'Brownie'?"),
        ("results/figures/choices/rgwot-pluss/consensus/meccano/meccano/seed0.pdf", "did you mean 'rgwot-plus'?"),
        ("results/figures/choices/rgwot-plus/consensus/mecano/x/seed0.pdf", "dataset 'mecano'"),
        ("results/figures/choices/meccano/meccano/seed0.pdf", "expected results/figures/choices/METHOD/DECODER/"),
        ("results/figures/choice/meccano/meccano/seed0.pdf", "unknown figure 'choice'; did you mean 'choices'?"),
        ("results/figures/segment/meccano/meccano/seed0.pdf", "unknown figure 'segment'; did you mean 'segments'?"),
        ("results/figures/no_such_figure.pdf", "figure 'no_such_figure': not among the figures"),
        ("./results/tables/egoprocell.csv", "did you mean 'egoprocel'?"),
        ("./" + SCORES.replace("rgwot", "rgwott"), "did you mean 'rgwot'?"),
        (SCORES.replace("/scores", "//scores").replace("meccano/seed", "mecano/seed"), "did you mean 'meccano'?"),
        ("results/tables/../figures/segments/mecano/x/seed0.pdf", "dataset 'mecano'"),
        (SCORES.replace("rgwot", "rgwot@beta=0"), f"ask for {SCORES.replace('rgwot', 'vaot')}"),
        (SCORES.replace("rgwot", "rgwot@alpha=0.3"), f"ask for {SCORES}"),
        (SCORES.replace("graphcut", "graphcut@k=5"), "did you mean 'K'?"),
        (KEYSTEPS, f"found a folder, expected a file in it; ask for {KEYSTEPS}/segments.csv"),
        (f"{KEYSTEPS}/segment.csv", f"no file of key steps; did you mean {KEYSTEPS}/segments.csv?"),
        (f"{KEYSTEPS}/".replace("keysteps", "keystep") + "order.csv", f"did you mean {KEYSTEPS}/order.csv?"),
        ("results/bundle/raw/kmeans/x/y/seed0.rgwot", "did you mean results/bundles/raw/kmeans/x/y/seed0.rgwot?"),
        (
            "results/models/rgwot@rho=0.1,alpha=0.5/meccano/meccano/seed0/model.pt",
            "ask for results/models/rgwot@alpha=0.5,rho=0.1/meccano/meccano/seed0/model.pt",
        ),
    ],
)
def test_refused(study: Study, target: str, words: str) -> None:
    with pytest.raises(RgwotError) as told:
        check_targets(study, ["--cores", "2", "--", target])
    assert words in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    "target",
    [
        SCORES,
        os.path.join(".", SCORES),
        "results/yardsticks/cmu_mmac/Brownie.json",
        "results/figures/segments/cmu_mmac/Brownie/seed3.pdf",
        "results/figures/choices/rgwot-plus/consensus/cmu_mmac/Brownie/seed3.png",
        "results/tables/egoprocel/vaot.md",
        # Not ours to judge: what no rule makes is Snakemake's to refuse.
        "results/figures",
        "results/exports/meccano.csv",
        f"{KEYSTEPS}/order.csv",
        f"{KEYSTEPS}/elan/a.eaf",
        str(Path.home() / "results/tables/egoprocell.csv"),
    ],
)
def test_let_through(study: Study, target: str) -> None:
    check_targets(study, [target])


@pytest.mark.parametrize("arguments", [["frist"], ["--cores", "2", "frist"], ["-n", "frist"], ["--", "a.csv", "frist"]])
def test_a_word_that_is_nearly_a_target(study: Study, arguments: list[str]) -> None:
    with pytest.raises(RgwotError, match="target 'frist': not known; did you mean 'first'.*, paper, .*tables/demo.csv"):
        check_targets(study, arguments)


@pytest.mark.parametrize(
    "arguments", [["first"], ["--profile", "frist"], ["-d", "demos"], ["--until", "page"], ["mine"]]
)
def test_other_words_are_snakemakes(study: Study, arguments: list[str]) -> None:
    check_targets(study, arguments)
