"""What the page says first: where a result stands against the trivial baselines beside it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from rgwot.evaluation.protocols import PROTOCOLS
from rgwot.paths import Run
from rgwot.reporting.page.ranking import PROTOCOLS_IN_WORDS, ranking

OURS = Run("rgwot", "graphcut", 1)


def row(run: Run, kind: str, values: Mapping[int, tuple[float, float, float, float]]) -> dict[str, object]:
    """One line of the scores: F1 under the four protocols by seed; every other cell would mislead."""

    def cells(four: tuple[float, ...]) -> dict[str, float]:
        own = {f"{name} with exact f1": value for name, value in zip(PROTOCOLS, four, strict=True)}
        return own | {key.replace("exact", "cnc"): 1 - value for key, value in own.items()}

    mean = tuple(sum(column) / len(values) for column in zip(*values.values(), strict=True))
    seeds = [{"seed": seed, "value": cells(four)} for seed, four in values.items()]
    return {"method": run.method, "decoder": run.decoder, "kind": kind, "mean": cells(mean), "seeds": seeds}


def told(*rows: dict[str, object], run: Run = OURS) -> str:
    return " ".join(ranking(run, {"rows": list(rows)}, annotated=True)[1])


RESULT = row(OURS, "trained", {0: (0.9, 0.9, 0.9, 0.9), 1: (0.5, 0.3, 0.4, 0.6)})
ONE = row(Run("none", "one_label", 0), "trivial", {0: (0.65, 0.1, 0.1, 0.3)})
EQUAL = row(Run("none", "uniform@K=gt", 0), "trivial", {0: (0.4, 0.5, 0.25, 0.4)})
RANDOM = row(Run("none", "random", 0), "trivial", {0: (0.1, 0.1, 0.2, 0.2), 1: (0.1, 0.1, 0.6, 0.2)})


def test_what_beats_the_result_comes_first_protocol_by_protocol() -> None:
    """By the seed that is shown, against the mean over seeds of an answer; being equal is not being better."""
    assert told(RESULT, ONE, EQUAL, RANDOM) == (
        "No better than a trivial baseline under micro_video (50.0 against one label 65.0), "
        "macro_video (30.0 against equal segments (K=gt) 50.0) and macro_task (40.0 against random labels 40.0). "
        "Better than one label, equal segments (K=gt) and random labels under strict_task. "
        f"F1 in percent, with background. {PROTOCOLS_IN_WORDS} "
        "All protocols but strict_task leave out what is matched to nothing; under micro_video that alone gives "
        "one label 65.0, so a high score there shows nothing."
    )


def test_what_is_better_everywhere_is_said_to_be_and_no_more() -> None:
    text = told(RESULT, ONE, run=Run("rgwot", "graphcut", 0))
    assert "No better" not in text
    assert text.startswith("Better than one label under micro_video, macro_video, macro_task and strict_task. F1")
    assert text.endswith("under micro_video that alone gives one label 65.0.")
    assert "micro_video a high score may come from few, long segments alone." in told(RESULT, EQUAL)


def test_in_short_counts_the_scores_that_are_better() -> None:
    def short(*rows: dict[str, object], run: Run = OURS) -> str:
        return ranking(run, {"rows": list(rows)}, annotated=True)[0]

    # Under strict_task alone: 0.6 against 0.3, 0.4 and 0.2.
    assert short(RESULT, ONE, EQUAL, RANDOM) == "Better than trivial baselines by 1 of 4 scores."
    assert short(RESULT, ONE, run=Run("rgwot", "graphcut", 0)) == "Better than trivial baselines by all scores."
    best = row(Run("none", "one_label", 0), "trivial", {0: (0.5, 0.9, 0.9, 0.9)})
    assert short(RESULT, best) == "Better than trivial baselines by none of 4 scores."
    assert short(RESULT, ONE, run=Run("none", "one_label", 0)) == ""
    key = "macro_task without exact order_distance"
    ours = row(OURS, "trained", {1: (0.5, 0.3, 0.4, 0.6)})
    ours["seeds"][0]["value"][key] = 0.1  # type: ignore[index]
    other = row(Run("none", "uniform", 0), "trivial", {0: (0.1, 0.1, 0.1, 0.1)})
    for distance, words in ((0.3, "all scores, and by order (10 %"), (0.1, "all scores, but not by order (10 %")):
        other["mean"][key] = distance  # type: ignore[index]
        assert words in short(ours, other)


@pytest.mark.parametrize(
    ("run", "rows", "annotated", "words"),
    [
        (OURS, [RESULT], True, "No trivial baseline is among"),
        (OURS, [ONE], True, "Not scored, so nothing here says"),
        (OURS, None, True, "Not scored"),
        (OURS, None, False, "Nothing is annotated"),
        (Run("none", "one_label", 0), [RESULT, ONE], True, ""),
    ],
)
def test_what_cannot_be_told_is_said_not_to_be(
    run: Run, rows: list[dict[str, object]] | None, annotated: bool, words: str
) -> None:
    short, said = ranking(run, rows and {"rows": rows}, annotated)
    assert short.startswith(words)
    assert said == ([short] if words else [])
