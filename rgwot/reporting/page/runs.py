"""One run as the page shows it: segments, orders, procedures, losses, and what it says of itself."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rgwot.config.experiments import split_id
from rgwot.config.methods import DECODERS, FAMILIES
from rgwot.paths import Run, Tree
from rgwot.records import read_diagnostics, read_history, read_orders, read_procedures, read_segments
from rgwot.reporting.choices import ShownChoices, shown_choices
from rgwot.reporting.matching import match_to_steps
from rgwot.reporting.names import RunNames, names_of, result_id
from rgwot.reporting.page.words import soundness
from rgwot.runtime.errors import RgwotError

#: Points of a training curve; more are not told apart.
CURVE_POINTS = 200
#: Segments of one video in one result; more, as of random labels, would fill pages with what nobody can see.
MOST_SEGMENTS = 1000


@dataclass(frozen=True)
class ShownRun:
    """A run that the page shows.

    Attributes
    ----------
    run
        Which.
    facts
        What is said of it beside every picture; small.
    body
        What is read when it is chosen: ``segments``, ``orders``, ``procedures``.
    view
        Content of its view as text, empty where it has none.
    procedures
        Its ranked procedures.
    names
        Names of its key steps.
    choices
        What it left to the data.
    """

    run: Run
    facts: Mapping[str, Any]
    body: Mapping[str, Any]
    view: str
    procedures: pd.DataFrame
    names: Mapping[int, str]
    choices: ShownChoices


def kind_of(run: Run) -> str:
    """Say what kind of answer a run is: ``trivial``, ``untrained`` or ``trained``."""
    decoder = DECODERS.get(split_id(run.decoder)[0])
    if decoder is not None and decoder.trivial:
        return "trivial"
    return "trained" if _trained(run) else "untrained"


def _trained(run: Run) -> bool:
    family = FAMILIES.get(split_id(run.method)[0])
    return family is not None and family.trained


def read_run(
    tree: Tree, run: Run, videos: pd.DataFrame, annotations: pd.DataFrame, names: Mapping[str, RunNames]
) -> ShownRun:
    """Read everything the page shows of one run.

    Parameters
    ----------
    tree, run
        Where, and which.
    videos
        Manifest of the task.
    annotations
        Annotated segments of the task.
    names
        Typed names by run.

    Raises
    ------
    RgwotError
        When a file of the run is missing or cannot be read.
    """
    folder = tree.keysteps(run)
    segments = read_segments(folder / "segments.csv")
    diagnostics = read_diagnostics(folder / "diagnostics.json")
    orders, procedures = read_orders(folder / "order.csv"), read_procedures(folder / "procedures.csv")
    own = segments[segments["scope"] == "task"]
    annotated = videos[videos["status"] == "ok"]
    result = result_id(segments)
    typed = names.get(str(run))
    known = names_of(names, str(run), segments)
    view = _view(tree.view(run), result)
    facts = {
        "id": str(run),
        "method": run.method,
        "decoder": run.decoder,
        "seed": run.seed,
        "kind": kind_of(run),
        "K": diagnostics.get("K"),
        "steps": sorted({int(step) for step in own["key_step"]} - {0}),
        "result": result,
        "names": {str(step): name for step, name in known.items()},
        # Names of an earlier result are not used; the person who typed them should know.
        "stale": sorted(typed.names.values()) if typed is not None and not known else [],
        "match": {str(step): to for step, to in match_to_steps(annotated, annotations, own).items()},
        "degenerate": bool(diagnostics.get("degenerate", False)),
        "words": soundness(diagnostics, kind_of(run) == "trivial"),
        "view": bool(view),
    }
    choices = shown_choices(diagnostics, folder / "diagnostics.json")
    return ShownRun(run, facts, _body(own, orders, procedures, videos), view, procedures, known, choices)


def _view(path: Path, result: str) -> str:
    """Return the view of a run, or nothing where it was made for other key steps."""
    if not path.exists():
        return ""
    text = path.read_text(encoding="utf-8")
    try:
        return text if json.loads(text)["result"] == result else ""
    except (ValueError, KeyError, TypeError):
        raise RgwotError(f"{path}: not what `rgwot view` writes; make it again") from None


def _body(
    segments: pd.DataFrame, orders: pd.DataFrame, procedures: pd.DataFrame, videos: pd.DataFrame
) -> dict[str, Any]:
    """Return segments per video (place in the manifest) as borders in milliseconds and key steps, or their number."""
    place = {str(video): at for at, video in enumerate(videos["video"])}
    found: dict[str, Any] = {}
    for video, own in segments.groupby("video", sort=False):
        if str(video) not in place:
            continue
        if len(own) > MOST_SEGMENTS:
            found[str(place[str(video)])] = {"many": len(own)}
            continue
        own = own.sort_values("start_s", kind="stable")
        ends = np.rint(own["end_s"].to_numpy(np.float64) * 1000).astype(np.int64)
        found[str(place[str(video)])] = {"ends": ends.tolist(), "steps": own["key_step"].tolist()}
    return {
        "segments": found,
        "orders": {
            str(place[row["video"]]): _steps(row["order"]) for row in orders.to_dict("records") if row["video"] in place
        },
        "procedures": listed(procedures),
    }


def listed(procedures: pd.DataFrame) -> list[dict[str, Any]]:
    """Return ranked procedures as ``order`` (key steps) and ``n`` (videos)."""
    return [{"order": _steps(row["order"]), "n": int(row["n_videos"])} for row in procedures.to_dict("records")]


def _steps(order: str) -> list[int]:
    return [int(step) for step in order.split(">") if step]


def read_curves(tree: Tree, runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Return the losses of every training behind the runs, averaged over `CURVE_POINTS` equal parts of it."""
    histories = {
        run: tree.history(run) for run in dict.fromkeys(Run(run.method, "", run.seed) for run in runs) if _trained(run)
    }
    histories = {run: path for run, path in histories.items() if path.exists()}
    if not histories:
        return []
    from rgwot.records import TERMS
    from rgwot.reporting.figures.losses import smoothed

    curves = []
    for run, path in histories.items():
        history = read_history(path)
        columns = {name: smoothed(history[name].to_numpy(float), CURVE_POINTS).tolist() for name in ("step", *TERMS)}
        curves.append({"method": run.method, "seed": run.seed, **columns})
    return curves
