"""What a result should be doubted for, on its page: what stands in diagnostics.json, and other seeds beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from page_tree import Task, embedded_data

from rgwot.paths import DIAGNOSTICS, name_of
from rgwot.reporting.compare import compare_pairs, read_answer


def test_the_page_repeats_the_warnings_and_compares_seeds(made: Task, page: Path) -> None:
    runs: Any = embedded_data(page)["runs"]
    found = compare_pairs([read_answer(made.tree.keysteps(run)) for run in made.runs])
    seen = []
    for at, (run, facts) in enumerate(zip(made.runs, runs, strict=True)):
        own = json.loads((made.tree.keysteps(run) / name_of(DIAGNOSTICS)).read_text()).get("warnings", [])
        expected = [f"{warning[0].upper()}{warning[1:]}." for warning in own]
        for (one, other), comparison in found.items():
            both = comparison.agreement
            same = (made.runs[one].method, made.runs[one].decoder) == (
                made.runs[other].method,
                made.runs[other].decoder,
            )
            if at in (one, other) and same and both.adjusted_rand < 0.6:
                expected.append(
                    f"Seeds 0 and 1 disagree: of 1 (the same answer; 0 is chance) they reach {both.adjusted_rand:.2f}, "
                    "expected 0.6 or more (adjusted Rand index); trust what several seeds have in common."
                )
        assert facts["warnings"] == expected
        seen.append(bool(expected))
    # Noisy embeddings deserve it, clear ones and trivial baselines do not.
    of = {(run.method, run.decoder, run.seed): any_ for run, any_ in zip(made.runs, seen, strict=True)}
    assert of["raw", "kmeans", 0]
    assert of["raw", "kmeans", 1]
    assert not of["rgwot", "graphcut", 0]
    assert not of["none", "random", 0]
