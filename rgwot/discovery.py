"""`rgwot.discover`: the key steps of arrays, without files and the workflow.

It calls the same functions as the workflow, so equal features, settings and seeds give equal key steps.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace

from rgwot.config.experiments import Experiment, resolved
from rgwot.datasets.names import stem_of
from rgwot.datasets.split import split_videos, subjects_of
from rgwot.datasets.text import collecting
from rgwot.embedding.interface import EmbeddedTask, EmbedVideo
from rgwot.embedding.settings import Embedding, TrainedEncoder
from rgwot.features.index import common_attributes
from rgwot.features.store import FeatureStore
from rgwot.in_memory import doubts_on_features, video_features, without_missing
from rgwot.intake import Rates, Times, Videos, handed_over
from rgwot.keysteps.decode import check_number
from rgwot.keysteps.labelling import few_moments
from rgwot.keysteps.ordering import KeySteps
from rgwot.keysteps.settings import LABELLED, Clustering, Decoder, Numbered, resolved_K
from rgwot.keysteps.trivial import trivial_key_steps, trivial_segments
from rgwot.labels import Labels, n_labelled, read_labels
from rgwot.paths import Run
from rgwot.result import Discovery, Made, with_doubts
from rgwot.runtime.errors import RgwotError, extras
from rgwot.runtime.limits import check_device, threads_kept
from rgwot.runtime.progress import progress_shown
from rgwot.runtime.threads import threads
from rgwot.stages.decode import check_labels
from rgwot.stages.embed import embedded_task, embedder

log = logging.getLogger(__name__)


def discover(
    features: Videos,
    *,
    fps: Rates | None = None,
    times: Times | None = None,
    missing: str | None = None,
    method: str | Embedding = "rgwot-plus",
    decoder: str | Decoder | None = None,
    K: int | str | None = None,
    labels: Labels | None = None,
    silence: str | None = None,
    settings: Mapping[str, Mapping[str, object]] | None = None,
    seed: int = 0,
    device: str = "auto",
    n_jobs: int | None = None,
    progress: bool = True,
) -> Discovery:
    """Find the key steps of a task and their order from the features of its videos.

    The labels are the same as those of the workflow for the same features, ids, settings and seed. As in the workflow,
    features are converted to float16 or float32, but they stay in memory; nothing is written.

    Parameters
    ----------
    features
        Features (T, C) or maps (T, C, h, w) of every video: finite numbers and, for maps, at most 65504 in magnitude. T
        may differ between videos, the other axes may not. A video may be an array (NumPy, PyTorch, xarray), a table
        (pandas, polars), the path of an ``.npy``, ``.npz``, ``.csv``, ``.mat``, ``.h5``, ``.pt`` or ``.parquet`` file,
        or that of a feature store (``.zarr``) of the workflow, which has its times and the length of its video. Videos
        have names in a mapping, in pairs of names and videos, in a series, and in one table with the column ``video``.
        In a sequence or another iterable, they are named after their files, or ``"0"``, ``"1"``, ... (with more than
        ten, ``"00"``, ``"01"``, ...). Integers as names become their text.
    fps
        Features per second of video, a number or a fraction such as ``"30000/1001"``. Feature i is at i / fps seconds,
        and the video lasts T / fps. Every video may have its own rate, given by name or in a sequence; rates may differ
        by 5 %. By default, ``features.fps`` of the settings (2), with a warning.
    times
        Instead of ``fps``, the times (T,) of the features of every video in seconds; increasing, mostly by equal steps.
        Without ``fps`` and ``times``, the times of a table are its `pandas.TimedeltaIndex`, its `pandas.DatetimeIndex`
        (from its first date), or an index or column in seconds, such as ``time_s``.
    missing
        What to do with samples that have NaN, which are refused by default: ``interpolate`` fills them linearly in
        time; ``background`` also leaves them out of all key steps, so that their label is 0.
    method, decoder
        Ids as in paths of the workflow, with or without keys: ``whitened``, ``raw``, ``rgwot``, ``rgwot@alpha=0.5``,
        ``rgwot-plus``, ...; ``meanfield``, ``graphcut``, ``consensus``, ``kmeans@K=5``, ... The default decoder is
        ``labelled`` with ``labels``, which no other decoder accepts, and ``consensus`` without. A model may be given
        instead of its id: ``Graphcut(K=5, pairwise=4)`` is ``graphcut@K=5,pairwise=4``. With ``data.split=holdout`` the
        videos drawn by ``data.split_seed`` are labelled, but not used for learning.
    K
        Number of key steps, like ``decode.K`` in the settings: at least 2; by default 7. With ``labels`` it is used
        only if these are a few single moments; then key steps without a label are found, too.
    labels
        Labels of some of the videos, by name: the key steps (T,) of all features, from 1 or as names, with 0 for
        background and -1 or NaN for unlabelled features; or a table of segments with ``start_s``, ``end_s``, and
        ``key_step`` or ``label``, where rows with ``time_s`` instead are marks, labels of one moment; or the path of an
        annotation file (a table with or without header, ELAN, BORIS, ...), as for `Discovery.compare`; or one table of
        all videos with the column ``video`` (`rgwot.labels.read_labels`). Labelled videos keep their labels, and all of
        them teach the others (only ``n`` with the decoder ``labelled@n=...``). Key steps then have the numbers and
        names of the labels, and K is ignored, with a warning.
    silence
        How time without a segment is read in the tables of ``labels``: ``throughout``, ``until`` or ``only``
        (`rgwot.timing.SILENCES`), unless they have a column ``silence``. By default, it is background between the first
        and the last segment of a video, and unlabelled elsewhere; if only one key step is annotated, ``only``.
    settings
        Blocks of settings as in ``config.yaml``, such as ``{"train": {"iterations": 800}}``. Settings that define a
        method can only be changed by keys of an id, such as ``consensus@time=0``, not here.
    seed
        Seed of all random draws, at least 0.
    device
        The device of an encoder: ``auto``, ``cpu`` or ``cuda``; any other word is an error, whatever the method.
    n_jobs
        Number of threads that ``consensus`` uses, as in scikit-learn: -1 for all processors, by default one.
        The result does not depend on it.
    progress
        Whether to show the progress of long work: a bar on a terminal or in a notebook, elsewhere a line in the log
        (level INFO) every ten seconds.

    Returns
    -------
    Discovery
        The key steps of all features in ``labels``, the ``segments`` in seconds, the ``procedure``, the ``deviations``
        of each video, and ``warnings`` with reasons to doubt the result.

    Raises
    ------
    rgwot.RgwotError
        For unusable features, an unknown id or setting, or too few videos for the method.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> steps = np.repeat(rng.normal(size=(3, 16)), 20, axis=0)
    >>> videos = [steps + rng.normal(scale=0.3, size=steps.shape) for _ in range(4)]
    >>> found = discover(videos, fps=2, K=3)
    >>> len(found.labels["0"]), sorted(set(found.labels["0"].tolist())), found.procedures["n_videos"].tolist()
    (60, [1, 2, 3], [4])
    >>> order = found.procedure.order
    >>> (order[0], order[1]) in found.procedure.graph.edges, len(found.deviations)
    (True, 0)
    """
    if decoder is None:
        decoder = "consensus" if labels is None else LABELLED
    chosen = resolved(method, decoder, K, settings, seed)
    run, embedding, rule = chosen.run, chosen.embedding, chosen.decoder
    # Checked before an encoder is trained.
    check_labels(rule, 0 if labels is None else n_labelled(labels))
    if labels is None and silence is not None:
        raise RgwotError(f"silence: found {silence!r} without labels; expected labels; give labels, or leave it out")
    if fps is not None and times is not None:
        raise RgwotError("fps and times are both given; expected at most one of the two")
    check_device(device)
    handed = handed_over(features, times, fps, missing=missing)
    features, usual = handed.features, chosen.features.fps
    with collecting() as complaints:
        every = video_features(features, handed.times, usual if handed.timeless and not handed.times else handed.fps)
    K_asked = rule.K if isinstance(rule, Numbered) else Numbered().K
    doubts = [*handed.doubts, *doubts_on_features(every, K_asked, bool(handed.times), handed.missing)]
    if handed.timeless and not handed.times and "fps" not in (settings or {}).get("features", {}):
        doubts.append(
            f"features: found neither fps nor times, so {usual:g} features per second are assumed, and seconds are "
            f"wrong at another rate; give fps={usual:g}, or times={{name: seconds}}"
        )
    doubts += [f"{complaint.path}: {complaint.message}" for complaint in complaints if complaint.severity == "warning"]
    if embedding.SEVERAL and len(every) < 2:
        raise RgwotError(f"features: videos: found {len(every)}, expected at least 2 for the method {run.method!r}")
    with_frames = [video for video in every if len(video)]
    if not with_frames:
        raise RgwotError("features: found no video with a frame, expected at least one")
    held_out: tuple[str, ...] = ()
    if embedding.data.split == "holdout":
        subjects = subjects_of(video.video for video in every)
        held_out = split_videos(subjects, embedding.data.holdout, embedding.data.split_seed)
    # Videos are sorted by id, as in the workflow, because the drawn pairs of videos depend on their order.
    videos = sorted(with_frames, key=lambda video: video.video)
    given = None if labels is None else read_labels(labels, list(features), videos, silence)
    if given is not None and K is not None and not few_moments(given, resolved_K(K, given.K)):
        log.warning("K: found %s beside labels, which give the number of key steps, so it is ignored; leave it out", K)
    for line in doubts:
        log.warning("%s", line)
    times_of_videos = {stem_of(video.video): video.time_s for video in with_frames}
    if rule.TRIVIAL:
        key_steps = _trivial(chosen, videos, held_out)
        with_doubts(key_steps, doubts)
        return Discovery(chosen, key_steps, times_of_videos)
    if isinstance(rule, Clustering):
        samples = sum(len(video) for video in videos if video.video not in held_out)
        check_number(resolved_K(rule.K), rule.surplus, samples)
    with progress_shown(progress), threads(n_jobs):
        embedded, embed, model = _embedded(run, embedding, videos, held_out, device)
        embedded = replace(embedded, videos=without_missing(embedded.videos, handed.missing))
        made = Made(list(features), videos, embedded, embed, model, settings, tuple(doubts))
        return made.found(chosen, times_of_videos, given)


def _trivial(chosen: Experiment, videos: Sequence[FeatureStore], held_out: tuple[str, ...]) -> KeySteps:
    """Return the key steps of a decoder that reads no features."""
    rule, seed = chosen.decoder, chosen.run.seed
    K = resolved_K(rule.K) if isinstance(rule, Numbered) else 0
    facts = [(video.video, video.duration_s, video.native_fps) for video in videos]
    segments = trivial_segments(facts, rule.NAME, K, seed, chosen.evaluation.stride)
    return trivial_key_steps(segments, rule.NAME, K, seed, held_out, rule.procedure.learner)


def _embedded(
    run: Run, embedding: Embedding, videos: Sequence[FeatureStore], held_out: tuple[str, ...], device: str
) -> tuple[EmbeddedTask, EmbedVideo, Mapping[str, object] | None]:
    """Embed the videos; return the embeddings, the function that made them and, for an encoder, its model."""
    model, trained = None, isinstance(embedding, TrainedEncoder)
    # Training or running an encoder sets PyTorch's number of threads, which is restored for the caller.
    with extras(f"method {run.method}"), threads_kept() if trained else nullcontext():
        if isinstance(embedding, TrainedEncoder):
            from rgwot.stages.train import fit_encoder

            learned_from = [video for video in videos if video.video not in held_out]
            shared = common_attributes(learned_from[0])
            model = fit_encoder(
                learned_from, embedding, run.seed, device=device, held_out=held_out, features=shared
            ).model
        made = embedder(videos, embedding, model, run.method, run.seed, device if model else "cpu", 1, held_out)
        return embedded_task(videos, made), made.embed, model
