"""The inputs of a page, which include everything after whose change the page must be made again, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from checkouts import Checkout

from rgwot.paths import Run
from rgwot.runtime.errors import RgwotError
from rgwot.study import jobs, pages
from rgwot.study.study import Study, Task

PAGE = "results/report/mine/tea.html"


@pytest.fixture
def study_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Study]:
    """Return a function that writes videos of a task and returns a study of them."""

    def configured(annotated: bool, study_of: list[str] | None = None, **page: object) -> Study:
        for name in ("a", "b", "c"):
            video = tmp_path / "videos" / "tea" / f"{name}.mp4"
            video.parent.mkdir(parents=True, exist_ok=True)
            video.touch()
            if annotated:
                video.with_suffix(".csv").touch()
        monkeypatch.chdir(tmp_path)
        entry = {"layout": "folder", "root": "videos", "page_methods": study_of}
        content = {"seeds": [3, 4], "datasets": {"mine": entry}, "page": {"datasets": ["mine"], **page}}
        return Study.of(content)

    return configured


def test_a_page_asks_for_every_method_and_seed(study_of: Callable[..., Study]) -> None:
    study = study_of(True, methods=["rgwot@alpha=0.5/graphcut", "raw/kmeans", "none/uniform"])
    runs = pages.page_runs(Task(study, "mine", "tea"))
    methods = ("rgwot@alpha=0.5/graphcut", "raw/kmeans", "none/uniform")
    assert [str(run) for run in runs] == [f"{method}/seed{seed}" for method in methods for seed in (3, 4)]
    files = pages.page_files(Task(study, "mine", "tea"))
    assert len(files) == len(set(files)) == 3 + 6 * 7 + 2 + 2
    assert "results/models/rgwot@alpha=0.5/mine/tea/seed4/history.csv" in files
    # One seed of every method with embeddings has a view.
    views = [file for file in files if "/views/" in file]
    assert views == [
        "results/views/rgwot@alpha=0.5/graphcut/mine/tea/seed3.json",
        "results/views/raw/kmeans/mine/tea/seed3.json",
    ]
    assert pages.index_pages(study) == [PAGE]


def test_without_annotation_there_is_nothing_to_score_or_compare(study_of: Callable[..., Study]) -> None:
    study = study_of(False)
    assert {run.method for run in pages.page_runs(Task(study, "mine", "tea"))} == {"rgwot-plus", "whitened"}
    assert not [file for file in pages.page_files(Task(study, "mine", "tea")) if "/scores/" in file]
    with pytest.raises(RgwotError, match="mine/tea: the page has nothing to show, because no video is annotated"):
        pages.page_runs(Task(study_of(False, methods=["none/random"]), "mine", "tea"))


@pytest.mark.parametrize(
    ("annotated", "methods", "shown"),
    [
        ("", ["raw/kmeans", "raw/labelled"], ["raw/kmeans/seed3", "raw/kmeans/seed4"]),
        ("a", ["raw/kmeans@K=5"], ["raw/labelled/seed3", "raw/kmeans@K=5/seed3", "raw/kmeans@K=5/seed4"]),
        (
            "a",
            ["raw/kmeans", "whitened/labelled@extra=1"],
            [
                "whitened/labelled@extra=1/seed3",
                "whitened/labelled@extra=1/seed4",
                "raw/kmeans/seed3",
                "raw/kmeans/seed4",
            ],
        ),
        ("abc", ["raw/kmeans"], ["raw/kmeans/seed3", "raw/kmeans/seed4"]),
        (
            "abc",
            ["raw/kmeans", "raw/labelled"],
            [f"raw/{name}/seed{seed}" for name in ("labelled", "kmeans") for seed in (3, 4)],
        ),
    ],
)
def test_a_page_begins_with_what_annotated_videos_taught(
    study_of: Callable[..., Study], tmp_path: Path, annotated: str, methods: list[str], shown: list[str]
) -> None:
    (tmp_path / "videos/tea").mkdir(parents=True)
    for name in annotated:
        (tmp_path / f"videos/tea/{name}.csv").touch()
    study = study_of(False, methods=methods)
    assert [str(run) for run in pages.page_runs(Task(study, "mine", "tea"))] == shown
    scored = [file for file in pages.page_files(Task(study, "mine", "tea")) if "/scores/" in file]
    assert len(scored) == (2 if annotated else 0)
    assert not any("labelled" in file for file in scored)


def test_marks_teach_and_are_not_scored(study_of: Callable[..., Study], tmp_path: Path) -> None:
    (tmp_path / "videos/tea").mkdir(parents=True)
    for name in "ab":
        (tmp_path / f"videos/tea/{name}.csv").write_text("time_s,label\n1,pour\n2,stir\n")
    study = study_of(False, methods=["raw/kmeans"])
    first = ["raw/labelled/seed3", "raw/kmeans/seed3"]
    assert [str(run) for run in pages.page_runs(Task(study, "mine", "tea"))][:2] == first
    assert jobs.teachers(Task(study, "mine", "tea"), Run("raw", "labelled", 0)) == 2
    assert jobs.settings_behind(Task(study, "mine", "tea"), "raw", "kmeans@K=gt+1")["decode"]["K"] == 3
    assert not [file for file in pages.page_files(Task(study, "mine", "tea")) if "/scores/" in file]
    with pytest.raises(RgwotError, match="mine/tea: annotations are marks or label videos in part, so nothing can be"):
        jobs.scoring(Task(study, "mine", "tea"), Run("raw", "kmeans", 0))
    # Marks in every video leave something to learn, and segments in every video do not.
    (tmp_path / "videos/tea/c.csv").write_text("time_s,label\n1,pour\n")
    assert str(pages.page_runs(Task(study_of(False, methods=["raw/kmeans"]), "mine", "tea"))[0]) == first[0]
    for name in "abc":
        (tmp_path / f"videos/tea/{name}.csv").write_text("start_s,end_s,label\n1,2,pour\n")
    assert str(pages.page_runs(Task(study_of(False, methods=["raw/kmeans"]), "mine", "tea"))[0]) == first[1]


def test_no_setting_of_another_block_teaches_a_decoder(study_of: Callable[..., Study]) -> None:
    study_of(True)
    content = {"datasets": {"mine": {"layout": "folder", "root": "videos"}}, "labelled": {"n": 2, "extra": 1}}
    study = Study.of(content)
    for decoder in ("consensus", "graphcut", "kmeans"):
        assert jobs.teaching(Task(study, "mine", "tea"), Run("rgwot-plus", decoder, 0)) == []
        assert "labelled" not in jobs.settings_behind(Task(study, "mine", "tea"), "rgwot-plus", decoder)
    assert jobs.teachers(Task(study, "mine", "tea"), Run("rgwot-plus", "labelled", 0)) == 2
    assert jobs.scored(Task(study, "mine", "tea"), Run("rgwot-plus", "labelled", 0))
    assert not jobs.scored(Task(study, "mine", "tea"), Run("rgwot-plus", "labelled@n=all", 0))
    assert study.experiments.decoder("labelled@n=2", "rgwot-plus") == "labelled"


def test_a_page_depends_on_what_is_asked_for_and_not_on_what_lies_around(
    study_of: Callable[..., Study], tmp_path: Path
) -> None:
    study = study_of(True, methods=["raw/kmeans"])

    def asked() -> object:
        files, listed = pages.page_files(Task(study, "mine", "tea")), pages.index_pages(study)
        return files, listed, pages.page_runs(Task(study, "mine", "tea"))

    before = asked()
    for file in (
        "keysteps/vaot/graphcut/mine/tea/seed0/segments.csv",
        "views/vaot/graphcut/mine/tea/seed0.json",
        "views/raw/kmeans/mine/tea/seed4.json",
        "report/mine/coffee.html",
    ):
        (tmp_path / "results" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "results" / file).touch()
    assert asked() == before
    assert list(map(str, pages.page_runs(Task(study, "mine", "tea")))) == ["raw/kmeans/seed3", "raw/kmeans/seed4"]


FIRST = ("rgwot-plus/consensus", "whitened/meanfield")


def test_the_page_and_the_default_target_train_nothing_unless_asked_to(study_of: Callable[..., Study]) -> None:
    for annotated in (False, True):
        study = study_of(annotated)
        files = pages.page_files(Task(study, "mine", "tea"))
        assert not [file for file in files if file.startswith("results/models") or "/rgwot/" in file]
        # Without annotation there are no trivial answers to compare with.
        assert {str(run).rpartition("/")[0] for run in pages.page_runs(Task(study, "mine", "tea"))} == {
            *FIRST, *(("none/one_label", "none/uniform", "none/random") if annotated else ())
        }  # fmt: skip
        tables = ("segments.csv", "order.csv", "procedures.csv", "procedure.json", "deviations.csv")
        expected = [f"results/keysteps/{one}/mine/tea/seed3/{table}" for one in FIRST for table in tables]
        assert pages.key_step_tables(study) == expected
    study = study_of(True, methods=["raw/kmeans", "rgwot/graphcut"])
    assert "results/models/rgwot/mine/tea/seed4/history.csv" in pages.page_files(Task(study, "mine", "tea"))
    assert "results/keysteps/rgwot/graphcut/mine/tea/seed3/order.csv" in pages.key_step_tables(study)


def test_a_dataset_may_have_results_of_its_own_on_its_pages(study_of: Callable[..., Study]) -> None:
    study = study_of(True, ["rgwot/graphcut", "none/uniform"])
    assert [str(run) for run in pages.page_runs(Task(study, "mine", "tea"))] == [
        f"{one}/seed{seed}" for one in ("rgwot/graphcut", "none/uniform") for seed in (3, 4)
    ]
    # These results are made only for the page.
    assert not [file for file in pages.key_step_tables(study) if "/rgwot/" in file]
    with pytest.raises(RgwotError, match=r"datasets.mine.page_methods: 'rgwto/graphcut'.*did you mean"):
        pages.page_runs(Task(study_of(True, ["rgwto/graphcut"]), "mine", "tea"))


def test_bars_are_of_the_results_on_the_page_that_look_at_the_videos(study_of: Callable[..., Study]) -> None:
    study = study_of(True)
    assert pages.bars(Task(study, "mine", "tea"), 0) == [
        f"results/keysteps/{one}/mine/tea/seed0/segments.csv" for one in FIRST
    ]


def test_a_true_task_graph_becomes_an_input_of_the_scores_once_it_is_there(
    study_of: Callable[..., Study], tmp_path: Path
) -> None:
    task = Task(study_of(True), "mine", "tea")
    assert jobs.graph_there(task) == []
    path = tmp_path / "graphs/mine/tea.csv"
    path.parent.mkdir(parents=True)
    path.write_text("key_step,needs\n2,1\n")
    assert jobs.graph_there(task) == ["graphs/mine/tea.csv"]


def test_only_the_annotated_source_reads_annotations() -> None:
    assert not any(map(jobs.reads_annotations, ("one_label", "uniform@K=5", "random")))
    assert jobs.reads_annotations("annotated@procedure.learner=chain")


def test_names_become_an_input_once_they_are_there(study_of: Callable[..., Study], tmp_path: Path) -> None:
    study = study_of(True, names="my names")
    before = pages.page_files(Task(study, "mine", "tea"))
    path = tmp_path / "my names/mine/tea.yaml"
    path.parent.mkdir(parents=True)
    path.touch()
    assert [file for file in pages.page_files(Task(study, "mine", "tea")) if file not in before] == [
        "my names/mine/tea.yaml"
    ]
    assert pages.names_file(Task(study, "mine", "tea")) == "my names/mine/tea.yaml"


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ({"methods": ["rgwto/graphcut"]}, ["page.methods", "rgwto", "did you mean"]),
        ({"methods": ["rgwot"]}, ["page.methods", "'rgwot'"]),
        ({"methods": ["rgwot/graphcut@alpha=1"]}, ["page.methods", "alpha"]),
        ({"methods": []}, ["page.methods"]),
        ({"method": ["raw/kmeans"]}, ["page.method", "did you mean 'methods'"]),
    ],
)
def test_a_mistake_is_refused_in_one_line(
    study_of: Callable[..., Study], page: dict[str, object], words: list[str]
) -> None:
    with pytest.raises(RgwotError) as told:
        pages.page_runs(Task(study_of(True, **page), "mine", "tea"))
    assert all(word in str(told.value) for word in words), str(told.value)


def test_a_page_of_own_videos_is_planned_by_the_workflow(fresh: Checkout, configured: Callable[[str], str]) -> None:
    for name in ("a", "b"):
        (fresh.path / f"videos/tea/{name}.mp4").parent.mkdir(parents=True, exist_ok=True)
        (fresh.path / f"videos/tea/{name}.mp4").touch()
    more = configured("datasets: {mine: {layout: folder, root: videos}}\npage: {datasets: [mine]}\n")
    asked = {"index": ["results/report/index.html"], "tee": ["results/report/mine/tee.html"]}
    plans = fresh.plans({**asked, "page": [PAGE], "both": ["first", PAGE]}, more=[more])
    jobs = plans["index"].jobs
    assert {rule: jobs[rule] for rule in ("page_index", "page", "strips", "view", "train", "evaluate")} == {
        "page_index": 1, "page": 1, "strips": 1, "view": 2, "train": 0, "evaluate": 0
    }  # fmt: skip
    assert "did you mean 'tea'" in plans["tee"].mistake
    # The page has the same content if it is made together with another target.
    assert plans["both"].jobs == plans["page"].jobs + Counter(first=1)
    more = configured(
        "datasets: {mine: {layout: folder, root: videos}}\npage: {datasets: [mine], methods: [rgwot/graphcut]}\n"
    )
    assert fresh.plan("first", more=[more]).jobs["train"] == 1
