"""Compare cuts of the tree of key steps, at K as annotated, with the mean field (methods 5.12).

The recordings are those that benchmarks/recordings.py reads from REAL_RECORDINGS. At most 3,000 samples of a task
are used. Nothing is written.

    REAL_RECORDINGS=FOLDER python benchmarks/tree.py --fps openpack=4 --fps jigsaws=5 [--seeds 5] [TASK ...]
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from recordings import recorded_tasks
from threadpoolctl import threadpool_limits

from rgwot.config.experiments import parsed
from rgwot.evaluation.protocols import PROTOCOLS, score
from rgwot.keysteps.common_time import HINT, with_time
from rgwot.keysteps.interface import Frames
from rgwot.keysteps.meanfield import decode_meanfield
from rgwot.keysteps.settings import Meanfield
from rgwot.keysteps.tree import Merges, grow
from rgwot.timing import thinned

MOST_SAMPLES = 3000


def cut(merges: Merges, K: int) -> np.ndarray:
    """Return the key step 0..K-1 of every leaf: clusters are merged in order until K are left."""
    leaves = len(merges) + 1
    members = {k: [k] for k in range(leaves)}
    for new, (a, b, _) in enumerate(merges[: max(leaves - K, 0)], start=leaves):
        members[new] = members.pop(a) + members.pop(b)
    return np.argmax([np.isin(range(leaves), own) for own in members.values()], axis=0)


def main() -> None:
    """Print a line per task."""
    seeds, tasks = recorded_tasks(__doc__, 5)
    print("task | annotated K | macro_task F1 of a cut | of meanfield")
    for name, task in tasks:
        K = task.K
        embed = parsed("rgwot-plus")(task.stores, 0)
        x = np.concatenate([embed(store).embedding for store in task.stores]).astype(np.float64)
        kept, lengths, _ = thinned([len(store) for store in task.stores], MOST_SAMPLES)
        made, borders = Frames(x[kept], lengths, task.fps), np.cumsum(lengths)[:-1]
        truths = np.split(np.concatenate(task.labels)[kept], borders)
        # Time has the same weight as in the tree.
        timed = replace(made, x=with_time(made.x, made.lengths, HINT))
        scores = []
        for seed in range(seeds):
            with threadpool_limits(1):
                tree = grow(made.x, made.lengths, np.random.default_rng([seed, 3]))
                of_tree = cut(tree.merges, K)[tree.leaves]
                decoded = decode_meanfield(timed, K, Meanfield(), np.random.default_rng([seed, 0])).labels
            parts = (np.split(found, borders) for found in (of_tree, decoded))
            scores.append([100 * score(PROTOCOLS["macro_task"], truths, one, K, K, "without").f1 for one in parts])
        mean, spread = np.mean(scores, axis=0), np.std(scores, axis=0, ddof=1)
        cells = [f"{m:.1f} ± {s:.1f}" for m, s in zip(mean, spread, strict=True)]
        print(name, K, *cells, sep=" | ", flush=True)


if __name__ == "__main__":
    main()
