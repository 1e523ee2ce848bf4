"""Write benchmarks/report/performance.md from the records in benchmarks/results.

python benchmarks/performance.py
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from measure import RESULTS

from rgwot.runtime.files import write_text

DOCS = Path(__file__).resolve().parent / "report" / "performance.md"
Record = Mapping[str, Any]


def spread(values: Mapping[str, float], unit: str = "") -> str:
    """Median, and smallest and largest in brackets."""
    return f"{values['median']:g}{unit} ({values['min']:g} to {values['max']:g})"


def kept(claim: Mapping[str, Any]) -> str:
    """Whether a stated bound was reached."""
    return "reached" if claim["holds"] else "**not reached**"


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table in Markdown; the first column is text, the others are numbers."""
    names = list(head)
    lines = [names, ["---", *["---:"] * (len(names) - 1)], *([str(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def where(record: Record) -> str:
    """What a record was made on, in one line."""
    machine = record["hardware"]
    used = f"{machine['cores']} cores of {machine['processor']}" if not machine["gpu"] else machine["gpu"]
    packages = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    threads = record.get("threads", machine["threads"])
    return f"{used}, {threads} threads, {record['rounds']} rounds; {record['system']}; {packages}."


def step(record: Record) -> str:
    """Training: the step with cached features against the step with the backbone in the loop."""
    seconds, claims = record["seconds"], record["claims"]
    loops = [name for name in claims if name.endswith("in the loop")]
    compared = table(
        ("", "bound by operations", "times longer than cached", "share of the bound", "at least"),
        (
            (
                name,
                claims[name]["bound"],
                spread(claims[name]["times longer than cached"]),
                claims[name]["share of the bound"],
                f"{claims[name]['at least']} {kept(claims[name])}",
            )
            for name in loops
        ),
    )
    rates = table(
        ("rate of the step over that of a matrix product in the same run", "share", "at least"),
        (
            (
                name.removeprefix("rate of the "),
                spread(claim["share"]),
                f"{claim['at least']} {kept(claim)}" if "holds" in claim else "",
            )
            for name, claim in claims.items()
            if name.startswith("rate")
        ),
    )
    counted = table(("multiply-adds of one iteration", "10⁹"), record["multiply-adds, 1e9"].items())
    times = table(("step", "seconds"), ((name, spread(values)) for name, values in seconds.items()))
    gpu = record.get("10,000 iterations")
    last = (
        f"10,000 iterations on {record['hardware']['gpu']}: {gpu['minutes']} minutes, "
        f"{gpu['milliseconds per iteration']} ms each over a floor of {gpu['floor, milliseconds']} ms ({kept(gpu)})."
        if gpu
        else "**GPU: not measured**, none was at hand. `python benchmarks/training_step.py --device cuda` does it, "
        "with the time of 10,000 iterations against two minutes and the step against its floor."
    )
    return f"""## Training: the backbone out of the loop

One step is one pair of videos: N = 32 frames each, c = 2, 168 px, 512 channels. The research way reads the
frames from an HDF5 file one by one, runs
ResNet-50 to conv4c, plain `nn.Conv3d` layers and `torch.optim.Adam`; ours gathers cached maps and leaves out
the temporal taps
that only meet zero padding. The encoder dominates both, so operations were counted first, and the ratio of
counts is the bound.

{counted}

{compared}

{rates}

A share above 1 is no mistake: on AMD, PyTorch's float32 matrix product (MKL) does fewer multiply-adds a second than its
convolution (oneDNN), 92 against 211 billion on the machine below.

{times}

{last}

{where(record)}
"""


def solver(record: Record) -> str:
    """Transport: batches of pairs against POT."""
    rows = []
    for case in record["against_pot"]:
        ms, pot = case["ms_per_problem"], case["counted"]
        ratios = {size: case["ratios"][f"{pot} / ours, {size}"]["median"] for size in (1, 4, 16)}
        rows.append(
            (
                case["frames"],
                f"{ms[pot]['median']:g}",
                f"{ms['pot sinkhorn, potentials kept']['median']:g}",
                *(f"{ms[f'ours, {size}']['median']:g}" for size in (1, 4, 16)),
                " / ".join(f"{value:.3g}" for value in ratios.values()),
                f"{case['bound']:g} {kept(case)}" + ("" if case["equally_exact"] else ", **not equally exact**"),
            )
        )
    against = table(
        (
            "N = M",
            "POT, ms",
            "POT, potentials kept, ms",
            "ours, 1 pair",
            "4 pairs",
            "16 pairs",
            "times faster (1 / 4 / 16)",
            "at least",
        ),
        rows,
    )
    grown = record["growth"]
    sizes = list(grown["batches of 1"]["ms_per_problem"])
    growth = table(
        ("ms per pair, N =", *sizes, "exponent"),
        (
            (
                name,
                *(f"{grown[name]['ms_per_problem'][size]['median']:g}" for size in sizes),
                "; ".join(f"{span}: {value}" for span, value in grown[name]["exponent"].items()),
            )
            for name in ("batches of 1", "batches of 4")
        ),
    )
    parity = table(
        ("N", "`parity`, ms per pair"),
        ((case["frames"], f"{case['ms_per_problem']['parity, 4']['median']:g}") for case in record["against_pot"]),
    )
    settings = ", ".join(f"{name} = {value}" for name, value in record["settings"].items())
    octaves = "; ".join(
        f"{name}, " + ", ".join(f"{span} {value}" for span, value in grown[name]["exponent_between_neighbours"].items())
        for name in ("batches of 1", "batches of 4")
    )
    return f"""## Transport: batches of pairs against POT

Fused Gromov-Wasserstein with entropy, float64, {settings}, to the same objective (within
{record["same"]["objective"]:g}) and the same marginals (L1 error at most
{record["same"]["marginals_L1"]:g}), both checked in the run. POT is its projected gradient solver, with or
without its warm start, whichever is faster, at the
loosest tolerance that is exact enough; "potentials kept" is the same iteration around `ot.sinkhorn` as POT could do it.

{against}

Growth, bound N^{grown["bound"]:g} ({kept(grown)}):

{growth}

Between neighbouring sizes the exponent varies with the number of iterations and with the method of the inner solver:
{octaves}.

The public code's loop (`ot.solver: parity`, 25 × 1 passes, whose row sums are far from the marginals) is no
cheaper in kind:

{parity}

{where(record)}
"""


def kantorovich(record: Record) -> str:
    """The linear problems of VAVA and OPEL, which POT solves."""
    rows = []
    for name in record["1 pairs"]["ms"]["solver"]:
        rows.append((name, *(record[pairs]["ms"]["solver"][name] for pairs in ("1 pairs", "4 pairs"))))
    rows.append(
        ("one step of `rgwot`, smallest encoder", *(record[p]["ms"]["step"]["rgwot"] for p in ("1 pairs", "4 pairs")))
    )
    return f"""## Kantorovich problems: POT, pair after pair

VAVA and OPEL solve one linear transport problem of 33 × 33 per pair, about 20 Sinkhorn passes in the log domain. POT
takes one pair at a time; with `ot.sinkhorn: batched` as many passes as make the marginals exact to 10⁻⁶. Fastest of
30 rounds, ms:

{table(("", "1 pair", "4 pairs"), rows)}

Even in the smallest training the solver is below one percent of a step.

{record["hardware"]}, {record["threads"]} thread;
{", ".join(f"{name} {version}" for name, version in record["versions"].items())}.
"""


def cache(record: Record) -> str:
    """The feature store: what training and embedding read, by tier and codec."""
    claims = record["claims"]
    rates = table(
        ("rate over the same reads from `np.memmap`", "share", "at least"),
        (
            (
                f"{name} (against {claim['against']})",
                spread(claim["rate"]),
                f"{claim['at least']} {kept(claim)}" if "holds" in claim else "",
            )
            for name, claim in claims.items()
        ),
    )
    codecs = table(
        ("codec", *next(iter(record["codecs"].values()))),
        ((name, *values.values()) for name, values in record["codecs"].items()),
    )
    times = table(
        ("", "ms per step"), ((name, spread(values)) for name, values in record["milliseconds per step"].items())
    )
    return f"""## The feature cache

A training step reads 32 random frames and the frame after each from two videos, {record["MB per step"]} MB at
168 px. `{record["frames"][0]} videos of {record["frames"][1]} frames`,
{100 * record["zeros"]:.0f} % of the values zero (seeded random weights; trained ones may compress better). Page
cache warm.

{rates}

{codecs}

64 frames are one chunk and one file, with a checksum, read by Zarr. `features.codec: none` is the default; `lz4` (of
shuffled bits) and `zstd` (level 1) are there for those whose disk is dearer than their time. Values
are the same. A store is written at the rates above, a hundred times faster than the network makes its frames.

{times}

{where(record)}
"""


def extraction(record: Record) -> str:
    """Extraction against its parts."""
    about, cuda = record["video"], record["clock"].startswith("wall")
    lines = [
        "## Extraction, GPU" if cuda else "## Extraction",
        "",
        f"A synthetic video of {about['seconds']} s (320 x 240, 30 frames per second), {about['frames']} frames "
        f"sampled, {about['settings']['size']} px, {about['settings']['batch']} frames a forward pass, "
        f"{about['settings']['precision']}.",
        "",
        table((f"{record['clock']}", ""), ((name, spread(values)) for name, values in record["seconds"].items())),
        "",
    ]
    if cuda:
        lines += [
            f"Rate {name}: {spread(claim)}, at least {claim['bound']}: {kept(claim)}."
            for name, claim in record["claims"].items()
        ]
    else:
        ratio, beside = record["parts_over_extraction"], record["side_by_side"]
        lines += [
            "Extraction cannot take less CPU time than the bare network, bare decoding and bare writing together. All "
            f"on one core and with the network loaded before, their sum over extraction is {spread(ratio)}, at least "
            f"{ratio['bound']}: {kept(ratio)}. The network is {100 * record['network_share_of_extraction']:.1f} % of "
            f"extraction and {100 * record['bound_network_share']:.1f} % of the parts.",
            "",
            f"{beside['jobs']} extractions at once, {beside['how']}: {beside['times_the_rate_of_one']:.2f} times the "
            "rate of one.",
            "",
            "**GPU: not measured**, none was at hand; `python benchmarks/extraction.py --device cuda` does it.",
        ]
    memory, errors = record["memory"], record["errors"]
    peaks = ", ".join(f"{value:.0f} MiB at {length}" for length, value in memory["MiB"].items())
    told = "; ".join(
        f"{name} {error['relative_error']:.1e} (at most {error['bound']:g})" for name, error in errors.items()
    )
    lines += [
        "",
        f"Peak memory of the largest process: {peaks}; bound {memory['bound']}: {kept(memory)}"
        + (f" ({memory['note']})." if "note" in memory else "."),
        "",
        f"Relative error against the plain network in float32: {told}.",
        "",
        where(record),
        "",
    ]
    return "\n".join(lines)


def decoding(record: Record) -> str:
    """Key steps of a long sequence."""
    claims = table(
        ("", "times faster", "their energy", "at least"),
        (
            (
                name,
                spread(claim["times_faster"]),
                f"{claim['energy_over_theirs']:.6f} of it",
                f"{claim['bound']:g} {kept(claim)}",
            )
            for name, claim in record["claims"].items()
        ),
    )
    times = table(("", "seconds"), ((name, spread(values)) for name, values in record["seconds"].items()))
    whole = record["crosstask"]
    growth = ""
    if "growth" in record:
        growth = "\n".join(
            "\n" + table((f"seconds of the whole decoder, {name} =", *rows), (("", *rows.values()),)) + "\n"
            for name, rows in record["growth"].items()
        )
    return f"""## Decoding a long sequence

{record["samples"]:,} samples, D = {record["D"]}, K = {record["K"]}: fuzzy C-means and the exact chain minimum
(`graphcut@graphcut.solver=exact`) against the packages
fuzzy-c-means and PyMaxflow (`aexpansion_grid`), same fuzzifier, stopping rule and costs.

{claims}

{times}
{growth}
CrossTask, {whole["all_tasks"]} tasks: {whole["seconds"]} s for one of {whole["videos"]} videos and
{whole["samples"]:,} samples, both scopes and all files; {whole["all_minutes_on_one_core"]} minutes
on one core for all.

{where(record)}
"""


def jobs(record: Record) -> str:
    """Where the time of a run goes, and how it grows with the videos of a task."""
    sizes = list(next(iter(record["rules"].values()))["by_videos"])
    rows = []
    for name, rule in record["rules"].items():
        cells = [rule["by_videos"].get(size) for size in sizes]
        rows.append(
            (
                f"`{name}`",
                *(f"{cell['jobs']} × {cell['s']:.1f} s, {cell['mb']:.0f} MB" if cell else "" for cell in cells),
                f"{rule.get('asked_mb', '')}",
            )
        )
    return f"""## Every job, and how it grows with the videos of a task

The demo through the workflow with tasks of {", ".join(sizes[:-1])} and {sizes[-1]} videos of
{record["frames_per_video"]} frames (small encoder, 40 iterations), from the files in `results/benchmarks`: number of
jobs, the longest, the largest resident memory; last, what a job of the largest task asks a scheduler for, in
MB. On such small clips most jobs are their own start,
1 to 3 s of Python and PyTorch; synthesis is the only stage of the demo that a real dataset does not have.

{table(("rule", *(f"{size} videos" for size in sizes), "asks for, MB"), rows)}

{where(record)}
"""


def demo(record: Record) -> str:
    """The demo against an earlier revision."""
    before, after = record["revisions"].values()
    rows = [
        (
            f"{label}, s",
            *(spread(record[f"{kind}_s"][name]) for name in ("before", "after")),
            spread(record[f"{kind}_factor"]),
        )
        for kind, label in (("wall", "wall time"), ("cpu", "CPU time"))
    ]
    return f"""## The demo, before and after

Before and after the work on speed (10f7c2d and 5364273) all 18 score files and 54 files of key steps that the demo
makes are byte for byte the same: what changes rounding is a setting that is off. With `features.fused` on, as it
was at 4cfacf4, features differ by 1e-6, which training multiplies: scores then move within the spread of the seeds.

Clips to scores of {record["seeds"]} seed, at revision {before} (the first that ran the demo from end to end) and at
{after}, in turn, {record["cores"]} cores:

{table(("", before, after, "factor"), rows)}

{where(record)}
"""


def small_study(record: Record) -> str:
    """A small study against an earlier revision, and where its time goes."""
    before, after = record["revisions"].values()
    shown = {
        "demo": "the demo, from nothing",
        "former": "the demo by its former backbone, from nothing",
        "page": "the first answer and its page, features there",
        "table": "seven rows of the first table, 16 tasks of short clips",
    }
    there = {what: label for what, label in shown.items() if what in record}
    times = [
        (label, *(spread(record[what]["wall_s"][name]) for name in ("before", "after")), spread(record[what]["factor"]))
        for what, label in there.items()
    ]
    shares = []
    for what, label in there.items():
        for name, revision in record["revisions"].items():
            found = record["where"][f"{what}, {name}"]
            rest = found["cpu_s"] - found["jobs_cpu_s"] - found["planning_cpu_s"]
            seconds = (found[key] for key in ("wall_s", "cpu_s", "planning_cpu_s"))
            shares.append((
                f"{label}, {revision}", *seconds, f"{found['jobs']}: {found['jobs_cpu_s']}", round(rest, 1),
                found["system_cpu_s"], f"{found['idle']:.0%}, {found['disk']:.0%}",
            ))  # fmt: skip
    rules = [
        (label, ", ".join(f"`{rule}` {n}: {cpu_s}" for rule, (n, cpu_s) in found["rules"].items() if cpu_s >= 0.5))
        for what, label in there.items()
        for found in [record["where"][f"{what}, after"]]
    ]
    found = {
        what: [sum(record[what]["same"][part][place] for what in there if "same" in record[what]) for place in (0, 1)]
        for what, part in (("tables", "key_steps"), ("lines", "score_lines"))
    }
    return f"""## A small study, before and after

From an empty `results` (or one with nothing but features) to all files, at revision {before} and at {after}, in turn,
{record["cores"]} cores:

{table(("seconds", before, after, "factor"), times)}

The demo has had a trained backbone since {before}, a smaller one. With the former, a ResNet-50 with random weights
({record["former"]["rounds"]} round), training takes most of the time and is what it was: the larger part of the demo's
factor is the backbone's. With it all is computed as then: of {found["tables"][0]} tables of key steps of that demo and
of the table's rows {found["tables"][1]} are the same byte for byte, and of {found["lines"][0]} lines of scores
{found["lines"][1]} stand among the present ones, which have more.

Where the time went in the last round. Planning is a dry run; what jobs took includes what each imported itself; the
rest is the start of processes, imports that jobs share and Snakemake's own work. At {before} it was Snakemake that
measured jobs, by sampling, which misses much of the short ones. The system's share of all that is reading, writing and
starting processes:

{table(("", "s", "CPU s", "planning, CPU s", "jobs: CPU s", "rest", "system", "idle, for the disk"), shares)}

Jobs and their CPU seconds by rule, at {after}, where they are half a second or more:

{table(("", "rules"), rules)}

{where(record)}
"""


def suite(record: Record) -> str:
    """The tests against those of an earlier revision."""
    before, after = record["revisions"].values()
    rows = [
        (case, *(", ".join(f"{run.get(key, 0):g}" for run in runs) for key in ("wall_s", "cpu_s", "passed", "failed")))
        for case, runs in record["runs"].items()
    ]
    return f"""## The tests, before and after

All tests at revision {before} and at {after}, in turn, {record["cores"]} workers, with a Chromium, on an idle machine
and beside two processes that never rest; CPU time is the whole machine's less those two.

{table(("", "s", "CPU s", "passed", "failed"), rows)}

The whole suite takes {record["cpu_share"]["median"]:.0%} of the CPU time it took, with the tests of all that was built
in between; without files of tests that have no forerunner at {before} it takes
{record["cpu_share_same_files"]["median"]:.0%}.

{where(record)}
"""


def first_answer(record: Record) -> str:
    """From cached features to the page, without any training."""
    rows = [(f"`{name}`", spread(values)) for name, values in record["stages_s"].items()]
    rows.append(("all, as the user waits", spread(record["wall_s"])))
    rows.append(("CPU time of all", spread(record["cpu_s"])))
    claim = {"holds": record["holds"]}
    return f"""## The first answer

`snakemake --cores {record["cores"]} first` on the demo's ten clips of a minute, from cached features to segments,
orders, scores and page; nothing is trained. Below {record["bound_s"]:g} s: {kept(claim)}. What the stages leave of the
whole is Snakemake's own start and planning; on two cores `strips` runs beside the others. Others waited for the
processor meanwhile: {spread(record["load"])} processes on {record["hardware"]["cores"]} cores before a round.

{table(("stage", "seconds"), rows)}

{where(record)}
"""


SECTIONS = {
    "training_step": step,
    "solver": solver,
    "kantorovich": kantorovich,
    "cache": cache,
    "extraction": extraction,
    "extraction_cuda": extraction,
    "decoding": decoding,
    "jobs": jobs,
    "small_study": small_study,
    "suite": suite,
    "first_answer": first_answer,
    "demo": demo,
}

HEAD = """# Performance

Made by `python benchmarks/performance.py` from `benchmarks/results/*.json`, which `make bench` measures; do not
edit. Ratios are medians (smallest to largest)
over rounds in which the compared actions took turns on one machine; absolute times are for orientation. Bounds
that were not reached say so.
"""


def main() -> None:
    """Write the page from all records there are."""
    parts = [HEAD]
    for name, section in SECTIONS.items():
        path = RESULTS / f"{name}.json"
        if path.exists():
            parts.append(section(json.loads(path.read_text(encoding="utf-8"))))
    write_text("\n".join(parts), DOCS)
    print(f"written: {DOCS}")


if __name__ == "__main__":
    main()
