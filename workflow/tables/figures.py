"""The figures of the paper.

A function makes a figure: its name is that of the files, results/figures/NAME.pdf and .png, its docstring the title.
`tasks` and `videos` name what to draw; if something is not configured, the first other tasks and annotated videos take
its place. Figures of single videos show the first configured seed.
"""

from dataclasses import replace

from rgwot.reporting.figures.bars import Bars
from rgwot.reporting.figures.losses import Losses
from rgwot.reporting.figures.overview import Overview
from rgwot.reporting.figures.plans import Plans
from rgwot.reporting.figures.sweep import Growth, ReportedCurve, Sweep, SweepPanel
from rgwot.reporting.figures.teaser import Teaser
from rgwot.reporting.figures.tsne import Tsne

from .datasets import CMU_MMAC, EGTEA_GAZE, MECCANO, PC_ASSEMBLY, PC_DISASSEMBLY, PROCEL
from .paper import ALPHAS, EQUAL_SEGMENTS, KEY_STEPS, MARGINS, RADII, RHOS, TRAINED_ON
from .printed import FOLDER
from .rows import CNC, ONE_LABEL, OPEL, RANDOM, RGWOT, UNIFORM, VAOT, WHITENED_MEANFIELD

WHITENED = replace(WHITENED_MEANFIELD, label="whitened")


def teaser() -> Teaser:
    """Procedure learning from unlabelled videos."""
    return Teaser(dataset=PC_ASSEMBLY, runs=[RGWOT])


def overview() -> Overview:
    """Regularised Gromov-Wasserstein transport between the frames of two videos."""
    return Overview(dataset=PC_ASSEMBLY, runs=[RGWOT])


def degenerate() -> Bars:
    """Without the contrastive term."""
    tasks = ["make_coffee", "make_pbj_sandwich", "make_smoke_salmon_sandwich", "repot_plant"]
    return Bars(dataset=PROCEL, tasks=tasks, n_tasks=4, runs=[VAOT], beside="collapse")


def qualitative() -> Bars:
    """Key steps found."""
    tasks = ["make_coffee", "make_smoke_salmon_sandwich"]
    return Bars(dataset=PROCEL, tasks=tasks, n_tasks=2, runs=[WHITENED, CNC, OPEL, RGWOT], beside="scores")


def training_videos() -> Growth:
    """How many videos the encoder learns from."""
    return Growth(
        dataset=MECCANO,
        lines={row.label: TRAINED_ON[row.id] for row in (CNC, OPEL, VAOT, RGWOT)},
        levels=[
            replace(ONE_LABEL, label="one label"),
            replace(UNIFORM, label="equal segments"),
            replace(RANDOM, label="random"),
            WHITENED,
        ],
        reported=ReportedCurve(file=FOLDER / "egoprocel.csv", x=17),
        reported_methods=["RGWOT", "VAOT", "OPEL", "GPL-w/o BG", "UG-I3D", "CnC"],
    )


def sensitivity() -> Sweep:
    """Sensitivity to α, r, ρ and λ."""

    # The paper reports one point of each of the four sweeps, its own setting, which the table of K has at K = 7.
    def peak(x: float) -> ReportedCurve:
        return ReportedCurve(file=FOLDER / "ablation_k.csv", where={"K": "7"}, x=x, mark="reported peak")

    alpha, radius = "α, weight of the structural term", "r, radius of the structural prior"
    rho, margin = "ρ, weight of the temporal prior", "λ, margin of C-IDM"
    return Sweep(
        panels=[
            SweepPanel(dataset=PC_ASSEMBLY, label=alpha, rows=ALPHAS, above="temperature", reported=peak(0.3)),
            SweepPanel(dataset=PC_ASSEMBLY, label=radius, rows=RADII, log=True, above="radius", reported=peak(0.02)),
            SweepPanel(dataset=PC_ASSEMBLY, label=rho, rows=RHOS, reported=peak(0.35)),
            SweepPanel(dataset=PC_ASSEMBLY, label=margin, rows=MARGINS, reported=peak(2)),
        ]
    )


def k_score() -> Sweep:
    """Number of key steps."""
    return Sweep(
        panels=[
            SweepPanel(
                dataset=place,
                label="K, clusters",
                rows=KEY_STEPS,
                untrained={"uniform": EQUAL_SEGMENTS},
                classes=True,
                reported=ReportedCurve(file=FOLDER / "ablation_k.csv", x="K"),
            )
            for place in (PC_ASSEMBLY, PC_DISASSEMBLY)
        ]
    )


def transport_plan() -> Plans:
    """Transport of one pair."""
    return Plans(dataset=PC_ASSEMBLY, runs=[RGWOT], radii=(0.02, 0.1))


def losses() -> Losses:
    """Loss terms over training."""
    return Losses(dataset=PC_ASSEMBLY, runs=[RGWOT, VAOT])


def tsne_egoprocel() -> Tsne:
    """Backbone features over time, EgoProceL."""
    return Tsne(panels=[CMU_MMAC, EGTEA_GAZE, MECCANO, PC_ASSEMBLY])


def tsne_procel() -> Tsne:
    """Backbone features over time, ProceL."""
    return Tsne(panels=[PROCEL] * 4)
