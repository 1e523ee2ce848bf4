"""The configuration of a whole run, ``config.yaml``: the settings of the stages, and where the datasets are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from rgwot.blocks import Block, flatten, validated
from rgwot.config.extensions import load_extensions
from rgwot.config.settings import checked, owners
from rgwot.datasets import registry
from rgwot.datasets.settings import EITHER, FEATURES_ALONE, LAYOUTS, REMOVED, ImportedFeatures, LayoutOptions
from rgwot.runtime.errors import RgwotError, errors_of, nearest
from rgwot.runtime.yaml_files import read_yaml
from rgwot.synthetic.settings import SynthSettings


class DatasetSettings(LayoutOptions):
    """The location of a dataset, the options of its layout, and the settings that apply only to it."""

    layout: str = Field(description="arrangement of the files: egoprocel, folder, ...")
    root: str = Field(description="a key of `roots`, or a path")
    imported: ImportedFeatures | None = Field(None, description="features made elsewhere, used instead of extraction")
    videos: str | None = Field(
        None,
        description="table of groups (CSV: video, group, ...; task); default: videos.csv in the folder of the task",
    )
    group: str = Field("group", min_length=1, description="column of that table whose groups the page compares")
    expected: str | None = Field(
        None,
        min_length=1,
        description="the procedure that people should follow (YAML: steps in order, or steps with needs), by the names "
        "of key steps; {task} in the path is the task",
    )
    page_methods: tuple[str, ...] | None = Field(
        None, min_length=1, description="results on the pages of this dataset, instead of page.methods"
    )
    tasks: tuple[str, ...] | None = Field(None, description="only these tasks; default: all of the dataset")
    synth: SynthSettings | None = Field(None, description="the workflow renders the dataset from these settings")
    settings: Annotated[dict[str, Any], AfterValidator(checked)] = Field(
        {}, description="blocks of this file that differ for this dataset"
    )

    @field_validator("layout")
    @classmethod
    def _kept(cls, layout: str) -> str:
        if layout.strip().casefold() in REMOVED:
            raise ValueError(
                "was removed; expected folder, for which docs/datasets.md (Copies of ProceL) makes the files"
            )
        return layout

    @model_validator(mode="after")
    def _features_described(self) -> Self:
        if self.features_alone and self.imported is None:
            raise ValueError(
                f"imported: Field required in the layout {self._layout}; describe the feature files, for example by "
                "{axes: TC, fps: 2}"
            )
        if self.features_alone and self.imported is not None and self.imported.folder not in (None, self.root):
            raise ValueError(
                f"imported.folder: found {self.imported.folder!r}, but in the layout {self._layout} `root` is the "
                "folder of the features; remove imported.folder"
            )
        if not self.features_alone and self.imported is not None and self.imported.folder is None:
            if self._layout not in LAYOUTS:
                # A misspelt layout of features without videos would need no folder, so the layout is refused first.
                raise ValueError(f"layout {self.layout!r}: not known; {nearest(self.layout, LAYOUTS)}")
            raise ValueError(
                "imported.folder: Field required, the folder with the features of the videos; for features without "
                "videos, set layout: features"
            )
        return self

    @property
    def features_alone(self) -> bool:
        """Whether the dataset has features without videos."""
        instead = self._layout in EITHER and self.imported is not None and self.imported.folder is None
        return instead or self._layout in FEATURES_ALONE

    @property
    def _layout(self) -> str:
        return self.layout.strip().casefold()

    @property
    def changed(self) -> dict[str, object]:
        """The settings that differ for the dataset, by dotted key."""
        return flatten(self.settings)

    def options(self) -> dict[str, object]:
        """Return the options of the layout as plain values."""
        options_ = self.model_dump(include=set(LayoutOptions.model_fields), exclude_defaults=True, mode="json")
        return options_ | ({"features_alone": True} if self.features_alone and self._layout in EITHER else {})


class PageSettings(Block):
    """The content of a task's page, and the folder of names typed into it."""

    methods: tuple[str, ...] = Field(
        ("rgwot-plus/consensus", "whitened/meanfield", "none/one_label", "none/uniform", "none/random"),
        min_length=1,
        description="results shown side by side, as method/decoder, with every seed; the first is shown first",
    )
    datasets: tuple[str, ...] = Field(
        (),
        description="datasets with pages, one for each task, made by the target `first` and results/report/index.html; "
        "none: all that are neither published nor `demo`; if there are none, `demo`",
    )
    names: str = Field("names", description="folder of files with names of key steps: names/{dataset}/{task}.yaml")


class Config(Block):
    """The whole of ``config.yaml``; ``blocks`` are the blocks of settings, without defaults."""

    seeds: tuple[Annotated[int, Field(ge=0)], ...] = Field((0, 1, 2), min_length=1, description="each seed is a run")
    on_bad_video: Literal["fail", "skip"] = Field(
        "fail",
        description="fail: stop and name the file; skip: leave it out, with the reason in the manifest",
    )
    device: Literal["auto", "cpu", "cuda"] = Field("auto", description="auto: a GPU if there is one, else the CPU")
    roots: dict[str, str] = Field(default_factory=dict, description="folders that datasets refer to by name")
    datasets: dict[str, DatasetSettings] = Field(default_factory=dict, description="datasets by id")
    page: PageSettings = Field(PageSettings(), description="the page of a task")
    extensions: tuple[str, ...] = Field((), description="Python files that add methods (rgwot.config.extensions)")
    blocks: dict[str, dict[str, object]] = Field(default_factory=dict, exclude=True)

    @field_validator("seeds")
    @classmethod
    def _distinct(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(seeds)) != len(seeds):
            raise ValueError("a seed occurs twice; expected every seed once")
        return seeds

    @field_validator("datasets")
    @classmethod
    def _ids(cls, datasets: dict[str, DatasetSettings]) -> dict[str, DatasetSettings]:
        for name in datasets:
            if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
                raise ValueError(f"dataset id: found {name!r}, expected a lower-case word like my_videos")
        return datasets

    @property
    def page_datasets(self) -> tuple[str, ...]:
        """The datasets with pages: ``page.datasets``, or else the user's datasets, or else ``demo``, or else all."""
        users = tuple(name for name in self.datasets if name not in {"demo", *registry.datasets()})
        return (
            self.page.datasets or users or tuple(name for name in self.datasets if name == "demo") or (*self.datasets,)
        )

    def root_of(self, dataset: str) -> Path:
        """Return the folder of a dataset."""
        return self.folder(self.dataset(dataset).root)

    def folder(self, named: str) -> Path:
        """Return the folder that a key of ``roots`` or a path stands for."""
        return Path(self.roots.get(named, named)).expanduser()

    def dataset(self, dataset: str) -> DatasetSettings:
        """Return the entry of a dataset."""
        if not self.datasets:
            raise RgwotError(
                f"dataset {dataset!r}: no dataset is configured; run in the folder of config.yaml, or name that "
                "file first after --configfile"
            )
        if dataset not in self.datasets:
            raise RgwotError(
                f"dataset {dataset!r}: not in `datasets` of the configuration; {nearest(dataset, self.datasets)}"
            )
        return self.datasets[dataset]


def load_config(content: Mapping[str, object], where: str = "config.yaml") -> Config:
    """Validate a whole configuration, including the settings of every dataset.

    Parameters
    ----------
    content
        Keys and values.
    where
        Name of the file or files in messages.

    Raises
    ------
    RgwotError
        One line naming the key, what was found and what was expected.
    """
    # Extensions are loaded before the rest is validated, because they bring methods and settings.
    files = validated(Config, {key: content[key] for key in ("extensions",) if key in content}, where).extensions
    with errors_of(where):
        load_extensions(files)
        known, others = owners(), set(Config.model_fields) - {"blocks"}
        for name in content:
            if name not in known and name not in others:
                raise RgwotError(f"unknown key {name!r}; {nearest(str(name), [*others, *known])}")
        blocks = checked({name: keys for name, keys in content.items() if name in known})
    return validated(Config, {**{name: content[name] for name in content if name in others}, "blocks": blocks}, where)


def read_files(paths: Iterable[Path]) -> dict[str, Any]:
    """Read configuration files as Snakemake does: a later file changes single keys of the earlier ones."""
    merged: dict[str, Any] = {}
    for path in paths:
        merged = _merged(merged, read_file(path))
    return merged


def read_file(path: Path) -> Mapping[str, Any]:
    """Read one configuration file, without checking its keys.

    Raises
    ------
    RgwotError
        If it is missing, empty or not YAML, or holds anything but keys and values.
    """
    if not path.exists():
        raise RgwotError(
            f"{path.absolute()}: no such file; expected the configuration of a study; make one with rgwot init, or go "
            "to its folder"
        )
    content = read_yaml(path)
    if content is None:
        raise RgwotError(
            f"{path}: empty; expected keys and values as in config.yaml; fill it, or make one: rgwot init FOLDER"
        )
    if not isinstance(content, Mapping):
        raise RgwotError(f"{path}: holds {type(content).__name__}; expected keys and values as in config.yaml")
    return content


def _merged(old: object, new: Mapping[Any, Any]) -> dict[Any, Any]:
    result = dict(old) if isinstance(old, Mapping) else {}
    for key, value in new.items():
        result[key] = _merged(result.get(key), value) if isinstance(value, Mapping) else value
    return result
