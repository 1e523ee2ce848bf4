"""Names of datasets in print and in reported numbers, and their numbers of tasks."""

from rgwot.reporting.tables.table import Place

CMU_MMAC = Place("cmu_mmac", "CMU-MMAC", reported="CMU-MMAC", n_tasks=5)
EGTEA_GAZE = Place("egtea_gaze", "EGTEA-GAZE+", reported="EGTEA-GAZE+", n_tasks=7)
MECCANO = Place("meccano", "MECCANO", reported="MECCANO", n_tasks=1)
EPIC_TENTS = Place("epic_tents", "EPIC-Tents", reported="EPIC-Tents", n_tasks=1)
PC_ASSEMBLY = Place("pc_assembly", "PC Assembly", reported="PC Assembly", n_tasks=1)
PC_DISASSEMBLY = Place("pc_disassembly", "PC Disassembly", reported="PC Disassembly", n_tasks=1)
EGOPROCEL = [CMU_MMAC, EGTEA_GAZE, MECCANO, EPIC_TENTS, PC_ASSEMBLY, PC_DISASSEMBLY]
MEAN_OF_EGOPROCEL = Place("six_sets", "Mean of the six", reported="EgoProceL", mean=True)

PROCEL = Place("procel", "ProceL", reported="ProceL", n_tasks=12)
CROSSTASK = Place("crosstask", "CrossTask", reported="CrossTask", n_tasks=18)
DEMO = Place("demo", "Synthetic clips")

# Datasets of workflow/published_features.yaml, except other forms of a dataset above.
BREAKFAST = Place("breakfast", "Breakfast")
FIFTY_SALADS = Place("fifty_salads", "50 Salads")
GTEA = Place("gtea", "GTEA")
YOUTUBE_INSTRUCTIONS = Place("youtube_instructions", "YouTube Instructions")
DESKTOP_ASSEMBLY = Place("desktop_assembly", "Desktop Assembly")
