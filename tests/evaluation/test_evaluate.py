from __future__ import annotations

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest

from rgwot.columns import ANNOTATION_COLUMNS, MANIFEST_COLUMNS, SCORE_COLUMNS
from rgwot.evaluation.protocols import PROTOCOLS, score
from rgwot.keysteps.settings import Annotations
from rgwot.procedure import deviations, learn, recordings_from_segments
from rgwot.procedure.scores import graph_table
from rgwot.runtime.errors import RgwotError
from rgwot.stages.decode import decode_trivial
from rgwot.stages.evaluate import evaluate
from rgwot.stages.procedure import read_deviation_list, read_procedure, read_task_graph

IDENTITY = {"dataset": "demo", "task": "assembly", "method": "rgwot", "decoder": "graphcut", "seed": 0}
SCOPES = ("task", "video")


def segments_of(video, scope, labels, times):
    starts = np.asarray(times, dtype=float)
    return [
        {"video": video, "scope": scope, "start_s": a, "end_s": b, "key_step": k}
        for a, b, k in zip(starts[:-1], starts[1:], labels, strict=True)
    ]


class Files:
    """A task with scored videos 0003 (6 s at 30 fps) and b (4 s at 30000/1001 fps), one unscored and one unreadable."""

    def __init__(self, folder):
        self.folder = folder
        self.manifest = pd.DataFrame(
            [
                ("0003", "6.0", "30.0", "ok", ""),
                ("b", "4.0", "30000/1001", "ok", ""),
                ("bare", "5.0", "25", "unscored", "no annotation"),
                ("broken", "", "", "skipped", "cannot be read"),
            ],
            columns=["video", "duration_s", "fps", "status", "reason"],
        ).reindex(columns=MANIFEST_COLUMNS, fill_value="")
        self.annotations = pd.DataFrame(
            [("0003", 1.0, 3.0, 1, "x"), ("0003", 3.0, 5.0, 2, "y"), ("b", 0.0, 2.0, 2, "y"), ("b", 3.0, 4.0, 1, "x")],
            columns=ANNOTATION_COLUMNS,
        )
        rows = []
        for scope in SCOPES:
            rows += segments_of("0003", scope, [1, 2, 3, 1], [0, 1, 3, 5, 6])
            rows += segments_of("b", scope, [3, 1, 2], [0, 2, 3, 4])
            rows += segments_of("bare", scope, [2], [0, 5])
        self.segments = pd.DataFrame(rows)
        self.diagnostics = {"K": 7, "degenerate": False}

    def run(self, **keywords):
        for name in ("manifest", "annotations", "segments"):
            getattr(self, name).to_csv(self.folder / f"{name}.csv", index=False)
        diagnostics = self.folder / "diagnostics.json"
        diagnostics.write_text(json.dumps(self.diagnostics))
        output = self.folder / "scores" / "seed0.csv"
        paths = [self.folder / f"{name}.csv" for name in ("manifest", "annotations", "segments")]
        evaluate(*paths, diagnostics, output, IDENTITY, **{"n_key_steps": 2, "stride": 2, **keywords})
        return pd.read_csv(output, dtype={"task": str})


@pytest.fixture
def files(tmp_path):
    return Files(tmp_path)


def value(table, metric, protocol="macro_task", background="with", rule="exact"):
    found = table[
        (table.metric == metric)
        & (table.protocol == protocol)
        & (table.background == background)
        & (table.label_rule == rule)
    ]
    assert len(found) == 1
    return float(found.value.iloc[0])


def test_the_table_is_tidy_and_complete(files):
    table = files.run()
    assert tuple(table.columns) == SCORE_COLUMNS
    assert not table.duplicated(["protocol", "background", "label_rule", "metric"]).any()
    assert (table[list(IDENTITY)].drop_duplicates().to_dict("records")) == [IDENTITY]
    cells = table.groupby(["protocol", "background", "label_rule"])["metric"].agg(set)
    assert len(cells) == (4 + 1) * 2 * 2
    for (protocol, background, _), metrics in cells.items():
        assert metrics >= {"n_videos", "n_skipped", "n_unscored", "degenerate"}
        if protocol != "segmentation":
            assert metrics >= {"precision", "recall", "f1", "iou"}
            assert ("order_distance" in metrics) == protocol.endswith("_task")
            assert ("background_f1" in metrics) == (background == "with")
            assert ("f1_fixed" in metrics) == (background == "with" and protocol.endswith("_task"))


def test_hieros_rows_are_added_only_where_asked_for_and_change_no_others(files):
    plain = files.run()
    more = files.run(also="hiero")
    own = more.protocol == "hiero"
    pd.testing.assert_frame_equal(more[~own].reset_index(drop=True), plain)
    assert set(zip(more[own].background, more[own].label_rule, strict=True)) == {("with", "exact"), ("with", "cnc")}
    assert value(more, "f1", "hiero") == value(more, "f1", "macro_video"), "no ties here"


def test_key_step_0_is_background_only_where_the_decoder_says_so(files):
    files.segments["key_step"] -= 1  # cluster 1, which happens to be background, becomes key step 0
    for said, found in ((True, 1.0), (False, 0.0)):
        files.diagnostics = {"K": 2 + (not said), "degenerate": False, "background": said}
        table = files.run()
        for protocol in PROTOCOLS:
            assert value(table, "f1", protocol) == 1.0, "the protocols match it like any other cluster"
            assert value(table, "background_f1", protocol) == found
            assert value(table, "background_recall", protocol) == found
            precision = value(table, "background_precision", protocol)
            assert precision == 1.0 if said else np.isnan(precision)
        assert (value(table, "f1_fixed", "strict_task") == 1.0) == said
    files.diagnostics = {"K": 1, "degenerate": False, "background": True}
    with pytest.raises(RgwotError, match="found 2 different key steps .* expected at most K=1 besides background"):
        files.run()


def test_a_perfect_answer_scores_one_by_the_exact_rule(files):
    files.diagnostics = {"K": 3}
    table = files.run()
    for protocol in PROTOCOLS:
        for metric in ("precision", "recall", "f1", "iou"):
            assert value(table, metric, protocol) == 1.0
        assert value(table, "n_videos", protocol) == 2
        assert value(table, "n_skipped", protocol) == 1
        assert value(table, "n_unscored", protocol) == 1
        assert value(table, "degenerate", protocol) == 0
    for protocol in ("macro_task", "strict_task"):
        assert value(table, "order_distance", protocol) == 0.0
    # The answer is exact, so the rule with both ends and 29 instead of 29.97 frames per second must disagree.
    assert 0.9 < value(table, "f1", "strict_task", rule="cnc") < 1.0


def test_scores_are_those_of_labels_at_every_second_native_frame(files):
    rows = []
    for scope, cuts in (("task", [0, 2, 3.5, 6]), ("video", [0, 1.5, 4.5, 6])):
        rows += segments_of("0003", scope, [4, 0, 4], cuts)
        rows += segments_of("b", scope, [0, 4], [0, 1, 4])
    files.segments = pd.DataFrame(rows)
    table = files.run()
    first = np.arange(0, 180, 2) / 30
    second = np.arange(0, 120, 2) * 1001 / 30000
    second = second[second < 4.0]
    truths = [
        np.select([(first >= 1) & (first < 3), (first >= 3) & (first < 5)], [1, 2], 0),
        np.select([second < 2, second >= 3], [2, 1], 0),
    ]
    labels = {
        "task": [np.where((first >= 2) & (first < 3.5), 0, 4), np.where(second < 1, 0, 4)],
        "video": [np.where((first >= 1.5) & (first < 4.5), 0, 4), np.where(second < 1, 0, 4)],
    }
    for protocol in PROTOCOLS.values():
        for background in ("with", "without"):
            expected = score(protocol, truths, labels[protocol.scope], 2, 7, background)
            actual = [
                value(table, metric, protocol.name, background) for metric in ("precision", "recall", "f1", "iou")
            ]
            assert actual == pytest.approx(expected[:4], abs=1e-12)


def test_k_counts_empty_clusters(files):
    """An answer with one label is matched differently if K is 7 than if K is 1 (tests/worked_examples.md)."""
    files.segments = pd.DataFrame(
        [row for v, d in (("0003", 6), ("b", 4)) for s in SCOPES for row in segments_of(v, s, [1], [0, d])]
    )
    among_seven = value(files.run(), "recall", "micro_video")
    files.diagnostics = {"K": 1}
    assert among_seven < value(files.run(), "recall", "micro_video") == 1.0


def test_degenerate_runs_are_marked_and_still_scored(files):
    files.diagnostics = {
        "K": 7,
        "degenerate": True,
        "task": {"degenerate": True},
        "video": {"degenerate": False},
    }
    table = files.run()
    assert [value(table, "degenerate", name) for name in PROTOCOLS] == [0, 0, 1, 1]
    assert value(table, "f1", "strict_task") == 1.0
    files.diagnostics = {"K": 7, "degenerate": True}
    assert value(files.run(), "degenerate", "micro_video") == 1


def test_a_video_lost_before_decoding_counts_as_skipped(files, caplog):
    files.segments = files.segments[files.segments.video != "b"]
    table = files.run()
    assert (value(table, "n_videos"), value(table, "n_skipped"), value(table, "n_unscored")) == (1, 2, 1)
    assert "2 of 4 videos skipped: b, broken" in caplog.text
    # A video without annotations counts as unscored.
    files.annotations = files.annotations[files.annotations.video != "b"]
    assert value(files.run(), "n_unscored") == 2


def test_the_order_of_annotation_rows_decides_overlaps(files):
    late = pd.DataFrame([("0003", 1.0, 5.0, 1, "x")], columns=files.annotations.columns)
    files.annotations = pd.concat([files.annotations, late], ignore_index=True)
    assert value(files.run(), "f1", "strict_task") < 1.0
    files.annotations = pd.concat([late, files.annotations.iloc[:-1]], ignore_index=True)
    assert value(files.run(), "f1", "strict_task") == 1.0


def at(row, **values):
    """Return a function that changes values in one row of a table."""

    def spoil(table):
        table = table.astype(object)
        table.loc[row, list(values)] = list(values.values())
        return table

    return spoil


@pytest.mark.parametrize(
    ("part", "spoil", "message"),
    [
        (
            "manifest",
            lambda table: table.assign(status=["skipped", "unscored", "unscored", "skipped"]),
            r"demo/assembly: found no video to score among 4 videos \(2 skipped, 2 without annotation\)",
        ),
        ("annotations", at(1, key_step=3), "video '0003': found key step 3, expected 1 to 2"),
        ("diagnostics", lambda _: {"K": 2}, "found 3 different key steps in scope 'task', expected at most K=2"),
        ("diagnostics", lambda _: {"degenerate": False}, "found K None, expected the number of clusters"),
        ("segments", lambda table: table.drop(index=1), "video '0003': segments: got 1.0 s followed by 3.0 s"),
        ("segments", lambda table: table[table.scope == "task"], "video '0003': segments: got none of scope 'video'"),
        ("manifest", at(0, fps="fast"), "video '0003': fps: got 'fast'"),
        ("manifest", at(0, duration_s=""), "video '0003': found duration_s nan and fps '30.0'"),
        ("annotations", at(2, start_s="1:30"), r"annotations\.csv: row 4: found start_s '1:30', expected a number"),
        (
            "segments",
            lambda table: table.drop(columns="scope"),
            r"segments\.csv: no column scope; expected video,scope",
        ),
    ],
)
def test_mistakes_end_in_one_line(files, part, spoil, message):
    setattr(files, part, spoil(getattr(files, part)))
    with pytest.raises(RgwotError, match=message) as caught:
        files.run()
    assert "\n" not in str(caught.value)
    assert not (files.folder / "scores").exists()


def test_missing_files_are_named(tmp_path):
    with pytest.raises(RgwotError, match=r"nowhere\.csv: cannot be read .*; expected video,name,path,"):
        evaluate(tmp_path / "nowhere.csv", "a", "b", "c", tmp_path / "o.csv", IDENTITY, 2, 2)


def graphs(files, learner="precedence", graph=None):
    segments = files.segments[files.segments.scope == "task"]
    recordings = recordings_from_segments(segments)
    procedure = learn(recordings, learner)
    return partial(
        graph_table, predicted=procedure, deviating=deviations(procedure, recordings, known=False), graph=graph
    )


def test_scores_of_task_graphs_stand_behind_all_others(files):
    files.diagnostics = {"K": 3}
    before = files.run()
    plain = (files.folder / "scores/seed0.csv").read_text()
    table = files.run(more=graphs(files))
    assert (files.folder / "scores/seed0.csv").read_text().startswith(plain)
    assert set(table.iloc[len(before) :].protocol) == {"graph"}
    assert value(table, "n_videos", "graph") == 2


def test_a_task_graph_is_scored_after_matching_and_background_leaves_it(files):
    """Clusters 2, 3 and 1 are steps 1 and 2 and background; one video does step 1 first, the other step 2."""
    files.diagnostics = {"K": 3}
    table = files.run(more=graphs(files))
    # Both graphs have the edges S-1, S-2, 1-E and 2-E, because the order of the steps is free.
    assert value(table, "edge_f1", "graph") == 1
    # One of the two videos has the order that the procedure gives for all.
    assert value(table, "consensus_distance", "graph") == 0.5
    assert np.isnan(value(table, "order_f1", "graph"))
    # If background is not a class, cluster 1 has no partner, and is left out as well.
    assert value(table, "edge_f1", "graph", "without") == 1


def test_a_true_graph_takes_the_place_of_the_learned_one(files):
    files.diagnostics = {"K": 3}
    graph = files.folder / "graph.csv"
    graph.write_text("key_step,needs\n1,START\n2,1\nEND,2\n")
    table = files.run(more=graphs(files, graph=read_task_graph(graph)))
    # True edges are S-1, 1-2 and 2-E; found are S-1, S-2, 1-E and 2-E.
    assert value(table, "edge_precision", "graph") == pytest.approx(2 / 4)
    assert value(table, "edge_recall", "graph") == pytest.approx(2 / 3)
    # By this graph, the second video did 2 too early and 1 too late; the prediction has neither deviation.
    assert value(table, "order_f1", "graph") == 0


def test_annotations_score_one_against_themselves(files):
    """Annotations are written in the form of a decoder's key steps, and scored from these files."""
    files.run()
    manifest, annotations = files.folder / "manifest.csv", files.folder / "annotations.csv"
    out = files.folder / "annotated"
    facts = decode_trivial(manifest, out, Annotations(), 0, 2, annotations_csv=annotations)
    assert (facts.K, facts.background) == (2, True)
    output = files.folder / "own.csv"
    identity = {**IDENTITY, "method": "none", "decoder": "annotated"}
    paths = (manifest, annotations, out / "segments.csv", out / "diagnostics.json", output)
    told = read_deviation_list(out / "deviations.csv")
    more = partial(graph_table, predicted=read_procedure(out / "procedure.json"), deviating=told)
    table = evaluate(*paths, identity, 2, 2, more=more)
    for protocol in PROTOCOLS:
        assert value(table, "f1", protocol) == 1
    assert value(table, "edge_f1", "graph") == 1


def test_videos_that_taught_are_not_scored_and_the_others_by_name(files):
    # Key step 2 of the prediction is key step 2 of the annotation, even if another one matched better.
    files.segments = files.segments[files.segments["scope"] == "task"]
    files.diagnostics |= {"background": True, "labelled": {"videos": ["0003"], "names": {}, "extra": 1}}
    table = files.run(more=None)
    assert set(table["protocol"]) == {"macro_task", "strict_task"}
    values = table[table["label_rule"] == "exact"].set_index(["protocol", "background", "metric"])["value"]
    assert (values["strict_task", "without", "n_videos"], values["strict_task", "without", "n_unscored"]) == (1, 1)
    # Video b is annotated as 2 for 2 s, background for 1 s and 1 for 1 s; found are 3 for 2 s, 1 for 1 s and 2 for 1 s.
    assert values["strict_task", "without", "f1"] == 0
    files.segments["key_step"] = files.segments["key_step"].map({3: 2, 1: 1, 2: 1})
    values = (
        files.run(more=None).query("label_rule == 'exact'").set_index(["protocol", "background", "metric"])["value"]
    )
    assert values["strict_task", "without", "f1"] == 1
    assert values["strict_task", "with", "f1"] == pytest.approx(0.75, abs=0.02)
    assert values["macro_task", "without", "f1"] == 1
    assert values["macro_task", "with", "background_recall"] == 0


def test_marks_of_videos_that_are_not_scored_change_no_score(files):
    def more(videos, annotations, segments, n_key_steps, n_clusters):
        seen.append(set(annotations["video"]))
        return pd.DataFrame(columns=["protocol", "background", "label_rule", "metric", "value"])

    seen = []
    scores = files.run(more=more)
    marks = pd.DataFrame([("bare", 1.0, 1.0, 2, ""), ("bare", 2.0, 2.0, 0, "")], columns=ANNOTATION_COLUMNS)
    files.annotations = pd.concat([files.annotations, marks])
    assert files.run(more=more).equals(scores)
    # The true procedure is learned from the other videos, too.
    assert seen[0] == seen[1]


def test_annotated_background_is_not_a_key_step(files):
    scores = files.run()
    files.annotations = pd.concat(
        [
            pd.DataFrame([("0003", 0.0, 1.0, 0, ""), ("b", 2.0, 3.0, 0, "")], columns=ANNOTATION_COLUMNS),
            files.annotations,
        ]
    )
    assert files.run().equals(scores)
