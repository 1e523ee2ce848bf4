"""Comparison of groups of videos by the real Snakefile, as a target and on the page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from checkouts import Checkout

from rgwot.reporting.groups import read_group_table

RUN = "whitened/meanfield/mine/tea/seed0"
CONFIGURATION = """
seeds: [0]
page: {datasets: [mine], methods: [whitened/meanfield]}
decode: {K: 4}
datasets:
  mine: {layout: features, root: features, imported: {axes: TC, fps: 2}}
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Return a study of twelve videos with four key steps, the third of which takes novices twice as long."""
    checkout = Checkout.copied_to(tmp_path_factory.mktemp("groups") / "checkout")
    rng, folder = np.random.default_rng(0), checkout.path / "features/tea"
    folder.mkdir(parents=True)
    looks, rows = rng.normal(size=(4, 24)), ["video,group"]
    for at in range(12):
        lengths = rng.integers(14, 20, size=4) + [0, 0, 16 * (at >= 6), 0]
        features = looks[np.repeat(range(4), lengths)] + rng.normal(scale=0.6, size=(lengths.sum(), 24))
        np.save(folder / f"v{at}.npy", features.astype(np.float32))
        rows.append(f"v{at},{'novice' if at >= 6 else 'expert'}")
    (folder / "videos.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (checkout.path / "mine.yaml").write_text(CONFIGURATION, encoding="utf-8")
    return checkout


def test_table_and_figure(study: Checkout) -> None:
    made = study.snakemake(f"results/groups/group/{RUN}.csv", more=["mine.yaml"])
    assert made.returncode == 0, made.text[-4000:]
    table = read_group_table(study.path / f"results/groups/group/{RUN}.csv")
    duration = table[(table["measure"] == "duration") & (table["star"] == "*")]
    assert len(duration) == 1
    assert duration["mean_novice"].item() > 1.5 * duration["mean_expert"].item()
    assert (study.path / f"results/groups/group/{RUN}.pdf").exists()


def test_a_column_or_decoder_that_is_not_there(study: Checkout) -> None:
    column, decoder = f"results/groups/groups/{RUN}.csv", f"results/groups/group/{RUN.replace('mean', 'main')}.csv"
    plans = study.plans({target: [target] for target in (column, decoder)}, more=["mine.yaml"])
    assert "features/tea/videos.csv: no column 'groups'; did you mean 'group'?" in plans[column].mistake
    assert "did you mean 'meanfield'?" in plans[decoder].mistake


def test_without_a_table_of_videos(study: Checkout) -> None:
    table = study.path / "features/tea/videos.csv"
    kept = table.rename(Path(table).with_suffix(".kept"))
    try:
        said = study.snakemake(f"results/groups/group/{RUN}.csv", more=["mine.yaml"]).mistake
    finally:
        kept.rename(table)
    assert "mine/tea: no groups; expected features/tea/videos.csv with the columns video and group" in said
