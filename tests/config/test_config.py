"""The typed configuration, config.yaml and the JSON Schema say the same, and mistakes end in one line."""

import json
from pathlib import Path

import pytest
import yaml

from rgwot.config.configuration import load_config
from rgwot.config.schema import commented, json_schema, options_page
from rgwot.config.settings import Settings, build, defaults, flatten
from rgwot.runtime.errors import RgwotError

ROOT = Path(__file__).parents[2]


def content():
    return yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))


def test_shipped_configuration_states_every_default():
    blocks = {name: keys for name, keys in content().items() if name in Settings.model_fields}
    assert flatten(blocks) == defaults()


def test_what_is_written_from_the_settings_is_current():
    stored = json.loads((ROOT / "workflow/schemas/config.schema.json").read_text(encoding="utf-8"))
    assert stored == json_schema(), "run `make schema`"
    text = (ROOT / "config.yaml").read_text(encoding="utf-8")
    assert text == commented(text), "run `make schema`"
    assert (ROOT / "docs/options.md").read_text(encoding="utf-8") == options_page(), "run `make schema`"


def test_comments_of_the_configuration_are_written_anew_and_nothing_else():
    text = (ROOT / "config.yaml").read_text(encoding="utf-8")
    drifted = text.replace("# samples per second, by time stamp", "# frames\n" + " " * 37 + "# per hour")
    assert drifted != text
    assert commented(drifted) == text
    bare = "ot:\n  alpha: 0.4\ndatasets:\n  demo: {}  # mine\n"
    described = "  alpha: 0.4".ljust(37) + "# α: weight of the structural term; paper"
    assert commented(bare) == bare.replace("  alpha: 0.4", described)


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


def test_build_refuses_an_unknown_key():
    with pytest.raises(RgwotError, match="did you mean 'decode.K'"):
        build({"decode.k": 3}, "here")
