"""The real Snakefile and the commands with annotated videos that teach the others."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from checkouts import Checkout, Said, run

from rgwot.records import read_segments

RECORDINGS, STEPS, SAMPLES = 6, 3, 20
CONFIGURATION = """
datasets:
  mine: {layout: features, root: recordings, imported: {axes: TC, fps: 2, native_fps: 4}}
page: {datasets: [mine], methods: [whitened/meanfield]}
"""
PLACE = "mine/tea/seed0"


def write(root: Path, annotated: int) -> None:
    """Write recordings of three steps in their own orders; the first ``annotated`` are annotated, with names only."""
    generator = np.random.default_rng(0)
    looks, folder = generator.normal(size=(STEPS, 16)), root / "recordings" / "tea"
    folder.mkdir(parents=True)
    for number in range(RECORDINGS):
        order = generator.permutation(STEPS)
        x = looks[np.repeat(order, SAMPLES)] + 0.4 * generator.normal(size=(STEPS * SAMPLES, 16))
        np.save(folder / f"r{number}.npy", x.astype(np.float32))
        if number < annotated:
            rows = [f"{10 * at},{10 * at + 10},step {step}" for at, step in enumerate(order)]
            (folder / f"r{number}.csv").write_text("\n".join(["start_s,end_s,label", *rows]) + "\n")


def rgwot(checkout: Checkout, *words: str) -> Said:
    return run([sys.executable, "-m", "rgwot", *words], checkout.path)


def test_labels_teach_and_the_others_are_scored(fresh: Checkout, configured: Callable[[str], str]) -> None:
    write(fresh.path, annotated=4)
    more = [configured(CONFIGURATION)]
    decoder = "labelled@n=2"
    scores = f"results/scores/whitened/{decoder}/{PLACE}.csv"
    learned = f"results/keysteps/whitened/labelled/{PLACE}/segments.csv"
    output = fresh.snakemake(scores, learned, more=more)
    assert output.returncode == 0, output.text
    table = pd.read_csv(fresh.path / scores)
    assert set(table["protocol"]) == {"macro_task", "strict_task"}
    assert set(table.query("metric == 'n_videos'")["value"]) == {2}
    assert table.query("protocol == 'strict_task' and metric == 'f1'")["value"].min() > 0.95
    folder = (fresh.path / learned).parent
    labelled = json.loads((folder / "diagnostics.json").read_text())["labelled"]
    assert labelled["videos"] == ["r0", "r1", "r2", "r3"]
    assert sorted(labelled["names"].values()) == ["step 0", "step 1", "step 2"]
    # Given labels are kept, and key steps have the numbers of the annotations.
    segments, annotations = (
        read_segments(fresh.path / learned),
        pd.read_csv(fresh.path / "results/annotations/mine/tea.csv"),
    )
    for video in labelled["videos"]:
        own, said = (frame[frame["video"] == video] for frame in (segments, annotations))
        assert own["key_step"].tolist() == said["key_step"].tolist()
        assert np.abs(own["start_s"].to_numpy() - said["start_s"].to_numpy()).max() <= 0.25
    exported = rgwot(fresh, "export", "csv", str(folder), "out", "--videos", "r5")
    assert exported.returncode == 0, exported.text
    [file] = (fresh.path / "out").glob("*.csv")
    assert "step 2" in file.read_text()
    assert "r1" not in file.read_text()
    assert rgwot(fresh, "export", "csv", str(folder), "out", "--videos", "r9").mistake.startswith("rgwot: video 'r9'")
    suggested = rgwot(fresh, "suggest", str(folder))
    assert suggested.returncode == 0, suggested.text
    # Four recordings are annotated, so two are left.
    assert "r4" in suggested.text
    assert "r5" in suggested.text
    assert "r1" not in suggested.text
    # Results without labels do not change.
    assert "labelled" not in json.dumps(
        fresh.plan(f"results/keysteps/whitened/meanfield/{PLACE}/segments.csv", more=more).jobs
    )


@pytest.mark.long
def test_a_page_begins_with_what_the_annotated_videos_taught(fresh: Checkout, configured: Callable[[str], str]) -> None:
    write(fresh.path, annotated=2)
    more, page = [configured(CONFIGURATION)], "results/report/mine/tea.html"
    planned = fresh.plan(page, more=more)
    assert planned.jobs["decode"] == 2, planned.text
    # The result that learned from all annotated videos is not scored.
    assert planned.jobs["evaluate"] == 1
    output = fresh.snakemake(page, more=more)
    assert output.returncode == 0, output.text
    text = (fresh.path / page).read_text(encoding="utf-8")
    data = json.loads(text.split('<script type="application/json" id="data">')[1].split("</script")[0])
    assert [facts["given"] for facts in data["runs"]] == [["r0", "r1"], []]
    command = data["next"]["commands"]["whitened/labelled/seed0"].split()
    folder = f"results/keysteps/whitened/labelled/{PLACE}"
    assert command[:5] == ["rgwot", "export", "elan", folder, f"to_annotate_{command[6]}"]
    exported = rgwot(fresh, *command[1:])
    assert exported.returncode == 0, exported.text
    assert {file.stem for file in (fresh.path / command[4]).glob("*.eaf")} == set(command[6::2])
    assert not {"r0", "r1"} & set(command)


#: Numbers of annotated videos and, by target, the error.
REFUSED = {
    0: {f"keysteps/whitened/labelled/{PLACE}/segments.csv": "found no annotated video to learn from"},
    2: {
        f"keysteps/whitened/labelled@n=3/{PLACE}/segments.csv": "labelled.n: found 3, expected all or 1 to 2",
        f"scores/whitened/labelled/{PLACE}.csv": "none is left to score; expected an annotated video",
        f"scores/none/uniform@labelled.n=1/{PLACE}.csv": "unknown key 'labelled.n'",
        f"keysteps/whitened/labelled@m=5/{PLACE}/segments.csv": "unknown key 'm'",
        f"keysteps/whitened/consensus@labelled.n=3/{PLACE}/segments.csv": "expected 'labelled@n=3'",
        f"keysteps/whitened/labelled@labelled.n=1/{PLACE}/segments.csv": "use 'labelled@n=1' instead",
    },
    6: {f"scores/whitened/labelled@n=6/{PLACE}.csv": "none is left to score"},
}


@pytest.mark.parametrize("annotated", REFUSED)
def test_too_few_labels_and_earlier_ids_end_in_one_line(
    fresh: Checkout, configured: Callable[[str], str], annotated: int
) -> None:
    write(fresh.path, annotated)
    refused = REFUSED[annotated]
    plans = fresh.plans({target: [f"results/{target}"] for target in refused}, more=[configured(CONFIGURATION)])
    for target, said in refused.items():
        assert said in plans[target].mistake


def test_all_videos_may_be_annotated(fresh: Checkout, configured: Callable[[str], str]) -> None:
    write(fresh.path, annotated=6)
    targets = [f"results/keysteps/whitened/{decoder}/{PLACE}/segments.csv" for decoder in ("labelled", "labelled@n=6")]
    planned = fresh.plan(*targets, "results/report/mine/tea.html", more=[configured(CONFIGURATION)])
    # The page does not add a result that only repeats annotations.
    assert (planned.jobs["decode"], planned.jobs["evaluate"]) == (3, 1), planned.text
