import assert from "node:assert/strict";
import { test } from "node:test";

import { annotationLines, budgetLines, comingSteps, cutRows, difference, drawnRuns, giveRow, indexAt, isMark, isOneOrder, keptSteps, lengthsOf, mostShared, moveBorder, nearerSide, nearestSpan, occurrences, oneStepEach, overlaps, putMark, segmentsOfBars, splitSteps, spreadOf, stepNumbers, tickTimes, withoutRowAt } from "../../../rgwot/reporting/page/parts/segments.js";

const ROWS = [[0, 1000, 1], [1000, 3000, 2], [3000, 6000, 0]];

test("stored bars become segments in seconds", () => {
  assert.deepEqual(segmentsOfBars({ ends: [1500, 4000], steps: [2, 0] }), [[0, 1.5, 2], [1.5, 4, 0]]);
  assert.deepEqual(segmentsOfBars({ many: 2000 }), []);
  assert.deepEqual(segmentsOfBars(undefined), []);
});

test("occurrences are segments that count, joined across those that do not", () => {
  const bars = { ends: [1000, 1200, 3000, 4000, 4100, 5000, 6000], steps: [1, 2, 1, 0, 3, 2, 3], shows: { 1: 0, 4: 0, 5: 3, 6: 2 } };
  assert.deepEqual(segmentsOfBars(bars)[5], [4.1, 5, 2, 3]);
  assert.deepEqual(occurrences(segmentsOfBars(bars)), [[0, 3, 1], [4.1, 5, 3], [5, 6, 2]]);
  // Background between two segments of a key step keeps them apart.
  assert.deepEqual(occurrences([[0, 1, 1], [1, 2, 0], [2, 3, 1]]), [[0, 1, 1], [2, 3, 1]]);
});

test("drawn runs begin with the chosen one; other methods show their first seed", () => {
  const runs = [["a", "x"], ["a", "x"], ["b", "x"], ["b", "x"], ["a", "y"]].map(([method, decoder]) => ({ method, decoder }));
  assert.deepEqual(drawnRuns(runs, 1, "one"), [1]);
  assert.deepEqual(drawnRuns(runs, 1, "seeds"), [1, 0]);
  assert.deepEqual(drawnRuns(runs, 1, "methods"), [1, 2, 4]);
  assert.deepEqual(drawnRuns(runs, 0, "all"), [0, 1, 2, 3, 4]);
});

/** Events of a second each. */
const inTurn = (steps) => steps.map((step, at) => [at, at + 1, step]);

test("coming steps are as many as occur, without background, and give way to the order if there are too many", () => {
  assert.deepEqual(comingSteps(inTurn([1, 0, 1, 2, 2, 1]), [9]), [1, 1, 2, 1]);
  assert.deepEqual(comingSteps([[0, 1, 4], [2, 3, 4], [5, 6, 4]], [9]), [4, 4, 4]);
  assert.deepEqual(comingSteps(inTurn([0, 0]), [9]), [9]);
  const alternating = inTurn(Array.from({ length: 41 }, (_, at) => 1 + (at % 2)));
  assert.deepEqual(comingSteps(alternating, [1, 2]), [1, 2]);
  assert.equal(comingSteps(alternating.slice(1), [1, 2]).length, 40);
});

test("numbers of key steps count segments, seconds and videos", () => {
  const numbers = stepNumbers([1, 2, 3], [[[0, 2, 1], [2, 3, 0], [3, 4, 1]], [[0, 5, 2], [5, 6, 1]]]);
  assert.deepEqual(numbers.get(1), { segments: 3, seconds: 4, videos: 2 });
  assert.deepEqual(numbers.get(2), { segments: 1, seconds: 5, videos: 1 });
  assert.deepEqual(numbers.get(3), { segments: 0, seconds: 0, videos: 0 });
  assert.equal(numbers.has(0), false);
});

test("ticks are as dense as space allows, and none is at the very end", () => {
  assert.deepEqual(tickTimes(6, 10), [1, [0, 1, 2, 3, 4, 5]]);
  assert.deepEqual(tickTimes(10, 3), [5, [0, 5]]);
  assert.equal(tickTimes(1e6, 10)[0], 7200);
});

test("the segment at a time holds its start and not its end", () => {
  assert.equal(indexAt(ROWS, 1000), 1);
  assert.equal(indexAt(ROWS, 2999), 1);
  assert.equal(indexAt(ROWS, 6000), -1);
});

test("the nearer border of a row is found", () => {
  assert.equal(nearerSide([1000, 3000], 1900), "start");
  assert.equal(nearerSide([1000, 3000], 2100), "end");
  assert.equal(nearerSide([1000, 3000], 1000), null);
});

test("a moved border shrinks or swallows neighbours, and leaves no gap", () => {
  assert.deepEqual(moveBorder(ROWS, 0, "end", 1500), { rows: [[0, 1500, 1], [1500, 3000, 2], [3000, 6000, 0]], moved: [0, 1500, 1] });
  assert.deepEqual(moveBorder(ROWS, 0, "end", 4000).rows, [[0, 4000, 1], [4000, 6000, 0]]);
  assert.deepEqual(moveBorder(ROWS, 2, "start", 500).rows, [[0, 500, 1], [500, 6000, 0]]);
  assert.deepEqual(moveBorder(ROWS, 1, "start", 1200.4).rows, [[0, 1200, 1], [1200, 3000, 2], [3000, 6000, 0]]);
  // A border that is moved beyond the video stays at its end; time that becomes free at an end is background.
  assert.deepEqual(moveBorder(ROWS, 1, "end", 9000), { rows: [[0, 1000, 1], [1000, 6000, 2]], moved: [1000, 6000, 2] });
  assert.deepEqual(moveBorder(ROWS, 2, "end", 5000).rows, [...ROWS.slice(0, 2), [3000, 5000, 0], [5000, 6000, 0]]);
  assert.deepEqual(moveBorder(ROWS, 0, "start", 400).rows, [[0, 400, 0], [400, 1000, 1], ...ROWS.slice(1)]);
  assert.deepEqual(moveBorder(ROWS, 1, "end", 1000), {});
  assert.deepEqual(moveBorder(ROWS, 1, "start", 3000), {});
  assert.deepEqual(ROWS, [[0, 1000, 1], [1000, 3000, 2], [3000, 6000, 0]]);
});

test("rows are given to another key step and cut in two", () => {
  assert.deepEqual(giveRow(ROWS, 1, 7), [ROWS[0], [1000, 3000, 7], ROWS[2]]);
  assert.deepEqual(cutRows(ROWS, 2000), [ROWS[0], [1000, 2000, 2], [2000, 3000, 2], ROWS[2]]);
  assert.deepEqual(cutRows(ROWS, 3000), ROWS);
});

test("marks come after the segments, in order, one per moment", () => {
  const two = putMark(putMark(ROWS, 2500, 3), 500, 0);
  assert.deepEqual(two, [...ROWS, [500, 500, 0], [2500, 2500, 3]]);
  assert.deepEqual(two.map(isMark), [false, false, false, true, true]);
  assert.deepEqual(putMark(two, 500, 1).slice(3), [[500, 500, 1], [2500, 2500, 3]]);
  // A mark is moved past the other one, and onto it.
  assert.deepEqual(putMark(two, 3000, 0, 3).slice(3), [[2500, 2500, 3], [3000, 3000, 0]]);
  assert.deepEqual(putMark(two, 2500, 0, 3).slice(3), [[2500, 2500, 0]]);
  // Edits of segments do not change marks.
  assert.deepEqual(moveBorder(two, 2, "end", 5000).rows, [...ROWS.slice(0, 2), [3000, 5000, 0], [5000, 6000, 0], ...two.slice(3)]);
  assert.deepEqual(cutRows(two, 2500).slice(4), two.slice(3));
  assert.equal(indexAt(two, 500), 0);
  assert.deepEqual(annotationLines(two.slice(3), 2000, String), ["0.5,,0", "2,,3"]);
});

test("a segment replaces the marks of other steps inside it", () => {
  const marks = [[0, 0, 1], [1000, 1000, 1], [1500, 1500, 2], [3000, 3000, 7], [6000, 6000, 2]];
  // A mark at the start of the segment is inside it, and one at its end is not.
  assert.deepEqual(oneStepEach([[1000, 3000, 2], ...marks]), [[1000, 3000, 2], marks[0], marks[2], marks[3], marks[4]]);
});

test("the nearest mark is deleted, or else the segment", () => {
  const rows = [[0, 1000, 1], [1000, 3000, 2], [500, 500, 3], [540, 540, 4]];
  assert.deepEqual(withoutRowAt(rows, 530, 40), rows.slice(0, 3));
  assert.deepEqual(withoutRowAt(rows, 581, 40), rows.slice(1));
  assert.deepEqual(withoutRowAt(rows, 3000, 40), rows);
});

test("lines of an annotation end with the video", () => {
  assert.deepEqual(annotationLines(ROWS, 2500, (step) => `step ${step}`), ["0,1,step 1", "1,2.5,step 2"]);
});

test("the nearest span holds the position, or is the first of those at the same distance", () => {
  assert.equal(nearestSpan([[0, 10], [10, 30]], 20), 1);
  assert.equal(nearestSpan([[0, 10], [20, 30]], 15), 0);
  assert.equal(nearestSpan([[0, 10], [20, 30]], 40), 1);
  assert.equal(nearestSpan([], 5), -1);
});

test("times of steps are counted by occurrence, and all other time of a video is the rest", () => {
  const videos = [{ id: "a", duration: 10, events: [[0, 2, 1], [2, 3, 2], [5, 9, 1]] }, { id: "b,c", duration: 4, events: [[1, 2, 2]] }];
  assert.deepEqual(lengthsOf(videos, 1), [2, 4]);
  assert.deepEqual(spreadOf([2, 4]), { n: 2, mean: 3, sd: Math.SQRT2 });
  assert.deepEqual(spreadOf([2]), { n: 1, mean: 2, sd: null });
  assert.deepEqual(spreadOf([]), { n: 0, mean: 0, sd: null });
  assert.deepEqual(budgetLines(videos, [1, 2], (step) => ({ 1: "pour", 2: "" })[step], (text) => (text.includes(",") ? `"${text}"` : text)), [
    "video,key_step,name,occurrences,seconds,share",
    "a,1,pour,2,6,0.6", "a,2,,1,1,0.1", "a,0,rest,0,3,0.3",
    '"b,c",1,pour,0,0,0', '"b,c",2,,1,1,0.25', '"b,c",0,rest,0,3,0.75', "",
  ]);
});

test("overlaps are the times that two segmentations have in common", () => {
  assert.deepEqual(overlaps([[0, 2, 1], [2, 4, 2]], [[0, 3, 5], [3, 4, 6]]), [[1, 5, 2], [2, 5, 1], [2, 6, 1]]);
});

test("steps of two segmentations are matched one to one by the time that they share", () => {
  // 1 and 5 share most time. 2 also shares most with 5, which is taken, so it gets 6. Background is not a step.
  assert.deepEqual([...mostShared([[1, 5, 2], [1, 5, 2], [2, 5, 3], [2, 6, 1], [1, 6, 0.5], [0, 7, 9], [3, 0, 9]])], [[5, 1], [6, 2]]);
  assert.deepEqual([...mostShared([])], []);
});

test("sequences that only lack key steps are of one order", () => {
  assert.equal(isOneOrder([[1, 2, 3, 4], [2, 4], [1, 3]]), true);
  assert.equal(isOneOrder([[1, 2, 3], [3, 2]]), false);
  assert.equal(isOneOrder([[1, 2], [1, 2, 1]]), false);
  assert.equal(isOneOrder([]), true);
});

test("what differs is counted by segments, videos and time; numbers alone do not differ", () => {
  const before = [["a", [[0, 4, 1], [4, 8, 2], [8, 10, 0]]], ["b", [[0, 5, 1], [5, 10, 2]]]];
  assert.deepEqual(difference(before, [["a", [[0, 4, 2], [4, 8, 1], [8, 10, 0]]], ["b", [[0, 5, 2], [5, 10, 1]]]], false), { segments: 0, of: 5, videos: 0, share: 0 });
  assert.deepEqual(difference(before, [["a", before[0][1]], ["b", [[0, 3, 1], [3, 10, 2]]]], false), { segments: 1, of: 5, videos: 1, share: 0.1 });
  const named = (rows) => rows.map(([video, segments]) => [video, segments.map(([start, end, step]) => [start, end, step === 1 ? "stir" : "pour"])]);
  assert.equal(difference(named(before), [["a", [[0, 4, "pour"], [4, 10, "stir"]]], ["b", []]], true).share, 1);
});

test("a step is split if others cover a fifth of it and are inside it, and kept if one has most of it", () => {
  const pairs = overlaps([[0, 10, 1], [10, 20, 2], [20, 22, 0]], [[0, 5, 1], [5, 10, 2], [10, 19, 3], [19, 22, 4]]);
  assert.deepEqual([...splitSteps(pairs)], [[1, [1, 2]]]);
  assert.deepEqual([...splitSteps(pairs.map(([a, b, seconds]) => [b, a, seconds]))], []);
  assert.deepEqual([...keptSteps(pairs)], [2]);
  // Beside two parts of a fifth, a smaller one is named, too.
  assert.deepEqual([...splitSteps([[1, 4, 4], [1, 5, 1], [1, 6, 5]])], [[1, [4, 5, 6]]]);
  assert.deepEqual([...splitSteps([[1, 4, 9], [1, 5, 1]])], []);
});
