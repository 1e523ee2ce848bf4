"""Score RGWOT on vectors with whitened input, other windows of C-IDM, and added whitened features (methods 4.13).

The recordings are those that benchmarks/recordings.py reads from REAL_RECORDINGS. K is as annotated, frames without a
step are left out, and RGWOT trains as in the shorter run of docs/guide.md. Nothing is written.

    REAL_RECORDINGS=FOLDER python benchmarks/vectors.py --fps openpack=4 --fps jigsaws=5 [--seeds 3] [TASK ...]
"""

from __future__ import annotations

import numpy as np
from recordings import recorded_tasks

import rgwot
from rgwot.evaluation.protocols import PROTOCOLS, score

RECIPES = {
    "whitened + k-means": ("whitened", "kmeans"),
    "whitened + graph cut": ("whitened", "graphcut"),
    "RGWOT, vectors as they are": ("rgwot@encoder.input_norm=none", "graphcut"),
    "RGWOT, standardised over the task": ("rgwot@encoder.input_norm=channel", "graphcut"),
    "RGWOT": ("rgwot", "graphcut"),
    "RGWOT, window 2 % of a video": ("rgwot@cidm.unit=share,sigma=0.02", "graphcut"),
    "RGWOT, beside whitened": ("rgwot@encoder.beside=0.8", "graphcut"),
    "RGWOT, window and beside: rgwot-whitened": ("rgwot-whitened", "graphcut"),
    "RGWOT, with speed": ("rgwot@encoder.speed=true", "graphcut"),
    "rgwot-whitened, with speed": ("rgwot-whitened@encoder.speed=true", "graphcut"),
}
SHORTER = {"encoder": {"channels": 64, "hidden": 64}, "train": {"iterations": 800, "lr": 1e-3, "threads": 1}}


def main() -> None:
    """Print a line per task and recipe: F1 of macro_task and strict_task, in percent, over the seeds."""
    seeds, tasks = recorded_tasks(__doc__, 3)
    print("task | recipe | macro_task F1 | strict_task F1")
    for task, made in tasks:
        recordings = {store.path.stem: store.x for store in made.stores}
        for name, (method, decoder) in RECIPES.items():
            scores = []
            for seed in range(seeds):
                found = rgwot.discover(
                    recordings, fps=made.fps, method=method, decoder=decoder, K=made.K, settings=SHORTER, seed=seed
                )
                labels = [found.labels[video] for video in recordings]
                both = (PROTOCOLS[protocol] for protocol in ("macro_task", "strict_task"))
                scores.append([100 * score(one, made.labels, labels, made.K, made.K, "without").f1 for one in both])
            spread = np.std(scores, axis=0, ddof=1) if len(scores) > 1 else np.zeros(2)
            cells = [f"{m:.1f} ± {s:.1f}" for m, s in zip(np.mean(scores, axis=0), spread, strict=True)]
            print(task, name, *cells, sep=" | ", flush=True)


if __name__ == "__main__":
    main()
