"""One thing changed underneath a run gives the tables of an undisturbed one, one clear line, or a line of verify."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pandas as pd
import pytest
from damaging import KINDS, OUTCOMES, House

# In `make faults` 120.
FAULTS = int(os.environ.get("RGWOT_FAULTS", "12"))
SEED = int(os.environ.get("RGWOT_FAULT_SEED", "0"))
# Single ones again, as 12,46.
NUMBERS = [int(number) for number in os.environ.get("RGWOT_FAULT_NUMBERS", "").split(",") if number] or range(FAULTS)


@pytest.mark.long
def test_one_thing_changed_between_two_stages_is_never_silent(tmp_path: Path) -> None:
    tried, failed = [], []
    written = House(tmp_path / "written")
    own = House(tmp_path / "own", written)
    for number in NUMBERS:
        rng = random.Random(f"{SEED}/{number}")
        house = (written, own)[number % 2]
        stage = rng.choice(house.stages)
        house.restore(stage)
        fault = house.harm(stage, rng)
        where = f"fault {number} of seed {SEED}: after {stage}, {fault.kind}: {', '.join(fault.files)}"
        code, text = house.run()
        try:
            outcome = house.judge(fault, code, text)
        except AssertionError as error:
            outcome = "FAILED"
            failed.append(f"{where}\n{error}")
        tried.append((stage, fault.kind, outcome))
        print(f"{where}: {outcome}", flush=True)  # noqa: T201
    print(json.dumps({"seed": SEED, "tried": len(NUMBERS), "failed": len(failed)}))  # noqa: T201
    table = pd.DataFrame(tried, columns=["stage before", "kind", "outcome"])
    for what in ("kind", "stage before"):
        print(pd.crosstab(table[what], table["outcome"]).to_string())  # noqa: T201
    assert not failed, "\n\n".join(failed)
    if len(NUMBERS) >= 100:
        assert set(table["kind"]) == set(KINDS)
        assert set(table["outcome"]) == set(OUTCOMES)
