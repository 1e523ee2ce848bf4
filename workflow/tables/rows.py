"""Rows that several tables show."""

from rgwot.reporting.tables.table import Row

ONE_LABEL = Row("one_label", "Constant baseline", "none", "one_label", "trivial", trivial=True)
UNIFORM = Row("uniform", "K equal segments", "none", "uniform", "trivial", trivial=True)
RANDOM = Row("random", "Random labels", "none", "random", "trivial", trivial=True)
TRIVIAL = [ONE_LABEL, UNIFORM, RANDOM]

WHITENED_MEANFIELD = Row("whitened_meanfield", "Whitened features + mean field", "whitened", "meanfield", "ours")
UNTRAINED = [
    Row("raw_kmeans", "Raw features + k-means", "raw", "kmeans", "ours"),
    Row("raw_graphcut", "Raw features + graph cut", "raw", "graphcut", "ours"),
    Row("whitened_kmeans", "Whitened features + k-means", "whitened", "kmeans", "ours"),
    WHITENED_MEANFIELD,
]
SPECTRAL = Row("raw_spectral", "Raw features + spectral clustering", "raw", "spectral", "our reading")

CNC = Row("cnc", "CnC", "cnc", "graphcut", "paper's equations")
OPEL = Row("opel", "OPEL", "opel", "graphcut", "released code")
BASELINES = [
    CNC,
    Row("unitygraph", "UnityGraph", "unitygraph", "kmeans", "our reading"),
    Row("gpl", "GPL with background", "gpl", "kmeans", "our reading"),
    Row("gpl-nobg", "GPL without background", "gpl-nobg", "kmeans", "our reading"),
    OPEL,
]
CTE = Row("cte", "CTE", "cte", "viterbi", "released code")
ALIGNMENTS = [
    Row("tcc", "TCC", "tcc", "graphcut", "released code"),
    Row("cnc-released", "CnC as released", "cnc-released", "graphcut", "released code"),
    Row("vava", "VAVA", "vava", "graphcut", "released code"),
]
OPEL_GAUSSIAN = Row(
    "opel-gaussian", "OPEL with a Gaussian prior", "opel@loss.prior=gaussian", "graphcut", "released code"
)

VAOT = Row("vaot", "VAOT", "vaot", "graphcut", "our reading")
RGWOT = Row("rgwot", "RGWOT", "rgwot", "graphcut", "our reading")
RGWOT_PLUS = Row("rgwot-plus", "RGWOT+", "rgwot-plus", "consensus", "ours")
OURS = [VAOT, RGWOT, RGWOT_PLUS]
VARIANTS = [
    Row("rgwot-parity", "RGWOT (public code)", "rgwot-parity", "graphcut", "released code"),
    Row("rgwot-literal", "RGWOT, C-IDM as printed", "rgwot-literal", "graphcut", "our reading"),
    Row("rgwot-active", "RGWOT, active structural prior", "rgwot-active", "graphcut", "ours"),
]
