"""Tables on features that others published (workflow/published_features.yaml), for which no video is needed.

The tables of action segmentation, by the protocol of that field, are here, too; one of them, `segments`, needs the
paper's videos.
"""

from dataclasses import replace

from rgwot.reporting.tables.table import LEADING, Place, Table

from .datasets import (
    BREAKFAST,
    CROSSTASK,
    DESKTOP_ASSEMBLY,
    EGOPROCEL,
    FIFTY_SALADS,
    GTEA,
    MEAN_OF_EGOPROCEL,
    MECCANO,
    PC_ASSEMBLY,
    PC_DISASSEMBLY,
    YOUTUBE_INSTRUCTIONS,
)
from .paper import egoprocel, third_person
from .printed import FROZEN, printed
from .rows import BASELINES, CTE, OURS, RGWOT, RGWOT_PLUS, SPECTRAL, TRIVIAL, UNTRAINED

AS_PUBLISHED = "Features are frozen and come from other networks than those of the reported rows."
SEGMENTED = [BREAKFAST, FIFTY_SALADS, GTEA, YOUTUBE_INSTRUCTIONS, DESKTOP_ASSEMBLY]


def _segmented(*datasets: Place, note: str = AS_PUBLISHED) -> Table:
    return Table(
        paper=False,
        datasets=datasets,
        metrics=["mof", "miou", "f1_sampled", "f1_10", "f1_25", "f1_50", "edit"],
        blocks=[("segmentation", "without"), ("segmentation", "with")],
        rows=[*TRIVIAL, *UNTRAINED, CTE, RGWOT, RGWOT_PLUS],
        notes=[note],
    )


def segments() -> Table:
    """The protocol of unsupervised action segmentation, and segments."""
    return _segmented(MECCANO, PC_ASSEMBLY, PC_DISASSEMBLY, note=FROZEN)


def breakfast() -> Table:
    """Breakfast."""
    return _segmented(BREAKFAST)


def fifty_salads() -> Table:
    """50 Salads."""
    return _segmented(FIFTY_SALADS)


def gtea() -> Table:
    """GTEA."""
    return _segmented(GTEA)


def youtube_instructions() -> Table:
    """YouTube Instructions."""
    return _segmented(YOUTUBE_INSTRUCTIONS)


def desktop_assembly() -> Table:
    """Desktop Assembly."""
    return _segmented(DESKTOP_ASSEMBLY)


def _by(features: str) -> list[Place]:
    return [place.by(features) for place in EGOPROCEL]


def egoprocel_fact() -> Table:
    """EgoProceL by FACT's features."""
    return replace(egoprocel(), paper=False, datasets=_by("fact"), notes=[AS_PUBLISHED])


def egoprocel_vjepa() -> Table:
    """EgoProceL by pooled V-JEPA features."""
    note = "The network that pools these features was trained on the labels that are scored here."
    return replace(egoprocel(), paper=False, datasets=_by("vjepa"), notes=[note])


def _by_hiero(features: str, *reported: str) -> Table:
    return Table(
        paper=False,
        datasets=[*_by(features), MEAN_OF_EGOPROCEL],
        rows=[*TRIVIAL, *UNTRAINED, SPECTRAL, *BASELINES, *OURS],
        blocks=[("hiero", "with"), *LEADING],
        reported=printed(
            "hiero", *reported, note="mean over the six sub-datasets; its code clusters every fourth feature"
        ),
        notes=[AS_PUBLISHED],
    )


def egoprocel_omnivore() -> Table:
    """EgoProceL by HiERO's Omnivore features."""
    return _by_hiero("omnivore", "Omnivore features + spectral clustering", "HiERO (Omnivore)")


def egoprocel_egovlp() -> Table:
    """EgoProceL by HiERO's EgoVLP features."""
    return _by_hiero("egovlp", "EgoVLP features + spectral clustering", "HiERO (EgoVLP)")


def crosstask_features() -> Table:
    """CrossTask by its released features."""
    return replace(third_person(), paper=False, datasets=[CROSSTASK.by("features")], notes=[AS_PUBLISHED])


def published_features() -> Table:
    """Published features side by side."""
    ours = replace(RGWOT_PLUS, source="")
    return Table(
        paper=False,
        datasets=[
            *(place for features in ("fact", "omnivore", "egovlp", "vjepa") for place in _by(features)),
            CROSSTASK.by("features"),
            *SEGMENTED,
        ],
        rows=[*TRIVIAL, *UNTRAINED, ours],
    )


TABLES = {
    "segments": segments,
    "breakfast": breakfast,
    "fifty_salads": fifty_salads,
    "gtea": gtea,
    "youtube_instructions": youtube_instructions,
    "desktop_assembly": desktop_assembly,
    "egoprocel_fact": egoprocel_fact,
    "egoprocel_vjepa": egoprocel_vjepa,
    "egoprocel_omnivore": egoprocel_omnivore,
    "egoprocel_egovlp": egoprocel_egovlp,
    "crosstask_features": crosstask_features,
    "published_features": published_features,
}
