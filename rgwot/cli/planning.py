"""The verb that says what a study would cost."""

from __future__ import annotations

from pathlib import Path

import click

from rgwot.runtime.errors import RgwotError


@click.command()
@click.option(
    "--collection", "names", multiple=True, metavar="NAME", help="EgoProceL, ProceL or CrossTask; repeat. Default: all."
)
@click.option("--hours", multiple=True, metavar="NAME=HOURS", help="Hours of video that replace the published ones.")
@click.option(
    "--fps", multiple=True, default=(1.0, 2.0, 5.0), show_default=True, type=click.FloatRange(0, min_open=True),
    help="Samples per second of the features; repeat.",
)  # fmt: skip
@click.option("--methods", default=12, show_default=True, type=click.IntRange(1), help="Methods that train.")
@click.option("--seeds", default=3, show_default=True, type=click.IntRange(1), help="Trainings of a method on a task.")
@click.option("--decoders", default=1, show_default=True, type=click.IntRange(1), help="Decoders per training.")
@click.option("--iterations", default=10000, show_default=True, type=click.IntRange(1), help="Of one training.")
@click.option("--size", default=168, show_default=True, type=click.IntRange(32), help="Side of a frame, in pixels.")
@click.option("--group", default=20, show_default=True, type=click.IntRange(1), help="Short jobs per submission.")
@click.option(
    "--rates", multiple=True, metavar="NAME|FILE",
    help="Measured rates: a set of the package or a JSON file; repeat. Default: every set of the package.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Everything, inputs included, as JSON.")
def plan(
    names: tuple[str, ...],
    hours: tuple[str, ...],
    fps: tuple[float, ...],
    methods: int,
    seeds: int,
    decoders: int,
    iterations: int,
    size: int,
    group: int,
    rates: tuple[str, ...],
    as_json: bool,
) -> None:
    """Estimate jobs, hours of GPUs and cores, and the feature cache, from measured rates; shown with all inputs."""
    import json

    from rgwot.study.estimate import Study, collections, load_rates, shipped_rates
    from rgwot.study.estimate import plan as run
    from rgwot.study.text import render

    study = Study(methods, seeds, decoders, iterations, size, group)
    sets = {Path(name).stem: load_rates(name) for name in rates} or shipped_rates()
    planned = run(collections(names, _hours(hours)), study, sets, fps)
    click.echo(json.dumps(planned, indent=2) if as_json else render(planned))


def _hours(texts: tuple[str, ...]) -> dict[str, float]:
    """Read ``NAME=HOURS``."""
    found = {}
    for text in texts:
        name, _, value = text.partition("=")
        try:
            found[name] = float(value)
        except ValueError:
            found[name] = 0.0
        if not found[name] > 0:
            raise RgwotError(f"--hours: found {text!r}, expected a collection and its hours, such as CrossTask=212")
    return found
