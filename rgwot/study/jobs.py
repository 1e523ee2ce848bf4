"""The settings, held-out videos and further inputs of jobs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain
from pathlib import Path

from rgwot import paths
from rgwot.blocks import Blocks, flatten, nested
from rgwot.config.configuration import load_config, read_files
from rgwot.config.experiments import decoder_of, replaced_settings, split_id
from rgwot.config.settings import EXECUTION, defaults, merged, owners, without_execution
from rgwot.datasets.split import subjects_of
from rgwot.datasets.video_table import read_video_table, subjects_in
from rgwot.embedding.settings import SplitSettings, TrainedEncoder
from rgwot.evaluation import EvaluationSettings
from rgwot.features import read_index
from rgwot.features.settings import FeatureSettings, extractor
from rgwot.keysteps.settings import ANNOTATED, Decoder, Labelled, Numbered, resolved_K
from rgwot.paths import STORE, Run
from rgwot.runtime.errors import RgwotError, errors_of
from rgwot.runtime.gpus import gpu_there
from rgwot.runtime.provenance import made_here, recorded_settings
from rgwot.study.datasets import (
    annotated_steps,
    annotated_videos,
    annotations_of,
    batch,
    footage_of,
    import_form,
    plain_path,
    scored_videos,
    source_file,
    video_table,
    videos,
)
from rgwot.study.shipped import DEFAULTS
from rgwot.study.study import Study, Task

#: Folder of true task graphs, {dataset}/{task}.csv, in the folder of a study.
GRAPHS = "graphs"


def gpus(study: Study) -> int:
    """Return the number of GPUs that a training job requests."""
    device = study.config.device
    return int(device == "cuda" or (device == "auto" and gpu_there()))


def decoder_for(task: Task, method: str, decoder: str) -> Decoder:
    """Return the decoder of a result; ``K`` becomes a number if it is ``gt`` or ``gt+1``.

    Raises RgwotError if it is one of these, but the task is not annotated.
    """
    rule = task.study.experiments.decoding(method, decoder, task.dataset)
    if not isinstance(rule, Numbered) or isinstance(rule.K, int):
        return rule
    with errors_of(task):
        return rule.model_copy(update={"K": resolved_K(rule.K, annotated_steps(task))})


def settings_behind(
    task: Task, method: str = "none", decoder: str | None = None, scored: bool = False
) -> dict[str, dict[str, object]]:
    """Return the settings of method, decoder and scoring whose change makes results outdated, by block.

    Settings of earlier stages are included, because Snakemake checks only the job that makes a file: if a training
    fails after a change, the old scores would otherwise seem up to date. Settings that do not affect results
    (`rgwot.config.settings.EXECUTION`) are left out. If whole subjects are held out, the block ``subjects`` has
    the subject of each video.
    """
    embedding = task.study.experiments.embedding(method, task.dataset)
    layers: list[Blocks] = [embedding.by_block()]
    if of_video := subjects(task, embedding.data):
        layers.append({"subjects": of_video})
    if decoder is not None:
        layers.append(decoder_for(task, method, decoder).by_block())
    if scored or (decoder is not None and decoder_of(decoder).TRIVIAL):
        layers.append(task.study.experiments.common(EvaluationSettings, task.dataset).by_block())
    return without_execution(merged(*layers))


def execution(study: Study, dataset: str = "") -> str:
    """Return how jobs of a dataset run, as JSON: device, extensions, and settings that change no result."""
    written = study.experiments.written(dataset)
    settings = nested({key: written[key] for key in EXECUTION if key in written})
    return json.dumps({"device": study.config.device, "extensions": study.config.extensions, "settings": settings})


def replaced(study: Study, files: Iterable[Path]) -> list[str]:
    """Return a line for each setting of the study that a method on its pages replaces.

    ``files`` are the configuration files. A copy of the package's own file does not count, and neither do settings of
    datasets that are unchanged from it.
    """
    user_files = [file for file in files if file.is_file() and file.read_bytes() != DEFAULTS.read_bytes()]
    content = read_files(user_files)
    shipped_values = defaults()
    written = {
        **{key: value for key, value in flatten(study.config.blocks).items() if value != shipped_values[key]},
        **flatten({block: content[block] for block in owners() if content.get(block)}),
    }
    shipped = load_config(read_files([DEFAULTS]), "defaults").datasets
    for name, entry in study.config.datasets.items():
        before = shipped[name].changed.items() if name in shipped else ()
        written |= {key: value for key, value in entry.changed.items() if (key, value) not in before}
    entries = [entry for name, entry in study.config.datasets.items() if name in study.config.page_datasets]
    methods = chain(study.config.page.methods, *(entry.page_methods or () for entry in entries))
    pairs = (text.partition("/")[::2] for text in methods)
    return list(dict.fromkeys(line for pair in pairs for line in replaced_settings(*pair, written)))


def long_trainings(study: Study, trainings: Sequence[tuple[str, str]]) -> str:
    """Return a note on the time of ``trainings`` (method, dataset) on a CPU if it exceeds an hour, or an empty text.

    The time is extrapolated by the number of multiplications from 2.2 s per iteration of the paper's encoder, measured
    on two cores (benchmarks/report/performance.md).
    """
    hours = 0.0
    for method, dataset in trainings:
        encoder = study.experiments.embedding(method, dataset)
        features = study.experiments.common(FeatureSettings, dataset)
        if isinstance(encoder, TrainedEncoder) and study.config.dataset(dataset).imported is None:
            network, wide = extractor(features.backbone), encoder.encoder.channels
            share = (network.channels * wide + wide**2) / (1024 * 512 + 512**2)
            size = (network.side(features.size) or 11) ** 2 / 11**2
            hours += encoder.train.iterations * 2.2 * share * size / 3600
    if gpus(study) or hours < 1:
        return ""
    return (
        f"train: {len(trainings)} trainings take about {hours:.0f} hours without a GPU; for a first result, "
        "remove methods that train from page.methods, or use the fast settings in step 5 of the guide"
    )


def feature_settings(task: Task) -> dict[str, object]:
    """Return the import or extraction settings whose change makes the features of a dataset outdated."""
    rate, form = task.entry.frames_fps, import_form(task.entry)
    # The rate of stored frames is None if the files state it.
    frames_fps = None if rate in (None, "file") else str(rate)
    reading = {"frames_fps": frames_fps, "on_bad_video": task.study.config.on_bad_video}
    if form is not None:
        return {"form": form, "reading": reading}
    features = without_execution(task.study.experiments.common(FeatureSettings, task.dataset).by_block())
    return {**features, "reading": reading}


def check_features_of_others(task: Task, part: str) -> None:
    """Check features in ``results`` that Snakemake has not made in this folder, such as those that two studies share.

    Snakemake compares files and settings only with those of its own runs.

    Raises RgwotError if a part of an index is of other videos, or was made with other settings.
    """
    index = paths.at(paths.INDEX_PART, dataset=task.dataset, task=task.name, part=part)
    if not index.is_file() or made_here(index):
        return
    # Zarr takes a tenth of a second to import, and most plans do not need it.
    from rgwot.features.store import is_made_from, open_store

    chosen, there = batch(task, part), [row["video"] for row in read_index(index)]
    sources = {video: source_file(task, video) for video in chosen}
    now = flatten(json.loads(json.dumps(feature_settings(task), default=str)))
    before = flatten(recorded_settings(index))
    changed = next((key for key in now if before and before.get(key) != now[key]), None)
    if others := sorted({*chosen} ^ {*there}):
        why = f"it has {len(there)} videos, expected {len(chosen)}; {others[0]!r} is not in both"
    elif changed is not None:
        why = f"{changed} is {before.get(changed)!r}, expected {now[changed]!r}"
    elif strange := next(
        (
            source
            for video, source in sources.items()
            if source.is_file() and not is_made_from(open_store(index.with_name(f"{video}{STORE}")), source)
        ),
        None,
    ):
        why = f"it was made from another file than {strange}"
    else:
        return
    folder = index.parent
    cure = f"rm {folder}/index*, and run again, which keeps features that fit"
    if folder.resolve() != folder.absolute():
        cure = f"replace the link to {folder.resolve()} by a copy without index*; features in it that fit are kept"
    raise RgwotError(f"{index}: was not made by this study: {why}; {cure}")


def subjects(task: Task, data: SplitSettings) -> dict[str, str]:
    """Return the subjects by which a task is split: of each video that has one in its name or in the table of videos.

    The result is empty if the split is not by subject. Raises RgwotError for a video with two subjects.
    """
    if data.split == "all" or data.split_by == "video":
        return {}
    names, path = videos(task), video_table(task)
    of_video = subjects_of(names, task.facts.pattern if task.facts else None)
    if path is not None:
        of_video |= subjects_in(read_video_table(path), path, names, task.name)
    return {video: subject for video, subject in of_video.items() if subject != video}


def reads_annotations(decoder: str) -> bool:
    """Return whether a decoder reads the annotated segments; an unknown decoder, reported elsewhere, does not."""
    return split_id(decoder)[0] == ANNOTATED


def learns_from_labels(decoder: str) -> bool:
    """Return whether a decoder learns from annotated videos."""
    return decoder_of(decoder).LABELS


@cache
def teachers(task: Task, run: Run) -> int:
    """Return the number of annotated videos that a result learns from; raise RgwotError if there are too few."""
    labelled = task.study.experiments.decoding(run.method, run.decoder, task.dataset)
    if not isinstance(labelled, Labelled):
        return 0
    with errors_of(task):
        return labelled.teachers(len(annotated_videos(task)))


def teaching(task: Task, run: Run) -> list[str]:
    """Return the annotations that a decoding learns from, if any; raise RgwotError as `teachers` does."""
    return [annotations_of(task)] if teachers(task, run) else []


def scored(task: Task, run: Run) -> bool:
    """Return whether a task has an annotated video from which a result did not learn."""
    teaching_videos = teachers(task, run)
    # Annotations need not be read if the result learned from all of them.
    return len(annotated_videos(task)) > teaching_videos and len(scored_videos(task)) > teaching_videos


def scoring(task: Task, run: Run) -> str:
    """Return the annotations for scoring a result; raise RgwotError if there are none."""
    annotations = annotations_of(task)
    if not scored_videos(task):
        raise RgwotError(
            f"{task}: annotations are marks or label videos in part, so nothing can be scored; expected a "
            "video with segments throughout; annotate one"
        )
    if not scored(task, run):
        raise RgwotError(
            f"{task}: {run.method}/{run.decoder} learns from all annotated videos, so none is left to score; "
            "expected an annotated video that it does not learn from; annotate two, and use labelled@n=1"
        )
    return annotations


def graph_there(task: Task) -> list[str]:
    """Return the file with the true task graph of a task, if it exists."""
    path = Path(GRAPHS) / task.dataset / f"{task.name}.csv"
    return [str(path)] if path.exists() else []


def extraction_files(task: Task, chosen: Iterable[str]) -> list[str]:
    """Return the files from which features are extracted: the videos, and the user's checkpoint, if any."""
    return footage_of(task, chosen) + weights_file(task.study, task.dataset)


def weights_file(study: Study, dataset: str) -> list[str]:
    """Return the checkpoint file of the backbone, from which features are made, if the configuration names one.

    Raises RgwotError if the file does not exist, so that there is one error instead of one per video.
    """
    features = study.experiments.common(FeatureSettings, dataset)
    backbone = extractor(features.backbone)
    # Raises an error now if the package with the weights is missing; otherwise every video would fail.
    backbone.packaged(features.weights)
    if not backbone.is_file(features.weights):
        return []
    if not Path(features.weights).is_file():
        raise RgwotError(
            f"datasets.{dataset}: features.weights: no file {features.weights}; expected "
            f"{', '.join([*backbone.weights, 'random'])} or the path of a checkpoint of {backbone.name}; correct it"
        )
    return [plain_path(features.weights)]
