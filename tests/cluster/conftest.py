"""Make the helper that copies checkouts importable here; it is beside the tests of the workflow."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "workflow"))
