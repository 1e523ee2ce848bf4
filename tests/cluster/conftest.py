"""Makes the helper that copies checkouts, which lies beside the workflow's tests, importable here too."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "workflow"))
