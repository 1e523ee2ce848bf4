"""In every YAML file with names, words that YAML reads as numbers, dates and so on are refused, or read as written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from rgwot.config.configuration import load_config, read_files
from rgwot.names import read_names
from rgwot.runtime.errors import RgwotError

NOTHING = ("null", "~", "Null", "NULL")
#: Words of all types in YAML 1.1, which PyYAML and Snakemake read; the last ones are plain strings.
WORDS = (
    "1", "01", "001", "010", "08", "0x1", "0b1", "0o7", "+1", "-0", "1_000", "1e3", "1.0e+3", "1.50", "1_0.5", ".5",
    ".inf", "-.INF", ".nan", "12:30:00", "1:30", "1:30.5", "yes", "No", "on", "OFF", "true", "False", *NOTHING, "=",
    "2024-01-02", "2024-13-45", "2001-12-14t21:59:43.10-05:00", "y", "n", "1-2", "v1", "0003_a",
)  # fmt: skip

CONFIG = """
datasets:
  mine:
    layout: folder
    root: videos
    {entry}
"""
RUN = "whitened/meanfield/seed0"
Place = tuple[str, Callable[[Path], Any]]


def config(entry: str, read: Callable[[Any], Any], text: str = CONFIG) -> Place:
    """Return config.yaml with a place for a word, and a function that reads the value at this place."""
    return text.replace("{entry}", entry), lambda path: read(load_config(read_files([path])))


def entry(key: str, read: Callable[[Any], Any] | None = None) -> Place:
    """Return a place, as from `config`, in a key of a dataset's entry that has a single name as its value."""
    return config(f"{key}: {{word}}", read or (lambda found: getattr(found.datasets["mine"], key)))


def several(key: str) -> Place:
    """Return a place, as from `config`, in a key of a dataset's entry that has a list of names as its value."""
    return config(f"{key}: [a, {{word}}]", lambda found: getattr(found.datasets["mine"], key)[1])


def names(text: str, read: Callable[[Any], Any]) -> Place:
    """Return a place, as from `config`, in a file with the names of key steps."""
    return text, lambda path: read(read_names(path))


PLACES = {
    "tasks": several("tasks"),
    "tasks, a block": config("tasks:\n      - {word}", lambda found: found.datasets["mine"].tasks[0]),
    "drop_rows": several("drop_rows"),
    "background": several("background"),
    "page_methods": several("page_methods"),
    "view": entry("view"),
    "subset": entry("subset"),
    "split": entry("split"),
    "tier": entry("tier"),
    "videos": entry("videos"),
    "group": entry("group"),
    "mapping": entry("mapping"),
    "pattern": entry("pattern"),
    "synth.tasks": config("synth: {tasks: [a, {word}]}", lambda found: found.datasets["mine"].synth.tasks[1]),
    "imported.folder": config(
        "imported: {folder: {word}, axes: TC, fps: 2}", lambda found: found.datasets["mine"].imported.folder
    ),
    "imported.key": config(
        "imported: {folder: f, key: {word}, axes: TC, fps: 2}", lambda found: found.datasets["mine"].imported.key
    ),
    "settings": config(
        "settings: {features: {weights: {word}}}", lambda found: found.datasets["mine"].settings["features"]["weights"]
    ),
    "root": config("", lambda found: found.datasets["mine"].root, CONFIG.replace("root: videos", "root: {word}")),
    "roots": config("", lambda found: found.roots["a"], "roots: {a: {word}}"),
    "a key of roots": config("", lambda found: next(iter(found.roots)), "roots: {{word}: a}"),
    "a dataset": config("", lambda found: next(iter(found.datasets)), CONFIG.replace("mine:", "{word}:")),
    "page.datasets": config("", lambda found: found.page.datasets[1], "page: {datasets: [a, {word}]}"),
    "page.methods": config("", lambda found: found.page.methods[1], "page: {methods: [a, {word}]}"),
    "page.names": config("", lambda found: found.page.names, "page: {names: {word}}"),
    "extensions": config("", lambda found: found.extensions[0], "extensions: [{word}]"),
    "name of a key step": names(
        f"{RUN}: {{result: 0123456789ab, names: {{1: a, 2: {{word}}}}}}", lambda found: found[RUN].names[2]
    ),
    "key step": names(
        f"{RUN}: {{result: 0123456789ab, names: {{{{word}}: a}}}}", lambda found: str(next(iter(found[RUN].names)))
    ),
    "result": names(f"{RUN}: {{result: {{word}}, names: {{1: a}}}}", lambda found: found[RUN].result),
    "run": names("{word}: {result: 0123456789ab, names: {1: a}}", lambda found: next(iter(found))),
}


#: Values that are not names: a number, and an id with slashes.
NO_NAME = ("key step", "run")


def outcome(path: Path, place: str, word: str) -> Any:
    """Return the value that is read for a word, or the one-line error."""
    text, read = PLACES[place]
    path.write_text(text.replace("{word}", word), encoding="utf-8")
    try:
        return read(path)
    except RgwotError as error:
        return error


@pytest.mark.parametrize("place", list(PLACES))
def test_a_word_is_refused_or_read_as_it_is_written(tmp_path: Path, place: str) -> None:
    for word in WORDS:
        found = outcome(tmp_path / "file.yaml", place, word)
        if isinstance(found, RgwotError):
            assert "\n" not in str(found)
            changed = value(word) not in (word, None)
            assert not changed or place in NO_NAME or "put it in quotes" in str(found), (word, str(found))
        else:
            # Where a value is optional, null means none.
            assert found == word or (found is None and word in NOTHING), (word, found)


def value(word: str) -> Any:
    try:
        return yaml.safe_load(word)
    except (yaml.YAMLError, ValueError):
        return None


@pytest.mark.parametrize("place", [place for place in PLACES if place not in NO_NAME])
def test_in_quotes_a_word_is_a_name(tmp_path: Path, place: str) -> None:
    for word in WORDS:
        found = outcome(tmp_path / "file.yaml", place, f'"{word}"')
        assert found == word or (isinstance(found, RgwotError) and "quotes" not in str(found)), (word, found)


@pytest.mark.parametrize("keys", [("1", "1.0"), ("1", "true"), ("yes", "on"), ("a", "'a'"), ("0", "off")])
def test_keys_that_yaml_reads_as_equal_are_refused(tmp_path: Path, keys: tuple[str, str]) -> None:
    path = tmp_path / "file.yaml"
    path.write_text("".join(f"{key}: a\n" for key in keys), encoding="utf-8")
    with pytest.raises(RgwotError, match="line 2: the key .* occurs twice"):
        read_files([path])
