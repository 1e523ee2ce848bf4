"""Corrections in a bundle: what people said of the study holds for other videos, as far as it is about key steps.

The part of the bundle has the edits, and the segments of the study that they were replayed on. Other videos are
corrected together with these: a key step is found by its segments in the study, and all that it has becomes what
the edit says. What an edit says of single segments concerns the study's own videos, known by their SHA-256.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from rgwot.bundles.file import Bundle
from rgwot.corrections import Edit, apply_corrections, parse_edits
from rgwot.features.store import FeatureStore
from rgwot.runtime.errors import RgwotError, first_line

#: The part of a bundle.
CORRECTIONS = "corrections.json"
_COLUMNS = ["video", "start_s", "end_s", "key_step"]
#: Before the id of a video that is not of the study; no id has a slash.
_NEW = "new/"

log = logging.getLogger(__name__)


def kept(
    edits: Sequence[Edit], segments: pd.DataFrame, names: Mapping[int, str], stores: Mapping[str, FeatureStore]
) -> bytes:
    """Return the part of a bundle: edits, and segments (of scope ``task``), names and videos as they were found."""
    digests = {video: store.attributes.get("source_sha256") for video, store in stores.items()}
    content = {
        "edits": [edit.plain() for edit in edits],
        "segments": segments.loc[segments["scope"] == "task", _COLUMNS].to_numpy().tolist(),
        "names": dict(names),
        "videos": {str(digest): video for video, digest in digests.items() if digest},
    }
    return (json.dumps(content, allow_nan=False) + "\n").encode()


def corrected_segments(
    bundle: Bundle, segments: Mapping[str, pd.DataFrame], known: Mapping[str, str]
) -> dict[str, pd.DataFrame]:
    """Return the segments of videos with the corrections of a bundle.

    ``known`` has the SHA-256 of those of the study, by video. What does not hold in the study is logged.
    """
    try:
        content: dict[str, Any] = json.loads(bundle.parts[CORRECTIONS])
        edits = parse_edits(content["edits"])
        names = {int(step): str(name) for step, name in content["names"].items()}
        study = pd.DataFrame(content["segments"], columns=_COLUMNS)
        of_study = {video: str(content["videos"][digest]) for video, digest in known.items()}
    except (ValueError, LookupError, TypeError, AttributeError, RgwotError) as error:
        raise bundle.wrong(f"{CORRECTIONS}: {first_line(error)}") from None
    new = [frame.assign(video=f"{_NEW}{video}")[_COLUMNS] for video, frame in segments.items() if video not in known]
    replayed = apply_corrections(pd.concat([study, *new], ignore_index=True), edits, names)
    for at, row in enumerate(replayed.report.itertuples(), start=1):
        if not row.holds:
            log.warning("%s: correction %d (%s) does not hold: %s", bundle.path.name, at, row.edit, row.reason)
    own = dict(list(replayed.segments.groupby("video", sort=False)))
    columns = _COLUMNS[1:]
    return {video: own[of_study.get(video, f"{_NEW}{video}")][columns].reset_index(drop=True) for video in segments}
