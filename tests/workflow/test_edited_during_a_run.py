"""Edits of files during a run do not change its configuration, and the next run notices them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from checkouts import SNAKEMAKE, Checkout, Said, run

from rgwot.runtime.errors import RgwotError
from rgwot.study import study as studies
from rgwot.study.study import CONFIGURATIONS, Task, configuration_of_the_run, in_job

CONFIG = """
datasets:
  mine: {layout: features, root: features, imported: {axes: TC, fps: 2}}
  lines:
    layout: frame_labels
    root: lines
    tasks: [lines]
    imported: {axes: TC, fps: 2}
page: {datasets: [mine], methods: [raw/kmeans]}
seeds: [0]
decode: {K: 4}
"""
KEYSTEPS = "results/keysteps/{}/mine/tea/seed0/{}"
#: Files of a result with equal segments, the quickest result that depends on K.
QUICK, DIAGNOSTICS = (KEYSTEPS.format("none/uniform", name) for name in ("segments.csv", "diagnostics.json"))
#: Starts a job as on a cluster: files are edited first, and then Snakemake runs with the edited files.
SUBMIT = '#!/bin/sh\n( . ./edit.sh; sh "$1" ) > submitted.log 2>&1 &\necho $!\n'
OF_CLUSTER = (
    "--executor", "cluster-generic", "--cluster-generic-submit-cmd", "sh submit.sh", "--jobs", "1",
    "--seconds-between-status-checks", "1", "--latency-wait", "1",
)  # fmt: skip


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Return a study of four recordings as vectors, with a manifest and a quick result."""
    checkout = Checkout.copied_to(tmp_path_factory.mktemp("edited") / "checkout")
    rng, folder = np.random.default_rng(0), checkout.path / "features/tea"
    folder.mkdir(parents=True)
    looks = rng.normal(size=(3, 8))
    for name in "abcd":
        np.save(folder / f"{name}.npy", (looks[np.repeat(range(3), 8)] + rng.normal(size=(24, 8)) / 9).astype("f4"))
        (folder / f"{name}.csv").write_text("0,4,1 cut\n4,8,2 stir\n8,12,3 pour\n", encoding="utf-8")
    (folder / "videos.csv").write_text("video,group\na,x\nb,x\nc,y\nd,y\n", encoding="utf-8")
    (checkout.path / "config.yaml").write_text(CONFIG, encoding="utf-8")
    (checkout.path / "submit.sh").write_text(SUBMIT, encoding="utf-8")
    output = snakemake(checkout, QUICK)
    assert output.returncode == 0, output.text
    return checkout


def snakemake(checkout: Checkout, *targets: str, options: tuple[str, ...] = ("--cores", "1")) -> Said:
    return run([*SNAKEMAKE, *options, "--", *targets], checkout.path)


def outdated(checkout: Checkout, *targets: str) -> set[str]:
    return set(snakemake(checkout, *targets, options=("-n", "--cores", "1", "--quiet", "rules")).jobs)


def K_of(checkout: Checkout) -> int:
    return int(json.loads((checkout.path / DIAGNOSTICS).read_text(encoding="utf-8"))["K"])


EDITS = {
    "another K": 'sed -i.bak "s/K: 4/K: 3/" config.yaml',
    "half saved": 'printf "decode: {K: 3\\n x" > config.yaml',
    "gone": "rm config.yaml",
}


@pytest.mark.parametrize(
    "edit", ["another K", *(pytest.param(name, marks=pytest.mark.long) for name in ("half saved", "gone"))]
)
def test_a_job_on_a_cluster_uses_the_configuration_of_its_run(study: Checkout, edit: str) -> None:
    pytest.importorskip("snakemake_executor_plugin_cluster_generic", reason="needs the plugin")
    (study.path / "edit.sh").write_text(EDITS[edit], encoding="utf-8")
    output = snakemake(study, QUICK, options=(*OF_CLUSTER, "--force"))
    left = (study.path / "config.yaml").read_text(encoding="utf-8") if edit != "gone" else ""
    (study.path / "config.yaml").write_text(CONFIG, encoding="utf-8")
    assert output.returncode == 0, output.text + (study.path / "submitted.log").read_text(errors="replace")
    # The edit was made.
    assert left != CONFIG
    assert K_of(study) == 4
    assert outdated(study, QUICK) == set()
    (study.path / "config.yaml").write_text(CONFIG.replace("K: 4", "K: 3"), encoding="utf-8")
    assert outdated(study, QUICK) == {"decode_trivial"}
    (study.path / "config.yaml").write_text(CONFIG, encoding="utf-8")


def test_a_job_on_this_machine_uses_the_configuration_of_its_run(study: Checkout) -> None:
    # Every job imports this extension before it does anything.
    edit = "import sys\nfrom pathlib import Path\nfrom rgwot.config.extensions import Extension\n"
    edit += "EXTENSION = Extension()\nif 'scripts' in sys.argv[0]:\n"
    edit += "    file = Path('config.yaml')\n    file.write_text(file.read_text().replace('K: 4', 'K: 3'))\n"
    (study.path / "edits.py").write_text(edit, encoding="utf-8")
    (study.path / "config.yaml").write_text(CONFIG + "extensions: [edits.py]\n", encoding="utf-8")
    output = snakemake(study, QUICK, options=("--cores", "1", "--force"))
    left = (study.path / "config.yaml").read_text(encoding="utf-8")
    (study.path / "config.yaml").write_text(CONFIG, encoding="utf-8")
    assert output.returncode == 0, output.text
    assert "K: 3" in left
    assert K_of(study) == 4


def test_of_several_modules_an_edited_configuration_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CONFIGURATIONS, raising=False)
    monkeypatch.setattr(studies, "_OF_THIS_RUN", [])
    one, two = {"decode": {"K": 4}}, {"decode": {"K": 5}, "seeds": [0]}
    assert [configuration_of_the_run(content) for content in (one, two)] == [one, two]
    assert not in_job()
    # Forget the configuration, as in a job that has not read it yet.
    monkeypatch.setattr(studies, "_OF_THIS_RUN", [])
    assert in_job()
    assert [configuration_of_the_run(content) for content in (one, two)] == [one, two]
    with pytest.raises(RgwotError, match="configuration: edited during the run"):
        configuration_of_the_run({"decode": {"K": 3}})


def test_a_run_in_another_folder_is_no_job_of_the_run_that_starts_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(CONFIGURATIONS, raising=False)
    monkeypatch.setattr(studies, "_OF_THIS_RUN", [])
    configuration_of_the_run({"decode": {"K": 4}})
    monkeypatch.setattr(studies, "_OF_THIS_RUN", [])
    monkeypatch.chdir(tmp_path)
    assert configuration_of_the_run({"decode": {"K": 5}}) == {"decode": {"K": 5}}


# Files that people edit and jobs read. A file that is edited while a job reads it is older than what the job writes.

PAGE = "results/report/mine/tea.html"
SCORES = "results/scores/raw/kmeans/mine/tea/seed0.csv"
GROUPS = "results/groups/group/raw/kmeans/mine/tea/seed0.csv"
BARS = "results/figures/segments/mine/tea/seed0.pdf"
BUNDLE = "results/bundles/raw/kmeans/mine/tea/seed0.rgwot"
MANIFEST = "results/manifest/lines/lines.csv"
NAMES = "raw/kmeans/seed0: {result: 0123456789ab, names: {1: cut}}\n"
READ = {
    "names/mine/tea.yaml": (NAMES, NAMES.replace("cut", "chop"), {"page", "segment_bars", "compare_groups", "bundle"}),
    "graphs/mine/tea.csv": ("key_step,needs\n2,1\n3,1\n", "key_step,needs\n2,1\n3,2\n", {"evaluate", "page"}),
    "features/tea/videos.csv": (
        "video,group\na,x\nb,x\nc,y\nd,y\n",
        "video,group\na,x\nb,y\nc,y\nd,x\n",
        {"compare_groups", "page"},
    ),
    "lines/mapping.txt": ("0 a\n1 b\n", "0 b\n1 a\n", {"manifest"}),
}


@pytest.mark.long
def test_a_file_that_is_edited_while_a_job_reads_it_makes_its_result_outdated(study: Checkout) -> None:
    for name in "vw":
        for folder in ("features", "groundTruth"):
            (study.path / "lines" / folder).mkdir(parents=True, exist_ok=True)
        np.save(study.path / f"lines/features/{name}.npy", np.eye(8, dtype="f4"))
        (study.path / f"lines/groundTruth/{name}.txt").write_text("a\n" * 4 + "b\n" * 4, encoding="utf-8")
    for name, (before, _, _) in READ.items():
        (study.path / name).parent.mkdir(parents=True, exist_ok=True)
        (study.path / name).write_text(before, encoding="utf-8")
    targets = (PAGE, SCORES, GROUPS, BARS, BUNDLE, MANIFEST)
    output = snakemake(study, *targets)
    assert output.returncode == 0, output.text[-4000:]
    assert outdated(study, *targets) == set()
    for name, (before, after, jobs) in READ.items():
        (study.path / name).write_text(after, encoding="utf-8")
        os.utime(study.path / name, (10**9, 10**9))
        assert outdated(study, *targets) >= jobs, name
        (study.path / name).write_text(before, encoding="utf-8")


def test_a_checkpoint_that_replaces_a_newer_one_changes_the_stamp_of_features(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rgwot.runtime.provenance import stamp
    from rgwot.study.jobs import extraction_files
    from rgwot.study.study import Study

    monkeypatch.chdir(tmp_path)
    (tmp_path / "videos/tea").mkdir(parents=True)
    (tmp_path / "videos/tea/a.mp4").touch()

    def stamp_with(weights: str) -> str:
        entry = {"layout": "folder", "root": "videos", "settings": {"features": {"weights": weights}}}
        return stamp(extraction_files(Task(Study.of({"datasets": {"mine": entry}}), "mine", "tea"), ["a"]))

    (tmp_path / "w.pt").write_bytes(b"new")
    first = stamp_with("w.pt")
    assert stamp_with("w.pt") == first
    (tmp_path / "w.pt").write_bytes(b"old!")
    os.utime(tmp_path / "w.pt", (10**9, 10**9))
    assert stamp_with("w.pt") != first
    assert stamp_with("random") != first
