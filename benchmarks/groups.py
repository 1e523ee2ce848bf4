"""Measure how often a comparison of groups reports a difference that does not exist, or finds a real one (methods 9.8).

A study has two groups of twelve videos of a procedure with seven key steps, each of which lasts 10 ± 2 s. Videos differ
by swaps of neighbouring key steps, and by key steps that are left out (8 %) or repeated. In a planted study, one key
step lasts longer in one group, by two standard deviations of its measured duration. The figures are written to
benchmarks/report/groups.md, which takes ten minutes on one core.

    python benchmarks/groups.py [--studies 10000] [--planted 2000]
"""

from __future__ import annotations

import argparse
from collections.abc import Collection
from pathlib import Path

import numpy as np

from rgwot.procedure import Event, Recording, deviations, learn
from rgwot.procedure.groups import ALPHA, measured, permutation_tests

STEPS, EACH = 7, 12
#: The planted key step.
PLANTED = 4
MISSING, REPEATING = 0.08, 0.3
MEAN_S, SD_S = 10.0, 2.0
REPORT = Path(__file__).parent / "report/groups.md"
#: How the planted difference was chosen.
CHOICES = (
    "The planted difference is two measured standard deviations of the duration of one key step.",
    "Two choices were made after smaller tries that found less: a video without the key step has no duration, "
    "rather than 0, and the deviation is that of the measured duration, not of the simulated one.",
    "The studies in which every video has the key step were added then: n = 12 means 12 durations per group; "
    "where 8 % of the videos lack it, about 11 are left.",
)


def study(rng: np.random.Generator, longer_s: float = 0.0, always: Collection[int] = ()) -> list[Recording]:
    """Return the videos of a study; in the second half `PLANTED` takes ``longer_s`` seconds longer.

    Key steps in ``always`` occur in every video.
    """
    found = []
    for video in range(2 * EACH):
        order = 1 + np.argsort(np.arange(STEPS) + rng.normal(0, 0.5, STEPS))
        steps = [int(step) for step in order if step in always or rng.random() > MISSING]
        if steps and rng.random() < REPEATING:
            steps.insert(int(rng.integers(len(steps) + 1)), int(rng.choice(steps)))
        now, events = rng.uniform(0, 3), []
        for step in steps:
            end = now + max(0.5, rng.normal(MEAN_S, SD_S)) + longer_s * (step == PLANTED and video >= EACH)
            events.append(Event(step, now, end))
            now = end + rng.exponential(1.0)
        found.append(Recording(f"v{video:02d}", tuple(events), now + 1))
    return found


def starred(videos: list[Recording], permutations: int) -> dict[tuple[int, str], bool]:
    """Return which pairs of key step and measure are starred."""
    values, _ = measured(videos, deviations(learn(videos), videos))
    (found,) = permutation_tests(values.to_numpy(), ["a"] * EACH + ["b"] * EACH, permutations).values()
    return dict(zip(values.columns, found.star.tolist(), strict=True))


def spread(rng: np.random.Generator, always: Collection[int], studies: int = 200) -> float:
    """Return the standard deviation of the duration of `PLANTED` in videos without a difference, in seconds."""
    values = [measured(study(rng, always=always), [])[0][PLANTED, "duration"] for _ in range(studies)]
    return float(np.nanstd(np.concatenate(values)))


def main() -> None:
    """Simulate, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=10_000)
    parser.add_argument("--planted", type=int, default=2_000)
    parser.add_argument("--permutations", type=int, default=2_000)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    lines = [
        "# Comparisons of groups",
        "",
        f"By `python benchmarks/groups.py`: two groups of {EACH} videos, {STEPS} key steps, six measures, "
        f"{options.permutations:,} permutations a study, a star at {ALPHA}.",
        *CHOICES,
        "",
        "| studies | simulated | with a star | 95 % interval | with the planted one starred |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, always, planted in (
        ("without a difference", (), False),
        ("planted, every video has the key step", (PLANTED,), True),
        ("planted, 8 % of the videos lack it", (), True),
    ):
        count = options.planted if planted else options.studies
        longer_s = 2 * spread(rng, always) if planted else 0.0
        found = [starred(study(rng, longer_s, always), options.permutations) for _ in range(count)]
        share = np.mean([any(one.values()) for one in found])
        half = 1.96 * np.sqrt(share * (1 - share) / count)
        hit = f"{100 * np.mean([one[PLANTED, 'duration'] for one in found]):.1f} %" if planted else ""
        lines.append(f"| {name} | {count:,} | {100 * share:.2f} % | ± {100 * half:.2f} | {hit} |")
        print(lines[-1], flush=True)
    REPORT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
