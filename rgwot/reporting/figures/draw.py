"""From a plan (`rgwot.reporting.figures.plan`) to its matplotlib figure, by the kind of figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from matplotlib.figure import Figure

from rgwot.reporting.figures import spec as figure_spec
from rgwot.reporting.figures.bars import draw_bars
from rgwot.reporting.figures.growth import draw_growth
from rgwot.reporting.figures.losses import draw_losses
from rgwot.reporting.figures.overview import draw_overview
from rgwot.reporting.figures.plan import Plan
from rgwot.reporting.figures.protocols import draw_protocols
from rgwot.reporting.figures.sweep import draw_sweep
from rgwot.reporting.figures.teaser import draw_teaser
from rgwot.reporting.figures.transport_plans import draw_plans
from rgwot.reporting.figures.tsne import draw_tsne

DRAWN_BY: Mapping[type[figure_spec.Figure], Callable[[Plan], Figure]] = {
    figure_spec.Teaser: draw_teaser,
    figure_spec.Overview: draw_overview,
    figure_spec.Bars: draw_bars,
    figure_spec.TransportPlans: draw_plans,
    figure_spec.Losses: draw_losses,
    figure_spec.Tsne: draw_tsne,
    figure_spec.Sweep: draw_sweep,
    figure_spec.Growth: draw_growth,
    figure_spec.Protocols: draw_protocols,
}


def draw(plan: Plan) -> Figure:
    """Draw a planned figure from the files it names."""
    return DRAWN_BY[type(plan.figure)](plan)
