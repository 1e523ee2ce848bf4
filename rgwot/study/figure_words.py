"""What figures and their captions say of themselves: data, protocol, seeds and settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rgwot.config.experiments import SYMBOLS, split_id
from rgwot.config.methods import FAMILIES
from rgwot.config.settings import flatten
from rgwot.evaluation.protocols import PROTOCOLS
from rgwot.reporting.figures.plan import Plan, sweep_panels
from rgwot.reporting.figures.spec import Bars, OfTasks, Protocols, Scored, Teaser, Tsne, runs_of

if TYPE_CHECKING:
    from rgwot.study.figures import FigureCatalogue as Catalogue

#: Settings that a caption tells, and what they are called there.
SAID = {
    "ot.alpha": "α", "ot.epsilon": "ε", "ot.rho": "ρ", "ot.r": "r", "ot.zeta": "ζ", "ot.solver": "solver",
    "loss.tau": "τ", "cidm.beta": "β", "cidm.lambda": "λ", "cidm.sigma": "σ", "train.N": "N",
    "train.iterations": "iterations", "decode.K": "K", "features.fps": "features per second",
    "features.weights": "backbone weights",
}  # fmt: skip


def datasets_of(plan: Plan, facts: Catalogue) -> dict[str, str]:
    """Return the datasets that a figure shows and what they are called in print."""
    figure = plan.figure
    labels = {task.dataset: task.label for task in plan.tasks}
    labels |= {video.dataset: video.label for video in plan.videos}
    labels |= {sweep.dataset: sweep.label for sweep in plan.sweeps}
    if isinstance(figure, Protocols):
        table = facts.table(figure.table)
        labels |= {table.datasets[place].dataset: label for place, label in plan.places.items()}
    return labels


def settings_text(plan: Plan, facts: Catalogue) -> str:
    """Say with which settings the first trained method of a figure ran, where the figure does not vary them."""
    runs = [run for task in plan.tasks for run in task.runs]
    runs += [run for sweep in plan.sweeps for row in sweep.rows for run in row.runs]
    trained = [run for run in runs if FAMILIES[split_id(run.method)[0]].trained]
    if not trained:
        return ""
    # Of a sweep the run with the fewest keys: all others differ from it in what the figure shows.
    run = min(trained, key=lambda one: len(split_id(one.method)[1]))
    values = flatten(facts.experiments.settings(run.method, None, run.dataset).model_dump(by_alias=True, mode="json"))
    swept = {SYMBOLS.get(panel.key, panel.key) for panel in sweep_panels(plan.figure)}
    told = {key: f"{value:g}" if isinstance(value, float) else str(value) for key, value in values.items()}
    said = [f"{symbol} = {told[key]}" for key, symbol in SAID.items() if key not in swept]
    return f"Settings of {run.method} on {run.dataset}: {', '.join(said)}"


def about_text(plan: Plan, labels: dict[str, str], facts: Catalogue) -> str:
    """Say which data, protocol and seeds a figure shows, in one line."""
    figure = plan.figure
    said = [", ".join(dict.fromkeys(labels.values()))]
    if isinstance(figure, OfTasks):
        tasks = ", ".join(task.task for task in plan.tasks)
        said = [f"{said[0]}: {tasks}" if tasks not in labels else said[0]]
        said.append(", ".join(dict.fromkeys(f"{run.label} = {run.method}" for run in runs_of(figure))))
    if isinstance(figure, Scored):
        said.append(protocol_text(figure.protocol, figure.background, figure.label_rule))
    elif isinstance(figure, Bars):
        said.append("one clustering per video, clusters matched to steps per video, background a class, exact labels")
    elif isinstance(figure, Teaser):
        said.append("one clustering per task, clusters matched to steps over its videos, background a class")
    elif isinstance(figure, Protocols):
        said.append(f"{figure.label_rule} labels")
    if isinstance(figure, Tsne):
        said.append(f"no training; t-SNE seed {figure.seed}")
    else:
        said.append(f"seed{'s' if len(plan.seeds) > 1 else ''} {', '.join(map(str, plan.seeds))}")
    weights = {facts.experiments.settings("none", None, dataset).features.weights for dataset in labels}
    if "random" in weights:
        said.append("backbone with random weights: not the paper's numbers")
    return "; ".join(part for part in said if part)


def protocol_text(protocol: str, background: str, label_rule: str) -> str:
    """Say how a score was made.

    >>> protocol_text("micro_video", "with", "exact")
    'protocol A (micro_video), background a class, exact labels'
    """
    kept = "background a class" if background == "with" else "without background"
    return f"protocol {PROTOCOLS[protocol].letter} ({protocol}), {kept}, {label_rule} labels"
