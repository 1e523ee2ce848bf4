"""Decoding a long sequence against fuzzy-c-means and PyMaxflow, and the time a data set of CrossTask's size takes.

A chain of 100,000 samples with planted steps is decoded by fuzzy C-means and the exact minimum of the chain energy, and
by the packages fuzzy-c-means (FCM) and PyMaxflow (aexpansion_grid). Fuzzifier, initial memberships, stopping rule,
number of starts, unary and pairwise costs are the same on both sides; each side cuts its own memberships, which
agree to the tolerance. Both run on one thread, which is what the workflow gives a decoding job, and the clock counts
its CPU time.

Needs `pip install --no-deps -r benchmarks/requirements.txt`.

    python benchmarks/decoding.py [--rounds 5] [--samples 100000] [--output FILE]
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import maxflow.fastmin
import numpy as np
import zarr
from fcmeans import FCM
from measure import arguments, record, take_turns
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from rgwot.config.settings import Settings, build
from rgwot.keysteps.chain import (
    Metric,
    edge_weights,
    energy,
    label_distance,
    minimise_chain,
    unary_costs,
    unary_weight,
)
from rgwot.keysteps.decode import decode
from rgwot.keysteps.fuzzifier import auto_fuzzifier, direction_eigenvalue
from rgwot.keysteps.fuzzy_cmeans import fuzzy_cmeans
from rgwot.keysteps.graphcut import decode_graphcut
from rgwot.keysteps.interface import Frames

Floats = NDArray[np.float64]

D, K = 128, 7
THREADS = 1
FPS = 2.0
#: Bound of the issue: times faster than the packages.
BOUND = 5.0
METRICS: tuple[Metric, ...] = ("potts", "linear")
#: Videos and primary tasks of CrossTask, and samples of its mean video, 5 minutes at 2 a second.
VIDEOS, TASKS, MEAN_SAMPLES = 2750, 18, 600


def planted(T: int, seed: int, noise: float = 0.8) -> tuple[Floats, NDArray[np.int64]]:
    """Unit embeddings (T, D) that stay for 20 to 60 samples at one of K random directions, and at which."""
    generator = np.random.default_rng(seed)
    centres = generator.normal(size=(K, D))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    pieces = -(-T // 20)
    truth = np.repeat(generator.integers(0, K, pieces), generator.integers(20, 61, pieces))[:T]
    x = centres[truth] + noise * generator.normal(size=(T, D)) / np.sqrt(D)
    return x / np.linalg.norm(x, axis=1, keepdims=True), truth


class Sides:
    """One sequence and the two ways to decode it."""

    def __init__(self, T: int, settings: Settings) -> None:
        self.x, self.truth = planted(T, 0)
        self.settings = settings
        self.m = auto_fuzzifier(direction_eigenvalue(self.x))
        cut = settings.graphcut
        self.weight = unary_weight(cut.unary, cut.unary_per, FPS)
        self.pairwise = cut.pairwise / K
        u = np.random.default_rng(0).uniform(size=(T, K))
        # What FCM makes of the same seed.
        self.initial = u / u.sum(axis=1, keepdims=True)
        self.found: dict[str, dict[str, Any]] = {}

    def theirs(self, name: str, metric: Metric, starts: int, init: str) -> None:
        """fuzzy-c-means and aexpansion_grid."""
        block = self.settings.decode
        model = FCM(
            n_clusters=K,
            m=self.m,
            max_iter=block.max_iterations,
            error=block.tolerance,
            random_state=0,
            init=init,
            n_init=starts,
        )
        model.fit(self.x)
        unary = unary_costs(model.u, self.weight)
        distance = label_distance(K, metric)
        labels = maxflow.fastmin.aexpansion_grid(unary, self.pairwise * distance.astype(np.float64))
        self._note(name, metric, unary, labels.astype(np.int64), model._objective(self.x))

    def ours(self, name: str, metric: Metric, starts: int, initial: Floats | None) -> None:
        """Fuzzy C-means and the chain minimum of the package."""
        block = self.settings.decode
        generator = np.random.default_rng(0)
        found = fuzzy_cmeans(
            self.x, K, self.m, generator, block.max_iterations, block.tolerance, starts, block.start, initial
        )
        unary = unary_costs(found.memberships, self.weight)
        labels = minimise_chain(unary, edge_weights([len(self.x)], self.pairwise, joined=False), metric)
        self._note(name, metric, unary, labels, found.objective)

    def decoder(self, name: str, metric: Metric) -> None:
        """The decoder as the workflow calls it, with the choice of the fuzzifier and the energies it reports."""
        cut = self.settings.graphcut.model_copy(update={"metric": metric})
        settings = self.settings.model_copy(update={"graphcut": cut})
        frames = Frames(self.x, (len(self.x),), FPS)
        decoded = decode_graphcut(frames, K, settings, np.random.default_rng(0))
        assert decoded.memberships is not None
        objective = decoded.facts["fuzzy_c_means"]["objective"]
        self._note(name, metric, unary_costs(decoded.memberships, self.weight), decoded.labels, objective)

    def _note(self, name: str, metric: Metric, unary: Floats, labels: NDArray[np.int64], objective: float) -> None:
        # The energy is made up afterwards, in `facts`, outside the time of either side.
        self.found[name] = {"unary": unary, "labels": labels, "objective": objective, "metric": metric}

    def facts(self, name: str) -> dict[str, Any]:
        """Objective and energy of what a side found, and the share of samples in the planted step."""
        found = self.found[name]
        weights = edge_weights([len(self.x)], self.pairwise, joined=False)
        distance = label_distance(K, found["metric"])
        counts = np.zeros((K, K))
        np.add.at(counts, (found["labels"], self.truth), 1)
        return {
            "objective": found["objective"],
            "energy": energy(found["labels"], found["unary"], weights, distance),
            "exact_minimum": energy(
                minimise_chain(found["unary"], weights, found["metric"]), found["unary"], weights, distance
            ),
            "purity": float(counts.max(axis=1).sum() / len(self.truth)),
        }


def compare(sides: Sides, rounds: int) -> dict[str, Any]:
    """Time all comparisons in turn."""
    actions = {}
    for metric in METRICS:
        actions |= {
            f"packages, random start, {metric}": lambda name, metric=metric: sides.theirs(name, metric, 1, "random"),
            f"rgwot, same start, {metric}": lambda name, metric=metric: sides.ours(name, metric, 1, sides.initial),
            f"packages, 4 k-means++ starts, {metric}": lambda name, metric=metric: sides.theirs(
                name, metric, 4, "k-means++"
            ),
            f"rgwot, 4 far-apart starts, {metric}": lambda name, metric=metric: sides.ours(name, metric, 4, None),
            f"rgwot, whole decoder, {metric}": sides_decoder(sides, metric),
        }
    timed = take_turns(
        {name: lambda name=name, act=act: act(name) for name, act in actions.items()}, rounds, clock=time.process_time
    )
    facts = {name: sides.facts(name) for name in actions}
    claims = {}
    for metric in METRICS:
        pairs = {
            f"same single start, {metric}": (f"packages, random start, {metric}", f"rgwot, same start, {metric}"),
            f"four starts each, {metric}": (
                f"packages, 4 k-means++ starts, {metric}",
                f"rgwot, 4 far-apart starts, {metric}",
            ),
            f"whole decoder (4 starts, m of its own) over one start of the packages, {metric}": (
                f"packages, random start, {metric}",
                f"rgwot, whole decoder, {metric}",
            ),
        }
        for name, (slow, fast) in pairs.items():
            ratio = timed.ratio(slow, fast)
            # Of one unary cost the chain minimum is exact; the two sides' own differ by the tolerance of C-means.
            lower = facts[slow]["exact_minimum"] <= facts[slow]["energy"] and facts[fast]["energy"] <= facts[slow][
                "energy"
            ] * (1 + 1e-9)
            claims[name] = {
                "times_faster": ratio,
                "bound": BOUND,
                "energy_over_theirs": facts[fast]["energy"] / facts[slow]["energy"],
                "energy_not_above": bool(lower),
                "holds": bool(ratio["median"] >= BOUND and lower),
            }
    return {"seconds": timed.summary(), "found": facts, "claims": claims}


def sides_decoder(sides: Sides, metric: Metric) -> Any:
    """Bind the metric, which a loop would change."""
    return lambda name: sides.decoder(name, metric)


def growth(settings: Settings, rounds: int) -> dict[str, dict[str, float]]:
    """Median CPU seconds of the whole decoder by the number of samples, and by K at 50,000 samples."""
    problems = {("samples", T): (T, K) for T in (12_500, 25_000, 50_000, 100_000, 200_000)}
    problems |= {("K", k): (50_000, k) for k in (4, 7, 14, 28)}
    times: dict[str, dict[str, float]] = {"samples": {}, "K": {}}
    for (name, value), (T, k) in problems.items():
        frames = Frames(planted(T, 0)[0], (T,), FPS)
        taken = take_turns(
            {"": lambda frames=frames, k=k: decode_graphcut(frames, k, settings, np.random.default_rng(0))},
            min(rounds, 3),
            clock=time.process_time,
        )
        times[name][f"{value:,}"] = taken.summary()[""]["median"]
    return times


def dataset(settings: Settings) -> dict[str, Any]:
    """Decode one synthetic task of CrossTask's mean size, both scopes and all files, and state what 18 would take."""
    generator = np.random.default_rng(1)
    videos = round(VIDEOS / TASKS)
    lengths = generator.integers(MEAN_SAMPLES // 2, 3 * MEAN_SAMPLES // 2 + 1, videos)
    x, _ = planted(int(lengths.sum()), 2)
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "seed0.zarr"
        root = zarr.open_group(str(store), mode="w")
        for number, part in enumerate(np.split(x, np.cumsum(lengths)[:-1])):
            group = root.create_group(f"v{number:03}")
            group.create_array("embedding", data=part.astype(np.float32))
            group.create_array("time_s", data=np.arange(len(part)) / FPS)
            group.attrs["duration_s"] = len(part) / FPS
        root.attrs.update({"complete": True, "features_fps": FPS, "method": "rgwot"})
        began, began_cpu = time.perf_counter(), time.process_time()
        decode(store, Path(folder) / "out", "graphcut", settings, 0)
        seconds, cpu = time.perf_counter() - began, time.process_time() - began_cpu
    return {
        "videos": videos,
        "samples": int(lengths.sum()),
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu, 2),
        "all_tasks": TASKS,
        "all_minutes_on_one_core": round(TASKS * seconds / 60, 2),
        "holds": TASKS * seconds < 600,
    }


def main() -> None:
    """Measure, print and write."""
    chosen = arguments(__doc__, samples=100_000)
    settings = build({"decode.K": K, "graphcut.solver": "exact"}, "benchmark")
    with threadpool_limits(THREADS):
        sides = Sides(chosen.samples, settings)
        compared = compare(sides, chosen.rounds)
        grown = growth(settings, chosen.rounds)
        whole = dataset(settings)
    print(f"{chosen.samples} samples, D = {D}, K = {K}, m = {sides.m:.3f}, {THREADS} thread")
    for name, values in compared["seconds"].items():
        facts = compared["found"][name]
        print(f"  {name:44} {values['median']:8.3f} s   J {facts['objective']:.6f}   E {facts['energy']:.4f}")
    for name, claim in compared["claims"].items():
        print(f"  {name:78} {claim['times_faster']['median']:6.2f}  holds: {claim['holds']}")
    print(f"  CrossTask: {whole['seconds']} s a task, {whole['all_minutes_on_one_core']} minutes in all")
    record(
        "decoding",
        {
            "threads": THREADS,
            "samples": chosen.samples,
            "D": D,
            "K": K,
            "m": sides.m,
            "max_iterations": settings.decode.max_iterations,
            "tolerance": settings.decode.tolerance,
            "clock": "CPU seconds of one thread",
            **compared,
            "growth": grown,
            "crosstask": whole,
        },
        chosen,
    )


if __name__ == "__main__":
    main()
