"""The typed configuration and config.yaml agree, and mistakes are reported in one line."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from rgwot.blocks import flatten
from rgwot.config.configuration import load_config, read_file, read_files
from rgwot.config.settings import checked, defaults, owners
from rgwot.runtime.errors import RgwotError

ROOT = Path(__file__).parents[2]


def content():
    return yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))


def test_shipped_configuration_states_defaults():
    blocks = {name: keys for name, keys in content().items() if name in owners()}
    assert flatten(blocks).items() <= defaults().items()


def test_shipped_configuration_is_valid():
    config = load_config(content())
    assert config.seeds == (0, 1, 2)
    assert config.datasets["demo"].synth is not None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ot": {"alhpa": 0.5}}, ["ot.alhpa", "did you mean 'alpha'"]),
        ({"ot": {"alpha": float("nan")}}, ["ot.alpha", "finite"]),
        ({"ot": {"epsilon": 0}}, ["ot.epsilon", "greater than 0"]),
        ({"seeds": []}, ["seeds"]),
        ({"seeds": [1, 1]}, ["seeds", "twice"]),
        ({"datasets": {"demo": {"layout": "folder"}}}, ["datasets.demo.root"]),
        ({"datasets": {"demo": {"layout": "folder", "root": "x", "settings": {"trian": {}}}}}, ["'train'"]),
        (
            {"datasets": {"demo": {"layout": "folder", "root": "x", "settings": {"train": {"lr": -1}}}}},
            ["train.lr"],
        ),
        ({"datasets": {"My Videos": {"layout": "folder", "root": "x"}}}, ["My Videos"]),
        ({"feautres": {}}, ["feautres", "features"]),
    ],
)
def test_mistakes_are_one_line_naming_the_key(change, words):
    with pytest.raises(RgwotError) as caught:
        load_config({**content(), **change})
    message = str(caught.value)
    assert "\n" not in message
    for word in [*words, "config.yaml"]:
        assert word in message


def test_an_unknown_key_of_a_block_is_refused():
    with pytest.raises(RgwotError, match="unknown key 'decode.k'; did you mean 'K'"):
        checked({"decode": {"k": 3}})


def test_a_key_that_stands_twice_is_refused(tmp_path):
    path = tmp_path / "twice.yaml"
    path.write_text("base: &base {x: 1}\nown: {<<: *base, x: 2}\nseeds: [0]\nseeds: [1]\n")
    with pytest.raises(RgwotError, match=r"twice\.yaml: line 4: .*the key 'seeds' occurs twice"):
        read_file(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("decode:\n  # K: 4\n", "decode: empty; give it keys or values, or leave it out"),
        ("datasets:\n  mine:\n    # layout: folder\n", "datasets.mine: empty; "),
        ("datasets:\n  mine: {layout: folder, root: v, settings: }\n", "datasets.mine.settings: empty; "),
        ("roots:\n", "roots: empty; "),
        ("extensions:\n", "extensions: empty; "),
        ("seeds:\n", "seeds: empty; "),
        ("seeds: 3\n", r"seeds: found 3, expected a list, such as \[3\]"),
        ("page: {methods: raw/kmeans}\n", r"page.methods: found 'raw/kmeans', expected a list, such as \[raw/kmeans\]"),
    ],
)
def test_a_block_that_is_empty_or_not_a_list_gives_advice(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RgwotError, match=f"^config.yaml: {message}"):
        load_config(read_files([path]))


@pytest.mark.parametrize(
    ("names", "page", "expected"),
    [
        (["mine", "demo", "meccano"], {}, ("mine",)),
        (["mine", "other", "demo"], {}, ("mine", "other")),
        (["mine", "demo"], {"datasets": ["demo"]}, ("demo",)),
        (["meccano", "demo"], {}, ("demo",)),
        (["meccano"], {}, ("meccano",)),
        ([], {}, ()),
    ],
)
def test_pages_are_of_the_datasets_of_the_study(
    names: list[str], page: dict[str, Any], expected: tuple[str, ...]
) -> None:
    entry = {"layout": "folder", "root": "videos"}
    assert load_config({"datasets": dict.fromkeys(names, entry), "page": page}).page_datasets == expected
