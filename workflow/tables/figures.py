"""The figures of the paper.

A function makes a figure: its name is the NAME of the files results/figures/NAME.pdf and .png, its docstring the title.
`tasks` name what to draw; if one is not configured, the first other task takes its place. Figures of single videos show
the first annotated videos and the first configured seed.
"""

from dataclasses import replace

from rgwot.reporting.figures.bars import step_bars
from rgwot.reporting.figures.drawing import Drawing
from rgwot.reporting.figures.losses import loss_terms
from rgwot.reporting.figures.overview import method_overview
from rgwot.reporting.figures.plans import solver_plans
from rgwot.reporting.figures.sweep import ReportedCurve, growth_by_videos, panel, parameter_sweep
from rgwot.reporting.figures.teaser import pair_teaser
from rgwot.reporting.figures.tsne import feature_tsne
from rgwot.study.study import Study

from .datasets import CMU_MMAC, EGTEA_GAZE, MECCANO, PC_ASSEMBLY, PC_DISASSEMBLY, PROCEL
from .paper import ALPHAS, EQUAL_SEGMENTS, KEY_STEPS, MARGINS, RADII, RHOS, TRAINED_ON
from .printed import FOLDER
from .rows import CNC, ONE_LABEL, OPEL, RANDOM, RGWOT, UNIFORM, VAOT, WHITENED_MEANFIELD

WHITENED = replace(WHITENED_MEANFIELD, label="whitened")


def teaser(study: Study) -> Drawing:
    """Procedure learning from unlabelled videos."""
    return pair_teaser(study, PC_ASSEMBLY, RGWOT)


def overview(study: Study) -> Drawing:
    """Regularised Gromov-Wasserstein transport between the frames of two videos."""
    return method_overview(study, PC_ASSEMBLY, RGWOT)


def degenerate(study: Study) -> Drawing:
    """Without the contrastive term."""
    tasks = ["make_coffee", "make_pbj_sandwich", "make_smoke_salmon_sandwich", "repot_plant"]
    return step_bars(study, PROCEL, [VAOT], beside="collapse", tasks=tasks, n_tasks=4)


def qualitative(study: Study) -> Drawing:
    """Key steps found."""
    tasks = ["make_coffee", "make_smoke_salmon_sandwich"]
    return step_bars(study, PROCEL, [WHITENED, CNC, OPEL, RGWOT], beside="scores", tasks=tasks, n_tasks=2)


def training_videos(study: Study) -> Drawing:
    """How many videos the encoder learns from."""
    return growth_by_videos(
        study,
        MECCANO,
        {row.label: TRAINED_ON[row.id] for row in (CNC, OPEL, VAOT, RGWOT)},
        levels=[
            replace(ONE_LABEL, label="one label"),
            replace(UNIFORM, label="equal segments"),
            replace(RANDOM, label="random"),
            WHITENED,
        ],
        reported=ReportedCurve(file=FOLDER / "egoprocel.csv", x=17),
        reported_methods=["RGWOT", "VAOT", "OPEL", "GPL-w/o BG", "UG-I3D", "CnC"],
    )


def sensitivity(study: Study) -> Drawing:
    """Sensitivity to α, r, ρ and λ."""

    # Of each of the four sweeps, the paper reports only the point of its own setting, K = 7 in the table of K.
    def peak(x: float) -> ReportedCurve:
        return ReportedCurve(file=FOLDER / "ablation_k.csv", where={"K": "7"}, x=x, mark="reported peak")

    alpha, radius = "α, weight of the structural term", "r, radius of the structural prior"
    rho, margin = "ρ, weight of the temporal prior", "λ, margin of C-IDM"
    return parameter_sweep(
        study,
        [
            panel(study, PC_ASSEMBLY, alpha, ALPHAS, above="temperature", reported=peak(0.3)),
            panel(study, PC_ASSEMBLY, radius, RADII, log=True, above="radius", reported=peak(0.02)),
            panel(study, PC_ASSEMBLY, rho, RHOS, reported=peak(0.35)),
            panel(study, PC_ASSEMBLY, margin, MARGINS, reported=peak(2)),
        ],
    )


def k_score(study: Study) -> Drawing:
    """Number of key steps."""
    untrained = {"uniform": EQUAL_SEGMENTS}
    reported = ReportedCurve(file=FOLDER / "ablation_k.csv", x="K")
    return parameter_sweep(
        study,
        [
            panel(study, place, "K, clusters", KEY_STEPS, untrained=untrained, classes=True, reported=reported)
            for place in (PC_ASSEMBLY, PC_DISASSEMBLY)
        ],
    )


def transport_plan(study: Study) -> Drawing:
    """Transport of one pair."""
    return solver_plans(study, PC_ASSEMBLY, RGWOT, radii=(0.02, 0.1))


def losses(study: Study) -> Drawing:
    """Loss terms over training."""
    return loss_terms(study, PC_ASSEMBLY, [RGWOT, VAOT])


def tsne_egoprocel(study: Study) -> Drawing:
    """Backbone features over time, EgoProceL."""
    return feature_tsne(study, [CMU_MMAC, EGTEA_GAZE, MECCANO, PC_ASSEMBLY])


def tsne_procel(study: Study) -> Drawing:
    """Backbone features over time, ProceL."""
    return feature_tsne(study, [PROCEL] * 4)


FIGURES = {
    "teaser": teaser,
    "overview": overview,
    "degenerate": degenerate,
    "qualitative": qualitative,
    "training_videos": training_videos,
    "sensitivity": sensitivity,
    "k_score": k_score,
    "transport_plan": transport_plan,
    "losses": losses,
    "tsne_egoprocel": tsne_egoprocel,
    "tsne_procel": tsne_procel,
}
