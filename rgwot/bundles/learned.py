"""What a result learned, in memory or from a bundle, and how it labels other videos."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rgwot.blocks import validated
from rgwot.bundles.file import FeatureKind
from rgwot.bundles.likeness import length_told, likeness, unlike_told
from rgwot.columns import COUNTS, SHOWS
from rgwot.datasets.arrays import check_columns
from rgwot.datasets.settings import ImportSettings
from rgwot.embedding.interface import EmbeddedTask, EmbeddedVideo, EmbedVideo, Fitted, Learned, usual_in
from rgwot.embedding.settings import Embedding
from rgwot.features.index import common_attributes
from rgwot.features.store import IMPORTER, FeatureStore
from rgwot.keysteps.extended import restored
from rgwot.keysteps.interface import Predict
from rgwot.keysteps.labelling import Labelling, labelling_of
from rgwot.keysteps.ordering import KeySteps
from rgwot.keysteps.settings import Decoder
from rgwot.paths import STORE, Run
from rgwot.runtime.errors import RgwotError
from rgwot.study.refusals import check_rule
from rgwot.timing import predicted_labels

#: Attributes of a feature store that are needed to make such features, besides the attributes that all stores of a task
#: share.
HOW = ("seed", "fused", "decoder", "fps_exact", "start_s", "source_key", "source_axes", "source_times", "columns")
#: Suffix of the key of a video in `LearnedResult.answers` under which are the key steps that its segments show.
SHOWS_OF = ".shows"
#: Settings with which new features are imported as those of the study were; in a bundle, ``source_every`` and so on.
FORM = ("fps", "every", "window", "keypoints")


@dataclass(frozen=True)
class LearnedResult:
    """What a result learned, as plain values that can be stored.

    Attributes
    ----------
    name
        Name of the result in errors, such as the path of a bundle.
    run, method, rule
        Ids of method and decoder, with the seed; method and decoder with their settings.
    features, features_fps
        The kind of features, and their rate per second.
    K, time, surplus
        Number of key steps, weight of time, and number of clusters beyond K (`rgwot.keysteps.extended`).
    embedding, model
        What the embedding learned; for a trained encoder, ``model`` instead (`rgwot.stages.models.load_model`).
    decoder
        What the decoder learned.
    answers
        Key steps (T,) of the videos that were learned from, by the SHA-256 of their source; with `SHOWS_OF` added, the
        key steps that their segments (S,) show, 0 for a segment that does not count.
    likeness
        What these videos look like (`rgwot.bundles.likeness`).
    """

    name: str
    run: Run
    method: Embedding
    rule: Decoder
    features: FeatureKind
    features_fps: float
    K: int
    time: float
    surplus: int
    embedding: Learned
    model: Mapping[str, Any] | None
    decoder: Learned
    answers: Mapping[str, NDArray[np.integer]]
    likeness: Mapping[str, NDArray[np.floating]]

    def rules(self) -> tuple[EmbedVideo, Predict]:
        """Return the function that embeds other videos, and the function that labels their samples."""
        if self.model is None:
            embed = self.method.restored(self.embedding)
        else:
            import torch

            from rgwot.embedding.encoder import embed_by_model

            # The workflow uses one thread; more threads would round differently.
            embed = embed_by_model(self.model, self.features_fps, torch.device("cpu"), 1)
        return embed, restored(self.rule.restored, self.decoder, self.K, time=self.time, surplus=self.surplus)

    def labelling(self, predict: Predict, video: EmbeddedVideo) -> Labelling:
        """Return the labels of a video, with fixed clusters."""
        from threadpoolctl import threadpool_limits

        with threadpool_limits(limits=1):
            return labelling_of([video], self.features_fps, self.K, predict, usual_in(self.decoder))

    def key_steps(self, predict: Predict, video: EmbeddedVideo) -> NDArray[np.int64]:
        """Return the key steps (T,) of a video, with fixed clusters."""
        return self.labelling(predict, video).labels + 1

    def label(
        self, predict: Predict, stores: Sequence[FeatureStore], videos: Mapping[str, EmbeddedVideo]
    ) -> tuple[dict[str, NDArray[np.int64]], dict[str, str]]:
        """Label each video separately, by its embedding; videos that were learned from keep their labels.

        ``stores`` holds the features of videos with frames, ``videos`` their embeddings by id. Returns the key steps
        (T,) by id, and the SHA-256 of the source of each video that was learned from, by id.
        """
        steps = {name: self.key_steps(predict, video) for name, video in videos.items()}
        known = {store.video: answer for store in stores if (answer := self.answer(store)) is not None}
        digests = {store.video: str(store.attributes["source_sha256"]) for store in stores if store.video in known}
        return steps | known, digests

    def answer(self, store: FeatureStore) -> NDArray[np.int64] | None:
        """Return the key steps (T,) of a video from which the result learned; None for other videos."""
        answer = self.answers.get(str(store.attributes.get("source_sha256")))
        return None if answer is None or answer.shape != (len(store),) else answer.astype(np.int64)

    def as_in_study(self, segments: pd.DataFrame, digest: str) -> pd.DataFrame:
        """Return the segments of a video that was learned from, with ``shows`` and ``counts`` as in the study."""
        shows = self.answers.get(f"{digest}{SHOWS_OF}")
        if shows is None or len(shows) != len(segments):
            return segments
        return segments.assign(shows=np.where(shows > 0, shows, segments["key_step"]), counts=shows > 0)

    def unusual_length(self, store: FeatureStore) -> str:
        """Return a line if a video is far longer or shorter than the videos learned from, otherwise an empty text."""
        return length_told(self.likeness, store)

    def unlike(self, store: FeatureStore) -> str:
        """Return a line if a video, or a part of it, looks like no video learned from, otherwise an empty text."""
        return unlike_told(self.likeness, store)

    def check_kind(self, store: FeatureStore) -> None:
        """Raise RgwotError if features differ in kind from the features that were learned from."""
        kind = self.features
        # A file that could not be imported has an empty store, whose attributes describe no features.
        if not len(store) and store.imported:
            return
        for key, value in common_attributes(store).items():
            # The file of a checkpoint (``weights``) may have another name, but not another digest (``weights_sha256``).
            if key != "weights" and value != kind.attributes.get(key, value):
                raise RgwotError(
                    f"{store.path}: features with {key} {value!r}, expected {kind.attributes[key]!r} as in "
                    f"{self.name}; give the video itself, or features made in the same way"
                )
        check_columns(store.path, store.columns, Path(self.name), str(kind.attributes.get("columns", "")))
        if len(store) and (store.shape[1:] != kind.frame or store.vectors != kind.vectors):
            size, expected = (" x ".join(map(str, shape)) for shape in (store.shape[1:], kind.frame))
            raise RgwotError(f"{store.path}: features of {size}, expected {expected} as in {self.name}")

    def import_form(self) -> ImportSettings:
        """Return the form of the features that were learned from; raise RgwotError if they are not imported."""
        attributes = self.features.attributes
        if attributes.get("decoder") != IMPORTER:
            raise RgwotError(
                f"{self.name}: was made from features of the network {attributes.get('backbone')}, not from arrays; "
                f"expected feature stores ({STORE}) with features of this network"
            )
        when: dict[str, object] = {"every": attributes["source_every"], "keypoints": attributes.get("source_keypoints")}
        if attributes.get("source_window"):
            when |= {"window": attributes["source_window"], "native_fps": attributes["source_native_fps"]}
        elif attributes.get("source_times"):
            # If no rate is stated (None), it follows from the times.
            when |= {"times": attributes["source_times"], "fps": attributes.get("source_fps")}
        else:
            when |= {"start_s": attributes["start_s"], "fps": attributes["source_fps"]}
        source = {name: attributes[name] for name in ("backbone", "layer", "weights")}
        form = {"axes": attributes["source_axes"], "channels": self.features.frame[0], **when, **source}
        return validated(ImportSettings, form, f"{self.name}: features")


def learned_result(
    *,
    run: Run,
    method: Embedding,
    rule: Decoder,
    stores: Sequence[FeatureStore],
    embedded: EmbeddedTask,
    embedding: EmbedVideo,
    model: Mapping[str, Any] | None,
    key_steps: KeySteps,
) -> LearnedResult:
    """Return what a result learned.

    Parameters
    ----------
    stores, embedded
        Features and embeddings of all videos.
    embedding, model
        The function that embeds videos; the loaded model if it is an encoder.
    key_steps
        The key steps, with what the decoder learned.

    Raises
    ------
    RgwotError
        If the embedding or the decoder has no rule for other videos.
    """
    check_rule(run.decoder)
    if key_steps.learned is None:
        raise RgwotError(
            f"decoder {rule.NAME!r}: found no rule for other videos, expected two videos or more, and a "
            "decoder that returns what it learned (`Decoded.learned`)"
        )
    if model is None and not isinstance(embedding, Fitted):
        raise RgwotError(
            f"method {run.method!r}: its embedding cannot embed other videos; expected an embedding with `restore`"
        )
    about = key_steps.diagnostics
    K, time, surplus = about.K, about.time or 0.0, about.surplus or 0
    digests = {store.video: store.attributes.get("source_sha256") for store in stores}
    answers = {
        str(digests[video]): steps.astype(np.int16)
        for video, steps in training_labels(embedded, key_steps).items()
        if digests[video]
    }
    first, learned_from = stores[0], embedded.part(held_out=False)
    for video in learned_from:
        if digests[video]:
            table = key_steps.segments["task"][video]
            shows = table[SHOWS].where(table[COUNTS], 0) if COUNTS in table else table["key_step"]
            answers[f"{digests[video]}{SHOWS_OF}"] = shows.to_numpy(np.int16)
    kind = FeatureKind(attributes=common_attributes(first) | _form(first), frame=first.shape[1:], vectors=first.vectors)
    return LearnedResult(
        name="what was learned",
        run=run,
        method=method,
        rule=rule,
        features=kind,
        features_fps=embedded.features_fps,
        K=K,
        time=time,
        surplus=surplus,
        embedding=embedding.learned if isinstance(embedding, Fitted) else {},
        model=model,
        decoder=key_steps.learned,
        answers=answers,
        likeness=likeness([store for store in stores if store.video in learned_from and len(store)]),
    )


def training_labels(embedded: EmbeddedTask, key_steps: KeySteps) -> dict[str, NDArray[np.int64]]:
    """Return the key steps (T,) of the videos that were learned from."""
    labels = {}
    for video, embedded_video in embedded.part(held_out=False).items():
        segments = key_steps.segments["task"][video]
        labels[video] = predicted_labels(
            segments["start_s"], segments["end_s"], segments["key_step"], embedded_video.time_s
        )
    return labels


def _form(store: FeatureStore) -> dict[str, object]:
    """Return the attributes needed to make the features of a store again, besides those shared by its task."""
    facts = {key: store.attributes[key] for key in HOW if key in store.attributes}
    if store.imported:
        settings = store.attributes.get("settings", {})
        facts |= {f"source_{key}": settings[key] for key in FORM if settings.get(key) is not None}
        # The table of rates in the settings lists only the videos of the study; other videos have their own rate.
        facts["source_native_fps"] = str(store.native_fps)
    return facts
